//! Extra objects of a job's kind, as far as they are known to exist. They are not watched: that we have created one, or have found
//! it, is known until the operator ends.

use std::sync::Arc;

use serde_json::Value;
use trainyard_core::{Fixture, FixtureSeen};

/// An extra object that exists and is the job's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtraSeen {
    /// The plural of its kind.
    pub plural: &'static str,
    /// Its `apiVersion`.
    pub api_version: Arc<str>,
    /// Its kind.
    pub kind: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Its UID.
    pub uid: Arc<str>,
}

impl ExtraSeen {
    /// Whether it is the object that is wanted.
    #[must_use]
    pub fn is(&self, wanted: &Value) -> bool {
        wanted["kind"] == *self.kind && wanted["metadata"]["name"] == *self.name
    }
}

/// What `step` sees of them: most jobs have none, and need none.
#[must_use]
pub fn seen(known: &[ExtraSeen], wanted: &[Value]) -> Option<(Fixture, FixtureSeen)> {
    let right = wanted
        .iter()
        .all(|wanted| known.iter().any(|known| known.is(wanted)));
    let seen = match (known.is_empty(), wanted.is_empty()) {
        (true, true) => return None,
        (true, false) => FixtureSeen::Missing,
        (false, _) => FixtureSeen::Ours { right },
    };
    Some((Fixture::Extras, seen))
}
