//! Policies become rules: Volcano's events, actions and its own end of a job, as an ordered list.
//!
//! The order is Volcano's: the policies of each task, then those of the job, then what happens without a policy.
//!
//! | event | rule |
//! |---|---|
//! | `PodFailed` | an end: failed; and disrupted, where no policy waits for `PodEvicted` |
//! | `PodEvicted` | an end: disrupted or vanished |
//! | `exitCode` | an end of the program's own with that code |
//! | `TaskCompleted` | all tasks of the role have succeeded |
//! | `TaskFailed` | restarts in place of the role, as many as the task's `maxRetry` |
//! | `Unknown` | the gang is broken |
//! | `PodPending` with `timeout` | down for so long, at the first start or a later one |
//! | `PodFailed`, `PodEvicted` with `timeout` | the end is kept, or the pod made anew; then down for so long |
//!
//! Every restart asked for by a policy draws on `maxRetry`; where none is left the job fails at once, so each such
//! rule is followed by one that fails.

use std::sync::Arc;

use trainyard_core::{Count, Down, How, Outcome, RoleName, Rule, Scope, Settled, Test, Then, When, Who};
use trainyard_document::codes::Code;

use super::from;
use super::policy::{Action, Event, Policy};
use super::spec::{Spec, Task};
use crate::compile::{
    BUILT_IN, FAIL, completes, counted, disrupted_restarts, ended, nothing_left_fails, restart, rule,
    successes_stay,
};

/// The rules of a job.
pub(super) fn compile(spec: &Spec<'_>) -> Vec<Rule> {
    let mut rules = Vec::new();
    if let Some(least) = spec.min_success {
        // Before the policies: successes that complete the job are not undone by a failure seen in the same moment.
        rules.push(completes(Who::any(), Test::AtLeast(least), from::MIN_SUCCESS));
    }
    for about in policies(spec) {
        of_policy(&mut rules, &about, spec);
    }
    without_policy(&mut rules, spec);
    at_the_end(&mut rules, spec);
    rules
}

/// A policy, and the tasks it is about.
struct About<'s, 'a> {
    policy: &'s Policy<'a>,
    tasks: &'s [Task<'a>],
    of_job: bool,
}

/// All policies in the order in which Volcano asks them.
fn policies<'s, 'a>(spec: &'s Spec<'a>) -> impl Iterator<Item = About<'s, 'a>> {
    let own = spec.tasks.iter().flat_map(|task| {
        task.policies.iter().map(move |policy| About {
            policy,
            tasks: std::slice::from_ref(task),
            of_job: false,
        })
    });
    let of_job = spec.policies.iter().map(|policy| About {
        policy,
        tasks: &spec.tasks,
        of_job: true,
    });
    own.chain(of_job)
}

impl About<'_, '_> {
    fn roles(&self) -> Vec<RoleName> {
        self.tasks.iter().map(|task| RoleName::new(&task.name)).collect()
    }

    /// Which tasks its rules are about, with the roles that a restart of the task takes: each task has a rule of its own
    /// where the action is about the task whose pod it was.
    fn targets(&self) -> Vec<(Who, Vec<RoleName>)> {
        let roles = self.roles();
        if self.of_job && self.policy.action != Action::RestartTask {
            return vec![(Who::any(), roles)];
        }
        roles
            .into_iter()
            .map(|role| (Who::role(&role), vec![role]))
            .collect()
    }
}

/// Whether a policy that is asked after this one, about the same tasks, waits for evictions.
///
/// A pod that others stopped is evicted for Volcano when it is deleted, and failed when it is not. Which of the two it
/// was cannot be told, so it is an eviction wherever some policy waits for one.
fn eviction_comes_later(about: &About<'_, '_>, spec: &Spec<'_>) -> bool {
    let list = match about.tasks {
        [own] if !about.of_job => &own.policies,
        _ => &spec.policies,
    };
    let position = list.iter().position(|policy| policy.from == about.policy.from);
    let after = &list[position.map_or(0, |position| position + 1)..];
    let of_job: &[Policy<'_>] = if about.of_job { &[] } else { &spec.policies };
    after
        .iter()
        .chain(of_job)
        .any(|policy| policy.waits_for(Event::PodEvicted))
}

/// The rules of one policy.
fn of_policy(rules: &mut Vec<Rule>, about: &About<'_, '_>, spec: &Spec<'_>) {
    let About {
        policy,
        tasks,
        of_job,
    } = about;
    let roles = about.roles();
    let evicted_later = eviction_comes_later(about, spec);
    for (who, roles) in about.targets() {
        ends(rules, policy, &who, &roles, evicted_later);
    }
    for (task, role) in tasks.iter().zip(&roles) {
        task_events(rules, policy, task, role);
    }
    if *of_job && policy.waits_for(Event::Unknown) {
        // No pod and no task is named by it: a restart of one would be of none, so it is the job's.
        let action = match policy.action {
            Action::RestartTask | Action::RestartPod => Action::RestartJob,
            other => other,
        };
        let broken = rule(When::GangBroken, Then::Keep, policy.from.clone());
        answer(rules, broken, action, &roles);
    }
}

/// What ends of single pods, and their being down, lead to.
fn ends(rules: &mut Vec<Rule>, policy: &Policy<'_>, who: &Who, roles: &[RoleName], evicted_later: bool) {
    let from = || policy.from.clone();
    let on = |how: &[How], then: Then| ended(who.clone(), how, then, from());
    if let Some(code) = policy.exit_code() {
        let held = policy.timeout.unwrap_or(0);
        let end = on(&[How::Codes(code, code)], Then::Keep);
        answer(rules, Rule { held, ..end }, policy.action, roles);
        return;
    }
    let failed = policy.waits_for(Event::PodFailed);
    let evicted = policy.waits_for(Event::PodEvicted);
    match policy.timeout {
        None if policy.action == Action::Resume => as_without_policy(rules, &on, failed, evicted),
        None if failed || evicted => {
            let mut how = Vec::new();
            how.extend(failed.then_some(How::Failed));
            how.extend((evicted || !evicted_later).then_some(How::Disrupted));
            how.extend(evicted.then_some(How::Vanished));
            answer(rules, on(&how, Then::Keep), policy.action, roles);
        }
        None => {}
        Some(held) => {
            as_without_policy(rules, &on, failed, evicted);
            let mut why = Vec::new();
            let pending = policy.waits_for(Event::PodPending);
            why.extend(pending.then_some(Down::FirstStart));
            why.extend((pending || evicted).then_some(Down::Again));
            why.extend(failed.then_some(Down::Failed));
            if why.is_empty() || policy.action == Action::Resume {
                return;
            }
            let who = who.clone();
            let down = rule(When::Down { who, why }, Then::Keep, from());
            answer(rules, Rule { held, ..down }, policy.action, roles);
        }
    }
}

/// The policy says nothing, yet, about these ends: a failed pod stays, a deleted one is made anew.
fn as_without_policy(rules: &mut Vec<Rule>, on: &impl Fn(&[How], Then) -> Rule, failed: bool, evicted: bool) {
    if evicted {
        let anew = restart(Scope::Task, false);
        rules.push(on(&[How::Disrupted, How::Vanished], anew));
    }
    if failed {
        rules.push(on(&[How::Failed], Then::Keep));
    }
}

/// What a task as a whole leads to.
fn task_events(rules: &mut Vec<Rule>, policy: &Policy<'_>, task: &Task<'_>, role: &RoleName) {
    let own = std::slice::from_ref(role);
    let who = || Who::role(role);
    // It is about the task; which of its pods was the last to add to it means nothing.
    let action = match policy.action {
        Action::RestartPod => Action::RestartTask,
        other => other,
    };
    if policy.waits_for(Event::TaskCompleted) {
        let completed = counted(
            who(),
            Settled::Succeeded,
            Test::All,
            Then::Keep,
            policy.from.clone(),
        );
        answer(rules, completed, action, own);
    }
    if policy.waits_for(Event::TaskFailed) {
        let when = When::InPlace {
            who: who(),
            at_least: task.max_retry,
        };
        answer(rules, rule(when, Then::Keep, policy.from.clone()), action, own);
    }
}

/// Adds what an action means for `when`; for a restart also what happens without one left.
fn answer(rules: &mut Vec<Rule>, when: Rule, action: Action, roles: &[RoleName]) {
    let then = match action {
        Action::Abort => Then::Abort,
        Action::RestartJob => restart(Scope::Job, true),
        Action::RestartTask => restart(Scope::Roles(roles.to_vec()), true),
        Action::RestartPod => restart(Scope::Task, true),
        Action::Terminate => Then::Finish(Outcome::Terminated),
        Action::Complete => Then::Finish(Outcome::Succeeded),
        // A level that is kept says nothing; an end is kept.
        Action::Resume if matches!(when.when, When::Ended { .. }) => Then::Keep,
        Action::Resume => return,
    };
    let paid = matches!(then, Then::Restart { .. });
    let fails = Rule {
        then: FAIL,
        from: from::MAX_RETRY.into(),
        ..when.clone()
    };
    rules.push(Rule { then, ..when });
    if paid {
        rules.push(fails);
    }
}

/// What happens to an end that no policy is about.
fn without_policy(rules: &mut Vec<Rule>, spec: &Spec<'_>) {
    let covered = |how: How| {
        let by = |task: &Task<'_>| {
            rules
                .iter()
                .any(|rule| answers(rule, &RoleName::new(&task.name), how))
        };
        spec.tasks.iter().all(by)
    };
    let disrupted = covered(How::Disrupted) && covered(How::Vanished);
    let failed = covered(How::Failed);
    if !disrupted {
        rules.push(disrupted_restarts(Who::any(), Scope::Task));
    }
    if !failed {
        rules.push(ended(Who::any(), &[How::Failed], Then::Keep, BUILT_IN));
    }
    rules.push(successes_stay());
}

/// Whether a rule always answers such an end of the role, whatever has been paid already.
fn answers(rule: &Rule, role: &RoleName, how: How) -> bool {
    let When::Ended { who, how: hows } = &rule.when else {
        return false;
    };
    let about = who.index.is_none() && who.role.as_ref().is_none_or(|name| name == role);
    let own_failure = matches!(how, How::Codes(..)) && hows.contains(&How::Failed);
    about && (hows.contains(&how) || own_failure) && !matches!(rule.then, Then::Restart { paid: true, .. })
}

/// Reports policies that never decide anything, since others before them answer all that they wait for.
pub(super) fn report_shadowed(rules: &[Rule], spec: &Spec<'_>) {
    let roles: Vec<RoleName> = spec.tasks.iter().map(|task| RoleName::new(&task.name)).collect();
    let policies = spec.tasks.iter().flat_map(|task| &task.policies);
    for policy in policies.chain(&spec.policies) {
        let own = |rule: &Rule| rule.from == policy.from;
        let mut made = rules.iter().enumerate().filter(|(_, rule)| own(rule)).peekable();
        let nothing = made.peek().is_none();
        if !nothing && made.all(|(position, rule)| is_shadowed(&rules[..position], rule, &roles)) {
            let message = "the policy never decides: others before it answer everything it waits for";
            let problem = policy.place.problem(Code::ShadowedRule, message);
            let hint = "put it before them, or remove it; a task's own policies come before the job's";
            policy.place.tell(problem.hint(hint));
        }
    }
}

fn is_shadowed(before: &[Rule], rule: &Rule, roles: &[RoleName]) -> bool {
    let When::Ended { who, how } = &rule.when else {
        return false;
    };
    let mut meant = roles
        .iter()
        .filter(|role| who.role.as_ref().is_none_or(|name| name == *role));
    meant.all(|role| {
        how.iter()
            .all(|how| before.iter().any(|rule| answers(rule, role, *how)))
    })
}

/// What Volcano makes of a job whose pods have all ended.
fn at_the_end(rules: &mut Vec<Rule>, spec: &Spec<'_>) {
    let all_ended = || Count {
        who: Who::any(),
        what: Settled::Ended,
        test: Test::All,
    };
    let also = |who: Who, test: Test, then: Then, from: Arc<str>| {
        let succeeded = Count {
            who,
            what: Settled::Succeeded,
            test,
        };
        rule(When::Count(vec![all_ended(), succeeded]), then, from)
    };
    if spec.min_success.is_some() {
        // Enough successes would have completed it before.
        let fails = nothing_left_fails();
        rules.push(Rule {
            from: from::MIN_SUCCESS.into(),
            ..fails
        });
        return;
    }
    if spec.min_available >= spec.tasks_min_available() {
        for task in spec.tasks.iter().filter(|task| task.min_available > 0) {
            let from = format!("spec.tasks[{}].minAvailable", task.position);
            let who = Who::role(&RoleName::new(&task.name));
            rules.push(also(who, Test::Below(task.min_available), FAIL, from.into()));
        }
    }
    let complete = Then::Finish(Outcome::Succeeded);
    let least = Test::AtLeast(spec.min_available);
    rules.push(also(Who::any(), least, complete, from::MIN_AVAILABLE.into()));
    rules.push(nothing_left_fails());
}
