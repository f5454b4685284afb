//! T9k's `TensorBoard` as a Deployment and a Service.

use serde_json::{Map, Value, json};
use trainyard_core::Job;

use crate::names::{of_job, tensorboard};
use crate::values::put;

const PORT: u16 = 6006;
/// Which part of the job a pod is, where it is no task.
const PART_LABEL: &str = "trainyard.dev/part";

/// The objects, and the places of logs that cannot be mounted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Board {
    /// A Service and a Deployment; none where no log can be read.
    pub objects: Vec<Value>,
    /// Addresses of logs that are no volumes.
    pub elsewhere: Vec<String>,
}

/// A claim, and the folder in it.
struct Logs {
    claim: String,
    folder: String,
}

/// What is made of a `TensorBoard`.
#[must_use]
pub fn board(job: &Job, object: &Value) -> Board {
    let spec = &object["spec"];
    let (logs, elsewhere) = places(spec);
    if logs.is_empty() {
        return Board {
            objects: Vec::new(),
            elsewhere,
        };
    }
    Board {
        objects: vec![service(job), deployment(job, spec, &logs)],
        elsewhere,
    }
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

/// What selects its pod. Not the job's label alone: the job's Service selects by that, and TensorBoard is no task.
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
    let mut container = Map::new();
    container.insert("name".into(), "tensorboard".into());
    container.insert("image".into(), spec["image"].clone());
    container.insert("command".into(), command(logs).into());
    container.insert("ports".into(), json!([{ "name": "http", "containerPort": PORT }]));
    put(&mut container, "resources", spec.get("resources").cloned());
    let mounts: Vec<Value> = claims.iter().enumerate().map(mount).collect();
    container.insert("volumeMounts".into(), mounts.into());
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
    // On all addresses of the pod: the Service is not on its loopback.
    vec![
        "tensorboard".into(),
        directories,
        "--bind_all".into(),
        format!("--port={PORT}"),
    ]
}
