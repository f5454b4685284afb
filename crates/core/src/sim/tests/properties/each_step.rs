//! L1 to L9 and L11: what holds for one call of `step`, on any input, also a nonsensical one.

use super::{Violation, late};
use crate::job::{Job, RoleName, TaskId};
use crate::memory::{FORMAT, Memory};
use crate::observed::{Exit, FixtureSeen, Seen, Storage};
use crate::rule::{Rule, Scope, Then};
use crate::sim::driver::Decide;
use crate::sim::observer::StepCall;
use crate::sim::stops::why_stopped;
use crate::step::{Action, Event};

impl StepCall<'_> {
    /// The memory handed in, if it was to be believed.
    pub(super) fn believed(&self) -> Option<&Memory> {
        self.memory
            .filter(|memory| memory.job == self.job.uid && memory.format <= FORMAT)
    }
}

/// Checks L2 to L11 on one call; `decide` is called again where a property compares calls.
pub fn check_step(call: &StepCall, decide: &mut Decide<'_>) -> Vec<Violation> {
    let checks = [
        ("L2", again(call, decide)),
        ("L3", any_order(call, decide)),
        ("L4", verdict_stands(call)),
        ("L5", never_falls(call)),
        ("L6", creates(call)),
        ("L7", stops(call)),
        ("L8", wakes_later(call, decide)),
        ("L9", bounded(call)),
        ("L10", late::check(call)),
        ("L11", hindered(call)),
    ];
    let failed = checks
        .into_iter()
        .filter_map(|(property, result)| result.err().map(|what| (property, what)));
    failed
        .map(|(property, what)| Violation {
            property,
            at: 0,
            what,
        })
        .collect()
}

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

/// L2: stepping again on the memory that `step` gave changes nothing, asks for the same, and tells nothing but
/// oddities.
fn again(call: &StepCall, decide: &mut Decide<'_>) -> Result<(), String> {
    let step = call.step;
    let again = decide(call.job, Some(&step.memory), call.observed, call.now);
    ensure(again.memory == step.memory, || {
        format!("memory: {:?}\nthen: {:?}", step.memory, again.memory)
    })?;
    ensure(again.actions == step.actions, || {
        format!("actions: {:?}\nthen: {:?}", step.actions, again.actions)
    })?;
    ensure(
        again.events.iter().all(|event| matches!(event, Event::Odd(_))),
        || format!("told again: {:?}", again.events),
    )
}

/// L3: the order in which instances and orders are observed is irrelevant.
fn any_order(call: &StepCall, decide: &mut Decide<'_>) -> Result<(), String> {
    let mut other = call.observed.clone();
    other.tasks.reverse();
    other.orders.reverse();
    other.fixtures.reverse();
    let step = decide(call.job, call.memory, &other, call.now);
    ensure(step == *call.step, || {
        format!("{:?}\nin another order: {step:?}", call.step)
    })
}

/// L4: a verdict never changes, and nothing is created after it.
fn verdict_stands(call: &StepCall) -> Result<(), String> {
    let Some(verdict) = call.believed().and_then(|memory| memory.verdict.as_ref()) else {
        return Ok(());
    };
    let after = call.step.memory.verdict.as_ref();
    ensure(after == Some(verdict), || format!("{verdict:?} became {after:?}"))?;
    let creates = call
        .step
        .actions
        .iter()
        .any(|action| matches!(action, Action::Create { .. }));
    ensure(!creates, || format!("created after {verdict:?}"))
}

/// L5: epoch, paid restarts, the in-place count and, within an epoch, attempts never fall; a restart is paid only
/// within the limit.
fn never_falls(call: &StepCall) -> Result<(), String> {
    let Some(before) = call.believed() else {
        return Ok(());
    };
    let after = &call.step.memory;
    let fell =
        after.epoch < before.epoch || after.paid < before.paid || after.in_place_most < before.in_place_most;
    ensure(!fell, || format!("{before:?} became {after:?}"))?;
    if after.epoch == before.epoch {
        for (name, role) in &before.roles {
            // A forged memory may name four billion tasks.
            for (index, attempt) in role.attempts.iter().take(1000) {
                let now = after.roles.get(name).map_or(0, |role| role.attempts.get(index));
                ensure(now >= attempt, || {
                    format!("{name}-{index}: attempt {attempt} became {now}")
                })?;
            }
        }
    }
    let spent = after.spent(call.job);
    let within = call.job.limits.restarts.is_none_or(|limit| spent <= limit);
    ensure(after.paid <= before.paid || within, || {
        format!("paid for {spent} of {:?}", call.job.limits.restarts)
    })
}

/// L6: only what is wanted is created: with its current stamp, a task the job has, not ended, no hold, no deletion,
/// no instance of it there, and nothing of an older epoch alive.
fn creates(call: &StepCall) -> Result<(), String> {
    let memory = &call.step.memory;
    for action in &call.step.actions {
        let Action::Create { task, stamp } = action else {
            continue;
        };
        let role = call.job.role(&task.role);
        let there = |seen: &crate::TaskSeen| seen.id == *task && !matches!(seen.state, Seen::Gone(_));
        let old_lives = |seen: &crate::TaskSeen| {
            let old = seen.stamp < memory.stamp(&seen.id) && restarts_with(call.job, &task.role, &seen.id);
            seen.alive() && (seen.stamp.epoch < stamp.epoch || old)
        };
        let checks = [
            (*stamp == memory.stamp(task), "its stamp is not current"),
            (
                role.is_some_and(|(_, role)| task.index < role.replicas),
                "the job has no such task",
            ),
            (
                !memory.is_done(task) && !memory.is_failed(task),
                "it has ended for good",
            ),
            (memory.held.is_none(), "nothing may run"),
            (memory.verdict.is_none(), "the job has ended"),
            (!call.observed.deleting, "the job is being deleted"),
            (!call.observed.tasks.iter().any(there), "an instance is there"),
            (!call.observed.tasks.iter().any(old_lives), "an older life lives"),
        ];
        for (holds, why) in checks {
            ensure(holds, || format!("created {task} {stamp:?}, but {why}"))?;
        }
    }
    Ok(())
}

/// Whether some rule restarts a role together with the one of that task, which the job has.
fn restarts_with(job: &Job, one: &RoleName, other: &TaskId) -> bool {
    let together = |rule: &Rule| match &rule.then {
        Then::Restart {
            scope: Scope::Roles(roles),
            ..
        } => roles.contains(one) && roles.contains(&other.role),
        _ => false,
    };
    let known = job
        .role(&other.role)
        .is_some_and(|(_, role)| other.index < role.replicas);
    known && job.rules.iter().any(together)
}

/// L11: nothing is made while that was refused, nothing is done while memory is dropped, and fixtures of others are left alone.
fn hindered(call: &StepCall) -> Result<(), String> {
    let observed = call.observed;
    let actions = &call.step.actions;
    let refused = observed.refused.is_some_and(|refused| refused.until > call.now);
    ensure(!refused || !actions.iter().any(Action::makes), || {
        format!("{:?}, yet {actions:?}", observed.refused)
    })?;
    ensure(observed.storage != Storage::Drops || actions.is_empty(), || {
        format!("memory is dropped, yet {actions:?}")
    })?;
    for (fixture, seen) in &observed.fixtures {
        let touched = [Action::Ensure(*fixture), Action::Remove(*fixture)];
        let foreign = *seen == FixtureSeen::Foreign;
        ensure(
            !foreign || !actions.iter().any(|action| touched.contains(action)),
            || format!("{fixture:?} was made by others, yet {actions:?}"),
        )?;
    }
    Ok(())
}

/// L7: only what was observed is stopped, once (or by force), and only for a reason: superseded, scaled away, ended
/// yet alive, on hold, cleaned up, or on a lost node.
fn stops(call: &StepCall) -> Result<(), String> {
    for action in &call.step.actions {
        let Action::Stop {
            task,
            instance,
            force,
        } = action
        else {
            continue;
        };
        let mut named = call
            .observed
            .tasks
            .iter()
            .filter(|seen| seen.instance == *instance && seen.id == *task);
        let reason = |seen: &crate::TaskSeen| {
            let there = !matches!(seen.state, Seen::Gone(_));
            let once = seen.stopping.is_none() || *force;
            there && once && why_stopped(call.job, &call.step.memory, seen, *force).is_some()
        };
        ensure(named.any(reason), || {
            format!("stopped {instance} (force: {force}) for no reason")
        })?;
    }
    Ok(())
}

/// L8: `step` wants to be called later than now, and something differs then.
fn wakes_later(call: &StepCall, decide: &mut Decide<'_>) -> Result<(), String> {
    let Some(wake) = call.step.wake else { return Ok(()) };
    ensure(wake > call.now, || {
        format!("wake {wake} is not after {}", call.now)
    })?;
    let then = decide(call.job, Some(&call.step.memory), call.observed, wake);
    let unstored = decide(call.job, call.memory, call.observed, wake);
    let differs =
        then.memory != call.step.memory || then.actions != call.step.actions || then.wake != call.step.wake;
    let differs = differs || unstored.persist != call.step.persist;
    ensure(differs, || format!("nothing differs at {wake}"))
}

/// L9: what one call tells and remembers grows with what it was given, and not beyond.
fn bounded(call: &StepCall) -> Result<(), String> {
    let size = usize::try_from(call.job.size()).unwrap_or(usize::MAX);
    let given = call.observed.tasks.len() + call.observed.orders.len() + call.job.rules.len() + size;
    let events = call.step.events.len();
    ensure(events <= 8 + 4 * given, || {
        format!("{events} events from {given} things")
    })?;
    let bytes = |memory: &Memory| serde_json::to_string(memory).map_or(usize::MAX, |text| text.len());
    let (before, after) = (call.memory.map_or(0, bytes), bytes(&call.step.memory));
    let most = before + MOST_NEW_BYTES + 128 * given;
    ensure(after <= most, || format!("{before} bytes became {after}"))
}

/// What memory may grow by in one call, whatever it is about: a first failure with its message, a verdict.
const MOST_NEW_BYTES: usize = 8 * Exit::MOST_MESSAGE;
