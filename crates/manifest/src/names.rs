//! Names and labels of everything that is made for a job.
//!
//! Our own labels find every object of a job whatever its dialect; the dialect's labels are there because its users'
//! tools look for them.

use serde_json::{Map, Value};
use trainyard_core::{Job, Role, RoleKind};
use trainyard_dialect::{Dialect, TASK_INDEX_LABEL};

/// Which job an object belongs to.
pub const JOB_LABEL: &str = "trainyard.dev/job-name";
/// Which role a pod belongs to.
pub const ROLE_LABEL: &str = "trainyard.dev/role";
/// Which life of its task a pod is.
pub const STAMP: &str = "trainyard.dev/stamp";
/// Who operates a pod. The value is Kubeflow's: its users' tools look for it.
pub const OPERATOR_LABEL: &str = "training.kubeflow.org/operator-name";
/// Kubeflow's words for a pod's job, role and index.
pub const KUBEFLOW_JOB_LABEL: &str = "training.kubeflow.org/job-name";
/// See [`KUBEFLOW_JOB_LABEL`].
pub const KUBEFLOW_ROLE_LABEL: &str = "training.kubeflow.org/replica-type";
/// See [`KUBEFLOW_JOB_LABEL`].
pub const KUBEFLOW_INDEX_LABEL: &str = "training.kubeflow.org/replica-index";
/// See [`OPERATOR_LABEL`].
pub const OPERATOR: &str = "tfjob-controller";
/// Where Kubernetes says which index of an Indexed Job a pod is, as a label and as an annotation.
pub const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// Where Kubernetes says which Job a pod belongs to.
pub const BATCH_JOB_NAME: &str = "batch.kubernetes.io/job-name";
/// The variable in which Kubernetes says the same.
pub const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";

/// Labels with a task's number, by which templates ask for it.
pub const INDEX_LABELS: &[&str] = &[
    TASK_INDEX_LABEL,
    KUBEFLOW_INDEX_LABEL,
    "tf-replica-index",
    "replica-index",
    "volcano.sh/task-index",
];

/// Labels that the API server gives to the pods of a Job; a template that brings its own is refused.
pub const SERVER_LABELS: &[&str] = &[
    "controller-uid",
    "job-name",
    "batch.kubernetes.io/controller-uid",
    BATCH_JOB_NAME,
    COMPLETION_INDEX,
];

/// The name of a role's Job: with the index behind it, the host name of each of its pods.
#[must_use]
pub fn role_job(job: &Job, role: &Role) -> String {
    format!("{}-{}", job.name, role.name)
}

/// The name of the job's TensorBoard. T9k calls it like the job; that is the name of the job's Service here.
#[must_use]
pub fn tensorboard(job: &str) -> String {
    format!("{job}-tensorboard")
}

/// The labels of an object that belongs to a job.
#[must_use]
pub fn of_job(job: &Job) -> Map<String, Value> {
    let mut labels = Map::new();
    labels.insert(JOB_LABEL.into(), Value::from(&*job.name));
    labels
}

/// The labels of a role's pods; `index` where the pod is made for one task alone.
///
/// There is no `training.kubeflow.org/operator-name`: nobody operates these pods, and an operator of that name in the
/// cluster must not take them for its own.
#[must_use]
pub fn of_pods(dialect: Dialect, job: &Job, role: &Role, index: Option<u32>) -> Map<String, Value> {
    let mut labels = of_job(job);
    let mut put = |key: &str, value: &str| {
        labels.insert(key.to_owned(), value.into());
    };
    put(ROLE_LABEL, role.name.as_str());
    let number = index.map(|index| index.to_string());
    if let Some(number) = &number {
        put(TASK_INDEX_LABEL, number);
    }
    let index_label = match dialect {
        Dialect::TfJob => {
            put(KUBEFLOW_JOB_LABEL, &job.name);
            put(KUBEFLOW_ROLE_LABEL, role.name.as_str());
            if leads(job, role, index) {
                put("training.kubeflow.org/job-role", "master");
            }
            Some(KUBEFLOW_INDEX_LABEL)
        }
        Dialect::TensorFlowTrainingJob => {
            put("tensorstack.dev/owner-name", &job.name);
            None
        }
        Dialect::Volcano => {
            put("volcano.sh/job-name", &job.name);
            put("volcano.sh/job-namespace", &job.namespace);
            put("volcano.sh/task-spec", role.name.as_str());
            Some("volcano.sh/task-index")
        }
    };
    if let (Some(key), Some(number)) = (index_label, &number) {
        put(key, number);
    }
    labels
}

/// The labels that operators of Kubeflow gave before `training.kubeflow.org/*`, from tf-operator 0.2 to training-operator 1.5: those
/// of every version at once, for selectors that were written for one of them.
#[derive(Debug)]
pub struct LegacyLabels;

impl LegacyLabels {
    const GROUP: [&str; 2] = ["group-name", "group_name"];
    const JOB: [&str; 3] = ["job-name", "tf-job-name", "tf_job_name"];
    const ROLE: [&str; 2] = ["replica-type", "tf-replica-type"];
    const INDEX: [&str; 2] = ["replica-index", "tf-replica-index"];
    const LEADER: [&str; 3] = ["job-role", "tf-job-role", "tf_job_role"];

    /// For something of the whole job.
    #[must_use]
    pub fn of_job(job: &Job) -> Map<String, Value> {
        let mut labels = Map::new();
        Self::put(&mut labels, &Self::GROUP, "kubeflow.org");
        Self::put(&mut labels, &Self::JOB, &job.name);
        Self::put(&mut labels, &["controller-name"], "tf-operator");
        labels
    }

    /// For something of one task. A Service is never called the master's.
    #[must_use]
    pub fn of_task(job: &Job, role: &Role, index: u32) -> Map<String, Value> {
        let mut labels = Self::of_job(job);
        Self::put(&mut labels, &Self::ROLE, role.name.as_str());
        Self::put(&mut labels, &Self::INDEX, &index.to_string());
        labels
    }

    /// For the pod of a task.
    #[must_use]
    pub fn of_pod(job: &Job, role: &Role, index: u32) -> Map<String, Value> {
        let mut labels = Self::of_task(job, role, index);
        if leads(job, role, Some(index)) {
            Self::put(&mut labels, &Self::LEADER, "master");
        }
        labels
    }

    fn put(labels: &mut Map<String, Value>, keys: &[&str], value: &str) {
        labels.extend(keys.iter().map(|key| ((*key).to_owned(), value.into())));
    }
}

/// Whether Kubeflow calls this pod the master: every chief's, else worker 0's.
fn leads(job: &Job, role: &Role, index: Option<u32>) -> bool {
    let is_chief = |role: &Role| matches!(role.kind, RoleKind::Chief | RoleKind::Master);
    let chief = job.roles.iter().any(|role| is_chief(role) && role.replicas > 0);
    is_chief(role) || !chief && role.kind == RoleKind::Worker && (index == Some(0) || role.replicas == 1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trainyard_document::Source;

    use super::*;

    #[test]
    fn old_labels_name_job_role_index_and_the_master() {
        let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "i" }] } });
        let text = json!({
            "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": { "name": "mnist" },
            "spec": { "tfReplicaSpecs": { "Worker": { "replicas": 2, "template": template } } },
        });
        let source = Source::from_bytes("job", text.to_string().as_bytes()).unwrap();
        let reading = trainyard_dialect::read(&source);
        let job = &reading.jobs().next().unwrap().job;
        let role = &job.roles[0];
        let of_job = json!({
            "group-name": "kubeflow.org", "group_name": "kubeflow.org", "controller-name": "tf-operator",
            "job-name": "mnist", "tf-job-name": "mnist", "tf_job_name": "mnist",
        });
        assert_eq!(Value::Object(LegacyLabels::of_job(job)), of_job);
        let mut of_task = of_job;
        for (label, value) in [
            ("replica-type", "worker"),
            ("tf-replica-type", "worker"),
            ("replica-index", "0"),
            ("tf-replica-index", "0"),
        ] {
            of_task[label] = value.into();
        }
        assert_eq!(Value::Object(LegacyLabels::of_task(job, role, 0)), of_task);
        for label in ["job-role", "tf-job-role", "tf_job_role"] {
            assert_eq!(LegacyLabels::of_pod(job, role, 0)[label], "master");
            assert!(!LegacyLabels::of_pod(job, role, 1).contains_key(label));
        }
    }
}
