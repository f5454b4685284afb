//! Which Job's completion is the job's success.

use serde_json::{Value, json};
use trainyard_core::{Count, Job, Outcome, Role, RoleName, Rule, Settled, Test, Then, When, Who};

/// A condition that is met when a Job is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decider {
    /// Every task of the role has succeeded.
    Role(RoleName),
    /// That one task of the role has.
    Task(RoleName, u32),
    /// So many of the role have.
    Some(RoleName, u32),
}

impl Decider {
    /// The role whose Job it is.
    #[must_use]
    pub fn role(&self) -> &RoleName {
        match self {
            Self::Role(role) | Self::Task(role, _) | Self::Some(role, _) => role,
        }
    }
}

/// How a job succeeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Success<'a> {
    /// The first way of succeeding, where Jobs can say it: all of these.
    pub deciders: Vec<Decider>,
    /// The rules that no Job can say.
    pub unsaid: Vec<&'a Rule>,
}

impl<'a> Success<'a> {
    /// How this job succeeds.
    #[must_use]
    pub fn of(job: &'a Job) -> Self {
        let mut out = Self::default();
        let rules = job
            .rules
            .iter()
            .filter(|rule| rule.then == Then::Finish(Outcome::Succeeded));
        for rule in rules {
            match deciders(job, rule) {
                Some(deciders) if out.deciders.is_empty() => out.deciders = deciders,
                // The success of all roles is implied by the earlier rule.
                Some(deciders) if deciders.len() == peopled(job).count() => {}
                _ => out.unsaid.push(rule),
            }
        }
        out
    }

    /// Whether the Job of this role decides.
    #[must_use]
    pub fn is_decided_by(&self, role: &RoleName) -> bool {
        self.deciders.iter().any(|decider| decider.role() == role)
    }

    /// The `successPolicy` of a role's Job, where it needs one. It stops the role's other tasks.
    #[must_use]
    pub fn policy(&self, role: &Role) -> Option<Value> {
        let mut deciders = self.deciders.iter();
        let decider = deciders.find(|decider| *decider.role() == role.name)?;
        let rule = match decider {
            Decider::Role(_) => return None,
            Decider::Task(_, index) => json!({ "succeededIndexes": index.to_string() }),
            Decider::Some(_, count) => json!({ "succeededCount": count }),
        };
        Some(json!({ "rules": [rule] }))
    }
}

fn peopled(job: &Job) -> impl Iterator<Item = &Role> {
    job.roles.iter().filter(|role| role.replicas > 0)
}

/// What a rule waits for, as Jobs say it.
fn deciders(job: &Job, rule: &Rule) -> Option<Vec<Decider>> {
    let When::Count(counts) = &rule.when else {
        return None;
    };
    let the_end = Count {
        who: Who::any(),
        what: Settled::Ended,
        test: Test::All,
    };
    let waits: Vec<&Count> = counts.iter().filter(|count| **count != the_end).collect();
    let waits_for_the_end = waits.len() < counts.len();
    let [count] = waits.as_slice() else { return None };
    if count.what != Settled::Succeeded {
        return None;
    }
    let roles: Vec<&Role> = match &count.who.role {
        Some(name) => job.role(name).map(|(_, role)| role).into_iter().collect(),
        None => peopled(job).collect(),
    };
    let size: u64 = roles.iter().map(|role| u64::from(role.replicas)).sum();
    let whole = || {
        roles
            .iter()
            .map(|role| Decider::Role(role.name.clone()))
            .collect()
    };
    match (count.who.index, count.test, roles.as_slice()) {
        (None, Test::All, _) => Some(whole()),
        (None, Test::AtLeast(least), _) if u64::from(least) == size => Some(whole()),
        _ if waits_for_the_end => None,
        (None, Test::AtLeast(least), [role]) => Some(vec![Decider::Some(role.name.clone(), least)]),
        (Some(_), _, [role]) if role.replicas == 1 => Some(whole()),
        (Some(index), Test::AtLeast(1) | Test::All, [role]) => {
            Some(vec![Decider::Task(role.name.clone(), index)])
        }
        _ => None,
    }
}
