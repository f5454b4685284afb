//! Each rule as it stands, in order: when, then, and the field it comes from.

use std::sync::Arc;

use serde::Serialize;

use super::conditions;
use super::responses::Responses;
use super::subjects::{join, one_of};
use super::units::duration;
use crate::job::Job;
use crate::memory::Outcome;
use crate::rule::{Rule, Scope, Then, When};

/// One rule in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleWords {
    /// What it waits for: `chief-0 has exited 0`.
    pub when: String,
    /// What it does: `the job succeeds`.
    pub then: String,
    /// The field it comes from, or `built in`.
    pub from: Arc<str>,
    /// Why it can never be the rule that applies, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub never: Option<&'static str>,
    /// Why it is seldom the rule that applies, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rarely: Option<&'static str>,
}

/// Every rule of a job in words, in order.
#[must_use]
pub fn rules(job: &Job) -> Vec<RuleWords> {
    let responses = Responses::of(job);
    let words = |(position, rule): (usize, &Rule)| {
        let (often, seldom) = (responses.reached[position], responses.reached_rarely[position]);
        RuleWords {
            when: when_words(job, rule),
            then: then_words(job, &rule.then),
            from: rule.from.clone(),
            never: (!often && !seldom).then(|| why_never(job, position)),
            rarely: (!often && seldom).then_some("only if the pod itself fails"),
        }
    };
    job.rules.iter().enumerate().map(words).collect()
}

/// What a rule waits for.
#[must_use]
pub fn when_words(job: &Job, rule: &Rule) -> String {
    let words = match &rule.when {
        When::Ended { who, how } => {
            let end = format!("{} {}", one_of(job, who), join(&conditions::ways(how), "or"));
            match rule.held {
                0 => end,
                held => format!("{end}, and {} have passed", duration(held)),
            }
        }
        When::Count(counts) => conditions::counts(job, counts),
        When::Down { who, why } => conditions::down(job, who, why, rule.held),
        When::InPlace { who, at_least } => conditions::in_place(job, who, *at_least),
        When::GangBroken => "the scheduler has lost part of the gang".into(),
    };
    words.trim_end().into()
}

/// What a rule does.
#[must_use]
pub fn then_words(job: &Job, then: &Then) -> String {
    match then {
        Then::Keep => "it stays ended".into(),
        Then::Restart { scope, paid } => {
            let price = match (*paid, job.limits.restarts) {
                (true, Some(_)) => ", for one of the restarts left",
                (_, None) => "",
                (false, Some(_)) => ", at no cost",
            };
            format!("{}{price}", again(scope))
        }
        Then::Abort => "everything stops until it is resumed".into(),
        Then::Finish(outcome) => format!("the job {}", ends(*outcome)),
    }
}

fn again(scope: &Scope) -> String {
    match scope {
        Scope::Task => "it is started again".into(),
        Scope::Roles(roles) => {
            let names: Vec<String> = roles.iter().map(ToString::to_string).collect();
            format!("every task of {} is started again", join(&names, "and"))
        }
        Scope::Job => "all tasks are started again together".into(),
    }
}

/// How a job ends, as a verb.
pub fn ends(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Succeeded => "succeeds",
        Outcome::Failed => "fails",
        Outcome::Terminated => "is terminated",
    }
}

fn why_never(job: &Job, position: usize) -> &'static str {
    let rule = &job.rules[position];
    if job.limits.restarts == Some(0) && rule.then.is_paid() {
        return "no restart is allowed";
    }
    let meant = match &rule.when {
        When::Ended { who, .. } => super::subjects::how_many(job, who),
        _ => 1,
    };
    if meant == 0 {
        return "there is no such task";
    }
    let unlimited_before = job.rules[..position].iter().any(|before| before.then.is_paid());
    if unlimited_before && job.limits.restarts.is_none() {
        "restarts have no limit"
    } else {
        "a rule before it answers"
    }
}
