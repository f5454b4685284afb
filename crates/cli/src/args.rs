//! The command line: its grammar and help. Nothing is opened or decided here.

pub mod runs;
pub mod simpletfjob;

use std::path::PathBuf;

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use trainyard_core::sim::Fault;
use trainyard_document::problem::closest;

mod expand;
mod gangs;
mod install;
mod operator;
mod render;
mod run;
mod values;

pub use self::expand::Expand;
pub use self::install::{DryRun, Install, Place, Uninstall};
pub use self::operator::{Crd, LogFormat, Operator};
pub use self::render::{Addressing, As, Render};
pub use self::run::{Keep, Python, Run};
use crate::simulate::faults::{self, Suspend};

const EXAMPLES: &str = "\
Examples:
  trainyard run job.yaml                         run a job on this machine
  trainyard logs -f mnist                        follow the output of its tasks
  trainyard check job.yaml                       find problems of a manifest
  trainyard plan job.yaml                        explain a manifest: tasks, addresses, rules
  trainyard plan job.yaml --tf-config worker-0   print the TF_CONFIG of a task
  trainyard simulate job.yaml --fail worker-1=137@30s   what happens if worker 1 is killed
  trainyard convert job.yaml --to volcano        the same job in another dialect
  trainyard render job.yaml -o manifests/        plain Kubernetes Jobs, without an operator
  trainyard expand mnist.yaml -N 3               expand a template over nodes, as simpletfjob
  trainyard install --dry-run                    print the objects of the operator
  trainyard explain TY048                        explain a problem code

Exit codes: 0 done, 1 the manifest has problems or the job failed, 2 wrong usage or an unusable file.";

const CHECK_EXAMPLES: &str = "\
Examples:
  trainyard check job.yaml
  trainyard check manifests/ --deny-warnings     all manifests of a directory, as a CI step
  kubectl get tfjob mnist -o yaml | trainyard check -
  trainyard check -o json job.yaml | jq '.files[].problems[] | select(.severity == \"error\")'

Exit codes: 0 no errors, 1 errors (with --deny-warnings also warnings), 2 a file cannot be read or all are empty.";

const PLAN_EXAMPLES: &str = "\
Examples:
  trainyard plan job.yaml
  trainyard plan job.yaml --svg job.svg          also as a picture
  TF_CONFIG=$(trainyard plan job.yaml --tf-config worker-1) python train.py
  trainyard plan -o json job.yaml | jq '.jobs[].roles[].tasks[].address'

Exit codes: 0 done, 1 the file has errors (valid jobs are shown), 2 wrong usage or an unusable file.";

const CONVERT_EXAMPLES: &str = "\
Examples:
  trainyard convert volcano-job.yaml --to tfjob > tfjob.yaml
  trainyard convert old-v1beta1-tfjob.yaml --to tfjob     to the newest version of the same dialect
  trainyard convert job.yaml --to volcano | kubectl apply -f -

The manifest is written to standard output, with the other objects of the file. \
Fields that the other dialect cannot express are reported on standard error.

Exit codes: 0 done; 1 the file has errors, a job cannot be converted, or a field \
was lost with --strict; 2 wrong usage or an unusable file.";

const SIMULATE_EXAMPLES: &str = "\
Examples:
  trainyard simulate job.yaml
  trainyard simulate job.yaml --runs-for 5m --fail worker-1=137@30s --fail worker-1=137@2m
  trainyard simulate job.yaml --evict chief-0=0@20s
  trainyard simulate job.yaml --suspend 30s..5m --runs worker=10m
  trainyard simulate job.yaml --seed 7 --svg run.svg

The examples: no faults; worker 1 is killed twice; the chief is drained, saves \
and exits 0; the job is suspended for a while; random faults, as a picture.

TIME is in seconds, or like 90s, 2m, 1h30m, from the start of the run. A fault \
waits until its task runs. Programs without faults run for a minute and exit 0; \
parameter servers and evaluators run until they are stopped.

Exit codes: 0 every job succeeds, 1 one does not, or the file has errors, 2 wrong usage or an unusable file.";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  trainyard explain TY020
  trainyard explain                              list all codes

Exit codes: 0 done, 2 no such code.";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  trainyard completions bash > ~/.local/share/bash-completion/completions/trainyard
  trainyard completions zsh > ~/.zfunc/_trainyard
  trainyard completions fish > ~/.config/fish/completions/trainyard.fish

Exit codes: 0 done, 2 no such shell.";

/// Runs distributed TensorFlow training from one manifest, with or without a cluster.
///
/// Manifests are TFJob (kubeflow.org, all versions), TensorFlowTrainingJob (batch.tensorstack.dev) and Volcano's Job
/// (batch.volcano.sh), as YAML or JSON, with the same meaning as for kubectl.
#[derive(Debug, Parser)]
#[command(name = "trainyard", version, after_help = EXAMPLES, max_term_width = 110)]
pub struct Arguments {
    /// When to use colour; `NO_COLOR` is honoured
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
    #[command(subcommand)]
    pub command: Command,
}

impl Arguments {
    /// The command with the most similar name.
    pub fn closest_command(typed: &str) -> Option<String> {
        let known = Self::command();
        let names = known
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(clap::Command::get_name);
        closest(typed, names).map(str::to_owned)
    }
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

// Deferred: building all commands would take longer than reading a manifest. With it, doc comments of the argument structs would
// become the help of their commands, so those have plain comments.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Command {
    /// Run a job on this machine, without a cluster
    Run(Box<Run>),
    /// Find all problems of manifests, with their positions and help
    Check(Check),
    /// Explain a manifest: tasks, addresses, and what ends or restarts the job
    Plan(Plan),
    /// Convert a job to another dialect, and report what is lost
    Convert(Convert),
    /// Write a job as plain Kubernetes objects, for clusters without an operator
    Render(Render),
    /// Expand a template for every task, one host each, as simpletfjob did
    Expand(Box<Expand>),
    /// Run jobs on a Kubernetes cluster, as Kubeflow's operator did
    Operator(Operator),
    /// Install or upgrade the operator on a Kubernetes cluster, or print its objects
    Install(Install),
    /// Remove the operator from a cluster; jobs and their CRDs stay
    Uninstall(Uninstall),
    /// Print the CRD of TFJob, or those of other kinds
    Crd(Crd),
    /// Simulate a job with faults: what happens if worker 1 is killed twice?
    Simulate(Simulate),
    /// List the runs on this machine, or the tasks of one
    Ps(runs::Ps),
    /// Show or follow the output of the tasks of a run
    Logs(runs::Logs),
    /// Stop runs
    Stop(runs::Stop),
    /// Remove finished runs and their logs
    Rm(runs::Rm),
    /// Stop a task of a run as a drained node would
    #[command(after_help = runs::DRAIN_EXAMPLES)]
    Drain(runs::OneTask),
    /// Kill a task of a run as a crash would
    #[command(after_help = runs::KILL_EXAMPLES)]
    Kill(runs::OneTask),
    /// Stop every task of a run, to resume it later
    Suspend(runs::OneJob),
    /// Resume a suspended run
    Resume(runs::OneJob),
    /// Change the number of tasks of a role of a run
    Scale(runs::Scale),
    /// Explain a problem code, or list them all
    Explain(Explain),
    /// Print a completion script for a shell
    Completions(Completions),
}

impl Color {
    /// Whether and how to write colours to this stream.
    pub fn choice(self, stream: &impl RawStream) -> ColorChoice {
        match self {
            Self::Auto => AutoStream::choice(stream),
            Self::Always => ColorChoice::AlwaysAnsi,
            Self::Never => ColorChoice::Never,
        }
    }
}

/// Output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Text,
    /// For programs; stable, see docs/json.md
    Json,
}

#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub struct Check {
    /// Manifests, folders of them (`*.yaml`, `*.yml`, `*.json`), or `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
    /// Exit with 1 for warnings too
    #[arg(long)]
    pub deny_warnings: bool,
}

#[derive(Debug, Args)]
#[command(after_help = PLAN_EXAMPLES)]
pub struct Plan {
    /// The manifest, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Only the job of this name
    #[arg(long, value_name = "NAME")]
    pub job: Option<String>,
    /// Print only the `TF_CONFIG` of this task
    #[arg(long, value_name = "TASK", conflicts_with_all = ["output", "svg"])]
    pub tf_config: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
    /// Write a picture of the tasks to this file, or `-` for standard output
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Use only ASCII [default: if the locale is not UTF-8]
    #[arg(long)]
    pub ascii: bool,
}

#[derive(Debug, Args)]
#[command(after_help = CONVERT_EXAMPLES)]
pub struct Convert {
    /// The manifest, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The dialect to write
    #[arg(long, value_enum, value_name = "DIALECT")]
    pub to: Target,
    /// Only the job of this name, without other objects
    #[arg(long, value_name = "NAME")]
    pub job: Option<String>,
    /// Exit with 1 if a field is lost
    #[arg(long)]
    pub strict: bool,
}

/// The dialects that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// `kubeflow.org/v1` TFJob
    Tfjob,
    /// `batch.tensorstack.dev/v1beta1` TensorFlowTrainingJob
    Tensorflowtrainingjob,
    /// `batch.volcano.sh/v1alpha1` Job
    Volcano,
}

#[derive(Debug, Args)]
#[command(after_help = SIMULATE_EXAMPLES)]
pub struct Simulate {
    /// The manifest, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Only the job of this name
    #[arg(long, value_name = "NAME")]
    pub job: Option<String>,
    /// The task exits with this code at this time; instead of a code `oom`, `missing` (program not found) or `evicted`
    #[arg(long, value_name = "TASK=CODE@TIME", value_parser = faults::fail)]
    pub fail: Vec<Fault>,
    /// The task is evicted at this time; `TASK=0@TIME` if it saves its work and exits 0
    #[arg(long, value_name = "TASK@TIME", value_parser = faults::evict)]
    pub evict: Vec<Fault>,
    /// The job is suspended from one time to another
    #[arg(long, value_name = "FROM..TO", value_parser = faults::suspend)]
    pub suspend: Vec<Suspend>,
    /// The replicas of the role are changed at this time
    #[arg(long, value_name = "ROLE=NUMBER@TIME", value_parser = faults::scale)]
    pub scale: Vec<Fault>,
    /// How long the programs of a role or a task run without faults
    #[arg(long, value_name = "WHO=TIME", value_parser = faults::runs)]
    pub runs: Vec<(String, u32)>,
    /// The same for all roles that end on their own
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = faults::duration)]
    pub runs_for: u32,
    /// Stop the simulation after this time
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = faults::duration)]
    pub run_for: u32,
    /// Add random faults; the same number gives the same faults
    #[arg(long, value_name = "NUMBER", value_parser = values::whole::<u64>, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
    /// Write a picture of the run to this file, or `-` for standard output
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Use only ASCII [default: if the locale is not UTF-8]
    #[arg(long)]
    pub ascii: bool,
}

#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub struct Explain {
    /// A problem code: `TY020`
    #[arg(value_name = "CODE")]
    pub code: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }
}
