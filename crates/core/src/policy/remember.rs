//! What is known at the start of a step: memory as stored or rebuilt, pruned, and brought up to date with counts.

use super::StepContext;
use crate::job::Job;
use crate::memory::{Failure, Memory};
use crate::observed::{Observed, Seen, Stamp, TaskSeen};
use crate::step::{Event, Oddity};
use crate::time::Time;

/// The stored memory; where there is none, or another job's, one rebuilt from the stamps that are visible.
pub fn recall(
    job: &Job,
    memory: Option<&Memory>,
    observed: &Observed,
    now: Time,
    events: &mut Vec<Event>,
) -> Memory {
    match memory {
        Some(memory) if memory.job == job.uid => memory.clone(),
        Some(_) => {
            events.push(Event::Odd(Oddity::MemoryOfAnotherJob));
            rebuild(job, observed, now)
        }
        None => rebuild(job, observed, now),
    }
}

/// The least that must have happened, given what lives: lost memory must not make restarts free. Instances of tasks that the
/// job does not have, and stamps that we cannot have written, say nothing.
fn rebuild(job: &Job, observed: &Observed, now: Time) -> Memory {
    let known = |seen: &&TaskSeen| {
        let role = job.role(&seen.id.role);
        seen.stamp.is_possible() && role.is_some_and(|(_, role)| seen.id.index < role.replicas)
    };
    let known: Vec<&TaskSeen> = observed.tasks.iter().filter(known).collect();
    let mut memory = Memory::new(job);
    memory.epoch = known.iter().map(|seen| seen.stamp.epoch).max().unwrap_or(0);
    memory.started = known.iter().map(|seen| seen.created.min(now)).min();
    let mut newest = known;
    newest.retain(|seen| seen.stamp.epoch == memory.epoch);
    newest.sort_by_key(|seen| (&seen.id, seen.stamp));
    let mut attempts: u64 = 0;
    for seen in newest {
        let role = memory.role(&seen.id.role);
        let before = role.attempts.get(seen.id.index);
        if seen.stamp.attempt > before {
            attempts += u64::from(seen.stamp.attempt - before);
            role.attempts.set(seen.id.index, seen.stamp.attempt);
        }
    }
    let whole = if job.restarts_whole() { memory.epoch } else { 0 };
    memory.rounds = whole;
    memory.paid = u32::try_from(attempts).unwrap_or(u32::MAX).saturating_add(whole);
    memory
}

/// Drops what a changed spec has made meaningless, and waits that a clock has carried too far.
pub fn prune(ctx: &mut StepContext) {
    for role in &ctx.job.roles {
        if let Some(memory) = ctx.memory.roles.get_mut(&role.name) {
            // If such a task is ever wanted again, that is another life.
            let done = memory.done.from(role.replicas);
            memory.attempts.add_one_to(&done);
            memory
                .attempts
                .add_one_to(&memory.failed.from(role.replicas).without(&done));
            memory.done.truncate(role.replicas);
            memory.failed.truncate(role.replicas);
            memory.rejections.truncate(role.replicas);
            memory.starting_since.truncate(role.replicas);
            memory.not_before.truncate(role.replicas);
            memory
                .not_before
                .limit((ctx.now + ctx.job.limits.wait.most).in_runs());
            // Counted from a time to come, a start would never take too long, and each step would ask for another one.
            memory.starting_since.limit(ctx.now.in_runs());
            memory.born = memory.born.min(role.replicas);
            // No task is both, unless a user has written this memory by hand: then it would be counted twice.
            memory.failed = memory.failed.without(&memory.done);
        }
    }
    let latest = ctx.now + ctx.job.limits.wait.most;
    ctx.memory.not_before = ctx.memory.not_before.min(latest);
    let gates = &mut ctx.memory.gates;
    gates.rolled_back = gates.rolled_back.map(|at| at.min(ctx.now));
}

/// Adds up the restarts in place. The sum never falls: an instance may vanish with its count.
pub fn count_in_place(ctx: &mut StepContext) {
    let live: u32 = ctx
        .view
        .inside()
        .filter(|seen| seen.stamp == ctx.memory.stamp(&seen.id))
        .fold(0, |sum, seen| sum.saturating_add(seen.in_place));
    let sum = ctx.memory.in_place_gone.saturating_add(live);
    ctx.memory.in_place_most = ctx.memory.in_place_most.max(sum);
    if ctx.memory.first_failure.is_none() {
        ctx.memory.first_failure = first_failure_in_place(ctx);
    }
}

/// A program that failed and was restarted in place leaves no end behind, only this trace.
fn first_failure_in_place(ctx: &StepContext) -> Option<Failure> {
    let failed = |seen: &&TaskSeen| {
        let own_failure = |exit| crate::Ending::of(Some(exit)).is_failure();
        seen.stamp == ctx.memory.stamp(&seen.id) && seen.last.as_ref().is_some_and(own_failure)
    };
    let failure = |seen: &TaskSeen| {
        let mut exit = seen.last.clone()?;
        exit.at = ctx.clamp(exit.at);
        Some(Failure {
            task: seen.id.clone(),
            stamp: seen.stamp,
            exit,
        })
    };
    ctx.view
        .inside()
        .filter(failed)
        .filter_map(failure)
        .min_by_key(|failure| failure.exit.at)
}

/// Notes for each role that all of its tasks have been seen in this epoch. Looked at after everything has been decided:
/// a task that was only ever seen to have gone counts from the moment its end is answered, and not a step later.
pub fn mark_born(ctx: &mut StepContext) {
    for (position, role) in ctx.job.roles.iter().enumerate() {
        if ctx.memory.of_role(&role.name).born == role.replicas {
            continue;
        }
        let seen = |index: u32| {
            let here = ctx.current(position, index);
            ctx.settled(&role.name, index)
                || here.is_some_and(|seen| !matches!(seen.state, Seen::Gone(_)))
                || ctx.memory.stamp_of(&role.name, index).attempt > 0
        };
        if (0..role.replicas).all(seen) {
            ctx.memory.role(&role.name).born = role.replicas;
        }
    }
}

/// Notes how the job's tasks find each other and who places them. While tasks run, that stays as it was when they began; a job
/// that has not begun, or is held, follows its manifest.
pub fn note_beginning(ctx: &mut StepContext, before: Option<&Memory>) {
    let before = before.filter(|before| before.job == ctx.job.uid);
    let ran = before.is_some_and(|before| before.started.is_some() && before.held.is_none());
    let goes_on = ran && ctx.memory.held.is_none();
    if !goes_on && ctx.memory.verdict.is_none() {
        ctx.memory.note_beginning(ctx.job);
    }
}

/// Whether a task that is not visible has vanished, rather than not been created yet.
pub fn has_vanished(ctx: &StepContext, role: usize, index: u32) -> bool {
    let name = &ctx.job.roles[role].name;
    let Stamp { attempt, .. } = ctx.memory.stamp_of(name, index);
    attempt == 0 && index < ctx.memory.of_role(name).born && ctx.view.instances(role, index).is_empty()
}

#[cfg(test)]
mod tests {
    use crate::policy::testing::{Bench, ended, gang, running, worker};
    use crate::{
        AddressForm, Addresses, Event, Exit, How, Memory, Oddity, Outcome, Seen, Stamp, Then, Time, Why,
    };

    #[test]
    fn memory_of_another_job_is_not_believed() {
        let bench = Bench::workers(1);
        let mut other = Memory::new(&bench.job);
        other.job = "another".into();
        other.paid = 9;
        let step = bench.step_with(Some(&other), &[], 5);
        assert_eq!(step.memory.paid, 0);
        assert!(step.events.contains(&Event::Odd(Oddity::MemoryOfAnotherJob)));
    }

    #[test]
    fn memory_of_a_newer_version_is_left_alone() {
        let bench = Bench::workers(1);
        let mut newer = Memory::new(&bench.job);
        newer.format = 99;
        let step = bench.step_with(Some(&newer), &[], 5);
        assert_eq!((step.memory, step.actions.len()), (newer, 0));
    }

    #[test]
    fn lost_memory_is_rebuilt_from_stamps_and_restarts_are_not_free() {
        let bench = Bench::workers(2);
        let seen = [
            running(worker(0), Stamp { epoch: 2, attempt: 3 }),
            running(worker(1), Stamp { epoch: 2, attempt: 0 }),
        ];
        let step = bench.step_with(None, &seen, 500);
        assert_eq!((step.memory.epoch, step.memory.paid), (2, 3));
        assert_eq!(step.memory.stamp(&worker(0)).attempt, 3);
        assert!(
            step.actions
                .iter()
                .all(|action| !matches!(action, crate::Action::Create { .. } | crate::Action::Stop { .. }))
        );
    }

    #[test]
    fn a_task_that_is_remembered_as_done_and_as_failed_is_done_and_counts_once() {
        let bench = Bench::workers(2);
        let mut memory = bench.memory();
        memory.role(&worker(0).role).done.insert(0);
        memory.role(&worker(0).role).failed.insert(0);
        let after = bench
            .step_with(Some(&memory), &[running(worker(1), Stamp::default())], 5)
            .memory;
        assert!(after.is_done(&worker(0)) && !after.is_failed(&worker(0)));
    }

    #[test]
    fn of_two_gone_instances_the_one_that_says_how_it_ended_is_believed() {
        let bench = Bench::workers(1);
        let gone = |end: crate::TaskSeen, keep: bool| {
            let exit = end.exit().cloned().filter(|_| keep);
            crate::TaskSeen {
                state: Seen::Gone(exit),
                ..end
            }
        };
        let end = ended(worker(0), Stamp::default(), 0, 3);
        let seen = [gone(end.clone(), false), gone(end, true)];
        let after = bench.step_with(Some(&bench.memory()), &seen, 5).memory;
        assert!(after.is_done(&worker(0)));
    }

    #[test]
    fn addresses_and_gang_stay_as_the_job_began_and_a_suspended_one_may_change_them() {
        let mut bench = Bench::workers(1);
        let per_replica = |bench: &mut Bench, is: bool| {
            bench.job.addresses = if is {
                Addresses::PerReplica
            } else {
                Addresses::PerJob
            };
            bench.job.gang = is.then(gang);
        };
        let noted = |memory: &Memory| (memory.form, memory.gang.as_deref().map(str::to_owned));
        let own = (None, None);
        let changed = (Some(AddressForm::PerReplica), Some("volcano".to_owned()));
        let begun = bench.step(&[], 5).memory;
        assert_eq!(noted(&begun), own);
        per_replica(&mut bench, true);
        let here = [running(worker(0), Stamp::default())];
        assert_eq!(noted(&bench.step_with(Some(&begun), &here, 6).memory), own);
        assert_eq!(noted(&bench.step(&here, 6).memory), changed, "memory was lost");
        bench.job.suspend = true;
        let held = bench.step_with(Some(&begun), &here, 7).memory;
        assert_eq!(noted(&held), changed);
        bench.job.suspend = false;
        let resumed = bench.step_with(Some(&held), &[], 8).memory;
        per_replica(&mut bench, false);
        assert_eq!(noted(&bench.step_with(Some(&resumed), &[], 9).memory), changed);

        let elsewhere = Memory::begun_elsewhere(&bench.job, Time(1));
        let kept = bench.step_with(Some(&elsewhere), &here, 9).memory;
        assert_eq!(noted(&kept), (Some(AddressForm::Kubeflow), None));
    }

    #[test]
    fn a_clock_that_steps_back_is_held() {
        let bench = Bench::workers(1);
        let mut memory = Memory::new(&bench.job);
        memory.started = Some(Time(1000));
        let step = bench.step_with(Some(&memory), &[], 10);
        assert!(step.events.contains(&Event::Odd(Oddity::ClockBehind(990))));
        assert_eq!(step.memory.started, Some(Time(1000)));
    }

    #[test]
    fn nothing_is_remembered_of_a_role_without_tasks() {
        let bench = Bench::ps_and_workers(0, 1);
        let memory = bench.step(&[running(worker(0), Stamp::default())], 10).memory;
        assert!(memory.roles.keys().eq([&worker(0).role]), "{:?}", memory.roles);
    }

    #[test]
    fn a_time_in_memory_that_is_more_than_a_day_ahead_holds_no_clock() {
        let bench = Bench::workers(1);
        let mut memory = bench.memory();
        for (ahead, ends_at) in [
            (86_400, Time(86_410)),
            (86_401, Time(10)),
            (u64::MAX - 10, Time(10)),
        ] {
            memory.started = Some(Time(10 + ahead));
            let step = bench.step_with(Some(&memory), &[ended(worker(0), Stamp::default(), 0, 1)], 10);
            let verdict = step.memory.verdict.unwrap();
            assert_eq!(verdict.at, ends_at, "{ahead} s ahead");
            assert!(step.events.contains(&Event::Odd(Oddity::ClockBehind(ahead))));
        }
    }

    #[test]
    fn a_task_has_been_starting_since_now_at_the_latest() {
        let bench = Bench::workers(1);
        let mut memory = bench.memory();
        memory.role(&worker(0).role).starting_since.set(0, u32::MAX);
        let step = bench.step_with(Some(&memory), &[], 10);
        assert_eq!(step.memory.of_role(&worker(0).role).starting_since.get(0), 10);
    }

    #[test]
    fn a_time_that_is_not_believed_hides_none_that_is() {
        let mut bench = Bench::workers(1);
        bench.job.limits.deadline = Some(1);
        let mut memory = bench.memory();
        memory.started = Some(Time(u64::MAX));
        memory.held = Some(crate::Hold::Suspended);
        memory.first_failure = Some(crate::Failure {
            task: worker(0),
            stamp: Stamp::default(),
            exit: ended(worker(0), Stamp::default(), 1, 16).exit().unwrap().clone(),
        });
        let resumed = bench.step_with(Some(&memory), &[], 10).memory;
        assert_eq!(resumed.started, Some(Time(16)));
        assert_eq!(bench.step_with(Some(&resumed), &[], 10).memory, resumed);
    }

    #[test]
    fn a_task_that_ended_and_was_scaled_away_is_another_life_when_it_is_wanted_again() {
        let mut bench = Bench::workers(2);
        let mut memory = bench.memory();
        memory.role(&worker(1).role).done.insert(1);
        bench.job.roles[0].replicas = 1;
        let down = bench.step_with(Some(&memory), &[], 5).memory;
        assert_eq!(bench.step_with(Some(&down), &[], 5).memory, down);
        bench.job.roles[0].replicas = 2;
        let up = bench.step_with(Some(&down), &[running(worker(0), Stamp::default())], 9);
        let stamp = Stamp { epoch: 0, attempt: 1 };
        assert_eq!(
            up.actions,
            [crate::Action::Create {
                task: worker(1),
                stamp
            }]
        );
    }

    #[test]
    fn a_task_that_was_scaled_away_and_comes_back_has_not_vanished() {
        let mut bench = Bench::workers(3).failing_then(How::Vanished, Then::Finish(Outcome::Failed));
        let all: Vec<_> = (0..3)
            .map(|index| running(worker(index), Stamp::default()))
            .collect();
        let memory = bench.step(&all, 5).memory;
        assert_eq!(memory.roles[&worker(0).role].born, 3);
        bench.job.roles[0].replicas = 0;
        let none = bench.step_with(Some(&memory), &[], 6).memory;
        bench.job.roles[0].replicas = 3;
        let more = bench.step_with(Some(&none), &[], 7);
        assert_eq!(more.memory.verdict, None);
        assert_eq!(more.actions.len(), 3, "{:?}", more.actions);
    }

    #[test]
    fn a_failure_in_place_is_remembered_as_the_first() {
        let bench = Bench::workers(1);
        let mut seen = running(worker(0), Stamp::default());
        seen.in_place = 1;
        seen.last = Some(Exit {
            code: Some(1),
            why: Why::Itself,
            asked: false,
            at: Time(7),
            ran: 2,
            ..Exit::default()
        });
        let step = bench.step_with(None, &[seen], 9);
        assert_eq!(
            step.memory.first_failure.map(|failure| failure.exit.code),
            Some(Some(1))
        );
    }

    #[test]
    fn a_task_that_was_only_seen_to_have_gone_was_born_by_the_step_that_answers_it() {
        let bench = Bench::workers(2).all_workers();
        let mut gone = ended(worker(0), Stamp::default(), 0, 5);
        gone.state = Seen::Gone(gone.exit().cloned());
        let seen = [gone, running(worker(1), Stamp::default())];
        let step = bench.step(&seen, 9);
        assert_eq!(step.memory.roles[&worker(0).role].born, 2);
        let again = bench.step_with(Some(&step.memory), &seen, 9);
        assert_eq!(again.memory, step.memory);
    }

    #[test]
    fn an_instance_newer_than_memory_is_left_alone() {
        let bench = Bench::workers(1);
        let memory = Memory::new(&bench.job);
        for state in [
            running(worker(0), Stamp { epoch: 0, attempt: 4 }),
            ended(worker(0), Stamp { epoch: 1, attempt: 0 }, 1, 5),
        ] {
            let step = bench.step_with(Some(&memory), &[state], 9);
            assert!(
                step.events
                    .contains(&Event::Odd(Oddity::NewerThanMemory(worker(0))))
            );
            assert!(
                !step.actions.iter().any(|action| matches!(
                    action,
                    crate::Action::Create { .. } | crate::Action::Stop { .. }
                ))
            );
            assert_eq!(step.wake, Some(Time(39)));
            assert_eq!(step.memory.verdict, None);
        }
    }
}
