//! A job's TensorBoard: what is done about it when nothing else is to be done about the job, and what the status says of it.

use serde_json::{Value, json};
use trainyard_core::Time;
use trainyard_manifest::tensorboard::BOARD_LABEL;

use super::{Decision, earlier, write_beside};
use crate::board::{BoardObjects, Unmade, WantedBoard};
use crate::job::{Compiled, JobKey, JobSeen, Meaning, stored_memory};
use crate::store::Entry;

/// The field of the status, in the form that T9k documents for its own kind.
pub const TENSORBOARD_FIELD: &str = "tensorboard";

/// What is done about the TensorBoard of a job about which there is nothing else to do: the job never waits for it.
#[must_use]
pub fn next(key: &JobKey, entry: &Entry, idle: Decision, now: Time) -> Decision {
    let Some(job) = &entry.job else {
        return idle;
    };
    let wake = match idle {
        Decision::Idle => None,
        Decision::WakeAt(time) => Some(time),
        Decision::Apply(_) | Decision::Reread => return idle,
    };
    let Meaning::Job(compiled) = &*job.meaning else {
        return idle;
    };
    if job.deleting || job.other_manager.is_some() {
        return idle;
    }
    let wanted = compiled.board.as_deref();
    let Some(write) = entry.board.due(wanted, job, now) else {
        let objects = wanted.and_then(|wanted| wanted.objects.as_ref().ok());
        let expires = objects.and_then(|objects| objects.expires(job));
        let expires = expires.filter(|time| *time > now);
        return earlier(wake, expires).map_or(Decision::Idle, Decision::WakeAt);
    };
    // Last, since it reads the whole memory, and most jobs have no TensorBoard.
    if !is_accepted(job) {
        return idle;
    }
    let refused = entry.board.refused();
    write_beside(key, job, (wake, refused), now, |writes| {
        writes.board = Some(write);
    })
}

/// Whether the operator runs the job, by what is stored: nothing is created for one about which it does nothing.
fn is_accepted(job: &JobSeen) -> bool {
    stored_memory(job.status.as_ref()).is_some_and(|memory| memory.job == job.uid)
}

/// What the status says of a job's TensorBoard; none where the job asks for none.
#[must_use]
pub fn status(entry: &Entry, job: &JobSeen, compiled: &Compiled, now: Time) -> Option<Value> {
    let wanted = compiled.board.as_deref()?;
    Some(match &wanted.objects {
        Ok(objects) if objects.expires(job).is_some_and(|time| time <= now) => expired(wanted, objects),
        Ok(objects) => of_objects(entry, job, (wanted, objects), now),
        Err(Unmade { reason, message, .. }) => {
            json!({ "ready": false, "action": "NOP", "type": "Warning", "reason": reason, "note": message })
        }
    })
}

/// It has been deleted, or is about to be.
fn expired(wanted: &WantedBoard, objects: &BoardObjects) -> Value {
    let seconds = objects.ttl.unwrap_or_default();
    let note = format!(
        "TensorBoard [{}] was deleted {seconds} s after the job's end",
        wanted.name
    );
    json!({ "ready": false, "action": "NOP", "type": "Normal", "reason": "Expired", "note": note })
}

fn of_objects(
    entry: &Entry,
    job: &JobSeen,
    (wanted, objects): (&WantedBoard, &BoardObjects),
    now: Time,
) -> Value {
    let (name, namespace) = (&wanted.name, &job.key.namespace);
    let seen = entry.board.of(job);
    let is_right = seen.is_some_and(|seen| !seen.deleting && seen.content.as_ref() == Some(&objects.content));
    let is_ready = is_right && seen.is_some_and(|seen| seen.is_ready);
    let late = seen.and_then(|seen| seen.trouble.as_deref());
    let pod = entry.board.pod();
    let trouble = pod.and_then(|pod| pod.trouble(objects, late.is_some()));
    let trouble = trouble.or_else(|| late.map(str::to_owned));
    // What was refused and is there by now is no trouble any more.
    let refused = entry.board.refused();
    let refused = refused.filter(|_| entry.board.due(Some(wanted), job, now).is_some());
    let (reason, severity, note) = if let Some(refused) = refused {
        (
            "DependentRefused",
            "Warning",
            format!("is refused: {}", refused.message),
        )
    } else if !is_right {
        ("DependentNotReady", "Normal", "is being created".to_owned())
    } else if objects.is_suspended {
        ("DependentSuspended", "Normal", "is suspended".to_owned())
    } else if is_ready {
        ("DependentReady", "Normal", "is ready".to_owned())
    } else if let Some(trouble) = trouble {
        let help = format!(
            "`kubectl describe pods -n {namespace} -l {BOARD_LABEL}={}` says why",
            job.key.name
        );
        (
            "DependentNotReady",
            "Warning",
            format!("is not ready: {trouble} {help}"),
        )
    } else {
        ("DependentNotReady", "Normal", "is not ready yet".to_owned())
    };
    let mut note = format!("TensorBoard [{name}] {note}");
    if let Some((first, count)) = &objects.left_out {
        let more = if *count > 1 {
            format!(" and {} more", count - 1)
        } else {
            String::new()
        };
        note = format!("{note}; logs that cannot be mounted are left out: {first}{more}");
    }
    let mut status = json!({
        "ready": is_ready, "url": objects.url, "action": "NOP", "type": severity, "reason": reason, "note": note,
    });
    if let Some(seen) = seen {
        status["dependent"] = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "name": name, "namespace": namespace, "uid": seen.uid,
        });
    }
    status
}
