//! Volcano jobs: the run of the tutorial's manifest as it was recorded with Volcano's own controller, but for what
//! `docs/differences.md` names; its objects, its orders and its restarts.

use serde_json::{Value, json};
use trainyard_cluster_tests::{Api, Crds, Namespace, Operator, shared};
use trainyard_document::{Source, parse};

use super::played::VOLCANO;
use super::scenarios::each_ends_as_in_the_simulator;
use super::{NODE, install};

pub const JOBS: &str = "apis/batch.volcano.sh/v1alpha1";
/// The manifest of the tutorial, as it was published.
const TUTORIAL: &str = include_str!("../../../../tests/fixtures/ok/volcano/tutorial-hosts-from-files.yaml");
/// Its name.
const MNIST: &str = "tensorflow-dist-mnist";

/// A namespace and an operator of Volcano jobs for it.
pub struct Harness {
    pub operator: Operator,
    pub namespace: Namespace<'static>,
}

impl Harness {
    pub fn with(name: &str, more: &[&str]) -> Self {
        install();
        let namespace = shared().namespace(name);
        let options = [&["--kinds", "volcano"], more].concat();
        Self {
            operator: Operator::with(&namespace, &options),
            namespace,
        }
    }

    pub fn new(name: &str) -> Self {
        Self::with(name, &[])
    }

    #[expect(clippy::unused_self, reason = "all harnesses share one API server")]
    pub fn api(&self) -> &'static Api {
        shared().api()
    }

    pub fn path(&self, job: &str) -> String {
        self.namespace.path(JOBS, &format!("jobs/{job}"))
    }

    pub fn create(&self, job: &Value) -> Value {
        let jobs = self.namespace.path(JOBS, "jobs");
        self.api().create(&jobs, job).unwrap()
    }

    /// Waits until the job is in that phase.
    #[track_caller]
    pub fn phase(&self, job: &str, wanted: &str) -> Value {
        self.api()
            .wait(&self.path(job), &format!("phase {wanted}"), |object| {
                let status = &object["status"];
                (status["state"]["phase"] == wanted).then(|| status.clone())
            })
    }

    /// Waits for a pod of that epoch and attempt.
    #[track_caller]
    pub fn pod(&self, name: &str, stamp: &str) -> Value {
        let path = self.namespace.pod(name);
        self.api().wait(&path, &format!("{name}, life {stamp}"), |pod| {
            (pod["metadata"]["annotations"]["trainyard.dev/stamp"] == stamp).then(|| pod.clone())
        })
    }

    #[track_caller]
    pub fn run(&self, pods: &[&str], stamp: &str) {
        for name in pods {
            self.pod(name, stamp);
            shared().player().bind(&self.namespace, name, NODE);
            shared().player().run(&self.namespace, name);
        }
    }

    #[track_caller]
    pub fn exit(&self, pod: &str, code: i32) {
        shared().player().exit(&self.namespace, pod, code);
    }

    /// Ends a pod that is being deleted.
    #[track_caller]
    pub fn vanish(&self, pod: &str) {
        self.api().wait(&self.namespace.pod(pod), "being deleted", |pod| {
            pod["metadata"]["deletionTimestamp"].is_string().then_some(())
        });
        shared().player().vanish(&self.namespace, pod, 143);
    }

    /// The path of an object beside the pods: `("ConfigMap", "j-svc")`.
    pub fn object(&self, kind: &str, name: &str) -> String {
        let (version, plural) = match kind {
            "ConfigMap" => ("api/v1", "configmaps"),
            "Service" => ("api/v1", "services"),
            "PersistentVolumeClaim" => ("api/v1", "persistentvolumeclaims"),
            "NetworkPolicy" => ("apis/networking.k8s.io/v1", "networkpolicies"),
            "PodGroup" => ("apis/scheduling.volcano.sh/v1beta1", "podgroups"),
            "Command" => ("apis/bus.volcano.sh/v1alpha1", "commands"),
            other => panic!("no {other} here"),
        };
        self.namespace.path(version, &format!("{plural}/{name}"))
    }

    /// Waits for an object beside the pods.
    #[track_caller]
    pub fn made(&self, kind: &str, name: &str) -> Value {
        let path = self.object(kind, name);
        self.api().wait(&path, &format!("{kind} {name}"), |object| {
            object["metadata"]["uid"].is_string().then(|| object.clone())
        })
    }

    /// Orders something as Volcano's command line does; gives the path of the Command.
    pub fn order(&self, job: &str, action: &str) -> String {
        let uid = self.api().get(&self.path(job)).unwrap()["metadata"]["uid"].take();
        let name = format!("{job}-{}", action.to_lowercase());
        let command = json!({
            "apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "metadata": { "name": name },
            "action": action,
            "target": { "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": job, "uid": uid },
        });
        let commands = self.namespace.path("apis/bus.volcano.sh/v1alpha1", "commands");
        self.api().create(&commands, &command).unwrap();
        format!("{commands}/{name}")
    }
}

/// The phases that a job has been in.
pub fn history(status: &Value) -> Vec<&str> {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.filter_map(|one| one["status"].as_str()).collect()
}

pub fn tutorial() -> Value {
    let source = Source::from_bytes("tutorial", TUTORIAL.as_bytes()).unwrap();
    parse(&source).0[0].root.to_json()
}

/// A job with these tasks, `("worker", 2)`, and these fields of its spec.
pub fn job(name: &str, spec: &Value, tasks: &[(&str, u32)]) -> Value {
    let template = json!({ "spec": {
        "restartPolicy": "Never", "containers": [{ "name": "tensorflow", "image": "trainer" }],
    } });
    let mut spec = spec.clone();
    let task =
        |(name, replicas): &(&str, u32)| json!({ "name": name, "replicas": replicas, "template": template });
    spec["tasks"] = tasks.iter().map(task).collect();
    json!({
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": { "name": name }, "spec": spec,
    })
}

const ALL: [&str; 3] = [
    "tensorflow-dist-mnist-ps-0",
    "tensorflow-dist-mnist-worker-0",
    "tensorflow-dist-mnist-worker-1",
];

/// The objects that the plugin `svc` makes, and what its pods are told by them.
fn check_objects(harness: &Harness, pod: &Value) {
    let hosts = harness.made("ConfigMap", &format!("{MNIST}-svc"));
    let (ps, workers) = (
        "tensorflow-dist-mnist-ps-0.tensorflow-dist-mnist",
        [
            "tensorflow-dist-mnist-worker-0.tensorflow-dist-mnist",
            "tensorflow-dist-mnist-worker-1.tensorflow-dist-mnist",
        ],
    );
    let expected = json!({
        "ps.host": ps, "VC_PS_HOSTS": ps, "VC_PS_NUM": "1",
        "worker.host": workers.join("\n"), "VC_WORKER_HOSTS": workers.join(","), "VC_WORKER_NUM": "2",
    });
    assert_eq!(hosts["data"], expected);
    let own = json!({ "matchLabels": {
        "volcano.sh/job-name": MNIST, "volcano.sh/job-namespace": harness.namespace.name(),
    } });
    let policy = harness.made("NetworkPolicy", MNIST);
    assert_eq!(
        policy["spec"],
        json!({ "podSelector": own, "ingress": [{ "from": [{ "podSelector": own }] }], "policyTypes": ["Ingress"] })
    );
    let service = harness.made("Service", MNIST);
    assert_eq!(service["spec"]["clusterIP"], "None");
    for object in [&hosts, &policy, &service] {
        let owner = &object["metadata"]["ownerReferences"][0];
        assert_eq!(
            (&owner["apiVersion"], &owner["kind"], &owner["controller"]),
            (&json!("batch.volcano.sh/v1alpha1"), &json!("Job"), &json!(true))
        );
    }
    let container = &pod["spec"]["containers"][0];
    let variables = container["env"].as_array().unwrap().iter();
    let names: Vec<&str> = variables.map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "VK_TASK_INDEX",
            "VC_TASK_INDEX",
            "VC_PS_HOSTS",
            "VC_PS_NUM",
            "VC_WORKER_HOSTS",
            "VC_WORKER_NUM"
        ]
    );
    let mounts = container["volumeMounts"].as_array().unwrap();
    let hosts = mounts
        .iter()
        .find(|mount| mount["mountPath"] == "/etc/volcano")
        .unwrap();
    assert_eq!(hosts["name"], format!("{MNIST}-svc").as_str());
}

/// Labels and annotations of the pod, as Volcano writes them.
fn check_marks(harness: &Harness, pod: &Value, version: &str, retries: &str) {
    let labels = &pod["metadata"]["labels"];
    let annotations = &pod["metadata"]["annotations"];
    for (key, value) in [
        ("volcano.sh/job-name", MNIST),
        ("volcano.sh/queue-name", "default"),
        ("volcano.sh/task-spec", "worker"),
        ("volcano.sh/task-index", "1"),
    ] {
        assert_eq!(
            (&labels[key], &annotations[key]),
            (&json!(value), &json!(value)),
            "{key}"
        );
    }
    assert_eq!(labels["volcano.sh/job-namespace"], harness.namespace.name());
    assert_eq!(
        annotations["volcano.sh/template-uid"],
        "tensorflow-dist-mnist-worker"
    );
    assert_eq!(annotations["volcano.sh/job-version"], version);
    assert_eq!(annotations["volcano.sh/job-retry-count"], retries);
    assert_eq!(pod["spec"]["hostname"], "tensorflow-dist-mnist-worker-1");
    assert_eq!(pod["spec"]["subdomain"], MNIST);
    assert_eq!(pod["spec"]["restartPolicy"], "Never");
}

#[test]
fn every_row_of_the_scenarios_ends_as_in_the_simulator() {
    each_ends_as_in_the_simulator(&VOLCANO, 12);
}

#[test]
fn the_tutorial_runs_as_it_was_recorded() {
    shared().install(Crds::Volcano);
    let harness = Harness::with("volcano-golden", &["--gang-scheduler-name", "volcano"]);
    harness.create(&tutorial());
    let group = harness.made("PodGroup", MNIST);
    let least = json!({ "ps": 1, "worker": 2 });
    assert_eq!(
        (&group["spec"]["minMember"], &group["spec"]["minTaskMember"]),
        (&json!(3), &least)
    );
    assert_eq!(
        group["spec"]["minResources"],
        json!({ "count/pods": "3", "pods": "3" })
    );
    assert_eq!(history(&harness.phase(MNIST, "Pending")), ["Pending"]);
    assert!(
        harness.namespace.pods().is_empty(),
        "the group has not been let in"
    );
    let inqueue = json!({ "status": { "phase": "Inqueue" } });
    harness
        .api()
        .patch(&harness.object("PodGroup", MNIST), &inqueue)
        .unwrap();

    let pod = harness.pod(ALL[2], "0.0");
    assert_eq!(pod["spec"]["schedulerName"], "volcano");
    assert_eq!(
        pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"],
        MNIST
    );
    check_marks(&harness, &pod, "0", "0");
    check_objects(&harness, &pod);
    harness.run(&ALL, "0.0");
    let running = harness.phase(MNIST, "Running");
    assert_eq!(running["minAvailable"], 3);

    harness.exit(ALL[1], 0);
    harness.api().wait(&harness.path(MNIST), "a success", |job| {
        (job["status"]["succeeded"] == 1 && job["status"]["state"]["phase"] == "Running").then_some(())
    });
    harness.exit(ALL[2], 0);
    let completing = harness.phase(MNIST, "Completing");
    assert_eq!(completing["terminating"], 1);
    harness.vanish(ALL[0]);
    let completed = harness.phase(MNIST, "Completed");
    assert_eq!(
        history(&completed),
        ["Pending", "Running", "Completing", "Completed"]
    );
    assert_eq!(
        completed["taskStatusCount"],
        json!({ "worker": { "phase": { "Succeeded": 2 } } })
    );
    assert_eq!(
        (&completed["version"], &completed["succeeded"]),
        (&json!(0), &json!(2))
    );
    for (kind, name) in [
        ("ConfigMap", &*format!("{MNIST}-svc")),
        ("NetworkPolicy", MNIST),
        ("Service", MNIST),
        ("PodGroup", MNIST),
    ] {
        harness.api().wait_until_gone(&harness.object(kind, name));
    }
    harness
        .api()
        .wait(&harness.path(MNIST), "nothing to delete", |job| {
            job["status"]["objects"].is_null().then_some(())
        });
    let left = harness.namespace.pods();
    let left: Vec<&str> = left
        .iter()
        .filter_map(|pod| pod["metadata"]["name"].as_str())
        .collect();
    assert_eq!(left, ALL[1..], "the ended ones are kept");
}

#[test]
fn a_deleted_worker_restarts_the_whole_job_without_a_gang_scheduler() {
    let harness = Harness::new("volcano-evicted");
    harness.create(&tutorial());
    harness.run(&ALL, "0.0");
    let running = harness.phase(MNIST, "Running");
    assert_eq!(running["minAvailable"], 3);
    let pod = harness.pod(ALL[2], "0.0");
    assert_eq!(pod["spec"]["schedulerName"], "default-scheduler");
    let events = harness.namespace.path("apis/events.k8s.io/v1", "events");
    let told = harness.api().wait(&events, "that there is no gang", |all| {
        let mut events = all["items"].as_array()?.iter();
        events.find(|event| event["reason"] == "NoGangScheduler").cloned()
    });
    assert_eq!(told["regarding"]["kind"], "Job");

    harness.api().delete(&harness.namespace.pod(ALL[1])).unwrap();
    harness.vanish(ALL[1]);
    let restarting = harness.phase(MNIST, "Restarting");
    assert_eq!(
        (&restarting["retryCount"], &restarting["version"]),
        (&json!(1), &json!(1))
    );
    harness.vanish(ALL[0]);
    harness.vanish(ALL[2]);
    let again = harness.pod(ALL[2], "1.0");
    check_marks(&harness, &again, "1", "1");
    harness.run(&ALL, "1.0");
    let running = harness.phase(MNIST, "Running");
    assert_eq!(history(&running), ["Restarting", "Pending", "Running"]);
}

/// The names of the workers that pods read from `/etc/volcano/worker.host`.
fn workers_told(harness: &Harness, count: usize) -> Value {
    let path = harness.object("ConfigMap", "told-svc");
    harness.api().wait(&path, &format!("{count} names"), |map| {
        let hosts = map["data"]["worker.host"].as_str()?;
        (hosts.lines().count() == count).then(|| map.clone())
    })
}

#[test]
fn objects_follow_the_job_and_commands_are_obeyed_once() {
    let mut harness = Harness::new("volcano-objects");
    let volume = json!({
        "mountPath": "/data",
        "volumeClaim": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
    });
    let spec = json!({ "minAvailable": 1, "plugins": { "svc": [], "env": [] }, "volumes": [volume] });
    harness.create(&job("told", &spec, &[("worker", 2)]));
    harness.run(&["told-worker-0", "told-worker-1"], "0.0");
    let claim = harness.made("PersistentVolumeClaim", "told-pvc-0");
    let uid = workers_told(&harness, 2)["metadata"]["uid"].clone();
    let path = harness.path("told");
    let scale = |count: u32| {
        let mut tasks = shared().api().get(&path).unwrap()["spec"]["tasks"].take();
        tasks[0]["replicas"] = count.into();
        let change = json!({ "spec": { "tasks": tasks } });
        shared().api().patch(&path, &change).unwrap();
    };
    scale(3);
    harness.run(&["told-worker-2"], "0.0");
    assert_eq!(
        workers_told(&harness, 3)["metadata"]["uid"],
        uid,
        "it is rewritten, not replaced"
    );
    // An operator that starts later finds what is there, and goes on.
    harness.operator.kill();
    scale(2);
    harness.operator.start();
    workers_told(&harness, 2);
    harness.vanish("told-worker-2");

    let command = harness.order("told", "AbortJob");
    for pod in ["told-worker-0", "told-worker-1"] {
        harness.vanish(pod);
    }
    harness.phase("told", "Aborted");
    harness.api().wait_until_gone(&command);
    for (kind, name) in [
        ("ConfigMap", "told-svc"),
        ("NetworkPolicy", "told"),
        ("Service", "told"),
    ] {
        harness.api().wait_until_gone(&harness.object(kind, name));
    }
    let kept = harness.made("PersistentVolumeClaim", "told-pvc-0");
    assert_eq!(kept["metadata"]["uid"], claim["metadata"]["uid"], "data is kept");

    let command = harness.order("told", "ResumeJob");
    harness.run(&["told-worker-0", "told-worker-1"], "1.0");
    let running = harness.phase("told", "Running");
    assert_eq!(
        (&running["retryCount"], &running["version"]),
        (&json!(1), &json!(1))
    );
    workers_told(&harness, 2);
    harness.api().wait_until_gone(&command);

    // One that says nothing to a job is answered too, and those for other objects are left alone.
    let nothing = harness.order("told", "SyncJob");
    harness.api().wait_until_gone(&nothing);
    let command = harness.order("told", "CompleteJob");
    harness.phase("told", "Completing");
    for pod in ["told-worker-0", "told-worker-1"] {
        harness.vanish(pod);
    }
    let completed = harness.phase("told", "Completed");
    assert_eq!(completed["state"]["reason"], "Command");
    harness.api().wait_until_gone(&command);
    harness
        .api()
        .wait_until_gone(&harness.object("ConfigMap", "told-svc"));
}
