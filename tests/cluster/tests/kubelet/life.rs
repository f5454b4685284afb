//! A cluster with a node ends as completely as one without: containers, mounts, network and control groups too.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use trainyard_cluster_tests::{Cluster, Parts, with_node};

const SLEEPER: &str = "
apiVersion: v1
kind: Pod
metadata: {name: sleeper}
spec:
  containers: [{name: c, image: busybox, imagePullPolicy: IfNotPresent, command: [sleep, '98765.4321']}]
";

/// Plays a test that is killed while a pod runs: started by the one below, with a name that only it asks for.
#[test]
#[ignore = "started by the next test"]
fn a_test_that_never_ends() {
    let cluster = Cluster::start(Parts::NODE);
    let namespace = cluster.namespace("sleeper");
    namespace.apply(SLEEPER).good();
    let running = |pod: &serde_json::Value| (pod["status"]["phase"] == "Running").then_some(());
    cluster.api().wait_for(
        crate::PATIENCE,
        &namespace.pod("sleeper"),
        "a running pod",
        running,
    );
    println!("place {}", cluster.place().display());
    thread::sleep(Duration::from_mins(10));
}

/// The processes that have that word among their arguments.
fn processes_about(word: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let arguments = processes.map(|process| fs::read(process.path().join("cmdline")).unwrap_or_default());
    arguments
        .filter(|bytes| String::from_utf8_lossy(bytes).contains(word))
        .count()
}

/// The control groups of that name.
fn groups(name: &str) -> usize {
    let hierarchies = fs::read_dir("/sys/fs/cgroup").unwrap().flatten();
    let of_controllers = hierarchies
        .filter(|entry| entry.path().join(name).exists())
        .count();
    of_controllers + usize::from(Path::new("/sys/fs/cgroup").join(name).exists())
}

#[test]
fn a_node_ends_when_the_test_that_started_it_is_killed() {
    if with_node().is_none() {
        return;
    }
    let mut test = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "life::a_test_that_never_ends",
            "--ignored",
            "--nocapture",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(test.stdout.take().unwrap()).lines();
    let mut places = lines.filter_map(|line| {
        line.unwrap()
            .split_once("place ")
            .map(|(_, place)| PathBuf::from(place))
    });
    let place = places.next().expect("the cluster starts");
    let group = fs::read_to_string(place.join("control-group")).unwrap();
    let exist = || (processes_about("98765.4321"), groups(&group), place.exists());
    // The pod may be called running while the runtime's own process is about to become the container's.
    wait_for("a pod that runs", exist, |(processes, groups, _)| {
        *processes > 0 && *groups > 0
    });
    test.kill().unwrap();
    test.wait().unwrap();
    wait_for("nothing to be left", exist, |left| *left == (0, 0, false));
}

/// Waits until `done` holds of the processes, the groups and the directory that exist.
fn wait_for(
    what: &str,
    exist: impl Fn() -> (usize, usize, bool),
    done: impl Fn(&(usize, usize, bool)) -> bool,
) {
    let deadline = Instant::now() + Duration::from_mins(1);
    loop {
        let found = exist();
        if done(&found) {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "waited in vain for {what}: processes, groups, a directory: {found:?}"
        );
        thread::sleep(Duration::from_millis(50));
    }
}
