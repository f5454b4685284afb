//! What is tested on a real node: kubelet, containerd, names, and TensorFlow in pods. All tests share one cluster.
//!
//! Dear, so there are few. Where the machine cannot have a node (not root) they say so aloud and pass.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on must say so"
)]

mod life;
mod operated;
mod operator;
mod pods;
mod silent;
mod training;

use std::time::Duration;

use serde_json::Value;
use trainyard_cluster_tests::Namespace;

/// How long a pod may take; a machine that compiles beside it is slow.
const PATIENCE: Duration = Duration::from_mins(5);

/// Waits until a pod has ended; the code of its first container.
#[track_caller]
fn exit_code(namespace: &Namespace<'_>, pod: &str) -> i64 {
    let path = namespace.pod(pod);
    let ended =
        |pod: &Value| pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"].as_i64();
    namespace
        .cluster()
        .api()
        .wait_for(PATIENCE, &path, "the end of the pod", ended)
}
