//! Bugs of the reference that do not exist here, where more is needed to see it than a row of a table: each named after its
//! issue in kubeflow/trainer. The list of all, with where each is shown, is `docs/known-bugs.md`.

use std::thread;
use std::time::{Duration, Instant};

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use trainyard_cluster_tests::fake_kubelet::{
    Disruption, FakeKubelet, History, ObjectHistory, ProgramEnd, Script,
};
use trainyard_cluster_tests::{Player, shared};

use super::{Harness, NODE, job};

/// A wait that was asked for is over at most so many seconds late.
const LATE: i64 = 3;

fn player() -> Player<'static> {
    shared().player()
}

/// Waits for something to be seen.
#[track_caller]
fn until(kubelet: &FakeKubelet, what: &str, seen: impl Fn(&History) -> bool) {
    until_within(Duration::from_mins(1), kubelet, what, seen);
}

#[track_caller]
fn until_within(limit: Duration, kubelet: &FakeKubelet, what: &str, seen: impl Fn(&History) -> bool) {
    let limit = Instant::now() + limit;
    while !kubelet.look(&seen) {
        assert!(Instant::now() < limit, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

fn exits(after: u32, code: i32) -> Script {
    Script {
        ends: [(0, (after, ProgramEnd::Code(code)))].into(),
        ..Script::default()
    }
}

fn seconds(time: &Value) -> i64 {
    let time: Timestamp = time.as_str().unwrap().parse().unwrap();
    time.as_second()
}

#[test]
fn issue_1306_a_new_job_of_an_old_name_starts_as_soon_as_the_old_pods_are_gone() {
    let harness = Harness::new("again");
    let kubelet = FakeKubelet::open(&harness.namespace, NODE);
    // By then a refusal is tried again after eight seconds.
    let slow = Script {
        heeds_after: Some(8),
        ..Script::default()
    };
    kubelet.script("mnist-worker-1", slow);
    let roles = [("Worker", 2, "Never")];
    harness.create(&job("mnist", &json!({}), &roles));
    harness.conditions("mnist", &["Created", "Running"]);
    let old = harness.api().get(&harness.path("mnist")).unwrap()["metadata"]["uid"].clone();
    harness.api().delete(&harness.path("mnist")).unwrap();
    harness.api().wait_until_gone(&harness.path("mnist"));
    harness.create(&job("mnist", &json!({}), &roles));
    let is_old = |pod: &ObjectHistory| pod.last()["metadata"]["ownerReferences"][0]["uid"] == old;
    let gone = |history: &History| {
        let pods = history.all("pods").filter(|pod| is_old(pod));
        pods.filter_map(|pod| pod.gone).collect::<Vec<_>>()
    };
    // The garbage collector of a cluster that has just got the definition of a TFJob takes half a minute to know it.
    until_within(
        Duration::from_mins(3),
        &kubelet,
        "the end of the old pods",
        |history| gone(history).len() == 2,
    );
    until(&kubelet, "both workers of the new job", |history| {
        let runs = |pod: &&ObjectHistory| pod.gone.is_none() && pod.last()["status"]["phase"] == "Running";
        history
            .all("pods")
            .filter(|pod| !is_old(pod))
            .filter(runs)
            .count()
            == 2
    });
    let late = kubelet.look(|history| {
        let new = history.all("pods").filter(|pod| !is_old(pod)).map(|pod| pod.came);
        let (free, came) = (gone(history).into_iter().max(), new.max());
        came.unwrap().saturating_duration_since(free.unwrap())
    });
    assert!(late <= Duration::from_secs(3), "{late:?} after the old pods");
    let status = harness.conditions("mnist", &["Created", "Running"]);
    assert_eq!(status["trainyard"]["paid"], json!(null), "{status:#}");
    let made = kubelet.look(|history| history.all("pods").count());
    assert_eq!(made, 4, "two of each job, and none in between");
}

#[test]
fn issue_813_a_job_that_cannot_be_read_says_why_and_stops_no_other_job() {
    let harness = Harness::new("unreadable");
    let kubelet = FakeKubelet::open(&harness.namespace, NODE);
    let mut bad = job("bad", &json!({}), &[("Worker", 1, "Never")]);
    bad["metadata"]["annotations"] = json!({ "trainyard.dev/restart-scope": "Sometimes" });
    harness.create(&bad);
    let status = harness.conditions("bad", &["Failed"]);
    let failed = &status["conditions"][0];
    assert_eq!(failed["reason"], "InvalidTFJobSpec");
    let message = failed["message"].as_str().unwrap();
    assert!(message.contains("trainyard.dev/restart-scope"), "{message}");
    assert!(message.contains("(allowed: `Replica`, `Job`"), "{message}");
    assert!(status["completionTime"].is_string());
    harness.create(&job("good", &json!({}), &[("Worker", 1, "Never")]));
    harness.conditions("good", &["Created", "Running"]);
    player().exit(&harness.namespace, "good-worker-0", 0);
    harness.conditions("good", &["Created", "!Running", "Succeeded"]);
    assert_eq!(kubelet.look(|history| history.pods_of("bad").count()), 0);
    let told = kubelet.look(|history| history.events_of("bad"));
    assert_eq!(told.len(), 1, "{told:?}");
}

#[test]
fn issue_1458_pods_can_be_found_before_the_first_of_them_is_there() {
    let harness = Harness::new("found");
    let kubelet = FakeKubelet::open(&harness.namespace, NODE);
    harness.create(&job(
        "mnist",
        &json!({}),
        &[("PS", 1, "Never"), ("Worker", 2, "Never")],
    ));
    harness.conditions("mnist", &["Created", "Running"]);
    let (service, pods) = kubelet.look(|history| {
        let version = |object: &Value| -> u64 {
            let text = object["metadata"]["resourceVersion"].as_str();
            text.and_then(|text| text.parse().ok()).unwrap_or_default()
        };
        let service = history
            .all("services")
            .map(|one| version(&one.versions[0]))
            .collect::<Vec<_>>();
        let pods = history.all("pods").map(|one| version(&one.versions[0])).min();
        (service, pods)
    });
    assert_eq!(service.len(), 1, "one for the whole job");
    assert!(service[0] < pods.unwrap(), "{service:?} {pods:?}");
}

#[test]
fn issue_1186_what_has_succeeded_is_not_run_again_though_the_operator_was_away_when_it_was_collected() {
    let mut harness = Harness::new("away");
    let kubelet = FakeKubelet::open(&harness.namespace, NODE);
    kubelet.script("mnist-worker-0", exits(1, 0));
    harness.create(&job(
        "mnist",
        &json!({}),
        &[("Chief", 1, "Never"), ("Worker", 1, "Never")],
    ));
    until(&kubelet, "the worker's success in the status", |history| {
        let job = history
            .job("mnist")
            .map(|job| job.last().clone())
            .unwrap_or_default();
        job["status"]["replicaStatuses"]["Worker"]["succeeded"] == 1
    });
    harness.kill();
    let pod = harness.namespace.pod("mnist-worker-0");
    harness
        .api()
        .delete(&format!("{pod}?gracePeriodSeconds=0"))
        .unwrap();
    harness.api().wait_until_gone(&pod);
    harness.start();
    player().exit(&harness.namespace, "mnist-chief-0", 0);
    let status = harness.conditions("mnist", &["Created", "!Running", "Succeeded"]);
    assert_eq!(status["replicaStatuses"]["Worker"]["succeeded"], 1);
    assert_eq!(kubelet.look(|history| history.pods_of("mnist").count()), 2);
}

#[test]
fn issue_2454_success_seen_only_in_the_last_word_of_a_pod_counts() {
    let harness = Harness::new("last-word");
    let kubelet = FakeKubelet::open(&harness.namespace, NODE);
    let script = Script {
        disruptions: vec![(0, Disruption::Remove)],
        ..exits(2, 0)
    };
    kubelet.script("mnist-worker-0", script);
    harness.create(&job("mnist", &json!({}), &[("Worker", 1, "Never")]));
    harness.conditions("mnist", &["Created", "!Running", "Succeeded"]);
    assert_eq!(kubelet.look(|history| history.pods_of("mnist").count()), 1);
}

#[test]
fn issue_2045_the_budget_is_kept_though_the_operator_is_killed_after_each_restart() {
    let mut harness = Harness::new("budget");
    let kubelet = FakeKubelet::open(&harness.namespace, NODE);
    let ends = [0, 1].map(|life| (life, (1, ProgramEnd::Code(137))));
    let script = Script {
        ends: ends.into(),
        ..Script::default()
    };
    kubelet.script("mnist-worker-0", script);
    let policy = json!({ "backoffLimit": 1 });
    harness.create(&job("mnist", &policy, &[("Worker", 1, "ExitCode")]));
    // The condition `Restarting` may be gone before it is looked for: what was paid stays.
    harness
        .api()
        .wait(&harness.path("mnist"), "a restart that was paid", |object| {
            (object["status"]["trainyard"]["paid"] == 1).then_some(())
        });
    harness.kill();
    harness.start();
    harness.pod("mnist-worker-0", "0.1");
    harness.kill();
    harness.start();
    let limit = "Job mnist has failed because it has reached the specified backoff limit";
    harness.api().wait(&harness.path("mnist"), limit, |object| {
        let conditions = object["status"]["conditions"].as_array()?;
        let message = conditions.last()?["message"].as_str()?;
        message.starts_with(limit).then_some(())
    });
    assert_eq!(kubelet.look(|history| history.pods_of("mnist").count()), 2);
}

#[test]
fn issue_1394_a_pod_of_another_owner_with_a_tasks_name_is_left_alone_and_waited_for() {
    let harness = Harness::new("in-the-way");
    let kubelet = FakeKubelet::open(&harness.namespace, NODE);
    let theirs = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "mnist-worker-1" },
        "spec": { "containers": [{ "name": "a", "image": "a" }] },
    });
    let pods = harness.namespace.path("api/v1", "pods");
    let uid = harness.api().create(&pods, &theirs).unwrap()["metadata"]["uid"].clone();
    harness.create(&job("mnist", &json!({}), &[("Worker", 2, "Never")]));
    harness.conditions("mnist", &["Created", "Running"]);
    let pod = harness.namespace.pod("mnist-worker-1");
    assert_eq!(
        harness.api().get(&pod).unwrap()["metadata"]["uid"],
        uid,
        "it is not ours"
    );
    harness
        .api()
        .delete(&format!("{pod}?gracePeriodSeconds=0"))
        .unwrap();
    harness.pod("mnist-worker-1", "0.0");
    until(&kubelet, "both workers in the counts", |history| {
        let job = history
            .job("mnist")
            .map(|job| job.last().clone())
            .unwrap_or_default();
        job["status"]["replicaStatuses"]["Worker"]["active"] == 2
    });
}

#[test]
fn issue_1533_deadline_and_time_to_live_are_kept_to_the_second_and_nothing_is_told_twice() {
    let harness = Harness::new("on-time");
    let kubelet = FakeKubelet::open(&harness.namespace, NODE);
    let policy = json!({ "activeDeadlineSeconds": 6, "ttlSecondsAfterFinished": 5 });
    harness.create(&job(
        "mnist",
        &policy,
        &[("PS", 1, "Never"), ("Worker", 2, "Never")],
    ));
    until(&kubelet, "the end of the job", |history| {
        history.job("mnist").is_some_and(|job| job.gone.is_some())
    });
    let now = Timestamp::now().as_second();
    kubelet.look(|history| {
        let job = history.job("mnist").unwrap();
        let status = &job.last()["status"];
        let ran = seconds(&status["completionTime"]) - seconds(&status["startTime"]);
        assert_eq!(ran, 6, "{status:#}");
        let kept = now - seconds(&status["completionTime"]);
        assert!((5..=5 + LATE).contains(&kept), "deleted after {kept} s");
        // Every write of a status is a version: created, running, counted, failed, counted once more.
        assert!(job.versions.len() <= 8, "{} versions", job.versions.len());
        let told = history.events_of("mnist");
        let reasons: Vec<&str> = told.iter().map(|(reason, _)| reason.as_str()).collect();
        assert_eq!(reasons, ["TFJobFailed"], "{told:?}");
    });
}

#[test]
fn a_template_gives_its_pods_neither_finalizers_nor_owners() {
    let harness = Harness::new("template");
    let mut object = job("mnist", &json!({}), &[("Worker", 1, "Never")]);
    object["spec"]["tfReplicaSpecs"]["Worker"]["template"]["metadata"] =
        json!({ "labels": { "team": "vision" }, "finalizers": ["example.com/never"] });
    harness.create(&object);
    let pod = harness.pod("mnist-worker-0", "0.0");
    assert_eq!(pod["metadata"]["finalizers"], json!(null));
    assert_eq!(pod["metadata"]["labels"]["team"], "vision");
    let owners = pod["metadata"]["ownerReferences"].as_array().unwrap();
    assert_eq!(owners.len(), 1);
    assert_eq!(owners[0]["controller"], true);
}
