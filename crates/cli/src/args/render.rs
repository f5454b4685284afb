//! What may be typed after `trainyard render`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  trainyard render job.yaml | kubectl apply -f -           plain Jobs; nothing needs to be installed
  trainyard render job.yaml -n research -o manifests/      one file an object, in the order to apply them
  trainyard render job.yaml --to jobset                    one JobSet, which also stops the parameter servers
  trainyard render job.yaml --addresses nodes --nodes gpu-1,gpu-2   on the hosts' network, by names of nodes
  trainyard render job.yaml --to volcano                   as `trainyard convert` does

The objects are written to standard output, in the order to apply them: Services,
maps, then Jobs. What they cannot do of what the manifest asks for is told on
standard error and as a comment above them, with the commands that do it.
The same manifest gives the same bytes; applying them twice changes nothing.

Exit codes: 0 done, 2 wrong usage, or a manifest with errors: nothing is written then.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Render {
    /// The manifest, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// What to write
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    pub to: As,
    /// How tasks find each other; by default as the manifest says, else per job
    #[arg(long, value_enum, value_name = "HOW")]
    pub addresses: Option<Addressing>,
    /// The nodes to run on, by name, for `--addresses nodes`; fewer than tasks are shared
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    pub nodes: Vec<String>,
    /// The namespace, where the manifest names none
    #[arg(short, long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Only the job of this name, and nothing beside it
    #[arg(long, value_name = "NAME")]
    pub job: Option<String>,
    /// Where to write: a folder, one file an object; or `-` for standard output
    #[arg(short, long, value_name = "FOLDER", default_value = "-")]
    pub output: PathBuf,
    /// Replace files in the folder that were not written by this command
    #[arg(long)]
    pub force: bool,
}

/// What can be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum As {
    /// One `batch/v1` Job a role
    #[default]
    Jobs,
    /// One `jobset.x-k8s.io/v1alpha2` JobSet
    Jobset,
    /// `batch.volcano.sh/v1alpha1` Job
    Volcano,
    /// `kubeflow.org/v1` TFJob
    Tfjob,
    /// `batch.tensorstack.dev/v1beta1` TensorFlowTrainingJob
    Tensorflowtrainingjob,
}

/// How tasks find each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Addressing {
    /// One headless Service for the job
    PerJob,
    /// One headless Service a task, as Kubeflow's operator makes them
    PerReplica,
    /// Names of nodes, on the hosts' network; one Job a task
    Nodes,
}
