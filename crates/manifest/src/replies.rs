//! What a Job does when its pods end, from the job's rules.
//!
//! ```text
//! start again, paid     → Count      (backoffLimit)
//! start again, free     → Ignore
//! the job fails         → FailJob
//! it stays ended        → FailIndex  (backoffLimitPerIndex)
//! ```
//!
//! A `podFailurePolicy` cannot express more; [`notes`](crate::notes) says what is missing.

use serde_json::{Value, json};
use trainyard_core::{Ending, InPlace, Job, Outcome, Role, Then};

/// The largest number of restarts that Kubernetes can count.
pub const WITHOUT_LIMIT: u32 = 2_147_483_647;
/// The exit code that container runtimes report for a program that could not be started.
const NOT_STARTED: i32 = 128;

/// What a Job does when a pod of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reply {
    /// A new pod, which costs a restart.
    Again,
    /// A new pod, which costs nothing.
    Free,
    /// The Job fails, with all its pods.
    Ends,
    /// This index has failed; the others go on.
    Stays,
}

impl Reply {
    fn action(self) -> &'static str {
        match self {
            Self::Again => "Count",
            Self::Free => "Ignore",
            Self::Ends => "FailJob",
            Self::Stays => "FailIndex",
        }
    }
}

/// What the Job of one role does, for every way in which a pod can end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replies {
    /// To an eviction, a preemption or a drain.
    pub disrupted: Reply,
    /// To each exit code from 1 to 255, in order.
    pub codes: Vec<Reply>,
    /// How many restarts it may pay for.
    pub limit: u32,
    /// Restarts are counted per index, and the others go on when one index has failed for good.
    pub per_index: bool,
}

impl Replies {
    /// Those of a role. The last task stands for all: the first may be the one that decides.
    #[must_use]
    pub fn of(job: &Job, role: &Role) -> Self {
        Self::to(job, role, role.replicas.saturating_sub(1), role.replicas == 1)
    }

    /// Those of one task, `alone` where its Job has no other.
    #[must_use]
    pub fn to(job: &Job, role: &Role, index: u32, alone: bool) -> Self {
        let can_pay = job.limits.restarts != Some(0);
        let ending = |code| match code {
            NOT_STARTED => Ending::NotStarted,
            code => Ending::Failed(Some(code)),
        };
        let ask = |ending, can_pay| match reply(job, role, index, ending, can_pay) {
            // For a single index both mean the same, and older clusters know only `FailJob`.
            Reply::Stays if alone => Reply::Ends,
            reply => reply,
        };
        let codes: Vec<Reply> = (1..=255).map(|code| ask(ending(code), can_pay)).collect();
        let disrupted = ask(Ending::Disrupted, can_pay);
        let pays = codes.contains(&Reply::Again);
        let mut paid = (1..=255).zip(&codes).filter(|(_, reply)| **reply == Reply::Again);
        let stays = codes.contains(&Reply::Stays)
            || disrupted == Reply::Stays
            || job.limits.restarts.is_some()
                && paid.any(|(code, _)| ask(ending(code), false) == Reply::Stays);
        let free = role.in_place != InPlace::Never && !job.limits.count_in_place;
        let limit = match job.limits.restarts {
            _ if !pays && disrupted != Reply::Again => 0,
            Some(limit) if !free || !pays => limit,
            _ => WITHOUT_LIMIT,
        };
        Self {
            disrupted,
            codes,
            limit,
            per_index: stays,
        }
    }

    /// Whether some end is answered with a new pod that costs something.
    #[must_use]
    pub fn restarts(&self) -> bool {
        self.codes.contains(&Reply::Again) || self.disrupted == Reply::Again
    }

    /// What a Job does about an exit code that none of its rules names.
    fn usual(&self) -> Reply {
        match (self.restarts(), self.per_index) {
            (true, _) => Reply::Again,
            (false, true) => Reply::Stays,
            (false, false) => Reply::Ends,
        }
    }

    /// The field of a Job's spec that [`Replies::limit`] belongs to.
    #[must_use]
    pub fn limit_field(&self) -> &'static str {
        if self.per_index {
            "backoffLimitPerIndex"
        } else {
            "backoffLimit"
        }
    }

    /// The `podFailurePolicy` of a Job whose main container has this name.
    #[must_use]
    pub fn policy(&self, main: &str) -> Value {
        // First: a pod that was drained has an exit code too, and it means nothing.
        let mut rules = vec![json!({
            "action": self.disrupted.action(),
            "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }],
        })];
        rules.extend(self.code_rules(main));
        json!({ "rules": rules })
    }

    /// One rule per reply, but for the usual one.
    fn code_rules(&self, main: &str) -> Vec<Value> {
        let usual = self.usual();
        let with = |wanted: Reply| -> Vec<usize> {
            let codes = (1..).zip(&self.codes).filter(|(_, reply)| **reply == wanted);
            codes.map(|(code, _)| code).collect()
        };
        let others = [Reply::Free, Reply::Ends, Reply::Stays, Reply::Again];
        let others: Vec<(Reply, Vec<usize>)> = others
            .into_iter()
            .filter(|reply| *reply != usual)
            .map(|reply| (reply, with(reply)))
            .filter(|(_, codes)| !codes.is_empty())
            .collect();
        let usual_codes = with(usual);
        let rule = |(reply, codes): &(Reply, Vec<usize>)| {
            // With two replies in all, the shorter list says the same.
            let turned = others.len() == 1 && usual_codes.len() < codes.len();
            let (operator, values) = match (turned, usual_codes.is_empty()) {
                (false, _) => ("In", codes.as_slice()),
                (true, false) => ("NotIn", usual_codes.as_slice()),
                // Every code but 0, which is no failure.
                (true, true) => ("NotIn", [0].as_slice()),
            };
            let on = json!({ "containerName": main, "operator": operator, "values": values });
            json!({ "action": reply.action(), "onExitCodes": on })
        };
        others.iter().map(rule).collect()
    }
}

/// What the job's rules make of one end.
fn reply(job: &Job, role: &Role, index: u32, ending: Ending, can_pay: bool) -> Reply {
    if role.in_place != InPlace::Never && matches!(ending, Ending::Failed(_)) {
        let spent = job.limits.count_in_place && !can_pay;
        return if spent { Reply::Ends } else { Reply::Again };
    }
    let rule = job.answer(&role.name, index, ending, can_pay);
    match rule.map(|rule| &rule.then) {
        Some(Then::Restart { paid: true, .. }) => Reply::Again,
        Some(Then::Restart { paid: false, .. }) => Reply::Free,
        Some(Then::Finish(Outcome::Failed | Outcome::Terminated) | Then::Abort) => Reply::Ends,
        Some(Then::Keep | Then::Finish(Outcome::Succeeded)) | None => Reply::Stays,
    }
}
