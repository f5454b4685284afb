//! `metadata` of a job: the same in every dialect.

use std::sync::Arc;

use trainyard_document::codes::Code;
use trainyard_document::fields::{Field, Fields};
use trainyard_document::problem::{closest, shown};

use crate::{isolation, order};

/// Our own annotations and labels begin with this.
pub(crate) const OUR_PREFIX: &str = "trainyard.dev/";

/// Annotations that jobs of every kind may have.
const OF_EVERY_KIND: &[&str] = &[order::ANNOTATION, isolation::ANNOTATION, isolation::FROM];

/// Fields that a server or a tool adds, and that mean nothing to us.
const SERVER_FIELDS: &[&str] = &[
    "clusterName",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
];

/// The five letters that a server adds to `generateName`; what stands for them before it has.
const STAND_IN: &str = "xxxxx";

/// What a job's `metadata` says.
pub(crate) struct Metadata<'a> {
    /// The job's name; a stand-in where only `generateName` is given, empty where neither is.
    pub name: Arc<str>,
    /// Whether the name is a stand-in.
    pub generate_name: bool,
    /// The namespace; `default` where none is given.
    pub namespace: Arc<str>,
    /// The UID, if a server has given one; otherwise empty.
    pub uid: Arc<str>,
    /// Where problems with the name belong: the name itself, or the object.
    pub place: Field<'a>,
    /// Where the namespace is written, if it is.
    pub namespace_at: Option<Field<'a>>,
    annotations: Vec<(&'a Arc<str>, Field<'a>)>,
}

impl<'a> Metadata<'a> {
    /// Reads `metadata` of the object whose fields these are.
    pub fn read(root: &Field<'a>, fields: &mut Fields<'a>) -> Self {
        let mut out = Self {
            name: "".into(),
            generate_name: false,
            namespace: "default".into(),
            uid: "".into(),
            place: root.clone(),
            namespace_at: None,
            annotations: Vec::new(),
        };
        let Some(mut metadata) = fields.require("metadata").and_then(|field| field.fields()) else {
            return out;
        };
        out.read_name(&mut metadata);
        out.namespace_at = metadata.get("namespace");
        let namespace = out.namespace_at.as_ref().and_then(Field::text);
        if let Some(namespace) = namespace.filter(|text| !text.is_empty()) {
            out.namespace = namespace.clone();
        }
        if let Some(uid) = metadata.text("uid") {
            out.uid = uid.clone();
        }
        if let Some(mut labels) = metadata.map("labels") {
            // They are kept as they are written; only their type is checked.
            labels.entries().iter().for_each(|(_, value)| _ = value.text());
        }
        if let Some(mut annotations) = metadata.map("annotations") {
            out.annotations = annotations.entries();
            out.annotations.retain(|(_, value)| value.text().is_some());
        }
        metadata.skip(SERVER_FIELDS);
        metadata.finish();
        out
    }

    fn read_name(&mut self, metadata: &mut Fields<'a>) {
        let name = metadata.get("name");
        let prefix = metadata.get("generateName");
        let given = |field: &Field<'a>| field.text().filter(|text| !text.is_empty()).cloned();
        if let Some(field) = name {
            self.name = given(&field).unwrap_or_default();
            self.place = field;
        } else if let Some(field) = prefix {
            self.name = format!("{}{STAND_IN}", given(&field).unwrap_or_default()).into();
            self.generate_name = true;
            self.place = field;
        } else {
            let missing = metadata.problem(Code::MissingField, "the job has no name");
            let problem = missing.hint("add `name`, or `generateName` for a new name each time");
            metadata.problems().report(problem.label("needs `name`"));
        }
    }

    /// The annotation with this key.
    pub fn annotation(&self, key: &str) -> Option<&Field<'a>> {
        self.annotations
            .iter()
            .find(|(name, _)| &***name == key)
            .map(|(_, field)| field)
    }

    /// Reports every annotation of ours that is not in `known`, since a slip there would silently do nothing, and an
    /// [order] that the operator would ignore.
    pub fn check_our_annotations(&self, known: &[&str]) {
        for (key, field) in &self.annotations {
            let Some(own_name) = key.strip_prefix(OUR_PREFIX) else {
                continue;
            };
            if &***key == order::ANNOTATION {
                order::check(field);
            } else if !known.contains(&&***key) && !OF_EVERY_KIND.contains(&&***key) {
                let message = format!("unknown annotation `{}`", shown(key));
                let problem = field.key_problem(Code::UnknownField, message).found(key);
                let known = known.iter().chain(OF_EVERY_KIND);
                let meant = closest(own_name, known.filter_map(|key| key.strip_prefix(OUR_PREFIX)));
                let hint = meant.map(|meant| format!("did you mean `{OUR_PREFIX}{meant}`?"));
                field.tell(problem.maybe_hint(hint));
            }
        }
    }
}
