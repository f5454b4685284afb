//! From one dialect to another, through the job.
//!
//! ```text
//! ReadJob ─▶ Outline ─▶ a manifest in the other dialect ─▶ read again ─▶ compared with the first ─▶ losses
//! ```
//!
//! The writers do what they can. What was lost is not for them to know: the new manifest is read and compiled like
//! any other, and every difference in meaning is told with the field it came from. What is not told is the same.

mod compare;
mod outline;
pub(crate) mod t9k;
pub(crate) mod tfjob;
mod unmodelled;
pub(crate) mod volcano;

use serde_json::Value;
use trainyard_document::Source;
use trainyard_document::problem::{Problem, Problems};
use trainyard_document::yaml;

pub(crate) use self::outline::Outline;
use crate::dialect::Dialect;
use crate::manifest::ReadJob;
use crate::read::read;

/// A manifest in another dialect, and what it could not take along.
#[derive(Clone, Debug)]
pub struct Converted {
    /// The manifest.
    pub manifest: Value,
    /// The same as YAML.
    pub text: String,
    /// What was lost, with its place in the source.
    pub losses: Vec<Problem>,
}

/// A map without the fields that are null.
fn present(mut value: Value) -> Value {
    if let Value::Object(map) = &mut value {
        map.retain(|_, value| !value.is_null());
    }
    value
}

/// The same job in another dialect; `source` is where it was read from.
#[must_use]
pub fn convert(source: &Source, read: &ReadJob, to: Dialect) -> Converted {
    if read.dialect == to && to.versions().len() == 1 {
        // There is only one way to write it, and it is written.
        let manifest = without_empty_times(read.node.to_json());
        let text = yaml::write(&manifest);
        return Converted {
            manifest,
            text,
            losses: Vec::new(),
        };
    }
    let outline = Outline::of(read);
    let manifest = without_empty_times((to.describe().write)(&outline));
    let text = yaml::write(&manifest);
    let problems = Problems::new(source, read.document);
    match again(&text) {
        Some(converted) => compare::tell(&outline, &converted, &problems),
        None => compare::unreadable(&outline, to, &problems),
    }
    unmodelled::tell(&outline, to, &problems);
    Converted {
        manifest,
        text,
        losses: problems.into_vec(),
    }
}

/// The object without `creationTimestamp: null`, which Go programs write into every `metadata` and which means nothing.
#[must_use]
pub fn without_empty_times(mut object: Value) -> Value {
    fn mend(value: &mut Value) {
        match value {
            Value::Object(map) => {
                if let Some(Value::Object(metadata)) = map.get_mut("metadata")
                    && metadata.get("creationTimestamp").is_some_and(Value::is_null)
                {
                    metadata.shift_remove("creationTimestamp");
                    if metadata.is_empty() {
                        map.shift_remove("metadata");
                    }
                }
                map.values_mut().for_each(mend);
            }
            Value::Array(list) => list.iter_mut().for_each(mend),
            _ => {}
        }
    }
    mend(&mut object);
    object
}

/// Puts the scheduler that places the gang into a template that names none.
fn schedule(template: &mut Value, gang: Option<&trainyard_core::Gang>) {
    use trainyard_core::GangScheduler;
    let name = match gang.map(|gang| &gang.scheduler) {
        Some(
            GangScheduler::Default | GangScheduler::Native | GangScheduler::Gates | GangScheduler::Named(_),
        )
        | None => return,
        Some(known) => known.name().unwrap_or_default(),
    };
    if let Some(Value::Object(spec)) = template.get_mut("spec")
        && !spec.contains_key("schedulerName")
    {
        spec.insert("schedulerName".into(), name.into());
    }
}

/// What the new manifest means.
fn again(text: &str) -> Option<ReadJob> {
    let source = Source::from_bytes("converted", text.as_bytes()).ok()?;
    let reading = read(&source);
    reading.jobs().next().cloned()
}
