//! Other projects' CRDs, from their Go modules.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use trainyard_tools::{JOBSET, Missing, VOLCANO};

use crate::cluster::Cluster;

/// Whose CRDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crds {
    /// `jobset.x-k8s.io`.
    JobSet,
    /// `batch.volcano.sh`, `scheduling.volcano.sh`, `bus.volcano.sh`.
    Volcano,
}

impl Crds {
    /// Where their files are; those of Volcano's that we do not need are left out.
    fn files(self) -> Result<Vec<PathBuf>, Missing> {
        let (module, folder, files): (_, _, &[&str]) = match self {
            Self::JobSet => (
                JOBSET,
                "config/components/crd/bases",
                &["jobset.x-k8s.io_jobsets.yaml"],
            ),
            Self::Volcano => (
                VOLCANO,
                "config/crd/volcano/bases",
                &[
                    "batch.volcano.sh_jobs.yaml",
                    "bus.volcano.sh_commands.yaml",
                    "scheduling.volcano.sh_podgroups.yaml",
                    "scheduling.volcano.sh_queues.yaml",
                ],
            ),
        };
        let folder = module.folder()?.join(folder);
        Ok(files.iter().map(|file| folder.join(file)).collect())
    }

    #[track_caller]
    pub(crate) fn install(self, cluster: &Cluster) {
        let files = self.files().unwrap_or_else(|missing| panic!("{missing}"));
        let mut text = String::new();
        for file in files {
            let read = fs::read_to_string(&file);
            let read = read.unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()));
            text = text + "---\n" + &read + "\n";
        }
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
        let names = cluster.kubectl().run_with(&apply, &text).good();
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
