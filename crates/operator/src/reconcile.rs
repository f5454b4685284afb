//! From what is known of a job to what is done about it. Pure: nothing is asked and nothing is sent.

pub mod board;
pub mod events;
mod gang;
mod gates;
pub mod kueue;
mod lost_nodes;
mod other_manager;
mod status_diff;
mod summary;
mod unreadable;
pub mod wait;
pub mod waiting;
pub mod warnings;

use std::sync::Arc;

use serde_json::{Value, json};
use trainyard_core::gates::is_gated;
use trainyard_core::{
    Action, Event, Fixture, FixtureSeen, Observed, Oddity, Persist, Refusal, Step, Storage, Time, step,
};
use trainyard_manifest::gang::{GroupApi, is_unplaced, other_scheduler};
use trainyard_manifest::names::STAMP;
use trainyard_status::{Unread, newer_memory};

use self::board::TENSORBOARD_FIELD;
use self::gang::Grouping;
use self::kueue::Queueing;
use self::status_diff::{QUIET, SAME_WAIT, StatusDiff, diff};
use self::summary::{SUMMARY_FIELD, of_wait};
use self::wait::{Reason, Wait};
use self::waiting::{WAITING_FIELD, waiting};
use crate::apply::{ApplyErrorKind, Writes};
use crate::job::{Compiled, JobKey, JobSeen, Meaning};
use crate::kinds::{Kind, Projection, Stage, Stalled, TakenOver};
use crate::store::extras::OBJECTS_FIELD;
use crate::store::{Entry, Listed, Refused};

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

/// Decides what to do about one job. `storage` is whether the definition of its kind keeps memory.
pub fn reconcile(key: &JobKey, entry: &mut Entry, storage: Storage, now: Time) -> Decision {
    let Some(job) = entry.job.clone() else {
        return Decision::Idle;
    };
    if job.other_manager.is_none() {
        // Should it come back, that is told again.
        entry.warned.of_job(&job.uid).other_manager = false;
    }
    let next = match &*job.meaning {
        Meaning::NotOurs => return Decision::Idle,
        _ if let Some(words) = &job.other_manager => other_manager::leave(key, entry, &job, words, now),
        Meaning::Broken(_) if newer_memory(job.status.as_ref()).is_some() => Decision::Idle,
        Meaning::Broken(words) => refuse(key, &job, words, now),
        Meaning::Waits(wait) => leave_waiting(key, &job, wait, now),
        Meaning::Job(compiled) => reconcile_runnable(key, entry, (&job, compiled), storage, now),
    };
    match next {
        Decision::Apply(writes) => Decision::Apply(writes),
        idle => warnings::next(key, entry, &job, now).map_or(idle, Decision::Apply),
    }
}

/// Decides about a job that can be run.
fn reconcile_runnable(
    key: &JobKey,
    entry: &mut Entry,
    (job, compiled): (&JobSeen, &Compiled),
    storage: Storage,
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
    entry.not_later(now);
    let mut observed = entry.observed(&job.uid, job.deleting);
    let grouping = Grouping::of(entry, (job, compiled), memory.as_ref(), &observed.tasks);
    observed.fixtures.extend(addresses(entry, job, compiled));
    entry.extras.look_at_policies(&job.uid);
    let listed = listed_extras(entry, job, compiled);
    let extras = entry.extras.seen(&listed, &compiled.subject.objects);
    observed.fixtures.extend(extras);
    observed.refused = (entry.retry_at > now).then_some(Refusal {
        until: entry.retry_at,
    });
    observed.storage = storage;
    let queueing = Queueing::of(entry, (job, compiled), memory.as_ref(), &observed);
    queueing.observe(&mut observed, now);
    let meant = queueing.job(compiled.job());
    grouping.observe(entry, (job, compiled), &mut observed);
    let is_stored = memory.is_some();
    let taken_over = |take: TakenOver| take(job.status.as_ref(), compiled.job(), &observed);
    let memory = memory.or_else(|| key.kind.taken_over.and_then(taken_over));
    let mut step = step(&meant, memory.as_ref(), &observed, now);
    let wants = step.put_off > 0 || step.actions.iter().any(Action::makes);
    if wants && compiled.shrunk {
        return Decision::Reread;
    }
    entry.creates_deferred = step.put_off > 0;
    let status = if may_write {
        project_status(
            entry,
            (job, compiled, &queueing),
            (&mut step, wants),
            &observed,
            now,
        )
    } else {
        job.status.clone().unwrap_or_default()
    };
    let is_first = job.status.is_none() && observed.tasks.is_empty() && entry.failures == 0;
    let may_be_late = matches!(step.persist, Persist::By(_));
    if !is_stored && matches!(step.persist, Persist::Nothing | Persist::WithNext) {
        // `step` was handed a memory that another operator's status implies: it is not stored yet.
        step.persist = Persist::Before;
    }
    let mut next = plan_writes(key, job, entry, step, status, now);
    if let Decision::Apply(writes) = &mut next {
        fill_in(writes, entry, (job, compiled), grouping);
        writes.placement = queueing.placement();
        writes.first = is_first;
        if may_be_late && writes.starts() {
            // Of many jobs that come at once all get their pods before the API server is busy with statuses (ADR 6).
            writes.keep_actions_only();
        }
    }
    next
}

/// What the writes need to know of the objects beside the pods, and the warning that a new job gets.
fn fill_in(
    writes: &mut Writes,
    entry: &mut Entry,
    (job, compiled): (&JobSeen, &Compiled),
    grouping: Grouping,
) {
    writes.missing = entry.addresses.missing(&compiled.needed, &job.uid);
    writes.extras.clone_from(&entry.extras.known);
    writes.listed_extras = listed_extras(entry, job, compiled);
    writes.groups = grouping.writes(entry, job, &writes.actions);
    let notes = [
        other_scheduler(&compiled.subject).map(|_| events::other_scheduler(writes.now)),
        is_unplaced(compiled.job()).then(|| events::no_gang(writes.now)),
    ];
    let notes = notes.iter().flatten().filter(|_| job.status.is_none());
    writes
        .events
        .extend(notes.filter_map(|note| events::event(job, note)));
}

/// What `step` sees of the objects by which tasks find each other. Which ones an ended job needed is not known any more.
fn addresses(entry: &Entry, job: &JobSeen, compiled: &Compiled) -> Option<(Fixture, FixtureSeen)> {
    let exist = !entry.addresses.services_of(&job.uid).is_empty();
    let complete = entry.addresses.missing(&compiled.needed, &job.uid).is_empty();
    let right = complete && (exist || !compiled.shrunk);
    // A job without tasks may need no Service: then there is nothing to create, and nothing of ours to remove.
    let seen = if exist {
        Some(FixtureSeen::Ours { right })
    } else {
        right.then_some(FixtureSeen::Foreign)
    };
    seen.map(|seen| (Fixture::Addresses, seen))
}

/// Extra objects that may exist though they are not known: an operator that started before created them.
fn listed_extras(entry: &Entry, job: &JobSeen, compiled: &Compiled) -> Vec<Listed> {
    let has_tasks = entry.has_pods_of(&job.uid);
    entry
        .extras
        .listed(job.status.as_ref(), has_tasks, &compiled.subject.objects)
}

/// What a job's status says after a step, and when the words change by themselves. `wants` if something is to be made for it,
/// now or later.
fn project_status(
    entry: &Entry,
    (job, compiled, queueing): (&JobSeen, &Compiled, &Queueing),
    (step, wants): (&mut Step, bool),
    observed: &Observed,
    now: Time,
) -> Value {
    let kind = job.key.kind;
    let mut status = (kind.status)(&Projection {
        previous: job.status.as_ref(),
        job: &queueing.job(compiled.job()),
        step,
        observed,
        pods: &entry.pods,
        now,
    });
    let mut waiting = waiting(entry, job, wants, now);
    if step.memory.verdict.is_some() || step.memory.held.is_some() {
        // Nothing is waited for but that what is to stop does.
        waiting.entries.retain(|wait| wait.reason == Reason::NodeLost);
    } else {
        waiting.entries.extend(unknown_lives(&step.events));
    }
    queueing.waits(entry, (job, compiled), now, &mut waiting);
    waiting.entries = waiting.entries.into_iter().map(Wait::with_help).collect();
    if !waiting.entries.is_empty() {
        status[WAITING_FIELD] = json!(waiting.entries);
    }
    let wanted = if wants { &*compiled.subject.objects } else { &[] };
    let listed = listed_extras(entry, job, compiled);
    if let Some(objects) = entry.extras.written(&listed, wanted) {
        status[OBJECTS_FIELD] = objects;
    }
    if let Some(board) = board::status(entry, job, compiled, now) {
        status[TENSORBOARD_FIELD] = board;
    }
    step.wake = earlier(step.wake, waiting.settles);
    if is_gated(compiled.job()) && step.memory.verdict.is_none() {
        step.wake = earlier(step.wake, entry.gating.wake);
    }
    if let Some(error) = entry
        .last_error
        .as_ref()
        .filter(|it| it.kind == ApplyErrorKind::Pruned)
    {
        let condition = Stalled {
            reason: kind.definition_too_old,
            message: &error.message,
        };
        condition.write(&mut status, job.status.as_ref(), now);
    }
    let first = waiting.entries.first();
    summary::write(&mut status, compiled.job(), &step.memory, observed, first);
    status
}

/// Tasks whose pods carry a later life than any that was decided: they are left alone, and a user must say what is right.
fn unknown_lives(events: &[Event]) -> Option<Wait> {
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
    Some(Wait {
        pods: Some(tasks.len()),
        ..Wait::new(Reason::UnknownLife, message)
    })
}

/// What has to be sent to the API server after a step, and when.
fn plan_writes(
    key: &JobKey,
    job: &JobSeen,
    entry: &mut Entry,
    step: Step,
    status: Value,
    now: Time,
) -> Decision {
    let changed = !job.deleting && job.status.as_ref() != Some(&status);
    // An order by annotation is answered by memory, not by a request.
    let is_request = |action: &Action| !matches!(action, Action::Answered(id) if !entry.gives_order(id));
    let acts = step.actions.iter().any(is_request);
    if !acts {
        let due = changed.then(|| write_by(key, job, entry, step.persist, &status, now));
        let due = due.flatten();
        if due.is_none_or(|due| due > now) {
            return earlier(step.wake, due).map_or(Decision::Idle, Decision::WakeAt);
        }
    }
    entry.counts_since = None;
    let mut writes = status_write(key, job, status, now);
    (writes.resumed, writes.paid) = (step.memory.resumed, step.memory.paid);
    writes.orders = entry.order_objects();
    if step.actions.contains(&Action::Remove(Fixture::Addresses)) {
        writes.services = entry.addresses.services_of(&job.uid);
    }
    writes.actions = step.actions;
    if !changed {
        writes.keep_actions_only();
    }
    Decision::Apply(Box::new(writes))
}

/// When a changed status is written that comes with no action; none if it waits for the next write.
fn write_by(
    key: &JobKey,
    job: &JobSeen,
    entry: &mut Entry,
    persist: Persist,
    status: &Value,
    now: Time,
) -> Option<Time> {
    let shown = match diff(key.kind, job.status.as_ref(), status) {
        StatusDiff::Same => None,
        StatusDiff::Wording => Some(entry.status_written + SAME_WAIT),
        StatusDiff::Counts => Some(*entry.counts_since.get_or_insert(now) + QUIET),
        StatusDiff::Substance => Some(now),
    };
    let stored = match persist {
        Persist::Nothing | Persist::WithNext => None,
        Persist::By(time) => Some(time),
        Persist::Before => Some(now),
    };
    earlier(shown, stored)
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
    let invalid = (key.kind.invalid)(before, words, now).map(|mut status| {
        status[SUMMARY_FIELD] = summary::of_invalid(words).into();
        status
    });
    let status = invalid.or_else(|| unreadable_spec(key.kind, before?, words));
    match status.filter(|_| !job.deleting) {
        Some(status) => Decision::Apply(Box::new(status_write(key, job, status, now))),
        None => Decision::Idle,
    }
}

/// A job about which nothing is done says why, and nothing else of its status changes.
fn leave_waiting(key: &JobKey, job: &JobSeen, wait: &Wait, now: Time) -> Decision {
    let before = job.status.clone().unwrap_or_else(|| (key.kind.waiting)(now));
    let newer = newer_memory(Some(&before)).is_some();
    let over = job.deleting || newer || key.kind.has_ended(Some(&before));
    match waits_for(&before, wait).filter(|_| !over) {
        Some(status) => Decision::Apply(Box::new(status_write(key, job, status, now))),
        None => Decision::Idle,
    }
}

/// A job of another kind has the names that the objects of this one would have: nothing is done about it but to say so.
#[must_use]
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
    leave_waiting(key, job, &Wait::new(Reason::NameTaken, message), now)
}

/// The cluster has no API for the groups of a job: nothing is done about it but to say so.
#[must_use]
pub fn gang_unknown(key: &JobKey, entry: &Entry, api: &GroupApi, now: Time) -> Decision {
    let Some(job) = &entry.job else {
        return Decision::Idle;
    };
    let message = format!(
        "the operator cannot list {} ({}), by which the job's gang scheduler places its tasks: {}; or let `trainyard install` give the operator the rights; or let \
         the job choose another scheduler with the annotation `trainyard.dev/gang`",
        api.resource(),
        api.version,
        api.help
    );
    let wait = Wait::new(Reason::GangSchedulerNotInstalled, message);
    leave_waiting(key, job, &wait, now)
}

/// The status of a job that has run, and whose spec cannot be read by an operator that does not know the spec before it. None if it
/// says so already, or has ended.
fn unreadable_spec(kind: &Kind, status: &Value, words: &str) -> Option<Value> {
    let message =
        format!("the spec cannot be read, and nothing is done about the job until it can be: {words}");
    let wait = Wait::new(Reason::Other(kind.invalid_edit.into()), message);
    (!kind.has_ended(Some(status))).then(|| waits_for(status, &wait))?
}

/// The same status, but for the one thing that is waited for; none if it says so already.
fn waits_for(status: &Value, wait: &Wait) -> Option<Value> {
    let said = json!([wait]);
    let mut fields = status.as_object()?.clone();
    fields.insert(SUMMARY_FIELD.into(), of_wait(wait).into());
    let before = fields.insert(WAITING_FIELD.into(), said.clone());
    (before != Some(said)).then(|| fields.into())
}

/// An apply about an object beside the pods of a job about which nothing else is to be done before `wake`; not before a refused request
/// may be sent again.
fn write_beside(
    key: &JobKey,
    job: &JobSeen,
    (wake, refused): (Option<Time>, Option<&Refused>),
    now: Time,
    fill_in: impl FnOnce(&mut Writes),
) -> Decision {
    let until = refused.map(|refused| refused.until).filter(|until| *until > now);
    if until.is_some() {
        return earlier(wake, until).map_or(Decision::Idle, Decision::WakeAt);
    }
    let mut writes = Writes {
        version: job.version,
        meaning: Arc::clone(&job.meaning),
        created: job.created,
        ..Writes::empty(key, Arc::clone(&job.uid), now)
    };
    fill_in(&mut writes);
    Decision::Apply(Box::new(writes))
}

/// An apply that writes a status, tells what has changed in it, and does nothing else.
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
