//! What the plugins and the job's own fields add to pod templates, and the objects that pods need beside them.
//!
//! Everything here is static text, so that no world needs to know Volcano: the template says all, and the objects it
//! refers to are handed on with the job. Three things differ from pod to pod, and each has a neutral way:
//!
//! * *its number* (`VK_TASK_INDEX`, `VC_TASK_INDEX`) is read from the label [`TASK_INDEX_LABEL`], which every world
//!   puts on every task of every dialect;
//! * *its name* in the network is what [`Addresses::PerJobShort`](trainyard_core::Addresses) says;
//! * *`TF_CONFIG`* is what the job's cluster form says.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use trainyard_core::TASK_INDEX_LABEL;

use super::spec::{Spec, Task};
use crate::manifest::Metadata;
use crate::pod_template::PodTemplate;

/// Annotations of the job that its pods carry too.
const HANDED_DOWN: &[&str] = &[
    "volcano.sh/preemptable",
    "volcano.sh/cooldown-time",
    "volcano.sh/revocable-zone",
    "volcano.sh/jdb-min-available",
    "volcano.sh/jdb-max-unavailable",
];

/// Where containers find the files of the svc plugin.
const HOSTS_PATH: &str = "/etc/volcano";

/// The template of a task with everything that Volcano would have added.
pub(super) fn template(task: &Task<'_>, spec: &Spec<'_>, metadata: &Metadata<'_>) -> PodTemplate {
    let mut template = task.template.clone();
    annotate(&mut template.json, task, metadata);
    let Some(pod) = object(&mut template.json, "spec") else {
        return template;
    };
    default_to(pod, "schedulerName", &spec.scheduler);
    if let Some(class) = &spec.priority_class {
        default_to(pod, "priorityClassName", class);
    }
    if template.host_network {
        default_to(pod, "dnsPolicy", "ClusterFirstWithHostNet");
    }
    // The name of a pod in the network follows from its number; one name for all would find none of them.
    pod.shift_remove("hostname");
    pod.shift_remove("subdomain");
    mount_volumes(pod, spec, &metadata.name);
    if spec.plugins.env {
        let number = json!({"fieldRef": {"fieldPath": format!("metadata.labels['{TASK_INDEX_LABEL}']")}});
        for name in ["VK_TASK_INDEX", "VC_TASK_INDEX"] {
            set_variable(pod, name, &number);
        }
    }
    if spec.plugins.svc.is_some() {
        add_hosts(pod, spec, &metadata.name);
    }
    template
}

/// The objects that the pods need beside them.
pub(super) fn objects(spec: &Spec<'_>, metadata: &Metadata<'_>) -> Vec<Value> {
    let (name, namespace) = (&*metadata.name, &*metadata.namespace);
    let claims = spec.volumes.iter().enumerate();
    let mut objects: Vec<Value> = claims
        .filter_map(|(position, volume)| volume.object(name, namespace, position))
        .collect();
    let Some(service) = &spec.plugins.svc else {
        return objects;
    };
    objects.push(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": hosts_name(name), "namespace": namespace},
        "data": hosts(spec, name),
    }));
    if service.network_policy {
        let own =
            json!({"matchLabels": {"volcano.sh/job-name": name, "volcano.sh/job-namespace": namespace}});
        objects.push(json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "podSelector": own,
                "ingress": [{"from": [{"podSelector": own}]}],
                "policyTypes": ["Ingress"],
            },
        }));
    }
    objects
}

/// How many bytes the names of all pods take, without writing them: what is too large is refused before.
pub(super) fn hosts_bytes(spec: &Spec<'_>, job: &str) -> u64 {
    // Twice: once for the file, once for the variable.
    spec.tasks.iter().map(|task| 2 * names_bytes(task, job)).sum()
}

/// How many bytes the names of a task's pods take, at most.
fn names_bytes(task: &Task<'_>, job: &str) -> u64 {
    let digits = u64::from(task.replicas.max(1).ilog10()) + 1;
    let length = 2 * job.len() as u64 + task.name.len() as u64 + digits + 4;
    length * u64::from(task.replicas)
}

/// The longest variable with names of pods, and its bytes as a program gets it.
pub(super) fn longest_variable(spec: &Spec<'_>, job: &str) -> Option<(String, u64)> {
    let all = spec.tasks.iter().map(|task| {
        let name = hosts_variable(task);
        let bytes = names_bytes(task, job) + name.len() as u64 + 2;
        (name, bytes)
    });
    all.max_by_key(|(_, bytes)| *bytes)
}

fn hosts_variable(task: &Task<'_>) -> String {
    format!("VC_{}_HOSTS", task.name.replace('-', "_").to_uppercase())
}

fn hosts_name(job: &str) -> String {
    format!("{job}-svc")
}

/// The data of the map of hosts: a file, a variable and a count for each task.
fn hosts(spec: &Spec<'_>, job: &str) -> Map<String, Value> {
    let mut data = Map::new();
    for task in &spec.tasks {
        let names: Vec<String> = (0..task.replicas)
            .map(|index| format!("{job}-{}-{index}.{job}", task.name))
            .collect();
        let key = task.name.replace('-', "_");
        let upper = key.to_uppercase();
        // No line break after the last one: scripts put them between brackets as they stand.
        data.insert(format!("{key}.host"), names.join("\n").into());
        data.insert(hosts_variable(task), names.join(",").into());
        data.insert(format!("VC_{upper}_NUM"), names.len().to_string().into());
    }
    data
}

fn add_hosts(pod: &mut Map<String, Value>, spec: &Spec<'_>, job: &str) {
    let name = hosts_name(job);
    let service = spec.plugins.svc.as_ref();
    if service.is_some_and(|service| service.hosts_in_variables) {
        for task in &spec.tasks {
            let upper = task.name.replace('-', "_").to_uppercase();
            for variable in [hosts_variable(task), format!("VC_{upper}_NUM")] {
                let from = json!({"configMapKeyRef": {"name": name, "key": variable}});
                set_variable(pod, &variable, &from);
            }
        }
    }
    add_volume(pod, &name, "configMap", &json!({"name": name}));
    for container in containers(pod, &["containers", "initContainers"]) {
        add_mount(container, &name, HOSTS_PATH);
    }
}

/// The job's volumes, in the containers alone: init containers do not see them.
fn mount_volumes(pod: &mut Map<String, Value>, spec: &Spec<'_>, job: &str) {
    for (position, volume) in spec.volumes.iter().enumerate() {
        let name = format!("volcano-volume-{position}");
        let claim = json!({"claimName": volume.claim_name(job, position)});
        add_volume(pod, &name, "persistentVolumeClaim", &claim);
        for container in containers(pod, &["containers"]) {
            add_mount(container, &name, &volume.mount_path);
        }
    }
}

fn annotate(template: &mut Value, task: &Task<'_>, metadata: &Metadata<'_>) {
    let mut added: Vec<(&str, Arc<str>)> = Vec::new();
    for key in HANDED_DOWN {
        let value = metadata.annotation(key).and_then(|field| field.node.as_text());
        added.extend(value.map(|value| (*key, value.into())));
    }
    if let Some(policy) = task.topology {
        added.push(("volcano.sh/numa-topology-policy", policy.into()));
    }
    if added.is_empty() {
        return;
    }
    let Some(annotations) = made(template, "metadata").and_then(|metadata| made(metadata, "annotations"))
    else {
        return;
    };
    for (key, value) in added {
        annotations[key] = Value::from(&*value);
    }
}

/// The map at `key`, made if it is not there; nothing where something else is.
fn made<'v>(value: &'v mut Value, key: &str) -> Option<&'v mut Value> {
    let map = value.as_object_mut()?;
    let inner = map.entry(key).or_insert(Value::Null);
    if inner.is_null() {
        *inner = json!({});
    }
    inner.is_object().then_some(inner)
}

fn object<'v>(value: &'v mut Value, key: &str) -> Option<&'v mut Map<String, Value>> {
    value.get_mut(key)?.as_object_mut()
}

fn default_to(map: &mut Map<String, Value>, key: &str, value: &str) {
    let entry = map.entry(key).or_insert(Value::Null);
    if entry.is_null() || entry == "" {
        *entry = value.into();
    }
}

fn containers<'v>(
    pod: &'v mut Map<String, Value>,
    lists: &'v [&str],
) -> impl Iterator<Item = &'v mut Map<String, Value>> {
    pod.iter_mut()
        .filter(|(key, _)| lists.contains(&key.as_str()))
        .filter_map(|(_, list)| list.as_array_mut())
        .flatten()
        .filter_map(Value::as_object_mut)
}

/// Sets a variable in every container that does not have it yet: reading a result again must change nothing.
fn set_variable(pod: &mut Map<String, Value>, name: &str, from: &Value) {
    for container in containers(pod, &["containers", "initContainers"]) {
        push_named(container, "env", json!({"name": name, "valueFrom": from}));
    }
}

fn add_volume(pod: &mut Map<String, Value>, name: &str, source: &str, value: &Value) {
    push_named(pod, "volumes", json!({"name": name, source: value}));
}

fn add_mount(container: &mut Map<String, Value>, name: &str, path: &str) {
    push_named(
        container,
        "volumeMounts",
        json!({"name": name, "mountPath": path}),
    );
}

/// Adds an item to a list of items with names, unless one of that name is there.
fn push_named(map: &mut Map<String, Value>, list: &str, item: Value) {
    let list = map.entry(list).or_insert(Value::Null);
    if list.is_null() {
        *list = json!([]);
    }
    if let Some(items) = list.as_array_mut()
        && items.iter().all(|other| other["name"] != item["name"])
    {
        items.push(item);
    }
}
