//! What deciding about one job may cost: rounds of judging, and lives of a task.
//!
//! Everything that `step` is given may be forged: the annotations of a pod, the status of a job. Each bound is far beyond
//! what a job needs. A job that exceeds one fails, with a verdict that says so; the operator goes on with the other jobs.

use super::restart::{Keep, new_epoch};
use super::{StepContext, failed_starts};
use crate::job::Job;
use crate::memory::{Cause, Outcome, RoleMemory};
use crate::observed::Stamp;
use crate::ranges::{Ranges, Runs};

/// Where a verdict comes from that no field of a manifest has asked for: there is no life left with which to start again.
pub const NO_LIFE_LEFT: &str = "built in: a task has at most 1000000 lives";
/// The rules did not come to rest.
pub const NO_REST: &str = "built in: the rules fire without end";

/// What must be remembered is too much to be stored.
pub const NO_ROOM: &str = "built in: what is remembered about a job fits into 8192 ranges";

/// Ranges of indexes over all roles. Each takes 33 bytes at most, so all take 270 kB of the 1.5 MB that an object may have.
const MOST_RANGES: usize = 8_192;

/// Prefix of all of them.
const BUILT_IN: &str = "built in: ";

/// The bound that a verdict comes from, in words; none where it comes from a field or another rule.
pub fn exceeded_bound(from: &str) -> Option<&str> {
    let bound = [NO_LIFE_LEFT, NO_REST, NO_ROOM]
        .into_iter()
        .find(|bound| *bound == from)?;
    bound.strip_prefix(BUILT_IN)
}

/// Rounds of judging. One round answers every end; a restart that cannot be paid moves its end to a later rule and needs one
/// more, and so does a level that another rule has made true.
pub fn rounds(job: &Job) -> usize {
    job.rules.len().saturating_mul(4).saturating_add(16)
}

/// Fails a job whose memory names lives that cannot have been: we did not write it, and nothing that is created
/// from it could be told from what is forged.
pub fn check(ctx: &mut StepContext) {
    let memory = &ctx.memory;
    let possible = |attempts: &Runs| attempts.most() <= Stamp::MOST;
    let all_possible =
        memory.epoch <= Stamp::MOST && memory.roles.values().all(|role| possible(&role.attempts));
    if !all_possible {
        exceeded(ctx, NO_LIFE_LEFT);
    }
}

/// Fails a job of which more would have to be remembered than can be stored; a write that is refused for its size would be
/// tried for ever. All of its tasks are told to stop by a new epoch, which takes no ranges.
pub fn check_room(ctx: &mut StepContext) {
    let ranges = |role: &RoleMemory| {
        let RoleMemory {
            attempts,
            done,
            failed,
            rejections,
            starting_since,
            not_before,
            born: _,
            restarts: _,
        } = role;
        let numbers = [attempts, rejections, starting_since, not_before].map(Runs::ranges);
        let sets = [done, failed].map(Ranges::ranges);
        numbers.into_iter().chain(sets).sum::<usize>()
    };
    let all: usize = ctx.memory.roles.values().map(ranges).sum();
    if all > MOST_RANGES && ctx.memory.verdict.is_none() {
        new_epoch(ctx, Keep::Nothing);
        failed_starts::forget(ctx);
        for memory in ctx.memory.roles.values_mut() {
            // Also where no epoch is left to begin.
            memory.attempts.clear();
            memory.done.clear();
            memory.failed.clear();
        }
        exceeded(ctx, NO_ROOM);
    }
}

/// Fails a job that has exceeded a bound.
pub fn exceeded(ctx: &mut StepContext, bound: &str) {
    let from = bound.into();
    ctx.finish(Outcome::Failed, Cause::Rule { from, task: None });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{Bench, running, worker};

    #[test]
    fn a_job_of_which_too_much_must_be_remembered_fails_and_its_memory_is_small_again() {
        let mut bench = Bench::workers(100_000);
        bench.job.rules.clear();
        let mut memory = bench.memory();
        for index in (0..70_000).step_by(2) {
            memory.role(&worker(0).role).attempts.set(index, 1 + index % 7);
        }
        let step = bench.step_with(Some(&memory), &[running(worker(1), Stamp::default())], 10);
        let verdict = step.memory.verdict.clone().unwrap();
        assert_eq!(
            verdict.cause.exceeded(),
            Some("what is remembered about a job fits into 8192 ranges")
        );
        assert!(serde_json::to_string(&step.memory).unwrap().len() < 400);
        assert!(
            matches!(&step.actions[..], [crate::Action::Stop { .. }]),
            "{:?}",
            step.actions
        );
    }

    #[test]
    fn memory_that_cannot_have_been_fails_its_job_and_creates_nothing() {
        let bench = Bench::workers(2);
        for (epoch, attempt) in [(u32::MAX, 0), (Stamp::MOST + 1, 0), (0, u32::MAX)] {
            let mut memory = bench.memory();
            memory.epoch = epoch;
            memory.role(&worker(1).role).attempts.set(7, attempt);
            let step = bench.step_with(Some(&memory), &[running(worker(0), Stamp::default())], 10);
            let verdict = step.memory.verdict.unwrap();
            let words = verdict.cause.exceeded();
            assert_eq!(words, Some("a task has at most 1000000 lives"));
            let creates = |action: &crate::Action| matches!(action, crate::Action::Create { .. });
            assert!(!step.actions.iter().any(creates));
        }
    }
}
