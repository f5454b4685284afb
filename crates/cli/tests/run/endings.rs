//! How runs end: exit codes, and what is stopped how.

use rustix::process::Signal;
use trainyard_local::run::control::order::Order;

use crate::bench::{Bench, eventually, quick};

/// Waits until it is told to stop, and then takes its time.
const SLOW: &str = "trap 'echo asked; sleep 1000' TERM; echo up; while :; do sleep 1000 & wait; done";

#[test]
fn exit_codes_tell_how_the_job_ended() {
    let deadline = "spec.runPolicy.activeDeadlineSeconds=1";
    let table: [(&[&str], &str, i32); 4] = [
        (&["--workers", "1"], "exit 0", 0),
        (&["--workers", "1"], "exit 3", 1),
        (&["--workers", "1", "--set", deadline], "exec sleep 1000", 124),
        (&["--workers", "0"], "exit 0", 2),
    ];
    for (flags, script, code) in table {
        let bench = Bench::new();
        let ran = bench.quick(flags, script);
        assert_eq!(ran.code, Some(code), "{script}: {ran:?}");
        bench.assert_nothing_left();
    }
    let bench = Bench::new();
    let bad = bench.write("bad.yaml", "kind: TFJob\n");
    for arguments in [
        &["run", "bad.yaml"][..],
        &["run", "nowhere.yaml"],
        &["run", "--no-such-flag"],
    ] {
        let ran = bench.run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(!ran.err.is_empty() && ran.out.is_empty(), "{ran:?}");
    }
    assert!(bad.exists() && !bench.state().join("runs").exists());
}

#[test]
fn signals_stop_a_run_and_tell_so_by_its_exit_code() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let bench = Bench::new();
        let script = "trap 'echo asked; exit 7' TERM; echo up; while :; do sleep 1000 & wait; done";
        let mut run = bench.start(&quick(&["--workers", "2"], script));
        run.until_times("│ up", 2);
        run.signal(signal);
        let (said, status) = run.finish();
        assert_eq!(status.code(), Some(code), "{said:#?}");
        assert_eq!(
            said.iter().filter(|line| line.ends_with("│ asked")).count(),
            2,
            "{said:#?}"
        );
        bench.assert_nothing_left();
        let end = bench.status("job").end.expect("it has ended");
        assert_eq!((end.outcome, end.first_failure), (None, None));
    }
}

#[test]
fn the_second_ctrl_c_kills_at_once() {
    let bench = Bench::new();
    let grace = "spec.tfReplicaSpecs.Worker.template.spec.terminationGracePeriodSeconds=3600";
    let mut run = bench.start(&quick(&["--workers", "2", "--set", grace], SLOW));
    run.until_times("│ up", 2);
    run.signal(Signal::INT);
    run.until_times("│ asked", 2);
    eventually("ps says that the run is about to end", || {
        bench.run(&["ps"]).out.contains("stopping  2/2 stopping")
    });
    run.signal(Signal::INT);
    let (said, status) = run.finish();
    assert_eq!(status.code(), Some(130), "{said:#?}");
    bench.assert_nothing_left();
    assert!(bench.run(&["ps"]).out.contains("stopped  2 stopped"));
}

#[test]
fn a_run_whose_job_has_failed_is_stopping_and_takes_no_orders_but_stop() {
    let bench = Bench::new();
    let grace = "spec.tfReplicaSpecs.Worker.template.spec.terminationGracePeriodSeconds=3600";
    let never = "spec.tfReplicaSpecs.Worker.restartPolicy=Never";
    let script = format!("[ $TRAINYARD_INDEX = 0 ] || {{ {SLOW}; }}; sleep 0.2; exit 3");
    let flags = ["--workers", "2", "--set", grace, "--set", never];
    let mut run = bench.start(&quick(&flags, &script));
    run.until("│ asked");
    eventually("ps says that the run is about to end", || {
        bench.run(&["ps"]).out.contains("stopping  1/2 stopping")
    });
    let refused = bench.run(&["suspend", "job"]);
    assert!(refused.err.contains("the run is ending"), "{refused:?}");
    let stopped = bench.run(&["stop", "job", "--now"]);
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    let (said, status) = run.finish();
    assert_eq!(status.code(), Some(1), "{said:#?}");
    bench.assert_nothing_left();
}

#[test]
fn a_stop_is_answered_when_ps_shows_it() {
    let bench = Bench::new();
    let grace = "spec.tfReplicaSpecs.Worker.template.spec.terminationGracePeriodSeconds=3600";
    let mut run = bench.start(&quick(&["--workers", "1", "--set", grace], SLOW));
    run.until("│ up");
    bench.run(&["stop", "job", "--timeout", "0"]);
    let shown = bench.run(&["ps"]).out;
    assert!(shown.contains("stopping  1/1 stopping"), "{shown}");
    run.signal(Signal::QUIT);
    let (said, status) = run.finish();
    assert_eq!(status.code(), Some(143), "{said:#?}");
    bench.assert_nothing_left();
}

#[test]
fn ctrl_backslash_kills_without_asking() {
    let bench = Bench::new();
    let mut run = bench.start(&quick(&["--workers", "1"], SLOW));
    run.until("│ up");
    run.signal(Signal::QUIT);
    let (said, status) = run.finish();
    assert_eq!(status.code(), Some(131), "{said:#?}");
    assert!(!said.iter().any(|line| line.ends_with("│ asked")), "{said:#?}");
    bench.assert_nothing_left();
}

#[test]
fn a_run_stopped_from_outside_ends_as_by_sigterm() {
    let bench = Bench::new();
    let mut run = bench.start(&quick(&["--workers", "1"], "echo up; exec sleep 1000"));
    run.until("│ up");
    bench.order("job", &Order::Stop { now: false });
    let (said, status) = run.finish();
    assert_eq!(status.code(), Some(143), "{said:#?}");
    bench.assert_nothing_left();
}

#[test]
fn several_jobs_of_a_file_run_side_by_side_and_the_worst_decides() {
    let job = |name: &str, script: &str| {
        format!(
            "apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {{name: {name}}}
spec:
  tfReplicaSpecs:
    Worker:
      replicas: 1
      restartPolicy: Never
      template: {{spec: {{containers: [{{name: tensorflow, image: x, command: [sh, -c, '{script}']}}]}}}}
---
"
        )
    };
    // Each waits for the other: they cannot run one after the other.
    let meet =
        |own: &str, other: &str| format!("touch {own}; until [ -e {other} ]; do sleep 0.02; done; echo met");
    let bench = Bench::new();
    let (one, two) = (meet("one", "two"), meet("two", "one"));
    bench.write(
        "jobs.yaml",
        format!("{}{}", job("one", &one), job("two", &format!("{two}; exit 4"))),
    );
    let ran = bench.run(&["run", "jobs.yaml"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(
        ran.out.lines().filter(|line| line.ends_with("│ met")).count(),
        2,
        "{ran:?}"
    );
    let outcome = |job: &str| bench.status(job).end.and_then(|end| end.outcome);
    assert_eq!(
        format!("{:?}", [outcome("one"), outcome("two")]),
        "[Some(Succeeded), Some(Failed)]"
    );
    // Or the one that is named.
    let ran = bench.run(&["run", "jobs.yaml", "--job", "one"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        bench.home().job("two").runs().expect("runs can be listed").len(),
        1
    );
}

#[test]
fn a_run_in_the_background_goes_on_by_itself() {
    let bench = Bench::new();
    let script = "echo up; until [ -e over ]; do sleep 0.02; done; echo done; exit 5";
    let ran = bench.quick(&["--workers", "1", "--detach"], script);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.err.contains("trainyard logs -f job") && ran.out.is_empty(),
        "{ran:?}"
    );
    assert!(bench.status("job").end.is_none());
    bench.write("over", "");
    bench.assert_nothing_left();
    let status = bench.status("job");
    let end = status.end.expect("it has ended");
    assert_eq!(format!("{:?}", end.outcome), "Some(Failed)");
    assert_eq!(end.first_failure.expect("it failed").last_lines, ["up", "done"]);
}
