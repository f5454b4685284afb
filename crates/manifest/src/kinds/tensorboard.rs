//! The schema of `tensorboardSpec`, the same in every kind that has the field.

use serde_json::{Map, Value, json};

use super::common::{anything, integer, object, text};

/// Where TensorBoard finds logs.
const FILESET: &str = "^((t9k://pvc/|pvc://)[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?(/.*)?|t9k://minio/[^/]+/[^/]+(/.*)?|hostPath:///.*)$";

/// The schema of `tensorboardSpec`.
pub(super) fn schema() -> Value {
    let texts = |description: &str| json!({ "type": "array", "items": { "type": "string" }, "description": description });
    let claim = json!({
        "type": "object", "required": ["name"],
        "properties": { "name": text("The claim's name."), "subPath": texts("Folders in it.") },
    });
    let secret = json!({
        "type": "object", "description": "The secret with the keys of the bucket.", "properties": { "name": text("Its name.") },
    });
    let places: Map<String, Value> = object(json!({
        "pvc": { "type": "array", "items": claim, "description": "Claims, and folders in them." },
        "s3": {
            "type": "object", "description": "Buckets.",
            "properties": { "secretRef": secret, "uri": texts("Their addresses.") },
        },
        "http": { "type": "object", "description": "Web addresses.", "properties": { "url": texts("The addresses.") } },
    }));
    json!({
        "type": "object",
        "description": "A TensorBoard over the job's logs.",
        "x-kubernetes-validations": [{
            "rule": "has(self.trainingLogFilesets) || has(self.logDir)",
            "message": "it names no logs: trainingLogFilesets or logDir says where they are",
        }],
        "properties": {
            "image": text("The image that TensorBoard runs in; the operator's unless given."),
            "trainingLogFilesets": {
                "type": "array", "maxItems": 64,
                "description": "Where the logs are: t9k://pvc/<claim>/<path>, t9k://minio/<secret>/<bucket>/<path>, pvc://<claim>/<path> or hostPath:///<path>.",
                "items": {
                    "type": "string", "maxLength": 1024,
                    "x-kubernetes-validations": [{
                        "rule": format!("self.matches('{FILESET}') && !self.matches('/[.][.](/|$)')"),
                        "message": "is not the address of a set of files: t9k://pvc/<claim>/<path>, t9k://minio/<secret>/<bucket>/<path>, pvc://<claim>/<path> or hostPath:///<path>",
                    }],
                },
            },
            "logDir": { "type": "object", "properties": places, "description": "Where the logs are, by the kind of storage." },
            "suspend": { "type": "boolean", "description": "Whether TensorBoard is stopped for now." },
            "ttlSecondsAfterFinished": integer(
                "int32", 0, "TensorBoard is deleted so many seconds after the job's end; with the job unless given.",
            ),
            "runMode": { "x-kubernetes-preserve-unknown-fields": true, "description": "The older spelling of suspend: running or paused." },
            "scheduler": anything("Who places its pod."),
            "resources": anything("What its container asks for (`kubectl explain pod.spec.containers.resources`)."),
        },
    })
}
