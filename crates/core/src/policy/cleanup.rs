//! What must go: lives that are over, tasks scaled away, everything on hold, and what clean-up takes at the end.

use super::{Turn, backoff};
use crate::job::Clean;
use crate::memory::{Cause, Hold, Verdict};
use crate::observed::{Seen, TaskSeen};
use crate::time::Time;

/// Stops every instance that has no reason to be, or asks to be called when one will have none.
pub fn stops(turn: &mut Turn) {
    let seen: Vec<&TaskSeen> = turn.view.inside().collect();
    for seen in seen {
        if matches!(seen.state, Seen::Gone(_)) || turn.is_newer(seen) {
            continue;
        }
        if let Some(due) = goes(turn, seen) {
            stop_when_due(turn, seen, due);
        }
    }
    let outside: Vec<&TaskSeen> = turn.view.outside().collect();
    for seen in outside {
        if !matches!(seen.state, Seen::Gone(_))
            && !turn.is_newer(seen)
            && (turn.memory.verdict.is_none() || goes_at_the_end(turn, seen))
        {
            stop_when_due(turn, seen, turn.now);
        }
    }
}

/// Stops it once; by force, if it was told long ago and its node does not answer.
fn stop_when_due(turn: &mut Turn, seen: &TaskSeen, due: Time) {
    match (seen.stopping, turn.job.limits.lost_node) {
        (None, _) if due <= turn.now => turn.stop(seen, false),
        (None, _) => turn.wake_at(due),
        (Some(since), Some(patience)) if seen.alive() => force_when_due(turn, seen, since, patience),
        (Some(_), _) => {}
    }
}

fn force_when_due(turn: &mut Turn, seen: &TaskSeen, since: Time, patience: u32) {
    let due = turn.clamp(since) + patience;
    if due <= turn.now {
        turn.stop(seen, true);
    } else {
        turn.wake_at(due);
    }
}

/// From when on an instance of a task that the job has must go; none while it may stay.
fn goes(turn: &Turn, seen: &TaskSeen) -> Option<Time> {
    let at_once = Some(turn.now);
    if turn.memory.verdict.is_some() {
        return goes_at_the_end(turn, seen).then_some(turn.now);
    }
    match turn.memory.held {
        Some(Hold::Suspended) => return at_once,
        Some(Hold::Aborted) => return seen.alive().then_some(turn.now),
        None => {}
    }
    let settled = turn.settled(&seen.id.role, seen.id.index);
    match (seen.alive(), turn.is_stale(seen)) {
        (true, true) => at_once,
        // Its main program has ended and has been answered; what is left of it goes, unless everything is to stay.
        (true, false) if settled => (!seen.lingers || turn.job.clean != Clean::None).then_some(turn.now),
        (true, false) => lost(turn, seen),
        (false, true) if !settled => Some(over(turn, seen)),
        (false, _) => None,
    }
}

/// A current instance that somebody told to stop, on a node that may be dead.
fn lost(turn: &Turn, seen: &TaskSeen) -> Option<Time> {
    (seen.stopping.is_some() && turn.job.limits.lost_node.is_some()).then_some(turn.now)
}

/// When the wait of a dead instance is over: until then it stays, and its logs with it.
fn over(turn: &Turn, seen: &TaskSeen) -> Time {
    match seen.exit() {
        Some(exit) if seen.stamp.epoch == turn.memory.epoch => {
            let next = seen.stamp.attempt.saturating_add(1);
            turn.clamp(exit.at) + backoff::wait_after(turn, Some(exit), next)
        }
        _ => turn.now,
    }
}

/// What goes once there is a verdict. A deadline or a used-up budget stops everything that lives, whatever the
/// policy says, and keeps the ended ones with their logs.
fn goes_at_the_end(turn: &Turn, seen: &TaskSeen) -> bool {
    let Some(verdict) = &turn.memory.verdict else {
        return false;
    };
    match clean_for(turn.job.clean, verdict) {
        Clean::All => true,
        Clean::Unfinished => seen.alive(),
        Clean::None => seen.alive() && (turn.is_stale(seen) || seen.created > verdict.at),
    }
}

fn clean_for(clean: Clean, verdict: &Verdict) -> Clean {
    match verdict.cause {
        Cause::Deadline | Cause::Restarts { .. } | Cause::Order => clean.max(Clean::Unfinished),
        Cause::Rule { .. } => clean,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{Bench, ended, running, waiting, worker};
    use crate::{Action, Outcome, Stamp};

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
