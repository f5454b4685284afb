//! Nodes that do not answer: whose they are, and what can be done. Their pods say so; no Node is read, so no right to is needed.

use std::collections::BTreeMap;

use super::wait::{Reason, Wait};

/// So many names are written out; the others are counted.
const NAMED: usize = 3;

/// The nodes of a job's pods that do not answer, each with its pods.
#[derive(Debug, Default)]
pub struct LostNodes<'a>(BTreeMap<&'a str, Vec<&'a str>>);

impl<'a> LostNodes<'a> {
    /// This one does not answer for this pod.
    pub fn add(&mut self, node: &'a str, pod: &'a str) {
        self.0.entry(node).or_default().push(pod);
    }

    /// As it stands in `status.waiting`; `patience` is the job's `lostNodeSeconds`.
    pub fn told(&self, namespace: &str, patience: Option<u32>) -> Option<Wait> {
        let nodes: Vec<&str> = self.0.keys().copied().collect();
        let pods: Vec<&str> = self.0.values().flatten().copied().collect();
        let (node, pod) = (nodes.first()?, pods.first()?);
        let (word, does) = match nodes.len() {
            1 => ("node", "does"),
            _ => ("nodes", "do"),
        };
        let given_up = match patience {
            Some(seconds) => format!(
                "`runPolicy.lostNodeSeconds` deletes a pod by force {seconds} s after it should have stopped"
            ),
            None => format!(
                "or give a pod up (`kubectl --namespace {namespace} delete pod {pod} --force`), though its program may still \
                 run; `runPolicy.lostNodeSeconds` does that by itself"
            ),
        };
        let message = format!(
            "{word} {} {does} not answer, and what ran there is not started elsewhere while its pods are there ({}); if a node \
             is gone for good, delete its object (`kubectl delete node {node}`); {given_up}",
            list(&nodes),
            list(&pods),
        );
        Some(Wait {
            pods: Some(pods.len()),
            pod: Some((*pod).to_owned()),
            node: Some((*node).to_owned()),
            ..Wait::new(Reason::NodeLost, message)
        })
    }
}

/// A few names, and how many more there are.
fn list(names: &[&str]) -> String {
    let named: Vec<&str> = names.iter().copied().take(NAMED).collect();
    match names.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_node_is_told_with_its_pods_and_what_to_do() {
        let mut nodes = LostNodes::default();
        assert_eq!(nodes.told("ml", None), None);
        nodes.add("gpu-7", "mnist-worker-1");
        let told = nodes.told("ml", None).unwrap();
        let message = &told.message;
        for words in [
            "node gpu-7 does not answer",
            "(mnist-worker-1)",
            "kubectl delete node gpu-7",
            "kubectl --namespace ml delete pod mnist-worker-1 --force",
            "runPolicy.lostNodeSeconds",
        ] {
            assert!(message.contains(words), "{message}");
        }
        assert_eq!((told.pods, told.node.as_deref()), (Some(1), Some("gpu-7")));

        for pod in ["mnist-worker-2", "mnist-worker-3", "mnist-worker-4"] {
            nodes.add("gpu-8", pod);
        }
        let told = nodes.told("ml", Some(300)).unwrap();
        let message = &told.message;
        for words in [
            "nodes gpu-7, gpu-8 do not answer",
            "(mnist-worker-1, mnist-worker-2, mnist-worker-3 and 1 more)",
            "300 s after it should have stopped",
        ] {
            assert!(message.contains(words), "{message}");
        }
        assert!(!message.contains("--force"), "{message}");
        assert_eq!(told.pods, Some(4));
    }
}
