//! What a Job answers to the ends of its pods, from the job's rules.
//!
//! ```text
//! start again, paid     → Count      (backoffLimit)
//! start again, free     → Ignore
//! the job fails         → FailJob
//! it stays ended        → FailIndex  (backoffLimitPerIndex)
//! ```
//!
//! A `podFailurePolicy` can say no more: what it cannot is for [`notes`](crate::notes) to tell.

use serde_json::{Map, Value, json};
use trainyard_core::{Ending, InPlace, Job, Outcome, Role, Then};

/// Kubernetes counts in signed numbers; nobody lives to see so many restarts.
pub const WITHOUT_LIMIT: u32 = 2_147_483_647;
/// What container runtimes report for a program that could not be started.
const NOT_STARTED: i32 = 128;

/// One answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reply {
    /// A new pod, and one restart fewer is left.
    Again,
    /// A new pod, for nothing.
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

/// The answers of one role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replies {
    /// To an end that somebody else wanted.
    pub disrupted: Reply,
    /// To each exit code from 1 to 255, in order.
    pub codes: Vec<Reply>,
    /// How many restarts there are.
    pub limit: u32,
    /// Failures are counted for each index, and others go on when one has failed for good.
    pub per_index: bool,
}

impl Replies {
    /// The answers of a role. The last task stands for all: the first may be the one that decides.
    #[must_use]
    pub fn of(job: &Job, role: &Role) -> Self {
        Self::to(job, role, role.replicas.saturating_sub(1), role.replicas == 1)
    }

    /// The answers to one task, `alone` where its Job has no other.
    #[must_use]
    pub fn to(job: &Job, role: &Role, index: u32, alone: bool) -> Self {
        let can_pay = job.limits.restarts != Some(0);
        let ending = |code| match code {
            NOT_STARTED => Ending::NotStarted,
            code => Ending::Failed(Some(code)),
        };
        let ask = |ending, can_pay| {
            let reply = reply(job, role, index, ending, can_pay);
            // With one index alone both are the same, and older clusters know only one.
            if alone && reply == Reply::Stays {
                Reply::Ends
            } else {
                reply
            }
        };
        let codes: Vec<Reply> = (1..=255).map(|code| ask(ending(code), can_pay)).collect();
        let disrupted = ask(Ending::Disrupted, can_pay);
        let paid: Vec<i32> = (1..=255)
            .zip(&codes)
            .filter(|(_, reply)| **reply == Reply::Again)
            .map(|(code, _)| code)
            .collect();
        let in_the_end = |code: &i32| ask(ending(*code), false);
        let stays = codes.contains(&Reply::Stays)
            || disrupted == Reply::Stays
            || job.limits.restarts.is_some() && paid.iter().any(|code| in_the_end(code) == Reply::Stays);
        let free = role.in_place != InPlace::Never && !job.limits.count_in_place;
        let limit = match job.limits.restarts {
            _ if paid.is_empty() && disrupted != Reply::Again => 0,
            Some(limit) if !free || paid.is_empty() => limit,
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

    /// What a Job does about an exit code that no rule of its names.
    fn usual(&self) -> Reply {
        match (self.restarts(), self.per_index) {
            (true, _) => Reply::Again,
            (false, true) => Reply::Stays,
            (false, false) => Reply::Ends,
        }
    }

    /// Writes them into the spec of a Job.
    pub fn write(&self, spec: &mut Map<String, Value>, main: &str) {
        let limit = if self.per_index {
            "backoffLimitPerIndex"
        } else {
            "backoffLimit"
        };
        spec.insert(limit.into(), self.limit.into());
        // First: a pod that was drained has an exit code too, and it means nothing.
        let mut rules = vec![json!({
            "action": self.disrupted.action(),
            "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }],
        })];
        rules.extend(self.code_rules(main));
        spec.insert("podFailurePolicy".into(), json!({ "rules": rules }));
    }

    /// A rule for every answer that is not the usual one.
    fn code_rules(&self, main: &str) -> Vec<Value> {
        let usual = self.usual();
        let with = |wanted: Reply| -> Vec<usize> {
            let codes = self.codes.iter().enumerate();
            codes
                .filter(|(_, reply)| **reply == wanted)
                .map(|(at, _)| at + 1)
                .collect()
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
            // With two answers in all, the shorter list says the same.
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

/// What a rule's answer becomes.
fn reply(job: &Job, role: &Role, index: u32, ending: Ending, can_pay: bool) -> Reply {
    if role.in_place != InPlace::Never && matches!(ending, Ending::Failed(_)) {
        let spent = job.limits.count_in_place && !can_pay;
        return if spent { Reply::Ends } else { Reply::Again };
    }
    match job
        .answer(&role.name, index, ending, can_pay)
        .map(|rule| &rule.then)
    {
        Some(Then::Restart { paid: true, .. }) => Reply::Again,
        Some(Then::Restart { paid: false, .. }) => Reply::Free,
        Some(Then::Finish(Outcome::Failed | Outcome::Terminated) | Then::Abort) => Reply::Ends,
        Some(Then::Keep | Then::Finish(Outcome::Succeeded)) | None => Reply::Stays,
    }
}
