//! Other projects' CRDs, from their Go modules, and our own.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use trainyard_manifest::kinds::{JobApi, tfjob};
use trainyard_tools::{JOBSET, KUBEFLOW, KUEUE, Missing, PLUGINS, VOLCANO};

use crate::cluster::Cluster;

/// A set of CRDs that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Crds {
    /// Our own of `kubeflow.org`, as `trainyard crd` prints it.
    TfJob,
    /// Our own of another kind, and of what its users write beside it, as `trainyard crd --kinds` prints them.
    Kind(&'static JobApi),
    /// `jobset.x-k8s.io`.
    JobSet,
    /// `kubeflow.org`, of which we take `TFJob`'s: as Kubeflow's last operator installs it.
    Kubeflow,
    /// `scheduling.x-k8s.io`, of which we take the groups.
    Coscheduling,
    /// `scheduling.volcano.sh` and `nodeinfo.volcano.sh`: what Volcano's scheduler needs.
    Volcano,
    /// `batch.volcano.sh` and `bus.volcano.sh`, as Volcano installs them. Not where our own of these are installed too.
    VolcanoJobs,
    /// `scheduling.incubator.k8s.io` and `scheduling.sigs.dev`: kube-batch's groups and queues.
    KubeBatch,
    /// `kueue.x-k8s.io`, as Kueue installs it, without its webhooks.
    Kueue,
    /// `scheduler.tensorstack.dev`, of which we take the groups. T9k publishes no definition: it is written from T9k's documents.
    T9kScheduler,
}

/// kube-batch's groups and queues.
const KUBE_BATCH: &str = include_str!("crds/kube-batch.yaml");
/// The groups of T9k's scheduler.
const T9K_SCHEDULER: &str = include_str!("crds/t9k-scheduler.yaml");

/// Kueue's manager waits for all of them.
const KUEUE_FILES: &[&str] = &[
    "kueue.x-k8s.io_admissionchecks.yaml",
    "kueue.x-k8s.io_clusterqueues.yaml",
    "kueue.x-k8s.io_cohorts.yaml",
    "kueue.x-k8s.io_localqueues.yaml",
    "kueue.x-k8s.io_multikueueclusters.yaml",
    "kueue.x-k8s.io_multikueueconfigs.yaml",
    "kueue.x-k8s.io_provisioningrequestconfigs.yaml",
    "kueue.x-k8s.io_resourceflavors.yaml",
    "kueue.x-k8s.io_topologies.yaml",
    "kueue.x-k8s.io_workloadpriorityclasses.yaml",
    "kueue.x-k8s.io_workloads.yaml",
];

/// What has been installed where: tests that share a cluster need not do it once each.
static INSTALLED: Mutex<BTreeSet<(PathBuf, Crds)>> = Mutex::new(BTreeSet::new());

impl Crds {
    /// Our own of this kind.
    #[must_use]
    pub fn of(api: &'static JobApi) -> Self {
        if *api == tfjob::API {
            Self::TfJob
        } else {
            Self::Kind(api)
        }
    }

    /// Where others' files are.
    fn files(self) -> Result<Vec<PathBuf>, Missing> {
        let (module, folder, files): (_, _, &[&str]) = match self {
            Self::TfJob | Self::Kind(_) | Self::T9kScheduler | Self::KubeBatch => return Ok(Vec::new()),
            Self::JobSet => (
                JOBSET,
                "config/components/crd/bases",
                &["jobset.x-k8s.io_jobsets.yaml"],
            ),
            Self::Kueue => (KUEUE, "config/components/crd/bases", KUEUE_FILES),
            Self::Kubeflow => (KUBEFLOW, "manifests/base/crds", &["kubeflow.org_tfjobs.yaml"]),
            Self::Coscheduling => (
                PLUGINS,
                "config/crd/bases",
                &["scheduling.x-k8s.io_podgroups.yaml"],
            ),
            Self::Volcano => (
                VOLCANO,
                "config/crd/volcano/bases",
                &[
                    "nodeinfo.volcano.sh_numatopologies.yaml",
                    "scheduling.volcano.sh_podgroups.yaml",
                    "scheduling.volcano.sh_queues.yaml",
                ],
            ),
            Self::VolcanoJobs => (
                VOLCANO,
                "config/crd/volcano/bases",
                &["batch.volcano.sh_jobs.yaml", "bus.volcano.sh_commands.yaml"],
            ),
        };
        let folder = module.folder()?.join(folder);
        Ok(files.iter().map(|file| folder.join(file)).collect())
    }

    #[track_caller]
    fn text(self) -> String {
        let ours = match self {
            Self::T9kScheduler => return T9K_SCHEDULER.to_owned(),
            Self::KubeBatch => return KUBE_BATCH.to_owned(),
            Self::TfJob => Some("tfjob"),
            Self::Kind(api) => Some(api.word),
            _ => None,
        };
        if let Some(kind) = ours {
            let program = trainyard_tools::trainyard().unwrap_or_else(|missing| panic!("{missing}"));
            let printed = Command::new(program).args(["crd", "--kinds", kind]).output();
            let printed = printed.unwrap_or_else(|error| panic!("cannot start trainyard: {error}"));
            return String::from_utf8_lossy(&printed.stdout).into_owned();
        }
        let files = self.files().unwrap_or_else(|missing| panic!("{missing}"));
        let mut text = String::new();
        for file in files {
            let read = fs::read_to_string(&file);
            let read = read.unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()));
            text = text + "---\n" + &read + "\n";
        }
        text
    }

    #[track_caller]
    pub(crate) fn install(self, cluster: &Cluster) {
        // A second test waits here until they are served.
        let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
        if !installed.contains(&(cluster.place().to_path_buf(), self)) {
            self.install_now(cluster);
            installed.insert((cluster.place().to_path_buf(), self));
        }
    }

    #[track_caller]
    fn install_now(self, cluster: &Cluster) {
        // They are too long for the annotation of an ordinary apply.
        let apply = [
            "apply",
            "--server-side",
            "--force-conflicts",
            "--filename",
            "-",
            "--output",
            "name",
        ];
        let names = cluster.kubectl().run_with(&apply, &self.text()).good();
        for name in names.lines().collect::<BTreeSet<_>>() {
            let Some((_, name)) = name.split_once('/') else {
                continue;
            };
            let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
            cluster.api().wait(&path, "a CRD that is served", is_served);
        }
    }
}

fn is_served(crd: &Value) -> Option<()> {
    let conditions = crd["status"]["conditions"].as_array()?;
    let served = |condition: &Value| condition["type"] == "Established" && condition["status"] == "True";
    conditions.iter().any(served).then_some(())
}
