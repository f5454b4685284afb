//! What people may do with jobs: roles that add to those they have.
//!
//! They join Kubernetes' own `view`, `edit` and `admin`, and Kubeflow's, whose profiles give them to users. That widens
//! no user's rights: a user who may edit a namespace may run pods in it already. A role with jobs alone is another
//! matter: it is as good as one with pods (docs/operator.md).

use serde_json::{Value, json};

use super::labels;

/// The roles: who may see jobs, and who may change them.
pub(super) fn roles() -> Vec<Value> {
    const SEE: &[&str] = &["get", "list", "watch"];
    const CHANGE: &[&str] = &[
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
    ];
    vec![
        role("trainyard-tfjobs-view", &["view", "edit", "admin"], SEE),
        role("trainyard-tfjobs-edit", &["edit", "admin"], CHANGE),
    ]
}

/// A role that is part of these.
fn role(name: &str, of: &[&str], verbs: &[&str]) -> Value {
    let mut metadata = json!({ "name": name, "labels": labels() });
    for of in of {
        let labels = &mut metadata["labels"];
        labels[format!("rbac.authorization.k8s.io/aggregate-to-{of}")] = "true".into();
        labels[format!("rbac.authorization.kubeflow.org/aggregate-to-kubeflow-{of}")] = "true".into();
    }
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": metadata,
        "rules": [
            { "apiGroups": ["kubeflow.org"], "resources": ["tfjobs"], "verbs": verbs },
            { "apiGroups": ["kubeflow.org"], "resources": ["tfjobs/status"], "verbs": ["get"] },
        ],
    })
}
