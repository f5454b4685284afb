//! How a cluster ends: nothing may be left, however it came to be.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use trainyard_cluster_tests::{Cluster, Parts};

/// The processes that have that word among their arguments.
fn processes_about(place: &Path) -> Vec<String> {
    let word = place.to_str().unwrap();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let arguments = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
        if arguments.contains(word) {
            found.push(arguments);
        }
    }
    found
}

fn until(what: &str, look: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !look() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_cluster_that_is_dropped_leaves_no_process_and_no_file() {
    let cluster = Cluster::start(Parts::API);
    let place = cluster.place().to_path_buf();
    // The first process behind the walls was split off, and is called as its parent is.
    assert!(processes_about(&place).len() >= 2, "etcd, kube-apiserver");
    drop(cluster);
    assert_eq!(processes_about(&place), Vec::<String>::new());
    assert!(!place.exists());
}

/// Plays a test that is killed: started by the one below, with a name that only it asks for.
#[test]
#[ignore = "started by the next test"]
fn a_test_that_never_ends() {
    let cluster = Cluster::start(Parts::API);
    println!("place {}", cluster.place().display());
    thread::sleep(Duration::from_mins(10));
}

#[test]
fn a_cluster_ends_when_the_test_that_started_it_is_killed() {
    let mut test = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "life::a_test_that_never_ends",
            "--ignored",
            "--nocapture",
        ])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = std::io::BufReader::new(test.stdout.take().unwrap());
    let place = loop {
        let mut line = String::new();
        assert_ne!(std::io::BufRead::read_line(&mut said, &mut line).unwrap(), 0);
        if let Some((_, place)) = line.trim().split_once("place ") {
            break std::path::PathBuf::from(place);
        }
    };
    assert!(!processes_about(&place).is_empty());
    test.kill().unwrap();
    test.wait().unwrap();
    until("the end of its processes", || processes_about(&place).is_empty());
    until("the end of its directory", || !place.exists());
}

#[test]
fn a_cluster_whose_outer_process_is_killed_leaves_no_process() {
    let cluster = Cluster::start(Parts::API);
    let place = cluster.place().to_path_buf();
    let outer = i32::try_from(cluster.process()).unwrap();
    let outer = rustix::process::Pid::from_raw(outer).unwrap();
    rustix::process::kill_process(outer, rustix::process::Signal::KILL).unwrap();
    until("the end of its processes", || processes_about(&place).is_empty());
    // The next cluster to start removes its directory, but only after a minute; so the test does.
    fs::remove_dir_all(&place).unwrap();
}
