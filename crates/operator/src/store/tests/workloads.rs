//! Jobs in queues of Kueue's: the tests play the API server and Kueue, with conditions as Kueue 0.19 writes them.

use std::collections::BTreeMap;

use kube::core::DynamicObject;
use trainyard_manifest::kueue::{PLACEMENT, Placement, amended};
use trainyard_status::rfc3339;

use super::*;
use crate::apply::workload::{WorkloadReport, WorkloadWrite};
use crate::workload::WorkloadSeen;

/// A store, the job's Workload, and what happened.
struct Played {
    store: Store,
    workload: Option<Value>,
    version: u64,
    /// The status that was last written.
    status: Value,
    /// The UID of its Service.
    service: Option<String>,
    now: Time,
}

/// A job with a queue and this status.
fn queued_job(version: u64, generation: i64, status: &Value) -> JobWire {
    let mut wire = job(version, generation, status);
    wire.metadata.labels = Some([("kueue.x-k8s.io/queue-name".to_owned(), "users".to_owned())].into());
    wire
}

fn reading() -> Reading {
    Reading {
        kueue: true,
        ..Reading::default()
    }
}

impl Played {
    /// A job that Kueue knows nothing of.
    fn new() -> Self {
        Self::of(reading(), queued_job(10, 1, &Value::Null))
    }

    fn of(reading: Reading, wire: JobWire) -> Self {
        let mut store = Store::new(reading);
        store.list_begins(Source::Workloads);
        store.list_ends(Source::Workloads);
        store.job_seen(&TFJOB, wire);
        Self {
            store,
            workload: None,
            version: 100,
            status: Value::Null,
            service: None,
            now: NOW,
        }
    }

    /// Another operator, which knows what is stored.
    fn killed(&mut self, pods: &[PodSeen]) {
        let mut store = Store::new(reading());
        store.list_begins(Source::Workloads);
        for pod in pods {
            store.pod_seen(&TFJOB, pod.clone());
        }
        self.version += 1;
        store.job_seen(&TFJOB, queued_job(self.version, 1, &self.status));
        if let Some(uid) = &self.service {
            store.service_seen(&TFJOB, service(uid));
        }
        if let Some(seen) = self.seen() {
            store.workload_seen(seen);
        }
        assert!(store.next(self.now).is_none(), "Workloads are not known yet");
        store.list_ends(Source::Workloads);
        self.store = store;
    }

    fn seen(&self) -> Option<WorkloadSeen> {
        let object: DynamicObject = serde_json::from_value(self.workload.clone()?).unwrap();
        WorkloadSeen::of(&object)
    }

    /// Kueue writes the Workload's status.
    fn kueue(&mut self, change: impl FnOnce(&mut Value)) {
        self.version += 1;
        let workload = self.workload.as_mut().expect("a Workload");
        change(&mut workload["status"]);
        workload["metadata"]["resourceVersion"] = self.version.to_string().into();
        let seen = self.seen().unwrap();
        self.store.workload_seen(seen);
    }

    fn admit(&mut self, at: &str) {
        self.kueue(|status| {
            *status = json!({
                "conditions": [
                    { "type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "message": "Quota reserved in ClusterQueue cq", "lastTransitionTime": at },
                    { "type": "Admitted", "status": "True", "reason": "Admitted", "message": "", "lastTransitionTime": at },
                ],
                "admission": { "clusterQueue": "cq", "podSetAssignments": [
                    { "name": "worker", "count": 2, "flavors": { "cpu": "gold" } },
                ] },
            });
        });
    }

    fn evict(&mut self) {
        self.kueue(|status| {
            let evicted = json!({
                "type": "Evicted", "status": "True", "reason": "Preempted", "message": "Preempted to accommodate a workload",
                "lastTransitionTime": "2027-01-15T08:00:00Z",
            });
            status["conditions"].as_array_mut().unwrap().push(evicted);
        });
    }

    /// What a write about the Workload answers.
    fn answer(&mut self, writes: &Writes, write: &WorkloadWrite) -> WorkloadReport {
        let crate::job::Meaning::Job(compiled) = &*writes.meaning else {
            panic!("it can be read")
        };
        let queued = || compiled.queued.as_deref().unwrap();
        self.version += 1;
        let mut report = WorkloadReport::default();
        match write {
            WorkloadWrite::Create { resumed } => {
                assert!(self.workload.is_none(), "one at a time");
                let mut object = queued().object(compiled.job(), *resumed, 0);
                object["metadata"]["uid"] = format!("w{}", self.version).into();
                object["metadata"]["ownerReferences"] = json!([{
                    "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "name": "mnist", "uid": "job", "controller": true,
                }]);
                object["metadata"]["creationTimestamp"] = rfc3339(self.now).into();
                object["status"] = json!({});
                self.workload = Some(object);
            }
            WorkloadWrite::Correct { resumed, .. } => {
                let change = queued().correction(*resumed, 0);
                let workload = self.workload.as_mut().unwrap();
                workload["spec"]["podSets"] = change["spec"]["podSets"].clone();
                workload["metadata"]["annotations"] = change["metadata"]["annotations"].clone();
            }
            WorkloadWrite::Place { .. } => {
                let workload = self.workload.as_mut().unwrap();
                let gold = json!({ "spec": { "nodeLabels": { "pool": "gold" } } });
                let flavors = BTreeMap::from([("gold".to_owned(), gold)]);
                let placement = Placement::of(workload, &flavors).unwrap();
                workload["metadata"]["annotations"][PLACEMENT] = placement.text().into();
            }
            WorkloadWrite::Amend { change, .. } => {
                let workload = self.workload.as_mut().unwrap();
                if let Some(status) = amended(workload, change, "2027-01-15T08:00:00Z") {
                    workload["status"] = status;
                }
            }
            WorkloadWrite::Delete { uid, .. } => {
                report.removed = Some(Arc::clone(uid));
                self.workload = None;
                return report;
            }
        }
        let workload = self.workload.as_mut().unwrap();
        workload["metadata"]["resourceVersion"] = self.version.to_string().into();
        report.written = self.seen().map(Box::new);
        report
    }

    /// Does what there is to do until there is nothing; pods that are created exist and do not run yet. Says what was done, in short.
    fn play(&mut self) -> Vec<String> {
        let mut told = Vec::new();
        let mut passes = 0;
        while let Some(writes) = self.store.next(self.now) {
            passes += 1;
            assert!(passes < 30, "{told:#?} {writes:#?}");
            if let Some(status) = &writes.status {
                self.status = status.clone();
            }
            let workload = writes.workload.clone().map(|write| {
                told.push(in_short(&write));
                self.answer(&writes, &write)
            });
            let mut made = Vec::new();
            for action in &writes.actions {
                let Action::Create { task, stamp } = action else {
                    continue;
                };
                let uid = format!("p{}", self.version);
                made.push(self.pod(task.index, &uid, stamp.epoch, &json!({})));
                assert!(writes.placement.is_some(), "where it runs is known");
                told.push(format!("create {task}"));
            }
            let stops = writes.actions.iter().filter_map(|action| match action {
                Action::Stop { task, .. } => Some(format!("stop {task}")),
                _ => None,
            });
            told.extend(stops);
            let report = self.report(&writes, workload, made);
            self.store.applied(report, self.now);
        }
        told
    }

    /// The answer to an apply.
    fn report(&mut self, writes: &Writes, workload: Option<WorkloadReport>, made: Vec<PodSeen>) -> Report {
        self.version += 1;
        let mut services = Vec::new();
        if writes.actions.contains(&Action::Ensure(Fixture::Addresses)) {
            let uid = format!("s{}", self.version);
            services.push(service(&uid));
            self.service = Some(uid);
        } else if writes.actions.contains(&Action::Remove(Fixture::Addresses)) {
            self.service = None;
        }
        let stopped = writes.actions.iter().filter_map(|action| match action {
            Action::Stop { instance, force, .. } => Some((Arc::clone(instance), *force)),
            _ => None,
        });
        Report {
            workload,
            services,
            stopped: stopped.collect(),
            removed: writes.services.iter().map(|(_, uid)| Arc::clone(uid)).collect(),
            ..report(writes, self.version, made)
        }
    }

    /// A pod of the job as it is now.
    fn pod(&mut self, index: u32, uid: &str, epoch: u32, status: &Value) -> PodSeen {
        self.version += 1;
        let mut seen = pod(index, self.version, uid, status);
        if let Some(task) = &mut seen.task {
            task.stamp.epoch = epoch;
        }
        seen
    }

    /// The job runs.
    fn running() -> (Self, Vec<PodSeen>) {
        let mut played = Self::new();
        played.play();
        played.admit("2027-01-15T07:00:00Z");
        played.play();
        let pods: Vec<PodSeen> = (0..2)
            .map(|index| {
                let known = played.store.entries.values().next().unwrap().pods.values();
                let name = format!("mnist-worker-{index}");
                let uid = known
                    .map(|held| &held.pod)
                    .find(|pod| *pod.name == *name)
                    .unwrap()
                    .uid
                    .clone();
                played.pod(index, &uid, 0, &running())
            })
            .collect();
        for pod in &pods {
            played.store.pod_seen(&TFJOB, pod.clone());
        }
        played.now = played.now + 5;
        assert_eq!(played.play(), ["amend ready=true"]);
        (played, pods)
    }

    fn condition(&self, kind: &str) -> Option<&str> {
        let conditions = self.workload.as_ref()?["status"]["conditions"].as_array()?;
        conditions.iter().find(|one| one["type"] == kind)?["status"].as_str()
    }
}

fn in_short(write: &WorkloadWrite) -> String {
    match write {
        WorkloadWrite::Create { .. } => "queue".into(),
        WorkloadWrite::Correct { .. } => "correct".into(),
        WorkloadWrite::Place { .. } => "place".into(),
        WorkloadWrite::Delete { .. } => "delete".into(),
        WorkloadWrite::Amend { change, .. } => {
            let mut words = "amend".to_owned();
            if change.release {
                words.push_str(" release");
            }
            if let Some(ready) = change.ready {
                words.push_str(if ready { " ready=true" } else { " ready=false" });
            }
            if change.reclaimable.as_ref().is_some_and(|free| !free.is_empty()) {
                words.push_str(" reclaim");
            }
            if change.finished.is_some() {
                words.push_str(" finished");
            }
            words
        }
    }
}

#[test]
fn a_job_waits_in_its_queue_and_starts_when_it_is_admitted() {
    let mut played = Played::new();
    assert_eq!(played.play(), ["queue"]);
    assert_eq!(played.status["trainyard"]["held"], "Suspended");
    played.kueue(|status| {
        *status = json!({ "conditions": [{
            "type": "QuotaReserved", "status": "False", "reason": "Pending",
            "message": "couldn't assign flavors to pod set worker: insufficient unused quota for cpu in flavor gold, 2 more needed",
        }] });
    });
    assert_eq!(played.play(), Vec::<String>::new());
    let wait = &played.status["waiting"][0];
    assert_eq!(wait["reason"], "Queued");
    assert!(
        wait["message"]
            .as_str()
            .unwrap()
            .ends_with("waits in queue users: couldn't assign flavors to pod set worker: insufficient unused quota for cpu in flavor gold, 2 more needed"),
        "{wait}"
    );
    assert!(played.status["summary"].as_str().unwrap().starts_with("Queued: "));
    played.admit("2027-01-15T07:00:00Z");
    assert_eq!(played.play(), ["place", "create worker-0", "create worker-1"]);
    assert_eq!(played.status["trainyard"]["held"], Value::Null);
    assert_eq!(played.status.get("waiting"), None);
}

#[test]
fn an_operator_that_was_killed_after_the_admission_starts_the_job_where_it_was_admitted() {
    let mut played = Played::new();
    played.play();
    played.admit("2027-01-15T07:00:00Z");
    played.killed(&[]);
    assert_eq!(played.play(), ["place", "create worker-0", "create worker-1"]);
    let mut placed = Played::new();
    placed.play();
    placed.admit("2027-01-15T07:00:00Z");
    let place = placed.store.next(placed.now).unwrap();
    let write = place.workload.clone().unwrap();
    placed.answer(&place, &write);
    placed.killed(&[]);
    assert_eq!(
        placed.play(),
        ["create worker-0", "create worker-1"],
        "what was looked up is read back"
    );
}

#[test]
fn an_evicted_job_stops_before_its_quota_is_given_back_and_starts_again_when_it_is_admitted_again() {
    let (mut played, pods) = Played::running();
    played.evict();
    assert_eq!(played.play(), ["stop worker-0", "stop worker-1"]);
    assert_eq!(
        played.condition("QuotaReserved"),
        Some("True"),
        "something still runs"
    );
    played.store.pod_gone(&TFJOB, &pods[0]);
    assert_eq!(played.play(), Vec::<String>::new());
    played.killed(&pods[1..]);
    assert_eq!(played.play(), ["stop worker-1"]);
    played.store.pod_gone(&TFJOB, &pods[1]);
    assert_eq!(played.play(), ["amend release"]);
    assert_eq!(played.condition("QuotaReserved"), Some("False"));
    assert_eq!(played.status["trainyard"]["epoch"], 1);
    assert_eq!(played.status["trainyard"].get("paid"), None, "it costs nothing");
    played.admit("2027-01-15T08:30:00Z");
    assert_eq!(played.play(), ["place", "create worker-0", "create worker-1"]);
}

#[test]
fn a_job_that_has_ended_says_so_to_kueue_once() {
    let (mut played, pods) = Played::running();
    let first = pods[0].uid.clone();
    let done = played.pod(0, &first, 0, &exited(0));
    played.store.pod_seen(&TFJOB, done);
    let told = played.play();
    assert_eq!(told.last().unwrap(), "amend finished", "{told:?}");
    assert_eq!(played.condition("Finished"), Some("True"));
    assert_eq!(played.play(), Vec::<String>::new());
}

#[test]
fn what_a_task_held_that_has_finished_is_given_back() {
    let (mut played, pods) = Played::running();
    let second = pods[1].uid.clone();
    let done = played.pod(1, &second, 0, &exited(0));
    played.store.pod_seen(&TFJOB, done);
    played.now = played.now + 5;
    assert_eq!(played.play(), ["amend reclaim"]);
    let free = &played.workload.as_ref().unwrap()["status"]["reclaimablePods"];
    assert_eq!(*free, json!([{ "name": "worker", "count": 1 }]));
}

#[test]
fn a_suspended_job_leaves_its_queue_when_it_has_stopped() {
    let (mut played, pods) = Played::running();
    let mut wire = queued_job(5000, 2, &played.status);
    wire.spec["runPolicy"]["suspend"] = true.into();
    played.version = 6000;
    played.store.job_seen(&TFJOB, wire.clone());
    assert_eq!(played.play(), ["stop worker-0", "stop worker-1"]);
    for pod in &pods {
        played.store.pod_gone(&TFJOB, pod);
    }
    assert_eq!(played.play(), ["delete"]);
    assert_eq!(played.status["summary"], "suspended");
    played.version += 1;
    let wire = queued_job(played.version, 3, &played.status);
    played.store.job_seen(&TFJOB, wire);
    assert_eq!(played.play(), ["queue"]);
}

#[test]
fn a_job_that_grows_queues_again_and_one_that_shrinks_goes_on() {
    let (mut played, pods) = Played::running();
    let scaled = |played: &mut Played, generation: i64, replicas: u32| {
        played.version += 1000;
        let mut wire = queued_job(played.version, generation, &played.status);
        wire.spec["tfReplicaSpecs"]["Worker"]["replicas"] = replicas.into();
        played.store.job_seen(&TFJOB, wire);
        played.play()
    };
    assert_eq!(scaled(&mut played, 2, 1), ["stop worker-1"]);
    played.store.pod_gone(&TFJOB, &pods[1]);
    played.now = played.now + 5;
    assert_eq!(played.play(), ["amend reclaim"]);
    assert_eq!(scaled(&mut played, 3, 3), ["stop worker-0"]);
    played.store.pod_gone(&TFJOB, &pods[0]);
    assert_eq!(played.play(), ["delete", "queue"]);
    assert_eq!(
        scaled(&mut played, 4, 4),
        ["correct"],
        "no quota is reserved for it"
    );
}

#[test]
fn a_workload_that_another_controller_made_is_respected() {
    let mut played = Played::new();
    let theirs = json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
        "metadata": {
            "name": "tfjob-mnist-1a2b3", "namespace": "ml", "uid": "theirs", "resourceVersion": "50",
            "ownerReferences": [{
                "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "name": "mnist", "uid": "job", "controller": true,
            }],
        },
        "spec": { "queueName": "users" },
    });
    played.workload = Some(theirs);
    let seen = played.seen().unwrap();
    played.store.workload_seen(seen);
    let mut told = Vec::new();
    while let Some(writes) = played.store.next(NOW) {
        assert!(
            writes.workload.is_none() && writes.placement.is_none(),
            "{writes:?}"
        );
        told.extend(creates(&writes));
        let made = vec![pod(0, 70, "p0", &json!({})), pod(1, 71, "p1", &json!({}))];
        let made = if creates(&writes).is_empty() {
            Vec::new()
        } else {
            made
        };
        let report = played.report(&writes, None, made);
        played.store.applied(report, NOW);
    }
    assert_eq!(told, ["worker-0", "worker-1"], "its `suspend` says when it runs");
}

#[test]
fn only_jobs_with_a_queue_wait_for_kueue() {
    let mut store = Store::new(reading());
    store.job_seen(&TFJOB, queued_job(10, 1, &Value::Null));
    store.job_seen(&TFJOB, another("plain"));
    assert_eq!(&*store.next(NOW).unwrap().key.name, "plain");
    assert!(store.next(NOW).is_none(), "Workloads are not known");
    store.api_unknown(Source::Workloads);
    let writes = store.next(NOW).unwrap();
    let status = writes.status.as_ref().unwrap();
    assert_eq!(status["waiting"][0]["reason"], "KueueNotInstalled");
    store.applied(report(&writes, 11, Vec::new()), NOW);
    store.list_begins(Source::Workloads);
    store.list_ends(Source::Workloads);
    let writes = store.next(NOW).unwrap();
    assert_eq!(writes.status.unwrap()["trainyard"]["held"], "Suspended");
    let off = Store::new(Reading::default());
    assert_eq!(off.workloads_unlisted, None);
    let mut off = Played::of(Reading::default(), queued_job(10, 1, &Value::Null));
    let first = off.store.next(NOW).unwrap();
    assert_eq!(
        first.status.unwrap()["trainyard"].get("held"),
        None,
        "without the flag the label says nothing"
    );
}

#[test]
fn a_workload_that_is_refused_is_told_and_tried_again() {
    let mut played = Played::new();
    let mut now = NOW;
    let (mut last, mut passes) = (Value::Null, 0);
    for _ in 0..12 {
        while let Some(writes) = played.store.next(now) {
            let refused = || ApiError::unsent("podSets: too many".into());
            let workload = writes.workload.as_ref().map(|_| WorkloadReport {
                refused: Some(refused()),
                ..WorkloadReport::default()
            });
            if let Some(status) = &writes.status {
                last = status.clone();
            }
            let report = played.report(&writes, workload, Vec::new());
            played.store.applied(report, now);
            passes += 1;
            assert!(passes < 60, "{writes:?}");
        }
        now = now + 5;
    }
    assert_eq!(last["waiting"][0]["reason"], "WorkloadRefused", "{last}");
    assert_eq!(last["waiting"][0]["message"], "podSets: too many");
    played.now = now + 60;
    assert_eq!(played.play(), ["queue"]);
    assert_eq!(played.status.get("waiting"), None);
}
