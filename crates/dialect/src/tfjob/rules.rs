//! The rule list of a `TFJob`.
//!
//! ```text
//! 1 the deciding tasks have succeeded  → complete           successPolicy
//! 2 disrupted or vanished              → restart, free      built in
//! 3 not started                        → fail               built in
//! 4 failed, as the role's policy says  → restart, paid      restartPolicy
//! 5 failed                             → fail (or keep)     restartPolicy (or enableDynamicWorker)
//! 6 not running for too long           → fail               startTimeoutSeconds
//! 7 succeeded                          → keep
//! 8 everything has ended               → fail               built in
//! ```

use std::sync::Arc;

use trainyard_core::{How, RoleKind, Rule, Scope, Settled, Test, Then, Who};

use super::annotations::Wishes;
use super::roles::{Replica, Restart, name};
use super::run_policy::RestartScope;
use super::spec::{Spec, Success};
use crate::compile::{
    BUILT_IN, FAIL, completes, counted, disrupted_restarts, ended, not_started_fails, nothing_left_fails,
    restart, start_timeout, successes_stay,
};

/// The rules, first match first.
pub(super) fn compile(spec: &Spec<'_>, wishes: &Wishes<'_>) -> Vec<Rule> {
    let groups = groups(spec);
    let mut rules = vec![success(spec)];
    rules.extend(disruptions(spec));
    rules.push(not_started_fails());
    rules.extend(groups.iter().flat_map(|group| group.restarts(spec, wishes)));
    rules.extend(groups.iter().map(|group| group.last_word(spec)));
    if spec.dynamic_workers && spec.coordinator().is_none() {
        // Failed workers are kept, and parameter servers never end: without this the job would run for ever.
        let workers = Who::role(&name(RoleKind::Worker));
        rules.push(counted(workers, Settled::Ended, Test::All, FAIL, BUILT_IN));
    }
    if let Some((seconds, from)) = &spec.run.start_timeout {
        rules.push(start_timeout(*seconds, from.clone()));
    }
    rules.push(successes_stay());
    rules.push(nothing_left_fails());
    rules
}

/// The chief's or master's success, else worker 0's or every worker's.
pub(crate) fn success(spec: &Spec<'_>) -> Rule {
    let who = spec.deciders();
    let test = who.index.map_or(Test::All, |_| Test::AtLeast(1));
    let from = match spec.success {
        Success::Default => spec.success_path,
        Success::AllWorkers => "spec.successPolicy",
        Success::Task(..) => "spec.terminationPolicy.chief",
    };
    completes(who, test, from)
}

/// A task that is stopped from outside starts again, with the tasks that restart together with it.
pub(crate) fn disruptions(spec: &Spec<'_>) -> Vec<Rule> {
    let any = |scope| disrupted_restarts(Who::any(), scope);
    match &spec.run.scope {
        RestartScope::Replica => vec![any(Scope::Task)],
        RestartScope::Job => vec![any(Scope::Job)],
        RestartScope::Roles(_) => {
            let inside = spec.replicas.iter().filter_map(|replica| {
                let scope = scope_of(replica.kind, spec);
                (scope != Scope::Task).then(|| disrupted_restarts(Who::role(&name(replica.kind)), scope))
            });
            inside.chain([any(Scope::Task)]).collect()
        }
    }
}

/// What the restart of a task of this role takes with it.
pub(crate) fn scope_of(kind: RoleKind, spec: &Spec<'_>) -> Scope {
    match spec.run.scope.of(kind) {
        RestartScope::Replica => Scope::Task,
        RestartScope::Job => Scope::Job,
        RestartScope::Roles(_) => {
            let together = spec.replicas.iter().map(|replica| replica.kind);
            let together = together.filter(|kind| spec.run.scope.of(*kind) != RestartScope::Replica);
            Scope::Roles(together.map(name).collect())
        }
    }
}

/// Roles that are treated alike.
struct Group {
    who: Who,
    restart: Restart,
    scope: Scope,
    dynamic: bool,
    from: Arc<str>,
}

/// All roles as one group where they are alike, else one each.
fn groups(spec: &Spec<'_>) -> Vec<Group> {
    let group = |replica: &Replica<'_>| Group {
        who: Who::role(&name(replica.kind)),
        restart: replica.restart,
        scope: scope_of(replica.kind, spec),
        dynamic: spec.dynamic_workers && replica.kind == RoleKind::Worker,
        from: replica.from.clone(),
    };
    let groups: Vec<Group> = spec.replicas.iter().map(group).collect();
    let Some(first) = groups.first() else {
        return groups;
    };
    let alike = |other: &Group| {
        (other.restart, &other.scope, other.dynamic) == (first.restart, &first.scope, first.dynamic)
    };
    if !groups.iter().all(alike) {
        return groups;
    }
    let from = match &spec.replicas[..] {
        [only] => only.from.clone(),
        _ => spec.restart_path.into(),
    };
    vec![Group {
        who: Who::any(),
        restart: first.restart,
        scope: first.scope.clone(),
        dynamic: first.dynamic,
        from,
    }]
}

impl Group {
    /// Which failures start something again.
    fn restarts(&self, spec: &Spec<'_>, wishes: &Wishes<'_>) -> Vec<Rule> {
        let together = self.scope != Scope::Task;
        let again = |how: &[How]| {
            let then = restart(self.scope.clone(), true);
            ended(self.who.clone(), how, then, self.from.clone())
        };
        match self.restart {
            Restart::Never => Vec::new(),
            // A peer's exit code says nothing about the peer: it may have died of the first one's death. With a
            // limit every failure may be tried again; without one a script's error would loop for ever.
            Restart::ExitCode if together && spec.run.backoff_limit.is_some() => vec![again(&[How::Failed])],
            Restart::ExitCode => vec![again(&wishes.retryable)],
            // In place the world does it; where tasks restart together nothing may restart by itself.
            Restart::Always if together => {
                let alone = restart(Scope::Task, true);
                let succeeded = ended(self.who.clone(), &[How::Succeeded], alone, self.from.clone());
                vec![again(&[How::Failed]), succeeded]
            }
            Restart::OnFailure | Restart::Always => vec![again(&[How::Failed])],
        }
    }

    /// What becomes of a failure that starts nothing again.
    fn last_word(&self, spec: &Spec<'_>) -> Rule {
        if self.dynamic {
            let workers = if spec.replicas.len() == 1 {
                Who::any()
            } else {
                Who::role(&name(RoleKind::Worker))
            };
            return ended(workers, &[How::Failed], Then::Keep, "spec.enableDynamicWorker");
        }
        ended(self.who.clone(), &[How::Failed], FAIL, self.from.clone())
    }
}
