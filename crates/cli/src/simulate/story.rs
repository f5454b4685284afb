//! The trace as sentences: events of the same kind in the same second are one line, with the rule that
//! applied.

use serde::Serialize;
use trainyard_core::sim::{Entry, Happened, StopReason, Trace};
use trainyard_core::{
    Cause, Ending, Event, Exit, Fixture, Hold, How, Job, Ordered, Outcome, RoleName, Scope, TaskId, Then,
    Verdict, Why,
};

use super::text::names;

/// One line of the story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Seconds since the start of the run.
    pub at: u32,
    pub tone: Tone,
    pub text: String,
}

/// How a line is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Tone {
    Plain,
    Good,
    Bad,
    Careful,
    Quiet,
}

/// The events in order; those of the same kind in the same second are combined.
pub fn tell(job: &Job, trace: &Trace) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut group: Option<(u32, String, Tone, Vec<TaskId>)> = None;
    for entry in &trace.entries {
        let told = together(entry);
        if let (Some((at, words, _, tasks)), Some((task, next, _))) = (&mut group, &told)
            && *at == entry.at
            && *words == *next
        {
            tasks.push((*task).clone());
            continue;
        }
        let by_itself = if told.is_none() { alone(job, entry) } else { None };
        if told.is_none() && by_itself.is_none() {
            // An entry without a line does not end the group.
            continue;
        }
        lines.extend(group.take().map(finish));
        group = told.map(|(task, words, tone)| (entry.at, words, tone, vec![task.clone()]));
        lines.extend(by_itself);
    }
    lines.extend(group.map(finish));
    lines
}

fn finish((at, words, tone, tasks): (u32, String, Tone, Vec<TaskId>)) -> Line {
    Line {
        at,
        tone,
        text: format!("{} {words}", names(&tasks)),
    }
}

/// Events that can be combined for several tasks.
fn together(entry: &Entry) -> Option<(&TaskId, String, Tone)> {
    let told = match &entry.what {
        Happened::Created { task, stamp } if stamp.attempt > 0 || stamp.epoch > 0 => {
            let life = match (stamp.epoch, stamp.attempt) {
                (0, attempt) => format!("attempt {attempt}"),
                (epoch, 0) => format!("epoch {epoch}"),
                (epoch, attempt) => format!("epoch {epoch}, attempt {attempt}"),
            };
            (task, format!("created again ({life})"), Tone::Plain)
        }
        Happened::Created { task, .. } => (task, "created".into(), Tone::Plain),
        Happened::Started {
            task, in_place: 0, ..
        } => (task, "started".into(), Tone::Plain),
        Happened::Started { task, .. } => (task, "started again in place".into(), Tone::Plain),
        Happened::Ended { task, exit, .. } => ended(task, exit),
        Happened::Stopped { task, why, .. } => (task, stopped(*why).into(), Tone::Quiet),
        _ => return None,
    };
    Some(told)
}

fn ended<'a>(task: &'a TaskId, exit: &Exit) -> (&'a TaskId, String, Tone) {
    let code = exit
        .code
        .map_or_else(String::new, |code| format!(" with exit code {code}"));
    match Ending::of(Some(exit)) {
        Ending::Succeeded => (task, "finished with exit code 0".into(), Tone::Good),
        Ending::Disrupted | Ending::Vanished => {
            (task, format!("ended{code} after a request to stop"), Tone::Quiet)
        }
        Ending::NotStarted => (task, "could not be started".into(), Tone::Bad),
        Ending::Failed(_) => {
            let is_memory = exit.why == Why::OutOfMemory;
            let memory = if is_memory { ", out of memory" } else { "" };
            (task, format!("failed{code}{memory}"), Tone::Bad)
        }
    }
}

fn stopped(why: StopReason) -> &'static str {
    match why {
        StopReason::Asked => "asked to stop (evicted, drained)",
        StopReason::Restarted => "removed: a newer attempt replaces it",
        StopReason::ScaledAway => "stopped: the job has fewer replicas now",
        StopReason::Held(Hold::Suspended) => "stopped: the job is suspended",
        StopReason::Held(Hold::Aborted) => "stopped: the job is aborted",
        StopReason::Settled => "stopped: its task has ended",
        StopReason::CleanUp => "stopped by clean-up",
        StopReason::LostNode => "deleted by force: its node does not respond",
    }
}

/// Events with a line of their own; `None` for those that another line covers.
fn alone(job: &Job, entry: &Entry) -> Option<Line> {
    let (tone, text) = match &entry.what {
        Happened::RestartsInPlace { task, times, wait } => (
            Tone::Careful,
            format!("{task} restarts in place ({}) in {wait} s", ordinal(*times)),
        ),
        Happened::NodeLost { task } => (Tone::Bad, format!("the node of {task} does not respond")),
        Happened::NodeBack { task } => (Tone::Plain, format!("the node of {task} responds again")),
        Happened::GangOpened => (Tone::Plain, "the gang is admitted".into()),
        Happened::GangBroken => (Tone::Bad, "part of the gang is lost".into()),
        Happened::Ensured(Fixture::Gang) => (Tone::Quiet, "the gang's group is created".into()),
        Happened::SuspendSet(true) => (Tone::Careful, "the job is suspended".into()),
        Happened::SuspendSet(false) => (Tone::Plain, "the job is resumed".into()),
        Happened::ReplicasSet { role, from, to } => (
            Tone::Careful,
            format!("the replicas of {role} are changed from {from} to {to}"),
        ),
        Happened::Ordered(what) => (Tone::Careful, format!("command: {}", order(*what))),
        Happened::JobDeleted => (Tone::Quiet, "the job is deleted: its time to live is over".into()),
        Happened::Decided(event) => decided(job, event, entry.at)?,
        _ => return None,
    };
    Some(Line {
        at: entry.at,
        tone,
        text,
    })
}

fn decided(job: &Job, event: &Event, at: u32) -> Option<(Tone, String)> {
    Some(match event {
        Event::Restarting {
            scope,
            task,
            rule,
            paid,
            not_before,
        } => {
            let what = match (scope, task) {
                (Scope::Task, Some(task)) => task.to_string(),
                (Scope::Task, None) => "it".into(),
                (Scope::Roles(roles), _) => {
                    let roles: Vec<&str> = roles.iter().map(RoleName::as_str).collect();
                    format!("every {}", roles.join(" and "))
                }
                (Scope::Job, _) => "the whole job".into(),
            };
            let cost = if *paid { "counted" } else { "not counted" };
            let wait = match not_before.0.saturating_sub(u64::from(at)) {
                0 => "at once".into(),
                seconds => format!("in {}", super::text::seconds(seconds)),
            };
            (
                Tone::Careful,
                format!("→ {what} restarts {wait}; {cost}{}", by_rule(job, *rule)),
            )
        }
        Event::TaskEnded {
            task,
            how: How::Vanished,
            ..
        } => (Tone::Bad, format!("{task} is gone; how it ended is unknown")),
        Event::Unpaid { task, .. } => (Tone::Bad, format!("→ no restart is left for {task}")),
        Event::Held(Hold::Aborted) => (
            Tone::Careful,
            "→ the job is aborted and waits for a command to resume".into(),
        ),
        Event::Finished(verdict) => finished(job, verdict),
        Event::Odd(oddity) => (Tone::Careful, format!("odd: {oddity:?}")),
        // No scheduler keeps a simulated task waiting.
        Event::Held(Hold::Suspended)
        | Event::Started
        | Event::Resumed
        | Event::RolledBack { .. }
        | Event::TaskEnded { .. } => {
            return None;
        }
    })
}

/// The result and its cause.
pub fn finished(job: &Job, verdict: &Verdict) -> (Tone, String) {
    let (tone, word) = match verdict.outcome {
        Outcome::Succeeded => (Tone::Good, "succeeds"),
        Outcome::Failed => (Tone::Bad, "fails"),
        Outcome::Terminated => (Tone::Careful, "is terminated"),
    };
    let why = match &verdict.cause {
        Cause::Rule { from, task } => {
            let then = Then::Finish(verdict.outcome);
            let mut rules = job.rules.iter();
            let position = rules.position(|rule| rule.from == *from && rule.then == then);
            let rule = by_rule(job, position.and_then(|at| u16::try_from(at).ok()));
            let task = task.as_ref().map(|task| format!(", because of {task}"));
            format!("{}{rule}", task.unwrap_or_default())
        }
        Cause::Restarts { task: Some(task) } => format!(": no restart is left for {task}"),
        Cause::Restarts { task: None } => ": no restart is left".into(),
        Cause::Deadline => ": it exceeded its deadline".into(),
        Cause::Order => ": by a command".into(),
    };
    (tone, format!("⇒ the job {word}{why}"))
}

fn by_rule(job: &Job, rule: Option<u16>) -> String {
    let Some(position) = rule else {
        return String::new();
    };
    match job.rules.get(usize::from(position)) {
        Some(rule) => format!(" (rule {}: {})", position + 1, rule.from),
        None => String::new(),
    }
}

fn order(what: Ordered) -> &'static str {
    match what {
        Ordered::RestartJob { .. } => "restart the job",
        Ordered::Finish(Outcome::Succeeded) => "complete the job",
        Ordered::Finish(_) => "end the job",
        Ordered::Abort => "abort the job",
        Ordered::Resume { .. } => "resume the job",
        Ordered::Nothing => "do nothing",
    }
}

fn ordinal(number: u32) -> String {
    let suffix = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{suffix} time")
}
