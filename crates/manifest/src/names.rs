//! Names and labels of everything that is made for a job.
//!
//! Our own labels find every object of a job whatever its kind; the kind's labels are there because its users' tools look
//! for them, and come as data ([`Conventions`](trainyard_core::Conventions)).

use serde_json::{Map, Value};
pub use trainyard_core::{JOB_LABEL, ROLE_LABEL};
use trainyard_core::{Job, Label, LabelValue, Role, RoleKind, Stamp, Subject, TASK_INDEX_LABEL, TaskId};

/// The annotation with the epoch and attempt that a pod belongs to.
pub const STAMP: &str = "trainyard.dev/stamp";
/// Kubeflow's words for a pod's job, role and index.
pub const KUBEFLOW_JOB_LABEL: &str = "training.kubeflow.org/job-name";
/// See [`KUBEFLOW_JOB_LABEL`].
pub const KUBEFLOW_ROLE_LABEL: &str = "training.kubeflow.org/replica-type";
/// See [`KUBEFLOW_JOB_LABEL`].
pub const KUBEFLOW_INDEX_LABEL: &str = "training.kubeflow.org/replica-index";
/// The label and annotation in which Kubernetes writes a pod's index in an Indexed Job.
pub const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// The label in which Kubernetes writes the name of a pod's Job.
pub const BATCH_JOB_NAME: &str = "batch.kubernetes.io/job-name";
/// The variable in which Kubernetes puts a pod's index in an Indexed Job.
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

/// Every task of a job, with its role.
pub(crate) fn tasks(job: &Job) -> impl Iterator<Item = (&Role, TaskId)> {
    job.roles
        .iter()
        .flat_map(|role| role.tasks().map(move |task| (role, task)))
}

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

/// The name of the NetworkPolicy of a job that is isolated. Volcano's plugin `svc` makes one of the job's own name.
#[must_use]
pub fn isolation(job: &str) -> String {
    format!("{job}-isolate")
}

/// The labels of an object that belongs to a job.
#[must_use]
pub fn of_job(job: &Job) -> Map<String, Value> {
    let mut labels = Map::new();
    labels.insert(JOB_LABEL.into(), Value::from(&*job.name));
    labels
}

/// What a label may take its value from.
#[derive(Clone, Copy, Debug)]
pub struct Labelled<'a> {
    /// The job that an object is made for.
    pub subject: &'a Subject,
    /// The role, where it is made for one.
    pub role: Option<&'a Role>,
    /// The number of the task, where it is made for one.
    pub index: Option<u32>,
    /// Whether it is a pod: nothing else leads.
    pub is_pod: bool,
    /// The life that a pod is made for, where it is one.
    pub life: Option<Life>,
}

/// One life of a task, for which a pod is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Life {
    /// Its epoch and attempt.
    pub stamp: Stamp,
    /// It is made from the template for resumed jobs, where there is one.
    pub resumed: bool,
    /// How many restarts of the job have been paid for.
    pub paid: u32,
}

impl<'a> Labelled<'a> {
    /// The pod of a task, or of every task of a role.
    #[must_use]
    pub fn pod(subject: &'a Subject, role: &'a Role, index: Option<u32>) -> Self {
        Self {
            subject,
            role: Some(role),
            index,
            is_pod: true,
            life: None,
        }
    }

    /// The labels of a table, without those that have no value here.
    #[must_use]
    pub fn labels(&self, table: &[Label]) -> Map<String, Value> {
        let label = |(key, value): &Label| Some(((*key).to_owned(), self.value(*value)?.into()));
        table.iter().filter_map(label).collect()
    }

    /// Adds the labels of what an operator makes to an object's metadata.
    pub fn mark(&self, metadata: &mut Value) {
        let Some(metadata) = metadata.as_object_mut() else {
            return;
        };
        if let Some(labels) = crate::values::object(metadata, "labels") {
            labels.extend(self.labels(self.subject.conventions.operated_labels));
            if self.subject.legacy_labels {
                labels.extend(self.labels(self.subject.conventions.legacy_labels));
            }
        }
    }

    fn value(&self, value: LabelValue) -> Option<String> {
        Some(match value {
            LabelValue::Fixed(text) => text.to_owned(),
            LabelValue::Job => self.subject.job.name.to_string(),
            LabelValue::Namespace => self.subject.job.namespace.to_string(),
            LabelValue::Role => self.role?.name.to_string(),
            LabelValue::Index => self.index?.to_string(),
            LabelValue::JobAndRole => role_job(&self.subject.job, self.role?),
            LabelValue::Queue => self.subject.job.gang.as_ref()?.queue.as_ref()?.to_string(),
            LabelValue::Epoch => self.life?.stamp.epoch.to_string(),
            LabelValue::Paid => self.life?.paid.to_string(),
            LabelValue::Leader(word) => {
                let leads = self.is_pod && leads(&self.subject.job, self.role?, self.index);
                leads.then(|| word.to_owned())?
            }
        })
    }
}

/// The labels of a role's pods; `index` where the pod is made for one task alone.
///
/// Those of [`operated_labels`](trainyard_core::Conventions::operated_labels) that name an operator are not among them: no
/// operator runs these pods, and one of that name in the cluster must not take them for its own.
#[must_use]
pub fn of_pods(subject: &Subject, role: &Role, index: Option<u32>) -> Map<String, Value> {
    const OURS: &[Label] = &[
        (JOB_LABEL, LabelValue::Job),
        (ROLE_LABEL, LabelValue::Role),
        (TASK_INDEX_LABEL, LabelValue::Index),
    ];
    let pod = Labelled::pod(subject, role, index);
    let mut labels = pod.labels(OURS);
    labels.extend(pod.labels(subject.conventions.pod_labels));
    labels
}

/// Whether a pod is that of a leading task: every chief's, else worker 0's.
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
        let subject = reading.jobs().next().unwrap().subject(None, None);
        let labels = |index: Option<u32>, is_pod: bool| {
            let object = Labelled {
                subject: &subject,
                role: index.map(|_| &subject.job.roles[0]),
                index,
                is_pod,
                life: None,
            };
            object.labels(subject.conventions.legacy_labels)
        };
        let of_job = json!({
            "group-name": "kubeflow.org", "group_name": "kubeflow.org", "controller-name": "tf-operator",
            "job-name": "mnist", "tf-job-name": "mnist", "tf_job_name": "mnist",
        });
        assert_eq!(Value::Object(labels(None, false)), of_job);
        let mut of_task = of_job;
        for (label, value) in [
            ("replica-type", "worker"),
            ("tf-replica-type", "worker"),
            ("replica-index", "0"),
            ("tf-replica-index", "0"),
        ] {
            of_task[label] = value.into();
        }
        assert_eq!(Value::Object(labels(Some(0), false)), of_task);
        for label in ["job-role", "tf-job-role", "tf_job_role"] {
            assert_eq!(labels(Some(0), true)[label], "master");
            assert!(!labels(Some(1), true).contains_key(label));
        }
    }
}
