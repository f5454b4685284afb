//! The operator as a program: a client, a loop, endpoints, and signals that end it.

use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use trainyard_cluster::{Access, ClusterError};

use crate::endpoints::Endpoints;
use crate::metrics::Metrics;
use crate::notice::{Notice, Observer, Tee};
use crate::operate::{LeaseLost, Options, operate};

/// Why an operator did not begin, or did not end by itself.
#[derive(Debug, thiserror::Error)]
pub enum CannotOperate {
    /// There is no way to a cluster.
    #[error(transparent)]
    NoCluster(#[from] ClusterError),
    /// Something about this machine.
    #[error("cannot {0}: {1}")]
    System(&'static str, #[source] std::io::Error),
    /// It may not act any more.
    #[error(transparent)]
    LeaseLost(#[from] LeaseLost),
}

/// Operates until it is told to stop by SIGTERM or SIGINT.
pub fn run(
    context: Option<&str>,
    options: Options,
    endpoints: &Endpoints,
    observer: Arc<dyn Observer>,
) -> Result<(), CannotOperate> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CannotOperate::System("start the runtime", error))?;
    runtime.block_on(async {
        let metrics = Arc::new(Metrics::new());
        let Access { client, server } = trainyard_cluster::client(context).await?;
        observer.notice(&Notice::Starting { server: &server });
        let served = endpoints.serve(&metrics, &*observer).await;
        served.map_err(|error| CannotOperate::System("listen", error))?;
        let mut term = caught(SignalKind::terminate())?;
        let mut int = caught(SignalKind::interrupt())?;
        let stop = async move {
            tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} }
        };
        let observer = Arc::new(Tee(observer, metrics));
        operate(client, options, observer, stop).await?;
        Ok(())
    })
}

fn caught(kind: SignalKind) -> Result<tokio::signal::unix::Signal, CannotOperate> {
    signal(kind).map_err(|error| CannotOperate::System("catch signals", error))
}
