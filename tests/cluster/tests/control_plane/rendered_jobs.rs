//! Rendered Jobs in the hands of the real Job controller: whose pods come, what they are called, what ends are answered with.

use serde_json::Value;
use trainyard_cluster_tests::{Namespace, shared};
use trainyard_dialect::read;
use trainyard_document::Source;
use trainyard_document::yaml;
use trainyard_manifest::{Form, Wishes, render};

/// Two workers that start again after some exit codes; worker 0 decides.
const WORKERS: &str = "
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: train}
spec:
  runPolicy: {cleanPodPolicy: Running, backoffLimit: 3}
  tfReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: ExitCode
      template: {spec: {containers: [{name: tensorflow, image: tensorflow}]}}
";

/// Applies what a manifest becomes.
fn applied(text: &str, beginning: &str) -> Namespace<'static> {
    let namespace = shared().namespace(beginning);
    let source = Source::from_bytes("test", text.as_bytes()).unwrap();
    let reading = read(&source);
    let wishes = Wishes {
        form: Form::Jobs,
        addresses: None,
        nodes: Vec::new(),
        namespace: Some(namespace.name().to_owned()),
    };
    let job = reading.jobs().next().unwrap();
    let rendered = render(&job.subject(wishes.namespace.as_deref(), None), &wishes).unwrap();
    let documents: Vec<String> = rendered.objects.iter().map(yaml::write).collect();
    namespace.apply(&documents.join("---\n")).good();
    namespace
}

/// Waits for a pod of that index which has not ended; its name.
fn alive(namespace: &Namespace<'_>, job: &str, index: u32, not: &str) -> Value {
    let (pods, index) = (namespace.path("api/v1", "pods"), index.to_string());
    namespace.cluster().api().wait(&pods, "a pod", |list| {
        let is_it = |pod: &&Value| {
            let labels = &pod["metadata"]["labels"];
            labels["batch.kubernetes.io/job-name"] == job
                && labels["batch.kubernetes.io/job-completion-index"] == *index
                && pod["metadata"]["name"] != not
                && pod["metadata"].get("deletionTimestamp").is_none()
                && pod["status"]["phase"] == "Pending"
        };
        list["items"].as_array()?.iter().find(is_it).cloned()
    })
}

fn name(pod: &Value) -> String {
    pod["metadata"]["name"].as_str().unwrap().to_owned()
}

/// Waits until a Job has that condition; its reason.
fn ended(namespace: &Namespace<'_>, job: &str, condition: &str) -> String {
    let path = namespace.path("apis/batch/v1", &format!("jobs/{job}"));
    namespace.cluster().api().wait(&path, condition, |job| {
        let is_it = |found: &&Value| found["type"] == condition && found["status"] == "True";
        let found = job["status"]["conditions"].as_array()?.iter().find(is_it)?;
        Some(found["reason"].as_str()?.to_owned())
    })
}

#[test]
fn pods_are_called_as_tf_config_says() {
    let namespace = applied(WORKERS, "named");
    for index in [0, 1] {
        let pod = alive(&namespace, "train-worker", index, "");
        assert_eq!(pod["spec"]["hostname"], format!("train-worker-{index}"));
        assert_eq!(pod["spec"]["subdomain"], "train");
        let variables = pod["spec"]["containers"][0]["env"].as_array().unwrap();
        let named = |name: &str| variables.iter().filter(|one| one["name"] == name).count();
        // The controller adds the index only where it is missing.
        assert_eq!((named("JOB_COMPLETION_INDEX"), named("TF_CONFIG")), (1, 1));
        let config = variables.last().unwrap()["value"].as_str().unwrap();
        let host = format!("train-worker-{index}.train.{}.svc:2222", namespace.name());
        assert!(config.contains(&host), "{config}");
        let annotation = &pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"];
        assert_eq!(*annotation, index.to_string());
    }
}

#[test]
fn an_eviction_costs_nothing_a_retryable_code_one_restart_and_another_code_the_job() {
    let namespace = applied(WORKERS, "answered");
    let player = shared().player();
    let first = name(&alive(&namespace, "train-worker", 1, ""));
    player.run(&namespace, &first);
    player.evict_by_kubelet(&namespace, &first);
    let second = name(&alive(&namespace, "train-worker", 1, &first));
    player.run(&namespace, &second);
    player.exit(&namespace, &second, 137);
    let third = name(&alive(&namespace, "train-worker", 1, &second));
    let path = namespace.path("apis/batch/v1", "jobs/train-worker");
    let job = shared().api().get(&path).unwrap();
    assert_eq!(job["status"]["failed"], 1, "an eviction is not counted: {job:#}");
    player.run(&namespace, &third);
    player.exit(&namespace, &third, 1);
    assert_eq!(ended(&namespace, "train-worker", "Failed"), "PodFailurePolicy");
}

#[test]
fn worker_zero_completes_the_job_and_the_other_is_stopped() {
    let namespace = applied(WORKERS, "decided");
    let player = shared().player();
    let decider = name(&alive(&namespace, "train-worker", 0, ""));
    let other = name(&alive(&namespace, "train-worker", 1, ""));
    for pod in [&decider, &other] {
        player.run(&namespace, pod);
    }
    player.exit(&namespace, &decider, 0);
    assert_eq!(
        ended(&namespace, "train-worker", "SuccessCriteriaMet"),
        "SuccessPolicy"
    );
    // It has no node, so no kubelet has to stop it before it is deleted.
    shared().api().wait_until_gone(&namespace.pod(&other));
}
