//! The examples, run as users run them: `trainyard run`, real processes, real TensorFlow, real digits.
//!
//! The first run installs TensorFlow and TensorBoard from `PyPI` into the user's cache, as it does for users; later runs
//! find them there. One test runs at a time, since each starts up to six TensorFlow processes.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says why and stops"
)]

mod converted;
mod program;
mod run;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use run::Run;

/// What every training must reach on digits that it has not seen.
const GOOD: f64 = 0.9;

#[test]
fn the_first_command_of_the_readme_trains_and_prints_the_accuracy_reached() {
    let mut run = Run::of("digits", &[]);
    let shown = run.output_for_people();
    assert!(shown.contains("accuracy 0.9"), "{shown}");
    assert!(run.accuracy("chief-0") >= GOOD);
    assert_eq!(
        run.states(),
        "chief-0 succeeded, ps-0 stopped, worker-0 stopped, worker-1 stopped"
    );
    run.assert_that_no_port_is_in_use();
}

#[test]
fn mirrored_workers_lose_one_of_them_and_go_on_together_from_their_checkpoint() {
    let mut run = Run::of("digits-mirrored", &["digits-checkpoints"]);
    run.watch();
    run.finish();
    assert_eq!(
        run.states(),
        "worker-0 succeeded, worker-1 succeeded, worker-2 succeeded"
    );
    assert_eq!(run.ends("worker-1"), [137, 0], "it kills itself once");
    for worker in ["worker-0", "worker-2"] {
        let [first, second] = run.ends(worker)[..] else {
            panic!("{worker} has had two lives");
        };
        assert!(
            first != 0 && second == 0,
            "{worker} could not go on alone: {first}, {second}"
        );
    }

    let losses = ["worker-0", "worker-1", "worker-2"].map(|worker| losses(&run, worker));
    assert_eq!(losses[0], losses[1], "all workers see the same loss");
    assert_eq!(losses[0], losses[2], "all workers see the same loss");
    let steps: Vec<&str> = losses[0].iter().map(|(step, _)| step.as_str()).collect();
    assert_eq!(steps, ["100", "200", "300", "400"], "no step is trained twice");
    for worker in ["worker-0", "worker-1", "worker-2"] {
        assert_eq!(run.lines(worker, "resumed at step "), ["200"]);
        assert!(run.accuracy(worker) >= GOOD);
    }
    assert!(
        !run.volume("digits-checkpoints").join("unfinished").exists(),
        "the next run begins anew"
    );
}

#[test]
fn a_script_is_told_its_place_by_flags() {
    let mut run = Run::of("digits-flags", &[]);
    run.watch();
    run.finish();
    assert_eq!(
        run.states(),
        "ps-0 stopped, worker-0 succeeded, worker-1 succeeded"
    );
    assert!(run.accuracy("worker-0") >= GOOD && run.accuracy("worker-1") >= GOOD);
    assert_eq!(run.lines("ps-0", "ps 0 of "), ["1 ps, 2 worker"]);
    run.assert_that_no_port_is_in_use();
}

#[test]
fn an_old_manifest_with_a_master_trains_too() {
    let mut run = Run::of("digits-master", &[]);
    run.watch();
    run.finish();
    let states = run.states();
    assert!(states.starts_with("master-0 succeeded, ps-0 stopped"), "{states}");
    assert!(run.accuracy("master-0") >= GOOD);
    run.assert_that_no_port_is_in_use();
}

#[test]
fn a_volcano_job_reads_its_hosts_from_files_and_uses_one_port_in_every_task() {
    let mut run = Run::of("digits-volcano", &[]);
    run.watch();
    run.finish();
    assert_eq!(
        run.states(),
        "ps-0 stopped, worker-0 succeeded, worker-1 succeeded"
    );
    assert!(run.accuracy("worker-0") >= GOOD && run.accuracy("worker-1") >= GOOD);
}

#[test]
fn every_role_does_its_part_and_tensorboard_shows_the_curves() {
    let mut run = Run::of("digits-all-roles", &["digits-training"]);
    run.watch();
    let url = run.until_tensorboard_answers();
    let page = get(&url);
    assert!(
        page.starts_with("HTTP/1.1 200") && page.contains("<title>TensorBoard</title>"),
        "{page}"
    );
    run.finish();
    for (who, curve) in [("train-", "loss"), ("evaluate-", "accuracy")] {
        let logs = run.volume("digits-training").join("logs");
        assert!(has_curve(&logs, who, curve), "{who} has written {curve}");
    }
    assert_eq!(
        run.states(),
        "chief-0 succeeded, evaluator-0 succeeded, ps-0 stopped, worker-0 stopped, worker-1 stopped"
    );
    assert!(run.accuracy("chief-0") >= GOOD);
    let judged = run.lines("evaluator-0", "step 600 accuracy ");
    assert_eq!(judged.len(), 1, "it sees the last checkpoint");
    assert_eq!(judged[0], format!("{:.4}", run.accuracy("chief-0")));
}

/// The loss that a worker printed at each step, over all its lives.
fn losses(run: &Run, worker: &str) -> Vec<(String, String)> {
    let lines = run.lines(worker, "step ");
    let pairs = lines.iter().filter_map(|line| line.split_once(" loss "));
    pairs
        .map(|(step, loss)| (step.to_owned(), loss.to_owned()))
        .collect()
}

/// Whether logs for `TensorBoard`, in the one directory that begins so, hold a curve of that name.
fn has_curve(logs: &Path, beginning: &str, curve: &str) -> bool {
    let files = |path: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(path).expect("there are logs");
        entries.map(|entry| entry.expect("an entry").path()).collect()
    };
    let directories = files(logs);
    let own = directories.iter().find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(beginning)
    });
    own.is_some_and(|own| {
        files(own).iter().any(|file| {
            let bytes = fs::read(file).expect("a log");
            bytes.windows(curve.len()).any(|part| part == curve.as_bytes())
        })
    })
}

/// What a web server on this machine answers.
fn get(url: &str) -> String {
    let rest = url.strip_prefix("http://").expect("an address of the web");
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut connection = TcpStream::connect(host).expect("it listens");
    write!(
        connection,
        "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    )
    .expect("it listens");
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).expect("it answers");
    String::from_utf8_lossy(&answer).into_owned()
}
