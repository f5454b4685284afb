//! L10: what is stored late is what the next step finds out again. Written against the stored form, so that it shares no code
//! with `policy::persist`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::memory::Memory;
use crate::observed::{Seen, Stamp, Storage, TaskSeen};
use crate::sim::observer::StepCall;
use crate::step::{Action, Persist};
use crate::time::Time;

pub fn check(call: &StepCall) -> Result<(), String> {
    let same = call.memory == Some(&call.step.memory);
    let keeps = call.observed.storage == Storage::Keeps;
    let right = match call.step.persist {
        Persist::Nothing => same,
        Persist::Before => !same,
        Persist::WithNext => keeps && !same && only_born(call),
        Persist::By(by) => keeps && !same && by > call.now && !stops(call) && may_wait(call, by),
    };
    if right {
        return Ok(());
    }
    Err(format!(
        "{:?} at {} ({:?})\nfrom {:?}\nto {:?}\nby {:?}",
        call.step.persist, call.now, call.observed.storage, call.memory, call.step.memory, call.step.actions
    ))
}

fn stops(call: &StepCall) -> bool {
    let stop = |action: &Action| matches!(action, Action::Stop { .. });
    call.step.actions.iter().any(stop)
}

fn only_born(call: &StepCall) -> bool {
    let before = call.memory.map(|memory| stored(memory, &["born"]));
    before == Some(stored(&call.step.memory, &["born"]))
}

fn may_wait(call: &StepCall, by: Time) -> bool {
    match call.memory {
        None => shows_first_lives(call, by),
        Some(before) => shows_successes(call, before, by),
    }
}

/// Nothing is known but when the job started and how, and the instances that show it are there, or are about to be.
fn shows_first_lives(call: &StepCall, by: Time) -> bool {
    let known = stored(&call.step.memory, &["born"]);
    let known: Vec<&str> = known
        .iter()
        .filter(|(_, value)| !is_nothing(value))
        .map(|(name, _)| name.as_str())
        .collect();
    let harmless = |name: &&str| ["format", "job", "started", "form", "gang"].contains(name);
    let mut tasks = call.observed.tasks.iter().filter(|seen| is_the_jobs(call, seen));
    let visible = tasks.all(|seen| seen.stamp == Stamp::default() && !matches!(seen.state, Seen::Gone(_)));
    let tasks = call.observed.tasks.iter().filter(|seen| is_the_jobs(call, seen));
    let first = tasks.map(|seen| seen.created.min(call.now)).min();
    let creates = call
        .step
        .actions
        .iter()
        .any(|action| matches!(action, Action::Create { .. }));
    known.iter().all(harmless)
        && visible
        && (first.is_some() || creates)
        && by <= first.unwrap_or(call.now) + 3
}

/// Nothing is new but tasks that are done, and each of them can be seen to have ended not long ago.
fn shows_successes(call: &StepCall, before: &Memory, by: Time) -> bool {
    let after = &call.step.memory;
    if stored(before, &["born", "done"]) != stored(after, &["born", "done"]) {
        return false;
    }
    call.job.tasks().all(|task| {
        let ended = |seen: &TaskSeen| {
            let current = seen.id == task && seen.stamp == after.stamp(&task);
            matches!(&seen.state, Seen::Ended(exit) if current && by <= exit.at.min(call.now) + 2)
        };
        match (before.is_done(&task), after.is_done(&task)) {
            (false, true) => call.observed.tasks.iter().any(ended),
            (was, is) => was == is,
        }
    })
}

fn is_the_jobs(call: &StepCall, seen: &TaskSeen) -> bool {
    let role = call.job.role(&seen.id.role);
    role.is_some_and(|(_, role)| seen.id.index < role.replicas)
}

/// A memory as it is stored, without these fields of its roles.
fn stored(memory: &Memory, without: &[&str]) -> Map<String, Value> {
    let mut roles: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    let Ok(Value::Object(mut fields)) = serde_json::to_value(memory) else {
        return Map::new();
    };
    if let Some(Value::Object(all)) = fields.remove("roles") {
        for (name, role) in all {
            let Value::Object(mut role) = role else { continue };
            role.retain(|field, _| !without.contains(&field.as_str()));
            if !role.is_empty() {
                roles.insert(name, role);
            }
        }
    }
    let roles = roles.into_iter().map(|(name, role)| (name, Value::Object(role)));
    fields.insert("roles".into(), Value::Object(roles.collect()));
    fields
}

fn is_nothing(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty)
}
