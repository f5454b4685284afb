//! A TensorBoard as a Deployment and a Service.

use serde_json::{Map, Value, json};
use trainyard_core::{Job, board_is_suspended};

use crate::names::{of_job, tensorboard};
use crate::values::present;

/// Where TensorBoard listens.
pub const PORT: u16 = 6006;
/// The label of an object that belongs to the job and is no task, and what it says of TensorBoard.
pub const PART_LABEL: &str = "trainyard.dev/part";
/// See [`PART_LABEL`].
pub const PART: &str = "tensorboard";
/// The label of its pod with the name of the job.
pub const BOARD_LABEL: &str = "trainyard.dev/tensorboard";
/// The label of its pod with the word of the job's kind.
pub const KIND_LABEL: &str = "trainyard.dev/tensorboard-of";
/// The image where the settings name none: one of TensorFlow's own, which contain `tensorboard` up to 2.20, since the package depended on it.
pub const IMAGE: &str = "tensorflow/tensorflow:2.19.0";
/// After so many seconds a Deployment says that its pod does not become ready.
const PATIENCE: u32 = 120;

/// What is made of a `TensorBoard`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Board {
    /// A Service and a Deployment; none where no log can be mounted.
    pub objects: Vec<Value>,
    /// Addresses of logs that cannot be mounted.
    pub elsewhere: Vec<String>,
    /// It is deleted so many seconds after the job's end.
    pub ttl: Option<u32>,
}

/// The user that TensorBoard runs as: images of TensorFlow name none, and would run as root.
const USER: u32 = 65532;

/// A volume, and the folder in it.
struct Logs {
    volume: Volume,
    folder: String,
}

/// What holds logs and can be mounted.
#[derive(Clone, PartialEq, Eq)]
enum Volume {
    /// The claim of this name.
    Claim(String),
    /// This directory of the node.
    Host(String),
}

impl Volume {
    /// The source of the volume, in the words of a pod.
    fn source(&self, name: &str) -> Value {
        match self {
            Self::Claim(claim) => {
                json!({ "name": name, "persistentVolumeClaim": { "claimName": claim, "readOnly": true } })
            }
            Self::Host(path) => json!({ "name": name, "hostPath": { "path": path } }),
        }
    }

    /// Where it is mounted, if it has that number.
    fn path(&self, number: usize) -> String {
        match self {
            Self::Claim(claim) => format!("/logs/{claim}"),
            Self::Host(_) => format!("/host-logs/{number}"),
        }
    }
}

/// The objects that stand in for a `TensorBoard`, with this image where its settings name none.
#[must_use]
pub fn board(job: &Job, object: &Value, image: &str) -> Board {
    let spec = &object["spec"];
    let (logs, elsewhere) = places(spec);
    let objects = match logs.as_slice() {
        [] => Vec::new(),
        logs => vec![service(job), deployment(job, (spec, image), logs)],
    };
    let ttl = spec["ttlSecondsAfterFinished"].as_u64();
    Board {
        objects,
        elsewhere,
        ttl: ttl.and_then(|seconds| u32::try_from(seconds).ok()),
    }
}

/// Where the logs are: `trainingLogFilesets` and `logDir`.
fn places(spec: &Value) -> (Vec<Logs>, Vec<String>) {
    let (mut logs, mut elsewhere) = (Vec::new(), Vec::new());
    for address in texts(&spec["trainingLogFilesets"]) {
        match fileset(address) {
            Some(place) => logs.push(place),
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

/// `t9k://pvc/<claim>/<path>`, `pvc://<claim>/<path>` or `hostPath:///<path>`; none for what cannot be mounted.
fn fileset(address: &str) -> Option<Logs> {
    if let Some(path) = address.strip_prefix("hostPath://") {
        return Some(Logs {
            volume: Volume::Host(path.to_owned()),
            folder: String::new(),
        });
    }
    let claim = address.strip_prefix("t9k://pvc/");
    let rest = claim.or_else(|| address.strip_prefix("pvc://"))?;
    let (claim, folder) = rest.split_once('/').unwrap_or((rest, ""));
    Some(found(claim, folder))
}

fn found(claim: &str, folder: &str) -> Logs {
    Logs {
        volume: Volume::Claim(claim.to_owned()),
        folder: folder.trim_matches('/').to_owned(),
    }
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn labels(job: &Job) -> Map<String, Value> {
    let mut labels = of_job(job);
    labels.insert(PART_LABEL.into(), PART.into());
    labels
}

/// What selects its pod. Not the job's label: the job's Service selects by that, and TensorBoard is no task.
fn selector(job: &Job) -> Value {
    json!({ PART_LABEL: PART, BOARD_LABEL: *job.name })
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

fn deployment(job: &Job, (spec, image): (&Value, &str), logs: &[Logs]) -> Value {
    let mut volumes: Vec<&Volume> = Vec::new();
    for place in logs {
        if !volumes.contains(&&place.volume) {
            volumes.push(&place.volume);
        }
    }
    let labels = selector(job);
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(job),
        "spec": {
            "replicas": i32::from(!board_is_suspended(spec)),
            // A claim that one node may mount at a time would keep the new pod waiting for the old one.
            "strategy": { "type": "Recreate" },
            "progressDeadlineSeconds": PATIENCE,
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": pod((spec, image), logs, &volumes) },
        },
    })
}

/// A pod that reads logs and nothing else: every namespace admits it whose rules admit its volumes.
fn pod((spec, image): (&Value, &str), logs: &[Logs], volumes: &[&Volume]) -> Value {
    let own = spec["image"].as_str().filter(|image| !image.is_empty());
    let named = || volumes.iter().enumerate();
    let mut sources: Vec<Value> = named()
        .map(|(at, volume)| volume.source(&format!("logs-{at}")))
        .collect();
    sources.push(json!({ "name": "tmp", "emptyDir": { "sizeLimit": "1Gi" } }));
    let mut mounts: Vec<Value> = named()
        .map(|(at, volume)| json!({ "name": format!("logs-{at}"), "mountPath": volume.path(at), "readOnly": true }))
        .collect();
    mounts.push(json!({ "name": "tmp", "mountPath": "/tmp" }));
    let resources = match &spec["resources"] {
        Value::Null => json!({
            "requests": { "cpu": "100m", "memory": "256Mi" },
            "limits": { "cpu": "1", "memory": "2Gi" },
        }),
        written => written.clone(),
    };
    let container = present(json!({
        "name": "tensorboard",
        "image": own.unwrap_or(image),
        "command": command(logs, volumes),
        "env": [{ "name": "HOME", "value": "/tmp" }],
        "ports": [{ "name": "http", "containerPort": PORT }],
        "readinessProbe": { "httpGet": { "path": "/", "port": "http" }, "periodSeconds": 5 },
        "resources": resources,
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": { "drop": ["ALL"] },
        },
        "volumeMounts": mounts,
    }));
    json!({
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "securityContext": {
            "runAsNonRoot": true, "runAsUser": USER, "runAsGroup": USER,
            "seccompProfile": { "type": "RuntimeDefault" },
        },
        "containers": [container],
        "volumes": sources,
    })
}

fn command(logs: &[Logs], volumes: &[&Volume]) -> Vec<String> {
    let path = |place: &Logs| {
        let number = volumes.iter().position(|volume| **volume == place.volume);
        let mounted = place.volume.path(number.unwrap_or_default());
        let path = format!("{mounted}/{}", place.folder);
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

#[cfg(test)]
mod tests {
    use trainyard_document::Source;

    use super::*;

    /// The board of a job with this spec.
    fn of(spec: &Value) -> Board {
        let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "i" }] } });
        let text = json!({
            "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": { "name": "mnist" },
            "spec": { "tfReplicaSpecs": { "Worker": { "template": template } } },
        });
        let source = Source::from_bytes("job", text.to_string().as_bytes()).unwrap();
        let reading = trainyard_dialect::read(&source);
        let subject = reading.jobs().next().unwrap().subject(None, None);
        board(&subject.job, &json!({ "spec": spec }), IMAGE)
    }

    #[test]
    fn logs_are_found_by_their_addresses_and_mounted_to_be_read() {
        let claim = |name: &str| json!({ "persistentVolumeClaim": { "claimName": name, "readOnly": true } });
        let host = |path: &str| json!({ "hostPath": { "path": path } });
        let rows = [
            (vec!["t9k://pvc/a/x/y"], vec![claim("a")], "--logdir=/logs/a/x/y"),
            (vec!["pvc://a"], vec![claim("a")], "--logdir=/logs/a"),
            (
                vec!["hostPath:///data/logs"],
                vec![host("/data/logs")],
                "--logdir=/host-logs/0",
            ),
            (
                vec!["pvc://a/1", "t9k://pvc/a/2", "hostPath:///data", "pvc://b"],
                vec![claim("a"), host("/data"), claim("b")],
                "--logdir_spec=0:/logs/a/1,1:/logs/a/2,2:/host-logs/1,3:/logs/b",
            ),
        ];
        for (addresses, volumes, option) in rows {
            let made = of(&json!({ "image": "i", "trainingLogFilesets": addresses }));
            let pod = &made.objects[1]["spec"]["template"]["spec"];
            assert_eq!(pod["containers"][0]["command"][1], option);
            let mut found = pod["volumes"].as_array().unwrap().clone();
            assert_eq!(found.pop().unwrap()["name"], "tmp");
            for (found, mut wanted) in found.into_iter().zip(volumes) {
                wanted["name"] = found["name"].clone();
                assert_eq!(found, wanted);
            }
            let mounts = pod["containers"][0]["volumeMounts"].as_array().unwrap();
            for mount in mounts.iter().filter(|mount| mount["name"] != "tmp") {
                assert_eq!(mount["readOnly"], true, "{mount}");
            }
        }
        let bucket = of(&json!({ "image": "i", "trainingLogFilesets": ["t9k://minio/s/b/p"] }));
        assert_eq!((bucket.objects.len(), bucket.elsewhere.len()), (0, 1));
    }

    #[test]
    fn what_its_container_may_use_is_limited_unless_the_manifest_says_how() {
        let limits = |spec: Value| {
            let made = of(&spec);
            made.objects[1]["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"].clone()
        };
        let spec = json!({ "image": "i", "trainingLogFilesets": ["pvc://a"] });
        assert_eq!(limits(spec.clone()), json!({ "cpu": "1", "memory": "2Gi" }));
        let mut own = spec;
        own["resources"] = json!({ "limits": { "memory": "8Gi" } });
        assert_eq!(limits(own), json!({ "memory": "8Gi" }));
    }

    #[test]
    fn its_image_is_its_own_or_else_the_default() {
        let rows = [
            (json!("own:1"), "own:1"),
            (json!(""), IMAGE),
            (Value::Null, IMAGE),
        ];
        for (image, expected) in rows {
            let made = of(&json!({ "image": image, "trainingLogFilesets": ["pvc://a"] }));
            assert_eq!(
                made.objects[1]["spec"]["template"]["spec"]["containers"][0]["image"],
                expected
            );
        }
    }

    #[test]
    fn one_that_is_suspended_has_no_pod() {
        for (field, value, replicas) in [
            ("suspend", json!(true), 0),
            ("suspend", json!(false), 1),
            ("runMode", json!("paused"), 0),
            ("runMode", json!("running"), 1),
        ] {
            let mut spec = json!({ "image": "i", "trainingLogFilesets": ["pvc://a"] });
            spec[field] = value;
            assert_eq!(of(&spec).objects[1]["spec"]["replicas"], replicas, "{spec}");
        }
    }
}
