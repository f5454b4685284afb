//! A real run in the background, looked at and ordered from elsewhere.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::kept::State;
use crate::run::Ran;

const MANIFEST: &str = "
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: background}
spec:
  tfReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: OnFailure
      template:
        spec:
          terminationGracePeriodSeconds: 20
          containers:
          - name: tensorflow
            image: x
            command: [/bin/sh, -c, 'echo \"life of $TRAINYARD_ROLE $TRAINYARD_INDEX\"; exec sleep 600']
";

fn run(state: &State, typed: &[&str]) -> Ran {
    let output = state.program(typed).env("PATH", "/usr/bin:/bin").output();
    state.redact(output.expect("the program runs").into())
}

/// A state directory, and in it a manifest.
fn with_manifest(name: &str, text: &str) -> (State, String) {
    let state = State::new(name);
    let manifest = state.path.join("job.yaml");
    fs::write(&manifest, text).expect("a file");
    let path = manifest.to_str().expect("a path").to_owned();
    (state, path)
}

/// Nothing is left running when a test fails.
struct Ended<'a>(&'a State);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let _ = self.0.program(&["stop", "background", "--now"]).output();
    }
}

#[test]
fn a_run_in_the_background_is_followed_killed_at_stopped_and_removed() {
    let (state, manifest) = with_manifest("background", MANIFEST);
    let begun = run(&state, &["run", &manifest, "--detach"]);
    assert_eq!(begun.code, Some(0), "{}", begun.err);
    let _ended = Ended(&state);

    let mut follower = state
        .program(&["logs", "background", "-f", "--task", "worker-1"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(follower.stdout.take().expect("a pipe")).lines();
    let mut line = || lines.next().map(|line| line.expect("UTF-8"));
    assert_eq!(line().as_deref(), Some("worker-1 │ life of worker 1"));
    let listed = run(&state, &["ps", "-o", "json"]).json();
    assert_eq!(listed["runs"][0]["state"], "running");

    let killed = run(&state, &["kill", "background", "worker-1"]);
    assert_eq!(killed.code, Some(0), "{}", killed.err);
    assert_eq!(
        line().as_deref(),
        Some("worker-1 │ life of worker 1"),
        "its next life"
    );
    let before = run(&state, &["logs", "background", "--previous"]);
    assert_eq!(before.out, "worker-1 │ life of worker 1\n", "{}", before.err);

    assert_eq!(run(&state, &["rm", "background"]).code, Some(1), "it goes on");
    let stopped = run(&state, &["stop", "background"]);
    assert_eq!(
        (stopped.code, stopped.err.lines().last()),
        (Some(0), Some("`background` has ended: stopped"))
    );
    assert_eq!(line(), None, "following ends with the run");
    assert_eq!(follower.wait().expect("it ends").code(), Some(0));
    let listed = run(&state, &["ps", "-o", "json"]).json();
    assert_eq!(listed["runs"][0]["state"], "stopped");
    assert_eq!(listed["runs"][0]["restarts"], 1);

    assert_eq!(run(&state, &["rm", "background"]).code, Some(0));
    assert!(!state.path.join("runs/background").exists());
}

#[test]
fn programs_are_told_of_a_run_in_the_background_what_its_first_event_says() {
    let (state, manifest) = with_manifest("background-json", MANIFEST);
    let begun = run(&state, &["run", &manifest, "--detach", "-q", "-o", "json"]);
    let _ended = Ended(&state);
    assert_eq!((begun.code, begun.err.as_str()), (Some(0), ""));
    let told = begun.json();
    assert_eq!(
        (&told["event"], &told["tasks"]),
        (&"runStarted".into(), &2.into())
    );
    let newest = state.job("background").newest().expect("runs").expect("one");
    assert_eq!(told["run"], newest.id());
    let events = fs::read_to_string(newest.events()).expect("a file");
    assert!(events.starts_with(&state.unredacted(&begun.out)), "{events}");
}

#[test]
fn a_run_that_is_refused_leaves_nothing_behind() {
    let both = ["first", "second"].map(|name| MANIFEST.replace("name: background", &format!("name: {name}")));
    let (state, manifest) = with_manifest("refused", &both.join("---"));
    let claim = state.job("second").claim().expect("a lock");
    assert!(claim.is_some());
    let refused = run(&state, &["run", &manifest, "-q"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(
        refused
            .err
            .contains("or change this one's `metadata.name` in the manifest"),
        "{}",
        refused.err
    );
    assert!(state.path.join("runs/second").exists());
    assert!(!state.path.join("runs/first").exists());
}

#[test]
fn an_order_that_was_answered_is_seen_at_once() {
    let (state, manifest) = with_manifest("background-orders", MANIFEST);
    let begun = run(&state, &["run", &manifest, "-d"]);
    let _ended = Ended(&state);
    assert_eq!(begun.code, Some(0), "{}", begun.err);
    for (order, state_after) in [("suspend", "suspended"), ("resume", "running")].repeat(3) {
        let ordered = run(&state, &[order, "background"]);
        assert_eq!(ordered.code, Some(0), "{}", ordered.err);
        let listed = run(&state, &["ps", "-o", "json"]).json();
        assert_eq!(listed["runs"][0]["state"], state_after);
    }
}
