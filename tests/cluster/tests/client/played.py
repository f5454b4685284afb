"""Kubeflow's client against our operator; a test plays the pods, and reads what is printed here to know when.

Every line of output asks the test for something. What is wrong ends this with an exception.
"""

import sys

from kubeflow.training import (
    KubeflowOrgV1ReplicaSpec,
    KubeflowOrgV1RunPolicy,
    KubeflowOrgV1TFJob,
    KubeflowOrgV1TFJobSpec,
    TrainingClient,
)
from kubernetes.client import V1Container, V1ObjectMeta, V1PodSpec, V1PodTemplateSpec

QUICK = {"wait_timeout": 120, "polling_interval": 1}


def grow(client, name, workers):
    """The client sends back the version it has read: a write in between makes that version too old, so it is read again."""
    for tries_left in reversed(range(10)):
        larger = client.get_job(name)
        larger.spec.tf_replica_specs["Worker"].replicas = workers
        try:
            return client.update_job(larger, name)
        except RuntimeError:
            if not tries_left:
                raise


def replicas(count, policy):
    pod = V1PodSpec(containers=[V1Container(name="tensorflow", image="trainer")])
    return KubeflowOrgV1ReplicaSpec(
        replicas=count, restart_policy=policy, template=V1PodTemplateSpec(spec=pod)
    )


def job(name, roles, clean="None"):
    return KubeflowOrgV1TFJob(
        api_version="kubeflow.org/v1",
        kind="TFJob",
        metadata=V1ObjectMeta(name=name),
        spec=KubeflowOrgV1TFJobSpec(run_policy=KubeflowOrgV1RunPolicy(clean_pod_policy=clean), tf_replica_specs=roles),
    )


def main():
    client = TrainingClient(namespace=sys.argv[1], job_kind="TFJob")
    a_job_with_every_role(client)
    a_job_that_is_started_again(client)
    a_job_of_an_image_that_fails(client)
    jobs_that_are_refused(client)
    a_job_without_a_run_policy(client)
    several_jobs(client)


def a_job_with_every_role(client):
    roles = {"Chief": replicas(1, "Never"), "PS": replicas(1, "Never"), "Worker": replicas(2, "Never")}
    client.create_job(job("all", roles))
    client.wait_for_job_conditions("all", expected_conditions={"Created"}, **QUICK)
    assert client.is_job_created("all") and not client.is_job_running("all")
    ask("run all-chief-0 all-ps-0 all-worker-0 all-worker-1")
    client.wait_for_job_conditions("all", expected_conditions={"Running"}, **QUICK)
    assert client.is_job_running("all") and not client.is_job_succeeded("all")

    everyone = ["all-chief-0", "all-ps-0", "all-worker-0", "all-worker-1"]
    assert sorted(client.get_job_pod_names("all")) == everyone
    assert client.get_job_pod_names("all", is_master=True) == ["all-chief-0"]
    assert client.get_job_pod_names("all", replica_type="chief") == ["all-chief-0"]
    assert client.get_job_pod_names("all", replica_type="ps") == ["all-ps-0"]
    assert sorted(client.get_job_pod_names("all", replica_type="worker")) == everyone[2:]
    assert client.get_job_pod_names("all", replica_type="worker", replica_index=1) == ["all-worker-1"]
    assert {pod.status.phase for pod in client.get_job_pods("all")} == {"Running"}

    grow(client, "all", 3)
    ask("run all-worker-2")
    assert client.get_job_pod_names("all", replica_type="worker", replica_index=2) == ["all-worker-2"]

    ask("exit all-chief-0 0")
    seen = []
    ended = client.wait_for_job_conditions("all", callback=lambda job: seen.append(job.metadata.name), **QUICK)
    assert seen and ended.status.completion_time >= ended.status.start_time
    assert ended.status.replica_statuses["Chief"].succeeded == 1
    assert [condition.type for condition in client.get_job_conditions("all")] == ["Created", "Running", "Succeeded"]
    holds = [client.is_job_created, client.is_job_succeeded]
    fails = [client.is_job_running, client.is_job_restarting, client.is_job_failed]
    assert all(test("all") for test in holds) and not any(test("all") for test in fails)


def a_job_that_is_started_again(client):
    client.create_job(job("again", {"Worker": replicas(1, "ExitCode")}))
    ask("run again-worker-0")
    client.wait_for_job_conditions("again", expected_conditions={"Running"}, **QUICK)
    ask("exit again-worker-0 137")
    client.wait_for_job_conditions("again", expected_conditions={"Restarting"}, **QUICK)
    assert client.is_job_restarting("again") and not client.is_job_running("again")


def a_job_of_an_image_that_fails(client):
    client.create_job(name="fails", base_image="trainer", num_workers=1, num_chief_replicas=1, num_ps_replicas=1)
    assert client.get_job("fails").spec.tf_replica_specs.keys() == {"Chief", "PS", "Worker"}
    ask("run fails-chief-0 fails-ps-0 fails-worker-0")
    ask("exit fails-chief-0 3")
    message = refused(lambda: client.wait_for_job_conditions("fails", **QUICK))
    assert "is Failed" in message and "because 1 Chief replica(s)" in message, message
    client.wait_for_job_conditions("fails", expected_conditions={"Failed"}, **QUICK)
    assert client.is_job_failed("fails")


def jobs_that_are_refused(client):
    twice = refused(lambda: client.create_job(job("all", {"Worker": replicas(1, "Never")})))
    assert "already exists" in twice, twice
    unknown = refused(lambda: client.create_job(job("unknown", {"Wrker": replicas(1, "Never")})))
    assert "unknown replica type" in unknown and "Wrker" in unknown, unknown
    missing = refused(lambda: client.get_job("unknown"))
    assert "not found" in missing, missing


def a_job_without_a_run_policy(client):
    """Written by hand. Under Kubeflow's own definition the client cannot read such a job."""
    container = {"name": "tensorflow", "image": "trainer"}
    worker = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    by_hand = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": "by-hand"},
        "spec": {"tfReplicaSpecs": {"Worker": worker}},
    }
    client.custom_api.create_namespaced_custom_object(
        "kubeflow.org", "v1", client.namespace, "tfjobs", by_hand
    )
    ask("run by-hand-worker-0")
    ask("exit by-hand-worker-0 0")
    client.wait_for_job_conditions("by-hand", **QUICK)
    assert client.get_job("by-hand").spec.run_policy.suspend is False


def several_jobs(client):
    names = [one.metadata.name for one in client.list_jobs()]
    assert sorted(names) == ["again", "all", "by-hand", "fails"], names
    for name in names:
        client.delete_job(name)
        missing = refused(lambda: client.get_job(name))
        assert "not found" in missing, missing
    assert client.list_jobs() == []


def ask(words):
    """Asks the test for something, and waits until it is done."""
    print(words, flush=True)
    assert sys.stdin.readline() == "done\n"


def refused(call):
    """What a call says when it fails, as it must."""
    try:
        call()
    except RuntimeError as error:
        return str(error)
    raise AssertionError("this should have failed")


if __name__ == "__main__":
    main()
