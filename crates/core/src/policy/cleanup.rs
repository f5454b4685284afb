//! What is stopped: old lives, tasks that were scaled away, everything on hold, and what the clean-up policy says at the end.

use super::{StepContext, backoff};
use crate::job::Clean;
use crate::memory::{Cause, Hold, Verdict};
use crate::observed::{Seen, TaskSeen};
use crate::time::Time;

/// Stops every instance that should not exist, or asks to be called when one should not any more.
pub fn stops(ctx: &mut StepContext) {
    let inside: Vec<_> = ctx.view.inside().map(|seen| (seen, true)).collect();
    let outside: Vec<_> = ctx.view.outside().map(|seen| (seen, false)).collect();
    for (seen, inside) in inside.into_iter().chain(outside) {
        if matches!(seen.state, Seen::Gone(_)) || is_left_alone(ctx, seen) {
            continue;
        }
        let stays = !inside && ctx.memory.verdict.is_some() && !goes_at_the_end(ctx, seen);
        let due = if inside { goes(ctx, seen) } else { Some(ctx.now) };
        if let Some(due) = due.filter(|_| !stays) {
            stop_when_due(ctx, seen, due);
        }
    }
}

/// Newer than memory: then memory may be stale, and the instance the right one. Not so once the job has ended or is held, which
/// no later memory takes back without a new epoch.
fn is_left_alone(ctx: &StepContext, seen: &TaskSeen) -> bool {
    ctx.is_active() && ctx.is_newer(seen)
}

/// Stops it once; by force, if it should have stopped long ago and its node does not answer.
fn stop_when_due(ctx: &mut StepContext, seen: &TaskSeen, due: Time) {
    match (seen.stopping, ctx.job.limits.lost_node) {
        (None, _) if due <= ctx.now => ctx.stop(seen, false),
        (None, _) => ctx.wake_at(due),
        (Some(since), Some(patience)) if seen.alive() => force_when_due(ctx, seen, since, patience),
        (Some(_), _) => {}
    }
}

/// While its grace lasts, `since` is in the future: it is looked at again until that has passed.
fn force_when_due(ctx: &mut StepContext, seen: &TaskSeen, since: Time, patience: u32) {
    let due = ctx.clamp(since) + patience;
    if due <= ctx.now {
        ctx.stop(seen, true);
    } else {
        ctx.wake_at(due);
    }
}

/// From when on an instance of a task that the job has must go; none while it may stay.
fn goes(ctx: &StepContext, seen: &TaskSeen) -> Option<Time> {
    let at_once = Some(ctx.now);
    if ctx.memory.verdict.is_some() {
        return goes_at_the_end(ctx, seen).then_some(ctx.now);
    }
    match ctx.memory.held {
        Some(Hold::Suspended) => return at_once,
        Some(Hold::Aborted) => return seen.alive().then_some(ctx.now),
        None => {}
    }
    let settled = ctx.settled(&seen.id.role, seen.id.index);
    match (seen.alive(), ctx.is_stale(seen)) {
        (true, true) => at_once,
        // Its main program has ended and has been answered; what is left of it goes, unless everything is to stay.
        (true, false) if settled => (!seen.lingers || ctx.job.clean != Clean::None).then_some(ctx.now),
        (true, false) => lost(ctx, seen),
        (false, true) if !settled => Some(over(ctx, seen)),
        (false, _) => None,
    }
}

/// A current instance that was told to stop, on a node that may be dead.
fn lost(ctx: &StepContext, seen: &TaskSeen) -> Option<Time> {
    (seen.stopping.is_some() && ctx.job.limits.lost_node.is_some()).then_some(ctx.now)
}

/// When the wait of a dead instance is over: until then it stays, and its logs with it.
fn over(ctx: &StepContext, seen: &TaskSeen) -> Time {
    match seen.exit() {
        Some(exit) if seen.stamp.epoch == ctx.memory.epoch => {
            let next = seen.stamp.attempt.saturating_add(1);
            ctx.clamp(exit.at) + backoff::wait_after(ctx, Some(exit), next)
        }
        _ => ctx.now,
    }
}

/// What goes once there is a verdict. A deadline or a used-up budget stops everything that lives, whatever the
/// policy says, and keeps the ended ones with their logs.
fn goes_at_the_end(ctx: &StepContext, seen: &TaskSeen) -> bool {
    let Some(verdict) = &ctx.memory.verdict else {
        return false;
    };
    match clean_for(ctx.job.clean, verdict) {
        Clean::All => true,
        Clean::Unfinished => seen.alive(),
        Clean::None => {
            let foreign = ctx.is_stale(seen) || ctx.is_newer(seen);
            seen.alive() && (foreign || seen.created > verdict.at)
        }
    }
}

fn clean_for(clean: Clean, verdict: &Verdict) -> Clean {
    match verdict.cause {
        Cause::Deadline | Cause::Restarts { .. } | Cause::Order => clean.max(Clean::Unfinished),
        Cause::Rule { .. } if verdict.cause.exceeded().is_some() => clean.max(Clean::Unfinished),
        Cause::Rule { .. } => clean,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{Bench, ended, running, waiting, worker};
    use crate::{Action, How, Outcome, Scope, Stamp, Then};

    const FIRST: Stamp = Stamp { epoch: 0, attempt: 0 };

    fn stopped(step: &crate::Step) -> Vec<String> {
        let stop = |action: &Action| match action {
            Action::Stop { task, force, .. } => Some(format!("{task}{}", if *force { "!" } else { "" })),
            _ => None,
        };
        step.actions.iter().filter_map(stop).collect()
    }

    fn with_verdict(bench: &Bench, cause: Cause) -> crate::Memory {
        let mut memory = bench.memory();
        memory.started = Some(Time(1));
        memory.verdict = Some(Verdict {
            outcome: Outcome::Failed,
            cause,
            at: Time(50),
        });
        memory
    }

    #[test]
    fn clean_up_takes_what_the_policy_says() {
        let rule = || Cause::Rule {
            from: "x".into(),
            task: None,
        };
        let table = [
            (Clean::None, rule(), vec![]),
            (Clean::Unfinished, rule(), vec!["worker-1", "worker-2"]),
            (Clean::All, rule(), vec!["worker-0", "worker-1", "worker-2"]),
            (Clean::None, Cause::Deadline, vec!["worker-1", "worker-2"]),
            (
                Clean::None,
                Cause::Restarts { task: None },
                vec!["worker-1", "worker-2"],
            ),
            (
                Clean::All,
                Cause::Deadline,
                vec!["worker-0", "worker-1", "worker-2"],
            ),
        ];
        for (clean, cause, expected) in table {
            let mut bench = Bench::workers(3);
            bench.job.clean = clean;
            let memory = with_verdict(&bench, cause.clone());
            let seen = [
                ended(worker(0), FIRST, 0, 40),
                running(worker(1), FIRST),
                waiting(worker(2), FIRST),
            ];
            assert_eq!(
                stopped(&bench.step_with(Some(&memory), &seen, 60)),
                expected,
                "{clean:?} after {cause:?}"
            );
        }
    }

    #[test]
    fn a_late_instance_of_a_finished_job_goes_even_if_everything_is_to_stay() {
        let mut bench = Bench::workers(1);
        bench.job.clean = Clean::None;
        let memory = with_verdict(
            &bench,
            Cause::Rule {
                from: "x".into(),
                task: None,
            },
        );
        let mut late = running(worker(0), FIRST);
        late.created = Time(55);
        assert_eq!(
            stopped(&bench.step_with(Some(&memory), &[late], 60)),
            ["worker-0"]
        );
    }

    #[test]
    fn a_dead_instance_stays_until_its_wait_is_over() {
        let bench = Bench::workers(1);
        let mut memory = bench.memory();
        memory.role(&worker(0).role).attempts.set(0, 1);
        let first = [ended(worker(0), FIRST, 1, 100)];
        assert_eq!(
            stopped(&bench.step_with(Some(&memory), &first, 100)),
            ["worker-0"]
        );
        memory.role(&worker(0).role).attempts.set(0, 2);
        let seen = [ended(worker(0), Stamp { epoch: 0, attempt: 1 }, 1, 100)];
        let early = bench.step_with(Some(&memory), &seen, 109);
        assert_eq!((stopped(&early).len(), early.wake), (0, Some(Time(110))));
        assert_eq!(stopped(&bench.step_with(Some(&memory), &seen, 110)), ["worker-0"]);
    }

    #[test]
    fn what_is_told_to_stop_is_told_once_and_forced_only_where_allowed() {
        let mut bench = Bench::workers(1);
        let mut memory = bench.memory();
        memory.epoch = 1;
        let mut seen = running(worker(0), FIRST);
        seen.stopping = Some(Time(100));
        assert_eq!(
            stopped(&bench.step_with(Some(&memory), &[seen.clone()], 5000)).len(),
            0
        );
        bench.job.limits.lost_node = Some(300);
        let early = bench.step_with(Some(&memory), &[seen.clone()], 399);
        assert_eq!((stopped(&early).len(), early.wake), (0, Some(Time(400))));
        assert_eq!(
            stopped(&bench.step_with(Some(&memory), &[seen], 400)),
            ["worker-0!"]
        );
    }

    #[test]
    fn a_current_task_on_a_silent_node_is_forced_away_and_created_again() {
        let again = || Then::Restart {
            scope: Scope::Task,
            paid: false,
        };
        let mut bench = Bench::workers(2)
            .failing_then(How::Disrupted, again())
            .failing_then(How::Vanished, again());
        let memory = Some(bench.step(&[], 1).memory);
        let mut silent = running(worker(1), FIRST);
        silent.stopping = Some(Time(130));
        let here = [running(worker(0), FIRST), silent.clone()];
        let step = bench.step_with(memory.as_ref(), &here, 5000);
        assert_eq!(stopped(&step).len(), 0, "never, unless the job says so");

        bench.job.limits.lost_node = Some(60);
        // While its grace lasts, and for a minute after.
        for (now, wake) in [(110, 170), (170, 190), (189, 190)] {
            let step = bench.step_with(memory.as_ref(), &here, now);
            assert_eq!((stopped(&step).len(), step.wake), (0, Some(Time(wake))), "{now}");
        }
        let step = bench.step_with(memory.as_ref(), &here, 190);
        assert_eq!(stopped(&step), ["worker-1!"]);
        assert_eq!(step.memory.verdict, None);

        // It is gone, and no end was seen.
        silent.state = Seen::Gone(None);
        let here = [running(worker(0), FIRST), silent];
        let step = bench.step_with(Some(&step.memory), &here, 191);
        assert_eq!(step.memory.stamp(&worker(1)).attempt, 1);
        assert_eq!(step.memory.paid, 0, "it costs nothing");
        let step = bench.step_with(Some(&step.memory), &here[..1], 600);
        let created = |action: &Action| matches!(action, Action::Create { task, .. } if *task == worker(1));
        assert!(step.actions.iter().any(created), "{:?}", step.actions);
    }

    #[test]
    fn a_sidecar_that_outlives_its_task_is_stopped_unless_everything_stays() {
        for (clean, expected) in [(Clean::None, 0), (Clean::Unfinished, 1)] {
            let mut bench = Bench::workers(2);
            bench.job.clean = clean;
            let mut memory = bench.memory();
            memory.role(&worker(1).role).done.insert(1);
            let mut seen = ended(worker(1), FIRST, 0, 40);
            seen.lingers = true;
            let step = bench.step_with(Some(&memory), &[running(worker(0), FIRST), seen], 60);
            assert_eq!(stopped(&step).len(), expected, "{clean:?}");
        }
    }
}
