//! Why a job failed, for its conditions, events and summary: the task that failed first, the cause, what helps, and the command that
//! shows its log. A kind puts its own words before.

use serde_json::Value;
use trainyard_core::{
    Cause, Clean, Exit, Failure, Job, Memory, Observed, Outcome, Seen, TaskId, Verdict, task_name,
};

/// Longest text, in characters: a message of a condition or event.
const LONGEST: usize = 800;

/// What ended a job that has failed, beyond the words of its kind; none where nothing is known.
#[must_use]
pub fn why_ended(job: &Job, memory: &Memory, observed: &Observed) -> Option<String> {
    let verdict = memory
        .verdict
        .as_ref()
        .filter(|it| it.outcome == Outcome::Failed)?;
    let words = match &verdict.cause {
        Cause::Order => return None,
        Cause::Deadline => past_deadline(job)?,
        cause if cause.exceeded().is_some() => return None,
        Cause::Rule { .. } | Cause::Restarts { .. } => first_failure(job, memory, observed, verdict)?,
    };
    Some(cut(&words))
}

/// The words about a job that ran longer than it may.
fn past_deadline(job: &Job) -> Option<String> {
    let seconds = job.limits.deadline?;
    Some(format!(
        "It ran longer than `activeDeadlineSeconds: {seconds}` allows; help: raise it, or find out what takes so long \
         (`kubectl logs`, `status.waiting` before its end)"
    ))
}

fn first_failure(job: &Job, memory: &Memory, observed: &Observed, verdict: &Verdict) -> Option<String> {
    let failure = memory.first_failure.as_ref()?;
    let decided = verdict.cause.task().filter(|task| **task != failure.task);
    let mut words = String::new();
    if let Some(task) = decided {
        words = format!("{task} decided; the first to fail was ");
    }
    words += &of_failure(job, memory, observed, failure);
    let helps = failure
        .exit
        .cause
        .as_ref()
        .is_some_and(|cause| cause.help.is_some());
    if matches!(verdict.cause, Cause::Restarts { .. }) && !helps {
        words = format!(
            "{}; help: mend what fails, or allow more restarts",
            words.trim_end_matches('.')
        );
    }
    Some(words)
}

/// `worker-1: ModuleNotFoundError: No module named 'pandas' (train.py:2); help: …; log: …`.
fn of_failure(job: &Job, memory: &Memory, observed: &Observed, failure: &Failure) -> String {
    let Failure { task, exit, .. } = failure;
    let mut words = format!("{task}: {}", explained(exit));
    if let Some(command) = log_command(job, memory, observed, failure) {
        words = format!("{}; log: `{command}`", words.trim_end_matches('.'));
    }
    words
}

/// What an end means and what helps.
#[must_use]
pub fn explained(exit: &Exit) -> String {
    let meaning = exit.meaning();
    match exit.cause.as_ref().and_then(|cause| cause.help.as_ref()) {
        Some(help) => format!("{}; help: {help}", meaning.trim_end_matches('.')),
        None => meaning,
    }
}

/// The command that shows what the program of a failed task printed, as long as its pod is there.
#[must_use]
pub fn log_command(job: &Job, memory: &Memory, observed: &Observed, failure: &Failure) -> Option<String> {
    let Failure { task, stamp, exit } = failure;
    let is_its_pod = |seen: &&trainyard_core::TaskSeen| {
        seen.id == *task && seen.stamp == *stamp && !matches!(seen.state, Seen::Gone(_))
    };
    let is_kept = memory.stamp(task) == *stamp && job.clean != Clean::All;
    let ran = !exit.never_ran || exit.container.is_some();
    if !is_kept || !ran || !observed.tasks.iter().any(|seen| is_its_pod(&seen)) {
        return None;
    }
    let container = match &exit.container {
        Some(init) => Some(init.to_string()),
        None => main_container(job, task),
    };
    let container = container.map_or_else(String::new, |name| format!(" -c {name}"));
    let (pod, namespace) = (task_name(job, task), &job.namespace);
    Some(format!("kubectl logs {pod}{container} -n {namespace}"))
}

/// The name of the container that is the task: `tensorflow`, else the first. None where the template is not known any more.
fn main_container(job: &Job, task: &TaskId) -> Option<String> {
    let (_, role) = job.role(&task.role)?;
    let template: Value = serde_json::from_str(&role.template.0).ok()?;
    let containers = template.pointer("/spec/containers")?.as_array()?;
    let mut names = containers
        .iter()
        .filter_map(|container| container["name"].as_str());
    let first = names.clone().next();
    names
        .find(|name| *name == "tensorflow")
        .or(first)
        .map(str::to_owned)
}

/// The words, as far as a condition has room.
#[must_use]
fn cut(words: &str) -> String {
    match words.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}
