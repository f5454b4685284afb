//! Why something was stopped, told from what was known.

use super::trace::StopReason;
use crate::job::{Clean, Job};
use crate::memory::{Cause, Hold, Memory, Verdict};
use crate::observed::TaskSeen;

/// Why a memory wants an instance stopped; none if it has no reason to.
pub(super) fn why_stopped(job: &Job, memory: &Memory, seen: &TaskSeen, force: bool) -> Option<StopReason> {
    let known = job
        .role(&seen.id.role)
        .is_some_and(|(_, role)| seen.id.index < role.replicas);
    let settled = memory.is_done(&seen.id) || memory.is_failed(&seen.id);
    let current = memory.stamp(&seen.id);
    if force {
        return (seen.stopping.is_some() && job.limits.lost_node.is_some() && seen.alive())
            .then_some(StopReason::LostNode);
    }
    let possible = seen.stamp.is_possible();
    if possible && seen.stamp > current && memory.verdict.is_none() && memory.held.is_none() {
        return None;
    }
    if let Some(verdict) = &memory.verdict {
        return cleans(job, verdict, seen, seen.stamp != current).then_some(StopReason::CleanUp);
    }
    match memory.held {
        Some(Hold::Suspended) => return Some(StopReason::Held(Hold::Suspended)),
        Some(Hold::Aborted) if seen.alive() => return Some(StopReason::Held(Hold::Aborted)),
        Some(Hold::Aborted) | None => {}
    }
    if !known {
        Some(StopReason::ScaledAway)
    } else if memory.held.is_none() && (!possible || seen.stamp < current) {
        Some(StopReason::Restarted)
    } else if settled && seen.alive() {
        Some(StopReason::Settled)
    } else {
        None
    }
}

/// What goes at the end: as the policy says, but at least what lives if a limit or an order ended the job.
fn cleans(job: &Job, verdict: &Verdict, seen: &TaskSeen, stale: bool) -> bool {
    let clean = match verdict.cause {
        Cause::Rule { .. } if verdict.cause.exceeded().is_none() => job.clean,
        Cause::Rule { .. } | Cause::Restarts { .. } | Cause::Deadline | Cause::Order => {
            job.clean.max(Clean::Unfinished)
        }
    };
    match clean {
        Clean::All => true,
        Clean::Unfinished => seen.alive(),
        Clean::None => seen.alive() && (stale || seen.created > verdict.at),
    }
}
