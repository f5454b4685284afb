//! Gangs by scheduling gates, placed by the real kube-scheduler on nodes that the tests play.
//!
//! Each test has nodes of its own, by a label. A node holds one task.

use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Value, json};
use trainyard_cluster_tests::fake_kubelet::FakeKubelet;
use trainyard_cluster_tests::faulty::{Fault, FaultyProxy, Write};
use trainyard_cluster_tests::{Api, Cluster, Crds, Namespace, Node, Operator, Parts};

use super::{job, shown};

const GATES: &[&str] = &["--gang-scheduler-name", "gates"];
const GATE: &str = "trainyard.dev/gang";
/// Turns, and the waits between them, take as long as they take.
const LONG: Duration = Duration::from_mins(4);

/// The cluster of these tests: a scheduler, and no other controller.
fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| {
        let cluster = Cluster::start(Parts::SCHEDULER);
        cluster.install(Crds::TfJob);
        // Parameter servers come first, so that two jobs get one each before any gets a worker.
        let class = json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": { "name": "first" },
            "value": 1000, "preemptionPolicy": "Never",
        });
        let classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
        cluster.api().create(classes, &class).unwrap();
        cluster
    })
}

/// A namespace, its nodes, and a kubelet for its pods.
struct World {
    namespace: Namespace<'static>,
    _kubelet: FakeKubelet,
}

fn api() -> &'static Api {
    cluster().api()
}

impl World {
    fn new(name: &str, nodes: usize) -> Self {
        let namespace = cluster().namespace(name);
        let world = Self {
            _kubelet: FakeKubelet::of_scheduled(&namespace),
            namespace,
        };
        for number in 0..nodes {
            world.node(number);
        }
        world
    }

    fn node(&self, number: usize) {
        let name = self.namespace.name();
        let node = Node::ready(&format!("{name}-{number}")).label("test", name);
        cluster().player().node(&node);
    }

    fn operator(&self, options: &[&str]) -> Operator {
        Operator::with(&self.namespace, options)
    }

    fn path(&self, job: &str) -> String {
        self.namespace
            .path("apis/kubeflow.org/v1", &format!("tfjobs/{job}"))
    }

    /// A job whose tasks need a node each.
    fn create(&self, name: &str, policy: &Value, roles: &[(&str, u32, &str)]) {
        let mut job = job(name, policy, roles);
        // Those that are left when a job has ended would keep their nodes.
        job["spec"]["runPolicy"]["cleanPodPolicy"] = "Running".into();
        for (role, ..) in roles {
            let spec = &mut job["spec"]["tfReplicaSpecs"][role]["template"]["spec"];
            spec["containers"][0]["resources"] = json!({ "requests": { "cpu": "5" } });
            spec["nodeSelector"] = json!({ "test": self.namespace.name() });
            spec["terminationGracePeriodSeconds"] = 2.into();
            if *role == "PS" {
                spec["priorityClassName"] = "first".into();
            }
        }
        let jobs = self.namespace.path("apis/kubeflow.org/v1", "tfjobs");
        api().create(&jobs, &job).unwrap();
    }

    fn patch(&self, job: &str, change: &Value) {
        api().patch(&self.path(job), change).unwrap();
    }

    /// Waits until the pods of the namespace are so.
    #[track_caller]
    fn pods<T>(&self, what: &str, look: impl Fn(&[Value]) -> Option<T>) -> T {
        let pods = self.namespace.path("api/v1", "pods");
        let look = |list: &Value| look(list["items"].as_array()?);
        api().wait_for(LONG, &pods, what, look)
    }

    /// Waits until all pods of a job run, so many of them.
    #[track_caller]
    fn runs(&self, job: &str, tasks: usize) {
        self.pods(&format!("{tasks} pods of {job} that run"), |pods| {
            (count(pods, job, |pod| pod["status"]["phase"] == "Running") == tasks).then_some(())
        });
    }

    #[track_caller]
    fn condition(&self, job: &str, wanted: &str) -> Value {
        let what = format!("condition {wanted}");
        api().wait_for(LONG, &self.path(job), &what, |object| {
            let mut conditions = object["status"]["conditions"].as_array()?.iter();
            let has = conditions.any(|condition| shown(condition) == wanted);
            has.then(|| object["status"].clone())
        })
    }

    /// Waits until a job says that it waits for its turn, in words with these in them.
    #[track_caller]
    fn queued(&self, job: &str, words: &str) {
        let what = format!("GangQueued with `{words}`");
        api().wait_for(LONG, &self.path(job), &what, |object| {
            let mut waits = object["status"]["waiting"].as_array()?.iter();
            let said = |wait: &Value| {
                let message = wait["message"].as_str().unwrap_or_default();
                wait["reason"] == "GangQueued" && message.contains(words)
            };
            waits.any(said).then_some(())
        });
    }

    fn exit(&self, pod: &str) {
        cluster().player().exit(&self.namespace, pod, 0);
    }
}

fn count(pods: &[Value], job: &str, is: impl Fn(&Value) -> bool) -> usize {
    let name = |pod: &Value| pod["metadata"]["labels"]["trainyard.dev/job-name"] == *job;
    pods.iter().filter(|pod| name(pod) && is(pod)).count()
}

fn is_gated(pod: &Value) -> bool {
    pod["spec"]["schedulingGates"] == json!([{ "name": GATE }])
}

fn is_bound(pod: &Value) -> bool {
    pod["spec"]["nodeName"].is_string()
}

const PAIR: &[(&str, u32, &str)] = &[("PS", 1, "Never"), ("Worker", 1, "Never")];

#[test]
fn two_jobs_that_deadlock_without_gates_both_finish_with_them() {
    let world = World::new("gates-alone", 0);
    let operator = world.operator(&[]);
    // Their first tasks meet the scheduler before their last ones, as it happens by itself when nodes come one by one.
    let servers = [("PS", 1, "Never"), ("Worker", 0, "Never")];
    for name in ["a", "b"] {
        world.create(name, &json!({}), &servers);
    }
    world.node(0);
    world.node(1);
    let halves = |pods: &[Value]| count(pods, "a", is_bound) == 1 && count(pods, "b", is_bound) == 1;
    world.pods("half of each job", |pods| halves(pods).then_some(()));
    for name in ["a", "b"] {
        let worker = json!({ "spec": { "tfReplicaSpecs": { "Worker": { "replicas": 1 } } } });
        world.patch(name, &worker);
    }
    // Each has half of what it needs, and the scheduler finds no node for the other half.
    let stuck = |pod: &Value| pod["status"]["conditions"][0]["reason"] == "Unschedulable";
    world.pods("no room for the rest", |pods| {
        let stuck = |job: &str| count(pods, job, stuck) == 1;
        (halves(pods) && stuck("a") && stuck("b")).then_some(())
    });
    drop(operator);

    let world = World::new("gates-two", 0);
    let operator = world.operator(GATES);
    world.create("a", &json!({}), PAIR);
    world.create("b", &json!({}), PAIR);
    world.pods("two gangs, one of them with the turn", |pods| {
        let gated = |job: &str| count(pods, job, is_gated);
        (pods.len() == 4 && gated("a") + gated("b") == 2).then_some(())
    });
    world.node(0);
    world.node(1);
    // The gang that has the turn runs, then the other.
    let first = world.pods("one job whose pods run", |pods| {
        let runs = |job: &&&str| count(pods, job, |pod| pod["status"]["phase"] == "Running") == 2;
        ["a", "b"].iter().find(runs).copied()
    });
    let second = if first == "a" { "b" } else { "a" };
    world.exit(&format!("{first}-worker-0"));
    world.condition(first, "Succeeded");
    world.runs(second, 2);
    world.exit(&format!("{second}-worker-0"));
    let status = world.condition(second, "Succeeded");
    assert_eq!(status["trainyard"]["paid"], json!(null));
    drop(operator);
}

#[test]
fn a_gang_that_is_not_placed_in_its_turn_gives_its_room_back_and_the_next_one_runs() {
    let world = World::new("gates-back", 2);
    let operator = world.operator(GATES);
    let short = json!({ "schedulingPolicy": { "scheduleTimeoutSeconds": 15 } });
    world.create("large", &short, &[("Worker", 3, "Never")]);
    world.pods("two of three on nodes", |pods| {
        (count(pods, "large", is_bound) == 2).then_some(())
    });
    world.create("small", &json!({}), &[("Worker", 2, "Never")]);
    world.queued("small", "behind TFJob large");
    world.runs("small", 2);
    let waits = api().get(&world.path("large")).unwrap();
    let memory = &waits["status"]["trainyard"];
    assert_eq!(
        (&memory["paid"], &memory["verdict"]),
        (&json!(null), &json!(null)),
        "{memory}"
    );
    world.queued("large", "rolled back");
    world.exit("small-worker-0");
    world.condition("small", "Succeeded");
    world.node(2);
    world.runs("large", 3);
    world.exit("large-worker-0");
    world.condition("large", "Succeeded");
    drop(operator);
}

#[test]
fn an_operator_killed_between_two_ungates_goes_on_where_it_was() {
    let world = World::new("gates-kill", 4);
    let place = cluster().place().join("gates-kill.kubeconfig");
    let plan = Some((Some(Write::Ungate), Fault::KillUnanswered));
    let account = trainyard_cluster_tests::Account::of_operator(
        &world.namespace,
        "gates".parse().unwrap(),
        "tfjob".parse().unwrap(),
    );
    let proxy = FaultyProxy::open(account.kubeconfig(), place, plan);
    let mut operator = Operator::through(&world.namespace, proxy.kubeconfig(), GATES);
    proxy.program(operator.id());
    world.create("whole", &json!({}), &[("Worker", 4, "Never")]);
    world.create("next", &json!({}), &[("Worker", 4, "Never")]);
    // Each pod costs the operator its life; it is started again until all of one gang are without a gate.
    let ungated = || -> Vec<String> {
        let done = proxy.done().into_iter();
        let ungated = done.filter(|done| done.write == Write::Ungate);
        ungated.map(|done| done.name).collect()
    };
    while ungated().len() < 4 {
        operator.wait();
        operator.start();
        proxy.program(operator.id());
    }
    let names = ungated();
    let of = |name: &String| name.split('-').next().unwrap_or_default().to_owned();
    let first = of(&names[0]);
    assert!(
        names[..4].iter().all(|name| of(name) == first),
        "one gang at a time: {names:?}"
    );
    world.runs(&first, 4);
    let memory = &api().get(&world.path(&first)).unwrap()["status"]["trainyard"];
    assert_eq!(memory["epoch"], json!(null), "it was not rolled back");
    operator.kill();
}

#[test]
fn a_suspended_gang_gives_its_turn_to_the_next_and_a_member_that_dies_joins_again() {
    let world = World::new("gates-hold", 2);
    let operator = world.operator(GATES);
    world.create("first", &json!({}), &[("Worker", 3, "ExitCode")]);
    world.create("second", &json!({}), &[("Worker", 2, "ExitCode")]);
    world.pods("part of the first", |pods| {
        (count(pods, "first", is_bound) == 2).then_some(())
    });
    world.patch("first", &json!({ "spec": { "runPolicy": { "suspend": true } } }));
    world.runs("second", 2);
    // A member that is lost joins again.
    cluster().player().exit(&world.namespace, "second-worker-1", 137);
    world.pods("another life of the worker", |pods| {
        let again = |pod: &Value| {
            let stamp = &pod["metadata"]["annotations"]["trainyard.dev/stamp"];
            pod["metadata"]["name"] == "second-worker-1"
                && *stamp == "0.1"
                && pod["status"]["phase"] == "Running"
        };
        pods.iter().any(again).then_some(())
    });
    world.patch("first", &json!({ "spec": { "runPolicy": { "suspend": false } } }));
    world.exit("second-worker-0");
    world.condition("second", "Succeeded");
    world.node(2);
    world.runs("first", 3);
    // New tasks of a gang that runs are placed singly.
    world.node(3);
    let four = json!({ "spec": { "tfReplicaSpecs": { "Worker": { "replicas": 4 } } } });
    world.patch("first", &four);
    world.runs("first", 4);
    drop(operator);
}
