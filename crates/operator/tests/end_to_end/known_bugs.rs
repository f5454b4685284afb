//! Bugs of the reference that do not exist here, where more is needed to see it than a row of a table: each named after its
//! issue in kubeflow/trainer. The list of all, with where each is shown, is `docs/known-bugs.md`.

use std::thread;
use std::time::{Duration, Instant};

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use trainyard_cluster_tests::stage::{Deed, End, Ledger, Part, Sight, Stage};
use trainyard_cluster_tests::{Player, shared};

use super::{NODE, Yard, job};

/// A wait that was asked for is over at most so many seconds late.
const LATE: i64 = 3;

fn player() -> Player<'static> {
    shared().player()
}

/// Waits for something to be seen.
#[track_caller]
fn until(stage: &Stage, what: &str, seen: impl Fn(&Ledger) -> bool) {
    until_within(Duration::from_mins(1), stage, what, seen);
}

#[track_caller]
fn until_within(limit: Duration, stage: &Stage, what: &str, seen: impl Fn(&Ledger) -> bool) {
    let limit = Instant::now() + limit;
    while !stage.look(&seen) {
        assert!(Instant::now() < limit, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

fn exits(after: u32, code: i32) -> Part {
    Part {
        ends: [(0, (after, End::Code(code)))].into(),
        ..Part::default()
    }
}

fn seconds(time: &Value) -> i64 {
    let time: Timestamp = time.as_str().unwrap().parse().unwrap();
    time.as_second()
}

#[test]
fn issue_1306_a_new_job_of_an_old_name_starts_as_soon_as_the_old_pods_are_gone() {
    let yard = Yard::new("again");
    let stage = Stage::open(&yard.namespace, NODE);
    // By then a refusal is tried again after eight seconds.
    let slow = Part {
        heeds_after: Some(8),
        ..Part::default()
    };
    stage.cast("mnist-worker-1", slow);
    let roles = [("Worker", 2, "Never")];
    yard.create(&job("mnist", &json!({}), &roles));
    yard.conditions("mnist", &["Created", "Running"]);
    let old = yard.api().get(&yard.path("mnist")).unwrap()["metadata"]["uid"].clone();
    yard.api().delete(&yard.path("mnist")).unwrap();
    yard.api().wait_until_gone(&yard.path("mnist"));
    yard.create(&job("mnist", &json!({}), &roles));
    let is_old = |pod: &Sight| pod.last()["metadata"]["ownerReferences"][0]["uid"] == old;
    let gone = |ledger: &Ledger| {
        let pods = ledger.all("pods").filter(|pod| is_old(pod));
        pods.filter_map(|pod| pod.gone).collect::<Vec<_>>()
    };
    // The garbage collector of a cluster that has just got the definition of a TFJob takes half a minute to know it.
    until_within(
        Duration::from_mins(3),
        &stage,
        "the end of the old pods",
        |ledger| gone(ledger).len() == 2,
    );
    until(&stage, "both workers of the new job", |ledger| {
        let runs = |pod: &&Sight| pod.gone.is_none() && pod.last()["status"]["phase"] == "Running";
        ledger.all("pods").filter(|pod| !is_old(pod)).filter(runs).count() == 2
    });
    let late = stage.look(|ledger| {
        let new = ledger.all("pods").filter(|pod| !is_old(pod)).map(|pod| pod.came);
        let (free, came) = (gone(ledger).into_iter().max(), new.max());
        came.unwrap().saturating_duration_since(free.unwrap())
    });
    assert!(late <= Duration::from_secs(3), "{late:?} after the old pods");
    let status = yard.conditions("mnist", &["Created", "Running"]);
    assert_eq!(status["trainyard"]["paid"], json!(null), "{status:#}");
    let made = stage.look(|ledger| ledger.all("pods").count());
    assert_eq!(made, 4, "two of each job, and none in between");
}

#[test]
fn issue_813_a_job_that_cannot_be_read_says_why_and_stops_nobody() {
    let yard = Yard::new("unreadable");
    let stage = Stage::open(&yard.namespace, NODE);
    let mut bad = job("bad", &json!({}), &[("Worker", 1, "Never")]);
    bad["metadata"]["annotations"] = json!({ "trainyard.dev/restart-scope": "Sometimes" });
    yard.create(&bad);
    let status = yard.conditions("bad", &["Failed"]);
    let failed = &status["conditions"][0];
    assert_eq!(failed["reason"], "InvalidTFJobSpec");
    let message = failed["message"].as_str().unwrap();
    assert!(message.contains("trainyard.dev/restart-scope"), "{message}");
    assert!(message.contains("(allowed: `Replica`, `Job`"), "{message}");
    assert!(status["completionTime"].is_string());
    yard.create(&job("good", &json!({}), &[("Worker", 1, "Never")]));
    yard.conditions("good", &["Created", "Running"]);
    player().exit(&yard.namespace, "good-worker-0", 0);
    yard.conditions("good", &["Created", "!Running", "Succeeded"]);
    assert_eq!(stage.look(|ledger| ledger.pods_of("bad").count()), 0);
    let told = stage.look(|ledger| ledger.events_of("bad"));
    assert_eq!(told.len(), 1, "{told:?}");
}

#[test]
fn issue_1458_pods_can_be_found_before_the_first_of_them_is_there() {
    let yard = Yard::new("found");
    let stage = Stage::open(&yard.namespace, NODE);
    yard.create(&job(
        "mnist",
        &json!({}),
        &[("PS", 1, "Never"), ("Worker", 2, "Never")],
    ));
    yard.conditions("mnist", &["Created", "Running"]);
    let (service, pods) = stage.look(|ledger| {
        let version = |object: &Value| -> u64 {
            let text = object["metadata"]["resourceVersion"].as_str();
            text.and_then(|text| text.parse().ok()).unwrap_or_default()
        };
        let service = ledger
            .all("services")
            .map(|one| version(&one.versions[0]))
            .collect::<Vec<_>>();
        let pods = ledger.all("pods").map(|one| version(&one.versions[0])).min();
        (service, pods)
    });
    assert_eq!(service.len(), 1, "one for the whole job");
    assert!(service[0] < pods.unwrap(), "{service:?} {pods:?}");
}

#[test]
fn issue_1186_what_has_succeeded_is_not_run_again_though_the_operator_was_away_when_it_was_collected() {
    let mut yard = Yard::new("away");
    let stage = Stage::open(&yard.namespace, NODE);
    stage.cast("mnist-worker-0", exits(1, 0));
    yard.create(&job(
        "mnist",
        &json!({}),
        &[("Chief", 1, "Never"), ("Worker", 1, "Never")],
    ));
    until(&stage, "the worker's success in the status", |ledger| {
        let job = ledger
            .job("mnist")
            .map(|job| job.last().clone())
            .unwrap_or_default();
        job["status"]["replicaStatuses"]["Worker"]["succeeded"] == 1
    });
    yard.kill();
    let pod = yard.namespace.pod("mnist-worker-0");
    yard.api().delete(&format!("{pod}?gracePeriodSeconds=0")).unwrap();
    yard.api().wait_until_gone(&pod);
    yard.start();
    player().exit(&yard.namespace, "mnist-chief-0", 0);
    let status = yard.conditions("mnist", &["Created", "!Running", "Succeeded"]);
    assert_eq!(status["replicaStatuses"]["Worker"]["succeeded"], 1);
    assert_eq!(stage.look(|ledger| ledger.pods_of("mnist").count()), 2);
}

#[test]
fn issue_2454_success_seen_only_in_the_last_word_of_a_pod_counts() {
    let yard = Yard::new("last-word");
    let stage = Stage::open(&yard.namespace, NODE);
    let part = Part {
        deeds: vec![(0, Deed::Remove)],
        ..exits(2, 0)
    };
    stage.cast("mnist-worker-0", part);
    yard.create(&job("mnist", &json!({}), &[("Worker", 1, "Never")]));
    yard.conditions("mnist", &["Created", "!Running", "Succeeded"]);
    assert_eq!(stage.look(|ledger| ledger.pods_of("mnist").count()), 1);
}

#[test]
fn issue_2045_the_budget_is_kept_though_the_operator_is_killed_after_each_restart() {
    let mut yard = Yard::new("budget");
    let stage = Stage::open(&yard.namespace, NODE);
    let ends = [0, 1].map(|life| (life, (1, End::Code(137))));
    let part = Part {
        ends: ends.into(),
        ..Part::default()
    };
    stage.cast("mnist-worker-0", part);
    let policy = json!({ "backoffLimit": 1 });
    yard.create(&job("mnist", &policy, &[("Worker", 1, "ExitCode")]));
    yard.conditions("mnist", &["Created", "Restarting"]);
    yard.kill();
    yard.start();
    yard.pod("mnist-worker-0", "0.1");
    yard.kill();
    yard.start();
    let limit = "Job mnist has failed because it has reached the specified backoff limit";
    yard.api().wait(&yard.path("mnist"), limit, |object| {
        let conditions = object["status"]["conditions"].as_array()?;
        (conditions.last()?["message"] == limit).then_some(())
    });
    assert_eq!(stage.look(|ledger| ledger.pods_of("mnist").count()), 2);
}

#[test]
fn issue_1394_a_pod_of_somebody_else_in_the_way_is_left_alone_and_waited_for() {
    let yard = Yard::new("in-the-way");
    let stage = Stage::open(&yard.namespace, NODE);
    let theirs = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "mnist-worker-1" },
        "spec": { "containers": [{ "name": "a", "image": "a" }] },
    });
    let pods = yard.namespace.path("api/v1", "pods");
    let uid = yard.api().create(&pods, &theirs).unwrap()["metadata"]["uid"].clone();
    yard.create(&job("mnist", &json!({}), &[("Worker", 2, "Never")]));
    yard.conditions("mnist", &["Created", "Running"]);
    let pod = yard.namespace.pod("mnist-worker-1");
    assert_eq!(
        yard.api().get(&pod).unwrap()["metadata"]["uid"],
        uid,
        "it is not ours"
    );
    yard.api().delete(&format!("{pod}?gracePeriodSeconds=0")).unwrap();
    yard.pod("mnist-worker-1", "0.0");
    until(&stage, "both workers in the counts", |ledger| {
        let job = ledger
            .job("mnist")
            .map(|job| job.last().clone())
            .unwrap_or_default();
        job["status"]["replicaStatuses"]["Worker"]["active"] == 2
    });
}

#[test]
fn issue_1533_deadline_and_time_to_live_are_kept_to_the_second_and_nothing_is_told_twice() {
    let yard = Yard::new("on-time");
    let stage = Stage::open(&yard.namespace, NODE);
    let policy = json!({ "activeDeadlineSeconds": 6, "ttlSecondsAfterFinished": 5 });
    yard.create(&job(
        "mnist",
        &policy,
        &[("PS", 1, "Never"), ("Worker", 2, "Never")],
    ));
    until(&stage, "the end of the job", |ledger| {
        ledger.job("mnist").is_some_and(|job| job.gone.is_some())
    });
    let now = Timestamp::now().as_second();
    stage.look(|ledger| {
        let job = ledger.job("mnist").unwrap();
        let status = &job.last()["status"];
        let ran = seconds(&status["completionTime"]) - seconds(&status["startTime"]);
        assert_eq!(ran, 6, "{status:#}");
        let kept = now - seconds(&status["completionTime"]);
        assert!((5..=5 + LATE).contains(&kept), "deleted after {kept} s");
        // Every write of a status is a version: created, running, counted, failed, counted once more.
        assert!(job.versions.len() <= 8, "{} versions", job.versions.len());
        let told = ledger.events_of("mnist");
        let reasons: Vec<&str> = told.iter().map(|(reason, _)| reason.as_str()).collect();
        assert_eq!(reasons, ["TFJobFailed"], "{told:?}");
    });
}

#[test]
fn a_template_gives_its_pods_neither_finalizers_nor_owners() {
    let yard = Yard::new("template");
    let mut object = job("mnist", &json!({}), &[("Worker", 1, "Never")]);
    object["spec"]["tfReplicaSpecs"]["Worker"]["template"]["metadata"] =
        json!({ "labels": { "team": "vision" }, "finalizers": ["example.com/never"] });
    yard.create(&object);
    let pod = yard.pod("mnist-worker-0", "0.0");
    assert_eq!(pod["metadata"]["finalizers"], json!(null));
    assert_eq!(pod["metadata"]["labels"]["team"], "vision");
    let owners = pod["metadata"]["ownerReferences"].as_array().unwrap();
    assert_eq!(owners.len(), 1);
    assert_eq!(owners[0]["controller"], true);
}
