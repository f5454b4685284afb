//! The dialects, each as one description: what the rest of the crate and its callers ask of them.

use serde_json::Value;
use trainyard_core::Conventions;

use crate::convert::Outline;
use crate::manifest::{Object, ReadJob};
use crate::{t9k, tfjob, volcano};

/// The kinds of job there are readers for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// Kubeflow's `TFJob`.
    TfJob,
    /// T9k's `TensorFlowTrainingJob`.
    TensorFlowTrainingJob,
    /// Volcano's `Job`.
    Volcano,
}

/// A dialect as data and functions.
pub(crate) struct Description {
    /// Its name on the command line.
    pub name: &'static str,
    /// The `kind` of its manifests.
    pub kind: &'static str,
    /// What the kind is called where its own name says too little.
    pub title: &'static str,
    /// The group of its `apiVersion`.
    pub group: &'static str,
    /// The versions that are read, newest first.
    pub versions: &'static [&'static str],
    /// The field that says which roles a job has.
    pub roles: RoleList,
    /// Lists that earlier versions had in its place.
    pub lists: &'static [RoleList],
    /// What its users expect of objects.
    pub conventions: Conventions,
    /// Reads one object; what is wrong with it goes to the object's problems.
    pub read: fn(&Object<'_>) -> Option<ReadJob>,
    /// Writes a job of another dialect.
    pub write: fn(&Outline<'_>) -> Value,
}

/// A field of `spec` that says which roles a job has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoleList {
    /// Its name.
    pub field: &'static str,
    /// The field of an item that names the role, in a list; a map has the names as keys.
    pub name: Option<&'static str>,
    /// JSON pointers into `spec` to numbers of tasks that must not be above the sum of all replicas.
    pub minimums: &'static [&'static str],
}

impl RoleList {
    /// That of a job's object; none if the object is no job of ours.
    #[must_use]
    pub fn of(object: &Value) -> Option<&'static Self> {
        let group = object["apiVersion"].as_str()?.rsplit_once('/')?.0;
        let dialect = Dialect::of(group, object["kind"].as_str()?)?;
        Some(Self::choose(dialect, |field| object["spec"][field].is_array()))
    }

    pub(crate) fn of_job(read: &ReadJob) -> &'static Self {
        let is_list = |field: &str| read.node.at(["spec", field])?.as_list();
        Self::choose(read.dialect, |field| is_list(field).is_some())
    }

    fn choose(dialect: Dialect, is_list: impl Fn(&str) -> bool) -> &'static Self {
        let Description { roles, lists, .. } = dialect.describe();
        lists.iter().find(|list| is_list(list.field)).unwrap_or(roles)
    }
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::TfJob, Self::TensorFlowTrainingJob, Self::Volcano];

    pub(crate) fn describe(self) -> &'static Description {
        match self {
            Self::TfJob => &tfjob::DESCRIPTION,
            Self::TensorFlowTrainingJob => &t9k::DESCRIPTION,
            Self::Volcano => &volcano::DESCRIPTION,
        }
    }

    /// The dialect that the command line calls `name`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|dialect| dialect.describe().name == name)
    }

    /// The dialect of objects with this group and kind.
    #[must_use]
    pub fn of(group: &str, kind: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|dialect| dialect.group() == group && dialect.kind() == kind)
    }

    /// The `kind` of its manifests.
    #[must_use]
    pub fn kind(self) -> &'static str {
        self.describe().kind
    }

    /// What the kind is called where its own name says too little: `Volcano Job`.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.describe().title
    }

    /// The group of its `apiVersion`.
    #[must_use]
    pub fn group(self) -> &'static str {
        self.describe().group
    }

    /// What its users expect of objects.
    #[must_use]
    pub fn conventions(self) -> &'static Conventions {
        &self.describe().conventions
    }

    /// The versions that are read, newest first.
    #[must_use]
    pub fn versions(self) -> &'static [&'static str] {
        self.describe().versions
    }
}
