//! The operator as a program: a client, a loop, and signals that end it.

use std::sync::Arc;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::signal::unix::{SignalKind, signal};

use crate::operate::{Options, operate};
use crate::tell::Listener;

/// Why an operator did not begin.
#[derive(Debug, thiserror::Error)]
pub enum CannotOperate {
    /// There is no way to a cluster.
    #[error("no cluster: {0}")]
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
        let client = client(context).await?;
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

async fn client(context: Option<&str>) -> Result<Client, CannotOperate> {
    let no_cluster = |error: &dyn std::fmt::Display| CannotOperate::NoCluster(error.to_string());
    let config = match context {
        None => Config::infer().await.map_err(|error| no_cluster(&error))?,
        Some(context) => {
            let options = KubeConfigOptions {
                context: Some(context.to_owned()),
                ..KubeConfigOptions::default()
            };
            let read = Kubeconfig::read().map_err(|error| no_cluster(&error))?;
            Config::from_custom_kubeconfig(read, &options)
                .await
                .map_err(|error| no_cluster(&error))?
        }
    };
    Client::try_from(config).map_err(|error| no_cluster(&error))
}
