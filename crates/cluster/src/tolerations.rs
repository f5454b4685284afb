//! What the pods of a manifest tolerate, whatever sort of object they are written in.

use trainyard_document::{Document, Kind, Node};

use crate::node::Toleration;

/// The tolerations of each pod: of everything that has containers, be it in a Job, a Deployment or a TFJob.
#[must_use]
pub fn tolerations(documents: &[Document]) -> Vec<Vec<Toleration>> {
    let mut pods = Vec::new();
    for document in documents {
        gather(&document.root, &mut pods);
    }
    pods
}

fn gather(node: &Node, pods: &mut Vec<Vec<Toleration>>) {
    match &node.kind {
        Kind::Map(map) => {
            if node.get("containers").and_then(Node::as_list).is_some() {
                let listed = node
                    .get("tolerations")
                    .and_then(Node::as_list)
                    .unwrap_or_default();
                pods.push(listed.iter().map(toleration).collect());
                return;
            }
            for entry in map.entries() {
                gather(&entry.value, pods);
            }
        }
        Kind::List(items) => {
            for item in items.iter() {
                gather(item, pods);
            }
        }
        _ => {}
    }
}

fn toleration(node: &Node) -> Toleration {
    let text = |field: &str| {
        node.get(field)
            .and_then(Node::as_text)
            .unwrap_or_default()
            .to_owned()
    };
    Toleration {
        key: text("key"),
        operator: text("operator"),
        value: text("value"),
        effect: text("effect"),
    }
}

#[cfg(test)]
mod tests {
    use trainyard_document::{Source, parse};

    use super::*;

    #[test]
    fn pods_are_found_in_any_object() {
        let text = "
kind: Pod
spec: {containers: [{name: a}], tolerations: [{key: k, operator: Exists}]}
---
kind: Service
spec: {ports: []}
---
kind: List
items:
- kind: Job
  spec: {template: {spec: {containers: [], tolerations: [{key: k, value: v, effect: NoExecute}]}}}
- kind: TFJob
  spec: {tfReplicaSpecs: {PS: {template: {spec: {containers: []}}}, Worker: {template: {spec: {containers: []}}}}}
";
        let source = Source::from_bytes("x", text.as_bytes()).unwrap();
        let found = tolerations(&parse(&source).0);
        let numbers: Vec<usize> = found.iter().map(Vec::len).collect();
        assert_eq!(numbers, [1, 1, 0, 0]);
        assert_eq!(found[0][0].operator, "Exists");
        assert_eq!(
            (found[1][0].value.as_str(), found[1][0].effect.as_str()),
            ("v", "NoExecute")
        );
    }
}
