//! Rules (CEL) by which the API server refuses what Volcano's webhook refuses, in its words where it has some.
//!
//! Left to the operator, since a rule cannot say it or costs too much: circles in `dependsOn`, duplicates among the policies of one
//! task, pod templates, and edits of a pod template, which take effect for pods that are created later.

use serde_json::{Value, json};
use trainyard_document::names::LABEL_LENGTH;

/// Plugins that may be listed.
const PLUGINS: &str = "['env', 'svc', 'tensorflow', 'ssh']";
/// Fields that an edit may not change, besides the names and the number of tasks.
const FIXED: &[&str] = &[
    "schedulerName",
    "queue",
    "maxRetry",
    "minSuccess",
    "ttlSecondsAfterFinished",
    "plugins",
    "policies",
    "volumes",
];

/// The same of each task.
const FIXED_OF_TASKS: &[&str] = &[
    "maxRetry",
    "policies",
    "dependsOn",
    "topologyPolicy",
    "partitionPolicy",
];

fn rule(rule: impl Into<String>, message: &str) -> Value {
    json!({ "rule": rule.into(), "message": message })
}

/// What a job may be called: its name is that of its Service, and part of those of its pods. A job that has a status is stored and
/// keeps its name; were it judged again, the operator could not write its status.
pub(super) fn of_names() -> Value {
    let name = "(has(task.name) && task.name != '' ? task.name.size() : 10)";
    let replicas = "(has(task.replicas) ? task.replicas : 0)";
    // Of `<job>-<task>-<index>`, without the dashes.
    let most = LABEL_LENGTH - 2;
    let fits = format!("self.metadata.name.size() + {name} + string({replicas} - 1).size() <= {most}");
    json!([
        rule(
            "has(self.status) || self.metadata.name.matches('^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$')",
            "metadata.name must be a DNS label of at most 63 characters that begins with a letter: the names of pods and Services \
             are made of it",
        ),
        rule(
            format!("has(self.status) || self.spec.tasks.all(task, {replicas} == 0 || {fits})"),
            "metadata.name is too long for its pods: <job>-<task>-<index> may have at most 63 characters",
        ),
    ])
}

/// What holds for a spec as a whole, and for an edit of it.
pub(super) fn of_spec() -> Value {
    let replicas = "self.tasks.map(task, has(task.replicas) ? task.replicas : 0).sum()";
    let at_most = |field: &str| {
        rule(
            format!("!has(self.{field}) || self.{field} <= {replicas}"),
            &format!("job '{field}' should not be greater than total replicas in tasks"),
        )
    };
    let names = |of: &str| format!("{of}.tasks.map(task, has(task.name) ? task.name : '')");
    let mut rules = vec![
        at_most("minAvailable"),
        at_most("minSuccess"),
        rule(
            "self.tasks.size() == oldSelf.tasks.size()",
            "job updates may not add or remove tasks",
        ),
        rule(
            format!(
                "self.tasks.size() != oldSelf.tasks.size() || {} == {}",
                names("self"),
                names("oldSelf")
            ),
            "job updates may not change the names of tasks",
        ),
    ];
    rules.extend(FIXED.iter().map(|field| {
        rule(
            format!(
                "has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || self.{field} == oldSelf.{field})"
            ),
            &was_changed(field),
        )
    }));
    rules.extend(FIXED_OF_TASKS.iter().map(|field| {
        // In a list, so that a field that is not given can be compared with one that is.
        let all = |of: &str| format!("{of}.tasks.map(task, has(task.{field}) ? [task.{field}] : [])");
        rule(
            format!(
                "self.tasks.size() != oldSelf.tasks.size() || {} == {}",
                all("self"),
                all("oldSelf")
            ),
            &was_changed(&format!("tasks[*].{field}")),
        )
    }));
    rules.into()
}

/// Volcano's words about an edit, and which field it is about.
fn was_changed(field: &str) -> String {
    format!(
        "job updates may not change fields other than `minAvailable`, `tasks[*].replicas`, `tasks[*].minAvailable` and \
         `priorityClassName`: `{field}` was changed"
    )
}

/// What holds for the list of tasks.
pub(super) fn of_tasks() -> Value {
    let twin = "self.exists_one(other, has(other.name) && other.name == task.name)";
    json!([rule(
        format!("self.all(task, !has(task.name) || task.name == '' || {twin})"),
        "duplicated task name",
    )])
}

/// What holds for one task.
pub(super) fn of_task() -> Value {
    let partitions = "self.partitionPolicy.totalPartitions * self.partitionPolicy.partitionSize";
    json!([
        rule(
            "!has(self.minAvailable) || self.minAvailable <= (has(self.replicas) ? self.replicas : 0)",
            "'minAvailable' is greater than 'replicas' in task",
        ),
        rule(
            format!("!has(self.partitionPolicy) || (has(self.replicas) ? self.replicas : 0) == {partitions}"),
            "'replicas' must be 'totalPartitions' times 'partitionSize'",
        ),
    ])
}

/// What holds for one policy.
pub(super) fn of_policy() -> Value {
    let event = "(has(self.event) || has(self.events) && self.events.size() > 0)";
    json!([
        rule(
            format!("!({event} && has(self.exitCode))"),
            "must not specify event and exitCode simultaneously",
        ),
        rule(
            format!("{event} || has(self.exitCode)"),
            "either event and exitCode should be specified",
        ),
        rule(
            "!has(self.exitCode) || self.exitCode != 0",
            "0 is not a valid error code"
        ),
    ])
}

/// What holds for the policies of a job together.
pub(super) fn of_policies() -> Value {
    let events =
        |of: &str| format!("((has({of}.event) ? [{of}.event] : []) + (has({of}.events) ? {of}.events : []))");
    let (one, other) = (events("one"), events("other"));
    json!([
        rule(
            format!("self.all(one, {one}.all(event, self.filter(other, event in {other}).size() <= 1))"),
            "duplicate event across different policy",
        ),
        rule(
            format!("!self.exists(one, '*' in {one}) || self.map(one, {one}.size()).sum() == 1"),
            "if there's * here, no other policy should be here",
        ),
        rule(
            "self.all(one, !has(one.exitCode) || self.exists_one(other, has(other.exitCode) && other.exitCode == one.exitCode))",
            "duplicate exitCode",
        ),
    ])
}

/// What holds for plugins.
pub(super) fn of_plugins() -> Value {
    let unknown = format!("self.filter(name, !(name in {PLUGINS}))");
    json!([{
        "rule": format!("self.all(name, name in {PLUGINS})"),
        "messageExpression": format!(
            "'the plugin \"' + {unknown}[0] + '\" is not carried out: Trainyard runs TensorFlow, with env, svc and tensorflow'"
        ),
    }])
}

/// What holds for the list of volumes.
pub(super) fn of_volumes() -> Value {
    json!([rule(
        "self.all(one, self.exists_one(other, other.mountPath == one.mountPath))",
        "duplicated mountPath",
    )])
}

/// What holds for one volume.
pub(super) fn of_volume() -> Value {
    json!([rule(
        "has(self.volumeClaim) != has(self.volumeClaimName)",
        "either volumeClaim or volumeClaimName must be given, and not both",
    )])
}

/// What holds for `networkTopology`.
pub(super) fn of_topology() -> Value {
    json!([rule(
        "!(has(self.highestTierAllowed) && has(self.highestTierName))",
        "highestTierAllowed and highestTierName must not be given together",
    )])
}

/// What a queue may not be.
pub(super) fn of_queue() -> Value {
    json!([rule("self != 'root'", "the queue root takes no jobs")])
}
