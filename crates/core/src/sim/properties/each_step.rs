//! L1 to L9: what holds for one call of `step`, on any input, also a nonsensical one.

use super::super::driver::Decide;
use super::super::stops::why_stopped;
use super::Violation;
use crate::job::Job;
use crate::memory::{FORMAT, Memory};
use crate::observed::{Exit, Observed, Seen};
use crate::step::{Action, Event, Step};
use crate::time::Time;

/// One call of `step`: what it was given, and what it gave.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// The job.
    pub job: &'a Job,
    /// The memory handed in.
    pub memory: Option<&'a Memory>,
    /// The observation.
    pub observed: &'a Observed,
    /// The time.
    pub now: Time,
    /// What followed.
    pub step: &'a Step,
}

impl Look<'_> {
    /// The memory handed in, if it was to be believed.
    pub(super) fn believed(&self) -> Option<&Memory> {
        self.memory
            .filter(|memory| memory.job == self.job.uid && memory.format <= FORMAT)
    }
}

/// Checks L2 to L9 on one call; `decide` is called again where a property compares calls.
pub fn check_step(look: &Look, decide: &mut Decide<'_>) -> Vec<Violation> {
    let checks = [
        ("L2", again(look, decide)),
        ("L3", any_order(look, decide)),
        ("L4", verdict_stands(look)),
        ("L5", never_falls(look)),
        ("L6", creates(look)),
        ("L7", stops(look)),
        ("L8", wakes_later(look, decide)),
        ("L9", bounded(look)),
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
fn again(look: &Look, decide: &mut Decide<'_>) -> Result<(), String> {
    let step = look.step;
    let again = decide(look.job, Some(&step.memory), look.observed, look.now);
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
fn any_order(look: &Look, decide: &mut Decide<'_>) -> Result<(), String> {
    let mut other = look.observed.clone();
    other.tasks.reverse();
    other.orders.reverse();
    other.fixtures.reverse();
    let step = decide(look.job, look.memory, &other, look.now);
    ensure(step == *look.step, || {
        format!("{:?}\nin another order: {step:?}", look.step)
    })
}

/// L4: a verdict never changes, and nothing is created after it.
fn verdict_stands(look: &Look) -> Result<(), String> {
    let Some(verdict) = look.believed().and_then(|memory| memory.verdict.as_ref()) else {
        return Ok(());
    };
    let after = look.step.memory.verdict.as_ref();
    ensure(after == Some(verdict), || format!("{verdict:?} became {after:?}"))?;
    let creates = look
        .step
        .actions
        .iter()
        .any(|action| matches!(action, Action::Create { .. }));
    ensure(!creates, || format!("created after {verdict:?}"))
}

/// L5: epoch, paid restarts, the in-place count and, within an epoch, attempts never fall; a restart is paid only
/// within the limit.
fn never_falls(look: &Look) -> Result<(), String> {
    let Some(before) = look.believed() else {
        return Ok(());
    };
    let after = &look.step.memory;
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
    let spent = after.spent(look.job);
    let within = look.job.limits.restarts.is_none_or(|limit| spent <= limit);
    ensure(after.paid <= before.paid || within, || {
        format!("paid for {spent} of {:?}", look.job.limits.restarts)
    })
}

/// L6: only what is wanted is created: with its current stamp, a task the job has, not ended, no hold, no deletion,
/// no instance of it there, and nothing of an older epoch alive.
fn creates(look: &Look) -> Result<(), String> {
    let memory = &look.step.memory;
    for action in &look.step.actions {
        let Action::Create { task, stamp } = action else {
            continue;
        };
        let role = look.job.role(&task.role);
        let there = |seen: &crate::TaskSeen| seen.id == *task && !matches!(seen.state, Seen::Gone(_));
        let old_lives = |seen: &crate::TaskSeen| seen.alive() && seen.stamp.epoch < stamp.epoch;
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
            (!look.observed.deleting, "the job is being deleted"),
            (!look.observed.tasks.iter().any(there), "an instance is there"),
            (!look.observed.tasks.iter().any(old_lives), "an older epoch lives"),
        ];
        for (holds, why) in checks {
            ensure(holds, || format!("created {task} {stamp:?}, but {why}"))?;
        }
    }
    Ok(())
}

/// L7: only what was observed is stopped, once (or by force), and only for a reason: superseded, scaled away, ended
/// yet alive, on hold, cleaned up, or on a lost node.
fn stops(look: &Look) -> Result<(), String> {
    for action in &look.step.actions {
        let Action::Stop {
            task,
            instance,
            force,
        } = action
        else {
            continue;
        };
        let mut named = look
            .observed
            .tasks
            .iter()
            .filter(|seen| seen.instance == *instance && seen.id == *task);
        let reason = |seen: &crate::TaskSeen| {
            let there = !matches!(seen.state, Seen::Gone(_));
            let once = seen.stopping.is_none() || *force;
            there && once && why_stopped(look.job, &look.step.memory, seen, *force).is_some()
        };
        ensure(named.any(reason), || {
            format!("stopped {instance} (force: {force}) for no reason")
        })?;
    }
    Ok(())
}

/// L8: `step` wants to be called later than now, and something differs then.
fn wakes_later(look: &Look, decide: &mut Decide<'_>) -> Result<(), String> {
    let Some(wake) = look.step.wake else { return Ok(()) };
    ensure(wake > look.now, || {
        format!("wake {wake} is not after {}", look.now)
    })?;
    let then = decide(look.job, Some(&look.step.memory), look.observed, wake);
    let unstored = decide(look.job, look.memory, look.observed, wake);
    let differs =
        then.memory != look.step.memory || then.actions != look.step.actions || then.wake != look.step.wake;
    let differs = differs || unstored.persist != look.step.persist;
    ensure(differs, || format!("nothing differs at {wake}"))
}

/// L9: what one call tells and remembers grows with what it was given, and not beyond.
fn bounded(look: &Look) -> Result<(), String> {
    let size = usize::try_from(look.job.size()).unwrap_or(usize::MAX);
    let given = look.observed.tasks.len() + look.observed.orders.len() + look.job.rules.len() + size;
    let events = look.step.events.len();
    ensure(events <= 8 + 4 * given, || {
        format!("{events} events from {given} things")
    })?;
    let bytes = |memory: &Memory| serde_json::to_string(memory).map_or(usize::MAX, |text| text.len());
    let (before, after) = (look.memory.map_or(0, bytes), bytes(&look.step.memory));
    let most = before + MOST_NEW_BYTES + 128 * given;
    ensure(after <= most, || format!("{before} bytes became {after}"))
}

/// What memory may grow by in one call, whatever it is about: a first failure with its message, a verdict.
const MOST_NEW_BYTES: usize = 8 * Exit::MOST_MESSAGE;
