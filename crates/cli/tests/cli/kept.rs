//! A state directory with made-up runs, written with the types that real runs are written with.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use trainyard_core::{Hold, Memory, Outcome};
use trainyard_local::logs::index::IndexWriter;
use trainyard_local::run::event::{ProgramEnd, RunEnd};
use trainyard_local::run::store::directory::{Durable, Home, JobRuns, RunDirectory};
use trainyard_local::run::store::run_file::RunFile;
use trainyard_local::run::store::status::{FORMAT, Status, TaskState, TaskStatus};
use trainyard_local::run::timestamp::Timestamp;

use crate::run::Ran;
use crate::run::folder;
use crate::run::program;

/// When runs began that are not looked at by their age.
pub const BEGUN: Timestamp = Timestamp(1_794_793_512_345);

/// A state directory.
pub struct State {
    pub path: PathBuf,
}

impl State {
    pub fn new(name: &str) -> Self {
        Self { path: folder(name) }
    }

    pub fn home(&self) -> Home {
        Home::at(self.path.clone())
    }

    pub fn job(&self, name: &str) -> JobRuns {
        self.home().job(name)
    }

    /// A run that began so long ago. Ids are not made of the time here: they stay the same.
    pub fn begin(&self, job: &str, id: &str, ago: Duration) -> Made {
        let Timestamp(now) = Timestamp::now();
        let ago = u64::try_from(ago.as_millis()).expect("not so long");
        self.begin_at(job, id, Timestamp(now - ago))
    }

    pub fn begin_at(&self, job: &str, id: &str, started: Timestamp) -> Made {
        let directory = self.job(job).run(id);
        fs::create_dir_all(directory.logs()).expect("a directory");
        fs::create_dir_all(directory.lives()).expect("a directory");
        fs::write(directory.manifest(), crate::run::manifest(job, 2)).expect("a file");
        let file = serde_json::json!({
            "format": FORMAT, "job": job, "document": 0, "kind": "TFJob", "source": format!("{job}.yaml"),
            "started": started, "directory": "/work", "kept": self.home().volumes(),
        });
        let file: RunFile = serde_json::from_value(file).expect("what a run is told");
        directory.write_run(&file).expect("a file");
        let made = Made {
            status: Status {
                format: FORMAT,
                job: job.into(),
                pid: 4711,
                started,
                stopping: false,
                ended: None,
                end: None,
                tensorboard: None,
                tasks: Vec::new(),
                memory: None,
            },
            directory,
        };
        made.write();
        made
    }

    /// The program, looking at this directory.
    pub fn program(&self, arguments: &[&str]) -> Command {
        let mut command = program(arguments);
        command.env("TRAINYARD_STATE", &self.path);
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        let output = self.program(arguments).output();
        self.redact(output.expect("the program runs").into())
    }

    /// With it again.
    pub fn unredacted(&self, text: &str) -> String {
        text.replace("[state]", self.path.to_str().expect("a path"))
    }

    /// Without the path of this directory.
    pub fn redact(&self, mut ran: Ran) -> Ran {
        let path = self.path.to_str().expect("a path");
        ran.out = ran.out.replace(path, "[state]");
        ran.err = ran.err.replace(path, "[state]");
        ran
    }
}

/// A run in a state directory.
pub struct Made {
    pub directory: RunDirectory,
    pub status: Status,
}

impl Made {
    fn write(&self) {
        self.directory
            .write_status(&self.status, Durable::No)
            .expect("a file");
    }

    /// A task that has stood so since a moment after the run began.
    pub fn task(mut self, name: &str, state: TaskState) -> Self {
        let number = self.status.tasks.len();
        let ended = matches!(
            state,
            TaskState::Succeeded | TaskState::Failed | TaskState::Stopped
        );
        let code = match state {
            TaskState::Succeeded => 0,
            TaskState::Failed => 3,
            _ => 143,
        };
        let log = self.directory.logs().join(format!("{name}.0.0.log"));
        self.status.tasks.push(TaskStatus {
            task: name.parse().expect("a task"),
            state,
            since: Timestamp(self.status.started.0 + 1000),
            epoch: 0,
            attempt: 0,
            restarts: u32::from(state == TaskState::Restarting),
            port: u16::try_from(20_000 + number).ok(),
            end: ended.then_some(ProgramEnd {
                code: Some(code),
                signal: None,
                not_started: None,
                container: None,
                cause: None,
            }),
            log: (state != TaskState::Waiting).then_some(log),
        });
        self.write();
        self
    }

    /// The run has ended.
    pub fn ended(mut self, outcome: Option<Outcome>, cause: &str) -> Self {
        self.end(outcome, cause);
        self
    }

    pub fn end(&mut self, outcome: Option<Outcome>, cause: &str) {
        self.status.ended = Some(Timestamp(self.status.started.0 + 83_500));
        self.status.end = Some(RunEnd {
            outcome,
            cause: cause.into(),
            decided_by: None,
            deadline: false,
            signal: None,
            seconds: 83.5,
            first_failure: None,
            warnings: Vec::new(),
            left_alive: Vec::new(),
            tasks: self.status.tasks.clone(),
        });
        self.write();
    }

    pub fn suspended(mut self) -> Self {
        let memory = serde_json::json!({ "format": 1, "job": "uid" });
        let mut memory: Memory = serde_json::from_value(memory).expect("a memory");
        memory.held = Some(Hold::Suspended);
        self.status.memory = Some(memory);
        self.write();
        self
    }

    /// It is about to end.
    pub fn stopping(mut self) -> Self {
        self.status.stopping = true;
        self.write();
        self
    }

    /// Writes to a log; each piece at so many milliseconds after the run began.
    pub fn log(self, name: &str, pieces: &[(u64, &str)]) -> Self {
        self.append(name, pieces);
        self
    }

    pub fn append(&self, name: &str, pieces: &[(u64, &str)]) {
        let path = self.directory.logs().join(format!("{name}.log"));
        let mut log = fs::File::options()
            .create(true)
            .append(true)
            .open(&path)
            .expect("a log");
        let mut index = IndexWriter::open(&path).expect("an index");
        for (millis, piece) in pieces {
            let offset = log.metadata().expect("a length").len();
            let time = UNIX_EPOCH + Duration::from_millis(self.status.started.0 + millis);
            index.note(offset, time).expect("an entry");
            log.write_all(piece.as_bytes()).expect("bytes");
        }
    }
}
