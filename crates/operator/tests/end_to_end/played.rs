//! How the tables of whole runs play jobs of one kind: where its jobs are, and how a user changes them.

use serde_json::{Value, json};
use trainyard_cluster_tests::Namespace;
use trainyard_operator::kinds::{Kind, t9k, tfjob, volcano};
use trainyard_scenarios::{Fault, Order};

/// One kind.
pub struct Played {
    /// The kind.
    pub kind: &'static Kind,
    /// Version and plural of its jobs, as a path has them.
    pub jobs: (&'static str, &'static str),
    /// The change that suspends a job, or lets it go on.
    suspend: fn(bool) -> Value,
    /// The change of a job that gives a role so many replicas.
    scale: fn(&Value, &str, u32) -> Option<Value>,
    /// The pod template of a role.
    pub template: for<'a> fn(&'a mut Value, &str) -> Option<&'a mut Value>,
}

/// Kubeflow's.
pub static TFJOB: Played = Played {
    kind: &tfjob::KIND,
    jobs: ("apis/kubeflow.org/v1", "tfjobs"),
    suspend: |suspend| json!({ "spec": { "runPolicy": { "suspend": suspend } } }),
    scale: |object, role, count| {
        let roles = object["spec"]["tfReplicaSpecs"].as_object()?;
        let key = roles.keys().find(|key| key.eq_ignore_ascii_case(role))?;
        let roles = json!({ key.as_str(): { "replicas": count } });
        Some(json!({ "spec": { "tfReplicaSpecs": roles } }))
    },
    template: |object, role| {
        let roles = object["spec"]["tfReplicaSpecs"].as_object_mut()?;
        let mut roles = roles.iter_mut();
        let (_, role) = roles.find(|(key, _)| key.eq_ignore_ascii_case(role))?;
        Some(&mut role["template"])
    },
};

/// T9k's. A merge patch replaces its list of roles as a whole.
pub static T9K: Played = Played {
    kind: &t9k::KIND,
    jobs: ("apis/batch.tensorstack.dev/v1beta1", "tensorflowtrainingjobs"),
    suspend: |pause| json!({ "spec": { "runMode": { "pause": { "enabled": pause } } } }),
    scale: |object, role, count| {
        let mut roles = object["spec"]["replicaSpecs"].clone();
        let mut all = roles.as_array_mut()?.iter_mut();
        all.find(|one| one["type"] == role)?["replicas"] = count.into();
        Some(json!({ "spec": { "replicaSpecs": roles } }))
    },
    template: |object, role| {
        let roles = object["spec"]["replicaSpecs"].as_array_mut()?;
        let role = roles.iter_mut().find(|one| one["type"] == role)?;
        Some(&mut role["template"])
    },
};

/// Volcano's. It is not suspended by its manifest, but aborted by a Command.
pub static VOLCANO: Played = Played {
    kind: &volcano::KIND,
    jobs: ("apis/batch.volcano.sh/v1alpha1", "jobs"),
    suspend: |_| panic!("a Volcano job has no field for that"),
    scale: |object, task, count| {
        let mut tasks = object["spec"]["tasks"].clone();
        let mut all = tasks.as_array_mut()?.iter_mut();
        all.find(|one| one["name"] == task)?["replicas"] = count.into();
        Some(json!({ "spec": { "tasks": tasks } }))
    },
    template: |object, task| {
        let tasks = object["spec"]["tasks"].as_array_mut()?;
        let task = tasks.iter_mut().find(|one| one["name"] == task)?;
        Some(&mut task["template"])
    },
};

impl Played {
    /// How a user changes the manifest, and in which second.
    pub fn change(&self, object: &Value, fault: &Fault) -> Option<(u32, Value)> {
        match fault {
            Fault::Suspend { at } => Some((*at, (self.suspend)(true))),
            Fault::Resume { at } => Some((*at, (self.suspend)(false))),
            Fault::Replicas { role, at, count } => Some((*at, (self.scale)(object, &role.0, *count)?)),
            Fault::BreakGang { .. } => panic!("a {:?} cannot be played so: {fault:?}", self.kind),
            _ => None,
        }
    }

    /// The object by which a user gives an order to a job, where it is created, and in which second.
    pub fn order(&self, namespace: &Namespace<'_>, job: &str, fault: &Fault) -> Option<(u32, String, Value)> {
        let Fault::Order { at, what } = fault else {
            return None;
        };
        let Some(api) = self.kind.orders else {
            panic!("a {:?} is given no orders: {fault:?}", self.kind)
        };
        let action = match what {
            Order::Restart => "RestartJob",
            Order::Abort => "AbortJob",
            Order::Resume => "ResumeJob",
            Order::Terminate => "TerminateJob",
            Order::Complete => "CompleteJob",
        };
        let jobs = self.kind.api;
        let object = json!({
            "apiVersion": api.api_version, "kind": api.kind, "metadata": { "name": format!("{job}-{at}") },
            "action": action, "target": { "apiVersion": jobs.api_version, "kind": jobs.kind, "name": job },
        });
        let path = namespace.path(&format!("apis/{}", api.api_version), api.plural);
        Some((*at, path, object))
    }
}
