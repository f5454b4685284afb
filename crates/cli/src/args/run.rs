//! What may be typed after `trainyard run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use trainyard_core::TaskId;
use trainyard_local::overrides::{Assignment, Replicas, Variable};

const EXAMPLES: &str = "\
Examples:
  trainyard run examples/digits.yaml
  trainyard run job.yaml --replicas worker=2 --env STEPS=50     a job of 64 workers, tried with two
  trainyard run job.yaml --volume data=./data --detach          in the background; see `trainyard ps`
  trainyard run --workers 2 --ps 1 --chief -- python train.py   no manifest at all
  trainyard run --workers 2 --ps 1 --print -- python train.py   the TFJob that this stands for
  trainyard run job.yaml --debug worker-1                       start that one yourself, in a debugger

A task runs this machine's programs. For `tensorflow/tensorflow` images, and those
that the configuration maps, a Python environment with that TensorFlow is made on
first use. The configuration is ~/.config/trainyard/config.yaml.

The first Ctrl-C asks the tasks to stop, the second kills them. Logs are kept: see
`trainyard logs`. So is the manifest, with its Secrets, for your user alone and until
`trainyard rm`; `--no-keep-manifest` keeps none.

Exit codes: 0 the job succeeded, 1 it failed, 2 wrong usage or a manifest that cannot
be run, 124 it ran into its deadline, 130 and 143 it was ended by Ctrl-C or SIGTERM,
128 and its number for other signals. With several jobs, the first of these that is not 0.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Run {
    /// The manifest, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Only the job of this name
    #[arg(long, value_name = "NAME", requires = "file")]
    pub job: Option<String>,
    #[command(flatten)]
    pub quick: QuickArguments,
    #[command(flatten)]
    pub overrides: OverrideArguments,
    #[command(flatten)]
    pub machine: MachineArguments,
    #[command(flatten)]
    pub view: ViewArguments,
    /// Run in the background
    #[arg(short, long)]
    pub detach: bool,
    /// Leave nothing of the manifest and its Secrets on disk
    #[arg(long, conflicts_with = "debug")]
    pub no_keep_manifest: bool,
    /// Print the manifest that would be run, with every override, and end
    #[arg(long, conflicts_with = "detach")]
    pub print: bool,
    /// What every task runs, where there is no manifest
    #[arg(last = true, value_name = "COMMAND")]
    pub command_line: Vec<String>,
}

/// A number of things.
fn whole(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| "expected a whole number, 0 or more".to_owned())
}

// A job without a manifest.
#[derive(Debug, Args)]
#[command(next_help_heading = "A job without a manifest")]
pub struct QuickArguments {
    /// How many workers
    #[arg(long, value_name = "N", conflicts_with = "file", value_parser = whole)]
    pub workers: Option<u32>,
    /// How many parameter servers
    #[arg(long, value_name = "N", conflicts_with = "file", value_parser = whole)]
    pub ps: Option<u32>,
    /// With a chief
    #[arg(long, conflicts_with = "file")]
    pub chief: bool,
    /// With an evaluator
    #[arg(long, conflicts_with = "file")]
    pub evaluator: bool,
    /// GPUs for each worker and the chief
    #[arg(long, value_name = "N", conflicts_with = "file", value_parser = whole)]
    pub gpus: Option<u32>,
    /// What is started again when a task fails: `job`, `replica`, or roles such as `chief,ps`
    #[arg(long, value_name = "SCOPE", conflicts_with = "file")]
    pub restart_scope: Option<String>,
    /// How many restarts there may be; none unless told, with `--restart-scope` 3
    #[arg(long, value_name = "N", conflicts_with = "file", value_parser = whole)]
    pub restarts: Option<u32>,
    /// The image, for clusters and for its Python environment
    #[arg(long, value_name = "IMAGE", conflicts_with = "file")]
    pub image: Option<String>,
    /// The job's name
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    pub name: Option<String>,
}

// Changes to the manifest.
#[derive(Debug, Args)]
#[command(next_help_heading = "Changes to the manifest")]
pub struct OverrideArguments {
    /// Set any field: `spec.tfReplicaSpecs.Worker.replicas=2`
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<Assignment>,
    /// How many tasks a role has; with 0 the role goes
    #[arg(long, value_name = "ROLE=N")]
    pub replicas: Vec<Replicas>,
    /// A variable of every container
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<Variable>,
    /// Another command for every role's main container, in shell words
    #[arg(long, value_name = "WORDS")]
    pub command: Option<String>,
    /// Where every role's main container starts
    #[arg(long, value_name = "DIR")]
    pub workdir: Option<String>,
}

// What this machine gives.
#[derive(Debug, Args)]
#[command(next_help_heading = "This machine")]
pub struct MachineArguments {
    /// More ConfigMaps and Secrets that the job refers to
    #[arg(long, value_name = "FILE")]
    pub with: Vec<PathBuf>,
    /// What a volume or a claim is on this machine
    #[arg(long, value_name = "NAME=DIR", value_parser = volume)]
    pub volume: Vec<(String, PathBuf)>,
    /// Go on where a mount cannot be made, without it
    #[arg(long)]
    pub allow_missing_mounts: bool,
    /// Let tasks share GPUs, or do without, where there are too few
    #[arg(long)]
    pub share_gpus: bool,
    /// A network of the job's own: nobody else reaches its servers, and it reaches nobody
    #[arg(long)]
    pub isolate: bool,
    /// Which Python tasks use
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    pub python: Python,
    /// Show this directory in a TensorBoard
    #[arg(long, value_name = "DIR")]
    pub tensorboard: Option<PathBuf>,
    /// How long TensorBoard stays after the job has ended: `10m`, `0`, or `forever`
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = keep)]
    pub keep_tensorboard: Keep,
    /// Leave this task out, and say how to start it by hand
    #[arg(long, value_name = "TASK")]
    pub debug: Option<TaskId>,
}

/// Which Python tasks use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Python {
    /// The image's: an environment with its TensorFlow
    #[default]
    Image,
    /// This machine's own
    Own,
}

/// How long something stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// So many seconds.
    Seconds(u32),
    /// Until somebody stops it.
    Forever,
}

// What is shown.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is shown")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub struct ViewArguments {
    /// Only the output of these tasks: `worker-*`
    #[arg(long, value_name = "GLOB")]
    pub task: Vec<String>,
    /// The tasks' bytes as they are: no prefix, no cleaning
    #[arg(long, conflicts_with_all = ["no_prefix", "timestamps"])]
    pub raw: bool,
    /// Lines without the task's name before them
    #[arg(long)]
    pub no_prefix: bool,
    /// The time before each line
    #[arg(long)]
    pub timestamps: bool,
    /// No output of tasks: only what goes wrong, and the end
    #[arg(short, long)]
    pub quiet: bool,
    /// No list of tasks at the foot of the terminal
    #[arg(long)]
    pub no_footer: bool,
    /// What to print; with `json` one event a line
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: super::Format,
}

fn volume(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, directory)) if !name.is_empty() && !directory.is_empty() => {
            Ok((name.to_owned(), directory.into()))
        }
        _ => Err(format!(
            "`{text}` is not a volume and a directory, as in `data=./data`"
        )),
    }
}

fn keep(text: &str) -> Result<Keep, String> {
    if text == "forever" {
        return Ok(Keep::Forever);
    }
    crate::simulate::faults::duration(text).map(Keep::Seconds)
}
