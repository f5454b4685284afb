//! The operator as a program: a client, a loop, and signals that end it.

use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};

use crate::operate::{Options, operate};
use crate::tell::Listener;

/// Why an operator did not begin.
#[derive(Debug, thiserror::Error)]
pub enum CannotOperate {
    /// There is no way to a cluster.
    #[error("{0}")]
    NoCluster(String),
    /// Something about this machine.
    #[error("cannot {0}: {1}")]
    System(&'static str, #[source] std::io::Error),
}

/// Operates until it is told to stop by SIGTERM or SIGINT.
pub fn run(
    context: Option<&str>,
    options: Options,
    listener: Arc<dyn Listener>,
) -> Result<(), CannotOperate> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CannotOperate::System("start the runtime", error))?;
    runtime.block_on(async {
        let client = trainyard_cluster::client(context)
            .await
            .map_err(|error| CannotOperate::NoCluster(error.message))?;
        let mut term = caught(SignalKind::terminate())?;
        let mut int = caught(SignalKind::interrupt())?;
        let stop = async move {
            tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} }
        };
        operate(client, options, listener, stop).await;
        Ok(())
    })
}

fn caught(kind: SignalKind) -> Result<tokio::signal::unix::Signal, CannotOperate> {
    signal(kind).map_err(|error| CannotOperate::System("catch signals", error))
}
