//! From policies to rules: the building blocks that every dialect's compiler is made of.
//!
//! A dialect reads its own fields and puts rules together from these; which rules, and in which order, is the
//! dialect's own business. `trainyard plan` shows the list of a manifest.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use trainyard_core::{Count, Down, How, Outcome, Rule, Scope, Settled, Template, Test, Then, When, Who};

use crate::pod_template::{PodTemplate, Resources};

/// Where a rule comes from that no field of the manifest asks for.
pub(crate) const BUILT_IN: &str = "built in";

/// Seconds that an end is left unanswered so that its cause can arrive.
pub(crate) const SETTLE: u32 = 1;

/// The same where tasks restart together: then their peers die because of the first, and may be seen before it.
pub(crate) const SETTLE_TOGETHER: u32 = 5;

/// Codes after which a task may be started again: TensorFlow's own "I was preempted", and every signal.
pub(crate) const RETRYABLE: &[How] = &[How::Codes(42, 42), How::Codes(128, 255)];

/// The set that TFJob had before 1.5, and T9k has: interrupted, killed, asked for (SIGUSR1), told to stop.
pub(crate) const RETRYABLE_FOUR: &[How] = &[How::Codes(130, 130), How::Codes(137, 138), How::Codes(143, 143)];

/// A rule that needs not hold for any time.
pub(crate) fn rule(when: When, then: Then, from: impl Into<Arc<str>>) -> Rule {
    Rule {
        when,
        held: 0,
        then,
        from: from.into(),
    }
}

/// When a life of `who` ended in one of these ways.
pub(crate) fn ended(who: Who, how: &[How], then: Then, from: impl Into<Arc<str>>) -> Rule {
    let how = how.to_vec();
    rule(When::Ended { who, how }, then, from)
}

/// When so many of `who` have been settled so.
pub(crate) fn counted(who: Who, what: Settled, test: Test, then: Then, from: impl Into<Arc<str>>) -> Rule {
    rule(When::Count(vec![Count { who, what, test }]), then, from)
}

/// The job succeeds when so many of `who` have.
pub(crate) fn completes(who: Who, test: Test, from: impl Into<Arc<str>>) -> Rule {
    counted(
        who,
        Settled::Succeeded,
        test,
        Then::Finish(Outcome::Succeeded),
        from,
    )
}

/// Tasks start again.
pub(crate) fn restart(scope: Scope, paid: bool) -> Then {
    Then::Restart { scope, paid }
}

/// The job fails.
pub(crate) const FAIL: Then = Then::Finish(Outcome::Failed);

/// A task that was stopped from outside, or vanished, is started again and pays nothing.
pub(crate) fn disrupted_restarts(who: Who, scope: Scope) -> Rule {
    ended(
        who,
        &[How::Disrupted, How::Vanished],
        restart(scope, false),
        BUILT_IN,
    )
}

/// A program that cannot be started will not start the next time either: the job fails.
pub(crate) fn not_started_fails() -> Rule {
    ended(Who::any(), &[How::NotStarted], FAIL, BUILT_IN)
}

/// What has succeeded stays so.
pub(crate) fn successes_stay() -> Rule {
    ended(Who::any(), &[How::Succeeded], Then::Keep, BUILT_IN)
}

/// Nothing is left that could finish the job: it fails. The last rule of every list.
pub(crate) fn nothing_left_fails() -> Rule {
    counted(Who::any(), Settled::Ended, Test::All, FAIL, BUILT_IN)
}

/// A task that has been created and does not run for so long fails the job.
pub(crate) fn start_timeout(seconds: u32, from: impl Into<Arc<str>>) -> Rule {
    let when = When::Down {
        who: Who::any(),
        why: vec![Down::FirstStart, Down::Again],
    };
    Rule {
        held: seconds,
        ..rule(when, FAIL, from)
    }
}

/// The template as the job keeps it: without what would tie its pods to another owner.
pub(crate) fn template(read: &PodTemplate) -> Template {
    let mut json = read.json.clone();
    if let Some(Value::Object(metadata)) = json.get_mut("metadata") {
        metadata.shift_remove("finalizers");
        metadata.shift_remove("ownerReferences");
    }
    Template(json.to_string().into())
}

/// Amounts as the job keeps them: in thousandths.
pub(crate) fn in_thousandths(resources: &Resources) -> BTreeMap<Arc<str>, i64> {
    resources
        .iter()
        .map(|(name, amount)| (name.clone(), amount.milli))
        .collect()
}
