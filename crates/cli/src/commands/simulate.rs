//! `trainyard simulate FILE`: plays a job with faults, without running it.

use std::fmt::Write as _;

use serde::Serialize;
use trainyard_core::sim::{self, Fault, Options, Rest, Script};
use trainyard_core::{Hold, Job, Outcome, TaskId};
use trainyard_dialect::ReadJob;
use trainyard_document::problem::shown;

use super::jobs;
use crate::args::{Format, Simulate};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::locale;
use crate::printer::{BAD, CAREFUL, GOOD, Printer, STRONG};
use crate::report::{JsonProblem, count, suggest};
use crate::simulate::faults::{known, lives};
use crate::simulate::{JsonRun, Run, story, svg, text, timeline};

/// Simulates each job of the file with the given faults, and shows the result.
pub fn run(typed: &Simulate, printer: &mut Printer) -> Result<Exit, Failure> {
    let (_, reading) = jobs::read(&typed.file, Exit::No, printer)?;
    let chosen = jobs::chosen(typed.job.as_deref(), &reading)?;
    let runs: Vec<Run<'_>> = chosen
        .into_iter()
        .map(|read| play(typed, read))
        .collect::<Result<_, _>>()?;
    if let Some(path) = &typed.svg {
        jobs::write_picture(path, &svg::render(&runs), printer)?;
    }
    if typed.output == Format::Json {
        printer.json(&SimulateOutput {
            jobs: runs.iter().map(json).collect(),
            problems: reading.problems.iter().map(Into::into).collect(),
        })?;
    } else if typed.svg.as_ref().is_none_or(|path| path.as_os_str() != "-") {
        show(typed, &runs, printer)?;
    }
    let all_succeed = runs.iter().all(|run| run.outcome() == Some(Outcome::Succeeded));
    Ok(Exit::no_if(
        !all_succeed || runs.is_empty() || reading.has_errors(),
    ))
}

/// The output as JSON.
#[derive(Serialize)]
struct SimulateOutput<'a> {
    jobs: Vec<JsonRun<'a>>,
    problems: Vec<JsonProblem>,
}

fn play<'a>(typed: &Simulate, read: &'a ReadJob) -> Result<Run<'a>, Failure> {
    let job = &read.job;
    let script = script(typed, job)?;
    let options = Options {
        run_for: typed.run_for,
        run: typed.runs_for,
        ..Options::default()
    };
    let played = sim::play(job, &script, &options);
    let ended = played
        .memory
        .as_ref()
        .is_some_and(|memory| memory.verdict.is_some());
    // A run without a result is drawn in full length.
    let (lanes, length) = timeline::lanes(job, &played.trace, if ended { 0 } else { played.played });
    let story = story::tell(job, &played.trace);
    Ok(Run {
        job,
        played,
        lanes,
        length,
        story,
    })
}

/// The faults of the arguments; names that the job does not have are errors.
fn script(typed: &Simulate, job: &Job) -> Result<Script, Failure> {
    let mut faults = [&typed.fail[..], &typed.evict].concat();
    for window in &typed.suspend {
        faults.push(Fault::Suspend { at: window.from });
        faults.extend(window.to.map(|at| Fault::Resume { at }));
    }
    faults.extend_from_slice(&typed.scale);
    for fault in &faults {
        match fault {
            Fault::EndsAt { task, .. } | Fault::Drained { task, .. } => known(job, task)?,
            Fault::Replicas { role, .. } if job.role(role).is_none() => {
                return Err(no_role(job, role.as_str()));
            }
            _ => {}
        }
    }
    for (who, seconds) in &typed.runs {
        for task in meant(job, who)? {
            faults.extend(lives(&task, *seconds));
        }
    }
    if let Some(seed) = typed.seed {
        faults.extend(sim::faults_for(job, &mut sim::Random::new(seed)).faults);
    }
    Ok(Script { faults })
}

/// The tasks of a role, or one task.
fn meant(job: &Job, who: &str) -> Result<Vec<TaskId>, Failure> {
    if let Some(role) = job.roles.iter().find(|role| role.name.as_str() == who) {
        return Ok(role.tasks().collect());
    }
    match who.parse::<TaskId>() {
        Ok(task) => known(job, &task).map(|()| vec![task]),
        Err(_) => Err(no_role(job, who)),
    }
}

fn no_role(job: &Job, who: &str) -> Failure {
    let roles: Vec<&str> = job.roles.iter().map(|role| role.name.as_str()).collect();
    let message = format!("job `{}` has no role or task `{}`", job.name, shown(who));
    Failure::usage(message, suggest("roles", who, &roles))
}

fn show(typed: &Simulate, runs: &[Run<'_>], printer: &mut Printer) -> Result<(), Failure> {
    let ascii = typed.ascii || !locale::is_utf8();
    let columns = locale::columns();
    for (position, run) in runs.iter().enumerate() {
        let page = format!(
            "{}{STRONG}{}{STRONG:#}, simulated\n\n{}\n{}\n{}",
            if position > 0 { "\n\n" } else { "" },
            run.job.name,
            text::lanes(&run.lanes, run.length, columns),
            text::story(&run.story),
            ending(run)
        );
        printer.page(&if ascii { locale::to_ascii(&page) } else { page })?;
    }
    Ok(())
}

/// The result, in a few lines.
fn ending(run: &Run<'_>) -> String {
    let mut page = String::new();
    let memory = run.played.memory.as_ref();
    let time = text::seconds(u64::from(run.after()));
    let (style, word) = match run.outcome() {
        Some(Outcome::Succeeded) => (GOOD, "Succeeded"),
        Some(Outcome::Failed) => (BAD, "Failed"),
        Some(Outcome::Terminated) => (CAREFUL, "Terminated"),
        None => (CAREFUL, "Unfinished"),
    };
    let paid = memory.map_or(0, |memory| memory.spent(run.job));
    let restarts = match run.job.limits.restarts {
        Some(limit) => format!("{paid} of {}", count(limit, "restart")),
        None => count(paid, "restart"),
    };
    let _ = writeln!(
        page,
        "{style}{word}{style:#} after {time}: {} created, {restarts} counted.",
        count(run.played.creates, "task")
    );
    let alive = run.alive();
    if !alive.is_empty() {
        let _ = writeln!(page, "Still running at the end: {}.", text::names(&alive));
    }
    page.push_str(match memory.and_then(|memory| memory.held) {
        Some(Hold::Suspended) => "It is suspended: nothing runs until it is resumed.\n",
        Some(Hold::Aborted) => "It is aborted: nothing runs until a command resumes it.\n",
        None => "",
    });
    if run.verdict().is_none() && run.played.rest == Rest::BrokenOff {
        let _ = writeln!(page, "The simulation stopped after {time}; see `--run-for`.");
    }
    if let Some(failure) = memory.and_then(|memory| memory.first_failure.as_ref()) {
        let _ = writeln!(
            page,
            "First failure: {}, attempt {}. {}",
            failure.task,
            failure.stamp.attempt,
            failure.exit.meaning()
        );
    }
    let unused = run.played.unused.iter();
    let unused = unused
        .filter(|fault| !matches!(fault, Fault::Ends { .. }))
        .count();
    if unused > 0 {
        let _ = writeln!(
            page,
            "{CAREFUL}note{CAREFUL:#}: {} had no effect: the job had ended or the task did not run.",
            count(unused, "fault")
        );
    }
    page
}

fn json<'a>(run: &'a Run<'_>) -> JsonRun<'a> {
    JsonRun {
        job: &run.job.name,
        outcome: run.outcome().map(|outcome| format!("{outcome:?}")),
        seconds: run.after(),
        creates: run.played.creates,
        alive: run.alive().iter().map(ToString::to_string).collect(),
        memory: run.played.memory.as_ref(),
        lanes: &run.lanes,
        story: &run.story,
        trace: &run.played.trace.entries,
        unused: &run.played.unused,
    }
}
