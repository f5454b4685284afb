//! What may be typed after `trainyard operator` and `trainyard crd`.

use clap::{Args, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  trainyard crd | kubectl apply --server-side --force-conflicts -f -
  trainyard operator                             for the cluster of the kubeconfig, or of the pod it runs in
  trainyard operator --namespace research        for one namespace only

It writes nothing to standard output; what it does is told on standard error.

Exit codes: 0 it was told to stop, 2 wrong usage, or no cluster.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Operator {
    /// Run the jobs of this namespace only
    #[arg(short, long, value_name = "NAME", env = "KUBEFLOW_NAMESPACE")]
    pub namespace: Option<String>,
    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// What follows `svc` in the addresses of tasks, on clusters with a domain of their own
    #[arg(long, value_name = "DOMAIN", env = "CUSTOM_CLUSTER_DOMAIN")]
    pub cluster_domain: Option<String>,
    /// A Service a replica, as Kubeflow's operator makes them, for jobs that do not say otherwise
    #[arg(long)]
    pub per_replica_addresses: bool,
    /// Jobs that are worked on at a time
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub controller_threads: usize,
    /// Requests to the API server at a time
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub requests: usize,
    /// How it tells what it does
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub log_format: LogFormat,
}

/// How the operator tells what it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One line a message
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

#[derive(Debug, Args)]
pub struct Crd {
    /// Serve v1 alone: each further version costs the API server memory
    #[arg(long)]
    pub newest_only: bool,
}
