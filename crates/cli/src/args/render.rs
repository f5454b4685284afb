//! Arguments of `trainyard render`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  trainyard render job.yaml | kubectl apply -f -           plain Jobs, without an operator
  trainyard render job.yaml -n research -o manifests/      one file per object, in the order to apply them
  trainyard render job.yaml --to jobset                    one JobSet, which also stops the parameter servers
  trainyard render job.yaml --addresses nodes --nodes gpu-1,gpu-2   on the host network, by node names
  trainyard render job.yaml --to volcano                   as `trainyard convert` does

The objects are written to standard output, in the order to apply them: Services, \
ConfigMaps, then Jobs. What the manifest asks for and they cannot do is reported on \
standard error and in a comment above them, with commands that do it by hand. \
The output is deterministic; applying it twice changes nothing.

Exit codes: 0 done, 2 wrong usage or a manifest with errors; nothing is written then.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Render {
    /// The manifest, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Kind of objects
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    pub to: As,
    /// How tasks find each other [default: as in the manifest, else per-job]
    #[arg(long, value_enum, value_name = "HOW")]
    pub addresses: Option<Addressing>,
    /// Nodes for `--addresses nodes`; tasks share them if there are fewer nodes than tasks
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    pub nodes: Vec<String>,
    /// The namespace, if the manifest has none
    #[arg(short, long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Only the job of this name, without other objects
    #[arg(long, value_name = "NAME")]
    pub job: Option<String>,
    /// Output directory, with one file per object; or `-` for standard output
    #[arg(short, long, value_name = "DIR", default_value = "-")]
    pub output: PathBuf,
    /// Replace files in the directory that this command did not write
    #[arg(long)]
    pub force: bool,
}

/// Kinds of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum As {
    /// One `batch/v1` Job per role
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
    /// One headless Service per job
    PerJob,
    /// One headless Service per task, as Kubeflow's operator creates
    PerReplica,
    /// Node names, on the host network; one Job per task
    Nodes,
}
