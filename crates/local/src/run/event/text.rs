//! What `step` decided, for people: its events as [`What`], its verdict as a sentence.

use std::sync::Arc;

use trainyard_core::{Cause, Event, Hold, Job, Oddity, Outcome, Scope, TaskId, Time, Verdict};

use super::What;

/// An event of `step` as those who watch hear it; none for what the world has told already.
pub(crate) fn told(job: &Job, event: &Event, now: Time) -> Option<What> {
    match event {
        Event::Restarting {
            scope,
            task,
            rule,
            paid,
            not_before,
        } => Some(What::Restarting {
            what: what(scope, task.as_ref()),
            task: task.clone(),
            rule: rule.and_then(|at| field(job, at)),
            paid: *paid,
            seconds: u32::try_from(not_before.since(now)).unwrap_or(u32::MAX),
        }),
        Event::Unpaid { task, rule } => Some(What::Note {
            text: match field(job, *rule) {
                Some(field) => format!("no restart is left for {task}, which `{field}` would give it"),
                None => format!("no restart is left for {task}"),
            },
        }),
        Event::Held(hold) => Some(What::Held {
            suspended: *hold == Hold::Suspended,
        }),
        Event::Resumed => Some(What::Resumed),
        Event::Odd(oddity) => Some(What::Note { text: odd(oddity) }),
        // Nothing on one machine waits for a scheduler.
        Event::Started | Event::TaskEnded { .. } | Event::RolledBack { .. } | Event::Finished(_) => None,
    }
}

fn what(scope: &Scope, task: Option<&TaskId>) -> String {
    match (scope, task) {
        (Scope::Task, Some(task)) => task.to_string(),
        (Scope::Task, None) => "a task".to_owned(),
        (Scope::Roles(roles), _) => {
            let roles: Vec<&str> = roles.iter().map(trainyard_core::RoleName::as_str).collect();
            format!("every {}", roles.join(" and "))
        }
        (Scope::Job, _) => "the whole job".to_owned(),
    }
}

fn field(job: &Job, rule: u16) -> Option<Arc<str>> {
    job.rules.get(usize::from(rule)).map(|rule| rule.from.clone())
}

fn odd(oddity: &Oddity) -> String {
    match oddity {
        Oddity::NewerThanMemory(task) => {
            format!("{task} is newer than what is known of it, and is left alone")
        }
        Oddity::MemoryOfAnotherJob => "the stored memory belongs to another job".to_owned(),
        Oddity::MemoryOfAnotherFormat(format) => {
            format!("the stored memory was written by a newer version (format {format})")
        }
        Oddity::ClockBehind(seconds) => format!("the clock is behind by {seconds} s"),
        Oddity::MemoryDropped => "the memory of the job cannot be stored, so nothing is done".to_owned(),
    }
}

/// The task whose end gave a verdict.
pub(crate) fn decider(cause: &Cause) -> Option<&TaskId> {
    match cause {
        Cause::Rule { task, .. } | Cause::Restarts { task } => task.as_ref(),
        Cause::Deadline | Cause::Order => None,
    }
}

/// What gave a verdict, in a few words.
pub(crate) fn cause(job: &Job, verdict: &Verdict) -> String {
    match &verdict.cause {
        Cause::Rule { task, .. } if verdict.outcome == Outcome::Succeeded => match task {
            Some(task) => format!("{task}, the deciding task, exited 0"),
            None => "the deciding tasks exited 0".to_owned(),
        },
        // A rule that no manifest writes has no field to name.
        Cause::Rule {
            from,
            task: Some(task),
        } if &**from == "built in" => task.to_string(),
        Cause::Rule {
            from,
            task: Some(task),
        } => format!("{task}, by `{from}`"),
        Cause::Rule { from, task: None } => format!("`{from}`"),
        Cause::Restarts { task } => {
            let whose = task
                .as_ref()
                .map(|task| format!(" for {task}"))
                .unwrap_or_default();
            match job.limits.restarts {
                Some(1) => format!("no restart is left{whose}: the one of the job is used up"),
                Some(most @ 2..) => format!("no restart is left{whose}: all {most} of the job are used up"),
                _ => format!("no restart is left{whose}"),
            }
        }
        Cause::Deadline => match job.limits.deadline {
            Some(seconds) => format!("it ran longer than `activeDeadlineSeconds: {seconds}` allows"),
            None => "it ran longer than its deadline allows".to_owned(),
        },
        Cause::Order => "an order ended it".to_owned(),
    }
}
