//! `trainyard ps [JOB]`: the runs on this machine, or the tasks of one.

use std::fmt::Write as _;

use anstyle::Style;
use serde::Serialize;
use trainyard_document::problem::{escaped, shown};
use trainyard_local::run::event::{FirstFailure, ProgramEnd};
use trainyard_local::run::store::directory::{Home, JobRuns};
use trainyard_local::run::store::status::TaskStatus;
use trainyard_local::run::timestamp::Timestamp;

use super::lookup;
use crate::args::Format;
use crate::args::runs::Ps;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs::shown_path;
use crate::printer::{BAD, CAREFUL, GOOD, Printer, QUIET, STRONG};
use crate::table::{self, Cell};
use trainyard_local::run::store::state::{RunState, StoredRun, Unreadable};

/// Reads what is kept, and shows it.
pub fn run(typed: &Ps, printer: &mut Printer) -> Result<Exit, Failure> {
    let home = lookup::home()?;
    let found = match &typed.job {
        None => every_job(&home, typed.all)?,
        Some(name) => one_job(&lookup::job(&home, name)?, typed)?,
    };
    let now = Timestamp::now();
    match (typed.output, &typed.job, typed.all) {
        (Format::Json, ..) => printer.json(&PsJson {
            runs: found.runs.iter().map(JsonRun::of).collect(),
            unreadable: &found.unreadable,
        })?,
        (Format::Text, Some(_), false) => {
            for run in &found.runs {
                printer.page(&tasks(run, now))?;
            }
        }
        (Format::Text, ..) if found.runs.is_empty() && found.unreadable.is_empty() => {
            printer.say("no runs are stored: `trainyard run FILE` starts one")?;
        }
        (Format::Text, ..) => printer.page(&runs(&found.runs, now))?,
    }
    for unreadable in &found.unreadable {
        printer.warning(&unreadable.message, None)?;
    }
    Ok(Exit::no_if(!found.unreadable.is_empty()))
}

/// What was found, newest first.
#[derive(Default)]
struct Listing {
    runs: Vec<StoredRun>,
    unreadable: Vec<Unreadable>,
}

impl Listing {
    fn add(&mut self, read: Result<StoredRun, Unreadable>) {
        match read {
            Ok(run) => self.runs.push(run),
            Err(unreadable) => self.unreadable.push(unreadable),
        }
    }

    fn add_job(&mut self, job: &JobRuns, all: bool) {
        let mut listed = match job.runs() {
            Ok(runs) => runs,
            Err(error) => return self.unreadable.push(Unreadable::explain(&error)),
        };
        let Some(newest) = listed.pop() else { return };
        self.add(StoredRun::read(newest, job.is_running()));
        if all {
            let older = listed.into_iter();
            older.for_each(|run| self.add(StoredRun::read(run, false)));
        }
    }
}

fn every_job(home: &Home, all: bool) -> Result<Listing, Failure> {
    let mut found = Listing::default();
    for job in home.jobs()? {
        found.add_job(&job, all);
    }
    found.runs.sort_by(|a, b| {
        let newest_first = b.file.started.cmp(&a.file.started);
        newest_first.then_with(|| a.file.job.cmp(&b.file.job))
    });
    Ok(found)
}

fn one_job(job: &JobRuns, typed: &Ps) -> Result<Listing, Failure> {
    let mut found = Listing::default();
    if typed.all {
        found.add_job(job, true);
        found.runs.sort_by_key(|run| std::cmp::Reverse(run.file.started));
    } else {
        found.add(job.read(lookup::run(job, typed.run.as_deref())?));
    }
    Ok(found)
}

fn style(word: &str) -> Style {
    match word {
        "succeeded" => GOOD,
        "failed" => BAD,
        "interrupted" | "restarting" | "stopping" | "suspended" => CAREFUL,
        "stopped" | "waiting" => QUIET,
        _ => Style::new(),
    }
}

fn state_cell(word: &str) -> Cell {
    Cell::styled(word, style(word))
}

/// One line a run.
fn runs(runs: &[StoredRun], now: Timestamp) -> String {
    let rows: Vec<_> = runs
        .iter()
        .map(|run| {
            [
                Cell::styled(shown(&run.file.job), STRONG),
                run.directory.id().into(),
                shown(&run.file.kind).into(),
                state_cell(run.state.word()),
                tally(run).map_or_else(table::nothing, Cell::from),
                restarts(run).to_string().into(),
                table::age(now.since(run.file.started)).into(),
                seconds(run).map_or_else(table::nothing, |seconds| table::took(seconds).into()),
            ]
        })
        .collect();
    let head = ["JOB", "RUN", "KIND", "STATE", "TASKS", "RESTARTS", "AGE", "TOOK"];
    table::render(head, rows)
}

/// `3/4 running`: how many of the tasks stand as the run does; `1 succeeded, 3 stopped` once it has ended.
fn tally(run: &StoredRun) -> Option<String> {
    let tasks = run.tasks();
    if run.status.as_ref().is_some_and(|status| status.end.is_some()) {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for word in tasks.iter().map(|task| run.task_word(task)) {
            match counts.iter_mut().find(|(known, _)| *known == word) {
                Some((_, count)) => *count += 1,
                None => counts.push((word, 1)),
            }
        }
        counts.sort_by_key(|(word, _)| *word != run.state.word());
        let counts: Vec<String> = counts
            .iter()
            .map(|(word, count)| format!("{count} {word}"))
            .collect();
        return (!counts.is_empty()).then(|| counts.join(", "));
    }
    let word = match run.state {
        RunState::Suspended => "running",
        other => other.word(),
    };
    let so = tasks.iter().filter(|task| run.task_word(task) == word).count();
    (!tasks.is_empty()).then(|| format!("{so}/{} {word}", tasks.len()))
}

fn restarts(run: &StoredRun) -> u64 {
    run.tasks().iter().map(|task| u64::from(task.restarts)).sum()
}

/// How long it took, once it has ended and said so.
fn seconds(run: &StoredRun) -> Option<f64> {
    let end = run.status.as_ref()?.end.as_ref()?;
    Some(end.seconds)
}

/// A run and its tasks.
fn tasks(run: &StoredRun, now: Timestamp) -> String {
    let mut text = about(run, now);
    let rows: Vec<_> = run
        .tasks()
        .iter()
        .map(|task| {
            let or_nothing = |text: Option<String>| text.map_or_else(table::nothing, Cell::from);
            [
                Cell::styled(task.task.to_string(), STRONG),
                state_cell(run.task_word(task)),
                format!("{}.{}", task.epoch, task.attempt).into(),
                task.restarts.to_string().into(),
                table::age(now.since(task.since)).into(),
                or_nothing(task.port.map(|port| port.to_string())),
                or_nothing(task.end.as_ref().and_then(exit)),
                or_nothing(task.log.as_deref().map(shown_path)),
            ]
        })
        .collect();
    if !rows.is_empty() {
        let head = [
            "TASK", "STATE", "ATTEMPT", "RESTARTS", "AGE", "PORT", "EXIT", "LOG",
        ];
        text.push('\n');
        text.push_str(&table::render(head, rows));
    }
    text
}

/// What there is to know about the run itself.
fn about(run: &StoredRun, now: Timestamp) -> String {
    let mut text = String::new();
    let mut line = |name: &str, what: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{QUIET}{name:<12}{QUIET:#}{what}");
    };
    let source = run.file.source.as_deref().map(escaped);
    let from = source.map_or_else(String::new, |source| format!(", from {source}"));
    let (job, kind) = (shown(&run.file.job), shown(&run.file.kind));
    line("job", &format!("{STRONG}{job}{STRONG:#} ({kind}{from})"));
    let (id, age) = (run.directory.id(), table::age(now.since(run.file.started)));
    line("run", &format!("{id}, begun {age} ago"));
    let word = run.state.word();
    let state = style(word);
    let after = seconds(run).map_or_else(String::new, |seconds| format!(" after {}", table::took(seconds)));
    let end = run.status.as_ref().and_then(|status| status.end.as_ref());
    let why = match (run.state, end) {
        (RunState::Interrupted, _) => ": it was killed, or the machine stopped; nothing of it runs".into(),
        (_, Some(end)) if !end.cause.is_empty() => format!(": {}", escaped(&end.cause)),
        _ => String::new(),
    };
    line("state", &format!("{state}{word}{state:#}{after}{why}"));
    if let Some(failure) = end.and_then(|end| end.first_failure.as_ref()) {
        let FirstFailure {
            life, end, meaning, ..
        } = failure;
        line("cause", &format!("{}: {}", life.task, escaped(meaning)));
        if let Some(help) = end.cause.as_ref().and_then(|cause| cause.help.as_ref()) {
            line("help", &escaped(help));
        }
    }
    let url = run.status.as_ref().and_then(|status| status.tensorboard.as_ref());
    if let Some(url) = url.filter(|_| run.state.is_running()) {
        line("TensorBoard", &shown(url));
    }
    line("kept in", &shown_path(&run.directory.path));
    text
}

/// `0`, `137`, `not started`.
fn exit(end: &ProgramEnd) -> Option<String> {
    let not_started = end.not_started.as_ref().map(|_| "not started".to_owned());
    end.code.map(|code| code.to_string()).or(not_started)
}

/// The answer for programs.
#[derive(Serialize)]
struct PsJson<'a> {
    runs: Vec<JsonRun<'a>>,
    unreadable: &'a [Unreadable],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonRun<'a> {
    job: &'a str,
    run: String,
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    state: RunState,
    started: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_failure: Option<&'a FirstFailure>,
    restarts: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tensorboard: Option<&'a str>,
    directory: String,
    tasks: &'a [TaskStatus],
}

impl<'a> JsonRun<'a> {
    fn of(run: &'a StoredRun) -> Self {
        let status = run.status.as_ref();
        let end = status.and_then(|status| status.end.as_ref());
        Self {
            job: &run.file.job,
            run: run.directory.id(),
            kind: &run.file.kind,
            source: run.file.source.as_deref(),
            state: run.state,
            started: run.file.started,
            ended: status.and_then(|status| status.ended),
            seconds: seconds(run),
            cause: end.map(|end| &*end.cause),
            first_failure: end.and_then(|end| end.first_failure.as_ref()),
            restarts: restarts(run),
            tensorboard: status.and_then(|status| status.tensorboard.as_deref()),
            directory: run.directory.path.display().to_string(),
            tasks: run.tasks(),
        }
    }
}
