//! Arguments of `trainyard operator` and `trainyard crd`.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgAction, Args, ValueEnum};
use trainyard_document::names::wrong_label;
use trainyard_manifest::kinds::Kinds;

use super::gangs::Gangs;
use super::values::positive;

const EXAMPLES: &str = "\
Examples:
  trainyard crd | kubectl apply --server-side --force-conflicts -f -
  trainyard operator                             for the cluster of the kubeconfig, or of the pod it runs in
  trainyard operator --namespace research        for one namespace only

The log is on standard error.

Exit codes: 0 stopped by a signal, 1 lost the Lease, 2 wrong usage or no kubeconfig. If the \
cluster does not respond, the operator waits for it.";

const CRD_EXAMPLES: &str = "\
Examples:
  trainyard crd | kubectl apply --server-side --force-conflicts -f -
  trainyard crd --newest-only > tfjob-crd.yaml
  trainyard crd --kinds tfjob,tensorflowtrainingjob

Exit codes: 0 done, 2 wrong usage.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Operator {
    /// Run only the jobs of this namespace
    #[arg(short, long, value_name = "NAME", env = "KUBEFLOW_NAMESPACE", value_parser = label)]
    pub namespace: Option<String>,
    /// Kubeconfig context
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// The cluster's domain, which follows `svc` in the addresses of tasks [default: none]
    #[arg(long, value_name = "DOMAIN", env = "CUSTOM_CLUSTER_DOMAIN", value_parser = domain)]
    pub cluster_domain: Option<String>,
    /// Create one Service per replica, as Kubeflow's operator does, unless a job says otherwise
    #[arg(long)]
    pub per_replica_addresses: bool,
    /// Also set the labels of tf-operator 0.2 to 1.5 on pods and Services (`job-name`, `tf-replica-type` …)
    #[arg(long)]
    pub legacy_labels: bool,
    #[arg(long, value_name = "KINDS", default_value_t, help = kinds_of("The kinds of jobs to run"))]
    pub kinds: Kinds,
    #[command(flatten)]
    pub gangs: Gangs,
    /// Create a TensorBoard (a Deployment and a Service) for each job that asks for one
    #[arg(long)]
    pub tensorboard: bool,
    /// Create a NetworkPolicy for each job that asks to be isolated (annotation `trainyard.dev/network-policy: isolate`)
    #[arg(long)]
    pub network_policies: bool,
    /// The image of a TensorBoard whose settings name none
    #[arg(long, value_name = "IMAGE", default_value = trainyard_manifest::tensorboard::IMAGE, requires = "tensorboard", value_parser = NonEmptyStringValueParser::new())]
    pub tensorboard_image: String,
    /// Start a job with the label `kueue.x-k8s.io/queue-name` only when Kueue admits it
    #[arg(long)]
    pub kueue: bool,
    /// Number of jobs to apply concurrently
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = positive::<usize>, allow_negative_numbers = true)]
    pub controller_threads: usize,
    /// Number of concurrent requests to the API server
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = positive::<usize>, allow_negative_numbers = true)]
    pub requests: usize,
    /// Requests to the API server per second; 0 means no limit
    #[arg(long, value_name = "N", default_value_t = 0.0, value_parser = rate, allow_negative_numbers = true)]
    pub kube_api_qps: f64,
    /// Burst of requests, if there is a limit
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = positive::<u32>, allow_negative_numbers = true)]
    pub kube_api_burst: u32,
    /// Act only while holding a Lease, so that only one of several operators is active
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = ArgAction::Set, value_name = "YES")]
    pub leader_elect: bool,
    /// The Lease's name
    #[arg(long, value_name = "NAME", default_value = "trainyard-operator", value_parser = label)]
    pub leader_election_id: String,
    /// The Lease's namespace [default: `--namespace`, else the one of the pod or the kubeconfig]
    #[arg(long, value_name = "NAME", value_parser = label)]
    pub leader_election_namespace: Option<String>,
    /// Address for `/livez` and `/readyz`, such as `:8081` or `127.0.0.1:8081`; 0 disables them
    #[arg(long, value_name = "ADDRESS", default_value = "0", value_parser = bind)]
    pub health_probe_bind_address: Bind,
    /// Address for `/metrics`, such as `:8080`; 0 disables it
    #[arg(long, value_name = "ADDRESS", default_value = "0", value_parser = bind)]
    pub metrics_bind_address: Bind,
    /// Log format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub log_format: LogFormat,
}

/// The help of `--kinds`, which names all of them.
pub fn kinds_of(what: &str) -> String {
    let words = Kinds::all().to_string().replace(',', "`, `");
    format!("{what}, comma-separated, of `{words}`")
}

/// A rate per second, or 0.
fn rate(text: &str) -> Result<f64, String> {
    let rate = text
        .parse()
        .ok()
        .filter(|rate: &f64| rate.is_finite() && *rate >= 0.0);
    rate.ok_or_else(|| "expected a number of at least 0".into())
}

/// The name of a namespace, or nothing, as in an environment where the variable is empty.
fn label(text: &str) -> Result<String, String> {
    if text.is_empty() || wrong_label(text).is_none() {
        return Ok(text.to_owned());
    }
    Err("expected at most 63 of a-z, 0-9 and `-`, without `-` at either end".into())
}

/// A DNS domain, or nothing.
fn domain(text: &str) -> Result<String, String> {
    if text.is_empty() || text.split('.').all(|label| wrong_label(label).is_none()) {
        return Ok(text.to_owned());
    }
    Err("expected a domain such as `cluster.local`".into())
}

/// Where to listen. A type of its own, since clap would collect several values into a plain `Vec`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bind(pub Vec<SocketAddr>);

/// An address in Go's syntax: `:8080` means every address of the machine.
fn bind(text: &str) -> Result<Bind, String> {
    if matches!(text, "" | "0") {
        return Ok(Bind::default());
    }
    if let Some(port) = text.strip_prefix(':') {
        let port = port
            .parse()
            .map_err(|_| format!("`{port}` is not a port; expected 0 to 65535"))?;
        return Ok(Bind(vec![
            (Ipv6Addr::UNSPECIFIED, port).into(),
            (Ipv4Addr::UNSPECIFIED, port).into(),
        ]));
    }
    match text.to_socket_addrs() {
        Ok(addresses) => Ok(Bind(addresses.collect())),
        Err(error) => Err(format!("{error}; expected HOST:PORT, :PORT or 0")),
    }
}

/// Log format of the operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One line per message
    #[default]
    Text,
    /// One JSON object per line
    Json,
}

#[derive(Debug, Args)]
#[command(after_help = CRD_EXAMPLES)]
pub struct Crd {
    #[arg(long, value_name = "KINDS", default_value_t, help = kinds_of("The kinds of jobs"))]
    pub kinds: Kinds,
    /// Serve only v1 of TFJob: every other version costs the API server memory
    #[arg(long)]
    pub newest_only: bool,
}
