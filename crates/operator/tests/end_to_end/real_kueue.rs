//! Jobs in queues of the real Kueue 0.19, which takes minutes to build: with `cargo xtask test --peers` only. Nodes and pods are played.

use serde_json::{Value, json};
use trainyard_cluster_tests::{Cluster, Crds, Kueue, Namespace, Node, Operator, Parts};

use super::job;
use super::kueue::{QUEUES, in_queue, says};

const TFJOBS: &str = "apis/kubeflow.org/v1";
const NODE: &str = "node-a";

/// A cluster with Kueue, and one queue of two processors in a namespace.
struct Real {
    cluster: Cluster,
    _kueue: Kueue,
}

impl Real {
    fn start(frameworks: &[&str]) -> Option<Self> {
        if !Kueue::is_asked_for() {
            return None;
        }
        let cluster = Cluster::start(Parts::CONTROL_PLANE);
        cluster.install(Crds::Kueue);
        cluster.install(Crds::TfJob);
        let own = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "kueue-system" } });
        cluster.api().create("/api/v1/namespaces", &own).unwrap();
        cluster.player().node(&Node::ready(NODE));
        let kueue = Kueue::start(&cluster, frameworks);
        for (plural, object) in [
            (
                "resourceflavors",
                json!({ "kind": "ResourceFlavor", "metadata": { "name": "gold" }, "spec": {
                    "nodeLabels": { "pool": "gold" }, "tolerations": [{ "key": "dedicated", "operator": "Exists" }],
                } }),
            ),
            (
                "workloadpriorityclasses",
                json!({ "kind": "WorkloadPriorityClass", "metadata": { "name": "prod" }, "value": 1000 }),
            ),
            ("clusterqueues", cluster_queue("2")),
        ] {
            let mut object = object;
            object["apiVersion"] = "kueue.x-k8s.io/v1beta2".into();
            cluster
                .api()
                .create(&format!("/{QUEUES}/{plural}"), &object)
                .unwrap();
        }
        Some(Self {
            cluster,
            _kueue: kueue,
        })
    }

    fn namespace(&self, name: &str) -> Namespace<'_> {
        let namespace = self.cluster.namespace(name);
        let queue = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": { "name": "users" },
            "spec": { "clusterQueue": "cq" },
        });
        let path = namespace.path(QUEUES, "localqueues");
        self.cluster.api().create(&path, &queue).unwrap();
        namespace
    }

    /// Creates a job of one worker per processor.
    fn create(&self, namespace: &Namespace<'_>, name: &str, workers: u32, class: Option<&str>) {
        self.create_as(namespace, (name, workers, class), &json!({}));
    }

    fn create_as(
        &self,
        namespace: &Namespace<'_>,
        (name, workers, class): (&str, u32, Option<&str>),
        policy: &Value,
    ) {
        let mut job = in_queue(job(name, policy, &[("Worker", workers, "Never")]), "users");
        if let Some(class) = class {
            job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = class.into();
        }
        let spec = &mut job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"];
        spec["containers"][0]["resources"] = json!({ "requests": { "cpu": "1" } });
        self.cluster
            .api()
            .create(&namespace.path(TFJOBS, "tfjobs"), &job)
            .unwrap();
    }

    /// Waits until a job's pods exist in this life, and runs them.
    #[track_caller]
    fn run(&self, namespace: &Namespace<'_>, pods: &[&str], stamp: &str) -> Value {
        let mut last = Value::Null;
        for name in pods {
            last = self
                .cluster
                .api()
                .wait(&namespace.pod(name), &format!("life {stamp}"), |pod| {
                    (pod["metadata"]["annotations"]["trainyard.dev/stamp"] == stamp).then(|| pod.clone())
                });
            self.cluster.player().bind(namespace, name, NODE);
            self.cluster.player().run(namespace, name);
        }
        last
    }

    #[track_caller]
    fn workload<T>(
        &self,
        namespace: &Namespace<'_>,
        job: &str,
        what: &str,
        look: impl Fn(&Value) -> Option<T>,
    ) -> T {
        self.cluster
            .api()
            .wait(&namespace.path(QUEUES, "workloads"), what, |list| {
                let items = list["items"].as_array()?;
                let of = |one: &&Value| one["metadata"]["ownerReferences"][0]["name"] == job;
                items.iter().filter(of).find_map(&look)
            })
    }

    /// Waits until a job says that it waits for quota; gives its words.
    #[track_caller]
    fn waits(&self, namespace: &Namespace<'_>, job: &str) -> String {
        let path = namespace.path(TFJOBS, &format!("tfjobs/{job}"));
        self.cluster.api().wait(&path, "why it waits", |job| {
            let wait = &job["status"]["waiting"][0];
            let words = wait["message"]
                .as_str()
                .filter(|words| words.contains("couldn't assign"))?;
            (wait["reason"] == "Queued").then(|| words.to_owned())
        })
    }
}

fn cluster_queue(processors: &str) -> Value {
    json!({ "kind": "ClusterQueue", "metadata": { "name": "cq" }, "spec": {
        "namespaceSelector": {},
        "preemption": { "withinClusterQueue": "LowerPriority" },
        "resourceGroups": [{ "coveredResources": ["cpu"], "flavors": [{
            "name": "gold", "resources": [{ "name": "cpu", "nominalQuota": processors }],
        }] }],
    } })
}

#[test]
fn two_jobs_share_a_quota_for_one_and_one_of_higher_priority_preempts() {
    let Some(real) = Real::start(&["batch/job"]) else {
        return;
    };
    let namespace = real.namespace("quota");
    let mut operator = Operator::with(&namespace, &["--kueue"]);
    real.create(&namespace, "first", 2, None);
    let pod = real.run(&namespace, &["first-worker-0", "first-worker-1"], "0.0");
    assert_eq!(pod["spec"]["nodeSelector"], json!({ "pool": "gold" }));
    real.create(&namespace, "second", 2, None);
    let words = real.waits(&namespace, "second");
    assert!(words.contains("2 more needed"), "{words}");
    assert_eq!(namespace.pods().len(), 2, "it has no pod");

    // A finished job frees its quota. The operator is killed between the admission and the start of the next.
    real.cluster.player().exit(&namespace, "first-worker-1", 0);
    real.cluster.player().exit(&namespace, "first-worker-0", 0);
    real.workload(&namespace, "first", "its end", |one| {
        says(one, "Finished", "True")
    });
    real.workload(&namespace, "second", "its admission", |one| {
        says(one, "Admitted", "True")
    });
    operator.kill();
    operator.start();
    real.run(&namespace, &["second-worker-0", "second-worker-1"], "0.0");
    real.workload(&namespace, "second", "pods that are ready", |one| {
        says(one, "PodsReady", "True")
    });

    // Preemption by priority.
    real.create(&namespace, "urgent", 2, Some("prod"));
    for pod in ["second-worker-0", "second-worker-1"] {
        real.cluster
            .api()
            .wait(&namespace.pod(pod), "being deleted", |pod| {
                pod["metadata"]["deletionTimestamp"].is_string().then_some(())
            });
        real.cluster.player().vanish(&namespace, pod, 143);
    }
    real.run(&namespace, &["urgent-worker-0", "urgent-worker-1"], "0.0");
    let words = real.waits(&namespace, "second");
    assert!(words.contains("insufficient unused quota"), "{words}");

    // What a task held that has finished is free: with it and the end of the other, the preempted job starts again.
    real.cluster.player().exit(&namespace, "urgent-worker-1", 0);
    real.workload(&namespace, "urgent", "what is given back", |one| {
        (one["status"]["reclaimablePods"] == json!([{ "name": "worker", "count": 1 }])).then_some(())
    });
    real.create(&namespace, "small", 1, Some("prod"));
    real.run(&namespace, &["small-worker-0"], "0.0");
    real.cluster.player().exit(&namespace, "small-worker-0", 0);
    real.cluster.player().exit(&namespace, "urgent-worker-0", 0);
    real.run(&namespace, &["second-worker-0", "second-worker-1"], "1.0");
}

#[test]
fn a_job_is_admitted_while_no_operator_runs_and_starts_with_the_next() {
    let Some(real) = Real::start(&["batch/job"]) else {
        return;
    };
    let namespace = real.namespace("killed");
    let mut operator = Operator::with(&namespace, &["--kueue"]);
    real.create(&namespace, "large", 4, None);
    real.workload(&namespace, "large", "a Workload that waits", |one| {
        says(one, "QuotaReserved", "False")
    });
    operator.kill();
    let queue = cluster_queue("4");
    let path = format!("/{QUEUES}/clusterqueues/cq");
    real.cluster
        .api()
        .patch(&path, &json!({ "spec": queue["spec"] }))
        .unwrap();
    real.workload(&namespace, "large", "its admission", |one| {
        says(one, "Admitted", "True")
    });
    assert!(namespace.pods().is_empty());
    operator.start();
    let pod = real.run(&namespace, &["large-worker-0", "large-worker-3"], "0.0");
    assert_eq!(pod["spec"]["nodeSelector"], json!({ "pool": "gold" }));
}

#[test]
fn kueues_own_integration_works_beside_an_operator_with_kueue() {
    let Some(real) = Real::start(&["batch/job", "kubeflow.org/tfjob"]) else {
        return;
    };
    let namespace = real.namespace("beside");
    let _operator = Operator::with(&namespace, &["--kueue"]);
    // As Kueue's webhook, which does not run here, has every such job begin.
    real.create_as(&namespace, ("first", 2, None), &json!({ "suspend": true }));
    real.create_as(&namespace, ("second", 2, None), &json!({ "suspend": true }));
    let path = |job: &str| namespace.path(TFJOBS, &format!("tfjobs/{job}"));
    let theirs = |one: &Value| {
        let annotations = &one["metadata"]["annotations"];
        annotations["trainyard.dev/workload"].is_null().then_some(())
    };
    for name in ["first", "second"] {
        real.workload(&namespace, name, "a Workload of Kueue's", theirs);
    }
    let runs = |job: &Value| (job["spec"]["runPolicy"]["suspend"] == false).then_some(());
    real.cluster
        .api()
        .wait(&path("first"), "a job that Kueue lets run", runs);
    let pod = real
        .cluster
        .api()
        .wait(&namespace.pod("first-worker-0"), "a pod", |pod| {
            pod["metadata"]["uid"].is_string().then(|| pod.clone())
        });
    assert_eq!(
        pod["spec"]["nodeSelector"],
        json!({ "pool": "gold" }),
        "as Kueue wrote it into the job"
    );
    real.cluster.api().wait(
        &namespace.path(QUEUES, "workloads"),
        "no Workload of ours",
        |list| {
            let items = list["items"].as_array()?;
            items.iter().all(|one| theirs(one).is_some()).then_some(())
        },
    );
    real.cluster
        .api()
        .wait(&path("second"), "a job that waits", |job| {
            (job["spec"]["runPolicy"]["suspend"] == true).then_some(())
        });
}
