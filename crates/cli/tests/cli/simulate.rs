//! `trainyard simulate`.

use std::fmt::Write as _;

use crate::run::run;

const PARAMETER_SERVER: &str = "examples/tfjob/parameter-server.yaml";

#[test]
fn a_worker_killed_twice_and_a_drained_server_are_told_as_a_story() {
    let typed = [
        "simulate",
        PARAMETER_SERVER,
        "--fail",
        "worker-1=137@30s",
        "--fail",
        "worker-1=137@50s",
        "--evict",
        "ps-0@20s",
    ];
    insta::assert_snapshot!(run(&typed).shown());
}

#[test]
fn a_drained_chief_that_exits_0_does_not_complete_the_job() {
    insta::assert_snapshot!(run(&["simulate", PARAMETER_SERVER, "--evict", "chief-0=0@20s"]).shown());
}

#[test]
fn a_job_that_fails_exits_1_and_names_its_first_failure() {
    insta::assert_snapshot!(run(&["simulate", PARAMETER_SERVER, "--fail", "worker-0=1@10s"]).shown());
}

#[test]
fn suspending_and_scaling_are_played() {
    let typed = [
        "simulate",
        PARAMETER_SERVER,
        "--suspend",
        "10s..40s",
        "--scale",
        "worker=2@50s",
        "--runs",
        "worker=2m",
    ];
    insta::assert_snapshot!(run(&typed).shown());
}

#[test]
fn a_job_that_stays_suspended_says_so() {
    insta::assert_snapshot!(
        run(&[
            "simulate",
            PARAMETER_SERVER,
            "--suspend",
            "10s..",
            "--run-for",
            "1m"
        ])
        .shown()
    );
}

#[test]
fn the_same_seed_tells_the_same_story() {
    let once = run(&["simulate", PARAMETER_SERVER, "--seed", "7"]).shown();
    assert_eq!(once, run(&["simulate", PARAMETER_SERVER, "--seed", "7"]).shown());
    assert_ne!(once, run(&["simulate", PARAMETER_SERVER, "--seed", "8"]).shown());
}

#[test]
fn what_is_typed_wrong_is_refused_with_what_is_right() {
    let mut shown = String::new();
    for typed in [
        &["simulate", PARAMETER_SERVER, "--fail", "worker-9=1@1s"][..],
        &["simulate", PARAMETER_SERVER, "--fail", "worker-1"],
        &["simulate", PARAMETER_SERVER, "--suspend", "9s..3s"],
        &["simulate", PARAMETER_SERVER, "--scale", "worker=99999999@1s"],
        &["simulate", PARAMETER_SERVER, "--runs", "trainer=1m"],
        &["simulate", PARAMETER_SERVER, "--scale", "wroker=1@1m"],
    ] {
        let ran = run(typed);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{typed:?}");
        writeln!(shown, "$ trainyard {}\n{}", typed.join(" "), ran.err).expect("a string takes it");
    }
    insta::assert_snapshot!(shown);
}
