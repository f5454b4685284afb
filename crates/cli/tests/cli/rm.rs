//! `trainyard rm`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use trainyard_core::Outcome;
use trainyard_local::run::store::directory::RunDirectory;
use trainyard_local::run::store::status::TaskState::{Running, Succeeded};

use crate::kept::State;
use crate::run::folder;

const AGO: Duration = Duration::from_hours(1);
const IDS: [&str; 3] = [
    "20261114-080000-000",
    "20261115-080000-000",
    "20261116-080000-000",
];

/// Three runs each, the newest of `live` still unended.
fn three_runs(name: &str) -> State {
    let state = State::new(name);
    for job in ["mnist", "live"] {
        for id in IDS {
            let made = state.begin(job, id, AGO);
            if job == "live" && id == IDS[2] {
                made.task("worker-0", Running);
            } else {
                made.task("worker-0", Succeeded)
                    .log("worker-0.0.0", &[(1000, "done\n")])
                    .ended(Some(Outcome::Succeeded), "done");
            }
        }
    }
    state
}

fn left(state: &State, job: &str) -> Vec<String> {
    let runs = state.job(job).runs().expect("a list");
    runs.iter().map(RunDirectory::id).collect()
}

fn sizes_gone(text: &str) -> String {
    let known = |line: &str| match line.rsplit_once(": ") {
        Some((before, size)) if size.ends_with("iB") || size.ends_with("bytes") => {
            format!("{before}: [size]\n")
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(known).collect()
}

#[test]
fn finished_runs_are_removed_and_the_job_is_forgotten() {
    let state = three_runs("rm-all");
    let ran = state.run(&["rm", "mnist"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    insta::assert_snapshot!(sizes_gone(&ran.err));
    assert!(!state.path.join("runs/mnist").exists());
    assert_eq!(left(&state, "live").len(), 3);
    assert_eq!(
        state.run(&["rm", "mnist"]).code,
        Some(2),
        "it is not known any more"
    );
}

#[test]
fn the_newest_are_kept_and_one_can_be_named() {
    let state = three_runs("rm-keep");
    assert_eq!(state.run(&["rm", "mnist", "--keep", "1"]).code, Some(0));
    assert_eq!(left(&state, "mnist"), [IDS[2]]);
    assert_eq!(state.run(&["rm", "live", "--run", IDS[1]]).code, Some(0));
    assert_eq!(left(&state, "live"), [IDS[0], IDS[2]]);
    assert_eq!(state.run(&["rm", "live", "--run", IDS[1]]).code, Some(2));
    assert_eq!(state.run(&["rm", "live", "--run", "../mnist"]).code, Some(2));
    assert_eq!(state.run(&["rm", "live", "mnist", "--run", IDS[0]]).code, Some(2));
    assert_eq!(state.run(&["rm"]).code, Some(2));
    let nothing = state.run(&["rm", "mnist", "--keep", "5"]);
    assert_eq!(
        (nothing.code, nothing.err.as_str()),
        (Some(0), "nothing to remove\n")
    );
}

#[test]
fn a_run_that_goes_on_is_refused() {
    let state = three_runs("rm-live");
    let claim = state.job("live").claim().expect("a lock");
    let ran = state.run(&["rm", "live", "--run", IDS[2]]);
    assert_eq!(ran.code, Some(1));
    insta::assert_snapshot!(ran.err);
    let ran = state.run(&["rm", "live"]);
    assert_eq!(
        (ran.code, left(&state, "live")),
        (Some(1), vec![IDS[2].to_owned()])
    );
    // Tidying up is no complaint.
    let ran = state.run(&["rm", "--all"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(left(&state, "live"), [IDS[2]]);
    assert_eq!(left(&state, "mnist"), [""; 0]);
    drop(claim);
    assert_eq!(state.run(&["rm", "live"]).code, Some(0), "it was interrupted");
    assert_eq!(left(&state, "live"), [""; 0]);
}

#[test]
fn links_are_not_followed() {
    let state = three_runs("rm-links");
    let outside = folder("rm-outside");
    fs::write(outside.join("precious"), "data").expect("a file");
    symlink(&outside, state.job("mnist").run(IDS[0]).lives().join("link")).expect("a link");
    fs::create_dir_all(outside.join("20261113-080000-000")).expect("a directory");
    fs::write(outside.join("20261113-080000-000/run.json"), "{}").expect("a file");
    symlink(&outside, state.path.join("runs/elsewhere")).expect("a link");
    let run = outside.join("20261113-080000-000");
    symlink(&run, state.path.join("runs/mnist/20261113-080000-000")).expect("a link");
    assert_eq!(state.run(&["rm", "--all"]).code, Some(0));
    assert_eq!(state.run(&["rm", "elsewhere"]).code, Some(2));
    assert!(outside.join("precious").exists() && run.join("run.json").exists());
}

/// A manifest whose worker has this claim.
fn with_claim(state: &State, job: &str, id: &str, claim: &str) {
    let manifest = format!(
        "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {{name: {job}}}\nspec:\n  tfReplicaSpecs:\n    Worker:\n      \
         template:\n        spec:\n          volumes:\n          - name: data\n            \
         persistentVolumeClaim: {{claimName: {claim}}}\n          containers: [{{name: tensorflow, image: x}}]\n"
    );
    fs::write(state.job(job).run(id).manifest(), manifest).expect("a file");
}

fn volume(state: &State, claim: &str) -> PathBuf {
    let path = state.home().volumes().join("default").join(claim);
    fs::create_dir_all(&path).expect("a directory");
    fs::write(path.join("data"), "12345").expect("a file");
    path
}

#[test]
fn volumes_go_when_asked_for_and_nobody_else_names_them() {
    let state = three_runs("rm-volumes");
    for id in IDS {
        with_claim(&state, "mnist", id, "own");
    }
    with_claim(&state, "mnist", IDS[0], "shared");
    with_claim(&state, "live", IDS[0], "shared");
    let (own, shared, other) = (
        volume(&state, "own"),
        volume(&state, "shared"),
        volume(&state, "other"),
    );
    assert_eq!(
        state.run(&["rm", "mnist", "--keep", "2", "--volumes"]).code,
        Some(0)
    );
    assert!(own.exists() && shared.exists());
    with_claim(&state, "mnist", IDS[1], "shared");
    let ran = state.run(&["rm", "mnist", "--volumes"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    insta::assert_snapshot!(sizes_gone(&ran.err));
    assert!(!own.exists() && shared.exists() && other.exists());
    // Neither the volume nor what leads to it may be a link.
    let outside = folder("rm-volume-outside");
    fs::create_dir(outside.join("shared")).expect("a directory");
    fs::write(outside.join("shared/precious"), "data").expect("a file");
    let namespace = state.home().volumes().join("default");
    fs::remove_dir_all(&namespace).expect("it is there");
    symlink(&outside, &namespace).expect("a link");
    assert_eq!(
        state.run(&["rm", "live", "--volumes"]).code,
        Some(1),
        "a link is no volume"
    );
    assert!(outside.join("shared/precious").exists());
}
