//! A job whose status another controller writes: nothing is done about it, and its status says so.

use std::sync::Arc;

use serde_json::json;
use trainyard_core::Time;
use trainyard_status::newer_memory;

use super::wait::{Reason, Wait};
use super::{Decision, status_write, waits_for};
use crate::job::{JobKey, JobSeen, stored_memory};
use crate::kinds::Stalled;
use crate::store::Entry;

/// What is done about it: the words are written once while this operator runs, since the other controller may write over them.
pub fn leave(key: &JobKey, entry: &mut Entry, job: &JobSeen, words: &Arc<str>, now: Time) -> Decision {
    let before = job.status.clone().unwrap_or_else(|| json!({}));
    let wait = Wait::new(Reason::OtherManager, &**words);
    let is_told = Wait::of_status(Some(&before))
        .iter()
        .any(|said| said.reason == wait.reason);
    let warned = entry.warned.of_job(&job.uid);
    warned.other_manager |= is_told;
    let newer = newer_memory(Some(&before)).is_some();
    // An end that the operator's memory knows nothing of is the other controller's word alone.
    let forged = stored_memory(Some(&before)).is_some_and(|memory| memory.verdict.is_none());
    let over = job.deleting || newer || key.kind.has_ended(Some(&before)) && !forged;
    let said = waits_for(&before, &wait).filter(|_| !over && !warned.other_manager);
    let Some(mut status) = said else {
        return Decision::Idle;
    };
    let reason = wait.reason.to_string();
    let condition = Stalled {
        reason: &reason,
        message: words,
    };
    condition.write(&mut status, Some(&before), now);
    Decision::Apply(Box::new(status_write(key, job, status, now)))
}
