//! A job whose memory is there and cannot be read: nothing is done about it. What was started goes on, and may not be started
//! twice or ended by a version that does not know what happened to it.

use trainyard_core::Time;
use trainyard_status::Flaw;

use super::wait::{Reason, Wait};
use super::{Decision, status_write, waits_for};
use crate::job::{JobKey, JobSeen};

/// What is done about a job that has not ended, as far as its status says. Of a newer format not even a word is written: the API
/// server keeps a status as a whole, and other fields of it may have changed their meaning as well.
pub fn leave(key: &JobKey, job: &JobSeen, flaw: &Flaw, now: Time) -> Decision {
    let broken = matches!(flaw, Flaw::Broken(_)) && !job.deleting;
    let status = job.status.as_ref().filter(|_| broken);
    let wait = Wait::new(Reason::UnreadableMemory, words(flaw));
    let said = status.and_then(|status| waits_for(status, &wait));
    said.map_or(Decision::Idle, |status| {
        Decision::Apply(Box::new(status_write(key, job, status, now)))
    })
}

/// What is wrong, and what helps.
#[must_use]
pub fn words(flaw: &Flaw) -> String {
    let help = match flaw {
        Flaw::Newer(_) => "install that version, or delete the job and create it again",
        Flaw::Broken(_) => "restore it, or delete the job and create it again",
    };
    format!("{flaw}; nothing is done about the job until it can be read: {help}")
}
