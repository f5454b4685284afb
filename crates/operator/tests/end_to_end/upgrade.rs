//! Two versions of the operator on the same jobs: the last release, then this one, and back.
//!
//! The last release is compiled from its commit, so these tests run with `cargo xtask test --peers` only. The definition of
//! `TFJob` and the rights are this version's, as after `trainyard install`.

use std::path::{Path, PathBuf};
use std::thread;

use serde_json::{Value, json};
use trainyard_cluster_tests::fake_kubelet::{FakeKubelet, History};
use trainyard_cluster_tests::faulty::{Fault, FaultyProxy, Write};
use trainyard_cluster_tests::{Crds, Operator, last_release, shared};

use super::leader::{is, leader};
use super::{Harness, NODE, install, job};

/// A change of versions in the middle of a run.
#[derive(Clone, Copy)]
enum Change {
    /// From the last release to this version.
    Upgrade,
    /// From this version to the last release.
    Rollback,
}

impl Change {
    /// The programs before and after the change.
    fn programs(self, last: &Path) -> [PathBuf; 2] {
        let new = trainyard_tools::trainyard().unwrap().to_path_buf();
        match self {
            Self::Upgrade => [last.to_path_buf(), new],
            Self::Rollback => [new, last.to_path_buf()],
        }
    }
}

#[test]
fn this_version_goes_on_with_the_jobs_of_the_last_release() {
    change_versions("upgraded", Change::Upgrade);
}

#[test]
fn the_last_release_goes_on_with_the_jobs_of_this_version() {
    change_versions("rolled-back", Change::Rollback);
}

#[test]
fn this_version_keeps_a_gang_of_the_last_release() {
    change_versions_of_a_gang("gang-upgraded", Change::Upgrade);
}

#[test]
fn the_last_release_keeps_a_gang_of_this_version() {
    change_versions_of_a_gang("gang-rolled-back", Change::Rollback);
}

fn change_versions(name: &str, change: Change) {
    let Some(last) = last_release() else { return };
    let [before, after] = change.programs(last);
    let mut harness = Harness::of_program(name, &before, &[]);
    create(&harness);
    reach_the_middle(&mut harness);
    let kept = snapshot(&harness);
    assert!(
        harness.operator.stop(),
        "the first version stops when it is told to"
    );
    harness.operator.use_program(&after);
    harness.start();
    finish(&harness, &kept);
    if matches!(change, Change::Rollback) {
        // Forward again: what has ended stays as it is.
        let ended = snapshot(&harness);
        assert!(
            harness.operator.stop(),
            "the second version stops when it is told to"
        );
        harness.operator.use_program(&before);
        harness.start();
        harness.create(&job("marker", &json!({}), &[("Worker", 1, "Never")]));
        harness.run(&["marker-worker-0"]);
        for name in JOBS {
            assert_eq!(verdict(&harness, name), ended.verdict(name), "{name}");
        }
    }
}

/// The jobs, by what of their memory the next version must understand.
const JOBS: [&str; 6] = ["paid", "epoch", "addresses", "suspended", "finished", "collected"];

fn create(harness: &Harness) {
    let limit = json!({ "backoffLimit": 1 });
    harness.create(&job("paid", &limit, &[("Worker", 2, "ExitCode")]));
    let mut whole = job(
        "epoch",
        &json!({ "backoffLimit": 3 }),
        &[("Worker", 2, "ExitCode")],
    );
    whole["metadata"]["annotations"] = json!({ "trainyard.dev/restart-scope": "Job" });
    harness.create(&whole);
    let mut addresses = job("addresses", &json!({}), &[("Worker", 2, "ExitCode")]);
    addresses["metadata"]["annotations"] = json!({ "trainyard.dev/addresses": "per-replica" });
    harness.create(&addresses);
    harness.create(&job("suspended", &json!({}), &[("Worker", 1, "Never")]));
    harness.create(&job("finished", &json!({}), &[("Worker", 1, "Never")]));
    let roles = [("Chief", 1, "Never"), ("Worker", 1, "Never")];
    harness.create(&job("collected", &json!({}), &roles));
}

/// Restarts paid, an epoch above 0, addresses noted, one job suspended, one finished, one with a success that only memory knows.
fn reach_the_middle(harness: &mut Harness) {
    for name in ["paid", "epoch", "addresses"] {
        harness.run(&[&format!("{name}-worker-0"), &format!("{name}-worker-1")]);
    }
    harness.run(&["suspended-worker-0", "finished-worker-0"]);
    harness.run(&["collected-chief-0", "collected-worker-0"]);
    for name in JOBS {
        harness.conditions(name, &["Created", "Running"]);
    }
    harness.exit("paid-worker-1", 137);
    harness.exit("epoch-worker-1", 137);
    harness.exit("finished-worker-0", 0);
    harness.exit("collected-worker-0", 0);
    harness.patch(
        "suspended",
        &json!({ "spec": { "runPolicy": { "suspend": true } } }),
    );
    harness.vanish("suspended-worker-0", 143);
    harness.vanish("epoch-worker-0", 143);
    harness.conditions("finished", &["Created", "!Running", "Succeeded"]);
    remembers(harness, "collected", "/roles/worker/done", &json!("0"));
    let collected = harness.namespace.pod("collected-worker-0") + "?gracePeriodSeconds=0";
    harness.api().delete(&collected).unwrap();
    harness.pod("paid-worker-1", "0.1");
    harness.run_on_a_node("paid-worker-1");
    for pod in ["epoch-worker-0", "epoch-worker-1"] {
        harness.pod(pod, "1.0");
        harness.run_on_a_node(pod);
    }
    for (name, field, value) in [
        ("paid", "/paid", json!(1)),
        ("paid", "/roles/worker/attempts", json!("1:1")),
        ("epoch", "/epoch", json!(1)),
        ("epoch", "/paid", json!(1)),
        ("addresses", "/form", json!("per-replica")),
        ("suspended", "/epoch", json!(1)),
        ("suspended", "/held", json!("Suspended")),
        ("finished", "/verdict/outcome", json!("Succeeded")),
    ] {
        remembers(harness, name, field, &value);
    }
    for name in ["paid", "epoch"] {
        harness
            .api()
            .wait(&harness.path(name), "all workers in its counts", |job| {
                (job["status"]["replicaStatuses"]["Worker"]["active"] == 2).then_some(())
            });
    }
}

/// Waits until the memory of a job has this value.
#[track_caller]
fn remembers(harness: &Harness, name: &str, field: &str, value: &Value) {
    let what = format!("{value} at {field} of its memory");
    harness.api().wait(&harness.path(name), &what, |job| {
        (job["status"]["trainyard"].pointer(field) == Some(value)).then_some(())
    });
}

/// What must be the same under the next version.
struct Snapshot {
    /// The UIDs of the pods that run, by name.
    running: Vec<(String, Value)>,
    verdicts: Vec<(&'static str, Value)>,
}

impl Snapshot {
    fn verdict(&self, name: &str) -> Value {
        let found = self.verdicts.iter().find(|(of, _)| *of == name);
        found.map(|(_, verdict)| verdict.clone()).unwrap_or_default()
    }
}

fn snapshot(harness: &Harness) -> Snapshot {
    let pods = harness.namespace.pods();
    let runs = pods.iter().filter(|pod| pod["status"]["phase"] == "Running");
    let named = |pod: &Value| {
        let name = pod["metadata"]["name"].as_str().unwrap().to_owned();
        (name, pod["metadata"]["uid"].clone())
    };
    Snapshot {
        running: runs.map(named).collect(),
        verdicts: JOBS.map(|name| (name, verdict(harness, name))).into(),
    }
}

/// How a job has ended, to the word and the second; null while it has not.
fn verdict(harness: &Harness, name: &str) -> Value {
    let job = harness.api().get(&harness.path(name)).unwrap();
    let status = &job["status"];
    match &status["trainyard"]["verdict"] {
        Value::Null => Value::Null,
        verdict => json!([verdict, status["conditions"], status["completionTime"]]),
    }
}

/// Ends all jobs under the next version.
fn finish(harness: &Harness, before: &Snapshot) {
    harness.patch(
        "suspended",
        &json!({ "spec": { "runPolicy": { "suspend": false } } }),
    );
    harness.pod("suspended-worker-0", "1.0");
    harness.run_on_a_node("suspended-worker-0");
    harness.conditions("suspended", &["Created", "!Suspended", "Running"]);

    // The pods of all jobs have been seen by now, and none of them was touched.
    for (name, uid) in &before.running {
        let pod = harness.api().get(&harness.namespace.pod(name)).unwrap();
        assert_eq!(&pod["metadata"]["uid"], uid, "{name} is the same pod");
        assert!(
            pod["metadata"]["deletionTimestamp"].is_null(),
            "{name} still runs"
        );
    }
    assert_eq!(verdict(harness, "finished"), before.verdict("finished"));

    // The one restart of the budget was paid for before.
    harness.exit("paid-worker-1", 137);
    let limit = "Job paid has failed because it has reached the specified backoff limit";
    harness.api().wait(&harness.path("paid"), limit, |job| {
        let conditions = job["status"]["conditions"].as_array()?;
        let message = conditions.last()?["message"].as_str()?;
        message.starts_with(limit).then_some(())
    });
    remembers(harness, "paid", "/paid", &json!(1));

    // A new pod has the addresses that the others know.
    let drained = harness.namespace.pod("addresses-worker-1") + "?gracePeriodSeconds=0";
    harness.api().delete(&drained).unwrap();
    let pod = harness.pod("addresses-worker-1", "0.1");
    let config = tf_config(&pod);
    let address = format!("addresses-worker-0.{}.svc:2222", harness.namespace.name());
    assert!(config.contains(&address), "{config}");
    remembers(harness, "addresses", "/form", &json!("per-replica"));

    for pod in [
        "addresses-worker-0",
        "epoch-worker-0",
        "suspended-worker-0",
        "collected-chief-0",
    ] {
        harness.exit(pod, 0);
    }
    for name in ["addresses", "epoch", "collected"] {
        harness.conditions(name, &["Created", "!Running", "Succeeded"]);
    }
    harness.conditions("suspended", &["Created", "!Suspended", "!Running", "Succeeded"]);
    remembers(harness, "epoch", "/epoch", &json!(1));
    let names = harness.names();
    assert!(!names.contains(&"collected-worker-0".to_owned()), "{names:?}");
}

fn tf_config(pod: &Value) -> String {
    let env = pod["spec"]["containers"][0]["env"].as_array().unwrap();
    let config = env.iter().find(|one| one["name"] == "TF_CONFIG").unwrap();
    config["value"].as_str().unwrap().to_owned()
}

fn change_versions_of_a_gang(name: &str, change: Change) {
    let Some(last) = last_release() else { return };
    let [before, after] = change.programs(last);
    shared().install(Crds::Volcano);
    let mut harness = Harness::of_program(name, &before, &["--gang-scheduler-name", "volcano"]);
    harness.create(&job("mnist", &json!({}), &[("Worker", 2, "ExitCode")]));
    let group = harness.group("mnist");
    harness.let_in("mnist");
    harness.run(&["mnist-worker-0", "mnist-worker-1"]);
    harness.conditions("mnist", &["Created", "Running"]);
    remembers(&harness, "mnist", "/gang", &json!("volcano"));
    assert!(
        harness.operator.stop(),
        "the first version stops when it is told to"
    );
    harness.operator.use_program(&after);
    harness.start();
    let drained = harness.namespace.pod("mnist-worker-1") + "?gracePeriodSeconds=0";
    harness.api().delete(&drained).unwrap();
    let pod = harness.pod("mnist-worker-1", "0.1");
    assert_eq!(pod["spec"]["schedulerName"], "volcano");
    let marks = &pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"];
    assert_eq!(marks, "mnist", "the new pod joins the group");
    let now = harness.group("mnist");
    assert_eq!(
        now["metadata"]["uid"], group["metadata"]["uid"],
        "the group is the same"
    );
    remembers(&harness, "mnist", "/gang", &json!("volcano"));
    harness.exit("mnist-worker-0", 0);
    harness.conditions("mnist", &["Created", "!Running", "Succeeded"]);
    harness.api().wait_until_gone(&harness.group_path("mnist"));
}

/// The first write of each kind after which the new leader is killed, and whether the last release began the job.
const KILLS: [(Write, bool); 6] = [
    (Write::Service, false),
    (Write::Pod, false),
    (Write::Status, false),
    (Write::Status, true),
    (Write::PodDelete, true),
    (Write::Pod, true),
];

#[test]
fn the_last_release_takes_over_from_a_new_leader_that_is_killed_after_its_first_write() {
    let Some(last) = last_release() else { return };
    install();
    thread::scope(|scope| {
        for (write, begun) in KILLS {
            scope.spawn(move || take_over(last, write, begun));
        }
    });
}

/// A job of which one worker is restarted once, for which the restart is paid.
fn take_over(last: &Path, write: Write, begun: bool) {
    let what = format!("killed after {write:?}, begun by the last release: {begun}");
    let namespace = shared().namespace("take-over");
    let kubelet = FakeKubelet::open(&namespace, NODE);
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.kubeconfig", namespace.name()));
    let plan = (Some(write), Fault::KillUnanswered);
    let proxy = FaultyProxy::open(&shared().kubeconfig(), place, Some(plan));
    let elect = ["--leader-elect"];
    let path = |rest: &str| namespace.path("apis/kubeflow.org/v1", rest);
    let create = || {
        let mnist = job(
            "mnist",
            &json!({ "backoffLimit": 3 }),
            &[("Worker", 2, "ExitCode")],
        );
        shared().api().create(&path("tfjobs"), &mnist).unwrap();
    };
    let running = |stamp: &str| wait_for_life(&kubelet, &what, stamp);

    let mut first = begun.then(|| Operator::of_program(&namespace, last, &elect));
    if let Some(first) = &first {
        leader(&namespace, |holder| is(holder, first));
        create();
        running("0.0");
    }
    let mut new = Operator::through(&namespace, proxy.kubeconfig(), &elect);
    proxy.program(new.id());
    if let Some(first) = &mut first {
        new.says("standing by");
        assert!(first.stop(), "{what}");
    }
    leader(&namespace, |holder| is(holder, &new));
    let heir = Operator::of_program(&namespace, last, &elect);
    heir.says("standing by");
    if begun {
        shared().player().exit(&namespace, "mnist-worker-1", 137);
    } else {
        create();
    }
    new.wait();
    // Writes of one kind may be in flight together.
    assert!(proxy.disturbed() > 0, "{what}");
    leader(&namespace, |holder| is(holder, &heir));
    if !begun {
        running("0.0");
        shared().player().exit(&namespace, "mnist-worker-1", 137);
    }
    running("0.1");
    shared().player().exit(&namespace, "mnist-worker-0", 0);
    let status = shared().api().wait(&path("tfjobs/mnist"), &what, |job| {
        job["status"]["completionTime"]
            .is_string()
            .then(|| job["status"].clone())
    });
    assert_eq!(
        status["trainyard"]["verdict"]["outcome"], "Succeeded",
        "{what}: {status:#}"
    );
    assert_eq!(status["trainyard"]["paid"], 1, "{what}: {status:#}");
    let mut lives = kubelet.look(|history| lives(history, "mnist"));
    lives.sort();
    assert_eq!(
        lives,
        ["mnist-worker-0 0.0", "mnist-worker-1 0.0", "mnist-worker-1 0.1"],
        "{what}: every life exactly once"
    );
}

fn lives(history: &History, job: &str) -> Vec<String> {
    let stamp = |pod: &Value| {
        let stamp = pod["metadata"]["annotations"]["trainyard.dev/stamp"].as_str();
        stamp.unwrap_or_default().to_owned()
    };
    let pods = history.pods_of(job);
    pods.map(|pod| format!("{} {}", pod.name, stamp(pod.last())))
        .collect()
}

/// Waits until both workers run, the second one in this life.
#[track_caller]
fn wait_for_life(kubelet: &FakeKubelet, what: &str, stamp: &str) {
    let runs = |history: &History, name: &str, stamp: &str| {
        history.pods_of("mnist").any(|pod| {
            let last = pod.last();
            pod.name == name
                && pod.gone.is_none()
                && last["metadata"]["annotations"]["trainyard.dev/stamp"] == stamp
                && last["status"]["phase"] == "Running"
        })
    };
    let begun = std::time::Instant::now();
    while !kubelet
        .look(|history| runs(history, "mnist-worker-0", "0.0") && runs(history, "mnist-worker-1", stamp))
    {
        assert!(
            begun.elapsed().as_secs() < 120,
            "{what}: worker-1 never ran in life {stamp}"
        );
        thread::sleep(std::time::Duration::from_millis(50));
    }
}
