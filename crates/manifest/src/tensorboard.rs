//! T9k's `TensorBoard` as a Deployment and a Service.

use serde_json::{Map, Value, json};
use trainyard_core::Job;

use crate::names::{of_job, tensorboard};
use crate::values::present;

const PORT: u16 = 6006;
/// The label of a pod that belongs to the job and is no task.
const PART_LABEL: &str = "trainyard.dev/part";

/// What is made of a `TensorBoard`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Board {
    /// A Service and a Deployment; none where no log can be mounted.
    pub objects: Vec<Value>,
    /// Addresses of logs that cannot be mounted.
    pub elsewhere: Vec<String>,
}

/// A claim, and the folder in it.
struct Logs {
    claim: String,
    folder: String,
}

/// The objects that stand in for a `TensorBoard`.
#[must_use]
pub fn board(job: &Job, object: &Value) -> Board {
    let spec = &object["spec"];
    let (logs, elsewhere) = places(spec);
    let objects = match logs.as_slice() {
        [] => Vec::new(),
        logs => vec![service(job), deployment(job, spec, logs)],
    };
    Board { objects, elsewhere }
}

/// Where the logs are: `trainingLogFilesets` and `logDir`.
fn places(spec: &Value) -> (Vec<Logs>, Vec<String>) {
    let (mut logs, mut elsewhere) = (Vec::new(), Vec::new());
    for address in texts(&spec["trainingLogFilesets"]) {
        match address.strip_prefix("t9k://pvc/") {
            Some(rest) => {
                let (claim, folder) = rest.split_once('/').unwrap_or((rest, ""));
                logs.push(found(claim, folder));
            }
            None => elsewhere.push(address.to_owned()),
        }
    }
    let log_dir = &spec["logDir"];
    for claim in log_dir["pvc"].as_array().into_iter().flatten() {
        let name = claim["name"].as_str().unwrap_or_default();
        let before = logs.len();
        logs.extend(texts(&claim["subPath"]).map(|folder| found(name, folder)));
        if logs.len() == before {
            logs.push(found(name, ""));
        }
    }
    let addresses = [&log_dir["s3"]["uri"], &log_dir["http"]["url"]];
    elsewhere.extend(addresses.into_iter().flat_map(texts).map(str::to_owned));
    (logs, elsewhere)
}

fn found(claim: &str, folder: &str) -> Logs {
    Logs {
        claim: claim.to_owned(),
        folder: folder.trim_matches('/').to_owned(),
    }
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn labels(job: &Job) -> Map<String, Value> {
    let mut labels = of_job(job);
    labels.insert(PART_LABEL.into(), "tensorboard".into());
    labels
}

/// What selects its pod. Not the job's label: the job's Service selects by that, and TensorBoard is no task.
fn selector(job: &Job) -> Value {
    json!({ PART_LABEL: "tensorboard", "trainyard.dev/tensorboard": *job.name })
}

fn metadata(job: &Job) -> Value {
    json!({ "name": tensorboard(&job.name), "namespace": *job.namespace, "labels": labels(job) })
}

fn service(job: &Job) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(job),
        "spec": {
            "selector": selector(job),
            "ports": [{ "name": "http", "port": PORT, "targetPort": PORT }],
        },
    })
}

fn deployment(job: &Job, spec: &Value, logs: &[Logs]) -> Value {
    let mut claims: Vec<&str> = Vec::new();
    for place in logs {
        if !claims.contains(&&*place.claim) {
            claims.push(&place.claim);
        }
    }
    let volume = |(at, claim): (usize, &&str)| json!({ "name": format!("logs-{at}"), "persistentVolumeClaim": { "claimName": claim, "readOnly": true } });
    let mount = |(at, claim): (usize, &&str)| json!({ "name": format!("logs-{at}"), "mountPath": format!("/logs/{claim}"), "readOnly": true });
    let mounts: Vec<Value> = claims.iter().enumerate().map(mount).collect();
    let container = present(json!({
        "name": "tensorboard",
        "image": spec["image"],
        "command": command(logs),
        "ports": [{ "name": "http", "containerPort": PORT }],
        "resources": spec["resources"],
        "volumeMounts": mounts,
    }));
    let volumes: Vec<Value> = claims.iter().enumerate().map(volume).collect();
    let paused = spec["suspend"] == true || spec["runMode"] == "paused";
    let labels = selector(job);
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(job),
        "spec": {
            "replicas": i32::from(!paused),
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [container], "volumes": volumes },
            },
        },
    })
}

fn command(logs: &[Logs]) -> Vec<String> {
    let path = |place: &Logs| {
        let path = format!("/logs/{}/{}", place.claim, place.folder);
        path.trim_end_matches('/').to_owned()
    };
    let directories = match logs {
        [one] => format!("--logdir={}", path(one)),
        several => {
            let named = several.iter().enumerate();
            let named: Vec<String> = named.map(|(at, place)| format!("{at}:{}", path(place))).collect();
            format!("--logdir_spec={}", named.join(","))
        }
    };
    // Not on loopback alone: the Service reaches the pod by its address.
    vec![
        "tensorboard".into(),
        directories,
        "--bind_all".into(),
        format!("--port={PORT}"),
    ]
}
