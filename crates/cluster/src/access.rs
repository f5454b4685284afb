//! The way to the cluster: from the kubeconfig, or from inside a pod, to a client.
//!
//! The order is kubectl's: the files of `KUBECONFIG`, of which those that are not there do not count; else
//! `~/.kube/config`; else what a pod has. A file that is there and cannot be used is an error, never skipped.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::header::USER_AGENT;
use http::{HeaderValue, Uri};
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use tokio::runtime::{Builder, Runtime};
use trainyard_document::problem::{did_you_mean, shown};

use crate::error::{ClusterError, OFFLINE, plain, told};

/// A client and the address it talks to.
pub struct Access {
    /// Who asks the cluster.
    pub client: Client,
    /// The server's address, as it is shown.
    pub server: String,
}

/// What callers that wait are driven by.
pub(crate) fn runtime() -> Result<Runtime, ClusterError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| {
        let message = format!("cannot wait for a cluster: {error}");
        ClusterError::new(message, "the system has run out of something; try again")
    })
}

/// Makes a client for a context of the kubeconfig; none is the current one.
pub(crate) async fn access(context: Option<&str>, patience: Duration) -> Result<Access, ClusterError> {
    let mut config = config(context).await?;
    config.connect_timeout = Some(patience);
    config.read_timeout = Some(patience);
    // A user waits at a terminal: better to say what is wrong than to try for minutes.
    config.default_retry = false;
    connect(config)
}

/// A client for a program that keeps running: it waits and tries again as the server asks it to.
pub async fn client(context: Option<&str>) -> Result<Access, ClusterError> {
    let config = config(context).await;
    config.and_then(connect).map_err(ClusterError::without_hosts)
}

fn connect(config: Config) -> Result<Access, ClusterError> {
    let server = address(&config.cluster_url);
    match Client::try_from(config) {
        Ok(client) => Ok(Access { client, server }),
        Err(error) => Err(ClusterError::of(&error, &server)),
    }
}

/// The address as it is shown: without a name and password that may stand in it.
fn address(url: &Uri) -> String {
    let scheme = url.scheme_str().unwrap_or("https");
    let host = url.host().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    plain(format!("{scheme}://{host}{port}{}", url.path()).trim_end_matches('/'))
}

/// How to reach the server, and who asks: what we write is marked as ours by that.
async fn config(context: Option<&str>) -> Result<Config, ClusterError> {
    let mut config = server(context).await?;
    let name = concat!("trainyard/", env!("CARGO_PKG_VERSION"));
    config.headers.push((USER_AGENT, HeaderValue::from_static(name)));
    Ok(config)
}

async fn server(context: Option<&str>) -> Result<Config, ClusterError> {
    let files = files();
    let mut there = files.iter().filter(|file| file.exists()).peekable();
    if there.peek().is_none() {
        return in_pod(context, &files);
    }
    let mut merged = Kubeconfig::default();
    for file in there {
        let read = Kubeconfig::read_from(file).and_then(|read| merged.clone().merge(read));
        merged = read.map_err(|error| unusable(file, &error))?;
    }
    let current = merged.current_context.as_deref().unwrap_or_default();
    if context.is_none() && current.is_empty() && is_pod() {
        return in_pod(context, &files);
    }
    let contexts: Vec<String> = merged
        .contexts
        .iter()
        .map(|context| context.name.clone())
        .collect();
    let chosen = context.unwrap_or(current).to_owned();
    if !contexts.contains(&chosen) {
        return Err(no_context(&chosen, &contexts, &files));
    }
    let options = KubeConfigOptions {
        context: Some(chosen.clone()),
        ..KubeConfigOptions::default()
    };
    Config::from_custom_kubeconfig(merged, &options)
        .await
        .map_err(|error| {
            let message = format!(
                "the context `{}` cannot be used: {}",
                shown(&chosen),
                told(&error)
            );
            ClusterError::new(message, &format!("fix {}, or {OFFLINE}", names(&files)))
        })
}

/// The files that may say where the cluster is.
fn files() -> Vec<PathBuf> {
    let named = env::var_os("KUBECONFIG").unwrap_or_default();
    let named: Vec<PathBuf> = env::split_paths(&named)
        .filter(|path| !path.as_os_str().is_empty())
        .collect();
    if !named.is_empty() {
        return named;
    }
    let home = env::home_dir().filter(|home| !home.as_os_str().is_empty());
    home.map(|home| home.join(".kube/config")).into_iter().collect()
}

fn is_pod() -> bool {
    env::var_os("KUBERNETES_SERVICE_HOST").is_some_and(|host| !host.is_empty())
}

/// What a pod knows, where no file says anything.
fn in_pod(context: Option<&str>, files: &[PathBuf]) -> Result<Config, ClusterError> {
    if let Some(context) = context {
        let message = format!(
            "no kubeconfig found ({} does not exist), and so no context `{}`",
            names(files),
            shown(context)
        );
        let hint = format!("set KUBECONFIG to the file that has it, or {OFFLINE}");
        return Err(ClusterError::new(message, &hint));
    }
    if !is_pod() {
        let message = if files.is_empty() {
            "no kubeconfig found (neither KUBECONFIG nor HOME is set), and not running in a pod".to_owned()
        } else {
            format!(
                "no kubeconfig found ({} does not exist), and not running in a pod",
                names(files)
            )
        };
        let hint = format!("set KUBECONFIG to the file that `kubectl` uses, or {OFFLINE}");
        return Err(ClusterError::new(message, &hint));
    }
    Config::incluster().map_err(|error| {
        let message = format!("this pod cannot talk to its cluster: {}", told(&error));
        let hint = format!("give it a service account (`automountServiceAccountToken`), or {OFFLINE}");
        ClusterError::new(message, &hint)
    })
}

fn unusable(file: &Path, error: &KubeconfigError) -> ClusterError {
    let cause = match error {
        // The path is told already.
        KubeconfigError::ReadConfig(cause, _) => cause.to_string(),
        // It goes on with a picture of the file, in which there may be keys.
        KubeconfigError::Parse(cause) => {
            let cause = cause.to_string();
            let first = cause.lines().next().unwrap_or_default();
            plain(first.strip_prefix("error: ").unwrap_or(first))
        }
        other => told(other),
    };
    let message = format!("the kubeconfig `{}` cannot be used: {cause}", shown_path(file));
    ClusterError::new(
        message,
        &format!("fix the file, set KUBECONFIG to another one, or {OFFLINE}"),
    )
}

fn no_context(context: &str, contexts: &[String], files: &[PathBuf]) -> ClusterError {
    if contexts.is_empty() {
        let message = format!("there are no contexts in {}", names(files));
        let hint = format!("set KUBECONFIG to the file that `kubectl` uses, or {OFFLINE}");
        return ClusterError::new(message, &hint);
    }
    if context.is_empty() {
        let message = format!("{} names no current context", names(files));
        let hint = format!("choose one with `--context`: {}", list(contexts));
        return ClusterError::new(message, &hint);
    }
    let message = format!("there is no context `{}` in {}", shown(context), names(files));
    let near = did_you_mean(context, contexts.iter().map(String::as_str));
    ClusterError::new(
        message,
        &near.unwrap_or_else(|| format!("the contexts are {}", list(contexts))),
    )
}

fn list(contexts: &[String]) -> String {
    let names: Vec<String> = contexts.iter().map(|name| format!("`{}`", shown(name))).collect();
    names.join(", ")
}

fn names(files: &[PathBuf]) -> String {
    let names: Vec<String> = files
        .iter()
        .map(|file| format!("`{}`", shown_path(file)))
        .collect();
    if names.is_empty() {
        "the kubeconfig".to_owned()
    } else {
        names.join(", ")
    }
}

fn shown_path(path: &Path) -> String {
    plain(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (url, shown) in [
            ("https://me:secret@10.0.0.1:6443/", "https://10.0.0.1:6443"),
            (
                "https://rancher.example/k8s/clusters/c",
                "https://rancher.example/k8s/clusters/c",
            ),
            ("http://[::1]:8080", "http://[::1]:8080"),
        ] {
            assert_eq!(address(&Uri::from_static(url)), shown);
        }
    }
}
