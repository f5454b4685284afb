//! Converted jobs train: one short training per layout of roles, as Volcano's `Job`.
//!
//! The jobs are our examples with fewer workers and steps. That a training ends well says that `TF_CONFIG` names every task
//! that TensorFlow waits for, and calls it by a name that TensorFlow knows.

use crate::run::Run;

/// Fewer steps than a good accuracy takes.
const SHORT: (&str, &str) = ("--steps=600", "--steps=30");

/// Mirrored workers of which none is lost, and few steps.
const MIRRORED: [(&str, &str); 3] = [
    ("--steps=400", "--steps=20"),
    ("{name: LOSE_WORKER, value: \"1\"}", "{name: A, value: b}"),
    ("{name: LOSE_AT_STEP, value: \"250\"}", "{name: C, value: d}"),
];

fn trained(job: &'static str, volumes: &[&str], edits: &[(&str, &str)]) -> Run {
    let mut run = Run::of(job, volumes).converted(edits, "volcano");
    run.watch();
    run.finish();
    run
}

#[test]
fn a_chief_with_parameter_servers_and_workers_trains_on_volcano() {
    let run = trained("digits", &[], &[SHORT, ("replicas: 2", "replicas: 1")]);
    assert_eq!(run.states(), "chief-0 succeeded, ps-0 stopped, worker-0 stopped");
    run.accuracy("chief-0");
}

#[test]
fn a_master_with_parameter_servers_and_workers_trains_on_volcano() {
    let short = "train_between_graph.py, --steps=60]";
    let edits = [("train_between_graph.py]", short), ("replicas: 2", "replicas: 1")];
    let run = trained("digits-master", &[], &edits);
    let states = run.states();
    assert!(states.starts_with("master-0 succeeded, ps-0 stopped"), "{states}");
    run.accuracy("master-0");
}

#[test]
fn workers_alone_train_on_volcano() {
    let edits = [&MIRRORED[..], &[("replicas: 3", "replicas: 2")]].concat();
    let run = trained("digits-mirrored", &["digits-checkpoints"], &edits);
    assert_eq!(run.states(), "worker-0 succeeded, worker-1 succeeded");
    run.accuracy("worker-0");
}

/// One of the two workers is the chief, or is called the master: the plugin says `chief` for both.
#[test]
fn a_chief_or_a_master_with_workers_trains_on_volcano() {
    let end = "persistentVolumeClaim: {claimName: digits-checkpoints}\n";
    for (role, name) in [("Chief", "chief"), ("Master", "master")] {
        // The chief and worker 0 both save as the first of their kind, so each has a directory of its own.
        let both = format!("emptyDir: {{}}\n    {role}: *worker\n");
        let more = [
            ("Worker:\n      replicas: 3", "Worker: &worker\n      replicas: 1"),
            (end, &both),
            ("successPolicy: AllWorkers", "enableDynamicWorker: false"),
        ];
        let edits = [&MIRRORED[..], &more].concat();
        let run = trained("digits-mirrored", &[], &edits);
        let states = run.states();
        assert!(
            states.starts_with(&format!("{name}-0 succeeded, worker-0 ")),
            "{states}"
        );
        run.accuracy(&format!("{name}-0"));
    }
}

#[test]
fn every_role_trains_on_volcano() {
    let run = trained(
        "digits-all-roles",
        &["digits-training"],
        &[SHORT, ("replicas: 2", "replicas: 1")],
    );
    let states = run.states();
    assert!(states.contains("chief-0 succeeded, evaluator-0 "), "{states}");
    run.accuracy("chief-0");
    let judged = run.lines("evaluator-0", "step 30 accuracy ");
    assert_eq!(judged.len(), 1, "the evaluator sees the last checkpoint");
}
