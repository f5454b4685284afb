//! The nodes of a cluster, in the order in which its API tells them: by name.

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::ListParams;
use tokio::time::timeout;
use trainyard_document::problem::shown;

use crate::access::{Access, access, runtime};
use crate::error::ClusterError;
use crate::node::ClusterNode;

/// How many nodes are asked for at a time: a node with its images is some ten kilobytes.
const PAGE: u32 = 500;

/// Which nodes of which cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The context of the kubeconfig; none is the current one.
    pub context: Option<String>,
    /// Which nodes, by their labels; none is all.
    pub selector: Option<String>,
    /// How long one answer may take.
    pub patience: Duration,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            context: None,
            selector: None,
            patience: Duration::from_secs(15),
        }
    }
}

/// Asks for the nodes, and waits for the answer.
pub fn list(question: &Question) -> Result<Vec<ClusterNode>, ClusterError> {
    let runtime = runtime()?;
    runtime.block_on(async {
        let access = access(question.context.as_deref(), question.patience).await?;
        pages(&access, question).await
    })
}

/// One page after another.
async fn pages(access: &Access, question: &Question) -> Result<Vec<ClusterNode>, ClusterError> {
    let nodes: Api<Node> = Api::all(access.client.clone());
    let mut found: Vec<ClusterNode> = Vec::new();
    let mut parameters = ListParams::default().limit(PAGE);
    parameters.label_selector.clone_from(&question.selector);
    loop {
        let answer = timeout(question.patience, nodes.list(&parameters)).await;
        let page = match answer {
            Err(_) => return Err(ClusterError::late(&access.server, question.patience)),
            // The cluster has forgotten where we were: everything at once, from the beginning.
            Ok(Err(kube::Error::Api(status))) if status.code == 410 && parameters.limit.is_some() => {
                found.clear();
                parameters.limit = None;
                parameters.continue_token = None;
                continue;
            }
            Ok(Err(error)) => return Err(ClusterError::of(&error, &access.server)),
            Ok(Ok(page)) => page,
        };
        let next = page.metadata.continue_.filter(|token| !token.is_empty());
        found.extend(page.items.into_iter().map(ClusterNode::from));
        match next {
            Some(token) => parameters.continue_token = Some(token),
            None => break,
        }
    }
    if found.is_empty() {
        return Err(none(access, question));
    }
    Ok(found)
}

fn none(access: &Access, question: &Question) -> ClusterError {
    if let Some(selector) = &question.selector {
        let message = format!(
            "no node of the cluster at {} matches `{}`",
            access.server,
            shown(selector)
        );
        return ClusterError::new(message, "`kubectl get nodes --show-labels` shows what there is");
    }
    let message = format!("the cluster at {} has no nodes", access.server);
    ClusterError::new(message, "is it the right one? `--context` chooses another")
}

#[cfg(test)]
mod tests;
