//! `trainyard plan FILE`: explains a manifest.

use std::path::Path;

use serde::Serialize;
use trainyard_core::{Cluster, TaskId, addresses};
use trainyard_dialect::ReadJob;
use trainyard_document::problem::{Problem, shown};

use super::{jobs, lookup};
use crate::args::{Format, Plan};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::locale;
use crate::plan::{JobPlan, JsonPlan, svg, text};
use crate::printer::Printer;
use crate::report::JsonProblem;
use crate::simulate::text::names;

/// Reads the file, reports its problems, and explains each valid job.
pub fn run(typed: &Plan, printer: &mut Printer) -> Result<Exit, Failure> {
    let (_, reading) = jobs::read(&typed.file, Exit::No, printer)?;
    let jobs = jobs::chosen(typed.job.as_deref(), &reading)?;
    if let Some(task) = &typed.tf_config {
        if jobs.is_empty() {
            return Ok(Exit::No);
        }
        printer.data(&tf_config(task, &jobs)?)?;
        printer.data("\n")?;
        return Ok(Exit::no_if(reading.has_errors()));
    }
    let plans: Vec<JobPlan<'_>> = jobs.iter().copied().map(JobPlan::of).collect();
    if let Some(path) = typed.svg.as_ref().filter(|_| !plans.is_empty()) {
        jobs::write_picture(path, &svg::render(&plans), printer)?;
    }
    // With a picture on standard output, nothing else may be written there.
    if typed.svg.as_deref() != Some(Path::new("-")) {
        show(typed, &plans, &reading.problems, printer)?;
    }
    Ok(Exit::no_if(reading.has_errors() || plans.is_empty()))
}

/// The output as JSON.
#[derive(Serialize)]
struct PlanOutput<'a> {
    jobs: Vec<JsonPlan<'a>>,
    problems: Vec<JsonProblem>,
}

fn show(
    typed: &Plan,
    plans: &[JobPlan<'_>],
    problems: &[Problem],
    printer: &mut Printer,
) -> Result<(), Failure> {
    if typed.output == Format::Json {
        return printer.json(&PlanOutput {
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

/// The `TF_CONFIG` of one task.
fn tf_config(typed: &str, jobs: &[&ReadJob]) -> Result<String, Failure> {
    let found: Vec<(&ReadJob, TaskId)> = jobs
        .iter()
        .filter_map(|read| Some((*read, task(typed, read)?)))
        .collect();
    let (read, id) = match found.as_slice() {
        [found] => found,
        [] => return Err(no_such_task(typed, jobs)),
        [..] => {
            let names: Vec<&str> = found.iter().map(|(read, _)| &*read.job.name).collect();
            let message = format!("several jobs have a task `{}`", shown(typed));
            let hint = format!("choose one with `--job NAME`: {}", names.join(", "));
            return Err(Failure::usage(message, hint));
        }
    };
    let cluster = Cluster::of(&read.job, &addresses(&read.job, None));
    cluster.tf_config(id).ok_or_else(|| {
        let message = format!("`{id}` has no TF_CONFIG: {}", read.why_no_tf_config());
        Failure::usage(message, None)
    })
}

fn task(typed: &str, read: &ReadJob) -> Option<TaskId> {
    let exists = |id: &TaskId| read.job.tasks().any(|task| task == *id);
    lookup::task_named(typed, &read.job.name, exists)
}

fn no_such_task(typed: &str, jobs: &[&ReadJob]) -> Failure {
    let tasks: Vec<TaskId> = jobs.iter().flat_map(|read| read.job.tasks()).collect();
    Failure::usage(
        format!("no task `{}`", shown(typed)),
        format!("the tasks are {}", names(&tasks)),
    )
}
