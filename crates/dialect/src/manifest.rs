//! What reading a file gives: jobs and the objects beside them, in the order of the text, and every problem.
//!
//! It stands at the end of the dialect's own way: after [`read`](crate::read::read) nothing asks for text any more,
//! and after [`ReadJob::job`] nothing asks which dialect it was.

mod metadata;
mod subject;
mod vocabulary;

use std::sync::Arc;

use serde_json::Value;
use trainyard_core::{GangChoice, Isolation, Job};
use trainyard_document::Node;
use trainyard_document::fields::{Field, Fields};
use trainyard_document::problem::{Problem, has_errors};

use crate::check;
use crate::dialect::Dialect;
use crate::isolation;

pub(crate) use self::metadata::{Metadata, OUR_PREFIX};

/// Everything a source holds, and everything that is wrong with it.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The jobs and the other objects, in the order of the text. A job with an error in it is missing.
    pub items: Vec<Item>,
    /// What is wrong, in the order of the text.
    pub problems: Vec<Problem>,
}

impl Reading {
    /// The jobs, in the order of the text.
    pub fn jobs(&self) -> impl Iterator<Item = &ReadJob> {
        self.items.iter().filter_map(|item| match item {
            Item::Job(job) => Some(&**job),
            Item::Other(_) => None,
        })
    }

    /// Whether something in the source cannot be used.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        has_errors(&self.problems)
    }
}

/// One object of a source.
#[derive(Clone, Debug)]
pub enum Item {
    /// A job in one of our dialects.
    Job(Box<ReadJob>),
    /// Anything else, kept as it is written.
    Other(OtherObject),
}

/// A job, and what only reports and conversions want to know of the manifest it came from.
#[derive(Clone, Debug)]
pub struct ReadJob {
    /// In which dialect it is written.
    pub dialect: Dialect,
    /// Its `apiVersion`, as written.
    pub api_version: Arc<str>,
    /// What it means.
    pub job: Job,
    /// The object, as written.
    pub node: Node,
    /// Which document of the source it is in, from 0.
    pub document: usize,
    /// `generateName` was given: the name in `job` is a stand-in for one that the server will make.
    pub generate_name: bool,
    /// The other controller that runs it (`managedBy`): it is read and shown, but not ours to act on.
    pub managed_by: Option<Arc<str>>,
    /// Nothing but its own pods may reach them, if its annotation asks for that.
    pub isolation: Option<Isolation>,
    /// Which gang scheduler it asks for.
    pub gang: GangChoice,
    /// Objects that its tasks refer to and that are made with it: claims, maps of addresses, a TensorBoard. The
    /// world that runs the job creates them before the first task, and the job owns them.
    pub objects: Vec<Value>,
}

impl ReadJob {
    /// The version of its kind: `v1beta2`.
    #[must_use]
    pub fn version(&self) -> &str {
        self.api_version.rsplit('/').next().unwrap_or_default()
    }

    /// Whether it is a `TFJob` in its first shape, with a list of replicas and no `runPolicy`.
    #[must_use]
    pub fn is_first_version(&self) -> bool {
        self.dialect == Dialect::TfJob && self.version() == "v1alpha1"
    }

    /// The namespace that the manifest itself names.
    #[must_use]
    pub fn own_namespace(&self) -> Option<&str> {
        let namespace = self.node.at(["metadata", "namespace"])?.as_text()?;
        Some(namespace).filter(|text| !text.is_empty())
    }
}

/// An object that is no job of ours.
#[derive(Clone, Debug)]
pub struct OtherObject {
    /// Its `apiVersion`; empty if it has none.
    pub api_version: Arc<str>,
    /// Its `kind`; empty if it has none.
    pub kind: Arc<str>,
    /// Its name; empty if it has none.
    pub name: Arc<str>,
    /// Its namespace, if it says one.
    pub namespace: Option<Arc<str>>,
    /// The object, as written.
    pub node: Node,
    /// Which document of the source it is in, from 0.
    pub document: usize,
}

/// One object on its way to its dialect's reader.
///
/// A dialect is one function, `fn read(object: &Object<'_>) -> Option<ReadJob>`; it reports what is wrong to
/// `object.root.problems` and may return a job all the same: one with errors is dropped by the caller.
pub(crate) struct Object<'a> {
    /// The whole object.
    pub root: Field<'a>,
    /// Its `apiVersion`, as written.
    pub api_version: Arc<str>,
    /// The version alone: `v1beta2`.
    pub version: &'a str,
    /// Which document of the source it is in, from 0.
    pub document: usize,
}

impl<'a> Object<'a> {
    /// Its metadata, of which the names are checked, and the fields of its `spec`.
    pub fn open(&self) -> Option<(Metadata<'a>, Option<Fields<'a>>)> {
        let mut fields = self.root.fields()?;
        fields.skip(&["apiVersion", "kind", "status"]);
        let metadata = Metadata::read(&self.root, &mut fields);
        check::name(&metadata);
        let spec = fields.require("spec").and_then(|field| field.fields());
        fields.finish();
        Some((metadata, spec))
    }

    /// The result of reading this object.
    pub fn read_as(&self, dialect: Dialect, metadata: &Metadata<'_>, job: Job) -> ReadJob {
        ReadJob {
            dialect,
            api_version: self.api_version.clone(),
            isolation: isolation::read(metadata, &job),
            job,
            node: self.root.node.clone(),
            document: self.document,
            generate_name: metadata.generate_name,
            managed_by: None,
            gang: GangChoice::Default,
            objects: Vec::new(),
        }
    }
}
