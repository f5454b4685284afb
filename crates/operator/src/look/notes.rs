//! What is told about a job beside its status, since it must not or need not stand there: one log line and one event each, for as
//! long as an operator runs.

use std::sync::Arc;

use serde_json::Value;
use trainyard_core::Time;
use trainyard_manifest::observe::PodSeen;
use trainyard_status::{Flaw, newer_memory};

use super::events::{self, Change};
use super::unread;
use crate::job::{JobKey, JobSeen};
use crate::pass::Pass;
use crate::yard::Plot;

/// A newer version has written its status.
const NEWER: &str = "NewerMemory";
/// It owns a pod that is none of its tasks'.
const UNKNOWN_POD: &str = "UnknownPod";

/// What has been told about one job.
#[derive(Debug, Default)]
pub struct Noted {
    /// Which: another one of its name is told anew.
    job: Arc<str>,
    newer: bool,
    unknown_pod: bool,
}

/// A pass that tells what has not been told yet, and does nothing else: another one may be refused before it comes to its events.
pub fn pass(key: &JobKey, plot: &mut Plot, job: &JobSeen, now: Time) -> Option<Box<Pass>> {
    if job.deleting {
        return None;
    }
    let change = change(plot, job, now)?;
    let mut event = events::event(job, &change)?;
    // An operator that starts later tells the same; of one name there is one event.
    event["metadata"]["name"] = events::name(job, &change.reason).into();
    let mut pass = super::pass(key, job, Value::Null, now);
    pass.say_nothing();
    pass.events.push(event);
    pass.changes.push(change);
    Some(Box::new(pass))
}

/// What has not been told yet.
fn change(plot: &mut Plot, job: &JobSeen, now: Time) -> Option<Change> {
    if plot.noted.job != job.uid {
        plot.noted = Noted {
            job: Arc::clone(&job.uid),
            ..Noted::default()
        };
    }
    let ended = job.status.as_ref().is_some_and(events::has_ended);
    let newer = newer_memory(job.status.as_ref()).filter(|_| !ended && !plot.noted.newer);
    if let Some(format) = newer {
        plot.noted.newer = true;
        return Some(events::warning(NEWER, unread::words(&Flaw::Newer(format)), now));
    }
    if plot.noted.unknown_pod {
        return None;
    }
    let mut pods = plot.pods.values().map(|held| &held.pod);
    let owned = |pod: &&PodSeen| pod.owner.as_ref() == Some(&job.uid);
    let message = unknown(pods.find(|pod| owned(pod) && pod.task.is_none())?);
    plot.noted.unknown_pod = true;
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
