//! Safeguards taken out of `step`, one at a time, by wrapping the shipped one: what it is shown, or what it says, is
//! altered as if that safeguard were missing. A simulator that does not notice is not to be trusted.

use crate::{
    Action, Event, FixtureSeen, GangSeen, Hold, Job, Memory, Observed, Persist, Seen, Step, Storage, TaskId,
    TaskSeen, Time, step,
};

/// Something in the place of `step`.
pub type Mutant = fn(&Job, Option<&Memory>, &Observed, Time) -> Step;

/// Each with its name, and a property that must be among those that break.
pub const MUTANTS: [(&str, Mutant, &str); 20] = [
    ("no stamp check", no_stamp_check, "T3"),
    ("no barrier between epochs", no_barrier, "T2"),
    ("blind delete of what is newer than memory", blind_delete, "L7"),
    ("no new epoch at suspend", no_epoch_at_suspend, "T3"),
    ("a broken gang without its epoch", gang_without_epoch, "T4"),
    ("restarts without a wait", no_wait, "T15"),
    ("no barrier within roles", no_barrier_within_roles, "L6"),
    ("paid restarts stored late", late_payment, "L10"),
    ("paid restarts stored late", late_payment, "T3"),
    ("attempts stored late", late_attempts, "L10"),
    ("attempts stored late", late_attempts, "I1"),
    ("a verdict stored late", late_verdict, "L10"),
    ("a verdict stored late", late_verdict, "T3"),
    ("a hold stored late", late_hold, "L10"),
    ("a hold stored late", late_hold, "T3"),
    (
        "the success of a gone instance stored late",
        late_tombstone,
        "L10",
    ),
    ("stored late though memory may be dropped", late_unknown, "L10"),
    ("creates what is refused", create_while_refused, "L11"),
    ("removes a group of others", remove_foreign, "T10"),
    ("acts while memory is dropped", act_while_dropped, "L11"),
];

/// Stores it two seconds late where `differs` says so of the memory before and the one after.
fn late(step: Step, before: Option<&Memory>, now: Time, differs: fn(&Memory, &Memory) -> bool) -> Step {
    let late = before.is_some_and(|before| differs(before, &step.memory));
    let persist = match step.persist {
        Persist::Before if late => Persist::By(now + 2),
        persist => persist,
    };
    Step { persist, ..step }
}

/// Acts before a paid restart is stored.
fn late_payment(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let paid = |before: &Memory, after: &Memory| after.paid > before.paid;
    late(step(job, memory, observed, now), memory, now, paid)
}

/// Acts before a new life is stored.
fn late_attempts(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let moved = |before: &Memory, after: &Memory| {
        let attempts = |memory: &Memory| memory.roles.values().map(|role| role.attempts.sum()).sum::<u64>();
        after.epoch == before.epoch && attempts(after) > attempts(before)
    };
    late(step(job, memory, observed, now), memory, now, moved)
}

/// Cleans up before the verdict is stored.
fn late_verdict(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let ended = |before: &Memory, after: &Memory| before.verdict.is_none() && after.verdict.is_some();
    late(step(job, memory, observed, now), memory, now, ended)
}

/// Stops everything before the hold is stored.
fn late_hold(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let held = |before: &Memory, after: &Memory| before.held.is_none() && after.held.is_some();
    late(step(job, memory, observed, now), memory, now, held)
}

/// Leaves a success for later that only the memory of the operator still shows.
fn late_tombstone(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut visible = observed.clone();
    for seen in &mut visible.tasks {
        if let Seen::Gone(Some(exit)) = &seen.state {
            seen.state = Seen::Ended(exit.clone());
        }
    }
    let given = step(job, memory, observed, now);
    let persist = step(job, memory, &visible, now).persist;
    match (given.persist, persist) {
        (Persist::Before, Persist::By(_)) => Step { persist, ..given },
        _ => given,
    }
}

/// Does not care whether memory is kept.
fn late_unknown(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut trusting = observed.clone();
    if observed.storage == Storage::Unknown {
        trusting.storage = Storage::Keeps;
    }
    step(job, memory, &trusting, now)
}

/// Tries again at once what was refused.
fn create_while_refused(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut eager = observed.clone();
    eager.refused = None;
    step(job, memory, &eager, now)
}

/// Takes every group for the job's own.
fn remove_foreign(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut greedy = observed.clone();
    for (_, seen) in &mut greedy.fixtures {
        *seen = FixtureSeen::Ours { right: true };
    }
    step(job, memory, &greedy, now)
}

/// Goes on though nothing that it decides is remembered.
fn act_while_dropped(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut reckless = observed.clone();
    reckless.storage = Storage::Keeps;
    step(job, memory, &reckless, now)
}

/// Tasks of roles that restart together are created one by one, whatever still lives of the others.
fn no_barrier_within_roles(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut given = step(job, memory, observed, now);
    let after = given.memory.clone();
    let stale = |seen: &TaskSeen| seen.alive() && seen.stamp < after.stamp(&seen.id);
    let mut blind = observed.clone();
    blind
        .tasks
        .retain(|seen| !stale(seen) || seen.stamp.epoch < after.epoch);
    let hidden = |task: &TaskId| observed.tasks.iter().any(|seen| seen.id == *task && stale(seen));
    let more = step(job, Some(&after), &blind, now).actions;
    let eager = more
        .into_iter()
        .filter(|action| matches!(action, Action::Create { task, .. } if !hidden(task)));
    let eager: Vec<Action> = eager.filter(|action| !given.actions.contains(action)).collect();
    given.actions.extend(eager);
    given
}

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
