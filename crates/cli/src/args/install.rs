//! What may be typed after `trainyard install` and `trainyard uninstall`.

use clap::{Args, ValueEnum};
use trainyard_manifest::gang::Schedulers;

use super::Format;

const INSTALL_EXAMPLES: &str = "\
Examples:
  trainyard install --image registry.example/trainyard:0.1.0
  trainyard install --dry-run > trainyard.yaml           look at it, keep it, apply it with kubectl
  trainyard install --dry-run=server                     what would change on this cluster
  trainyard install --watch-namespace research           for one namespace, with rights there alone
  trainyard install --gang-scheduler-name volcano        all tasks of a job are placed, or none
  trainyard install -- --per-replica-addresses           words after `--` go to `trainyard operator`

Objects are applied on the server (`kubectl apply --server-side`), so installing
again upgrades, and stored TFJobs stay, Kubeflow's too. If Kubeflow's operator
still runs nothing is done: docs/migrate-from-kubeflow.md says how to move.

Exit codes: 0 done, 1 something stands in the way or was refused, 2 wrong usage, or no cluster.";

const UNINSTALL_EXAMPLES: &str = "\
Examples:
  trainyard uninstall
  trainyard uninstall --dry-run=server                   what would be deleted

The definition of TFJob stays, and every TFJob with its pods: deleting the
definition would delete them all. So does the namespace. It waits until the
operator has stopped, for a minute at most, before it takes its rights away.

Exit codes: 0 done, 1 something was refused, 2 wrong usage, or no cluster.";

#[derive(Debug, Args)]
#[command(after_help = INSTALL_EXAMPLES)]
pub struct Install {
    #[command(flatten)]
    pub place: Place,
    /// The operator's image
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
    /// How many operators run; one of them works, and another takes over when it is gone
    #[arg(long, value_name = "N", default_value_t = trainyard_manifest::install::REPLICAS, value_parser = clap::value_parser!(u32).range(1..))]
    pub replicas: u32,
    /// How important the operator's pods are: the name of a priority class
    #[arg(long, value_name = "NAME")]
    pub priority_class: Option<String>,
    /// Place all tasks of a job or none: `volcano`, or a scheduler with the coscheduling plugin; several with commas between them
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub gang_scheduler_name: Schedulers,
    /// The operator also gives pods and Services the labels of tf-operator 0.2 to 1.5 (`job-name`, `tf-replica-type` …)
    #[arg(long)]
    pub legacy_labels: bool,
    /// Serve v1 of TFJob alone: each further version costs the API server memory
    #[arg(long)]
    pub newest_only: bool,
    /// Go on though another operator runs the same jobs
    #[arg(long)]
    pub force: bool,
    /// Further arguments of `trainyard operator`
    #[arg(last = true, value_name = "ARGUMENT")]
    pub arguments: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = UNINSTALL_EXAMPLES)]
pub struct Uninstall {
    #[command(flatten)]
    pub place: Place,
}

// Where, and whether for real.
#[derive(Debug, Args)]
pub struct Place {
    /// The operator's namespace
    #[arg(short, long, value_name = "NAME", default_value = trainyard_manifest::install::NAMESPACE)]
    pub namespace: String,
    /// For an operator of one namespace's jobs alone: that namespace; it has rights nowhere else
    #[arg(long, value_name = "NAME")]
    pub watch_namespace: Option<String>,
    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Print the objects and ask no cluster, or let the server say what would happen
    #[arg(long, value_enum, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    pub dry_run: Option<DryRun>,
    /// What to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
}

/// Who looks at objects that are not to be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DryRun {
    /// Nobody: they are printed
    Client,
    /// The cluster, which changes nothing
    Server,
}
