"""Kubeflow's client against our operator, with pods that run."""

import contextlib
import io
import sys

from kubeflow.training import (
    KubeflowOrgV1ReplicaSpec,
    KubeflowOrgV1RunPolicy,
    KubeflowOrgV1TFJob,
    KubeflowOrgV1TFJobSpec,
    TrainingClient,
)
from kubernetes.client import (
    V1Container,
    V1ObjectMeta,
    V1PodSpec,
    V1PodTemplateSpec,
    V1ResourceRequirements,
)

QUICK = {"wait_timeout": 300, "polling_interval": 1}


def main():
    client = TrainingClient(namespace=sys.argv[1], job_kind="TFJob")
    the_end_to_end_test_of_the_client(client)
    a_job_of_a_function(client)


def the_end_to_end_test_of_the_client(client):
    """The steps of `test_sdk_e2e` in Kubeflow's repository; the image and its script are ours."""
    container = V1Container(
        name="tensorflow",
        image="trainyard/tf-mnist:gpu",
        command=["python", "/app/main.py"],
        resources=V1ResourceRequirements(limits={"memory": "4Gi", "cpu": "1.6"}),
    )
    worker = KubeflowOrgV1ReplicaSpec(
        replicas=1,
        restart_policy="Never",
        template=V1PodTemplateSpec(
            metadata=V1ObjectMeta(annotations={"sidecar.istio.io/inject": "false"}),
            spec=V1PodSpec(containers=[container]),
        ),
    )
    name = "tfjob-mnist-ci-test"
    job = KubeflowOrgV1TFJob(
        api_version="kubeflow.org/v1",
        kind="TFJob",
        metadata=V1ObjectMeta(name=name, namespace=client.namespace),
        spec=KubeflowOrgV1TFJobSpec(
            run_policy=KubeflowOrgV1RunPolicy(clean_pod_policy="None"), tf_replica_specs={"Worker": worker}
        ),
    )
    client.create_job(job, namespace=client.namespace)
    client.wait_for_job_conditions(name, **QUICK)
    assert len(client.get_job_conditions(name)) >= 2
    assert client.is_job_created(name) and client.is_job_succeeded(name)
    for wrong in (client.is_job_running, client.is_job_restarting, client.is_job_failed):
        assert not wrong(name), wrong
    assert client.get_job_pod_names(name) == [f"{name}-worker-0"]
    logs, _ = client.get_job_logs(name)
    assert "accuracy 0.9" in logs[f"{name}-worker-0"], logs
    client.delete_job(name)


def a_job_of_a_function(client):
    def train(parameters):
        import json, os

        task = json.loads(os.environ["TF_CONFIG"])["task"]
        print(task["type"], task["index"], "learns at", parameters["rate"], flush=True)

    client.create_job(
        name="function",
        train_func=train,
        parameters={"rate": 0.5},
        base_image="tensorflow/tensorflow:2.21.0",
        num_chief_replicas=1,
        num_ps_replicas=1,
        num_workers=2,
    )
    client.wait_for_job_conditions("function", **QUICK)
    # The chief's success is the job's; the others may still be at it.
    while {pod.status.phase for pod in client.get_job_pods("function")} != {"Succeeded"}:
        client.wait_for_job_conditions("function", **QUICK)

    logs, events = client.get_job_logs("function", verbose=True)
    assert logs == {"function-chief-0": "chief 0 learns at 0.5\n"}, logs
    told = events["tfjob/function"]
    assert told[-1].endswith(f"TFJob {client.namespace}/function successfully completed."), told
    assert any("ontainer" in line and "tarted" in line for line in events["pod/function-chief-0"]), events
    logs, _ = client.get_job_logs("function", is_master=False, replica_type="worker")
    assert logs == {f"function-worker-{index}": f"worker {index} learns at 0.5\n" for index in (0, 1)}, logs
    with contextlib.redirect_stdout(io.StringIO()):
        logs, _ = client.get_job_logs("function", is_master=False, replica_type="ps", replica_index=0, follow=True)
    assert logs == {"function-ps-0": "ps 0 learns at 0.5"}, logs
    client.delete_job("function")


if __name__ == "__main__":
    main()
