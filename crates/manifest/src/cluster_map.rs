//! The ConfigMap of addresses: lists of hosts for scripts that take flags, and the `cluster` of `TF_CONFIG` where it is large.
//!
//! It is immutable and named by a hash of its contents, so that a task that is restarted later never joins another cluster than
//! its peers.

use serde_json::{Map, Value, json};
use trainyard_core::{AddressBook, Cluster, Job, MOST_BYTES, RoleKind};

use crate::names::of_job;
use crate::values::fingerprint;

/// A `TF_CONFIG` of at most so many bytes is written into the pod.
pub const MOST_IN_POD: usize = 4096;
/// The key of the `cluster` object.
pub const CLUSTER_KEY: &str = "cluster";
/// The variable that holds it, for `TF_CONFIG` to refer to.
pub const CLUSTER_VARIABLE: &str = "TRAINYARD_CLUSTER";

/// A list of hosts: its key in the map, its variable, and the kinds of roles that it lists.
type HostList = (&'static str, &'static str, &'static [RoleKind]);

/// All lists of hosts.
pub const HOST_LISTS: [HostList; 3] = [
    (
        "chief",
        "TRAINYARD_CHIEF_HOSTS",
        &[RoleKind::Chief, RoleKind::Master],
    ),
    ("ps", "TRAINYARD_PS_HOSTS", &[RoleKind::Ps]),
    ("worker", "TRAINYARD_WORKER_HOSTS", &[RoleKind::Worker]),
];

/// The map of one job.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterMap {
    /// Its name.
    pub name: String,
    /// Whether it holds the `cluster` object too.
    pub large: bool,
    /// No pod refers to it: its contents are written into the pods.
    pub inline: bool,
    /// What it holds.
    pub data: Map<String, Value>,
    /// Variables that would be too long for a pod, and are left out.
    pub too_long: Vec<&'static str>,
}

impl ClusterMap {
    /// The map of a job whose tasks have these addresses.
    #[must_use]
    pub fn of(job: &Job, book: &AddressBook, cluster: &Cluster) -> Self {
        let (mut data, mut too_long) = (Map::new(), Vec::new());
        for (key, variable, kinds) in HOST_LISTS {
            let list = hosts(job, book, kinds);
            // The limit is that of `TF_CONFIG=`, and this name is longer.
            if list.len() + variable.len() > MOST_BYTES + "TF_CONFIG".len() {
                too_long.push(variable);
            } else {
                data.insert(key.into(), list.into());
            }
        }
        let large = cluster.shared().is_some() && cluster.longest() > MOST_IN_POD;
        if let Some(shared) = cluster.shared().filter(|_| large) {
            data.insert(CLUSTER_KEY.into(), shared.into());
        }
        let mark = fingerprint(&Value::Object(data.clone()).to_string());
        Self {
            name: format!("{}-cluster-{:010x}", job.name, mark & 0xff_ffff_ffff),
            large,
            inline: false,
            data,
            too_long,
        }
    }

    /// The object.
    #[must_use]
    pub fn object(&self, job: &Job) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": self.name, "namespace": *job.namespace, "labels": of_job(job) },
            "immutable": true,
            "data": self.data,
        })
    }

    /// The variables that come out of the map, for one container.
    #[must_use]
    pub fn host_variables(&self) -> Vec<Value> {
        let lists = HOST_LISTS.iter().filter(|(key, ..)| self.data.contains_key(*key));
        lists
            .map(|(key, variable, _)| self.variable(variable, key))
            .collect()
    }

    /// A variable with the value of one key.
    #[must_use]
    pub fn variable(&self, variable: &str, key: &str) -> Value {
        if self.inline {
            return json!({ "name": variable, "value": self.data.get(key) });
        }
        json!({ "name": variable, "valueFrom": { "configMapKeyRef": { "name": self.name, "key": key } } })
    }
}

/// `host:port` of every task of these kinds, with commas.
fn hosts(job: &Job, book: &AddressBook, kinds: &[RoleKind]) -> String {
    let roles = job.roles.iter().filter(|role| kinds.contains(&role.kind));
    let tasks = roles.flat_map(trainyard_core::Role::tasks);
    let hosts: Vec<&str> = tasks
        .filter_map(|task| book.0.get(&task).map(|address| &**address))
        .collect();
    hosts.join(",")
}
