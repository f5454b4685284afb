//! Kinds of jobs as the API server knows them: names, labels, definition and rights, one file per kind. What the operator does with a
//! job of a kind is in `kinds` of the operator's crate.

pub mod t9k;
pub mod tfjob;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use serde_json::{Value, json};

use crate::install::access::Use;

/// Every kind that pods of a job may have as owner.
pub static ALL: &[&JobApi] = &[&tfjob::API, &t9k::API];

/// A kind of job on the API server. Two are equal if group and kind are.
#[derive(Debug)]
pub struct JobApi {
    /// `kubeflow.org`.
    pub group: &'static str,
    /// The version that the operator reads and writes.
    pub version: &'static str,
    /// `group/version`.
    pub api_version: &'static str,
    /// `TFJob`.
    pub kind: &'static str,
    /// `tfjobs`.
    pub plural: &'static str,
    /// `tfjobs/status`.
    pub status: &'static str,
    /// Labels of its pods and Services.
    pub labels: PodLabels,
    /// The roles that its jobs may have, as pods are labelled and named.
    pub roles: &'static [&'static str],
    /// The `CustomResourceDefinition`.
    pub definition: fn(Served) -> Value,
    /// What the operator does with objects of this kind.
    pub uses: &'static [Use],
}

/// Labels of pods and Services, each list in order of preference: pods that another operator made lack our own.
#[derive(Debug)]
pub struct PodLabels {
    /// Key and value that every pod and Service of the kind has. Watches select by it; it proves nothing.
    pub selector: (&'static str, &'static str),
    /// Keys of the job's name. Every object has the last one, so lists select by it.
    pub job: &'static [&'static str],
    /// Keys of the role.
    pub role: &'static [&'static str],
    /// Keys of the task's index.
    pub index: &'static [&'static str],
}

/// Which versions an installation serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Served {
    /// All of them: old manifests work as they are.
    #[default]
    All,
    /// The stored one alone: each further one costs the API server a cache of its own.
    Newest,
}

impl JobApi {
    /// The kind with that `apiVersion`, whatever the version, and that `kind`.
    #[must_use]
    pub fn find(api_version: &str, kind: &str) -> Option<&'static Self> {
        let (group, _) = api_version.split_once('/')?;
        let mut all = ALL.iter().copied();
        all.find(|api| api.group == group && api.kind == kind)
    }

    /// The name of its definition.
    #[must_use]
    pub fn definition_name(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// Its `CustomResourceDefinition`, with these versions.
    fn definition_of(&self, versions: &[Value]) -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": self.definition_name() },
            "spec": {
                "group": self.group,
                "names": {
                    "kind": self.kind, "listKind": format!("{}List", self.kind),
                    "plural": self.plural, "singular": self.kind.to_ascii_lowercase(),
                },
                "scope": "Namespaced",
                "conversion": { "strategy": "None" },
                "versions": versions,
            },
        })
    }

    fn name(&self) -> (&str, &str) {
        (self.group, self.kind)
    }
}

impl PodLabels {
    /// The label by which the objects of one job are listed.
    #[must_use]
    pub fn listed_by(&self) -> &'static str {
        self.job.last().copied().unwrap_or_default()
    }
}

impl PartialEq for JobApi {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for JobApi {}

impl PartialOrd for JobApi {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for JobApi {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name().cmp(&other.name())
    }
}

impl Hash for JobApi {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}
