//! A run for the tests: starts the tasks of a plan in the namespaces that this machine allows and says what happens.
//!
//! `fake-run PLAN` is the outer process. The supervisor starts every task, says one line for each event and each line
//! of output, and ends when all tasks are gone. The first signal stops the tasks, the second kills them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, mpsc};

use serde::Deserialize;
use trainyard_core::{Stamp, TaskId};
use trainyard_local::logs::pump::{LogBlock, LogSink, LogSource, LogTrouble};
use trainyard_local::process::environment;
use trainyard_local::process::launch::{Ended, Launch, Life, Mount, Program, TaskChange, TaskEvent};
use trainyard_local::process::task::{Running, SpawnContext, spawn};
use trainyard_local::sandbox::isolation::Isolation;
use trainyard_local::sandbox::mounts::Tree;
use trainyard_local::sandbox::ports::Ports;
use trainyard_local::sandbox::probe;
use trainyard_local::supervisor::inner::{self, NewSupervisor};
use trainyard_local::supervisor::outer;
use trainyard_local::supervisor::outer::{Split, SupervisorEnd};
use trainyard_local::supervisor::reexec::{Reexec, enter};
use trainyard_local::system::signals::SignalKind;

type Anyhow<T> = Result<T, Box<dyn std::error::Error>>;

#[derive(Deserialize)]
struct Plan {
    run: String,
    directory: PathBuf,
    isolation: Option<String>,
    #[serde(default)]
    isolate: bool,
    #[serde(default)]
    allow_missing_mounts: bool,
    /// Output goes there, prefixed, and is not said.
    merged: Option<PathBuf>,
    #[serde(default)]
    exit: u8,
    tasks: Vec<Task>,
}

#[derive(Deserialize)]
struct Task {
    #[serde(rename = "task")]
    id: String,
    #[serde(default)]
    init: Vec<Part>,
    main: Part,
    #[serde(default)]
    beside: Vec<Part>,
    grace: Option<u32>,
}

#[derive(Deserialize)]
struct Part {
    name: String,
    argv: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    workdir: Option<PathBuf>,
    #[serde(default)]
    mounts: Vec<(PathBuf, PathBuf, bool)>,
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let result = match enter(&arguments) {
        Some(Reexec::Finished(code)) => return ExitCode::from(code),
        Some(Reexec::Background(_)) => return ExitCode::from(98),
        None => start(&arguments),
    };
    result.unwrap_or_else(|error| {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        say(&format!("error {text}"));
        ExitCode::from(98)
    })
}

fn say(line: &str) {
    let _ = io::stdout().write_all(format!("{line}\n").as_bytes());
}

fn read(path: &OsString) -> Anyhow<Plan> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

/// Takes ports, says them, and keeps them until there is something to read.
fn take_ports(count: &OsString) -> Anyhow<ExitCode> {
    let mut ports = Ports::new("the same for all");
    let count = count.to_str().ok_or("how many?")?.parse()?;
    let taken: Vec<String> = (0..count)
        .map(|_| ports.take().map(|port| port.to_string()))
        .collect::<Result<_, _>>()?;
    say(&taken.join(" "));
    io::stdin().read_line(&mut String::new())?;
    Ok(ExitCode::SUCCESS)
}

fn start(arguments: &[OsString]) -> Anyhow<ExitCode> {
    if let [verb, count] = arguments
        && verb == "take-ports"
    {
        return take_ports(count);
    }
    let plan = read(arguments.first().ok_or("which plan?")?)?;
    let isolation = if let Some(isolation) = &plan.isolation {
        Isolation::parse(isolation).ok_or("no set of namespaces")?
    } else {
        let probed = probe::probe(plan.isolate)?;
        if let Some(sentence) = probed.not_covered() {
            say(&format!("not covered: {sentence}"));
        }
        probed.isolation
    };
    say(&format!("isolation {isolation}"));
    let outside = match outer::fork_supervisor(&plan.run, isolation)? {
        Split::Supervisor(inside) => return supervise(inside, isolation, plan),
        Split::Outer(outside) => outside,
    };
    match outside.wait()? {
        SupervisorEnd::Code(code) => Ok(ExitCode::from(u8::try_from(code)?)),
        SupervisorEnd::Signal(signal) => {
            say(&format!("supervisor killed by {signal}"));
            Ok(ExitCode::from(97))
        }
    }
}

enum Happened {
    Task(TaskEvent),
    Signal(SignalKind),
}

fn supervise(inside: NewSupervisor, isolation: Isolation, plan: Plan) -> Anyhow<ExitCode> {
    let inner = inner::prepare(inside)?;
    let exit_report = inner.exit_report();
    let (sender, happened) = mpsc::channel();
    let signals = sender.clone();
    let signal_listener = inner.signal_listener(move |notice| {
        drop(signals.send(Happened::Signal(notice)));
    });
    signal_listener.spawn()?;
    let context = Arc::new(context(&plan, isolation, sender)?);
    let mut running = BTreeMap::new();
    for task in plan.tasks {
        let launch = launch(task)?;
        running.insert(launch.life.task.clone(), spawn(launch, &context)?);
    }
    say("up");
    let mut asked = false;
    while !running.is_empty() {
        match happened.recv()? {
            Happened::Signal(notice) => {
                say(&format!("signal {notice:?}"));
                let stop = if asked { Running::kill } else { Running::terminate };
                asked = true;
                running.values().for_each(stop);
            }
            Happened::Task(event) => {
                say(&format!("{} {}", event.life.task, words(&event.change)));
                if event.change == TaskChange::Gone
                    && let Some(task) = running.remove(&event.life.task)
                {
                    task.wait();
                }
            }
        }
    }
    context.tree.remove_mount_points();
    say("over");
    exit_report.send(plan.exit);
    Ok(ExitCode::from(plan.exit))
}

fn context(plan: &Plan, isolation: Isolation, sender: mpsc::Sender<Happened>) -> Anyhow<SpawnContext> {
    let logs = plan.directory.join("logs");
    let root = plan.directory.join("root");
    fs::create_dir_all(&logs)?;
    fs::create_dir_all(&root)?;
    let merged = plan.merged.as_ref().map(File::create).transpose()?;
    Ok(SpawnContext {
        run: plan.run.clone(),
        job: "fake".into(),
        isolation,
        workdir: std::env::current_dir()?,
        environment: environment::passed(std::env::vars_os()),
        logs,
        programs: plan.tasks.len(),
        allow_missing_mounts: plan.allow_missing_mounts,
        tree: Tree::new(root, vec![plan.directory.clone(), std::env::temp_dir()]),
        bridge: None,
        sink: Arc::new(Sink(merged.map(|file| Mutex::new((file, Vec::new()))))),
        tell: Box::new(move |event| drop(sender.send(Happened::Task(event)))),
    })
}

fn launch(task: Task) -> Anyhow<Launch> {
    Ok(Launch {
        life: Life::new(&task.id.parse::<TaskId>()?, Stamp::default(), 0),
        init: task.init.into_iter().map(program).collect(),
        main: program(task.main),
        beside: task.beside.into_iter().map(program).collect(),
        grace: task.grace.unwrap_or(30),
    })
}

fn program(part: Part) -> Program {
    let mount = |(source, target, read_only)| Mount {
        source,
        target,
        read_only,
    };
    Program {
        container: part.name.into(),
        argv: part.argv.into_iter().map(OsString::from).collect(),
        env: part
            .env
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        workdir: part.workdir,
        mounts: part.mounts.into_iter().map(mount).collect(),
    }
}

fn words(change: &TaskChange) -> String {
    match change {
        TaskChange::MountMissing {
            container,
            mount,
            why,
        } => {
            format!("missing {container} {}: {why}", mount.target.display())
        }
        TaskChange::Initialising { container, .. } => format!("initialising {container}"),
        TaskChange::Started { .. } => "started".into(),
        TaskChange::BesideEnded { container, ended } => format!("beside {container} {}", how(ended)),
        TaskChange::Ended {
            container,
            ended,
            lingers,
            ..
        } => {
            let lingers = if *lingers { " lingers" } else { "" };
            format!("ended {container} {}{lingers}", how(ended))
        }
        TaskChange::Gone => "gone".into(),
    }
}

fn how(ended: &Ended) -> String {
    match ended {
        Ended::Code(code) => format!("code {code}"),
        Ended::Signal(signal) => format!("signal {signal}"),
        Ended::NotStarted(why) => format!("not started: {why}"),
    }
}

struct Sink(Option<Mutex<(File, Vec<u8>)>>);

impl LogSink for Sink {
    fn lines(&self, source: &LogSource, block: LogBlock<'_>) {
        let container = source
            .container
            .as_ref()
            .map_or(String::new(), |name| format!("/{name}"));
        let prefix = format!("{}{container}| ", source.task);
        let continuation = format!("{}{container}+ ", source.task);
        match &self.0 {
            None => {
                let mut out = Vec::new();
                block.prefix_into(&mut out, prefix.as_bytes(), continuation.as_bytes());
                let _ = io::stdout().write_all(&out);
            }
            Some(merged) => {
                if let Ok(mut merged) = merged.lock() {
                    let (file, out) = &mut *merged;
                    out.clear();
                    block.prefix_into(out, prefix.as_bytes(), continuation.as_bytes());
                    let _ = file.write_all(out);
                }
            }
        }
    }

    fn trouble(&self, source: &LogSource, trouble: &LogTrouble) {
        say(&format!("{} trouble {trouble}", source.task));
    }
}
