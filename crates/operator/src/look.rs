//! From what is known of a job to what is done about it. Pure: nothing is asked and nothing is sent.

mod events;

use std::sync::Arc;

use serde_json::Value;
use trainyard_core::{Step, Time, step};
use trainyard_dialect::status::{MEMORY_FIELD, tfjob_invalid, tfjob_status};

use crate::job::{JobKey, JobSeen, Meaning};
use crate::pass::Pass;
use crate::yard::Plot;

/// News that is only counts is written at most this often, in seconds.
const QUIET: u32 = 1;

/// What follows from a look.
#[derive(Debug)]
pub enum Next {
    /// Do this.
    Do(Box<Pass>),
    /// Nothing before this.
    Wait(Time),
    /// Nothing until something happens.
    Nothing,
}

/// Looks at one job.
pub fn look(key: &JobKey, plot: &mut Plot, now: Time) -> Next {
    let Some(job) = plot.job.clone() else {
        return Next::Nothing;
    };
    if plot.not_before > now {
        return Next::Wait(plot.not_before);
    }
    match &*job.meaning {
        Meaning::NotOurs => Next::Nothing,
        Meaning::Broken(words) => refuse(key, &job, words, now),
        Meaning::Job(compiled) => {
            let memory = job.memory(compiled.job());
            if let Some(memory) = &memory {
                plot.let_rest(compiled, memory);
            }
            let observed = plot.observed(&job.uid, job.deleting, now);
            let step = step(compiled.job(), memory.as_ref(), &observed, now);
            let status = tfjob_status(job.status.as_ref(), compiled.job(), &step, &observed, now);
            decide(key, &job, plot, step, status, now)
        }
    }
}

/// What a step means for the API server.
fn decide(key: &JobKey, job: &JobSeen, plot: &Plot, step: Step, status: Value, now: Time) -> Next {
    let wait = |wake: Option<Time>| wake.map_or(Next::Nothing, Next::Wait);
    let changed = !job.deleting && job.status.as_ref() != Some(&status);
    if !changed && step.actions.is_empty() {
        return wait(step.wake);
    }
    let may_wait = step.actions.is_empty() && only_counts(job.status.as_ref(), &status);
    let quiet = plot.written + QUIET;
    if may_wait && quiet > now {
        return Next::Wait(step.wake.map_or(quiet, |wake| wake.min(quiet)));
    }
    let mut pass = pass(key, job, status, now);
    pass.resumed = step.memory.resumed;
    pass.actions = step.actions;
    if !changed {
        pass.status = None;
        pass.events.clear();
    }
    Next::Do(Box::new(pass))
}

/// A job that cannot be read says why, once.
fn refuse(key: &JobKey, job: &JobSeen, words: &str, now: Time) -> Next {
    let Some(status) = tfjob_invalid(job.status.as_ref(), words, now).filter(|_| !job.deleting) else {
        return Next::Nothing;
    };
    Next::Do(Box::new(pass(key, job, status, now)))
}

/// A pass that writes a status, tells what has changed in it, and does nothing else.
fn pass(key: &JobKey, job: &JobSeen, status: Value, now: Time) -> Pass {
    Pass {
        key: key.clone(),
        uid: Arc::clone(&job.uid),
        version: job.version,
        meaning: Arc::clone(&job.meaning),
        events: events::of(job, job.status.as_ref(), &status),
        status: Some(status),
        resumed: false,
        actions: Vec::new(),
        now,
    }
}

/// Whether two statuses differ in nothing that anybody waits for: in counts, or in what memory notes for later and would
/// find out again.
fn only_counts(before: Option<&Value>, after: &Value) -> bool {
    let Some(before) = before else { return false };
    bare(before) == bare(after)
}

fn bare(status: &Value) -> Value {
    let mut status = status.clone();
    if let Value::Object(fields) = &mut status {
        fields.shift_remove("replicaStatuses");
        let roles = fields
            .get_mut(MEMORY_FIELD)
            .and_then(|memory| memory.get_mut("roles"));
        let Some(Value::Object(roles)) = roles else {
            return status;
        };
        for role in roles.values_mut().filter_map(Value::as_object_mut) {
            role.shift_remove("born");
        }
        roles.retain(|_, role| role.as_object().is_none_or(|role| !role.is_empty()));
        if roles.is_empty()
            && let Some(Value::Object(memory)) = fields.get_mut(MEMORY_FIELD)
        {
            memory.shift_remove("roles");
        }
    }
    status
}
