//! How the tasks of a job know each other: it stays as it was when the job began, since tasks that run know each other by it. Neither a
//! flag of the operator's that is changed, nor another operator, nor an edit of the job changes that before it is suspended.

use serde_json::{Map, Value};
use trainyard_core::Addresses;
use trainyard_status::MEMORY_FIELD;

/// Where a job says it itself.
const ANNOTATION: &str = "trainyard.dev/addresses";

/// Where it is noted, beside what else is remembered.
const FIELD: &str = "form";
const PER_REPLICA: &str = "per-replica";
const KUBEFLOW: &str = "kubeflow";

/// The form of a job's addresses and of its `TF_CONFIG`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressForm {
    /// Our own.
    #[default]
    Own,
    /// With Kubeflow's addresses: the job or the operator's flag said so when the job began.
    PerReplica,
    /// With everything as Kubeflow's: its operator began the job.
    Kubeflow,
}

impl AddressForm {
    /// The form of a job with this status; `per_replica` is for one that has not begun.
    #[must_use]
    pub fn of(status: Option<&Value>, per_replica: bool) -> Self {
        let remembered = status
            .and_then(|status| status.get(MEMORY_FIELD))
            .filter(|memory| !memory.is_null());
        let begun = status.is_some_and(|status| status.get("startTime").is_some_and(Value::is_string));
        match remembered {
            Some(memory) => match memory.get(FIELD).and_then(Value::as_str) {
                Some(PER_REPLICA) => Self::PerReplica,
                Some(KUBEFLOW) => Self::Kubeflow,
                _ => Self::Own,
            },
            None if begun => Self::Kubeflow,
            None if per_replica => Self::PerReplica,
            None => Self::Own,
        }
    }

    /// Says it as the job could have said it. What the job says itself stands, unless that came after it had begun.
    pub fn annotate(self, status: Option<&Value>, annotations: &mut Map<String, Value>) {
        if self != Self::Kubeflow && runs(status) {
            annotations.remove(ANNOTATION);
        }
        let says: &[(&str, &str)] = match self {
            Self::Own => &[],
            Self::PerReplica => &[(ANNOTATION, PER_REPLICA)],
            Self::Kubeflow => &[
                (ANNOTATION, PER_REPLICA),
                ("trainyard.dev/evaluator-in-cluster", "true"),
            ],
        };
        for (name, value) in says {
            annotations
                .entry((*name).to_owned())
                .or_insert_with(|| (*value).into());
        }
    }

    /// The form in which a job that is read so begins, or goes on.
    #[must_use]
    pub fn with(self, addresses: Addresses) -> Self {
        match (self, addresses) {
            (Self::Kubeflow, _) => Self::Kubeflow,
            (_, Addresses::PerReplica) => Self::PerReplica,
            _ => Self::Own,
        }
    }

    /// Notes it in a status that holds memory.
    pub fn note(self, status: &mut Value) {
        let word = match self {
            Self::Own => return,
            Self::PerReplica => PER_REPLICA,
            Self::Kubeflow => KUBEFLOW,
        };
        if let Some(Value::Object(memory)) = status.get_mut(MEMORY_FIELD) {
            memory.insert(FIELD.into(), word.into());
        }
    }
}

/// Whether a job that is remembered runs: a suspended one has no tasks.
fn runs(status: Option<&Value>) -> bool {
    let Some(status) = status else {
        return false;
    };
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    let suspended = conditions.any(|one| one["type"] == "Suspended" && one["status"] == "True");
    status["startTime"].is_string() && status[MEMORY_FIELD].is_object() && !suspended
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_keeps_the_form_in_which_it_began() {
        let began = "2026-01-02T03:04:05Z";
        let rows = [
            (json!(null), false, AddressForm::Own),
            (json!(null), true, AddressForm::PerReplica),
            (json!({ "conditions": [] }), true, AddressForm::PerReplica),
            (json!({ "startTime": began }), false, AddressForm::Kubeflow),
            (json!({ "startTime": began }), true, AddressForm::Kubeflow),
            (
                json!({ "startTime": began, "trainyard": {} }),
                true,
                AddressForm::Own,
            ),
            (
                json!({ "trainyard": { "form": "per-replica" } }),
                false,
                AddressForm::PerReplica,
            ),
            (
                json!({ "startTime": began, "trainyard": { "form": "kubeflow" } }),
                false,
                AddressForm::Kubeflow,
            ),
            (
                json!({ "startTime": began, "trainyard": null }),
                false,
                AddressForm::Kubeflow,
            ),
        ];
        for (mut status, flag, expected) in rows {
            let form = AddressForm::of(Some(&status), flag);
            assert_eq!(form, expected, "{status}");
            if status["trainyard"].is_object() {
                let before = status.clone();
                form.note(&mut status);
                assert_eq!(status, before, "what is noted is what was read");
            }
        }
        assert_eq!(AddressForm::of(None, true), AddressForm::PerReplica);
    }

    #[test]
    fn what_a_job_says_itself_stands() {
        let mut annotations = Map::new();
        annotations.insert("trainyard.dev/addresses".into(), "per-job".into());
        AddressForm::Kubeflow.annotate(None, &mut annotations);
        assert_eq!(annotations["trainyard.dev/addresses"], "per-job");
        assert_eq!(annotations["trainyard.dev/evaluator-in-cluster"], "true");
    }
}
