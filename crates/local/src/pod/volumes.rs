//! A template's volumes as directories of this machine, and a container's mounts of them.
//!
//! | volume | what it is here |
//! |---|---|
//! | any, named by `--volume NAME=DIR` | that directory |
//! | `emptyDir`, `ephemeral` | a directory of this life of the task |
//! | `hostPath` | that path |
//! | `configMap`, `secret`, `downwardAPI`, `projected` | files written for this life of the task; read-only |
//! | `persistentVolumeClaim`, `nfs` and every other | a directory that is kept, shared by all tasks and runs |

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::FileType;
use serde_json::Value;
use trainyard_core::Job;
use trainyard_document::problem::did_you_mean;

use super::files::{self, File};
use super::make::Make;
use super::objects::Kind;
use super::report::Report;
use super::spec::{Container, HostPath, Pod, Projection, Volume, VolumeMount};
use super::variables::{Sources, Variables};
use super::{items, templates};
use crate::process::launch::Mount;

/// A pod's volumes for one container, each placed when it is first mounted.
pub(super) struct Volumes<'a> {
    /// The directory of this life of the task.
    pub life: &'a Path,
    /// The same for volumes that are made of files.
    pub files: &'a Path,
    /// The directory with everything that is kept.
    pub kept: &'a Path,
    /// What `--volume` says.
    pub given: &'a BTreeMap<String, PathBuf>,
    pub sources: &'a Sources<'a>,
    /// `spec.volumes`, for the kinds that are not read.
    pub json: &'a Value,
    /// The volumes that have been placed; none for those that were refused.
    pub roots: BTreeMap<Arc<str>, Option<Root>>,
    /// What must be made before the task starts.
    pub make: Vec<Make>,
}

/// One volume on this machine.
#[derive(Clone, Debug)]
pub(super) struct Root {
    path: PathBuf,
    read_only: bool,
    /// Whether directories within it are made where they are asked for.
    open: bool,
}

impl<'a> Volumes<'a> {
    /// A container's mounts, outer ones first.
    pub fn mounts(
        &mut self,
        container: &Container,
        variables: &Variables,
        report: &Report<'_>,
    ) -> Vec<Mount> {
        let mut mounts: Vec<Mount> = Vec::new();
        for (position, asked) in container.volume_mounts.iter().flatten().enumerate() {
            let report = report.at(&format!("volumeMounts[{position}]"));
            let Some(mount) = self.mount(asked, variables, &report) else {
                continue;
            };
            if mounts.iter().any(|other| other.target == mount.target) {
                report.refuse(format!("two mounts at `{}`", mount.target.display()), None);
            }
            mounts.push(mount);
        }
        mounts.sort_by_key(|mount| mount.target.components().count());
        mounts
    }

    fn mount(&mut self, asked: &VolumeMount, variables: &Variables, report: &Report<'_>) -> Option<Mount> {
        let target = Path::new(&asked.mount_path);
        let plain = target
            .components()
            .all(|part| !matches!(part, Component::ParentDir));
        if !target.is_absolute() || target.parent().is_none() || !plain {
            let message = format!("`{}` is no place for a mount", asked.mount_path);
            report.refuse(
                message,
                Some("an absolute path below `/`, without `..`".to_owned()),
            );
            return None;
        }
        let root = self.root(&asked.name, report)?;
        let mut source = root.path.clone();
        if let Some(within) = sub_path(asked, variables) {
            if !is_within(&within) {
                let message = format!("`{}` leads out of the volume", within.display());
                report.refuse(message, Some("a relative path without `..`".to_owned()));
                return None;
            }
            source.push(&within);
            // What a file of the volume is named so will be there by then; anything else is a directory.
            if root.open || !self.writes(&source) {
                self.make.push(Make::Directory(source.clone()));
            }
        }
        Some(Mount {
            source,
            target: target.components().collect(),
            read_only: root.read_only || asked.read_only.unwrap_or(false),
        })
    }

    /// Whether a file is written there, or below it.
    fn writes(&self, place: &Path) -> bool {
        let below = |one: &Make| matches!(one, Make::File { path, .. } if path.starts_with(place));
        self.make.iter().any(below)
    }

    fn root(&mut self, name: &Arc<str>, report: &Report<'_>) -> Option<Root> {
        if let Some(known) = self.roots.get(name) {
            return known.clone();
        }
        let list = self.sources.identity.pod.volumes();
        let root = match list.iter().position(|volume| volume.name == *name) {
            None => {
                let hint = did_you_mean(name, list.iter().map(|volume| &*volume.name));
                report.refuse(format!("the template has no volume `{name}`"), hint);
                None
            }
            Some(position) => self.place(&list[position], &self.json[position], report),
        };
        self.roots.insert(name.clone(), root.clone());
        root
    }

    /// Where a volume is, and what must be made for it.
    fn place(&mut self, volume: &'a Volume, json: &Value, report: &Report<'_>) -> Option<Root> {
        let read_only = claims_read_only(volume);
        let kept = |path: PathBuf| Root {
            path,
            read_only,
            open: true,
        };
        if let Some(given) = self.given(volume) {
            self.make.push(Make::Expect {
                path: given.clone(),
                what: None,
                volume: volume.name.clone(),
            });
            return Some(kept(given));
        }
        if let Some(path) = &volume.host_path {
            return self.host_path(path, volume, report);
        }
        if let Some(files) = self.files(volume, report) {
            let path = life_directory(self.files, volume);
            self.make.push(Make::volume(&path, self.files));
            for file in files {
                self.make.push(Make::File {
                    path: file.within(&path),
                    content: file.content,
                    mode: file.mode,
                });
            }
            return Some(Root {
                path,
                read_only: true,
                open: false,
            });
        }
        let (path, within) = match kept_path(self.kept, self.sources.identity.job, volume, json) {
            None => (life_directory(self.life, volume), self.life),
            Some((path, words)) => {
                let note = format!(
                    "{words} is the directory `{}`, which is kept; another one: `--volume {}=DIR`",
                    path.display(),
                    volume.name,
                );
                report.ignore(note);
                (path, self.kept)
            }
        };
        self.make.push(Make::volume(&path, within));
        Some(kept(path))
    }

    /// What `--volume` says, by the volume's name or by its claim's.
    fn given(&self, volume: &Volume) -> Option<PathBuf> {
        let claim = volume.persistent_volume_claim.as_ref();
        let by_name = self.given.get(&*volume.name);
        let by_claim = || claim.and_then(|claim| self.given.get(&*claim.claim_name));
        by_name.or_else(by_claim).cloned()
    }

    fn host_path(&mut self, asked: &HostPath, volume: &Volume, report: &Report<'_>) -> Option<Root> {
        let path = PathBuf::from(&asked.path);
        if !path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
            let message = format!(
                "the path `{}` of volume `{}` is not absolute",
                asked.path, volume.name
            );
            report.refuse(message, Some("an absolute path without `..`".to_owned()));
            return None;
        }
        let expect = |what| Make::Expect {
            path: path.clone(),
            what,
            volume: volume.name.clone(),
        };
        let make = match asked.kind.as_deref().unwrap_or_default() {
            "" => expect(None),
            "DirectoryOrCreate" => Make::Directory(path.clone()),
            "Directory" => expect(Some(FileType::Directory)),
            "FileOrCreate" => Make::EmptyFile(path.clone()),
            "File" => expect(Some(FileType::RegularFile)),
            "Socket" => expect(Some(FileType::Socket)),
            "CharDevice" => expect(Some(FileType::CharacterDevice)),
            "BlockDevice" => expect(Some(FileType::BlockDevice)),
            other => {
                let known = "`DirectoryOrCreate`, `Directory`, `FileOrCreate`, `File`, `Socket`, `CharDevice`, `BlockDevice`";
                let message = format!(
                    "volume `{}`: there is no kind of host path `{other}`",
                    volume.name
                );
                report.refuse(message, Some(format!("one of {known}")));
                return None;
            }
        };
        self.make.push(make);
        Some(Root {
            path,
            read_only: false,
            open: true,
        })
    }

    /// The files of a volume that is made of files.
    fn files(&self, volume: &Volume, report: &Report<'_>) -> Option<Vec<File>> {
        let report = &report.at(&format!("volumes[{}]", volume.name));
        let object =
            |kind, asked: &Projection| Some(files::of_object(kind, asked, None, self.sources, report));
        if let Some(asked) = &volume.config_map {
            return object(Kind::ConfigMap, asked);
        }
        if let Some(asked) = &volume.secret {
            return object(Kind::Secret, asked);
        }
        if let Some(asked) = &volume.downward_api {
            return Some(files::of_pod(asked, None, self.sources, report));
        }
        let projected = volume.projected.as_ref()?;
        Some(files::of_all(projected, self.sources, report))
    }
}

fn life_directory(life: &Path, volume: &Volume) -> PathBuf {
    life.join("volumes").join(plain(&volume.name))
}

/// The directory that stands for storage elsewhere, and what it stands for; none for what ends with the task.
fn kept_path(kept: &Path, job: &Job, volume: &Volume, json: &Value) -> Option<(PathBuf, String)> {
    if volume.empty_dir.is_some() || volume.ephemeral.is_some() {
        return None;
    }
    if let Some(claim) = &volume.persistent_volume_claim {
        let path = claim_path(kept, &job.namespace, &claim.claim_name);
        return Some((path, format!("the claim `{}`", claim.claim_name)));
    }
    if let Some(nfs) = &volume.nfs {
        let path = kept.join("nfs").join(plain(&nfs.server)).join(plain(&nfs.path));
        return Some((path, format!("`{}:{}`", nfs.server, nfs.path)));
    }
    // A volume that says no kind at all is an `emptyDir`.
    let kind = json.as_object()?.keys().find(|key| *key != "name")?;
    let path = kept.join(plain(&job.namespace));
    let path = path.join(plain(&format!("{}.{}", job.name, volume.name)));
    Some((path, format!("the volume of kind `{kind}`")))
}

/// The directory that stands for a claim.
pub(crate) fn claim_path(kept: &Path, namespace: &str, claim: &str) -> PathBuf {
    kept.join(plain(namespace)).join(plain(claim))
}

/// The directories below `kept` that stand for a job's volumes, whether they have been made or not.
#[must_use]
pub fn kept_volumes(job: &Job, kept: &Path) -> BTreeSet<PathBuf> {
    let mut paths = BTreeSet::new();
    for (_, json) in templates(job) {
        let Ok(pod) = Pod::read(&json) else { continue };
        for (volume, json) in pod.volumes().iter().zip(items(&json["spec"]["volumes"])) {
            let here = volume.host_path.is_some()
                || volume.config_map.is_some()
                || volume.secret.is_some()
                || volume.downward_api.is_some()
                || volume.projected.is_some();
            let path = kept_path(kept, job, volume, json).filter(|_| !here);
            paths.extend(path.map(|(path, _)| path));
        }
    }
    paths
}

fn claims_read_only(volume: &Volume) -> bool {
    let claim = volume
        .persistent_volume_claim
        .as_ref()
        .and_then(|claim| claim.read_only);
    let nfs = volume.nfs.as_ref().and_then(|nfs| nfs.read_only);
    claim.or(nfs).unwrap_or(false)
}

fn sub_path(asked: &VolumeMount, variables: &Variables) -> Option<PathBuf> {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let expanded = given(&asked.sub_path_expr).map(|text| PathBuf::from(variables.expand(&text)));
    given(&asked.sub_path).map(PathBuf::from).or(expanded)
}

/// Whether a path leads to something below where it starts.
fn is_within(path: &Path) -> bool {
    path.components().next().is_some()
        && path
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// A name as one part of a path, whatever is in it: a slash, two dots, nothing.
fn plain(name: &str) -> String {
    let keep = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') {
            c
        } else {
            '_'
        }
    };
    let name: String = name.trim_matches('/').chars().map(keep).collect();
    if name.is_empty() || name.starts_with('.') {
        format!("_{name}")
    } else {
        name
    }
}
