//! What a job waits for whose gang is held by scheduling gates: its turn, room, or members of its own.

use trainyard_core::gates::{MOST_PATIENCE, is_gated, patience};
use trainyard_core::{GangSeen, Job, Memory, Time};
use trainyard_status::rfc3339;

use super::wait::{Reason, Wait};
use super::waiting::{SETTLES, Waiting, cut};
use crate::job::JobSeen;
use crate::store::{Entry, Gating};

/// Adds what such a job waits for.
pub fn waits(entry: &Entry, job: &JobSeen, meant: &Job, now: Time, waiting: &mut Waiting) {
    let Some(gang) = meant.gang.as_ref().filter(|_| is_gated(meant)) else {
        return;
    };
    let tasks = meant.size();
    let mut add = |words: String| waiting.entries.push(Wait::new(Reason::GangQueued, cut(&words)));
    if u64::from(gang.members) > tasks {
        let members = gang.members;
        return add(format!(
            "the gang needs {members} members and the job has {tasks} tasks: lower `schedulingPolicy.minAvailable`"
        ));
    }
    let Gating { told, since, .. } = &entry.gating;
    let memory = job.memory(meant).ok().flatten();
    let Some(words) = turn(job, &entry.gating).filter(|_| *told == GangSeen::Held) else {
        return memory
            .and_then(|memory| backing_off(meant, &memory, now))
            .into_iter()
            .for_each(add);
    };
    if *since + SETTLES > now {
        let settled = Some(*since + SETTLES);
        waiting.settles = waiting.settles.min(settled).or(settled);
        return;
    }
    let rolled_back = memory.and_then(|memory| rolled_back(meant, &memory));
    add(format!(
        "{words} since {}{}",
        rfc3339(*since),
        rolled_back.unwrap_or_default()
    ));
}

/// The gangs that it waits for. Jobs of other namespaces are not named.
fn turn(job: &JobSeen, gating: &Gating) -> Option<String> {
    let (first, count) = gating.ahead.as_ref()?;
    let first = if first.namespace == job.key.namespace {
        format!("{} {}", first.kind.api.kind, first.name)
    } else {
        "a job of another namespace".to_owned()
    };
    let others = match count - 1 {
        0 => String::new(),
        1 => " and one other gang".to_owned(),
        more => format!(" and {more} other gangs"),
    };
    Some(format!("waits for its turn behind {first}{others}"))
}

/// What became of its turns so far.
fn rolled_back(meant: &Job, memory: &Memory) -> Option<String> {
    let at = memory.gates.rolled_back?;
    let times = match memory.gates.times {
        0 => return None,
        1 => String::new(),
        times => format!(" for the {times}. time in a row"),
    };
    let patience = patience(meant);
    let longer = if patience < MOST_PATIENCE {
        ", or give it longer with `schedulingPolicy.scheduleTimeoutSeconds`"
    } else {
        ""
    };
    Some(format!(
        "; it was rolled back{times} at {}, because not enough of its tasks had been placed for {patience} s: add nodes{longer}",
        rfc3339(at)
    ))
}

/// Nothing of it is created for a while after it was rolled back.
fn backing_off(meant: &Job, memory: &Memory, now: Time) -> Option<String> {
    let until = Some(memory.not_before).filter(|until| *until > now)?;
    let why = rolled_back(meant, memory)?;
    Some(format!(
        "waits until {} before its next turn{why}",
        rfc3339(until)
    ))
}
