//! The rule list of a `TensorFlowTrainingJob`.
//!
//! ```text
//! 1 the primary has succeeded          → complete           the chief, else worker 0
//! 2 disrupted or vanished              → restart, free      built in
//! 3 failed, as the role's policy says  → restart, paid      restartPolicy
//! 4 the primary failed                 → fail
//! 5 another failed                     → keep               restartPolicy, or backoffLimit reached
//! 6 not running for too long           → fail               startTimeoutSeconds
//! 7 succeeded under `Always`           → restart, paid      restartPolicy; never the primary
//! 8 succeeded                          → keep
//! 9 everything has ended               → fail               built in
//! ```
//!
//! The documents do not say what follows when a replica that is not the primary fails for good: it stays failed, and
//! the primary decides.

use std::sync::Arc;

use trainyard_core::{How, Rule, Scope, Then, Who};

use crate::compile::{
    FAIL, RETRYABLE_FOUR, ended, nothing_left_fails, restart, start_timeout, successes_stay,
};
use crate::manifest::Metadata;
use crate::tfjob::annotations::{RETRYABLE_EXIT_CODES, Wishes};
use crate::tfjob::roles::{Replica, Restart, name};
use crate::tfjob::rules::{disruptions, scope_of, success};
use crate::tfjob::spec::Spec;

/// Where rules come from that follow from who the primary is.
pub(crate) const PRIMARY: &str = "primary";
const BACKOFF_LIMIT: &str = "spec.runPolicy.backoffLimit";

/// The codes after which `ExitCode` starts a task again: T9k's four, and TensorFlow's own "I was preempted".
pub(super) fn retryable(metadata: &Metadata<'_>, wishes: &Wishes<'_>) -> Vec<How> {
    if metadata.annotation(RETRYABLE_EXIT_CODES).is_some() {
        return wishes.retryable.clone();
    }
    let preempted = [How::Codes(42, 42)];
    [&preempted, RETRYABLE_FOUR].concat()
}

/// The rules, first match first.
pub(super) fn compile(spec: &Spec<'_>, retryable: &[How]) -> Vec<Rule> {
    let primary = spec.deciders();
    let replicas = || spec.replicas.iter();
    let mut rules = vec![success(spec)];
    rules.extend(disruptions(spec));
    rules.extend(replicas().filter_map(|replica| again(replica, spec, retryable)));
    rules.push(ended(primary.clone(), &[How::Failed], FAIL, PRIMARY));
    rules.extend(replicas().filter_map(|replica| stays_failed(replica, &primary)));
    if let Some((seconds, from)) = &spec.run.start_timeout {
        rules.push(start_timeout(*seconds, from.clone()));
    }
    for replica in replicas().filter(|replica| replica.restart == Restart::Always) {
        rules.extend(always(replica, &primary));
    }
    rules.push(successes_stay());
    rules.push(nothing_left_fails());
    rules
}

fn origin(replica: &Replica<'_>) -> Arc<str> {
    format!("{}: {}", replica.from, replica.restart.word()).into()
}

/// Which failures of a role start it again, as a new pod.
fn again(replica: &Replica<'_>, spec: &Spec<'_>, retryable: &[How]) -> Option<Rule> {
    let scope = scope_of(replica.kind, spec);
    let together = scope != Scope::Task;
    let how = match replica.restart {
        Restart::Never => return None,
        // A peer's exit code says nothing about the peer: it may have died of the first one's death.
        Restart::ExitCode if together && spec.run.backoff_limit.is_some() => &[How::Failed],
        Restart::ExitCode => retryable,
        Restart::OnFailure | Restart::Always => &[How::Failed],
    };
    let who = Who::role(&name(replica.kind));
    Some(ended(who, how, restart(scope, true), origin(replica)))
}

/// A failure that starts nothing again stays, unless it is the primary's.
fn stays_failed(replica: &Replica<'_>, primary: &Who) -> Option<Rule> {
    let who = Who::role(&name(replica.kind));
    if who == *primary {
        return None;
    }
    let from = match replica.restart {
        Restart::Never => origin(replica),
        Restart::OnFailure | Restart::Always | Restart::ExitCode => BACKOFF_LIMIT.into(),
    };
    Some(ended(who, &[How::Failed], Then::Keep, from))
}

/// Under `Always` a success starts the task again, too; not the primary's, which ends the job.
fn always(replica: &Replica<'_>, primary: &Who) -> Vec<Rule> {
    let who = Who::role(&name(replica.kind));
    if who == *primary {
        return Vec::new();
    }
    let decides = primary.role == who.role;
    let kept = decides.then(|| ended(primary.clone(), &[How::Succeeded], Then::Keep, PRIMARY));
    let alone = restart(Scope::Task, true);
    let again = ended(who, &[How::Succeeded], alone, origin(replica));
    kept.into_iter().chain([again]).collect()
}
