//! Arguments of `trainyard run`.

use std::path::PathBuf;

use clap::Args;
use trainyard_core::TaskId;
use trainyard_local::overrides::{Assignment, Replicas, Variable};

use super::values::whole;

const EXAMPLES: &str = "\
Examples:
  trainyard run examples/digits.yaml
  trainyard run job.yaml --replicas worker=2 --env STEPS=50     try a job of 64 workers with two
  trainyard run job.yaml --volume data=./data --detach          in the background; see `trainyard ps`
  trainyard run --workers 2 --ps 1 --chief -- python train.py   without a manifest
  trainyard run --workers 2 --ps 1 --print -- python train.py   print the TFJob for this
  trainyard run job.yaml --debug worker-1                       start that task yourself, in a debugger

Tasks run programs of this machine. For `tensorflow/tensorflow` images, and those \
in the configuration file, a Python environment with that TensorFlow is created on \
first use. The configuration file is ~/.config/trainyard/config.yaml. Without a manifest \
the activated environment is used, else `python` on PATH if it has TensorFlow. A line at \
the start says which Python runs, and why.

The first Ctrl-C terminates the tasks, the second kills them. Logs are stored: see \
`trainyard logs`. So is the manifest with its Secrets, readable only by your user, until \
`trainyard rm`; `--no-keep-manifest` does not store it.

Exit codes: 0 the job succeeded, 1 it failed, 2 wrong usage or an unusable manifest, \
124 it exceeded its deadline, 130 and 143 stopped by Ctrl-C or SIGTERM, 128 plus the \
number for other signals. With several jobs, the first of these that is not 0.";

const USAGE: &str = "\
trainyard run [OPTIONS] FILE
       trainyard run [OPTIONS] --workers N -- COMMAND...";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, override_usage = USAGE)]
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
    /// Do not store the manifest and its Secrets
    #[arg(long, conflicts_with = "debug")]
    pub no_keep_manifest: bool,
    /// Print the manifest with all overrides, and exit
    #[arg(long, conflicts_with = "detach")]
    pub print: bool,
    /// The command of every task, without a manifest
    #[arg(last = true, value_name = "COMMAND")]
    pub command_line: Vec<String>,
}

// A job without a manifest.
#[derive(Debug, Args)]
#[command(next_help_heading = "A job without a manifest")]
pub struct QuickArguments {
    /// Number of workers
    #[arg(long, value_name = "N", value_parser = whole::<u32>, allow_negative_numbers = true)]
    pub workers: Option<u32>,
    /// Number of parameter servers
    #[arg(long, value_name = "N", value_parser = whole::<u32>, allow_negative_numbers = true)]
    pub ps: Option<u32>,
    /// Add a chief
    #[arg(long)]
    pub chief: bool,
    /// Add an evaluator
    #[arg(long)]
    pub evaluator: bool,
    /// GPUs for each worker and the chief
    #[arg(long, value_name = "N", value_parser = whole::<u32>, allow_negative_numbers = true)]
    pub gpus: Option<u32>,
    /// What restarts when a task fails: `job`, `replica`, or roles such as `chief,ps`
    #[arg(long, value_name = "SCOPE")]
    pub restart_scope: Option<String>,
    /// Number of restarts allowed [default: 0; 3 with --restart-scope]
    #[arg(long, value_name = "N", value_parser = whole::<u32>, allow_negative_numbers = true)]
    pub restarts: Option<u32>,
    /// The image, for clusters and for its Python environment
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
    /// The job's name
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
}

impl QuickArguments {
    /// The first flag that is given, and what changes the same in a manifest.
    pub fn given(&self) -> Option<(&'static str, String)> {
        let Self {
            workers,
            ps,
            chief,
            evaluator,
            gpus,
            restart_scope,
            restarts,
            image,
            name,
        } = self;
        let replicas = |flag, role, number: u32| (flag, format!("--replicas {role}={number}"));
        let set = |flag, field: &str| (flag, format!("--set {field}"));
        let any_field = |flag| set(flag, "PATH=VALUE");
        let given = [
            workers.map(|number| replicas("--workers", "worker", number)),
            ps.map(|number| replicas("--ps", "ps", number)),
            chief.then(|| replicas("--chief", "chief", 1)),
            evaluator.then(|| replicas("--evaluator", "evaluator", 1)),
            gpus.map(|_| any_field("--gpus")),
            restart_scope.as_ref().map(|_| any_field("--restart-scope")),
            restarts.map(|_| any_field("--restarts")),
            image.as_ref().map(|_| any_field("--image")),
            name.as_ref()
                .map(|name| set("--name", &format!("metadata.name={name}"))),
        ];
        given.into_iter().flatten().next()
    }
}

// Changes to the manifest.
#[derive(Debug, Args)]
#[command(next_help_heading = "Changes to the manifest")]
pub struct OverrideArguments {
    /// Set any field: `spec.tfReplicaSpecs.Worker.replicas=2`
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<Assignment>,
    /// Number of tasks of a role; 0 removes the role
    #[arg(long, value_name = "ROLE=N")]
    pub replicas: Vec<Replicas>,
    /// Set a variable in every container
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<Variable>,
    /// Command of the main container of every role, in shell syntax
    #[arg(long, value_name = "WORDS")]
    pub command: Option<String>,
    /// Working directory of the main container of every role
    #[arg(long, value_name = "DIR")]
    pub workdir: Option<String>,
}

// Resources of this machine.
#[derive(Debug, Args)]
#[command(next_help_heading = "This machine")]
pub struct MachineArguments {
    /// File with ConfigMaps and Secrets that the job refers to
    #[arg(long, value_name = "FILE")]
    pub with: Vec<PathBuf>,
    /// Directory for a volume or a claim
    #[arg(long, value_name = "NAME=DIR", value_parser = volume)]
    pub volume: Vec<(String, PathBuf)>,
    /// Run without mounts that cannot be created
    #[arg(long)]
    pub allow_missing_mounts: bool,
    /// Let tasks share GPUs, or run without, if there are too few
    #[arg(long)]
    pub share_gpus: bool,
    /// Run in a separate network, without connections to or from outside
    #[arg(long)]
    pub isolate: bool,
    /// The Python of tasks: `image` for an environment per image, `own` for what is on PATH, or the path of an interpreter or
    /// environment [default: image; without a manifest yours, if it is activated or has TensorFlow]
    #[arg(long, value_name = "WHICH", value_parser = python)]
    pub python: Option<Python>,
    /// Start TensorBoard for this directory
    #[arg(long, value_name = "DIR")]
    pub tensorboard: Option<PathBuf>,
    /// How long TensorBoard runs after the job has ended: `10m`, or `forever` [default: 0]
    #[arg(long, value_name = "TIME", value_parser = keep)]
    pub keep_tensorboard: Option<Keep>,
    /// Do not start this task; print how to start it by hand
    #[arg(long, value_name = "TASK")]
    pub debug: Option<TaskId>,
}

/// The Python of tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Python {
    /// An environment with the TensorFlow of the image.
    Image,
    /// The first on PATH.
    Own,
    /// This interpreter, or the one of this environment.
    At(PathBuf),
}

/// How long something stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Seconds.
    Seconds(u32),
    /// Until it is stopped.
    Forever,
}

// Output.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is shown")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub struct ViewArguments {
    /// Print only the output of these tasks: `worker-*`
    #[arg(long, value_name = "GLOB")]
    pub task: Vec<String>,
    /// Print the exact bytes of tasks, without prefix and escaping
    #[arg(long, conflicts_with_all = ["no_prefix", "timestamps"])]
    pub raw: bool,
    /// Do not print the task before each line
    #[arg(long)]
    pub no_prefix: bool,
    /// Print the time before each line
    #[arg(long)]
    pub timestamps: bool,
    /// Print only problems and the result, not the output of tasks
    #[arg(short, long)]
    pub quiet: bool,
    /// Do not show the list of tasks at the bottom of the terminal
    #[arg(long)]
    pub no_footer: bool,
    /// Output format; with `json` one event per line
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

fn python(text: &str) -> Result<Python, String> {
    match text {
        "" => Err("expected `image`, `own`, or a path".to_owned()),
        "image" => Ok(Python::Image),
        "own" => Ok(Python::Own),
        path => Ok(Python::At(path.into())),
    }
}

fn keep(text: &str) -> Result<Keep, String> {
    if text == "forever" {
        return Ok(Keep::Forever);
    }
    let seconds = crate::simulate::faults::duration(text).map(Keep::Seconds);
    seconds.map_err(|_| {
        format!("`{text}` is not a time: expected something like `30s` or `1h30m`, or `forever`")
    })
}
