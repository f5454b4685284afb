//! Jobs from beginning to end.

use serde_json::{Value, json};
use trainyard_cluster_tests::shared;

use super::{Harness, job};

#[test]
fn a_job_runs_to_its_end_and_its_servers_are_stopped() {
    let harness = Harness::new("ends");
    let policy = json!({ "cleanPodPolicy": "Running" });
    harness.create(&job(
        "mnist",
        &policy,
        &[("PS", 1, "Never"), ("Worker", 2, "Never")],
    ));
    harness.run(&["mnist-ps-0", "mnist-worker-0", "mnist-worker-1"]);
    let status = harness.conditions("mnist", &["Created", "Running"]);
    assert_eq!(status["conditions"][1]["reason"], "TFJobRunning");
    let pod = harness.pod("mnist-worker-1", "0.0");
    let labels = &pod["metadata"]["labels"];
    assert_eq!(labels["training.kubeflow.org/operator-name"], "tfjob-controller");
    assert_eq!(labels["training.kubeflow.org/replica-index"], "1");
    assert_eq!(pod["spec"]["subdomain"], "mnist");
    let service = shared()
        .api()
        .get(&harness.namespace.path("api/v1", "services/mnist"))
        .unwrap();
    assert_eq!(service["spec"]["publishNotReadyAddresses"], true);
    assert_eq!(service["metadata"]["ownerReferences"][0]["kind"], "TFJob");
    harness.exit("mnist-worker-0", 0);
    let status = harness.conditions("mnist", &["Created", "!Running", "Succeeded"]);
    assert!(status["completionTime"].is_string());
    harness.vanish("mnist-ps-0", 143);
    harness.vanish("mnist-worker-1", 143);
    assert_eq!(
        harness.names(),
        ["mnist-worker-0"],
        "what has ended keeps its logs"
    );
}

#[test]
fn a_permanent_failure_ends_the_job_and_says_whose() {
    let harness = Harness::new("fails");
    harness.create(&job("mnist", &json!({}), &[("Worker", 2, "ExitCode")]));
    harness.run(&["mnist-worker-0", "mnist-worker-1"]);
    harness.conditions("mnist", &["Created", "Running"]);
    harness.exit("mnist-worker-1", 3);
    let status = harness.conditions("mnist", &["Created", "!Running", "Failed"]);
    let failed = &status["conditions"][2];
    let message = failed["message"].as_str().unwrap();
    let kubeflows = "job \"mnist\" is failing because \"Worker\" replica(s) failed. ";
    assert!(message.starts_with(kubeflows), "{message}");
    assert!(
        message.contains("`kubectl logs mnist-worker-1 -c tensorflow"),
        "{message}"
    );
    assert_eq!(status["firstFailure"]["task"], "worker-1");
    assert_eq!(status["firstFailure"]["exitCode"], 3);
    assert_eq!(status["firstFailure"]["reason"], "Error");
}

#[test]
fn counts_of_a_failed_job_follow_its_pods() {
    let mut harness = Harness::new("counts");
    let policy = json!({ "cleanPodPolicy": "Running" });
    harness.create(&job(
        "mnist",
        &policy,
        &[("PS", 1, "Never"), ("Worker", 2, "Never")],
    ));
    harness.run(&["mnist-ps-0", "mnist-worker-0", "mnist-worker-1"]);
    harness.conditions("mnist", &["Created", "Running"]);
    harness.exit("mnist-worker-1", 3);
    harness.conditions("mnist", &["Created", "!Running", "Failed"]);
    let counts = |harness: &Harness, wanted: &Value| {
        harness
            .api()
            .wait(&harness.path("mnist"), &wanted.to_string(), |job| {
                (job["status"]["replicaStatuses"] == *wanted).then_some(())
            });
    };
    harness.vanish("mnist-worker-0", 143);
    counts(
        &harness,
        &json!({ "PS": { "active": 1 }, "Worker": { "failed": 1 } }),
    );
    // The last one goes while no operator looks.
    harness.kill();
    harness.vanish("mnist-ps-0", 143);
    harness.start();
    counts(&harness, &json!({ "PS": {}, "Worker": { "failed": 1 } }));
}

#[test]
fn labels_of_the_first_operators_are_given_where_they_are_asked_for() {
    for (name, flags, addresses) in [
        ("labels", &["--legacy-labels"][..], "mnist"),
        (
            "labels-each",
            &["--legacy-labels", "--per-replica-addresses"],
            "mnist-worker-1",
        ),
    ] {
        let harness = Harness::with(name, flags);
        harness.create(&job(
            "mnist",
            &json!({}),
            &[("Chief", 1, "Never"), ("Worker", 2, "Never")],
        ));
        let worker = harness.pod("mnist-worker-1", "0.0");
        let labels = &worker["metadata"]["labels"];
        let of_job = [
            ("group-name", "kubeflow.org"),
            ("job-name", "mnist"),
            ("tf-job-name", "mnist"),
        ];
        let of_task = [
            ("replica-type", "worker"),
            ("replica-index", "1"),
            ("tf-replica-type", "worker"),
            ("tf-replica-index", "1"),
        ];
        for (label, value) in of_job.into_iter().chain(of_task) {
            assert_eq!(labels[label], value, "{label}");
        }
        assert_eq!(labels["job-role"], json!(null));
        assert_eq!(labels["training.kubeflow.org/replica-index"], "1");
        let chief = harness.pod("mnist-chief-0", "0.0");
        for label in ["job-role", "tf-job-role"] {
            assert_eq!(chief["metadata"]["labels"][label], "master");
        }
        let path = harness.namespace.path("api/v1", &format!("services/{addresses}"));
        let service = harness.api().get(&path).unwrap();
        let labels = &service["metadata"]["labels"];
        for (label, value) in of_job {
            assert_eq!(labels[label], value, "{label}");
        }
        let index = if addresses == "mnist" {
            json!(null)
        } else {
            json!("1")
        };
        assert_eq!(labels["tf-replica-index"], index);
        assert_eq!(labels["job-role"], json!(null));
    }
}

#[test]
fn services_of_replicas_stay_until_nothing_runs() {
    let harness = Harness::with("services", &["--per-replica-addresses"]);
    let policy = json!({ "cleanPodPolicy": "Running" });
    harness.create(&job(
        "mnist",
        &policy,
        &[("PS", 1, "Never"), ("Worker", 1, "Never")],
    ));
    harness.run(&["mnist-ps-0", "mnist-worker-0"]);
    harness.conditions("mnist", &["Created", "Running"]);
    let service = |name: &str| harness.namespace.path("api/v1", &format!("services/{name}"));
    harness.exit("mnist-worker-0", 0);
    harness.conditions("mnist", &["Created", "!Running", "Succeeded"]);
    for name in ["mnist-ps-0", "mnist-worker-0"] {
        harness.api().get(&service(name)).unwrap();
    }
    harness.vanish("mnist-ps-0", 143);
    for name in ["mnist-ps-0", "mnist-worker-0"] {
        harness.api().wait_until_gone(&service(name));
    }
}

#[test]
fn a_drained_pod_is_made_again_and_costs_nothing() {
    let harness = Harness::new("drained");
    let policy = json!({ "backoffLimit": 0 });
    harness.create(&job(
        "mnist",
        &policy,
        &[("Chief", 1, "OnFailure"), ("Worker", 1, "OnFailure")],
    ));
    harness.run(&["mnist-chief-0", "mnist-worker-0"]);
    harness.conditions("mnist", &["Created", "Running"]);
    // It saves and exits 0: a drain, not a success.
    shared().player().evict(&harness.namespace, "mnist-chief-0");
    harness.vanish("mnist-chief-0", 0);
    harness.pod("mnist-chief-0", "0.1");
    harness.run_on_a_node("mnist-chief-0");
    let status = harness.conditions("mnist", &["Created", "Running"]);
    assert_eq!(status["trainyard"]["paid"], json!(null));
    harness.exit("mnist-chief-0", 0);
    harness.conditions("mnist", &["Created", "!Running", "Succeeded"]);
}

#[test]
fn a_suspended_job_has_no_pods_and_starts_anew() {
    let harness = Harness::new("suspended");
    harness.create(&job(
        "mnist",
        &json!({ "suspend": true }),
        &[("Worker", 1, "Never")],
    ));
    let status = harness.conditions("mnist", &["Created", "Suspended"]);
    assert_eq!(status["startTime"], json!(null));
    assert!(harness.names().is_empty());
    harness.patch("mnist", &json!({ "spec": { "runPolicy": { "suspend": false } } }));
    harness.run(&["mnist-worker-0"]);
    harness.conditions("mnist", &["Created", "!Suspended", "Running"]);
    harness.patch("mnist", &json!({ "spec": { "runPolicy": { "suspend": true } } }));
    harness.conditions("mnist", &["Created", "!Running", "Suspended"]);
    harness.vanish("mnist-worker-0", 143);
    harness.patch("mnist", &json!({ "spec": { "runPolicy": { "suspend": false } } }));
    harness.pod("mnist-worker-0", "1.0");
}

#[test]
fn replicas_come_and_go_and_the_job_goes_on() {
    let harness = Harness::new("scaled");
    let workers = |count: u32| json!({ "spec": { "tfReplicaSpecs": { "Worker": { "replicas": count } } } });
    harness.create(&job(
        "mnist",
        &json!({}),
        &[("Chief", 1, "Never"), ("Worker", 1, "Never")],
    ));
    harness.run(&["mnist-chief-0", "mnist-worker-0"]);
    harness.conditions("mnist", &["Created", "Running"]);
    harness.patch("mnist", &workers(3));
    harness.run(&["mnist-worker-1", "mnist-worker-2"]);
    harness.patch("mnist", &workers(1));
    harness.vanish("mnist-worker-2", 143);
    harness.vanish("mnist-worker-1", 143);
    harness.conditions("mnist", &["Created", "Running"]);
    harness.exit("mnist-chief-0", 0);
    harness.conditions("mnist", &["Created", "!Running", "Succeeded"]);
}

#[test]
fn an_operator_that_was_killed_goes_on_where_it_was() {
    let mut harness = Harness::new("killed");
    let policy = json!({ "cleanPodPolicy": "None" });
    harness.create(&job(
        "mnist",
        &policy,
        &[("Chief", 1, "Never"), ("Worker", 1, "Never")],
    ));
    harness.run(&["mnist-chief-0", "mnist-worker-0"]);
    harness.conditions("mnist", &["Created", "Running"]);
    let before = harness.pod("mnist-worker-0", "0.0");
    harness.kill();
    harness.exit("mnist-chief-0", 0);
    harness.start();
    harness.conditions("mnist", &["Created", "!Running", "Succeeded"]);
    let after = harness.pod("mnist-worker-0", "0.0");
    assert_eq!(before["metadata"]["uid"], after["metadata"]["uid"]);
}

#[test]
fn a_finished_pod_that_is_collected_is_not_run_again() {
    let harness = Harness::new("collected");
    harness.create(&job(
        "mnist",
        &json!({}),
        &[("Chief", 1, "Never"), ("Worker", 1, "Never")],
    ));
    harness.run(&["mnist-chief-0", "mnist-worker-0"]);
    harness.conditions("mnist", &["Created", "Running"]);
    harness.exit("mnist-worker-0", 0);
    let succeeded = "/status/replicaStatuses/Worker/succeeded";
    shared()
        .api()
        .wait(&harness.path("mnist"), "the worker's success", |object| {
            (object.pointer(succeeded) == Some(&json!(1))).then_some(())
        });
    shared()
        .api()
        .delete(&(harness.namespace.pod("mnist-worker-0") + "?gracePeriodSeconds=0"))
        .unwrap();
    shared()
        .api()
        .wait_until_gone(&harness.namespace.pod("mnist-worker-0"));
    harness.exit("mnist-chief-0", 0);
    harness.conditions("mnist", &["Created", "!Running", "Succeeded"]);
    assert_eq!(harness.names(), ["mnist-chief-0"]);
}

#[test]
fn a_job_of_an_old_version_means_what_it_said() {
    let harness = Harness::new("old");
    let mut old = job("mnist", &json!(null), &[("Worker", 1, "Never")]);
    old["apiVersion"] = "kubeflow.org/v1beta1".into();
    old["spec"].as_object_mut().unwrap().remove("runPolicy");
    old["spec"]["cleanPodPolicy"] = "All".into();
    let path = harness.namespace.path("apis/kubeflow.org/v1beta1", "tfjobs");
    shared().api().create(&path, &old).unwrap();
    harness.run(&["mnist-worker-0"]);
    harness.conditions("mnist", &["Created", "Running"]);
    harness.exit("mnist-worker-0", 0);
    shared()
        .api()
        .wait_until_gone(&harness.namespace.pod("mnist-worker-0"));
    harness.conditions("mnist", &["Created", "!Running", "Succeeded"]);
}

#[test]
fn a_service_that_a_user_deletes_is_created_again_and_a_suspended_job_has_none() {
    let harness = Harness::new("services");
    let path = harness.namespace.path("api/v1", "services/mnist");
    harness.create(&job("mnist", &json!({}), &[("Worker", 1, "Never")]));
    harness.run(&["mnist-worker-0"]);
    let uid = |service: &Value| service["metadata"]["uid"].clone();
    let first = uid(&shared().api().get(&path).unwrap());
    shared().api().delete(&path).unwrap();
    shared().api().wait(&path, "another Service", |service| {
        (uid(service) != first).then_some(())
    });
    harness.patch("mnist", &json!({ "spec": { "runPolicy": { "suspend": true } } }));
    harness.vanish("mnist-worker-0", 143);
    shared().api().wait_until_gone(&path);
}

#[test]
fn kubeflows_addresses_are_services_that_its_operator_knows_for_its_own() {
    let harness = Harness::new("per-replica");
    let mut theirs = job("mnist", &json!({}), &[("PS", 1, "Never"), ("Worker", 2, "Never")]);
    theirs["metadata"]["annotations"] = json!({ "trainyard.dev/addresses": "per-replica" });
    harness.create(&theirs);
    let pod = harness.pod("mnist-worker-1", "0.0");
    let service = shared()
        .api()
        .get(&harness.namespace.path("api/v1", "services/mnist-worker-1"))
        .unwrap();
    // What Kubeflow's operator looks for, and what it gives to pods.
    let wanted = json!({
        "training.kubeflow.org/job-name": "mnist", "training.kubeflow.org/operator-name": "tfjob-controller",
        "training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "1",
    });
    assert_eq!(service["spec"]["selector"], wanted);
    for (key, value) in wanted.as_object().unwrap() {
        assert_eq!(&service["metadata"]["labels"][key], value, "{key} of the Service");
        assert_eq!(&pod["metadata"]["labels"][key], value, "{key} of the pod");
    }
    let env = pod["spec"]["containers"][0]["env"].as_array().unwrap();
    let config = env.iter().find(|one| one["name"] == "TF_CONFIG").unwrap();
    let address = format!("mnist-worker-1.{}.svc:2222", harness.namespace.name());
    assert!(config["value"].as_str().unwrap().contains(&address), "{config}");
}
