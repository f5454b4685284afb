//! Orders from another terminal, obeyed by a run under way.

use std::net::TcpListener;

use trainyard_local::run::store::status::TaskState;

use rustix::process::Signal;

use crate::bench::{Bench, Run, eventually, notes, quick};

/// Says where it may be reached, and goes on until there is a file.
const WAIT: &str = "echo up at $TRAINYARD_WORKER_HOSTS; until [ -e over ]; do sleep 0.02; done";

fn state(bench: &Bench, task: usize) -> TaskState {
    bench.status("job").tasks[task].state
}

/// The ports that the last task to come up was told.
fn told(run: &Run) -> Vec<u16> {
    let last = run.said.iter().rfind(|line| line.contains("│ up at"));
    let (_, hosts) = last
        .and_then(|line| line.rsplit_once(' '))
        .expect("one has come up");
    let port = |host: &str| host.strip_prefix("127.0.0.1:")?.parse().ok();
    hosts.split(',').filter_map(port).collect()
}

fn ports(bench: &Bench) -> Vec<u16> {
    bench
        .status("job")
        .tasks
        .iter()
        .filter_map(|task| task.port)
        .collect()
}

fn order(bench: &Bench, arguments: &[&str]) {
    let ran = bench.run(arguments);
    assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
}

fn succeed(bench: &Bench, run: Run) -> Vec<String> {
    bench.write("over", "");
    let (said, status) = run.finish();
    assert_eq!(status.code(), Some(0), "{said:#?}");
    bench.assert_nothing_left();
    said
}

#[test]
fn a_suspended_run_has_no_tasks_and_goes_on_when_it_is_resumed() {
    let bench = Bench::new();
    let mut run = bench.start(&quick(&["--workers", "2"], WAIT));
    run.until_times("│ up at", 2);
    order(&bench, &["suspend", "job"]);
    eventually("both are stopped", || {
        (0..2).all(|task| state(&bench, task) == TaskState::Stopped)
    });
    assert!(bench.programs("sh -c").is_empty() && bench.programs("sleep").is_empty());
    let before = told(&run);
    order(&bench, &["resume", "job"]);
    run.until_times("│ up at", 4);
    assert_eq!(told(&run), before);
    succeed(&bench, run);
}

#[test]
fn a_port_that_somebody_takes_while_a_run_is_suspended_is_changed_and_everybody_is_told() {
    let bench = Bench::new();
    let mut run = bench.start(&quick(&["--workers", "2"], WAIT));
    run.until_times("│ up at", 2);
    let before = told(&run);
    order(&bench, &["suspend", "job"]);
    eventually("both are stopped", || {
        (0..2).all(|task| state(&bench, task) == TaskState::Stopped)
    });
    let taken = TcpListener::bind(("0.0.0.0", before[1])).expect("the port is free now");
    order(&bench, &["resume", "job"]);
    run.until_times("│ up at", 4);
    let after = told(&run);
    assert_eq!(after[0], before[0]);
    assert_ne!(after[1], before[1]);
    eventually("the status knows", || ports(&bench) == after);
    drop(taken);
    let said = succeed(&bench, run);
    // Both were told the same.
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", after[0], after[1]);
    assert_eq!(
        said.iter().filter(|line| line.ends_with(&hosts)).count(),
        2,
        "{said:#?}"
    );
    let events = bench.events("job");
    let port = format!("port {}", before[1]);
    assert!(
        notes(&events).iter().any(|note| note.contains(&port)),
        "{events:#?}"
    );
}

#[test]
fn a_port_taken_while_a_job_waits_for_its_first_start_is_changed() {
    let bench = Bench::new();
    let suspended = "spec.runPolicy.suspend=true";
    let mut run = bench.start(&quick(&["--workers", "2", "--set", suspended], WAIT));
    run.until("logs and status are kept");
    eventually("it waits", || {
        bench
            .newest("job")
            .is_some_and(|run| matches!(run.read_status(), Ok(Some(_))))
    });
    let before = ports(&bench);
    let taken = TcpListener::bind(("0.0.0.0", before[0])).expect("the port is free");
    order(&bench, &["resume", "job"]);
    run.until_times("│ up at", 2);
    let after = told(&run);
    assert_ne!(after[0], before[0]);
    assert_eq!(after[1], before[1]);
    drop(taken);
    succeed(&bench, run);
}

#[test]
fn a_run_of_which_no_task_runs_is_stopped_without_a_grace() {
    let bench = Bench::new();
    let mut run = bench.start(&quick(&["--workers", "1", "--restarts", "99"], "exit 3"));
    // Long enough for a signal.
    run.until("in place in 10s");
    run.signal(Signal::INT);
    let (said, status) = run.finish();
    assert_eq!(status.code(), Some(130), "{said:#?}");
    let events = bench.events("job");
    assert!(
        notes(&events).contains(&"stopping; no task is running"),
        "{events:#?}"
    );
}

#[test]
fn a_task_killed_by_order_has_crashed_and_one_that_is_drained_has_not() {
    let bench = Bench::new();
    let mut run = bench.start(&quick(&["--workers", "2", "--restarts", "3"], WAIT));
    run.until_times("│ up at", 2);
    order(&bench, &["kill", "job", "worker-1"]);
    run.until_times("│ up at", 3);
    order(&bench, &["drain", "job", "worker-1"]);
    run.until_times("│ up at", 4);
    succeed(&bench, run);
    let status = bench.status("job");
    let memory = status.memory.expect("it was decided");
    assert_eq!(
        (memory.in_place_most + memory.paid, status.tasks[1].restarts),
        (1, 2)
    );
}

#[test]
fn workers_are_added_and_taken_away() {
    let bench = Bench::new();
    let mut run = bench.start(&quick(&["--workers", "2"], WAIT));
    run.until_times("│ up at", 2);
    order(&bench, &["scale", "job", "worker=3"]);
    run.until("worker-2  │ up at");
    order(&bench, &["scale", "job", "worker=1"]);
    eventually("two are stopped", || {
        (1..3).all(|task| state(&bench, task) == TaskState::Stopped)
    });
    succeed(&bench, run);
}

#[test]
fn an_order_that_makes_no_sense_is_refused_with_a_hint() {
    let bench = Bench::new();
    let mut run = bench.start(&quick(&["--workers", "1"], WAIT));
    run.until("│ up at");
    for (arguments, words) in [
        (&["kill", "job", "worker-7"][..], "worker-7"),
        (&["drain", "jbo", "worker-0"], "jbo"),
        (&["resume", "job"], "not suspended"),
    ] {
        let ran = bench.run(arguments);
        assert!(ran.code.is_some_and(|code| code != 0), "{arguments:?}: {ran:?}");
        assert!(ran.err.contains(words), "{arguments:?}: {}", ran.err);
    }
    succeed(&bench, run);
}
