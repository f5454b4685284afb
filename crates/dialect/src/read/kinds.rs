//! Which kind an object is: ours, nearly ours, one that belongs beside a job, or a stranger.

use trainyard_document::Node;
use trainyard_document::codes::Code;
use trainyard_document::problem::{closest, did_you_mean, quoted, shown};

use crate::dialect::Dialect;

/// Groups that `TFJob` had before it came to Kubeflow.
const BEFORE_KUBEFLOW: &[&str] = &["tensorflow.org", "mlkube.io"];

/// The group of `KubeDL`, whose `TFJob` is another than Kubeflow's.
const KUBEDL: &str = "training.kubedl.io";

/// Kinds of training operators that run something else: no slips, however near they are to ours.
const OTHERS: &[&str] = &[
    "JAXJob",
    "MPIJob",
    "MXJob",
    "PaddleJob",
    "PyTorchJob",
    "TrainJob",
    "XGBoostJob",
];

/// What is written beside jobs: kept, and no word said about it.
const BESIDE: &[&str] = &[
    "ConfigMap",
    "LimitRange",
    "Namespace",
    "NetworkPolicy",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PodGroup",
    "PriorityClass",
    "Queue",
    "ResourceQuota",
    "Role",
    "RoleBinding",
    "Secret",
    "Service",
    "ServiceAccount",
    "StorageClass",
];

/// What an object's heading says.
pub(super) enum Guess {
    /// A job in this dialect.
    Ours(Dialect),
    /// Close to one of ours, and so a slip.
    Nearly(NearMiss),
    /// One of the kinds that are written beside jobs.
    Known,
    /// Anything else.
    Unknown,
}

/// A heading with a slip in it.
pub(super) struct NearMiss {
    pub code: Code,
    /// The field with the slip: `apiVersion` or `kind`.
    pub field: &'static str,
    pub message: String,
    pub hint: String,
    pub allowed: Option<String>,
}

/// Looks at group, version and kind; at the body only to tell a Volcano Job from a plain one.
pub(super) fn guess(group: &str, version: &str, kind: &str, node: &Node) -> Guess {
    if let Some(dialect) = Dialect::of(group, kind) {
        return known_version(dialect, version).map_or(Guess::Ours(dialect), Guess::Nearly);
    }
    if OTHERS.contains(&kind) {
        return Guess::Unknown;
    }
    let slip = kubedl(group, kind)
        .or_else(|| wrong_kind(group, kind))
        .or_else(|| wrong_group(group, kind))
        .or_else(|| volcano_body(group, kind, node));
    match slip {
        Some(miss) => Guess::Nearly(miss),
        None if BESIDE.contains(&kind) => Guess::Known,
        None => Guess::Unknown,
    }
}

/// The first versions that match are the newest, so a slip is led there.
fn known_version(dialect: Dialect, version: &str) -> Option<NearMiss> {
    let versions = dialect.versions();
    if versions.contains(&version) {
        return None;
    }
    let newest = format!("write `{}/{}`", dialect.group(), versions[0]);
    Some(NearMiss {
        code: Code::UnknownVersion,
        field: "apiVersion",
        message: format!("`{}` has no version `{}`", dialect.kind(), shown(version)),
        hint: did_you_mean(version, versions.iter().copied()).unwrap_or(newest),
        allowed: Some(quoted(versions)),
    })
}

/// The right group with a kind that it does not have.
fn wrong_kind(group: &str, kind: &str) -> Option<NearMiss> {
    let dialect = Dialect::ALL
        .into_iter()
        .find(|dialect| dialect.group() == group)?;
    let lower = kind.to_ascii_lowercase();
    let other_name = match dialect {
        Dialect::TfJob | Dialect::TensorFlowTrainingJob => {
            lower.ends_with("job") && (lower.contains("tensorflow") || lower.contains("tf"))
        }
        Dialect::Volcano => matches!(&*lower, "vcjob" | "volcanojob" | "vjob"),
    };
    let near = closest(kind, [dialect.kind()]).is_some();
    (near || other_name).then(|| NearMiss {
        code: Code::MistakenKind,
        field: "kind",
        message: format!("`{group}` has no kind `{}`", shown(kind)),
        hint: format!("did you mean `{}`?", dialect.kind()),
        allowed: None,
    })
}

/// `KubeDL`'s `TFJob`: the same replicas, and other fields around them.
fn kubedl(group: &str, kind: &str) -> Option<NearMiss> {
    (group == KUBEDL && kind == Dialect::TfJob.kind()).then(|| NearMiss {
        code: Code::MistakenKind,
        field: "apiVersion",
        message: "this is KubeDL's `TFJob`, which Trainyard does not run".to_owned(),
        hint: "its `tfReplicaSpecs` are Kubeflow's: write `kubeflow.org/v1`, move `cleanPodPolicy`, `backoffLimit`, \
               `activeDeadlineSeconds` and `ttlSecondsAfterFinished` into `runPolicy`, and remove `modelVersion`, `cacheBackend`, \
               `cronPolicy` and `gitSyncConfig`"
            .to_owned(),
        allowed: None,
    })
}

/// A kind of ours in a group that does not have it. `Job` is too common a word to tell.
fn wrong_group(group: &str, kind: &str) -> Option<NearMiss> {
    let near_group = |dialect: &Dialect| closest(group, [dialect.group()]).is_some();
    let same_kind = |dialect: &Dialect| dialect.kind().eq_ignore_ascii_case(kind);
    let dialect = Dialect::ALL.into_iter().find(|dialect| match dialect {
        Dialect::Volcano => same_kind(dialect) && near_group(dialect),
        Dialect::TfJob | Dialect::TensorFlowTrainingJob => same_kind(dialect),
    })?;
    let right = format!("{}/{}", dialect.group(), dialect.versions()[0]);
    let hint = if BEFORE_KUBEFLOW.contains(&group) {
        format!(
            "that was its group before Kubeflow: write `{right}`, or `kubeflow.org/v1alpha1` for its old shape, and `kind: TFJob`"
        )
    } else {
        format!("did you mean `{right}`?")
    };
    Some(NearMiss {
        code: Code::MistakenKind,
        field: "apiVersion",
        message: format!("`{}` has no kind `{}`", shown(group), shown(kind)),
        hint,
        allowed: None,
    })
}

/// A plain `Job` with Volcano's tasks in it.
fn volcano_body(group: &str, kind: &str, node: &Node) -> Option<NearMiss> {
    let tasks = node.get("spec").and_then(|spec| spec.get("tasks"));
    (group == "batch" && kind == "Job" && tasks.is_some()).then(|| NearMiss {
        code: Code::MistakenKind,
        field: "apiVersion",
        message: "a `Job` of `batch` has no `tasks`".to_owned(),
        hint: "did you mean `batch.volcano.sh/v1alpha1`?".to_owned(),
        allowed: None,
    })
}
