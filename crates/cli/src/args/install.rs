//! Arguments of `trainyard install` and `trainyard uninstall`.

use clap::{Args, ValueEnum};
use trainyard_manifest::kinds::Kinds;

use super::gangs::Gangs;
use super::operator::kinds_of;
use super::{Format, values};

const INSTALL_EXAMPLES: &str = "\
Examples:
  trainyard install --image registry.example/trainyard:0.1.0
  trainyard install --dry-run > trainyard.yaml           print the objects, to apply them with kubectl
  trainyard install --dry-run=server                     print what would change on this cluster
  trainyard install --watch-namespace research           for one namespace, with rights only there
  trainyard install --kinds tfjob,tensorflowtrainingjob  also run the jobs of T9k
  trainyard install --gang-scheduler-name volcano        schedule all tasks of a job together
  trainyard install -- --per-replica-addresses           arguments after `--` are for `trainyard operator`

Objects are applied on the server (`kubectl apply --server-side`), so installing \
again upgrades, and stored jobs stay, including Kubeflow's. A kind whose own vendor's \
operator still runs is left off, and said so; if no kind is left, nothing is \
installed: see docs/migrate-from-kubeflow.md.

Exit codes: 0 done, 1 a conflict or a rejected request, 2 wrong usage or no cluster.";

const UNINSTALL_EXAMPLES: &str = "\
Examples:
  trainyard uninstall
  trainyard uninstall --dry-run=server                   print what would be deleted

The CRDs stay, because deleting them would delete every job with its pods. \
So does the namespace. The command waits up to a minute until the operator has \
stopped, before it removes its rights.

Exit codes: 0 done, 1 a rejected request, 2 wrong usage or no cluster.";

#[derive(Debug, Args)]
#[command(after_help = INSTALL_EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Install {
    #[command(flatten)]
    pub place: Place,
    /// The operator's image
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
    /// Number of operator pods; one is active, the others stand by
    #[arg(long, value_name = "N", default_value_t = trainyard_manifest::install::REPLICAS, value_parser = values::positive::<u32>, allow_negative_numbers = true)]
    pub replicas: u32,
    /// The priority class of the operator's pods
    #[arg(long, value_name = "NAME")]
    pub priority_class: Option<String>,
    #[arg(long, value_name = "KINDS", default_value_t, help = kinds_of("The kinds of jobs that it runs, with a CRD and rights for each"))]
    pub kinds: Kinds,
    #[command(flatten)]
    pub gangs: Gangs,
    /// Create a TensorBoard for each job that asks for one, with the rights to Deployments that this takes
    #[arg(long)]
    pub tensorboard: bool,
    /// Create a NetworkPolicy for each job that asks to be isolated, with the rights that this takes
    #[arg(long)]
    pub network_policies: bool,
    /// The image of a TensorBoard whose settings name none, as for a cluster without internet [default: the operator's]
    #[arg(long, value_name = "IMAGE", requires = "tensorboard")]
    pub tensorboard_image: Option<String>,
    /// Start a job with the label `kueue.x-k8s.io/queue-name` only when Kueue admits it, with the rights to its Workloads
    #[arg(long)]
    pub kueue: bool,
    /// Also set the labels of tf-operator 0.2 to 1.5 on pods and Services (`job-name`, `tf-replica-type` …)
    #[arg(long)]
    pub legacy_labels: bool,
    /// Serve only v1 of TFJob: every other version costs the API server memory
    #[arg(long)]
    pub newest_only: bool,
    /// Install even if another operator runs the same jobs
    #[arg(long)]
    pub force: bool,
    /// Further arguments of `trainyard operator`
    #[arg(last = true, value_name = "ARGUMENT")]
    pub arguments: Vec<String>,
}

const WATCHED: &str = "Remove the operator of only this namespace, as given to `install`";

#[derive(Debug, Args)]
#[command(after_help = UNINSTALL_EXAMPLES, mut_arg("watch_namespace", |arg| arg.help(WATCHED)))]
pub struct Uninstall {
    #[command(flatten)]
    pub place: Place,
}

// The target, and dry runs.
#[derive(Debug, Args)]
pub struct Place {
    /// The operator's namespace
    #[arg(short, long, value_name = "NAME", default_value = trainyard_manifest::install::NAMESPACE)]
    pub namespace: String,
    /// Run only the jobs of this namespace, with rights only there
    #[arg(long, value_name = "NAME")]
    pub watch_namespace: Option<String>,
    /// Kubeconfig context
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Print the objects without a cluster (`client`), or let the API server check them (`server`)
    #[arg(long, value_enum, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    pub dry_run: Option<DryRun>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
}

/// Where a dry run takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DryRun {
    /// Print the objects
    Client,
    /// Send them to the API server, which changes nothing
    Server,
}
