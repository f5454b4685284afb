//! The jobs that are submitted, and the requests by which our operator would make their objects.

use serde_json::{Value, json};
use trainyard_core::{Action, Fixture, Storage, Time};
use trainyard_manifest::names::Life;
use trainyard_manifest::task_pod::{Owner, fixtures};
use trainyard_operator::apply::Writes;
use trainyard_operator::job::{Compiled, JobWire, Meaning, Reading};
use trainyard_operator::kinds::Kind;
use trainyard_operator::kinds::tfjob::KIND as TFJOB;
use trainyard_operator::reconcile::{Decision, reconcile};
use trainyard_operator::store::{Entry, Sort};

use crate::rig::{NAMESPACE, Wanted};
use crate::trouble::Trouble;

/// A pod template as people write them.
pub fn template() -> Value {
    json!({ "spec": { "containers": [{
        "name": "tensorflow",
        "image": "registry.example.com/team/train:2.17",
        "command": ["python", "/opt/train/main.py", "--batch_size=256", "--learning_rate=0.01"],
        "env": [{ "name": "DATA", "value": "/data/imagenet" }],
        "ports": [{ "name": "tfjob-port", "containerPort": 2222 }],
        "resources": { "limits": { "cpu": "4", "memory": "8Gi" } },
    }] } })
}

/// A job as people write them, with so many parameter servers and workers.
pub fn job(name: &str, ps: u32, workers: u32) -> Value {
    let role =
        |replicas: u32| json!({ "replicas": replicas, "restartPolicy": "Never", "template": template() });
    let mut roles = serde_json::Map::new();
    for (name, replicas) in [("PS", ps), ("Worker", workers)] {
        if replicas > 0 {
            roles.insert(name.into(), role(replicas));
        }
    }
    json!({
        "apiVersion": TFJOB.api.api_version, "kind": TFJOB.api.kind,
        "metadata": { "name": name, "namespace": NAMESPACE },
        "spec": { "runPolicy": { "cleanPodPolicy": "None" }, "tfReplicaSpecs": roles },
    })
}

/// The writes of our operator about one new job: its status, what its tasks are found by, and its pods.
#[derive(Debug, Default)]
pub struct Made {
    /// The first status, and the events that come with it.
    pub status: Vec<Wanted>,
    /// Services, the map, and what its kind needs.
    pub shared: Vec<Wanted>,
    /// Pods.
    pub pods: Vec<Wanted>,
}

/// What our operator would write about this job, as it stands on the API server.
pub fn made(kind: &'static Kind, job: Value) -> Result<Made, Trouble> {
    let wire: JobWire = serde_json::from_value(job)?;
    let seen = Reading::default().read(kind, wire, None);
    let (key, version) = (seen.key.clone(), seen.version);
    let mut entry = Entry::default();
    entry.see(seen);
    let now = std::time::UNIX_EPOCH.elapsed()?.as_secs();
    let Decision::Apply(writes) = reconcile(&key, &mut entry, Storage::Unknown, Time(now)) else {
        return Err(Trouble::new("there is nothing to do about a new job"));
    };
    let Meaning::Job(compiled) = &*writes.meaning else {
        return Err(Trouble::new("a job of this program cannot be read"));
    };
    let mut made = of_writes(&writes, compiled);
    if let Some(status) = &writes.status {
        made.status.push(Wanted {
            method: "PUT".into(),
            path: format!(
                "/apis/{}/namespaces/{}/{}/{}/status",
                kind.api.api_version, key.namespace, kind.api.plural, key.name
            ),
            body: json!({
                "apiVersion": kind.api.api_version, "kind": kind.api.kind, "status": status,
                "metadata": {
                    "name": key.name, "namespace": key.namespace, "uid": writes.uid,
                    "resourceVersion": version.to_string(),
                },
            }),
            short: false,
        });
    }
    let events = format!("/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events");
    let events = writes
        .events
        .iter()
        .map(|event| Wanted::post(&*events, event.clone()));
    made.status.extend(events);
    Ok(made)
}

fn of_writes(writes: &Writes, compiled: &Compiled) -> Made {
    let owner = Owner {
        api: writes.key.kind.api,
        name: writes.key.name.clone(),
        uid: writes.uid.clone(),
    };
    let pods = compiled.pods(&owner);
    let mut made = Made::default();
    let path = |plural: &str| format!("/api/v1/namespaces/{NAMESPACE}/{plural}");
    for action in &writes.actions {
        match action {
            Action::Ensure(Fixture::Addresses) => {
                let objects = fixtures(&compiled.subject, &compiled.map, &owner);
                let wanted = objects
                    .into_iter()
                    .map(|(plural, object)| Wanted::post(path(plural), object));
                made.shared.extend(wanted);
            }
            Action::Ensure(Fixture::Extras) => {
                let objects = compiled.subject.objects.iter();
                made.shared
                    .extend(objects.filter_map(|object| extra(object, &owner)));
            }
            Action::Create { task, stamp } => {
                let pod = pods.pod(
                    task,
                    Life {
                        stamp: *stamp,
                        resumed: writes.resumed,
                        paid: writes.paid,
                    },
                );
                made.pods.push(Wanted::post(path("pods"), pod));
            }
            _ => {}
        }
    }
    made
}

/// The request that creates an object which a kind needs beside pods.
fn extra(object: &Value, owner: &Owner) -> Option<Wanted> {
    let sort = Sort::find(object["kind"].as_str()?)?;
    let root = if sort.api_version.contains('/') {
        "apis"
    } else {
        "api"
    };
    let path = format!(
        "/{root}/{}/namespaces/{NAMESPACE}/{}",
        sort.api_version, sort.plural
    );
    let mut owned = object.clone();
    owned["metadata"]["ownerReferences"] = json!([owner.reference()]);
    Some(Wanted::post(path, owned))
}

/// What a kubelet writes of a pod that runs, or has ended with that code.
pub fn played(pod: &str, ended: Option<i32>) -> Wanted {
    let now = k8s_time();
    let (phase, state) = match ended {
        None => ("Running", json!({ "running": { "startedAt": now } })),
        Some(code) => (
            if code == 0 { "Succeeded" } else { "Failed" },
            json!({ "running": null, "terminated": {
                "exitCode": code, "reason": if code == 0 { "Completed" } else { "Error" },
                "startedAt": now, "finishedAt": now,
            } }),
        ),
    };
    let container = json!({
        "name": "tensorflow", "image": "registry.example.com/team/train:2.17", "imageID": "",
        "ready": ended.is_none(), "started": ended.is_none(), "restartCount": 0, "state": state,
    });
    Wanted {
        method: "PATCH".into(),
        path: format!("/api/v1/namespaces/{NAMESPACE}/pods/{pod}/status"),
        body: json!({ "status": { "phase": phase, "startTime": now, "containerStatuses": [container] } }),
        short: true,
    }
}

fn k8s_time() -> String {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs();
    trainyard_status::rfc3339(Time(now))
}
