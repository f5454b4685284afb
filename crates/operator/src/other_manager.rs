//! Whether another controller writes a job's status, by the managers that the API server notes down for it: two controllers of one job undo
//! each other's work, so this one stops with that job.
//!
//! The status of every kind is one field to the API server (`x-kubernetes-map-type: atomic`), so its manager is the program that changed it
//! last. Decided while a job is read: of its `managedFields` nothing is kept.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::Value;
use trainyard_status::MEMORY_FIELD;

use crate::job::{JobSeen, JobWire};
use crate::kinds::Kind;
use crate::reconcile::wait::{Reason, Wait};

/// The operator, in this release and in those before it: the name that its user agent begins with.
pub const MANAGER: &str = "trainyard";
/// Programs that do not say who they are. A controller's library does; a script may not.
const UNKNOWN: &str = "unknown";
/// People: `kubectl-edit`, `kubectl-patch`, `kubectl`.
const KUBECTL: &str = "kubectl";

/// Why nothing is done about a job; none if no other controller writes its status. `before` is what was last seen of it.
///
/// A status that another operator wrote before this one had begun is no reason where such jobs are taken over.
#[must_use]
pub fn found(kind: &Kind, wire: &JobWire, before: Option<&JobSeen>) -> Option<Arc<str>> {
    let meta = &wire.metadata;
    let Some(manager) = manager(meta.managed_fields.as_deref().unwrap_or_default()) else {
        return told(wire.status.as_ref());
    };
    let before = before.filter(|before| Some(&*before.uid) == meta.uid.as_deref());
    if let Some(words) = before.and_then(|before| before.other_manager.clone()) {
        return Some(words);
    }
    let remembers = |status: Option<&Value>| status.is_some_and(|status| status.get(MEMORY_FIELD).is_some());
    // Another controller knows no memory of ours, and may have written a status without it.
    let begun =
        remembers(wire.status.as_ref()) || remembers(before.and_then(|before| before.status.as_ref()));
    (begun || kind.taken_over.is_none()).then(|| words(kind, wire, manager).into())
}

/// What the job's status says of another controller: it holds until a user takes these words out.
fn told(status: Option<&Value>) -> Option<Arc<str>> {
    let mut waits = Wait::of_status(status).into_iter();
    let told = waits.find(|wait| wait.reason == Reason::OtherManager)?;
    Some(told.message.into())
}

fn words(kind: &Kind, wire: &JobWire, manager: &str) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    format!(
        "another controller, `{manager}`, has written the status of this job, and nothing is done about the job here: stop that controller, then \
         `kubectl patch {} {} -n {} --subresource status --type merge --patch '{{\"status\":{{\"waiting\":null}}}}'`",
        kind.api.definition_name(),
        text(&wire.metadata.name),
        text(&wire.metadata.namespace)
    )
}

/// The controller that changed the status last; none if it was the operator, a person, or a program without a name.
fn manager(fields: &[ManagedFieldsEntry]) -> Option<&str> {
    let of_status = |entry: &&ManagedFieldsEntry| entry.subresource.as_deref() == Some("status");
    let time = |entry: &ManagedFieldsEntry| entry.time.as_ref().map(|time| time.0);
    let last = fields.iter().filter(of_status).map(time).max()?;
    let entries = fields
        .iter()
        .filter(of_status)
        .filter(|entry| time(entry) == last);
    let mut managers = entries.filter_map(|entry| entry.manager.as_deref());
    managers.find(|name| !["", MANAGER, UNKNOWN].contains(name) && !name.starts_with(KUBECTL))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::job::Reading;
    use crate::kinds::{t9k, tfjob};

    #[test]
    fn the_last_manager_of_the_status_counts_if_it_is_a_controller() {
        let entry = |manager: &str, subresource: &str, second: u32| {
            json!({
                "manager": manager, "operation": "Update", "subresource": subresource,
                "time": format!("2026-01-01T00:00:{second:02}Z"), "fieldsType": "FieldsV1", "fieldsV1": { "f:status": {} },
            })
        };
        let rows = [
            (json!([]), None),
            (json!([entry("trainyard", "status", 1)]), None),
            (json!([entry("unknown", "status", 1)]), None),
            (json!([entry("", "status", 1)]), None),
            (json!([entry("kubectl-edit", "status", 1)]), None),
            (json!([entry("kubectl", "status", 1)]), None),
            // It wrote the spec, or labels.
            (json!([entry("manager", "", 1)]), None),
            (json!([entry("manager", "scale", 1)]), None),
            (json!([entry("manager", "status", 1)]), Some("manager")),
            (
                json!([
                    entry("trainyard", "status", 1),
                    entry("vc-controller-manager", "status", 2)
                ]),
                Some("vc-controller-manager"),
            ),
            // It wrote before us; the definition was another then.
            (
                json!([entry("manager", "status", 1), entry("trainyard", "status", 2)]),
                None,
            ),
            (
                json!([entry("trainyard", "status", 2), entry("manager", "status", 2)]),
                Some("manager"),
            ),
            (
                json!([{ "manager": "manager", "subresource": "status" }]),
                Some("manager"),
            ),
            (json!([{ "subresource": "status" }, {}]), None),
        ];
        for (fields, expected) in rows {
            let fields: Vec<ManagedFieldsEntry> = serde_json::from_value(fields).unwrap();
            assert_eq!(manager(&fields), expected, "{fields:?}");
        }
    }

    fn wire(manager: &str, status: &Value) -> JobWire {
        let wire = json!({
            "metadata": {
                "name": "mnist", "namespace": "ml", "uid": "u", "generation": 1,
                "managedFields": [{ "manager": manager, "subresource": "status", "time": "2026-01-01T00:00:00Z" }],
            },
            "spec": {},
            "status": status,
        });
        serde_json::from_value(wire).unwrap()
    }

    #[test]
    fn a_job_that_another_operator_began_is_taken_over_only_where_that_is_known() {
        let memory = json!({ "trainyard": { "format": 1, "job": "u" } });
        let foreign = json!({ "startTime": "2026-01-01T00:00:00Z" });
        let seen = |kind: &'static Kind, manager: &str, status: &Value, before: Option<&JobSeen>| {
            Reading::default().read(kind, wire(manager, status), before)
        };
        let ours = seen(&tfjob::KIND, "trainyard", &memory, None);
        let stopped = seen(&tfjob::KIND, "manager", &foreign, Some(&ours));
        let told = json!({ "waiting": [{ "reason": "OtherManager", "message": "as it was told" }] });
        let rows: [(&'static Kind, &str, &Value, Option<&JobSeen>, bool); 9] = [
            (&tfjob::KIND, "manager", &foreign, None, false),
            (&t9k::KIND, "manager", &foreign, None, true),
            (&tfjob::KIND, "manager", &memory, None, true),
            // It has dropped the memory of a job that we ran.
            (&tfjob::KIND, "manager", &foreign, Some(&ours), true),
            (&tfjob::KIND, "manager", &foreign, Some(&stopped), true),
            (&tfjob::KIND, "trainyard", &memory, Some(&stopped), false),
            // Until a user takes out what the status says.
            (&tfjob::KIND, "trainyard", &told, None, true),
            (&tfjob::KIND, "kubectl-patch", &told, None, true),
            (&tfjob::KIND, "kubectl-patch", &memory, Some(&stopped), false),
        ];
        for (row, (kind, manager, status, before, expected)) in rows.into_iter().enumerate() {
            let words = seen(kind, manager, status, before).other_manager;
            assert_eq!(words.is_some(), expected, "row {row}: {words:?}");
        }
        let words = stopped.other_manager.unwrap();
        assert!(words.contains("another controller, `manager`"), "{words}");
        assert!(
            words.contains("kubectl patch tfjobs.kubeflow.org mnist -n ml"),
            "{words}"
        );
    }
}
