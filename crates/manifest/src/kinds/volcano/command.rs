//! Volcano's `Command`: an order for one job, obeyed once and then deleted.

use serde_json::{Value, json};

use super::COMMAND_GROUP;

/// Whether an edit leaves the order as it was. Without optional values: the API server takes the cost of comparing two for too high.
const UNCHANGED: &str = "has(self.target) == has(oldSelf.target) && has(self.action) == has(oldSelf.action) \
    && (!has(self.action) || self.action == oldSelf.action) \
    && (!has(self.target) || (self.target.name == oldSelf.target.name && has(self.target.uid) == has(oldSelf.target.uid) \
    && (!has(self.target.uid) || self.target.uid == oldSelf.target.uid)))";

/// The definition of Commands. Its fields lie beside `metadata`, as Volcano has them.
pub fn definition() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let short = |description: &str| json!({ "type": "string", "maxLength": 253, "description": description });
    let target = json!({
        "type": "object",
        "description": "The job, as an owner reference. Where the UID is given, no other job of that name is meant.",
        "required": ["apiVersion", "kind", "name"],
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "apiVersion": short("batch.volcano.sh/v1alpha1."),
            "kind": short("Job."),
            "name": short("The name of the job."),
            "uid": short("The UID of the job."),
        },
    });
    let version = json!({
        "name": "v1alpha1", "served": true, "storage": true,
        "schema": { "openAPIV3Schema": {
            "type": "object",
            "description": "An order for a job, deleted when it has been obeyed.",
            "x-kubernetes-validations": [{
                "rule": UNCHANGED,
                "message": "an order cannot be changed: delete this Command and create another one",
            }],
            "properties": {
                "apiVersion": { "type": "string" },
                "kind": { "type": "string" },
                "metadata": { "type": "object" },
                "action": short("AbortJob, RestartJob, ResumeJob, TerminateJob or CompleteJob; others do nothing."),
                "target": target,
                "reason": text("Why, in one word."),
                "message": text("Why, in a sentence."),
            },
        } },
    });
    super::super::definition((COMMAND_GROUP, "Command", "commands"), &[version])
}
