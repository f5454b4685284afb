//! Arguments of `trainyard expand`.

use std::path::PathBuf;

use clap::Args;

use super::values;

const EXAMPLES: &str = "\
Examples:
  trainyard expand mnist.yaml -N 3                     on three nodes of the cluster
  trainyard expand mnist.yaml -N 3 -E                  without the nodes listed in `exc`
  trainyard expand mnist.yaml --hosts h10,h14,h23      without querying a cluster
  trainyard expand mnist.yaml -l gpu=a100 --dry-run    print which task gets which node
  trainyard expand mnist.yaml --chief --psn 2 -o - | kubectl apply -f -

A template is a manifest with {{.type}} {{.index}} {{.host}} {{.TF_CONFIG}}, in the \
syntax of Go's text/template; it is expanded once per task. There are also \
{{.TF_CONFIG_JSON}} (one line) {{.hosts}} {{.ps_hosts}} {{.worker_hosts}} {{.num}} \
{{.port}} {{.name}}, and the functions indent, nindent, toJson and quote.

Started as `simpletfjob` (a link to this program), it takes the arguments of \
simpletfjob and writes the same output.

Exit codes: 0 done; 2 nothing was written: wrong usage, an invalid template, too \
few hosts, no response from the cluster.";

#[derive(Debug, Default, Args)]
#[command(after_help = EXAMPLES, override_usage = "trainyard expand [OPTIONS] TEMPLATE")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Expand {
    /// The template, or `-` for standard input
    #[arg(value_name = "TEMPLATE")]
    pub template: Option<PathBuf>,
    /// Number of hosts to use [default: all]
    #[arg(short = 'N', long, value_name = "NUMBER", value_parser = values::integer, allow_negative_numbers = true)]
    pub num: Option<i64>,
    /// Exclude the hosts listed in this file, one per line [default FILE: ./exc]
    #[arg(short = 'E', long, value_name = "FILE", num_args = 0..=1, default_missing_value = "./exc")]
    pub exc: Option<PathBuf>,
    /// Number of parameter servers, on the first hosts
    #[arg(
        long,
        value_name = "NUMBER",
        value_parser = values::integer,
        allow_negative_numbers = true,
        default_value_t = 1
    )]
    pub psn: i64,
    /// A file with the hosts of the parameter servers, one per line
    #[arg(long, value_name = "FILE", conflicts_with = "psn")]
    pub psf: Option<PathBuf>,
    /// Hosts to use instead of the nodes of a cluster: comma-separated names, a file of names, or `-`
    #[arg(long, value_name = "NAMES|FILE", conflicts_with_all = ["context", "all_nodes", "selector"])]
    pub hosts: Option<String>,
    /// Make one task the chief
    #[arg(long)]
    pub chief: bool,
    /// Make one task the evaluator
    #[arg(long)]
    pub evaluator: bool,
    /// The port that every task listens on
    #[arg(long, value_name = "PORT", default_value_t = 2222, value_parser = values::port, allow_negative_numbers = true)]
    pub port: u16,
    /// Output file, or `-` for standard output [default: `NAME_tfjob.yaml` beside the template `NAME.yaml`]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print which task gets which host, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Kubeconfig context
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Use every node, including those that are not ready, cordoned or tainted
    #[arg(long)]
    pub all_nodes: bool,
    /// Only nodes with these labels
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub selector: Option<String>,
    /// Replace the file even if `trainyard expand` did not write it
    #[arg(long)]
    pub force: bool,
    /// Print only errors.
    #[arg(skip)]
    pub quiet: bool,
}
