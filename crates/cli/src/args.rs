//! What was typed, and nothing else: no file is opened and nothing is decided here.

pub mod runs;
pub mod simpletfjob;

use std::path::PathBuf;

use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use trainyard_document::problem::closest;

mod expand;
mod install;
mod operator;
mod render;
mod run;

pub use self::expand::Expand;
pub use self::install::{DryRun, Install, Place, Uninstall};
pub use self::operator::{Crd, LogFormat, Operator};
pub use self::render::{Addressing, As, Render};
pub use self::run::{Keep, Python, Run};
use crate::simulate::faults::{self, Evict, Fail, Runs, Scale, Suspend};

const EXAMPLES: &str = "\
Examples:
  trainyard run job.yaml                         train, on this machine
  trainyard logs -f mnist                        what its tasks write, from another terminal
  trainyard check job.yaml                       what is wrong with it, and where
  trainyard plan job.yaml                        what it means: tasks, addresses, rules
  trainyard plan job.yaml --tf-config worker-0   what TF_CONFIG says there
  trainyard simulate job.yaml --fail worker-1=137@30s   what happens if worker 1 is killed
  trainyard convert job.yaml --to volcano        the same job in another dialect
  trainyard render job.yaml -o manifests/        plain Jobs: nothing needs to be installed
  trainyard expand mnist.yaml -N 3               a template over nodes, as simpletfjob
  trainyard install --dry-run                    what the operator needs on a cluster
  trainyard explain TY048                        what a problem code means

Exit codes: 0 done, 1 the manifest has problems or the job failed, 2 wrong usage or a file that cannot be used.";

const CHECK_EXAMPLES: &str = "\
Examples:
  trainyard check job.yaml
  trainyard check manifests/ --deny-warnings     every manifest in a folder, as a CI step
  kubectl get tfjob mnist -o yaml | trainyard check -
  trainyard check -o json job.yaml | jq '.files[].problems[] | select(.severity == \"error\")'

Exit codes: 0 no errors, 1 errors (with --deny-warnings: or warnings), 2 a file cannot be read.";

const PLAN_EXAMPLES: &str = "\
Examples:
  trainyard plan job.yaml
  trainyard plan job.yaml --svg job.svg          the same as a picture
  TF_CONFIG=$(trainyard plan job.yaml --tf-config worker-1) python train.py
  trainyard plan -o json job.yaml | jq '.jobs[].roles[].tasks[].address'

Exit codes: 0 done, 1 the file has errors (what could be read is shown), 2 wrong usage or a file that cannot be used.";

const CONVERT_EXAMPLES: &str = "\
Examples:
  trainyard convert volcano-job.yaml --to tfjob > tfjob.yaml
  trainyard convert old-v1beta1-tfjob.yaml --to tfjob     the same dialect, in its newest version
  trainyard convert job.yaml --to volcano | kubectl apply -f -

The manifest is written to standard output, other objects of the file with it.
What the other dialect cannot say is told on standard error, with the field it
comes from.

Exit codes: 0 done, with --strict only if nothing was lost; 1 the file has
errors, a job has no form there, or something was lost with --strict; 2 wrong
usage or a file that cannot be used.";

const SIMULATE_EXAMPLES: &str = "\
Examples:
  trainyard simulate job.yaml
  trainyard simulate job.yaml --runs-for 5m --fail worker-1=137@30s --fail worker-1=137@2m
  trainyard simulate job.yaml --evict chief-0=0@20s
  trainyard simulate job.yaml --suspend 30s..5m --runs worker=10m
  trainyard simulate job.yaml --seed 7 --svg run.svg

Nothing goes wrong; worker 1 is killed twice; the chief is drained, saves and
exits 0; the job is suspended for a while; whatever may go wrong, as a picture.

TIME is seconds, or like 90s, 2m, 1h30m, from the start of the run. A fault
whose task does not run at that moment waits until it does. Programs that
nothing happens to run for a minute and exit 0; parameter servers and
evaluators run until they are stopped.

Exit codes: 0 every job succeeds, 1 one does not, or the file has errors, 2 wrong usage or a file that cannot be used.";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  trainyard explain TY020
  trainyard explain                              every code there is

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
/// (batch.volcano.sh), as YAML or JSON, read as kubectl reads them.
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
    /// The command that somebody may have meant.
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

// Only the command that was typed is put together: all others would take longer than reading a manifest. What documents
// the arguments of a command would then be taken for its help, so that is a plain comment everywhere.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Command {
    /// Run a job on this machine: real processes, no cluster
    Run(Box<Run>),
    /// Find what is wrong with manifests, all of it, with the place and a hint
    Check(Check),
    /// Show what a manifest means: tasks, addresses, what ends or restarts the job, in plain words
    Plan(Plan),
    /// Write a job in another dialect, and say what it cannot take along
    Convert(Convert),
    /// Write a job as plain Kubernetes objects, for clusters where nothing is installed
    Render(Render),
    /// Fill a template in for every task, one host each, as simpletfjob did
    Expand(Box<Expand>),
    /// Run TFJobs on a Kubernetes cluster, as Kubeflow's operator did
    Operator(Operator),
    /// Install the operator on a Kubernetes cluster, or upgrade it, or print what it needs
    Install(Install),
    /// Take the operator off a cluster; TFJobs and their definition stay
    Uninstall(Uninstall),
    /// Print the definition of TFJob for a Kubernetes cluster
    Crd(Crd),
    /// Play a job in a simulated world: what will happen if worker 1 is killed twice?
    Simulate(Simulate),
    /// List runs on this machine, or the tasks of one
    Ps(runs::Ps),
    /// Show what the tasks of a run have written, and follow it
    Logs(runs::Logs),
    /// Stop runs
    Stop(runs::Stop),
    /// Remove finished runs with their logs
    Rm(runs::Rm),
    /// Rehearse: take a task away as a drained node would
    Drain(runs::Drain),
    /// Rehearse: kill a task as a crash would
    Kill(runs::Kill),
    /// Stop every task of a run, to go on later
    Suspend(runs::OneJob),
    /// Let a suspended run go on
    Resume(runs::OneJob),
    /// Change how many tasks a role of a run has
    Scale(runs::Scale),
    /// Explain a problem code, or list them all
    Explain(Explain),
    /// Print a completion script for a shell
    Completions(Completions),
}

/// What a command prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Text,
    /// For programs; its form is stable, see docs/json.md
    Json,
}

#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub struct Check {
    /// Manifests, folders of them (`*.yaml`, `*.yml`, `*.json`), or `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// What to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
    /// Let warnings fail the check too
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
    /// Print only the exact `TF_CONFIG` of this task
    #[arg(long, value_name = "TASK", conflicts_with_all = ["output", "svg"])]
    pub tf_config: Option<String>,
    /// What to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
    /// Write a picture of the tasks to this file, or to standard output if it is `-`
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Draw with plain ASCII, as is done where the locale is not UTF-8
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
    /// Only the job of this name, and nothing beside it
    #[arg(long, value_name = "NAME")]
    pub job: Option<String>,
    /// Let everything that is lost fail the command
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
    /// A task ends with this exit code then; `oom`, `missing` (program not found) or `evicted` instead of a code
    #[arg(long, value_name = "TASK=CODE@TIME", value_parser = faults::fail)]
    pub fail: Vec<Fail>,
    /// A task is evicted, drained or preempted then; `TASK=0@TIME` if it saves its work and exits 0
    #[arg(long, value_name = "TASK@TIME", value_parser = faults::evict)]
    pub evict: Vec<Evict>,
    /// The job is suspended from one moment to another
    #[arg(long, value_name = "FROM..TO", value_parser = faults::suspend)]
    pub suspend: Vec<Suspend>,
    /// The replicas of a role are changed then
    #[arg(long, value_name = "ROLE=NUMBER@TIME", value_parser = faults::scale)]
    pub scale: Vec<Scale>,
    /// How long a role's or a task's programs run when nothing happens to them
    #[arg(long, value_name = "WHO=TIME", value_parser = faults::runs)]
    pub runs: Vec<Runs>,
    /// The same for all roles that end by themselves
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = faults::duration)]
    pub runs_for: u32,
    /// Break the run off after this time
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = faults::duration)]
    pub run_for: u32,
    /// Add faults at random; the same number gives the same faults
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// What to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
    /// Write a picture of the run to this file, or to standard output if it is `-`
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Draw with plain ASCII, as is done where the locale is not UTF-8
    #[arg(long)]
    pub ascii: bool,
}

#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub struct Explain {
    /// A code as it stands in a report: `TY020`
    #[arg(value_name = "CODE")]
    pub code: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub struct Completions {
    /// For which shell
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
