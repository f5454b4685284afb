//! Nothing outlives a run, whichever part of it is killed.

use std::fs;

use rustix::process::Signal;

use crate::bench::{Bench, Held, Run, Who, every_user, hold, signal};

/// Two tasks that do not want to die: the program, a child, and a daemon in its own session, all deaf.
fn stubborn(who: Who, isolation: Option<&str>) -> (Bench, Run, Held) {
    let bench = Bench::new(who);
    let tag = &bench.tag;
    let deaf = format!("tag,{tag},ignore-term,say,up,hang");
    let words = format!("child {deaf} daemon {deaf} ignore-term say up hang");
    let mut bench = bench.task("worker-0", &words).task("worker-1", &words);
    if let Some(isolation) = isolation {
        bench = bench.set("isolation", isolation);
    }
    let mut run = bench.start();
    for _ in 0..6 {
        run.until("| up");
    }
    let held = hold(bench.processes());
    assert_eq!(held.len(), 6);
    (bench, run, held)
}

/// Which process is killed; all others must follow.
type Victims = fn(&Run) -> Vec<i32>;

const VICTIMS: [(&str, Victims); 3] = [
    ("outer", |run| vec![run.outer()]),
    ("inner", |run| vec![run.inner()]),
    ("both", |run| vec![run.inner(), run.outer()]),
];

fn nothing_survives(isolation: Option<&str>) {
    for (who, (name, victims)) in every_user()
        .into_iter()
        .flat_map(|who| VICTIMS.map(|victim| (who, victim)))
    {
        let (bench, run, held) = stubborn(who, isolation);
        let parts = hold([run.outer(), run.inner()]);
        for victim in victims(&run) {
            signal(victim, Signal::KILL);
        }
        held.wait();
        let (said, _) = run.finish();
        parts.wait();
        bench.assert_nothing_left();
        // Of both, either may be the first to go.
        let told = said.iter().any(|line| line == "supervisor killed by 9");
        assert!(
            name == "both" || told == (name == "inner"),
            "{who:?} {name}: {said:?}"
        );
    }
}

#[test]
fn in_namespaces_nothing_survives_a_kill() {
    let (bench, run, _) = stubborn(Who::Us, None);
    assert!(
        run.said[0].starts_with("isolation ") && run.said[0].contains("processes"),
        "{:?}",
        run.said
    );
    signal(run.outer(), Signal::KILL);
    run.finish();
    drop(bench);
    nothing_survives(None);
}

#[test]
fn without_namespaces_the_watchdog_does_it() {
    nothing_survives(Some("none"));
}

#[test]
fn with_a_mount_namespace_alone_the_guard_sees_to_it() {
    let root = |who| who == Who::Us && rustix::process::getuid().is_root();
    let isolation = |who| if root(who) { "mounts" } else { "users+mounts" };
    for who in every_user() {
        let (bench, run, held) = stubborn(who, Some(isolation(who)));
        signal(run.outer(), Signal::KILL);
        held.wait();
        run.finish();
        bench.assert_nothing_left();
    }
}

#[test]
fn a_killed_guard_is_replaced_by_the_outer_process() {
    let (bench, run, held) = stubborn(Who::Us, Some("none"));
    let inner = run.inner();
    let children = fs::read_to_string(format!("/proc/{inner}/task/{inner}/children")).unwrap();
    let watchdog = children
        .split_whitespace()
        .map(|child| child.parse::<i32>().unwrap())
        .find(|child| {
            let words = fs::read(format!("/proc/{child}/cmdline")).unwrap();
            words.starts_with(b"trainyard\0__guard\0")
        })
        .unwrap();
    signal(watchdog, Signal::KILL);
    signal(inner, Signal::KILL);
    held.wait();
    run.finish();
    bench.assert_nothing_left();
}
