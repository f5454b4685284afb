//! Safeguards taken out of `step`, one at a time, by wrapping the shipped one: what it is shown, or what it says, is
//! altered as if that safeguard were missing. A simulator that does not notice is not to be trusted.

use trainyard_core::{
    Action, Event, GangSeen, Hold, Job, Memory, Observed, Seen, Step, TaskSeen, Time, step,
};

/// Something in the place of `step`.
pub type Mutant = fn(&Job, Option<&Memory>, &Observed, Time) -> Step;

/// Each with its name, and a property that must be among those that break.
pub const MUTANTS: [(&str, Mutant, &str); 6] = [
    ("no stamp check", no_stamp_check, "T3"),
    ("no barrier between epochs", no_barrier, "T2"),
    ("blind delete of what is newer than memory", blind_delete, "L7"),
    ("no new epoch at suspend", no_epoch_at_suspend, "T3"),
    ("a broken gang without its epoch", gang_without_epoch, "T4"),
    ("restarts without a wait", no_wait, "T15"),
];

/// Everything is created again at once, however often.
fn no_wait(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut hasty = job.clone();
    hasty.limits.wait.most = 0;
    step(&hasty, memory, observed, now)
}

/// Ends of older lives are taken for ends of the current one.
fn no_stamp_check(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut altered = observed.clone();
    if let Some(memory) = memory {
        for seen in &mut altered.tasks {
            let current = memory.stamp(&seen.id);
            if seen.stamp < current && matches!(seen.state, Seen::Ended(_)) {
                seen.stamp = current;
            }
        }
    }
    step(job, memory, &altered, now)
}

/// What is wanted is created while older epochs live: as if they were not there.
fn no_barrier(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut given = step(job, memory, observed, now);
    let epoch = given.memory.epoch;
    let lives = |seen: &TaskSeen| seen.alive() && seen.stamp.epoch < epoch;
    let mut blind = observed.clone();
    blind.tasks.retain(|seen| !lives(seen));
    let hidden: Vec<_> = observed
        .tasks
        .iter()
        .filter(|seen| lives(seen))
        .map(|seen| &seen.id)
        .collect();
    let more = step(job, Some(&given.memory), &blind, now).actions;
    let eager = more
        .into_iter()
        .filter(|action| matches!(action, Action::Create { task, .. } if !hidden.contains(&task)));
    let eager: Vec<Action> = eager.filter(|action| !given.actions.contains(action)).collect();
    given.actions.extend(eager);
    given
}

/// What memory knows nothing of is stopped.
fn blind_delete(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut given = step(job, memory, observed, now);
    let unknown = observed.tasks.iter().filter(|seen| {
        let newer = seen.stamp > given.memory.stamp(&seen.id);
        newer && seen.stopping.is_none() && !matches!(seen.state, Seen::Gone(_))
    });
    let stops = unknown.map(|seen| Action::Stop {
        task: seen.id.clone(),
        instance: seen.instance.clone(),
        force: false,
    });
    let mut stops: Vec<Action> = stops.collect();
    stops.sort();
    given.actions.extend(stops);
    given
}

/// Suspending stops everything and leaves the stamps as they were.
fn no_epoch_at_suspend(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut given = step(job, memory, observed, now);
    let suspends = given.events.contains(&Event::Held(Hold::Suspended));
    if let (true, Some(before)) = (suspends, memory) {
        given.memory.epoch = before.epoch;
        given.memory.roles.clone_from(&before.roles);
    }
    given
}

/// A group that was broken in some epoch counts as broken in this one.
fn gang_without_epoch(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut altered = observed.clone();
    if let (GangSeen::Broken { .. }, Some(memory)) = (observed.gang, memory) {
        altered.gang = GangSeen::Broken { epoch: memory.epoch };
    }
    step(job, memory, &altered, now)
}
