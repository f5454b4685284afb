//! Events as sentences.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use signal_hook::low_level::signal_name;
use trainyard_core::TaskId;
use trainyard_local::run::event::{Life, ProgramEnd, RunEvent, What};
use trainyard_local::run::store::status::{TaskState, TaskStatus};
use trainyard_local::run::timestamp::Timestamp;

use super::view::View;
use crate::locale;
use crate::printer::{BAD, CAREFUL, GOOD, QUIET, STRONG};
use crate::report::count;
use crate::simulate::text;
use crate::visible;
use crate::wrap::wrap;

/// Our name, in the column of the tasks' names.
pub const NAME: &str = "trainyard";

/// With more tasks than this, normal starts and stops of single tasks are not reported.
const MANY: usize = 16;

/// A sentence.
#[derive(Debug, PartialEq, Eq)]
pub struct Sentence {
    /// With styles.
    pub text: String,
    /// Whether it is shown with `--quiet` too.
    pub matters: bool,
}

fn matters(text: String) -> Sentence {
    Sentence { text, matters: true }
}

fn remark(text: String) -> Sentence {
    Sentence { text, matters: false }
}

/// What later sentences about a job depend on.
#[derive(Debug)]
pub struct Narration {
    /// Stands before sentences if there are several jobs.
    job: Option<String>,
    tasks: usize,
    directory: Option<PathBuf>,
    started: BTreeMap<TaskId, Timestamp>,
    /// Why a task could not be started, as told last: of many tasks it is mostly the same.
    not_started: Option<(TaskId, String)>,
    all_run: bool,
}

impl Narration {
    /// Before the first event.
    pub fn new(job: &str, several: bool, tasks: usize) -> Self {
        Self {
            job: several.then(|| job.to_owned()),
            tasks,
            directory: None,
            started: BTreeMap::new(),
            not_started: None,
            all_run: false,
        }
    }

    /// Where everything about the run is kept, once that is known.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// What is to be said about an event; often nothing.
    pub fn tell(&mut self, event: &RunEvent) -> Option<Sentence> {
        let mut said = self.sentence(event)?;
        // Only how to start a task has several lines.
        if !matches!(event.what, What::DebugTask { .. }) {
            said.text = visible::line(&said.text).into_owned();
        }
        if let Some(job) = &self.job {
            said.text = format!("{STRONG}{job}{STRONG:#}: {}", said.text);
        }
        Some(said)
    }

    /// Says once that all of many tasks run: their starts were not told one by one.
    pub fn stand(&mut self, tasks: &[TaskStatus]) -> Option<Sentence> {
        let all = tasks.iter().all(|task| task.state == TaskState::Running);
        if self.all_run || self.tasks <= MANY || !all {
            return None;
        }
        self.all_run = true;
        let job = self.job.as_ref().map(|job| format!("{job}: "));
        let job = job.unwrap_or_default();
        Some(remark(format!("{job}all {} tasks run", tasks.len())))
    }

    fn sentence(&mut self, event: &RunEvent) -> Option<Sentence> {
        let said = match &event.what {
            What::RunStarted { directory, tasks, .. } => {
                self.directory = Some(directory.clone());
                let tasks = count(*tasks, "task");
                remark(format!(
                    "{tasks}; logs and status are kept in {}",
                    short(directory)
                ))
            }
            What::TaskStarted { life, init, port, .. } => {
                return self.started(event.time, life, init.as_deref(), *port);
            }
            What::TaskEnded { life, end, stopped } => return self.ended(event.time, life, end, *stopped),
            What::RestartsInPlace { life, seconds } => remark(format!(
                "{} restarts in place {} {QUIET}(restartPolicy){QUIET:#}",
                life.task,
                when(*seconds)
            )),
            What::Restarting {
                what,
                task,
                rule,
                paid,
                seconds,
            } => {
                let task = task.as_ref().map(ToString::to_string).filter(|task| task != what);
                let because = task
                    .map(|task| format!(", because of {task}"))
                    .unwrap_or_default();
                let rule = rule.as_ref().map(ToString::to_string);
                let (when, why) = (when(*seconds), reasons(rule, *paid));
                matters(format!(
                    "{CAREFUL}{what} is started again{CAREFUL:#} {when}{because}{why}"
                ))
            }
            What::Held { suspended } => {
                let job = &event.job;
                let state = if *suspended {
                    "suspended"
                } else {
                    "aborted and waits"
                };
                matters(format!(
                    "the job is {state}: `trainyard resume {job}` lets it run, `trainyard stop {job}` ends it"
                ))
            }
            What::Resumed => remark("the job is resumed".into()),
            What::Note { text } | What::DebugTask { text, .. } => {
                matters(format!("{CAREFUL}note{CAREFUL:#}: {text}"))
            }
            // A hint about a task begins with its name.
            What::Hint { text, .. } => matters(format!("{CAREFUL}hint{CAREFUL:#}: {text}")),
            What::TensorBoard { url } => matters(format!("TensorBoard: {STRONG}{url}{STRONG:#}")),
            What::RunEnded(_) => return None,
        };
        Some(said)
    }

    fn started(
        &mut self,
        at: Timestamp,
        life: &Life,
        init: Option<&str>,
        port: Option<u16>,
    ) -> Option<Sentence> {
        if let Some(container) = init {
            let text = format!("{} runs its init container {container}", life.task);
            return (self.tasks <= MANY).then(|| remark(text));
        }
        let again = self.started.insert(life.task.clone(), at).is_some();
        if self.tasks > MANY && !again {
            return None;
        }
        let word = if again { "started again" } else { "started" };
        let port = port.map_or_else(String::new, |port| format!(" {QUIET}(port {port}){QUIET:#}"));
        Some(remark(format!("{} {word}{port}", life.task)))
    }

    fn ended(&mut self, at: Timestamp, life: &Life, end: &ProgramEnd, stopped: bool) -> Option<Sentence> {
        let task = &life.task;
        let began = self.started.get(task).filter(|_| end.not_started.is_none());
        let after = began.map_or_else(String::new, |began| {
            format!(" after {}", lasted(at.since(*began).as_secs_f64()))
        });
        if stopped {
            let text = format!("{task} was stopped{after}");
            return (self.tasks <= MANY).then(|| remark(text));
        }
        if end.code == Some(0) {
            return Some(remark(format!("{task} {GOOD}succeeded{GOOD:#}{after}")));
        }
        let fate = super::summary::why(end);
        match &self.not_started {
            Some((first, told)) if first != task && *told == fate => {
                return Some(matters(format!(
                    "{BAD}{task} could not be started{BAD:#}, for the same reason as {first}"
                )));
            }
            _ if end.not_started.is_some() => self.not_started = Some((task.clone(), fate.clone())),
            _ => {}
        }
        Some(matters(format!("{BAD}{task} {fate}{BAD:#}{after}")))
    }
}

/// `failed: exit code 1`, `was killed by signal 9 (SIGKILL)`, `could not be started: …`.
pub fn fate(end: &ProgramEnd) -> String {
    let whose = end
        .container
        .as_ref()
        .map_or_else(String::new, |name| format!(" in its init container {name}"));
    match (&end.not_started, end.signal, end.code) {
        (Some(why), ..) => format!("could not be started{whose}: {why}"),
        (None, Some(signal), _) => {
            let name = signal_name(signal).map(|name| format!(" ({name})"));
            format!("was killed by signal {signal}{}{whose}", name.unwrap_or_default())
        }
        (None, None, Some(code)) => format!("failed{whose}: exit code {code}"),
        (None, None, None) => format!("failed{whose}"),
    }
}

/// ` (rule; not counted against the limit)`, as far as either applies.
fn reasons(rule: Option<String>, paid: bool) -> String {
    let free = (!paid).then(|| "not counted against the limit".to_owned());
    let reasons: Vec<String> = rule.into_iter().chain(free).collect();
    match reasons.as_slice() {
        [] => String::new(),
        reasons => format!(" {QUIET}({}){QUIET:#}", reasons.join("; ")),
    }
}

fn when(seconds: u32) -> String {
    match seconds {
        0 => "now".into(),
        seconds => format!("in {}", text::seconds(seconds.into())),
    }
}

/// `0.42s`, `7.3s`, `1m15s`.
pub fn lasted(seconds: f64) -> String {
    if seconds < 1.0 {
        format!("{seconds:.2}s")
    } else if seconds < 10.0 {
        format!("{seconds:.1}s")
    } else {
        Duration::try_from_secs_f64(seconds).map_or_else(|_| "?".into(), |time| text::seconds(time.as_secs()))
    }
}

/// That standard output cannot be written any more.
pub fn output_lost(error: &io::Error) -> String {
    let what = if error.kind() == io::ErrorKind::BrokenPipe {
        "the reader of the output has gone".to_owned()
    } else {
        format!("the output cannot be written: {error}")
    };
    format!("{CAREFUL}note{CAREFUL:#}: {what}; the run goes on, and its logs are kept")
}

/// The time before a line.
pub fn stamp(view: &View, now: Timestamp) -> String {
    view.dress(&format!("{QUIET}{now}{QUIET:#} "), view.out)
}

/// A path as people write it, from their home directory.
pub fn short(path: &Path) -> String {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match home.as_deref().map(|home| path.strip_prefix(home)) {
        Some(Ok(rest)) if home.as_deref() != Some(Path::new("/")) => format!("~/{}", rest.display()),
        _ => path.display().to_string(),
    }
}

/// A sentence as lines for standard error: after our name and, with `--timestamps`, the time; wrapped on a terminal.
pub fn block(view: &View, width: usize, at: Timestamp, text: &str) -> String {
    let time = view.timestamps.then(|| at.to_string());
    let room = if view.err.terminal {
        let time = time.as_ref().map_or(0, |time| time.len() + 1);
        locale::columns().saturating_sub(time + width + 3).max(20)
    } else {
        usize::MAX
    };
    let lines = text.lines().flat_map(|line| wrap(line, room));
    let mut page = String::new();
    for (position, line) in lines.enumerate() {
        if let Some(time) = &time {
            let _ = write!(page, "{QUIET}{time}{QUIET:#} ");
        }
        let name = if position == 0 { NAME } else { "" };
        let line = visible::line(&line);
        let _ = writeln!(page, "{STRONG}{name:<width$}{STRONG:#} {QUIET}│{QUIET:#} {line}");
    }
    view.dress(&page, view.err)
}
