//! Runs for the tests: a plan, a `fake-run` that carries it out, and what it says.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Once};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, PidfdFlags, Signal, getuid, kill_process, pidfd_open};
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT};
use tempfile::TempDir;

/// A user id without an account.
const STRANGER: u32 = 54_321;

/// The user that starts a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The user that runs the tests.
    Us,
    /// As an ordinary user, where root runs the tests.
    Stranger,
}

/// Every user that a test can be run as.
pub fn every_user() -> Vec<Who> {
    if getuid().is_root() {
        vec![Who::Us, Who::Stranger]
    } else {
        eprintln!("not root: this runs as an ordinary user only");
        vec![Who::Us]
    }
}

/// A directory and a name for one run.
pub struct Bench {
    pub directory: TempDir,
    pub who: Who,
    /// Stands in the arguments of every process of the run.
    pub tag: String,
    plan: Value,
}

impl Bench {
    pub fn new(who: Who) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        catch_what_is_ignored();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let tag = format!("ty-test-{}-{number}", std::process::id());
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for binary in [env!("CARGO_BIN_EXE_fake-run"), env!("CARGO_BIN_EXE_fake-trainer")] {
            // The user of the test may not be able to reach the build directory.
            let copy = directory.path().join(Path::new(binary).file_name().unwrap());
            if fs::hard_link(binary, &copy).is_err() {
                fs::copy(binary, &copy).unwrap();
            }
            // Built under umask 077, it is the builder's alone.
            fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let work = directory.path().join("work");
        fs::create_dir(&work).unwrap();
        if who == Who::Stranger {
            chown(&work, Some(STRANGER), Some(STRANGER)).unwrap();
        }
        let plan = json!({"run": format!("run-{tag}"), "directory": work, "tasks": []});
        Self {
            directory,
            who,
            tag,
            plan,
        }
    }

    /// The directory that belongs to the run's user; output and logs are in it.
    pub fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    /// A named pipe on which programs and tests meet.
    pub fn pipe(&self) -> PathBuf {
        let path = self.work().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        path
    }

    pub fn log(&self, name: &str) -> PathBuf {
        self.work().join("logs").join(name)
    }

    pub fn set(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.plan[name] = value.into();
        self
    }

    /// A program that does what the words say. The directory's path is one word, whatever spaces it has.
    pub fn part(&self, name: &str, words: &str) -> Value {
        const HERE: &str = "\u{1}";
        let trainer = self.directory.path().join("fake-trainer");
        let here = self.directory.path().to_str().unwrap();
        let words = words.replace(here, HERE);
        let words = words.split(' ').map(|word| word.replace(HERE, here));
        let argv = [trainer.to_str().unwrap(), "tag", &self.tag].map(str::to_owned);
        let argv: Vec<String> = argv.into_iter().chain(words).collect();
        json!({"name": name, "argv": argv})
    }

    pub fn task(self, task: &str, words: &str) -> Self {
        let main = self.part("main", words);
        self.add(json!({"task": task, "main": main}))
    }

    pub fn add(mut self, task: Value) -> Self {
        self.plan["tasks"].as_array_mut().unwrap().push(task);
        self
    }

    pub fn start(&self) -> Run {
        let plan = self.directory.path().join("plan.json");
        fs::write(&plan, self.plan.to_string()).unwrap();
        fs::set_permissions(&plan, fs::Permissions::from_mode(0o644)).unwrap();
        let program = self.directory.path().join("fake-run");
        let mut command = match self.who {
            Who::Us => Command::new(&program),
            Who::Stranger => {
                let mut command = Command::new("setpriv");
                command.args([
                    format!("--reuid={STRANGER}"),
                    format!("--regid={STRANGER}"),
                    "--clear-groups".into(),
                    "--".into(),
                ]);
                command.arg(&program);
                command
            }
        };
        let mut child = command
            .arg(&plan)
            .current_dir(self.work())
            .env("TF_CONFIG", "must not leak")
            .env("HOME", self.work())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Run {
            child,
            lines,
            said: Vec::new(),
        }
    }

    /// Runs to the end and gives everything that was said.
    pub fn run(&self) -> Vec<String> {
        let (said, code) = self.start().finish();
        assert_eq!(code, Some(0), "{said:#?}");
        self.assert_nothing_left();
        said
    }

    /// Every process of this run, as numbered here.
    pub fn processes(&self) -> BTreeSet<i32> {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<i32>().ok();
        let tagged = |process: &i32| {
            let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            words.split(|byte| *byte == 0).any(|word| {
                word.split(|byte| *byte == b',')
                    .any(|word| word == self.tag.as_bytes())
            })
        };
        entries.filter_map(number).filter(tagged).collect()
    }

    pub fn assert_nothing_left(&self) {
        let left = self.processes();
        assert!(left.is_empty(), "still there: {left:?}");
    }
}

/// A run under way.
pub struct Run {
    pub child: Child,
    lines: BufReader<ChildStdout>,
    pub said: Vec<String>,
}

impl Run {
    /// The next line, until the run has ended and every writer has closed its output.
    pub fn next(&mut self) -> Option<String> {
        if self.lines.buffer().is_empty() {
            let ready = ready_within(self.lines.get_ref(), 60);
            assert!(ready, "silence after {:#?}", self.said);
        }
        let mut line = String::new();
        if self.lines.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        line.truncate(line.trim_end_matches('\n').len());
        self.said.push(line.clone());
        Some(line)
    }

    /// Reads until a line contains the words.
    pub fn until(&mut self, words: &str) -> String {
        while let Some(line) = self.next() {
            if line.contains(words) {
                return line;
            }
        }
        panic!("`{words}` was never said: {:#?}", self.said);
    }

    /// Reads until lines with all of these words have come, in whatever order.
    pub fn until_all(&mut self, all: &[&str]) {
        let said = |run: &Self, words: &str| run.said.iter().any(|line| line.contains(words));
        while !all.iter().all(|words| said(self, words)) {
            assert!(
                self.next().is_some(),
                "not all of {all:?} was said: {:#?}",
                self.said
            );
        }
    }

    pub fn finish(mut self) -> (Vec<String>, Option<i32>) {
        while self.next().is_some() {}
        let status = self.child.wait().unwrap();
        (std::mem::take(&mut self.said), status.code())
    }

    pub fn outer(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// The supervisor, as numbered here.
    pub fn inner(&self) -> i32 {
        let outer = self.outer();
        let children = fs::read_to_string(format!("/proc/{outer}/task/{outer}/children")).unwrap();
        children.split_whitespace().next().unwrap().parse().unwrap()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // A test that failed leaves nothing running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn signal(process: i32, signal: Signal) {
    kill_process(Pid::from_raw(process).unwrap(), signal).unwrap();
}

/// Holds processes, to wait for their end without looking again and again.
pub struct Held(Vec<OwnedFd>);

pub fn hold(processes: impl IntoIterator<Item = i32>) -> Held {
    let open = |process| pidfd_open(Pid::from_raw(process).unwrap(), PidfdFlags::empty());
    Held(
        processes
            .into_iter()
            .filter_map(|process| open(process).ok())
            .collect(),
    )
}

impl Held {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Waits for the end of all of them; a minute is for ever.
    pub fn wait(&self) {
        for process in &self.0 {
            assert!(ready_within(process, 60), "a process lives on");
        }
    }
}

/// What was said about a task.
pub fn about<'a>(said: &'a [String], task: &str) -> Vec<&'a str> {
    let start = format!("{task} ");
    said.iter().filter_map(|line| line.strip_prefix(&start)).collect()
}

/// What a task's program wrote.
pub fn output<'a>(said: &'a [String], task: &str) -> Vec<&'a str> {
    let start = format!("{task}| ");
    said.iter().filter_map(|line| line.strip_prefix(&start)).collect()
}

fn ready_within(descriptor: &impl AsFd, seconds: i64) -> bool {
    let limit = Timespec {
        tv_sec: seconds,
        tv_nsec: 0,
    };
    poll(&mut [PollFd::new(descriptor, PollFlags::IN)], Some(&limit)).unwrap() == 1
}

/// A program inherits what its parent ignores, but not what it catches: tests that are run in the background or under
/// `nohup` must not hand on that they ignore Ctrl-C.
fn catch_what_is_ignored() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let set = u64::from_str_radix(set.unwrap().trim(), 16).unwrap();
        for signal in [SIGINT, SIGHUP, SIGQUIT] {
            if set & (1 << (signal - 1)) != 0 {
                signal_hook::flag::register(signal, Arc::default()).unwrap();
            }
        }
    });
}
