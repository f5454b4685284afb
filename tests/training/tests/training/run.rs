//! One run of one example, watched through what `trainyard run -o json` prints and what it leaves in its directory.

use std::fs;
use std::io::{BufRead as _, BufReader, Lines, Read as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{root, trainyard};

/// How long a run may take before it prints anything: the first one installs TensorFlow.
const INSTALL: Duration = Duration::from_mins(15);

/// A training that takes longer hangs.
const LIMIT: Duration = Duration::from_mins(4);

/// Held by the test whose training runs.
static TURN: Mutex<()> = Mutex::new(());

/// A run of an example.
pub struct Run {
    job: &'static str,
    /// The manifest.
    file: PathBuf,
    options: Vec<String>,
    /// Volumes and the state directory; removed at the end.
    directory: TempDir,
    running: Option<Running>,
    _turn: MutexGuard<'static, ()>,
}

/// The program while it runs.
struct Running {
    child: Arc<Mutex<Child>>,
    /// The first line of its output, and the others.
    first: Option<String>,
    out: Lines<BufReader<ChildStdout>>,
    talk: JoinHandle<String>,
    /// Dropped when the program has ended.
    _ended: Sender<()>,
}

impl Run {
    /// A run of `examples/<job>.yaml`, to come, with directories of its own as volumes.
    pub fn of(job: &'static str, volumes: &[&str]) -> Self {
        // A test that has failed has let go of its processes all the same.
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut run = Self {
            job,
            file: root().join(format!("examples/{job}.yaml")),
            options: Vec::new(),
            directory: TempDir::new().expect("a directory can be made"),
            running: None,
            _turn: turn,
        };
        for volume in volumes {
            let path = run.volume(volume);
            fs::create_dir(&path).expect("a directory can be made");
            let option = format!("--volume={volume}={}", path.display());
            run.options.push(option);
        }
        run
    }

    /// The same run with the manifest changed, each of the edits wherever it fits, and then converted to another dialect by
    /// `trainyard convert`.
    pub fn converted(mut self, edits: &[(&str, &str)], to: &str) -> Self {
        let text = fs::read_to_string(&self.file).expect("the example is there");
        let text = edits.iter().fold(text, |text, (from, to)| {
            assert!(text.contains(from), "`{from}` is not in {}", self.file.display());
            text.replace(from, to)
        });
        let before = self.directory.path().join("before.yaml");
        fs::write(&before, text).expect("a file can be written");
        let converted = Command::new(trainyard())
            .arg("convert")
            .arg(&before)
            .args(["--to", to])
            .output()
            .expect("the program starts");
        let told = String::from_utf8_lossy(&converted.stderr);
        assert!(converted.status.success(), "{told}");
        self.file = self.directory.path().join("converted.yaml");
        fs::write(&self.file, &converted.stdout).expect("a file can be written");
        self
    }

    /// The directory that is a volume.
    pub fn volume(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs it without options, to success. Returns its output.
    pub fn output_for_people(&mut self) -> String {
        self.start();
        let Running { first, out, .. } = self.running.as_mut().expect("it runs");
        let others = out.map(|line| line.expect("text"));
        let lines: Vec<String> = first.take().into_iter().chain(others).collect();
        self.finish();
        lines.join("\n")
    }

    /// Starts it as programs do, which read what happens.
    pub fn watch(&mut self) {
        self.options.push("--output=json".to_owned());
        self.start();
    }

    fn start(&mut self) {
        let mut child = Command::new(trainyard())
            .arg("run")
            .arg(&self.file)
            .args(&self.options)
            .current_dir(root())
            .env("TRAINYARD_STATE", self.directory.path().join("state"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let talk = child.stderr.take().expect("a pipe");
        let child = Arc::new(Mutex::new(child));
        let talk = thread::spawn(move || read(talk));
        let begun = end_in_time(&child, INSTALL);
        let first = out.next().map(|line| line.expect("text"));
        drop(begun);
        let ended = end_in_time(&child, LIMIT);
        self.running = Some(Running {
            child,
            first,
            out,
            talk,
            _ended: ended,
        });
    }

    /// Waits for the address of `TensorBoard`.
    pub fn until_tensorboard_answers(&mut self) -> String {
        let out = &mut self.running.as_mut().expect("it runs").out;
        let mut events = out.map_while(Result::ok);
        let url = events.find_map(|line| {
            let event: Value = serde_json::from_str(&line).expect("one event per line");
            (event["event"] == "tensorBoard").then(|| event["url"].as_str().map(str::to_owned))?
        });
        url.unwrap_or_else(|| self.fail("TensorBoard has not answered"))
    }

    /// Waits for its end, which must be a good one.
    pub fn finish(&mut self) {
        let running = self.running.take().expect("it runs");
        let Running {
            child,
            first: _,
            out,
            talk,
            _ended,
        } = running;
        for line in out {
            line.expect("text");
        }
        let talk = talk.join().expect("what it says is read");
        let status = child.lock().expect("no panic").wait().expect("it ends");
        if status.code() != Some(0) {
            self.fail(&format!("{status}\n{talk}"));
        }
    }

    /// Says what is known about a failure, and fails.
    fn fail(&self, why: &str) -> ! {
        let mut told = why.to_owned();
        for (name, text) in self.logs("") {
            let skip = text.lines().count().saturating_sub(20);
            let last: Vec<&str> = text.lines().skip(skip).collect();
            told = format!("{told}\n---- {name}\n{}", last.join("\n"));
        }
        panic!("{}: {told}", self.job)
    }

    /// The run's own directory.
    fn kept(&self) -> PathBuf {
        let runs = self.directory.path().join("state/runs").join(self.job);
        let entries = fs::read_dir(&runs).expect("the run is kept");
        let mut directories = entries
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.is_dir());
        directories.next().expect("the run is kept")
    }

    /// The logs whose names begin so, in order.
    fn logs(&self, beginning: &str) -> Vec<(String, String)> {
        let Ok(entries) = fs::read_dir(self.kept().join("logs")) else {
            return Vec::new();
        };
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let mut logs: Vec<(String, String)> = paths
            .filter_map(|path| {
                let name = path.file_name()?.to_str()?.to_owned();
                let is_log = path.extension().is_some_and(|end| end == "log");
                let wanted = is_log && name.starts_with(beginning);
                wanted.then(|| (name, fs::read_to_string(&path).unwrap_or_default()))
            })
            .collect();
        logs.sort();
        logs
    }

    /// The lines of a task, over all its lives, that begin so; without that beginning.
    pub fn lines(&self, task: &str, beginning: &str) -> Vec<String> {
        let logs = self.logs(&format!("{task}."));
        let lines = logs.iter().flat_map(|(_, text)| text.lines());
        lines
            .filter_map(|line| line.strip_prefix(beginning))
            .map(str::to_owned)
            .collect()
    }

    /// The accuracy that a task reports at its end.
    pub fn accuracy(&self, task: &str) -> f64 {
        let lines = self.lines(task, "accuracy ");
        let numbers: Vec<f64> = lines
            .iter()
            .filter_map(|line| line.split(' ').next()?.parse().ok())
            .collect();
        match numbers[..] {
            [accuracy] => accuracy,
            _ => self.fail(&format!("{task} reports its accuracy once: {lines:?}")),
        }
    }

    fn status(&self) -> Value {
        let text = fs::read_to_string(self.kept().join("status.json")).expect("there is a status");
        serde_json::from_str(&text).expect("it is JSON")
    }

    /// How each task stands, in the order of their names: `ps-0 stopped, worker-0 succeeded`.
    pub fn states(&self) -> String {
        let status = self.status();
        let tasks = status["tasks"].as_array().expect("tasks");
        let word = |value: &Value| value.as_str().expect("a word").to_owned();
        let mut states: Vec<String> = tasks
            .iter()
            .map(|task| format!("{} {}", word(&task["task"]), word(&task["state"])))
            .collect();
        states.sort();
        states.join(", ")
    }

    /// The exit code of each life of a task.
    pub fn ends(&self, task: &str) -> Vec<i64> {
        let text = fs::read_to_string(self.kept().join("events.jsonl")).expect("there are events");
        let events = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("one event per line"));
        events
            .filter(|event| event["event"] == "taskEnded" && event["task"] == task)
            .map(|event| event["code"].as_i64().expect("it was started"))
            .collect()
    }

    /// Nothing of the run is left: no process listens on a port of a task.
    pub fn assert_that_no_port_is_in_use(&self) {
        for task in self.status()["tasks"].as_array().expect("tasks") {
            let port = task["port"].as_u64().and_then(|port| u16::try_from(port).ok());
            let port = port.expect("every task is told a port");
            let answer = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
            assert!(answer.is_err(), "{task} still listens");
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if let Some(running) = &self.running {
            kill(&running.child);
        }
    }
}

fn read(mut talk: ChildStderr) -> String {
    let mut bytes = Vec::new();
    let _ = talk.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Kills the program if what is answered is not dropped in time: its tasks die with it, its output ends, and the test
/// fails.
fn end_in_time(child: &Arc<Mutex<Child>>, limit: Duration) -> Sender<()> {
    let child = child.clone();
    let (ended, watched) = channel();
    thread::spawn(move || {
        if watched.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            kill(&child);
        }
    });
    ended
}

fn kill(child: &Mutex<Child>) {
    let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = child.kill();
    let _ = child.wait();
}
