//! `trainyard plan FILE`: what a manifest means, before anything runs.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;
use trainyard_core::{Cluster, TaskId, addresses};
use trainyard_dialect::ReadJob;
use trainyard_document::problem::{Problem, shown};

use super::jobs;
use crate::args::{Format, Plan};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::locale;
use crate::plan::{JobPlan, JsonPlan, svg, text};
use crate::printer::Printer;
use crate::report::JsonProblem;

/// Reads the file, tells its problems, and shows each job that can be used.
pub fn run(typed: &Plan, printer: &mut Printer) -> Result<Exit, Failure> {
    let reading = match jobs::read(&typed.file, printer)? {
        Ok(reading) => reading,
        Err(exit) => return Ok(exit),
    };
    let jobs = jobs::chosen(typed.job.as_deref(), &reading)?;
    if let Some(task) = &typed.tf_config {
        if jobs.is_empty() {
            return Ok(Exit::No);
        }
        printer.data(&tf_config(task, &jobs)?)?;
        printer.data("\n")?;
        return Ok(if reading.has_errors() {
            Exit::No
        } else {
            Exit::Success
        });
    }
    let plans: Vec<JobPlan<'_>> = jobs.iter().copied().map(JobPlan::of).collect();
    if let Some(path) = typed.svg.as_ref().filter(|_| !plans.is_empty()) {
        jobs::write_picture(path, &svg::render(&plans), printer)?;
    }
    // A picture on standard output is the data; nothing else may stand there.
    if typed.svg.as_deref() != Some(Path::new("-")) {
        show(typed, &plans, &reading.problems, printer)?;
    }
    let failed = reading.has_errors() || plans.is_empty();
    Ok(if failed { Exit::No } else { Exit::Success })
}

/// The whole answer as JSON.
#[derive(Serialize)]
struct Answer {
    jobs: Vec<JsonPlan>,
    problems: Vec<JsonProblem>,
}

fn show(
    typed: &Plan,
    plans: &[JobPlan<'_>],
    problems: &[Problem],
    printer: &mut Printer,
) -> Result<(), Failure> {
    if typed.output == Format::Json {
        return printer.json(&Answer {
            jobs: plans.iter().map(Into::into).collect(),
            problems: problems.iter().map(Into::into).collect(),
        });
    }
    let ascii = typed.ascii || !locale::is_utf8();
    for (position, plan) in plans.iter().enumerate() {
        let between = if position > 0 { "\n\n" } else { "" };
        printer.page(between)?;
        printer.page(&text::render(plan, locale::columns(), ascii))?;
    }
    Ok(())
}

/// The exact bytes for one task.
fn tf_config(typed: &str, jobs: &[&ReadJob]) -> Result<String, Failure> {
    let found: Vec<&ReadJob> = jobs
        .iter()
        .copied()
        .filter(|read| task(typed, read).is_some())
        .collect();
    let (read, id) = match found.as_slice() {
        [read] => match task(typed, read) {
            Some(id) => (*read, id),
            None => return Err(no_such_task(typed, jobs)),
        },
        [] => return Err(no_such_task(typed, jobs)),
        [..] => {
            let names: Vec<&str> = found.iter().map(|read| &*read.job.name).collect();
            let message = format!("several jobs have a task `{}`", shown(typed));
            let hint = format!("choose one with `--job NAME`: {}", names.join(", "));
            return Err(Failure::usage(message, Some(hint)));
        }
    };
    let cluster = Cluster::of(&read.job, &addresses(&read.job, None));
    cluster.tf_config(&id).ok_or_else(|| {
        let message = format!("`{id}` gets no TF_CONFIG: it runs alone, or the manifest makes its own");
        Failure::usage(message, None)
    })
}

/// The task of that name: `worker-1`, or as the pod is called, `mnist-worker-1`.
fn task(typed: &str, read: &ReadJob) -> Option<TaskId> {
    let short = typed
        .strip_prefix(&*read.job.name)
        .and_then(|rest| rest.strip_prefix('-'));
    [Some(typed), short]
        .into_iter()
        .flatten()
        .filter_map(|text| text.parse::<TaskId>().ok())
        .find(|id| {
            read.job
                .role(&id.role)
                .is_some_and(|(_, role)| id.index < role.replicas)
        })
}

fn no_such_task(typed: &str, jobs: &[&ReadJob]) -> Failure {
    let mut list = String::new();
    for role in jobs.iter().flat_map(|read| &read.job.roles) {
        let separator = if list.is_empty() { "" } else { ", " };
        let name = &role.name;
        // Writing to a String cannot fail.
        let _ = match role.replicas {
            0 => Ok(()),
            1 => write!(list, "{separator}{name}-0"),
            2 => write!(list, "{separator}{name}-0, {name}-1"),
            replicas => write!(list, "{separator}{name}-0 … {name}-{}", replicas - 1),
        };
    }
    Failure::usage(
        format!("there is no task `{}`", shown(typed)),
        Some(format!("the tasks are {list}")),
    )
}
