//! What is told about a job beside its status, since it must not or need not stand there: one log line and one event each, for as
//! long as an operator runs.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use serde_json::Value;
use trainyard_core::Time;
use trainyard_manifest::observe::PodSeen;
use trainyard_status::{Flaw, newer_memory};

use super::events::{self, Change};
use super::unreadable;
use crate::apply::Writes;
use crate::job::{JobKey, JobSeen};
use crate::store::Entry;

/// A newer version has written its status.
const NEWER: &str = "NewerMemory";
/// Its annotation gives no order that can be obeyed.
const INVALID_ORDER: &str = "InvalidOrder";
/// It owns a pod that is none of its tasks'.
const UNKNOWN_POD: &str = "UnknownPod";

/// What has been told about one job.
#[derive(Debug, Default)]
pub struct Warned {
    /// Which: another one of its name is told anew.
    job: Arc<str>,
    newer: bool,
    unknown_pod: bool,
    /// Its status has said that another controller writes it.
    pub(super) other_manager: bool,
    /// What is wrong with its order.
    order: Option<Arc<str>>,
}

impl Warned {
    /// What has been told about this job, and not about another one of its name.
    pub(super) fn of_job(&mut self, uid: &Arc<str>) -> &mut Self {
        if self.job != *uid {
            *self = Self {
                job: Arc::clone(uid),
                ..Self::default()
            };
        }
        self
    }
}

/// An apply that tells what has not been told yet, and does nothing else: another one may be refused before it comes to its events.
pub fn next(key: &JobKey, entry: &mut Entry, job: &JobSeen, now: Time) -> Option<Box<Writes>> {
    if job.deleting {
        return None;
    }
    let change = change(entry, job, now)?;
    let mut event = events::event(job, &change)?;
    // An operator that starts later tells the same; of one name there is one event.
    let mut name = events::name(job, &change.reason);
    if change.reason == INVALID_ORDER {
        // Another order that is wrong is told too.
        let mut hash = DefaultHasher::new();
        change.message.hash(&mut hash);
        name = format!("{name}.{:x}", hash.finish());
    }
    event["metadata"]["name"] = name.into();
    let mut writes = super::status_write(key, job, Value::Null, now);
    writes.keep_actions_only();
    writes.events.push(event);
    writes.changes.push(change);
    Some(Box::new(writes))
}

/// What has not been told yet.
fn change(entry: &mut Entry, job: &JobSeen, now: Time) -> Option<Change> {
    entry.warned.of_job(&job.uid);
    let ended = job.key.kind.has_ended(job.status.as_ref());
    let newer = newer_memory(job.status.as_ref()).filter(|_| !ended && !entry.warned.newer);
    if let Some(format) = newer {
        entry.warned.newer = true;
        return Some(events::warning(
            NEWER,
            unreadable::words(&Flaw::Newer(format)),
            now,
        ));
    }
    if let Some(Err(wrong)) = job.order.as_ref().filter(|_| !ended)
        && entry.warned.order.as_ref() != Some(wrong)
    {
        entry.warned.order = Some(Arc::clone(wrong));
        return Some(events::warning(
            INVALID_ORDER,
            format!("{wrong}; it is ignored"),
            now,
        ));
    }
    if entry.warned.unknown_pod {
        return None;
    }
    let mut pods = entry.pods.values().map(|held| &held.pod);
    let owned = |pod: &&PodSeen| pod.owner.as_ref() == Some(&job.uid);
    let message = unknown(pods.find(|pod| owned(pod) && pod.task.is_none())?);
    entry.warned.unknown_pod = true;
    Some(events::warning(UNKNOWN_POD, message, now))
}

/// One of them is named: there may be as many as the quota of the namespace allows.
fn unknown(pod: &PodSeen) -> String {
    let PodSeen { name, namespace, .. } = pod;
    format!(
        "pod {name} has this job for its controller and is not the pod of any of its tasks, by its name, its labels or its stamp: it is neither \
         counted nor stopped. If it is not wanted: `kubectl delete pod {name} -n {namespace}`"
    )
}
