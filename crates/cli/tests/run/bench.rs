//! A place for one run, the run under way, and what can be seen of it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead as _, BufReader, PipeReader};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, getuid, kill_process, pidfd_open};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT};
use tempfile::TempDir;
use trainyard_local::run::control;
use trainyard_local::run::control::order::{Order, OrderReply};
use trainyard_local::run::event::{RunEvent, What};
use trainyard_local::run::store::directory::{Home, RunDirectory};
use trainyard_local::run::store::status::Status;

/// What happens within a second on a machine at rest may take so long on a busy one.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Polling interval.
const GLANCE: Duration = Duration::from_millis(5);

/// An unused user ID.
const STRANGER: u32 = 54_321;

/// The variable that every process of a run under test carries.
const MARK: &str = "RUN_UNDER_TEST";

/// The user that starts a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The user that runs the tests.
    Us,
    /// As an ordinary user, where root runs the tests.
    Stranger,
}

/// The users that tests can use on this machine.
pub fn every_user() -> Vec<Who> {
    if getuid().is_root() {
        vec![Who::Us, Who::Stranger]
    } else {
        vec![Who::Us]
    }
}

/// A directory, a state directory and a mark.
pub struct Bench {
    directory: TempDir,
    who: Who,
    mark: String,
}

/// What came of a run that has ended.
#[derive(Debug)]
pub struct Ran {
    pub out: String,
    pub err: String,
    pub code: Option<i32>,
}

impl Ran {
    /// What the task wrote, as lines.
    pub fn lines(&self, task: &str) -> Vec<&str> {
        let split = self.out.lines().filter_map(|line| line.split_once("│ "));
        let own = split.filter(|(name, _)| name.trim() == task);
        own.map(|(_, text)| text).collect()
    }
}

impl Bench {
    pub fn new() -> Self {
        Self::of(Who::Us)
    }

    pub fn of(who: Who) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        catch_what_is_ignored();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let directory = tempfile::tempdir().expect("a directory can be made");
        let bench = Self {
            mark: format!("{}-{number}", std::process::id()),
            directory,
            who,
        };
        open_to_all(bench.directory.path());
        for name in ["work", "bin", "state"] {
            let path = bench.directory.path().join(name);
            fs::create_dir(&path).expect("a directory can be made");
            bench.hand_over(&path);
        }
        if who == Who::Stranger {
            // That user may not be able to reach the build directory.
            let copy = bench.directory.path().join("trainyard");
            if fs::hard_link(env!("CARGO_BIN_EXE_trainyard"), &copy).is_err() {
                fs::copy(env!("CARGO_BIN_EXE_trainyard"), &copy).expect("the program can be copied");
            }
            // Built under umask 077, it is the builder's alone.
            open_to_all(&copy);
        }
        bench
    }

    fn hand_over(&self, path: &Path) {
        if self.who == Who::Stranger {
            chown(path, Some(STRANGER), Some(STRANGER)).expect("root may give files away");
        }
    }

    /// A path in the directory in which runs are started.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join("work").join(name)
    }

    pub fn state(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    /// Writes a file there.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).expect("a file can be written");
        self.hand_over(&path);
        path
    }

    /// Makes a folder there.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir(&path).expect("a directory can be made");
        self.hand_over(&path);
        path
    }

    /// Puts a program on PATH.
    pub fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join("bin").join(name);
        fs::write(&path, text).expect("a file can be written");
        open_to_all(&path);
        path
    }

    /// The program, ready to run in an environment that the machine's own does not reach.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = match self.who {
            Who::Us => Command::new(env!("CARGO_BIN_EXE_trainyard")),
            Who::Stranger => {
                let mut command = Command::new("setpriv");
                command.args([
                    format!("--reuid={STRANGER}"),
                    format!("--regid={STRANGER}"),
                    "--clear-groups".into(),
                    "--".into(),
                ]);
                command.arg(self.directory.path().join("trainyard"));
                command
            }
        };
        let path = std::env::var("PATH").unwrap_or_default();
        let own = self.directory.path().join("bin");
        command
            .args(arguments)
            .current_dir(self.path(""))
            .env_clear()
            .env("PATH", format!("{}:{path}", own.display()))
            .env("HOME", self.path(""))
            .env("LC_ALL", "C.UTF-8")
            .env("TRAINYARD_STATE", self.state())
            .env(MARK, &self.mark)
            .stdin(Stdio::null());
        command
    }

    /// The same on a pseudo-terminal of 100 columns and 30 rows, which `script` makes.
    pub fn on_terminal(&self, arguments: &[&str]) -> Command {
        let inner = self.command(arguments);
        let words = std::iter::once(inner.get_program()).chain(inner.get_args());
        let quoted = words.map(|word| format!("'{}'", word.to_string_lossy().replace('\'', r"'\''")));
        let line = quoted.collect::<Vec<_>>().join(" ");
        let mut command = Command::new("script");
        command
            .args(["-q", "-e", "-f", "-c"])
            .arg(format!("stty cols 100 rows 30 -echo; exec {line}"))
            .arg("/dev/null")
            .current_dir(self.path(""))
            .env_clear()
            .envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .env("SHELL", "/bin/sh")
            .env("TERM", "xterm")
            .stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        finished(&mut self.command(arguments))
    }

    /// Runs a job made of flags to its end.
    pub fn quick(&self, flags: &[&str], script: &str) -> Ran {
        self.run(&quick(flags, script))
    }

    /// Starts the program; what it says on both streams comes in one.
    pub fn start(&self, arguments: &[&str]) -> Run {
        Run::start(self.command(arguments))
    }

    /// Every process of runs in this place, the program itself too.
    pub fn processes(&self) -> BTreeSet<i32> {
        let mark = format!("{MARK}={}", self.mark).into_bytes();
        let entries = fs::read_dir("/proc").expect("there is /proc").flatten();
        let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<i32>().ok();
        let marked = |process: &i32| {
            let variables = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
            variables
                .split(|byte| *byte == 0)
                .any(|variable| variable == mark)
        };
        entries.filter_map(number).filter(marked).collect()
    }

    /// The processes among them whose command line begins so.
    pub fn programs(&self, words: &str) -> BTreeSet<i32> {
        let says = |process: &i32| {
            let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line)
                .replace('\0', " ")
                .starts_with(words)
        };
        self.processes().into_iter().filter(says).collect()
    }

    /// No process is left, once those that are just dying have.
    pub fn assert_nothing_left(&self) {
        eventually("no process is left", || self.processes().is_empty());
    }

    pub fn home(&self) -> Home {
        Home::at(self.state())
    }

    /// The newest run of a job, once there is one.
    pub fn newest(&self, job: &str) -> Option<RunDirectory> {
        self.home().job(job).newest().expect("runs can be listed")
    }

    pub fn status(&self, job: &str) -> Status {
        let run = self.newest(job).expect("the job was run");
        let read = || run.read_status().expect("the status can be read");
        // Its tasks may be faster.
        eventually("there is a status", || read().is_some());
        read().expect("it was there")
    }

    /// What happened in the newest run of a job, so far.
    pub fn events(&self, job: &str) -> Vec<RunEvent> {
        self.newest(job).map(|run| events(&run)).unwrap_or_default()
    }

    /// Gives the newest run of a job an order and insists on it until it is obeyed.
    pub fn order(&self, job: &str, order: &Order) {
        eventually(&format!("{order:?} is obeyed"), || {
            let run = self.newest(job);
            run.is_some_and(|run| matches!(control::send(&run, order), Ok(OrderReply::Done)))
        });
    }
}

/// The flags that make every worker count.
pub const ALL_WORKERS: [&str; 2] = ["--set", "spec.successPolicy=AllWorkers"];

/// The arguments of a job made of flags, each of whose tasks runs that script.
pub fn quick<'a>(flags: &[&'a str], script: &'a str) -> Vec<&'a str> {
    [
        &["run", "--name", "job", "--python", "own"],
        flags,
        &["--", "sh", "-c", script],
    ]
    .concat()
}

/// What happened in a run, so far.
pub fn events(run: &RunDirectory) -> Vec<RunEvent> {
    let text = fs::read_to_string(run.events()).unwrap_or_default();
    // The last line may not be whole yet.
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// The texts of all notes.
pub fn notes(events: &[RunEvent]) -> Vec<&str> {
    let notes = events.iter().filter_map(|event| match &event.what {
        What::Note { text } => Some(text.as_str()),
        _ => None,
    });
    notes.collect()
}

/// Runs a command to its end.
pub fn finished(command: &mut Command) -> Ran {
    let output = command.output().expect("the program runs");
    Ran {
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code(),
    }
}

/// Looks until it is so.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "not even in the end: {what}");
        thread::sleep(GLANCE);
    }
}

/// A run under way.
pub struct Run {
    child: Child,
    lines: BufReader<PipeReader>,
    pub said: Vec<String>,
}

impl Run {
    pub fn start(mut command: Command) -> Self {
        let (reader, writer) = io::pipe().expect("a pipe can be made");
        command
            .stdout(writer.try_clone().expect("a descriptor can be copied"))
            .stderr(writer);
        let child = command.spawn().expect("the program starts");
        Self {
            child,
            lines: BufReader::new(reader),
            said: Vec::new(),
        }
    }

    /// A run whose words go where the command says, and not to us.
    pub fn unread(command: &mut Command) -> Self {
        let (reader, _) = io::pipe().expect("a pipe can be made");
        Self {
            child: command.spawn().expect("the program starts"),
            lines: BufReader::new(reader),
            said: Vec::new(),
        }
    }

    pub fn has_ended(&mut self) -> bool {
        let ended = self.child.try_wait();
        ended.expect("our child can be waited for").is_some()
    }

    /// The next line; `None` when all writers have closed the stream.
    fn next(&mut self) -> Option<String> {
        if self.lines.buffer().is_empty() {
            let ready = ready_within(self.lines.get_ref(), PATIENCE);
            assert!(ready, "silence after {:#?}", self.said);
        }
        let mut line = Vec::new();
        if self
            .lines
            .read_until(b'\n', &mut line)
            .expect("the pipe can be read")
            == 0
        {
            return None;
        }
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        self.said.push(line.clone());
        Some(line)
    }

    /// Reads until a line contains the words; if one has before, that will do.
    pub fn until(&mut self, words: &str) -> String {
        if let Some(line) = self.said.iter().find(|line| line.contains(words)) {
            return line.clone();
        }
        while let Some(line) = self.next() {
            if line.contains(words) {
                return line;
            }
        }
        panic!("`{words}` was never said: {:#?}", self.said);
    }

    /// Reads until the words have come, within a line or at the end of one that has not ended: a live line has no end.
    pub fn until_bytes(&mut self, words: &str) {
        self.until_frame(|frame| frame.contains(words));
    }

    /// Reads until what came since the terminal was last cleared is so.
    pub fn until_frame(&mut self, is_so: impl Fn(&str) -> bool) {
        let mut text = Vec::new();
        let until = Instant::now() + PATIENCE;
        loop {
            // A footer is drawn every second: there is no silence that would end this.
            let buffered = !self.lines.buffer().is_empty();
            let ready = Instant::now() < until && (buffered || ready_within(self.lines.get_ref(), PATIENCE));
            assert!(
                ready,
                "not even in the end: {:#?}",
                String::from_utf8_lossy(&text)
            );
            let bytes = self.lines.fill_buf().expect("the pipe can be read").to_vec();
            assert!(
                !bytes.is_empty(),
                "it ended after {:#?}",
                String::from_utf8_lossy(&text)
            );
            self.lines.consume(bytes.len());
            text.extend(bytes);
            let said = String::from_utf8_lossy(&text).into_owned();
            // A frame is one write, and a write may be read in two parts: the last one may not be whole.
            if said.split("\x1b[J").any(&is_so) {
                self.said.extend(said.lines().map(str::to_owned));
                return;
            }
        }
    }

    /// Reads until so many lines contain the words.
    pub fn until_times(&mut self, words: &str, times: usize) {
        while self.said.iter().filter(|line| line.contains(words)).count() < times {
            assert!(self.next().is_some(), "too few `{words}`: {:#?}", self.said);
        }
    }

    /// Reads to the end; what was said, and how it ended.
    pub fn finish(mut self) -> (Vec<String>, ExitStatus) {
        while self.next().is_some() {}
        let status = self.child.wait().expect("our child can be waited for");
        (std::mem::take(&mut self.said), status)
    }

    /// The process that was started.
    pub fn outer(&self) -> i32 {
        i32::try_from(self.child.id()).expect("process numbers are small")
    }

    /// The supervisor, as numbered here.
    pub fn inner(&self) -> i32 {
        let outer = self.outer();
        let children = fs::read_to_string(format!("/proc/{outer}/task/{outer}/children"));
        let children = children.expect("the process lives");
        let first = children.split_whitespace().next().expect("it has a child");
        first.parse().expect("process numbers are numbers")
    }

    pub fn signal(&self, signal: Signal) {
        send(self.outer(), signal);
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // A test that failed leaves nothing running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn send(process: i32, signal: Signal) {
    let process = Pid::from_raw(process).expect("no process has number 0");
    kill_process(process, signal).expect("the process is ours");
}

/// Holds processes, to wait for their end.
pub fn hold(processes: impl IntoIterator<Item = i32>) -> Vec<OwnedFd> {
    let number = |process| Pid::from_raw(process).expect("no process has number 0");
    let open = |process| pidfd_open(number(process), PidfdFlags::empty()).ok();
    processes.into_iter().filter_map(open).collect()
}

pub fn wait_for_end(held: &[OwnedFd]) {
    for process in held {
        assert!(ready_within(process, PATIENCE), "a process lives on");
    }
}

fn ready_within(descriptor: &impl AsFd, limit: Duration) -> bool {
    let limit = Timespec {
        tv_sec: i64::try_from(limit.as_secs()).expect("it is short"),
        tv_nsec: 0,
    };
    let ready = poll(&mut [PollFd::new(descriptor, PollFlags::IN)], Some(&limit));
    ready.expect("descriptors can be waited for") == 1
}

fn open_to_all(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

/// A program inherits what its parent ignores, but not what it catches: tests that are run in the background or under
/// `nohup` must not hand on that they ignore Ctrl-C.
fn catch_what_is_ignored() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let status = fs::read_to_string("/proc/self/status").expect("there is /proc");
        let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let set = set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
        for signal in [SIGINT, SIGHUP, SIGQUIT] {
            if set.unwrap_or_default() & (1 << (signal - 1)) != 0 {
                let nobody_looks = std::sync::Arc::default();
                signal_hook::flag::register(signal, nobody_looks).expect("signals can be caught");
            }
        }
    });
}
