//! `trainyard ps`.

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use trainyard_core::Outcome;
use trainyard_local::run::event::{FirstFailure, Life};
use trainyard_local::run::store::status::TaskState::{
    Failed, Restarting, Running, Starting, Stopped, Succeeded, Waiting,
};

use crate::kept::{BEGUN, State};
use crate::run::program;

const HOUR: Duration = Duration::from_hours(1);

/// A run of every kind.
fn every_kind(name: &str) -> State {
    let state = State::new(name);
    state
        .begin("mnist", "20261110-080000-000", 150 * HOUR)
        .task("worker-0", Succeeded)
        .ended(Some(Outcome::Succeeded), "worker-0 has succeeded");
    state
        .begin("mnist", "20261116-080000-000", HOUR * 5 / 2)
        .task("chief-0", Running)
        .task("ps-0", Running)
        .task("worker-0", Running)
        .task("worker-1", Restarting);
    state
        .begin("paused", "20261116-070000-000", HOUR * 7 / 2)
        .task("worker-0", Stopped)
        .suspended();
    state
        .begin("broken", "20261116-060000-000", HOUR * 9 / 2)
        .task("worker-0", Failed)
        .task("worker-1", Stopped)
        .ended(Some(Outcome::Failed), "worker-0 failed and no restarts were left");
    state
        .begin("ended", "20261116-050000-000", HOUR * 11 / 2)
        .task("worker-0", Stopped)
        .ended(None, "it was stopped");
    state
        .begin("killed", "20261116-040000-000", HOUR * 13 / 2)
        .task("worker-0", Running)
        .task("worker-1", Starting)
        .task("worker-2", Waiting);
    // Killed before it had a status.
    let early = state.begin("early", "20261116-030000-000", HOUR * 15 / 2);
    fs::remove_file(early.directory.path.join("status.json")).expect("it was there");
    state
}

#[test]
fn an_end_that_only_the_events_know_is_believed() {
    let state = State::new("ps-full-disk");
    let mut made = state
        .begin("full", "20261116-080000-000", HOUR)
        .task("worker-0", Running);
    let before = fs::read(made.directory.path.join("status.json")).expect("a status");
    made.status.tasks[0].state = Succeeded;
    made.end(Some(Outcome::Succeeded), "worker-0 has succeeded");
    let event = serde_json::json!({ "time": BEGUN, "job": "full", "event": "runEnded" });
    let mut event = event.as_object().expect("an object").clone();
    let end = serde_json::to_value(&made.status.end).expect("an end");
    event.extend(end.as_object().expect("an object").clone());
    let event = serde_json::to_string(&event).expect("a line");
    fs::write(made.directory.path.join("status.json"), before).expect("a file");
    assert_eq!(
        state.run(&["ps", "-o", "json"]).json()["runs"][0]["state"],
        "interrupted"
    );
    fs::write(made.directory.events(), format!("{{\"torn\n{event}\n")).expect("a file");
    let listed = state.run(&["ps", "-o", "json"]).json();
    assert_eq!(listed["runs"][0]["state"], "succeeded");
}

#[test]
fn a_run_is_stopping_only_while_it_goes_on() {
    let state = State::new("ps-stopping");
    let begin = |job: &str| {
        state
            .begin(job, "20261116-080000-000", HOUR)
            .task("worker-0", Running)
    };
    begin("runs").stopping();
    begin("paused").suspended().stopping();
    begin("dead").stopping();
    begin("over").stopping().ended(None, "it was stopped");
    let _claims = ["runs", "paused", "over"].map(|job| state.job(job).claim().expect("a lock"));
    let listed = state.run(&["ps", "-o", "json"]).json();
    let expected = [
        ("runs", "stopping"),
        ("paused", "stopping"),
        ("dead", "interrupted"),
        ("over", "stopped"),
    ];
    for (job, word) in expected {
        let runs = listed["runs"].as_array().expect("runs");
        let run = runs.iter().find(|run| run["job"] == job).expect("a run");
        assert_eq!(run["state"], word, "{job}");
    }
    // The run is active, so a command is sent; this test has no supervisor that would take it.
    let ordered = state.run(&["drain", "runs", "worker-0"]);
    assert!(ordered.err.contains("does not answer"), "{}", ordered.err);
}

#[test]
fn the_newest_run_of_each_job_is_shown() {
    let state = every_kind("ps-newest");
    let claims = ["mnist", "paused"].map(|job| state.job(job).claim().expect("a lock"));
    assert!(claims.iter().all(Option::is_some));
    insta::assert_snapshot!(state.run(&["ps"]).shown());
}

#[test]
fn every_run_is_shown_when_asked_for() {
    let state = every_kind("ps-all");
    let _claim = state.job("mnist").claim().expect("a lock");
    insta::assert_snapshot!(state.run(&["ps", "--all"]).shown());
    let of_job = state.run(&["ps", "mnist", "--all"]);
    assert_eq!(of_job.out.lines().count(), 3, "{}", of_job.out);
}

#[test]
fn a_jobs_tasks_are_shown() {
    let state = every_kind("ps-tasks");
    let _claim = state.job("mnist").claim().expect("a lock");
    let mut shown = String::new();
    for typed in [
        &["ps", "mnist"][..],
        &["ps", "broken"],
        &["ps", "killed"],
        &["ps", "early"],
        &["ps", "mnist", "--run", "20261110-080000-000"],
    ] {
        let ran = state.run(typed);
        writeln!(shown, "$ trainyard {}\n{}", typed.join(" "), ran.shown()).expect("a string takes it");
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn programs_get_the_same_as_json() {
    let state = State::new("ps-json");
    let mut made = state
        .begin_at("mnist", "20261116-014512-345", BEGUN)
        .task("worker-0", Failed)
        .task("worker-1", Stopped)
        .ended(Some(Outcome::Failed), "worker-0 failed");
    let worker = &made.status.tasks[0];
    let failure = FirstFailure {
        life: Life::new(&worker.task, trainyard_core::Stamp::default(), 0),
        end: worker.end.clone().expect("it has ended"),
        meaning: "the program's own error".into(),
        log: worker.log.clone().expect("it has a log"),
        last_lines: vec!["boom".into()],
    };
    made.status.end.as_mut().expect("it has ended").first_failure = Some(failure);
    let durable = trainyard_local::run::store::directory::Durable::No;
    made.directory
        .write_status(&made.status, durable)
        .expect("a file");
    state
        .begin_at("other", "20261116-014512-300", BEGUN)
        .task("worker-0", Running);
    insta::assert_snapshot!(state.run(&["ps", "-o", "json"]).shown());
    let one = state.run(&["ps", "mnist", "-o", "json"]).json();
    assert_eq!(one["runs"].as_array().map(Vec::len), Some(1));
}

#[test]
fn what_cannot_be_read_is_said_and_the_rest_is_shown() {
    let state = every_kind("ps-unreadable");
    let broken = |job: &str, id: &str, file: &str| state.job(job).run(id).path.join(file);
    let newer = broken("broken", "20261116-060000-000", "status.json");
    fs::write(newer, r#"{"format": 2, "tasks": "as the future writes them"}"#).expect("a file");
    fs::write(broken("ended", "20261116-050000-000", "status.json"), "{").expect("a file");
    fs::write(
        broken("killed", "20261116-040000-000", "run.json"),
        r#"{"format": 1}"#,
    )
    .expect("a file");
    insta::assert_snapshot!(state.run(&["ps"]).shown());
    let json = state.run(&["ps", "-o", "json"]);
    assert_eq!(json.code, Some(1));
    assert_eq!(json.json()["unreadable"].as_array().map(Vec::len), Some(3));
    // A job that cannot be read does not keep the others from being looked at.
    assert_eq!(state.run(&["ps", "mnist"]).code, Some(0));
}

/// W6: what is remembered and cannot be read is said, and not taken for nothing remembered: the run would be shown as one that goes on.
#[test]
fn a_memory_that_cannot_be_read_is_said() {
    let state = State::new("ps-memory");
    let rows = [
        (
            "damaged",
            r#"{ "format": 1, "job": "u", "held": "Frozen" }"#,
            "unknown variant `Frozen`",
        ),
        (
            "later",
            r#"{ "format": 99, "job": "u" }"#,
            "newer version of trainyard: its format is 99",
        ),
        (
            "much-later",
            r#"{ "format": 99, "held": { "a": 1 } }"#,
            "newer version of trainyard: its format is 99",
        ),
    ];
    for (job, memory, words) in rows {
        let made = state
            .begin(job, "20261116-080000-000", HOUR)
            .task("worker-0", Running)
            .suspended();
        let path = made.directory.path.join("status.json");
        let mut status: serde_json::Value =
            serde_json::from_slice(&fs::read(&path).expect("a file")).expect("JSON");
        status["memory"] = serde_json::from_str(memory).expect("JSON");
        fs::write(&path, status.to_string()).expect("a file");
        let _claim = state.job(job).claim().expect("a lock");
        let listed = state.run(&["ps", job, "-o", "json"]);
        assert_eq!(listed.code, Some(1), "{job}");
        let listed = listed.json();
        assert_eq!(listed["runs"].as_array().map(Vec::len), Some(0), "{job}");
        let said = listed["unreadable"][0]["message"].as_str().unwrap_or_default();
        assert!(said.contains(words), "{job}: {said}");
    }
}

#[test]
fn nothing_is_nothing_wrong() {
    let state = State::new("ps-nothing");
    let ran = state.run(&["ps"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""));
    assert!(ran.err.contains("no runs are stored"), "{}", ran.err);
    assert_eq!(
        state.run(&["ps", "-o", "json"]).json()["runs"],
        serde_json::json!([])
    );
}

#[test]
fn an_unknown_job_or_run_exits_2_and_says_which_there_are() {
    let state = every_kind("ps-unknown");
    let mut shown = String::new();
    for typed in [
        &["ps", "mnits"][..],
        &["ps", "imagenet"],
        &["ps", "mnist", "--run", "20261116-080000-001"],
        &["ps", "../mnist"],
        &["ps", ""],
    ] {
        let ran = state.run(typed);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{typed:?}");
        writeln!(shown, "$ trainyard {}\n{}", typed.join(" "), ran.err).expect("a string takes it");
    }
    insta::assert_snapshot!(shown);
    let homeless = program(&["ps"]).output().expect("the program runs");
    assert_eq!(homeless.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&homeless.stderr).contains("nothing says where runs are kept"));
}
