//! From what is known of a job to what is done about it. Pure: nothing is asked and nothing is sent.

pub mod events;
mod gang;
mod lost_nodes;
mod status_diff;
mod unreadable;
pub mod waiting;
pub mod warnings;

use std::sync::Arc;

use serde_json::{Value, json};
use trainyard_core::{
    Action, Event, Fixture, FixtureSeen, Observed, Oddity, Refusal, Step, Storage, Time, step,
};
use trainyard_manifest::gang::other_scheduler;
use trainyard_manifest::names::STAMP;
use trainyard_status::{Unread, newer_memory};

use self::gang::Grouping;
use self::status_diff::{QUIET, SAME_WAIT, StatusDiff, diff};
use self::waiting::{WAITING_FIELD, waiting};
use crate::apply::{ApplyErrorKind, Writes};
use crate::gang_record;
use crate::job::{Compiled, JobKey, JobSeen, Meaning};
use crate::kinds::{Kind, Stage};
use crate::store::{Entry, NeededObject};

/// A job of another kind has its name.
const NAME_TAKEN: &str = "NameTaken";

/// What to do about a job.
#[derive(Debug)]
pub enum Decision {
    /// Apply these writes; the result comes back as a report.
    Apply(Box<Writes>),
    /// Nothing to do before this time.
    WakeAt(Time),
    /// Nothing to do until a watch shows a change.
    Idle,
    /// Read the job again: what is needed of it now was let go when it had ended.
    Reread,
}

/// Looks at one job. `kept` says that the API server is known to keep what we remember of a job.
pub fn reconcile(key: &JobKey, entry: &mut Entry, kept: bool, now: Time) -> Decision {
    let Some(job) = entry.job.clone() else {
        return Decision::Idle;
    };
    if entry.retry_at > now && !entry.was_refused_a_create() {
        return Decision::WakeAt(entry.retry_at);
    }
    let next = match &*job.meaning {
        Meaning::NotOurs => return Decision::Idle,
        Meaning::Broken(_) if newer_memory(job.status.as_ref()).is_some() => Decision::Idle,
        Meaning::Broken(words) => refuse(key, &job, words, now),
        Meaning::Waits { reason, message } => leave_waiting(key, &job, reason, message, now),
        Meaning::Job(compiled) => reconcile_runnable(key, entry, (&job, compiled), kept, now),
    };
    match next {
        Decision::Apply(writes) => Decision::Apply(writes),
        idle => warnings::next(key, entry, &job, now).map_or(idle, Decision::Apply),
    }
}

/// Looks at one job that can be run.
fn reconcile_runnable(
    key: &JobKey,
    entry: &mut Entry,
    (job, compiled): (&JobSeen, &Compiled),
    kept: bool,
    now: Time,
) -> Decision {
    let (memory, may_write) = match job.memory(compiled.job()) {
        Ok(memory) => (memory, true),
        Err(Unread { ended: Some(end), .. }) => (Some(*end), false),
        Err(unread) => return unreadable::leave(key, job, &unread.flaw, now),
    };
    if let Some(memory) = &memory {
        entry.drop_absorbed(compiled, memory);
    }
    let missing = entry.addresses.missing(&compiled.needed, &job.uid);
    let grouping = Grouping::of(entry, compiled, job, memory.as_ref());
    let there = !compiled.shrunk || !entry.addresses.services_of(&job.uid).is_empty();
    let right = missing.is_empty() && there;
    let some = right || !entry.addresses.services_of(&job.uid).is_empty();
    let addresses = some.then_some((Fixture::Addresses, FixtureSeen::Ours { right }));
    entry.not_later(now);
    let mut observed = entry.observed(&job.uid, addresses.into_iter().collect(), job.deleting);
    let refused = entry.retry_at > now;
    observed.refused = refused.then_some(Refusal {
        until: entry.retry_at,
    });
    observed.storage = if kept { Storage::Keeps } else { Storage::Unknown };
    grouping.observe(entry, (job, compiled), &mut observed);
    let memory = memory.or_else(|| (key.kind.taken_over)(job.status.as_ref(), compiled.job(), &observed));
    let mut step = step(compiled.job(), memory.as_ref(), &observed, now);
    let wants = step.put_off > 0 || step.actions.iter().any(Action::makes);
    if wants && compiled.shrunk {
        return Decision::Reread;
    }
    if refused {
        step.wake = earlier(step.wake, Some(entry.retry_at));
    }
    entry.creates_deferred = refused;
    let status = if may_write {
        project_status(entry, (job, compiled), (&mut step, wants), &observed, now)
    } else {
        job.status.clone().unwrap_or_default()
    };
    let first = is_first(job, entry, &observed);
    let mut next = decide(key, job, entry, (step, missing), status, now);
    if let Decision::Apply(writes) = &mut next {
        writes.groups = grouping.writes(entry, job, &writes.actions);
        if job.status.is_none() && other_scheduler(compiled.job()).is_some() {
            let told = events::event(job, &events::other_scheduler(now));
            writes.events.extend(told);
        }
        writes.first = first;
        if first && kept && writes.starts() {
            writes.keep_actions_only();
        }
    }
    next
}

/// What a job's status says after a step, and when the words change by themselves. `wants` if something is to be made for it,
/// now or later.
fn project_status(
    entry: &Entry,
    (job, compiled): (&JobSeen, &Compiled),
    (step, wants): (&mut Step, bool),
    observed: &Observed,
    now: Time,
) -> Value {
    let kind = job.key.kind;
    let mut status = (kind.status)(job.status.as_ref(), compiled.job(), step, observed, now);
    let mut waiting = waiting(entry, job, wants, now);
    if step.memory.verdict.is_some() || step.memory.held.is_some() {
        // Nothing is waited for but that what is to stop does.
        waiting
            .entries
            .retain(|entry| entry["reason"] == lost_nodes::NODE_LOST);
    } else {
        waiting.entries.extend(unknown_lives(&step.events));
    }
    if !waiting.entries.is_empty() {
        status[WAITING_FIELD] = Value::Array(waiting.entries);
    }
    step.wake = earlier(step.wake, waiting.settles);
    if let Some(error) = entry
        .last_error
        .as_ref()
        .filter(|it| it.kind == ApplyErrorKind::Pruned)
    {
        kind.stall(&mut status, job.status.as_ref(), &error.message, now);
    }
    compiled.form.note(&mut status);
    gang_record::note(&mut status, compiled.gang.as_deref());
    status
}

/// Tasks whose pods carry a later life than any that was decided: they are left alone, and a user must say what is right.
fn unknown_lives(events: &[Event]) -> Option<Value> {
    let newer = events.iter().filter_map(|event| match event {
        Event::Odd(Oddity::NewerThanMemory(task)) => Some(task.to_string()),
        _ => None,
    });
    let tasks: Vec<String> = newer.collect();
    let first = tasks.first()?;
    let message = format!(
        "the annotation {STAMP} of {first} names a life that the operator has not begun, so its pod is neither judged nor \
         replaced: delete the pod"
    );
    Some(json!({ "reason": "UnknownLife", "message": message, "pods": tasks.len() }))
}

/// Whether nothing has been done about a job, or said of it, or refused.
///
/// If pods are made for such a job, they come before its first status. Nothing is lost with a crash in between: the memory
/// of a job whose pods all live their first life is what [`step`] finds out from the pods. And of many jobs that come at
/// once all have their pods before the API server is busy with statuses, which cost it more.
fn is_first(job: &JobSeen, entry: &Entry, observed: &Observed) -> bool {
    job.status.is_none() && observed.tasks.is_empty() && entry.failures == 0
}

/// What a step means for the API server.
fn decide(
    key: &JobKey,
    job: &JobSeen,
    entry: &mut Entry,
    (step, missing): (Step, Vec<NeededObject>),
    status: Value,
    now: Time,
) -> Decision {
    let wait = |wake: Option<Time>| wake.map_or(Decision::Idle, Decision::WakeAt);
    let changed = !job.deleting && job.status.as_ref() != Some(&status);
    if !changed && step.actions.is_empty() {
        return wait(step.wake);
    }
    if step.actions.is_empty() {
        let due = match diff(key.kind, job.status.as_ref(), &status) {
            StatusDiff::Bookkeeping => return wait(step.wake),
            StatusDiff::Wording => entry.status_written + SAME_WAIT,
            StatusDiff::Counts => *entry.counts_since.get_or_insert(now) + QUIET,
            StatusDiff::Substance => now,
        };
        if due > now {
            return wait(earlier(step.wake, Some(due)));
        }
    }
    entry.counts_since = None;
    let mut writes = status_write(key, job, status, now);
    writes.resumed = step.memory.resumed;
    if step.actions.contains(&Action::Remove(Fixture::Addresses)) {
        writes.services = entry.addresses.services_of(&job.uid);
    }
    writes.actions = step.actions;
    writes.missing = missing;
    if !changed {
        writes.keep_actions_only();
    }
    Decision::Apply(Box::new(writes))
}

fn earlier(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// A job that cannot be read says why, once.
fn refuse(key: &JobKey, job: &JobSeen, words: &str, now: Time) -> Decision {
    let before = job.status.as_ref();
    let status = (key.kind.invalid)(before, words, now).or_else(|| lost(key.kind, before?, words));
    match status.filter(|_| !job.deleting) {
        Some(status) => Decision::Apply(Box::new(status_write(key, job, status, now))),
        None => Decision::Idle,
    }
}

/// A job about which nothing is done says why, and nothing else of its status changes.
fn leave_waiting(key: &JobKey, job: &JobSeen, reason: &str, message: &str, now: Time) -> Decision {
    let before = job.status.clone().unwrap_or_else(|| json!({}));
    let over = job.deleting || key.kind.has_ended(Some(&before));
    match waits_for(&before, reason, message).filter(|_| !over) {
        Some(status) => Decision::Apply(Box::new(status_write(key, job, status, now))),
        None => Decision::Idle,
    }
}

/// A job of another kind has the names that the objects of this one would have: nothing is done about it but to say so.
pub fn name_taken(key: &JobKey, entry: &Entry, holder: &JobKey, now: Time) -> Decision {
    let Some(job) = &entry.job else {
        return Decision::Idle;
    };
    let (kind, name) = (holder.kind.api.kind, &holder.name);
    let message = format!(
        "the {kind} {name} has the names that the pods and Services of this job would have: give this job another name, or \
         delete the other one (`kubectl delete {}.{} {name} -n {}`)",
        holder.kind.api.plural, holder.kind.api.group, holder.namespace
    );
    leave_waiting(key, job, NAME_TAKEN, &message, now)
}

/// The status of a job that has run, whose spec cannot be read, and of which nobody knows any more what it was: whoever knew
/// has ended. None if it says so already, or has ended.
fn lost(kind: &Kind, status: &Value, words: &str) -> Option<Value> {
    let message =
        format!("the spec cannot be read, and nothing is done about the job until it can be: {words}");
    (!kind.has_ended(Some(status))).then(|| waits_for(status, kind.invalid_edit, &message))?
}

/// The same status, but for the one thing that is waited for; none if it says so already.
fn waits_for(status: &Value, reason: &str, message: &str) -> Option<Value> {
    let said = json!([{ "reason": reason, "message": message }]);
    let mut fields = status.as_object()?.clone();
    let before = fields.insert(WAITING_FIELD.into(), said.clone());
    (before != Some(said)).then(|| fields.into())
}

/// A pass that writes a status, tells what has changed in it, and does nothing else.
fn status_write(key: &JobKey, job: &JobSeen, status: Value, now: Time) -> Writes {
    let changes = events::changes(key.kind, job.status.as_ref(), &status, now);
    Writes {
        version: job.version,
        meaning: Arc::clone(&job.meaning),
        created: job.created,
        fresh: (key.kind.stage)(job.status.as_ref()) == Stage::New,
        events: changes
            .iter()
            .filter_map(|change| events::event(job, change))
            .collect(),
        changes,
        status: Some(status),
        ..Writes::empty(key, Arc::clone(&job.uid), now)
    }
}
