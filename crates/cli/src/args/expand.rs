//! What was typed to fill a template in.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  trainyard expand mnist.yaml -N 3                     on three nodes of the cluster
  trainyard expand mnist.yaml -N 3 -E                  but on none that `exc` names
  trainyard expand mnist.yaml --hosts h10,h14,h23      without asking a cluster
  trainyard expand mnist.yaml -l gpu=a100 --dry-run    who would play which part
  trainyard expand mnist.yaml --chief --psn 2 -o - | kubectl apply -f -

A template is a manifest with {{.type}} {{.index}} {{.host}} {{.TF_CONFIG}} in
it, as of Go's text/template; it is filled in once for each task. There are also
{{.TF_CONFIG_JSON}} (one line) {{.hosts}} {{.ps_hosts}} {{.worker_hosts}} {{.num}}
{{.port}} {{.name}}, and the functions indent, nindent, toJson and quote.

Called by the name `simpletfjob` (a link to this program), it takes simpletfjob's
words and writes its bytes.

Exit codes: 0 done; 2 nothing was done: wrong usage, a template with mistakes, too
few hosts, no answer from the cluster.";

// What was typed after `trainyard expand`.
#[derive(Debug, Default, Args)]
#[command(after_help = EXAMPLES, override_usage = "trainyard expand [OPTIONS] TEMPLATE")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Expand {
    /// The template, or `-` for standard input
    #[arg(value_name = "TEMPLATE")]
    pub template: Option<PathBuf>,
    /// How many hosts to use; all unless told
    #[arg(short = 'N', long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub num: Option<i64>,
    /// Leave out the hosts that this file names, one a line; `./exc` unless told
    #[arg(short = 'E', long, value_name = "FILE", num_args = 0..=1, default_missing_value = "./exc")]
    pub exc: Option<PathBuf>,
    /// How many parameter servers: the first of the hosts
    #[arg(
        long,
        value_name = "NUMBER",
        allow_negative_numbers = true,
        default_value_t = 1
    )]
    pub psn: i64,
    /// The hosts of the parameter servers, by a file that names them, one a line
    #[arg(long, value_name = "FILE", conflicts_with = "psn")]
    pub psf: Option<PathBuf>,
    /// The hosts, instead of the nodes of a cluster: names with commas between them, a file of names, or `-`
    #[arg(long, value_name = "NAMES|FILE", conflicts_with_all = ["context", "all_nodes", "selector"])]
    pub hosts: Option<String>,
    /// Make one task the chief
    #[arg(long)]
    pub chief: bool,
    /// Make one task the evaluator
    #[arg(long)]
    pub evaluator: bool,
    /// The port that every task listens on
    #[arg(long, value_name = "PORT", default_value_t = 2222, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
    /// Where to write it, `-` for standard output; `NAME_tfjob.yaml` beside the template `NAME.yaml` unless told
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write nothing; show who would play which part
    #[arg(long)]
    pub dry_run: bool,
    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Use every node, also those that are not ready, cordoned or tainted
    #[arg(long)]
    pub all_nodes: bool,
    /// Only nodes with these labels
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub selector: Option<String>,
    /// Replace the file even if it is not one that `trainyard expand` wrote
    #[arg(long)]
    pub force: bool,
    /// Say nothing but what is wrong.
    #[arg(skip)]
    pub quiet: bool,
}
