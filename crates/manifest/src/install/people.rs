//! What people may do with jobs: roles that add to those they have.
//!
//! They join Kubernetes' own `view`, `edit` and `admin`, and Kubeflow's, whose profiles give them to users. That widens
//! no user's rights: a user who may edit a namespace may run pods in it already. A role with jobs alone is another
//! matter: it is as good as one with pods (docs/operator.md).

use serde_json::{Value, json};

use super::labels;
use crate::kinds::{JobApi, Kinds, Served};

/// The roles, two per kind: who may see jobs, and who may change them.
pub(super) fn roles(kinds: &Kinds) -> Vec<Value> {
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
    let roles = kinds.apis().iter().flat_map(|api| {
        [
            role(api, "view", &["view", "edit", "admin"], SEE),
            role(api, "edit", &["edit", "admin"], CHANGE),
        ]
    });
    roles.collect()
}

/// A role about the objects of one kind that is part of these.
fn role(api: &JobApi, name: &str, of: &[&str], verbs: &[&str]) -> Value {
    let name = format!("trainyard-{}-{name}", api.users_name());
    let mut metadata = json!({ "name": name, "labels": labels() });
    for of in of {
        let labels = &mut metadata["labels"];
        labels[format!("rbac.authorization.k8s.io/aggregate-to-{of}")] = "true".into();
        labels[format!("rbac.authorization.kubeflow.org/aggregate-to-kubeflow-{of}")] = "true".into();
    }
    let definitions = (api.definitions)(Served::Newest);
    let mut rules: Vec<Value> = definitions
        .iter()
        .map(|definition| {
            let spec = &definition["spec"];
            json!({ "apiGroups": [spec["group"]], "resources": [spec["names"]["plural"]], "verbs": verbs })
        })
        .collect();
    rules.push(json!({ "apiGroups": [api.group], "resources": [api.status], "verbs": ["get"] }));
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": metadata,
        "rules": rules,
    })
}
