//! `trainyard logs`.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use trainyard_core::Outcome;
use trainyard_local::run::store::status::TaskState::{Running, Succeeded};

use crate::kept::{BEGUN, Made, State};
use crate::run::Ran;
use crate::run::full_disk;

const ID: &str = "20261116-014512-345";

/// A run with two tasks, one of them in its third life.
fn written(state: &State) -> Made {
    state
        .begin_at("mnist", ID, BEGUN)
        .task("ps-0", Running)
        .task("worker-0", Running)
        .log(
            "ps-0.0.0",
            &[(1000, "listening\n"), (5000, "worker joined\nworker left\n")],
        )
        .log("worker-0.0.0", &[(2000, "first life\n")])
        .log("worker-0.0.1.data", &[(2500, "fetching\n")])
        .log(
            "worker-0.0.1",
            &[(3000, "second life\n"), (3500, "Traceback\nboom\n")],
        )
        .log("worker-0.0.2.data", &[(5500, "fetched\n")])
        .log(
            "worker-0.0.2",
            &[
                (6000, "third life\nst"),
                (7000, "ep 1\nstep 2\n"),
                (8000, "step 3"),
            ],
        )
}

#[test]
fn lines_come_in_order_of_time_and_as_was_asked_for() {
    let state = State::new("logs-order");
    written(&state).ended(Some(Outcome::Succeeded), "done");
    let mut shown = String::new();
    for options in [
        &[][..],
        &["--previous"],
        &["--all-attempts", "--task", "worker"],
        &["--task", "ps-*", "--timestamps"],
        &[
            "--no-prefix",
            "--timestamps",
            "--container",
            "main",
            "--tail",
            "1",
        ],
        &["--container", "data", "--all-lives"],
        &["--container", "tensorflow", "--tail", "1"],
        &["--since", "2026-11-16T01:45:18.500Z"],
        &["--raw", "--task", "worker-0"],
        &["-o", "json", "--task", "worker-0", "--tail", "1"],
        &["--tail", "0"],
        &["-f", "--tail", "1"],
        &["--previous", "--task", "ps-0"],
    ] {
        let ran = state.run(&[&["logs", "mnist"], options].concat());
        assert_eq!(ran.code, Some(0), "{options:?}: {}", ran.err);
        let typed = options.join(" ");
        writeln!(shown, "$ trainyard logs mnist {typed}\n{}{}", ran.out, ran.err).expect("a string takes it");
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn what_does_not_exist_exits_2_and_says_what_does() {
    let state = State::new("logs-unknown");
    written(&state);
    let mut shown = String::new();
    for typed in [
        &["logs", "mnst"][..],
        &["logs", "mnist", "--task", "worker-7"],
        &["logs", "mnist", "--task", "evaluator-*"],
        &["logs", "mnist", "--container", "dta"],
        &["logs", "mnist", "--container", "istio"],
        &["logs", "mnist", "--run", "20200101-000000-000"],
        &["logs", "mnist", "--since", "yesterday"],
    ] {
        let ran = state.run(typed);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{typed:?}");
        writeln!(shown, "$ trainyard {}\n{}", typed.join(" "), ran.err).expect("a string takes it");
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn every_byte_of_a_program_comes_through_a_pipe() {
    let state = State::new("logs-bytes");
    let made = state.begin_at("mnist", ID, BEGUN).task("worker-0", Succeeded);
    let bytes = b"\x1b[31mred\x1b[0m \xff\x00\r\n\nno end";
    fs::write(made.directory.logs().join("worker-0.0.0.log"), bytes).expect("a log");
    let raw = state
        .program(&["logs", "mnist", "--raw"])
        .output()
        .expect("it runs");
    assert_eq!(raw.stdout, bytes);
    let prefixed = state.program(&["logs", "mnist"]).output().expect("it runs");
    let expected = "worker-0 │ \x1b[31mred\x1b[0m \u{fffd}\0\r\nworker-0 │ \nworker-0 │ no end\n";
    assert_eq!(String::from_utf8_lossy(&prefixed.stdout), expected);
}

#[test]
fn a_task_has_its_colour_whatever_is_shown_beside_it() {
    let state = State::new("logs-colour");
    written(&state);
    let line = |options: &[&str]| {
        let ran = state.run(
            &[
                &["logs", "mnist", "--color", "always", "--container", "main"],
                options,
            ]
            .concat(),
        );
        let line = ran.out.lines().find(|line| line.contains("step 2"));
        line.expect("it is shown").to_owned()
    };
    assert_eq!(line(&[]), line(&["--task", "worker-0"]));
    assert!(line(&[]).starts_with("\x1b["));
}

#[test]
fn a_log_that_cannot_be_read_is_said_and_the_others_are_shown() {
    let state = State::new("logs-unreadable");
    let made = written(&state);
    let log = made.directory.logs().join("worker-0.0.2.log");
    fs::remove_file(&log).expect("it was there");
    fs::create_dir(&log).expect("a directory in its place");
    let ran = state.run(&["logs", "mnist"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("listening"), "{}", ran.out);
    assert!(
        ran.err.contains("worker-0.0.2.log`: Is a directory"),
        "{}",
        ran.err
    );
}

#[test]
fn tasks_that_have_not_been_started_are_said_to_be_so() {
    let state = State::new("logs-none");
    state.begin_at("mnist", ID, BEGUN).task("worker-0", Running);
    let ran = state.run(&["logs", "mnist"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""));
    assert_eq!(
        ran.err,
        "`mnist`: none of these tasks has been started in this run\n"
    );
}

/// `logs -f` and its lines.
struct Followed {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Followed {
    fn begin(state: &State, options: &[&str]) -> Self {
        let mut child = state
            .program(&[&["logs", "mnist", "-f"], options].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("UTF-8");
        line
    }

    fn end(self) -> Ran {
        drop(self.lines);
        self.child.wait_with_output().expect("it ends").into()
    }
}

#[test]
fn following_shows_new_lines_and_new_lives_until_the_run_ends() {
    let state = State::new("logs-follow");
    let claim = state.job("mnist").claim().expect("a lock").expect("it is free");
    let mut made = written(&state);
    let mut followed = Followed::begin(&state, &["--task", "worker-0", "--tail", "1", "-c", "main"]);
    // A line that has no end yet is waited for.
    made.append("worker-0.0.2", &[(9000, " done\n")]);
    assert_eq!(followed.line(), "worker-0 │ step 3 done\n");
    made.append("worker-0.0.2", &[(9500, "last wor")]);
    made.append("ps-0.0.0", &[(9600, "not asked for\n")]);
    made.append("worker-0.1.0", &[(10_000, "fourth life\n")]);
    // The life before will not end its line any more.
    assert_eq!(followed.line(), "worker-0 │ last wor\n");
    assert_eq!(followed.line(), "worker-0 │ fourth life\n");
    made.append("worker-0.1.0", &[(11_000, "no newline at the end")]);
    made.end(Some(Outcome::Succeeded), "done");
    assert_eq!(followed.line(), "worker-0 │ no newline at the end\n");
    assert_eq!(followed.line(), "", "the run has ended");
    let ran = followed.end();
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    drop(claim);
}

#[test]
fn following_ends_with_a_run_that_was_killed() {
    let state = State::new("logs-killed");
    let claim = state.job("mnist").claim().expect("a lock").expect("it is free");
    written(&state);
    let mut followed = Followed::begin(&state, &["--task", "ps-0"]);
    assert_eq!(followed.line(), "ps-0 │ listening\n");
    drop(claim);
    assert_eq!(followed.line(), "ps-0 │ worker joined\n");
    assert_eq!(followed.line(), "ps-0 │ worker left\n");
    assert_eq!(followed.line(), "");
    assert_eq!(followed.end().code, Some(0));
}

#[test]
fn following_ends_when_nobody_reads_though_nothing_is_written() {
    let state = State::new("logs-reader");
    let _claim = state.job("mnist").claim().expect("a lock");
    written(&state);
    let mut followed = Followed::begin(&state, &["--task", "ps-0"]);
    followed.line();
    let ran = followed.end();
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
}

#[test]
fn a_full_disk_is_an_error_here_too() {
    let state = State::new("logs-full");
    written(&state);
    let output = state.program(&["logs", "mnist"]).stdout(full_disk()).output();
    let ran: Ran = output.expect("it runs").into();
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("No space left on device"), "{}", ran.err);
}

#[test]
fn a_large_log_is_not_held_in_memory() {
    let state = State::new("logs-large");
    let made = state
        .begin("mnist", ID, Duration::from_mins(1))
        .task("worker-0", Succeeded);
    // A file with a hole: 4 GiB of zeros, then a line.
    let log = fs::File::create(made.directory.logs().join("worker-0.0.0.log")).expect("a log");
    log.set_len(4 << 30).expect("a hole");
    drop(log);
    made.append("worker-0.0.0", &[(1000, "\nthe end\n")]);
    let script = "ulimit -v 1048576; exec \"$0\" logs mnist --raw --tail 1";
    let output = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_trainyard")])
        .env("TRAINYARD_STATE", &state.path)
        .output()
        .expect("a shell");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "the end\n");
}
