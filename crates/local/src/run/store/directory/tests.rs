//! Claims, lists and removal, in a directory of the test's own.

use super::*;

#[test]
fn a_job_is_claimed_once_at_a_time() {
    let scratch = tempfile::tempdir().unwrap();
    let runs = Home::at(scratch.path().to_owned()).job("mnist");
    assert!(!runs.is_running());
    let claim = runs.claim().unwrap().unwrap();
    assert!(runs.is_running());
    assert!(runs.claim().unwrap().is_none());
    drop(claim);
    assert!(!runs.is_running());
    assert!(runs.claim().unwrap().is_some());
}

#[test]
fn a_job_is_forgotten_with_its_last_run_and_can_be_claimed_again() {
    let scratch = tempfile::tempdir().unwrap();
    let runs = Home::at(scratch.path().to_owned()).job("mnist");
    let claim = runs.claim().unwrap().unwrap();
    let run = runs.begin().unwrap();
    fs::write(run.path.join("run.json"), "{}").unwrap();
    runs.begin().unwrap();
    runs.forget_if_empty(claim);
    assert!(run.path.exists(), "a run is left");
    assert_eq!(run.remove().unwrap(), 2);
    // A lock file that was opened before does not count any more.
    let claim = runs.claim().unwrap().unwrap();
    let opened = || private::append(&runs.path.join("lock")).unwrap();
    let (before, again) = (opened(), opened());
    runs.forget_if_empty(claim);
    assert!(!runs.path.exists());
    assert!(runs.claim_with(before).unwrap().is_none());
    let claim = runs.claim().unwrap();
    assert!(claim.is_some() && runs.is_running());
    assert!(runs.claim_with(again).unwrap().is_none());
}

#[test]
fn runs_are_listed_from_the_oldest_to_the_newest() {
    let scratch = tempfile::tempdir().unwrap();
    let home = Home::at(scratch.path().to_owned());
    assert_eq!(home.jobs().unwrap(), []);
    let runs = home.job("mnist");
    let made: Vec<RunDirectory> = (0..3).map(|_| runs.begin().unwrap()).collect();
    assert_eq!(runs.runs().unwrap(), [], "nothing was told to any of them");
    for run in &made {
        fs::write(run.path.join("run.json"), "{}").unwrap();
    }
    assert_eq!(runs.runs().unwrap(), made);
    assert_eq!(runs.newest().unwrap().as_ref(), made.last());
    assert_eq!(home.jobs().unwrap(), [runs]);
}

#[test]
fn what_a_run_keeps_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = tempfile::tempdir().unwrap();
    let run = Home::at(scratch.path().join("state"))
        .job("mnist")
        .begin()
        .unwrap();
    for directory in run.path.ancestors().take(4) {
        let mode = fs::metadata(directory).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{}", directory.display());
    }
}

#[test]
fn an_id_is_the_time() {
    assert_eq!(new_id(Timestamp(1_794_793_512_345)), "20261116-014512-345");
}
