//! Jobs in queues of Kueue's. Kueue is played: the tests write the conditions that Kueue 0.19 was seen to write.

use std::sync::Once;

use serde_json::{Value, json};
use trainyard_cluster_tests::{Cluster, Operator, Parts, shared};
use trainyard_manifest::install::access::Asked;
use trainyard_manifest::kinds::{JobApi, t9k, volcano};
use trainyard_manifest::kueue;

use super::{Harness, job};

pub const QUEUES: &str = "apis/kueue.x-k8s.io/v1beta2";
const WORKLOADS: (&str, &str, &str) = ("Workload", "workloads", "Namespaced");
/// When the played Kueue changes its mind.
const TIMES: [&str; 2] = ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"];

/// Where definitions are.
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// The definition of one of Kueue's kinds in these versions, of which the last is stored. It keeps every field.
fn definition((kind, plural, scope): (&str, &str, &str), versions: &[&str]) -> Value {
    let schema =
        json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    let version = |name: &&str| {
        let storage = versions.last() == Some(name);
        json!({ "name": name, "served": true, "storage": storage, "schema": schema, "subresources": { "status": {} } })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.kueue.x-k8s.io"),
            "annotations": { "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/kueue" },
        },
        "spec": {
            "group": "kueue.x-k8s.io", "scope": scope,
            "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase() },
            "versions": versions.iter().map(version).collect::<Vec<_>>(),
        },
    })
}

/// Definitions of what the operator reads and writes.
fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for names in [
            WORKLOADS,
            ("ResourceFlavor", "resourceflavors", "Cluster"),
            ("WorkloadPriorityClass", "workloadpriorityclasses", "Cluster"),
        ] {
            let definition = definition(names, &["v1beta2"]);
            shared().api().create(DEFINITIONS, &definition).unwrap();
            let served = |crd: &Value| {
                let conditions = crd["status"]["conditions"].as_array()?;
                let is = |one: &Value| one["type"] == "Established" && one["status"] == "True";
                conditions.iter().any(is).then_some(())
            };
            let path = format!("{DEFINITIONS}/{}.kueue.x-k8s.io", names.1);
            shared().api().wait(&path, "a definition that is served", served);
        }
        let flavor = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": { "name": "gold" },
            "spec": {
                "nodeLabels": { "pool": "gold" },
                "tolerations": [{ "key": "dedicated", "operator": "Exists" }],
            },
        });
        create("resourceflavors", &flavor);
        let class = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "metadata": { "name": "prod" },
            "value": 1000,
        });
        create("workloadpriorityclasses", &class);
    });
}

fn create(plural: &str, object: &Value) {
    shared()
        .api()
        .create(&format!("/{QUEUES}/{plural}"), object)
        .unwrap();
}

/// A job in a queue.
pub fn in_queue(mut job: Value, queue: &str) -> Value {
    job["metadata"]["labels"] = json!({ "kueue.x-k8s.io/queue-name": queue });
    job
}

fn harness(name: &str) -> Harness {
    install();
    Harness::with(name, &["--kueue"])
}

impl Harness {
    /// Waits until a job has a Workload that is so.
    #[track_caller]
    pub fn workload<T>(&self, job: &str, what: &str, look: impl Fn(&Value) -> Option<T>) -> T {
        let all = self.namespace.path(QUEUES, "workloads");
        self.api().wait(&all, what, |list| {
            let items = list["items"].as_array()?;
            let of = |one: &&Value| one["metadata"]["ownerReferences"][0]["name"] == job;
            items.iter().filter(of).find_map(&look)
        })
    }

    /// Plays Kueue: changes the status of a job's Workload.
    #[track_caller]
    fn decides(&self, job: &str, change: impl Fn(&mut Value)) {
        // The operator writes the same status.
        for _ in 0..20 {
            let mut workload = self.workload(job, "a Workload", |one| Some(one.clone()));
            change(&mut workload["status"]);
            let name = workload["metadata"]["name"].as_str().unwrap().to_owned();
            let path = self.namespace.path(QUEUES, &format!("workloads/{name}/status"));
            match self.api().replace(&path, &workload) {
                Ok(_) => return,
                Err(refused) if refused.code == 409 => {}
                Err(refused) => panic!("{refused}"),
            }
        }
        panic!("the operator does not stop to write the Workload of {job}");
    }

    #[track_caller]
    fn admits(&self, job: &str, at: &str) {
        self.admits_to("gold", job, at);
    }

    #[track_caller]
    fn admits_to(&self, flavor: &str, job: &str, at: &str) {
        let sets = self.workload(job, "a Workload", |one| {
            one["spec"]["podSets"].as_array().cloned()
        });
        let assignments: Vec<Value> = sets
            .iter()
            .map(|set| json!({ "name": set["name"], "count": set["count"], "flavors": { "cpu": flavor } }))
            .collect();
        self.decides(job, |status| {
            *status = json!({
                "conditions": [condition("QuotaReserved", true, at), condition("Admitted", true, at)],
                "admission": { "clusterQueue": "cq", "podSetAssignments": assignments },
            });
        });
    }

    #[track_caller]
    fn evicts(&self, job: &str) {
        self.decides(job, |status| {
            let mut evicted = condition("Evicted", true, TIMES[0]);
            evicted["reason"] = "Preempted".into();
            status["conditions"].as_array_mut().unwrap().push(evicted);
        });
    }
}

fn condition(kind: &str, value: bool, at: &str) -> Value {
    let status = if value { "True" } else { "False" };
    json!({ "type": kind, "status": status, "reason": kind, "message": format!("{kind} by Kueue"), "lastTransitionTime": at })
}

/// Whether a Workload has this condition.
pub fn says(workload: &Value, kind: &str, status: &str) -> Option<()> {
    let conditions = workload["status"]["conditions"].as_array()?;
    let is = |one: &Value| one["type"] == kind && one["status"] == status;
    conditions.iter().any(is).then_some(())
}

#[test]
fn a_job_runs_where_kueue_admits_it_stops_when_it_is_evicted_and_frees_its_quota_at_its_end() {
    let mut harness = harness("kueue");
    let mut queued = in_queue(
        job("mnist", &json!({}), &[("PS", 1, "Never"), ("Worker", 2, "Never")]),
        "users",
    );
    queued["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "prod".into();
    harness.create(&queued);
    harness.conditions("mnist", &["Created", "Suspended"]);
    let workload = harness.workload("mnist", "a Workload", |one| Some(one.clone()));
    let spec = &workload["spec"];
    assert_eq!(spec["queueName"], "users");
    assert_eq!(spec["priority"], 1000);
    assert_eq!(spec["priorityClassRef"]["kind"], "WorkloadPriorityClass");
    harness.decides("mnist", |status| {
        *status = json!({ "conditions": [condition("QuotaReserved", false, TIMES[0])] });
    });
    let words = harness
        .api()
        .wait(&harness.path("mnist"), "what it waits for", |job| {
            let wait = &job["status"]["waiting"][0];
            (wait["reason"] == "Queued").then(|| wait["message"].as_str().unwrap().to_owned())
        });
    assert!(
        words.ends_with("waits in queue users: QuotaReserved by Kueue"),
        "{words}"
    );
    assert!(harness.names().is_empty(), "nothing is created before");

    // The operator dies between the admission and the start.
    harness.kill();
    harness.admits("mnist", TIMES[0]);
    harness.start();
    let pod = harness.pod("mnist-worker-0", "0.0");
    assert_eq!(pod["spec"]["nodeSelector"], json!({ "pool": "gold" }));
    let tolerations = pod["spec"]["tolerations"].as_array().unwrap();
    assert!(
        tolerations.iter().any(|one| one["key"] == "dedicated"),
        "{tolerations:?}"
    );
    assert_eq!(pod["metadata"]["labels"]["kueue.x-k8s.io/podset"], "worker");
    assert!(
        pod["metadata"]["labels"]
            .get("kueue.x-k8s.io/queue-name")
            .is_none()
    );
    harness.run(&["mnist-ps-0", "mnist-worker-0", "mnist-worker-1"]);
    harness.workload("mnist", "pods that are ready", |one| {
        says(one, "PodsReady", "True")
    });

    harness.evicts("mnist");
    for pod in ["mnist-ps-0", "mnist-worker-0", "mnist-worker-1"] {
        let held = harness.workload("mnist", "its quota", |one| {
            says(one, "QuotaReserved", "True").map(|()| one.clone())
        });
        assert!(
            held["status"]["admission"].is_object(),
            "quota is held while something runs"
        );
        harness.vanish(pod, 143);
    }
    let released = |one: &Value| says(one, "QuotaReserved", "False").map(|()| one["status"].clone());
    let status = harness.workload("mnist", "quota that is given back", released);
    assert!(status.get("admission").is_none(), "{status}");
    harness.conditions("mnist", &["Created", "!Running", "Suspended"]);

    harness.admits("mnist", TIMES[1]);
    for pod in ["mnist-ps-0", "mnist-worker-0", "mnist-worker-1"] {
        harness.pod(pod, "1.0");
        harness.run_on_a_node(pod);
    }
    harness.exit("mnist-worker-1", 0);
    let given = |one: &Value| {
        let free = &one["status"]["reclaimablePods"];
        (*free == json!([{ "name": "worker", "count": 1 }])).then_some(())
    };
    harness.workload("mnist", "what is given back", given);
    harness.exit("mnist-worker-0", 0);
    harness.workload("mnist", "its end", |one| says(one, "Finished", "True"));
}

#[test]
fn where_pods_run_stays_as_it_was_admitted_though_the_flavor_is_edited_and_the_operator_is_killed() {
    let mut harness = harness("kueue-flavor");
    let flavor = json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": { "name": "silver" },
        "spec": { "nodeLabels": { "pool": "silver" } },
    });
    create("resourceflavors", &flavor);
    harness.create(&in_queue(
        job("mnist", &json!({}), &[("Worker", 2, "ExitCode")]),
        "users",
    ));
    harness.admits_to("silver", "mnist", TIMES[0]);
    harness.run(&["mnist-worker-0", "mnist-worker-1"]);
    harness.kill();
    let edit = json!({ "spec": { "nodeLabels": { "pool": "lead" } } });
    let path = format!("/{QUEUES}/resourceflavors/silver");
    harness.api().patch(&path, &edit).unwrap();
    harness.exit("mnist-worker-1", 137);
    harness.start();
    let again = harness.pod("mnist-worker-1", "0.1");
    assert_eq!(again["spec"]["nodeSelector"], json!({ "pool": "silver" }));

    // The next admission reads the flavor anew.
    harness.evicts("mnist");
    // It has no node, so it is gone at once.
    harness
        .api()
        .wait_until_gone(&harness.namespace.pod("mnist-worker-1"));
    harness.vanish("mnist-worker-0", 143);
    harness.workload("mnist", "quota that is given back", |one| {
        says(one, "QuotaReserved", "False")
    });
    harness.admits_to("silver", "mnist", TIMES[1]);
    let next = harness.pod("mnist-worker-0", "1.0");
    assert_eq!(next["spec"]["nodeSelector"], json!({ "pool": "lead" }));
}

/// On a cluster of its own: the definitions of the others serve the newer version.
#[test]
fn a_kueue_that_serves_only_the_older_version_is_told_and_a_newer_one_is_used() {
    let cluster = Cluster::start(Parts::API);
    let api = cluster.api();
    api.create(DEFINITIONS, &definition(WORKLOADS, &["v1beta1"]))
        .unwrap();
    let namespace = cluster.namespace("kueue-old");
    let _operator = Operator::with(&namespace, &["--kueue"]);
    let jobs = namespace.path("apis/kubeflow.org/v1", "tfjobs");
    api.create(
        &jobs,
        &in_queue(job("mnist", &json!({}), &[("Worker", 1, "Never")]), "users"),
    )
    .unwrap();
    let words = api.wait(&format!("{jobs}/mnist"), "why it waits", |job| {
        let wait = &job["status"]["waiting"][0];
        (wait["reason"] == "KueueNotInstalled").then(|| wait["message"].as_str().unwrap().to_owned())
    });
    assert!(
        words.contains("Kueue 0.15 or later") && words.contains("v1beta1"),
        "{words}"
    );
    assert!(namespace.pods().is_empty());
    let newer = definition(WORKLOADS, &["v1beta1", "v1beta2"]);
    let path = format!("{DEFINITIONS}/workloads.kueue.x-k8s.io");
    api.patch(&path, &json!({ "spec": newer["spec"] })).unwrap();
    api.wait(&format!("{jobs}/mnist"), "that it is suspended", |job| {
        let conditions = job["status"]["conditions"].as_array()?;
        let is = |one: &Value| one["type"] == "Suspended" && one["status"] == "True";
        conditions.iter().any(is).then_some(())
    });
}

/// By the audit log: every right that `--kueue` takes is used, and nothing else is asked for.
#[test]
fn the_rights_to_workloads_are_used_and_suffice() {
    let harness = harness("kueue-rights");
    let mut first = in_queue(job("first", &json!({}), &[("Worker", 1, "Never")]), "users");
    first["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "prod".into();
    harness.create(&first);
    harness.admits("first", TIMES[0]);
    harness.run(&["first-worker-0"]);
    harness.workload("first", "a pod that is ready", |one| {
        says(one, "PodsReady", "True")
    });
    harness.patch("first", &json!({ "spec": { "runPolicy": { "suspend": true } } }));
    harness.vanish("first-worker-0", 143);
    let gone = |list: &Value| list["items"].as_array()?.is_empty().then_some(());
    let all = harness.namespace.path(QUEUES, "workloads");
    harness.api().wait(&all, "no Workload", gone);
    let mut second = in_queue(job("second", &json!({}), &[("Worker", 1, "Never")]), "users");
    second["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["priorityClassName"] =
        "system-node-critical".into();
    harness.create(&second);
    harness.workload("second", "its priority", |one| {
        (one["spec"]["priority"] == 2_000_001_000).then_some(())
    });
    for used in kueue::USES.iter().filter(|used| used.asked == Asked::Request) {
        for verb in used.verbs {
            let right = format!("{verb} {}.{}", used.resource, used.group);
            let account = harness.operator.account();
            account.wait_until_asked(&right, |asked| asked.to_string() == right);
        }
    }
}

/// A job of each other kind waits and starts in the same way.
#[test]
fn jobs_of_every_kind_wait_in_queues() {
    install();
    let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "trainer" }] } });
    let kinds: [(&'static JobApi, Value); 2] = [
        (
            &t9k::API,
            json!({ "replicaSpecs": [{ "type": "worker", "replicas": 1, "template": template }] }),
        ),
        (
            &volcano::API,
            json!({ "tasks": [{ "name": "worker", "replicas": 1, "template": template }] }),
        ),
    ];
    for (api, spec) in kinds {
        let name = format!("kueue-{}", api.word);
        let harness = Harness {
            kind: api,
            ..Harness::with(&name, &["--kinds", api.word, "--kueue"])
        };
        let job = json!({
            "apiVersion": api.api_version, "kind": api.kind, "metadata": { "name": "mnist" }, "spec": spec,
        });
        harness.create(&in_queue(job, "users"));
        harness.workload("mnist", "a Workload", |one| {
            (one["spec"]["podSets"][0]["name"] == "worker").then_some(())
        });
        assert!(harness.names().is_empty(), "{}", api.kind);
        harness.admits("mnist", TIMES[0]);
        let pod = harness.pod("mnist-worker-0", "0.0");
        assert_eq!(pod["spec"]["nodeSelector"], json!({ "pool": "gold" }));
    }
}
