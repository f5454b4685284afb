use super::*;
use trainyard_local::run::event::Life;
use trainyard_local::run::timestamp::Timestamp;

fn status(task: &str, state: TaskState, restarts: u32, end: impl Into<Option<ProgramEnd>>) -> TaskStatus {
    TaskStatus {
        task: task.parse().unwrap(),
        state,
        since: Timestamp(0),
        epoch: 0,
        attempt: restarts,
        restarts,
        port: None,
        end: end.into(),
        log: Some(format!("/state/runs/mnist/1/logs/{task}.0.{restarts}.log").into()),
    }
}

fn exit(code: i32) -> ProgramEnd {
    ProgramEnd {
        code: Some(code),
        ..ProgramEnd::default()
    }
}

fn killed(signal: i32) -> ProgramEnd {
    ProgramEnd {
        code: Some(128 + signal),
        signal: Some(signal),
        ..ProgramEnd::default()
    }
}

fn ended(outcome: Option<Outcome>, cause: &str, seconds: f64, tasks: Vec<TaskStatus>) -> RunEnd {
    RunEnd {
        outcome,
        cause: cause.into(),
        decided_by: None,
        deadline: false,
        signal: None,
        seconds,
        first_failure: None,
        warnings: Vec::new(),
        left_alive: Vec::new(),
        tasks,
    }
}

fn failure(task: &str, attempt: u32, end: ProgramEnd, meaning: &str, lines: &[&str]) -> FirstFailure {
    FirstFailure {
        life: Life {
            task: task.parse().unwrap(),
            epoch: 0,
            attempt,
            in_place: 0,
        },
        end,
        meaning: meaning.into(),
        log: format!("/state/runs/mnist/1/logs/{task}.0.{attempt}.log").into(),
        last_lines: lines.iter().map(ToString::to_string).collect(),
    }
}

fn shown(end: &RunEnd) -> String {
    let page = page("mnist", end, Some(Path::new("/state/runs/mnist/1")), 80);
    anstream::adapter::strip_str(&page).to_string()
}

#[test]
fn a_job_that_succeeded_is_told_in_a_few_lines() {
    let tasks = vec![
        status("chief-0", TaskState::Succeeded, 0, exit(0)),
        status("worker-0", TaskState::Succeeded, 0, exit(0)),
        status("worker-1", TaskState::Succeeded, 1, exit(0)),
        status("ps-0", TaskState::Stopped, 0, killed(15)),
    ];
    let end = ended(
        Some(Outcome::Succeeded),
        "chief-0, by `successPolicy`",
        75.4,
        tasks,
    );
    insta::assert_snapshot!(shown(&end));
}

#[test]
fn a_failure_is_told_with_its_root_and_the_stopped_are_not_blamed() {
    let tasks = vec![
        status("chief-0", TaskState::Stopped, 0, killed(15)),
        status("worker-0", TaskState::Restarting, 0, killed(9)),
        status("worker-1", TaskState::Failed, 2, exit(1)),
        status("ps-0", TaskState::Waiting, 0, None),
    ];
    let mut end = ended(
        Some(Outcome::Failed),
        "no restart is left for worker-1",
        7.31,
        tasks,
    );
    let lines = [
        "Traceback (most recent call last):",
        "\x1b[2J\x07ValueError: \x1b[31mbad",
    ];
    let meaning =
        "Exit code 1: the program reported an error, usually a Python exception; its last lines say which.";
    end.first_failure = Some(failure("worker-1", 1, exit(1), meaning, &lines));
    insta::assert_snapshot!(shown(&end));
}

#[test]
fn warnings_of_a_job_that_succeeded_follow_its_verdict_and_fit_on_the_screen() {
    let tasks = (0..11).map(|index| status(&format!("worker-{index}"), TaskState::Succeeded, 0, exit(0)));
    let mut end = ended(
        Some(Outcome::Succeeded),
        "the deciding tasks exited 0",
        9.5,
        tasks.collect(),
    );
    end.warnings = vec![
        RunWarning {
            task: Some("evaluator-0".parse().unwrap()),
            cause: trainyard_core::FailureCause {
                sentence: "ValueError: no checkpoint".into(),
                place: Some("evaluate.py:9".into()),
                ..Default::default()
            },
        },
        RunWarning {
            task: None,
            cause: trainyard_core::FailureCause {
                code: Some("TR048".into()),
                sentence: "12 tasks each trained alone".into(),
                help: Some("create the strategy before the model".into()),
                ..Default::default()
            },
        },
    ];
    let page = shown(&end);
    let at = page.find("✔ mnist succeeded").unwrap();
    let lines: Vec<&str> = page[at..].lines().skip(1).map(str::trim).collect();
    let expected = [
        "warning: evaluator-0 failed: ValueError: no checkpoint (evaluate.py:9); the job succeeded without it",
        "more: trainyard logs mnist --task evaluator-0",
        "warning: 12 tasks each trained alone",
        "help: create the strategy before the model",
        "more: trainyard explain TR048",
    ];
    assert_eq!(lines, expected);
    assert!(page.lines().count() < 30, "{page}");
}

#[test]
fn many_tasks_that_ended_alike_are_told_together() {
    let mut tasks: Vec<TaskStatus> = (0..62)
        .map(|index| status(&format!("worker-{index}"), TaskState::Stopped, 0, killed(15)))
        .collect();
    tasks[3] = status("worker-3", TaskState::Failed, 0, killed(9));
    tasks.push(status("ps-0", TaskState::Stopped, 0, killed(15)));
    let end = ended(
        Some(Outcome::Failed),
        "worker-3, by `restartPolicy`",
        3700.0,
        tasks,
    );
    insta::assert_snapshot!(shown(&end));
}

#[test]
fn the_first_line_says_how_it_ended() {
    let base = ended(Some(Outcome::Failed), "why", 0.123, Vec::new());
    let table = [
        (base.clone(), "✖ mnist failed after 0.12s: why"),
        (
            RunEnd {
                deadline: true,
                ..base.clone()
            },
            "✖ mnist ran into its deadline after 0.12s: why",
        ),
        (
            RunEnd {
                outcome: None,
                signal: Some(2),
                ..base.clone()
            },
            "■ mnist was stopped by Ctrl-C after 0.12s",
        ),
        (
            RunEnd {
                outcome: None,
                signal: Some(15),
                ..base.clone()
            },
            "■ mnist was stopped by SIGTERM after 0.12s",
        ),
        (
            RunEnd {
                outcome: None,
                ..base.clone()
            },
            "■ mnist was stopped before it had ended after 0.12s",
        ),
        (
            RunEnd {
                outcome: Some(Outcome::Terminated),
                ..base
            },
            "■ mnist was ended on request after 0.12s: why",
        ),
    ];
    for (end, expected) in table {
        assert_eq!(
            anstream::adapter::strip_str(&verdict("mnist", &end, 80)).to_string(),
            format!("{expected}\n")
        );
    }
}

#[test]
fn what_could_not_be_started_says_why() {
    let not_started = ProgramEnd {
        not_started: Some("there is no program `pyton` on the PATH".into()),
        container: Some("setup".into()),
        ..ProgramEnd::default()
    };
    let tasks = vec![status(
        "worker-0",
        TaskState::Failed,
        0,
        Some(not_started.clone()),
    )];
    let mut end = ended(Some(Outcome::Failed), "worker-0", 1.0, tasks);
    end.left_alive = vec![TaskId::new("ps", 0), TaskId::new("ps", 1)];
    end.first_failure = Some(failure("worker-0", 0, not_started, "as above", &[]));
    insta::assert_snapshot!(shown(&end));
}
