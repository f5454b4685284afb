//! Parts of schemas that several kinds share: pod templates, and what the operator adds to every status.

use serde_json::{Map, Value, json};
use trainyard_document::names::LABEL_LENGTH;

use crate::values::present;

/// Bounds that let the API server estimate what its rules cost; far beyond any job.
const MOST_CONTAINERS: u32 = 64;
pub(super) const MOST_REPLICAS: u32 = 10_000;

/// `status.ready`.
const READY: &str =
    "How many tasks run or have done their work, and of how many: 2/3; not there once the job has ended.";
/// `status.restarts`.
const RESTARTS: &str = "How often tasks were started again, by the operator or by a kubelet.";
/// `status.summary`.
const SUMMARY: &str = "One sentence: why it failed, what it waits for, or how many of its tasks are ready.";

/// The fields of a schema that is written as an object.
pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// A whole number from `minimum` on.
pub(super) fn integer(format: &str, minimum: u32, description: &str) -> Value {
    json!({ "type": "integer", "format": format, "minimum": minimum, "description": description })
}

/// A text.
pub(super) fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

/// A time.
pub(super) fn time(description: &str) -> Value {
    json!({ "type": "string", "format": "date-time", "description": description })
}

/// An object that is kept as it is.
pub(super) fn anything(description: &str) -> Value {
    json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true, "description": description })
}

/// How rules reach the roles of a job, as expressions.
pub(super) struct RoleRules {
    /// All of them.
    pub list: &'static str,
    /// What the others call one of them.
    pub variable: &'static str,
    /// Its name.
    pub kind: &'static str,
    /// How many replicas it has; may be missing.
    pub replicas: &'static str,
    /// Whether it had as many before, by `oldSelf`.
    pub unchanged: &'static str,
}

/// What a job may be called: its name is that of its Service, and part of those of its pods.
///
/// A job that has a status is stored, and keeps its name: were it judged again, the operator could not write into its status what is
/// wrong with it. Only an edit of its replicas is.
pub(super) fn names(roles: &RoleRules) -> Value {
    let RoleRules {
        list,
        variable,
        kind,
        replicas,
        unchanged,
    } = roles;
    let last = format!("(has({replicas}) ? string({replicas} - 1).size() : 1)");
    let none = format!("(has({replicas}) && {replicas} == 0)");
    // Of `<name>-<role>-<index>`, without the dashes.
    let most = LABEL_LENGTH - 2;
    let fits = format!("self.metadata.name.size() + {kind}.size() + {last} <= {most}");
    let too_long =
        "metadata.name is too long for its pods: <name>-<role>-<index> may have at most 63 characters";
    json!([
        {
            "rule": "has(self.status) || self.metadata.name.matches('^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$')",
            "message": "metadata.name must be a DNS label of at most 63 characters that begins with a letter: the names \
                        of pods and Services are made of it",
        },
        { "rule": format!("has(self.status) || {list}.all({variable}, {none} || {fits})"), "message": too_long },
        { "rule": format!("{list}.all({variable}, {unchanged} || {none} || {fits})"), "message": too_long },
    ])
}

/// The schema of a kind: what its objects are, and rules about their names.
pub(super) fn schema(description: &str, names: &Value, spec: &Value, status: &Value) -> Value {
    json!({
        "type": "object",
        "description": description,
        "required": ["spec"],
        "x-kubernetes-validations": names,
        "properties": {
            "apiVersion": { "type": "string" },
            "kind": { "type": "string" },
            "metadata": { "type": "object", "properties": { "name": { "type": "string", "maxLength": 253 } } },
            "spec": spec,
            "status": status,
        },
    })
}

/// A pod template with one container named tensorflow.
pub(super) fn template() -> Value {
    let rules = json!([{
        "rule": "self.exists_one(container, container.name == 'tensorflow')",
        "message": "exactly one container must be named \"tensorflow\": it is the task",
    }]);
    let description =
        "A pod template (`kubectl explain pod.spec`); its container named tensorflow is the task.";
    pod_template(description, &rules)
}

/// A pod template is kept as it is. Of its containers as much is named as rules need (null: there are none), and what no container can do
/// without.
pub(super) fn pod_template(description: &str, rules: &Value) -> Value {
    json!({
        "type": "object",
        "description": description,
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": { "spec": {
            "type": "object",
            "required": ["containers"],
            "x-kubernetes-preserve-unknown-fields": true,
            "properties": { "containers": present(json!({
                "type": "array",
                "minItems": 1,
                "maxItems": MOST_CONTAINERS,
                "x-kubernetes-validations": rules,
                "items": {
                    "type": "object",
                    "required": ["name", "image"],
                    "x-kubernetes-preserve-unknown-fields": true,
                    "properties": {
                        "name": { "type": "string", "maxLength": 63 },
                        "image": { "type": "string", "minLength": 1 },
                    },
                },
            })) },
        } },
    })
}

/// Our additions to `runPolicy` that every dialect with replica types reads.
pub(super) fn additions() -> Map<String, Value> {
    object(json!({
        "restartScope": {
            "x-kubernetes-preserve-unknown-fields": true,
            "description": "What is restarted when a task is: Replica (default), Job, or a list of replica types.",
        },
        "startOrder": {
            "x-kubernetes-preserve-unknown-fields": true,
            "description": "Replica types, as a list or with commas: each starts when all tasks of the one before are ready.",
        },
        "startTimeoutSeconds": integer("int32", 1, "The job fails when a task that was created has not come to run for so long."),
    }))
}

/// One thing that a job waits for.
fn wait() -> Value {
    json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "description": "One thing that it waits for.",
        "properties": {
            "reason": text("In one word, as Unschedulable."),
            "message": text("In the cluster's own words, where it has any."),
            "help": text("What to do about it."),
            "code": text("The code of the cause, which `trainyard explain` knows."),
            "pods": { "type": "integer", "format": "int32", "description": "How many pods wait for it." },
            "pod": text("One of them."),
            "node": text("The node that does not answer, where that is the reason."),
            "container": text("Which container of it waits."),
        },
    })
}

/// What every kind's status has under the same names.
fn common_status() -> Map<String, Value> {
    object(json!({
        "startTime": time("When the job began, or began again after it was suspended."),
        "completionTime": time("When it ended."),
        "summary": text(SUMMARY),
        "ready": text(READY),
        "restarts": { "type": "integer", "format": "int64", "description": RESTARTS },
        "waiting": {
            "type": "array", "items": wait(),
            "description": "What it waits for that is not ordinary: reason, message, and which pods.",
        },
        "tensorboard": anything("The TensorBoard that belongs to the job: whether it is ready, why not, and where it is."),
        "firstFailure": anything("Which task failed first, and how: its exit code, reason, message, cause, and where."),
    }))
}

/// One condition of a status.
pub(super) fn condition() -> Value {
    json!({
        "type": "object", "required": ["type", "status"],
        "properties": {
            "type": { "type": "string" },
            "status": { "type": "string" },
            "reason": { "type": "string" },
            "message": { "type": "string" },
            "lastUpdateTime": time("When something of it was last written."),
            "lastTransitionTime": time("When it last became true or false."),
        },
    })
}

/// The schema of a status with these fields of the kind's own.
pub(super) fn status(description: &str, own: Value) -> Value {
    let mut properties = common_status();
    properties.extend(object(own));
    json!({
        "type": "object",
        "description": description,
        // It is written by one program, whole: the server need not note down who wrote which field of it.
        "x-kubernetes-map-type": "atomic",
        // The memory of our decisions, and what other operators wrote.
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": properties,
    })
}
