//! The whole way from a reporter's calls to the two streams, which are buffers here.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use trainyard_core::{Outcome, Stamp, TaskId};
use trainyard_local::logs::pump::{LogBlock, LogSource, LogTrouble};
use trainyard_local::run::event::{Life, ProgramEnd, Reporter, RunEnd, RunEvent, What};
use trainyard_local::run::store::status::{TaskState, TaskStatus};
use trainyard_local::run::timestamp::Timestamp;

use super::display::Display;
use super::glob::Glob;
use super::view::{Lines, Stream, View};
use crate::args::Format;

const TERMINAL: Stream = Stream {
    terminal: true,
    pipe: false,
    color: true,
};

/// Each write by itself: what is written at once cannot be torn.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<Vec<u8>>>>);

impl Written {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap().concat()).into_owned()
    }

    fn writes(&self) -> Vec<String> {
        let writes = self.0.lock().unwrap();
        writes
            .iter()
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .collect()
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().push(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Watched {
    display: Display,
    out: Written,
    err: Written,
}

impl Watched {
    fn new(view: View) -> Self {
        let (out, err) = (Written::default(), Written::default());
        let size = Box::new(|| Some((80, 24)));
        let display = Display::with(view, Box::new(out.clone()), Box::new(err.clone()), size);
        Self { display, out, err }
    }

    /// A reporter of a job with a chief and eleven workers.
    fn job(&self) -> Arc<dyn Reporter> {
        self.display.reporter("mnist", false, &tasks(11))
    }

    fn shown(&self) -> (String, String) {
        self.display.finish();
        (self.out.text(), self.err.text())
    }
}

fn tasks(workers: u32) -> Vec<TaskId> {
    let workers = (0..workers).map(|index| TaskId::new("worker", index));
    std::iter::once(TaskId::new("chief", 0)).chain(workers).collect()
}

fn source(task: &str, container: Option<&str>) -> LogSource {
    LogSource {
        task: task.parse().unwrap(),
        stamp: Stamp::default(),
        in_place: 0,
        container: container.map(Into::into),
        file: "x.log".into(),
    }
}

fn whole(bytes: &[u8]) -> LogBlock<'_> {
    LogBlock {
        bytes,
        continued: false,
        cut: false,
    }
}

fn happens(reporter: &dyn Reporter, what: What) {
    reporter.event(&RunEvent {
        time: Timestamp(5_000),
        job: "mnist".into(),
        what,
    });
}

fn started(task: &str) -> What {
    What::TaskStarted {
        life: life(task, 0),
        init: None,
        pid: 7,
        port: Some(20_001),
    }
}

fn life(task: &str, attempt: u32) -> Life {
    Life::new(&task.parse().unwrap(), Stamp { epoch: 0, attempt }, 0)
}

fn failed(task: &str) -> What {
    What::TaskEnded {
        life: life(task, 0),
        end: ProgramEnd {
            code: Some(137),
            signal: Some(9),
            ..ProgramEnd::default()
        },
        stopped: false,
    }
}

fn run_end() -> What {
    What::RunEnded(Box::new(RunEnd {
        outcome: Some(Outcome::Succeeded),
        cause: "chief-0".into(),
        decided_by: None,
        deadline: false,
        signal: None,
        seconds: 1.0,
        first_failure: None,
        warnings: Vec::new(),
        left_alive: Vec::new(),
        tasks: Vec::new(),
    }))
}

fn status(task: &TaskId, state: TaskState) -> TaskStatus {
    TaskStatus {
        task: task.clone(),
        state,
        since: Timestamp(0),
        epoch: 0,
        attempt: 0,
        restarts: 0,
        port: None,
        end: None,
        log: None,
    }
}

#[test]
fn lines_of_tasks_are_aligned_under_their_names_and_written_at_once() {
    let watched = Watched::new(View::default());
    let job = watched.job();
    job.lines(&source("chief-0", None), whole(b"one\ntwo\n"));
    job.lines(&source("worker-10", None), whole(b"no end"));
    job.lines(&source("worker-1", Some("setup")), whole(b"wider\n"));
    job.lines(&source("chief-0", None), whole(b"last\n"));
    watched.display.finish();
    assert_eq!(
        watched.out.writes(),
        [
            "chief-0   │ one\nchief-0   │ two\n",
            "worker-10 │ no end\n",
            "worker-1:setup │ wider\n",
            "chief-0        │ last\n",
        ]
    );
    assert_eq!(watched.err.text(), "");
}

#[test]
fn what_was_typed_decides_how_lines_look() {
    let view = |lines| View {
        lines,
        ..View::default()
    };
    let only = View {
        tasks: vec![Glob::new("chief-*")],
        ..View::default()
    };
    let quiet = View {
        quiet: true,
        ..View::default()
    };
    let ascii = View {
        ascii: true,
        ..View::default()
    };
    let table = [
        (view(Lines::Prefixed), "chief-0   │ a\x07\nworker-0  │ b\n"),
        (view(Lines::Plain), "a\x07\nb\n"),
        (view(Lines::Raw), "a\x07\nb"),
        (only, "chief-0   │ a\x07\n"),
        (quiet, ""),
        (ascii, "chief-0   | a\x07\nworker-0  | b\n"),
    ];
    for (view, expected) in table {
        let watched = Watched::new(view);
        let job = watched.job();
        job.lines(&source("chief-0", None), whole(b"a\x07\n"));
        job.lines(&source("worker-0", None), whole(b"b"));
        assert_eq!(watched.shown().0, expected);
    }
}

#[test]
fn timestamps_stand_before_names() {
    let watched = Watched::new(View {
        timestamps: true,
        ..View::default()
    });
    watched.job().lines(&source("chief-0", None), whole(b"a\nb\n"));
    let (out, _) = watched.shown();
    for (line, text) in out.lines().zip(["chief-0   │ a", "chief-0   │ b"]) {
        let (time, rest) = line.split_once(' ').unwrap();
        assert!(time.parse::<Timestamp>().is_ok() && time.len() == 24, "{time}");
        assert_eq!(rest, text);
    }
}

#[test]
fn timestamps_stand_before_what_we_say_ourselves() {
    let watched = Watched::new(View {
        timestamps: true,
        ..View::default()
    });
    let at = Timestamp(1_794_900_000_123);
    watched.job().event(&RunEvent {
        time: at,
        job: "mnist".into(),
        what: What::DebugTask {
            task: TaskId::new("worker", 1),
            text: "two\nlines".into(),
            script: String::new(),
        },
    });
    let (_, err) = watched.shown();
    let [first, second] = err.lines().collect::<Vec<_>>()[..] else {
        panic!("{err}");
    };
    assert_eq!(first, format!("{at} trainyard │ note: two"));
    assert_eq!(second, format!("{at} {:9} │ lines", ""));
}

#[test]
fn with_several_jobs_each_name_says_whose_it_is() {
    let watched = Watched::new(View::default());
    let task = [TaskId::new("worker", 0)];
    let jobs = ["a", "bb"].map(|name| watched.display.reporter(name, true, &task));
    for job in &jobs {
        job.lines(&source("worker-0", None), whole(b"x\n"));
        happens(&**job, failed("worker-0"));
    }
    let (out, err) = watched.shown();
    assert_eq!(out, "a/worker-0  │ x\nbb/worker-0 │ x\n");
    assert_eq!(
        err,
        "trainyard   │ a: worker-0 was killed by signal 9 (SIGKILL)\n\
         trainyard   │ bb: worker-0 was killed by signal 9 (SIGKILL)\n"
    );
}

#[test]
fn quiet_leaves_what_matters() {
    let told = |quiet| {
        let watched = Watched::new(View {
            quiet,
            ..View::default()
        });
        let job = watched.job();
        happens(&*job, started("worker-0"));
        happens(&*job, failed("worker-0"));
        let text = "look".to_owned();
        happens(&*job, What::Hint { task: None, text });
        happens(&*job, run_end());
        watched.shown().1
    };
    let loud = "trainyard │ worker-0 started (port 20001)\n";
    let matters = "trainyard │ worker-0 was killed by signal 9 (SIGKILL) after 0.00s\n\
                   trainyard │ hint: look\n\n✔ mnist succeeded after 1.0s: chief-0\n";
    assert_eq!(told(false), format!("{loud}{matters}"));
    assert_eq!(told(true), matters);
}

#[test]
fn json_is_one_event_a_line_on_standard_output_and_nothing_else() {
    let watched = Watched::new(View {
        output: Format::Json,
        err: TERMINAL,
        footer: true,
        ..View::default()
    });
    let job = watched.job();
    happens(&*job, started("chief-0"));
    job.lines(&source("chief-0", None), whole(b"a\nb\n"));
    job.trouble(
        &source("chief-0", None),
        &LogTrouble {
            path: "x.log".into(),
            source: io::ErrorKind::StorageFull.into(),
        },
    );
    happens(&*job, run_end());
    let (out, err) = watched.shown();
    let events: Vec<serde_json::Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<&str> = events
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["taskStarted", "log", "log", "note", "runEnded"]);
    assert!(events.iter().all(|event| event["job"] == "mnist"));
    assert_eq!(err, "");
}

#[test]
fn no_control_codes_reach_what_is_no_terminal() {
    let watched = Watched::new(View {
        footer: true,
        ..View::default()
    });
    let job = watched.job();
    happens(&*job, started("chief-0"));
    job.tasks(&[status(&TaskId::new("chief", 0), TaskState::Running)]);
    job.lines(&source("chief-0", None), whole(b"text\n"));
    happens(&*job, failed("chief-0"));
    happens(&*job, run_end());
    let (out, err) = watched.shown();
    for text in [out, err] {
        assert!(!text.is_empty() && !text.contains(['\x1b', '\r']), "{text:?}");
    }
}

#[test]
fn the_footer_stays_below_the_lines_and_goes_at_the_end() {
    let watched = Watched::new(View {
        out: TERMINAL,
        err: TERMINAL,
        one_terminal: true,
        footer: true,
        ..View::default()
    });
    let job = watched.job();
    job.tasks(&[status(&TaskId::new("chief", 0), TaskState::Running)]);
    job.lines(&source("chief-0", None), whole(b"first\n"));
    job.lines(&source("chief-0", None), whole(b"second\n"));
    happens(&*job, run_end());
    let (out, err) = watched.shown();
    assert_eq!(
        out, "",
        "one terminal is written through one stream, so that nothing crosses"
    );
    let display = played(&err);
    let shown: Vec<&str> = display
        .iter()
        .map(String::as_str)
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(
        shown,
        [
            "chief-0   │ first",
            "chief-0   │ second",
            "✔ mnist succeeded after 1.0s: chief-0"
        ]
    );
    assert!(err.contains("running"), "{err:?}");
}

/// What a terminal shows after these bytes: lines, cursor up, and erasing below are all that is used.
fn played(text: &str) -> Vec<String> {
    let mut display = vec![String::new()];
    let mut row = 0;
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        match character {
            '\n' => {
                row += 1;
                display.resize(display.len().max(row + 1), String::new());
            }
            '\r' => {}
            '\x1b' => {
                let end = rest.find(|letter: char| letter.is_ascii_alphabetic()).unwrap();
                let number = rest[1..end].parse().unwrap_or(1);
                match &rest[end..=end] {
                    "A" => row -= number,
                    "J" => {
                        display.truncate(row + 1);
                        display[row].clear();
                    }
                    "m" => {}
                    other => panic!("unknown sequence {other}"),
                }
                rest = &rest[end + 1..];
            }
            _ => display[row].push(character),
        }
    }
    display
}

#[test]
fn a_reader_that_has_gone_is_told_of_once_and_the_run_goes_on() {
    let err = Written::default();
    let display = Display::with(
        View::default(),
        Box::new(Closed),
        Box::new(err.clone()),
        Box::new(|| None),
    );
    let job = display.reporter("mnist", false, &tasks(1));
    for _ in 0..3 {
        job.lines(&source("chief-0", None), whole(b"x\n"));
    }
    display.finish();
    let text = err.text();
    assert_eq!(
        text.matches("the reader of the output has gone").count(),
        1,
        "{text}"
    );
}

/// A reader that takes nothing until it is let go.
struct Stuck(mpsc::Receiver<()>, mpsc::Sender<()>);

impl Write for Stuck {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.1.send(());
        // Ends when the other side is dropped.
        let _ = self.0.recv();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_run_goes_on_deciding_while_nobody_reads_its_output() {
    let ((let_go, held), (stuck, reached)) = (mpsc::channel(), mpsc::channel());
    let err = Written::default();
    let display = Display::with(
        View::default(),
        Box::new(Stuck(held, stuck)),
        Box::new(err.clone()),
        Box::new(|| None),
    );
    let job = display.reporter("mnist", false, &tasks(1));
    let (told, heard) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| job.lines(&source("chief-0", None), whole(b"x\n")));
        reached.recv().unwrap();
        scope.spawn(|| {
            happens(&*job, failed("chief-0"));
            job.tasks(&[status(&TaskId::new("chief", 0), TaskState::Failed)]);
            told.send(()).unwrap();
        });
        // Long enough for any machine; a run that waits here waits for ever.
        let free = heard.recv_timeout(Duration::from_secs(20));
        drop(let_go);
        assert!(free.is_ok(), "telling waited for a reader");
    });
    display.finish();
    assert!(err.text().contains("SIGKILL"), "{}", err.text());
}

#[test]
fn many_tasks_start_without_many_words() {
    let watched = Watched::new(View::default());
    let many = tasks(40);
    let job = watched.display.reporter("mnist", false, &many);
    for task in &many {
        happens(&*job, started(&task.to_string()));
    }
    let running: Vec<TaskStatus> = many.iter().map(|task| status(task, TaskState::Running)).collect();
    job.tasks(&running);
    job.tasks(&running);
    happens(&*job, failed("worker-3"));
    happens(&*job, started("worker-3"));
    assert_eq!(
        watched.shown().1,
        "trainyard │ all 41 tasks run\n\
         trainyard │ worker-3 was killed by signal 9 (SIGKILL) after 0.00s\n\
         trainyard │ worker-3 started again (port 20001)\n"
    );
}

#[test]
fn every_event_has_its_sentence() {
    let watched = Watched::new(View::default());
    let job = watched.job();
    let task = || Some(TaskId::new("worker", 1));
    let events = [
        What::RunStarted {
            run: "1".into(),
            directory: "/state/runs/mnist/1".into(),
            tasks: 12,
        },
        What::TaskStarted {
            life: life("worker-1", 0),
            init: Some("setup".into()),
            pid: 6,
            port: None,
        },
        started("worker-1"),
        failed("worker-1"),
        What::Restarting {
            what: "worker-1".into(),
            task: task(),
            rule: Some("restartPolicy: ExitCode".into()),
            paid: true,
            seconds: 10,
        },
        What::Restarting {
            what: "the whole job".into(),
            task: task(),
            rule: None,
            paid: false,
            seconds: 0,
        },
        What::RestartsInPlace {
            life: life("worker-1", 0),
            seconds: 90,
        },
        What::Held { suspended: true },
        What::Held { suspended: false },
        What::Resumed,
        What::Note {
            text: "two\nlines".into(),
        },
        What::Hint {
            task: task(),
            text: "is its port right?".into(),
        },
        What::TensorBoard {
            url: "http://localhost:6006".into(),
        },
        What::TaskEnded {
            life: life("worker-1", 1),
            end: ProgramEnd {
                not_started: Some("no such program".into()),
                container: Some("setup".into()),
                ..ProgramEnd::default()
            },
            stopped: false,
        },
        What::TaskEnded {
            life: life("worker-2", 1),
            end: ProgramEnd {
                not_started: Some("no such program".into()),
                container: Some("setup".into()),
                ..ProgramEnd::default()
            },
            stopped: false,
        },
        What::TaskEnded {
            life: life("worker-2", 0),
            end: ProgramEnd {
                code: Some(0),
                ..ProgramEnd::default()
            },
            stopped: false,
        },
        What::TaskEnded {
            life: life("worker-3", 0),
            end: ProgramEnd {
                code: Some(143),
                signal: Some(15),
                ..ProgramEnd::default()
            },
            stopped: true,
        },
    ];
    for what in events {
        happens(&*job, what);
    }
    insta::assert_snapshot!(watched.shown().1);
}
