use serde_json::{Value, json};
use trainyard_core::Time;
use trainyard_manifest::gang::Schedulers;

use super::*;
use crate::job::{JobWire, Reading};
use crate::kinds::tfjob::KIND as TFJOB;

const GROUPS: ApiId = ("podgroups", "scheduling.volcano.sh");

struct Stage {
    store: Store,
    api: &'static QueueApi,
}

impl Stage {
    /// A job whose group waits in the queue `night`, and queues that have not been listed.
    fn new(scheduler: &str) -> Self {
        let gang: Schedulers = scheduler.parse().unwrap();
        let (api, groups) = (gang.queues()[0], gang.apis()[0]);
        let mut store = Store::new(Reading {
            gang,
            ..Reading::default()
        });
        store.groups_begin(groups);
        store.groups_end(groups);
        let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "trainer" }] } });
        let job = json!({
            "apiVersion": TFJOB.api.api_version, "kind": TFJOB.api.kind,
            "metadata": { "name": "mnist", "namespace": "research", "uid": "u1", "resourceVersion": "1" },
            "spec": {
                "runPolicy": { "schedulingPolicy": { "queue": "night" } },
                "tfReplicaSpecs": { "Worker": { "replicas": 2, "template": template } },
            },
        });
        let job: JobWire = serde_json::from_value(job).unwrap();
        store.job_seen(&TFJOB, job);
        store.group_seen(GroupSeen {
            api: groups,
            name: "mnist".into(),
            namespace: "research".into(),
            uid: "g1".into(),
            version: 2,
            created: Time(1),
            deleting: false,
            owner: Some((TFJOB.api, "mnist".into(), "u1".into())),
            is_ours: true,
            spec: json!({ "minMember": 2, "queue": "night", "minResources": { "cpu": "4" } }),
            state: GroupState::Waiting(None),
        });
        let mut stage = Self { store, api };
        stage.calm();
        stage
    }

    fn key() -> JobKey {
        JobKey::of(&TFJOB, &"research".into(), &"mnist".into())
    }

    /// Nothing is queued any more.
    fn calm(&mut self) {
        self.store.stop_leading();
        assert_eq!(self.store.queued(), 0);
    }

    fn list(&mut self, queues: &[(&str, Value)]) {
        self.store.queues_begin(self.api);
        for (name, object) in queues {
            self.store.queue_seen(self.api, name, (self.api.state)(object));
        }
        self.store.queues_end(self.api);
    }

    fn sees(&mut self, name: &str, object: &Value) {
        self.store.queue_seen(self.api, name, (self.api.state)(object));
    }

    fn why(&self) -> String {
        let why = self.store.why_in_queue(&Self::key());
        why.map(|waits| waits.to_string()).unwrap_or_default()
    }
}

fn open() -> Value {
    json!({ "status": { "state": "Open" } })
}

#[test]
fn a_job_is_reconciled_when_its_queue_changes_and_not_when_others_do() {
    let mut stage = Stage::new("volcano");
    assert_eq!(
        stage.why(),
        "",
        "no queue is known to be missing before all are listed"
    );
    stage.list(&[("default", open())]);
    assert_eq!(stage.store.queued(), 1);
    assert!(
        stage.why().starts_with("there is no queue `night`"),
        "{}",
        stage.why()
    );
    stage.calm();

    stage.sees("default", &json!({ "status": { "state": "Closed" } }));
    stage.sees("night", &open());
    assert_eq!((stage.store.queued(), stage.why()), (1, String::new()));
    stage.calm();
    stage.sees("night", &open());
    assert_eq!(stage.store.queued(), 0, "nothing about it has changed");
    stage.sees("night", &json!({ "status": { "state": "Closed" } }));
    assert_eq!(stage.store.queued(), 1);
    assert!(
        stage.why().starts_with("its queue `night` is Closed"),
        "{}",
        stage.why()
    );
    stage.calm();

    // A watch that begins again lists them all.
    stage.list(&[
        ("night", json!({ "status": { "state": "Closed" } })),
        ("default", json!({ "status": { "state": "Closed" } })),
    ]);
    assert_eq!(stage.store.queued(), 0);
    stage.list(&[]);
    assert!(
        stage.why().starts_with("there is no queue `night`"),
        "{}",
        stage.why()
    );
    stage.sees("night", &open());
    stage.calm();
    stage.store.queue_gone(stage.api, "night");
    assert_eq!(stage.store.queued(), 1);
}

#[test]
fn a_group_that_was_let_in_does_not_wait_for_its_queue() {
    let mut stage = Stage::new("volcano");
    stage.list(&[]);
    assert_ne!(stage.why(), "");
    let entry = stage.store.entries.get_mut(&Stage::key()).unwrap();
    let mut group = entry.groups.waiting().next().unwrap().clone();
    (group.state, group.version) = (GroupState::Open, 3);
    assert_eq!((group.api.plural, group.api.group), GROUPS);
    stage.store.group_seen(group);
    assert_eq!(stage.why(), "");
}

#[test]
fn kube_batch_finds_a_queue_in_either_of_its_apis() {
    let mut stage = Stage::new("kube-batch");
    let gang: Schedulers = "kube-batch".parse().unwrap();
    let [first, second] = gang.queues()[..] else {
        panic!("kube-batch has two APIs of queues");
    };
    stage.list(&[]);
    assert_eq!(stage.why(), "", "the other API has not been listed");
    stage.store.queues_begin(second);
    stage.store.queues_end(second);
    assert!(
        stage.why().starts_with("there is no queue `night`"),
        "{}",
        stage.why()
    );
    for api in [second, first] {
        stage.store.queue_seen(api, "night", QueueState::default());
        assert_eq!(stage.why(), "", "{}", api.group);
        stage.store.queue_gone(api, "night");
    }
}
