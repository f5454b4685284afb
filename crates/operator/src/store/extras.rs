//! Extra objects of a job's kind, as far as they are known to exist.
//!
//! But for the NetworkPolicies of isolated jobs (`policies.rs`) they are not watched: that the operator has created one, or has found it, is known until it ends. `status.objects` names those that
//! must be deleted when the job ends, so that an operator that starts later knows what to look for. Whose an object is, is asked
//! before it is deleted: a status is the tenant's to write.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use trainyard_core::{Fixture, FixtureSeen};
use trainyard_manifest::isolation::{API_VERSION, KIND};

use super::policies::PolicySeen;
use super::tracked::Tracked;
use crate::apply::Report;
use crate::board::content;

/// The field of the status with the names of the objects that go when the job ends.
pub const OBJECTS_FIELD: &str = "objects";
/// So many names of a status are believed. No kind has more objects per job that go before the job does.
const MOST_LISTED: usize = 8;

/// A sort of object that a kind may need.
#[derive(Debug, PartialEq, Eq)]
pub struct Sort {
    /// Its kind.
    pub kind: &'static str,
    /// Its `apiVersion`.
    pub api_version: &'static str,
    /// Its plural.
    pub plural: &'static str,
    /// It is deleted when nothing needs it any more; otherwise it goes with the job.
    pub goes: bool,
    /// The field that is rewritten when the job changes.
    pub follows: Option<&'static str>,
    /// No pod refers to it: it is rewritten as a whole, which also removes what others have added, and it is deleted as soon as the
    /// job does not ask for it any more.
    pub stands_alone: bool,
}

/// Every sort of object that can be created. Claims hold data, so they go with the job alone.
pub static SORTS: &[Sort] = &[
    sort("ConfigMap", "v1", "configmaps", Some("data")),
    Sort {
        stands_alone: true,
        ..sort(KIND, API_VERSION, "networkpolicies", Some("spec"))
    },
    sort("Service", "v1", "services", None),
    Sort {
        goes: false,
        ..sort("PersistentVolumeClaim", "v1", "persistentvolumeclaims", None)
    },
];

const fn sort(
    kind: &'static str,
    api_version: &'static str,
    plural: &'static str,
    follows: Option<&'static str>,
) -> Sort {
    Sort {
        kind,
        api_version,
        plural,
        goes: true,
        follows,
        stands_alone: false,
    }
}

impl Sort {
    /// The sort of that kind.
    #[must_use]
    pub fn find(kind: &str) -> Option<&'static Self> {
        SORTS.iter().find(|sort| sort.kind == kind)
    }

    /// What of an object is rewritten when it changes, in short; empty where nothing is.
    #[must_use]
    pub fn content(&self, object: &Value) -> Arc<str> {
        let Some(field) = self.follows else {
            return "".into();
        };
        content(&sorted(&object[field]))
    }
}

/// The same value with its keys in order: the API server writes them in an order of its own.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let ordered: BTreeMap<&String, Value> =
                map.iter().map(|(key, value)| (key, sorted(value))).collect();
            ordered
                .into_iter()
                .map(|(key, value)| (key.clone(), value))
                .collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// An extra object that exists and is the job's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtraSeen {
    /// What it is.
    pub sort: &'static Sort,
    /// Its name.
    pub name: Arc<str>,
    /// Its UID.
    pub uid: Arc<str>,
    /// Its resource version when it was last written or seen.
    pub version: u64,
    /// What it says, as [`Sort::content`] says.
    pub content: Arc<str>,
}

/// The name of an object that may exist: its sort and its name.
pub type Listed = (&'static Sort, Arc<str>);

impl ExtraSeen {
    /// Whether it is the object that is wanted.
    #[must_use]
    pub fn is(&self, wanted: &Value) -> bool {
        wanted["kind"] == self.sort.kind && wanted["metadata"]["name"] == *self.name
    }

    /// Whether it is that object, and says what it should.
    #[must_use]
    pub fn is_right(&self, wanted: &Value) -> bool {
        self.is(wanted) && self.content == self.sort.content(wanted)
    }
}

/// What is known of the extra objects of one job.
#[derive(Debug, Default)]
pub struct Extras {
    /// Those that exist and are the job's.
    pub known: Vec<ExtraSeen>,
    /// Every object that the status lists has been looked for.
    pub looked: bool,
    /// NetworkPolicies of isolated jobs, as the watch shows them.
    pub policies: Tracked<PolicySeen>,
}

impl Extras {
    /// Forgets what was known of another job.
    pub fn clear(&mut self) {
        self.known.clear();
        self.looked = false;
    }

    /// Takes in what an apply has done for this job.
    pub fn absorb(&mut self, report: &mut Report) {
        for extra in report.extras.drain(..) {
            if let Some(policy) = PolicySeen::written(&report.key, &report.uid, &extra)
                && !self.policies.see(policy, true)
            {
                // It was changed or deleted since.
                continue;
            }
            self.known
                .retain(|known| (known.sort, &known.name) != (extra.sort, &extra.name));
            self.known.push(extra);
        }
        self.looked |= report.looked_for_extras;
    }

    /// Objects that may exist though they are not known: those that the status lists, or all that the job needs if it has tasks and
    /// no status yet.
    #[must_use]
    pub fn listed(&self, status: Option<&Value>, has_tasks: bool, wanted: &[Value]) -> Vec<Listed> {
        if self.looked {
            return Vec::new();
        }
        let names: Vec<Listed> = match status {
            Some(status) => read(status),
            None if has_tasks => removable(wanted).collect(),
            None => Vec::new(),
        };
        let unknown = |(sort, name): &Listed| {
            let mut known = self.known.iter();
            !known.any(|extra| extra.sort == *sort && extra.name == *name)
        };
        names.into_iter().filter(unknown).collect()
    }

    /// What `step` sees of them: most jobs have none, and need none.
    #[must_use]
    pub fn seen(&self, listed: &[Listed], wanted: &[Value]) -> Option<(Fixture, FixtureSeen)> {
        let is_right = |wanted: &Value| self.known.iter().any(|known| known.is_right(wanted));
        let right = wanted.iter().all(is_right) && self.surplus(wanted).next().is_none();
        let seen = if !listed.is_empty() || self.known.iter().any(|known| known.sort.goes) {
            FixtureSeen::Ours {
                right: right && listed.is_empty(),
            }
        } else if wanted.is_empty() {
            return None;
        } else if right {
            // There is nothing to create, and what there is goes with the job.
            FixtureSeen::Foreign
        } else {
            FixtureSeen::Missing
        };
        Some((Fixture::Extras, seen))
    }

    /// Those that the job does not ask for any more, and that no pod refers to.
    pub fn surplus(&self, wanted: &[Value]) -> impl Iterator<Item = &ExtraSeen> {
        surplus(&self.known, wanted)
    }

    /// What `status.objects` says; none where nothing has to be deleted. `wanted` are the objects that are about to be created.
    #[must_use]
    pub fn written(&self, listed: &[Listed], wanted: &[Value]) -> Option<Value> {
        let known = self.known.iter().filter(|known| known.sort.goes);
        let known = known.map(|known| (known.sort, Arc::clone(&known.name)));
        let all = known.chain(listed.iter().cloned()).chain(removable(wanted));
        let mut names: Vec<String> = all.map(|(sort, name)| format!("{}/{name}", sort.kind)).collect();
        names.sort();
        names.dedup();
        (!names.is_empty()).then(|| json!(names))
    }
}

/// Of these objects, those that are not wanted and that no pod refers to.
pub fn surplus<'a>(known: &'a [ExtraSeen], wanted: &[Value]) -> impl Iterator<Item = &'a ExtraSeen> {
    let is_surplus =
        |known: &&ExtraSeen| known.sort.stands_alone && !wanted.iter().any(|wanted| known.is(wanted));
    known.iter().filter(is_surplus)
}

/// The objects that go when the job ends.
fn removable(wanted: &[Value]) -> impl Iterator<Item = Listed> {
    let named = |object: &Value| {
        let sort = Sort::find(object["kind"].as_str()?).filter(|sort| sort.goes)?;
        Some((sort, object["metadata"]["name"].as_str()?.into()))
    };
    wanted.iter().filter_map(named)
}

/// The objects that a status lists.
fn read(status: &Value) -> Vec<Listed> {
    let names = status[OBJECTS_FIELD].as_array().into_iter().flatten();
    let read = |name: &Value| {
        let (kind, name) = name.as_str()?.split_once('/')?;
        let sort = Sort::find(kind).filter(|sort| sort.goes)?;
        // A name with a slash would be another path.
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
        let valid = (1..=253).contains(&name.len()) && name.bytes().all(plain);
        valid.then(|| (sort, name.into()))
    };
    names.filter_map(read).take(MOST_LISTED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(kind: &str, data: &str) -> Value {
        json!({ "kind": kind, "metadata": { "name": "it" }, "data": { "hosts": data } })
    }

    fn known(object: &Value) -> ExtraSeen {
        let sort = Sort::find(object["kind"].as_str().unwrap()).unwrap();
        ExtraSeen {
            sort,
            name: "it".into(),
            uid: "u".into(),
            version: 1,
            content: sort.content(object),
        }
    }

    /// What is known, what the status lists, what is wanted, what `step` sees, and what the status says then.
    #[test]
    fn what_exists_what_may_exist_and_what_is_wanted() {
        let (map, other) = (object("ConfigMap", "a"), object("ConfigMap", "b"));
        let claim = object("PersistentVolumeClaim", "");
        let (ours, wrong) = (
            Some(FixtureSeen::Ours { right: true }),
            Some(FixtureSeen::Ours { right: false }),
        );
        let (missing, foreign) = (Some(FixtureSeen::Missing), Some(FixtureSeen::Foreign));
        let listed = json!({ "objects": ["ConfigMap/it"] });
        let none = json!({});
        let rows = [
            (vec![], &none, vec![], None, false),
            (vec![], &none, vec![&map], missing, false),
            (vec![], &listed, vec![&map], wrong, true),
            (vec![], &listed, vec![], wrong, true),
            (vec![known(&map)], &listed, vec![&map], ours, true),
            (vec![known(&map)], &none, vec![&other], wrong, true),
            (vec![known(&map)], &none, vec![&map, &claim], wrong, true),
            (vec![known(&claim)], &none, vec![&claim], foreign, false),
            (vec![known(&claim)], &none, vec![&claim, &map], missing, false),
        ];
        for (known, status, wanted, expected, says) in rows {
            let wanted: Vec<Value> = wanted.into_iter().cloned().collect();
            let extras = Extras {
                known,
                ..Extras::default()
            };
            let may_exist = extras.listed(Some(status), true, &wanted);
            let seen = extras.seen(&may_exist, &wanted).map(|(_, seen)| seen);
            assert_eq!(seen, expected, "{extras:?} {status} {wanted:?}");
            assert_eq!(
                extras.written(&may_exist, &[]).is_some(),
                says,
                "{extras:?} {status}"
            );
        }
    }

    #[test]
    fn a_status_names_objects_and_no_other_paths() {
        let status = json!({ "objects": [
            "ConfigMap/../secrets/a", "ConfigMap/", "Secret/a", "PersistentVolumeClaim/a", 3, "ConfigMap/a?b", "ConfigMap/good",
        ] });
        let names: Vec<String> = read(&status).iter().map(|(_, name)| name.to_string()).collect();
        assert_eq!(names, ["good"]);
        let many: Vec<String> = (0..100).map(|number| format!("ConfigMap/a{number}")).collect();
        assert_eq!(read(&json!({ "objects": many })).len(), MOST_LISTED);
    }

    #[test]
    fn a_job_with_tasks_and_no_status_may_have_everything() {
        let wanted = [object("ConfigMap", "a"), object("PersistentVolumeClaim", "")];
        let extras = Extras::default();
        assert_eq!(extras.listed(None, false, &wanted), []);
        assert_eq!(extras.listed(None, true, &wanted).len(), 1);
        let looked = Extras {
            looked: true,
            ..Extras::default()
        };
        assert_eq!(looked.listed(None, true, &wanted), []);
    }
}
