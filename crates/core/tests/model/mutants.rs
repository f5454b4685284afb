//! `step` with one safeguard taken out, each by wrapping the shipped one. A model that does not catch these proves
//! nothing.

use trainyard_core::{
    Action, Clean, FixtureSeen, Job, Memory, Observed, Persist, Seen, Step, Storage, Time, step,
};

/// Charges a restart and leaves the stamp where it was: the same life is current still.
pub fn without_stamps(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut step = step(job, memory, observed, now);
    for role in step.memory.roles.values_mut() {
        role.attempts.clear();
    }
    step
}

/// Suspends without opening an epoch: what the suspension kills is judged.
pub fn suspending_in_the_same_epoch(
    job: &Job,
    memory: Option<&Memory>,
    observed: &Observed,
    now: Time,
) -> Step {
    let mut step = step(job, memory, observed, now);
    if let Some(before) = memory
        && before.held.is_none()
        && step.memory.held.is_some()
    {
        step.memory.epoch = before.epoch;
    }
    step
}

/// Creates tasks of the new epoch beside what lives of the old one.
pub fn without_barrier(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut step = step(job, memory, observed, now);
    let mut young = observed.clone();
    young
        .tasks
        .retain(|seen| !seen.alive() || seen.stamp.epoch == step.memory.epoch);
    let unseen = |action: &Action| match action {
        Action::Create { task, .. } => !observed.tasks.iter().any(|seen| seen.id == *task),
        _ => false,
    };
    let wanted = trainyard_core::step(job, Some(&step.memory), &young, now).actions;
    for action in wanted.into_iter().filter(unseen) {
        if !step.actions.contains(&action) {
            step.actions.push(action);
        }
    }
    step
}

/// Takes the exit of a task that was told to stop for its own.
pub fn believing_every_exit(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut naive = observed.clone();
    for seen in &mut naive.tasks {
        if let Seen::Ended(exit) | Seen::Gone(Some(exit)) = &mut seen.state {
            exit.asked = false;
        }
    }
    step(job, memory, &naive, now)
}

/// Is not told what has gone (W4): a success that was collected before the operator observed it is lost.
pub fn without_tombstones(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut deaf = observed.clone();
    deaf.tasks.retain(|seen| !matches!(seen.state, Seen::Gone(_)));
    step(job, memory, &deaf, now)
}

/// Believes only what it sees: who has succeeded and is gone is started again.
pub fn forgetting_success(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut decided = step(job, memory, observed, now);
    let mut forgetful = decided.memory.clone();
    for role in forgetful.roles.values_mut() {
        role.done.clear();
        role.born = 0;
    }
    decided.actions = step(job, Some(&forgetful), observed, now).actions;
    decided
}

/// Judges anew each time.
pub fn without_a_last_word(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut open = memory.cloned();
    if let Some(memory) = &mut open {
        memory.verdict = None;
    }
    step(job, open.as_ref(), observed, now)
}

/// Stops nothing.
pub fn without_stops(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut step = step(job, memory, observed, now);
    step.actions
        .retain(|action| !matches!(action, Action::Stop { .. }));
    step
}

/// Gives a new instance the stamp of the life after it.
pub fn ahead_of_memory(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut step = step(job, memory, observed, now);
    for action in &mut step.actions {
        if let Action::Create { stamp, .. } = action {
            stamp.attempt += 1;
        }
    }
    step
}

/// Takes an instance that has ended for none at all.
pub fn over_the_dead(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut decided = step(job, memory, observed, now);
    let mut living = observed.clone();
    living.tasks.retain(|seen| !matches!(seen.state, Seen::Ended(_)));
    decided.actions = step(job, Some(&decided.memory), &living, now).actions;
    decided
}

/// Makes no shared objects.
pub fn without_addresses(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut step = step(job, memory, observed, now);
    step.actions.retain(|action| !matches!(action, Action::Ensure(_)));
    step
}

/// Touches nothing once the job has ended and everything is to stay, not even what came after the end.
pub fn leaving_the_late(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut step = step(job, memory, observed, now);
    if step.memory.verdict.is_some() && job.clean == Clean::None {
        step.actions
            .retain(|action| !matches!(action, Action::Stop { .. }));
    }
    step
}

/// Acts first whatever the step is about, and stores in a moment.
fn late(step: Step, is: bool, now: Time) -> Step {
    let persist = match step.persist {
        Persist::Before if is => Persist::By(now + 2),
        persist => persist,
    };
    Step { persist, ..step }
}

/// Stores a paid restart late.
pub fn late_payment(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let step = step(job, memory, observed, now);
    let paid = step.memory.paid > memory.map_or(0, |memory| memory.paid);
    late(step, paid, now)
}

/// Stores new lives late.
pub fn late_attempts(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let step = step(job, memory, observed, now);
    let moved = memory.is_some_and(|before| {
        let attempts = |memory: &Memory| memory.roles.values().map(|role| role.attempts.sum()).sum::<u64>();
        attempts(&step.memory) > attempts(before)
    });
    late(step, moved, now)
}

/// Stores a verdict late.
pub fn late_verdict(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let step = step(job, memory, observed, now);
    let ends = step.memory.verdict.is_some();
    late(step, ends, now)
}

/// Stores a hold late.
pub fn late_hold(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let step = step(job, memory, observed, now);
    let holds = step.memory.held.is_some();
    late(step, holds, now)
}

/// Stores a success late that no instance shows any more.
pub fn late_tombstone(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let step = step(job, memory, observed, now);
    let gone = |seen: &trainyard_core::TaskSeen| matches!(seen.state, Seen::Gone(Some(_)));
    let is = observed.tasks.iter().any(gone) && step.memory.verdict.is_none();
    late(step, is, now)
}

/// Does not care whether memory is kept.
pub fn trusting(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut kept = observed.clone();
    if kept.storage == Storage::Unknown {
        kept.storage = Storage::Keeps;
    }
    step(job, memory, &kept, now)
}

/// Acts though nothing that it decides is remembered.
pub fn reckless(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut kept = observed.clone();
    kept.storage = Storage::Keeps;
    step(job, memory, &kept, now)
}

/// Tries again at once what was refused.
pub fn without_back_off(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut eager = observed.clone();
    eager.refused = None;
    step(job, memory, &eager, now)
}

/// Takes every group for its own.
pub fn taking_groups(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut greedy = observed.clone();
    for (_, seen) in &mut greedy.fixtures {
        *seen = FixtureSeen::Ours { right: true };
    }
    step(job, memory, &greedy, now)
}
