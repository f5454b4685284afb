//! Gangs by scheduling gates, placed by the real kube-scheduler on nodes that the tests play.
//!
//! Each test has nodes of its own, by a label. A node holds one task.

use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Value, json};
use trainyard_cluster_tests::fake_kubelet::FakeKubelet;
use trainyard_cluster_tests::faulty::{Fault, FaultyProxy, Write};
use trainyard_cluster_tests::{Account, Api, Cluster, Crds, Namespace, Node, Operator, Parts};
use trainyard_manifest::gang::Schedulers;

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
        self.node_of("any", number);
    }

    fn node_of(&self, pool: &str, number: usize) {
        let name = self.namespace.name();
        let node = Node::ready(&format!("{name}-{pool}-{number}"));
        cluster()
            .player()
            .node(&node.label("test", name).label("pool", pool));
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
        self.create_on(&json!({ "test": self.namespace.name() }), name, policy, roles);
    }

    /// The same, on nodes with these labels.
    fn create_on(&self, nodes: &Value, name: &str, policy: &Value, roles: &[(&str, u32, &str)]) {
        let mut job = job(name, policy, roles);
        // Those that are left when a job has ended would keep their nodes.
        job["spec"]["runPolicy"]["cleanPodPolicy"] = "Running".into();
        for (role, ..) in roles {
            let spec = &mut job["spec"]["tfReplicaSpecs"][role]["template"]["spec"];
            spec["containers"][0]["resources"] = json!({ "requests": { "cpu": "5" } });
            spec["nodeSelector"] = nodes.clone();
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

    /// The labels of the nodes of a pool.
    fn pool(&self, pool: &str) -> Value {
        json!({ "test": self.namespace.name(), "pool": pool })
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
    world.pods("two gangs that wait for nodes", |pods| {
        let gated = |job: &str| count(pods, job, is_gated);
        (gated("a") + gated("b") == 4).then_some(())
    });
    world.node(0);
    world.node(1);
    // One gang has the turn and runs, then the other.
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
    let account = Account::of_operator(
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
    // It would not fit, and is tried after the length of a turn.
    let short = json!({ "schedulingPolicy": { "scheduleTimeoutSeconds": 20 } });
    world.create("first", &short, &[("Worker", 3, "ExitCode")]);
    world.pods("part of the first", |pods| {
        (count(pods, "first", is_bound) == 2).then_some(())
    });
    world.create("second", &json!({}), &[("Worker", 2, "ExitCode")]);
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

#[test]
fn gangs_of_two_pools_have_turns_at_the_same_time() {
    let world = World::new("gates-pools", 0);
    for pool in ["x", "y"] {
        world.node_of(pool, 0);
        world.node_of(pool, 1);
    }
    // A pod that is none of ours holds a node of the first pool, so that the gang there cannot be placed in its turn.
    let pods = world.namespace.path("api/v1", "pods");
    let foreign = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "foreign" },
        "spec": {
            "terminationGracePeriodSeconds": 0, "nodeSelector": world.pool("x"),
            "containers": [{ "name": "c", "image": "i", "resources": { "requests": { "cpu": "5" } } }],
        },
    });
    api().create(&pods, &foreign).unwrap();
    world.pods("the pod on its node", |pods| {
        pods.iter().any(is_bound).then_some(())
    });
    let operator = world.operator(GATES);
    let long = json!({ "schedulingPolicy": { "scheduleTimeoutSeconds": 600 } });
    let workers = &[("Worker", 2, "Never")];
    world.create_on(&world.pool("x"), "first", &long, workers);
    world.pods("half of the first", |pods| {
        let half = count(pods, "first", is_bound) == 1 && count(pods, "first", is_gated) == 0;
        half.then_some(())
    });
    world.create_on(&world.pool("x"), "behind", &json!({}), workers);
    world.create_on(&world.pool("y"), "beside", &json!({}), workers);
    world.runs("beside", 2);
    world.queued("behind", "behind TFJob first");
    world.pods("the first still in its turn", |pods| {
        let waits = count(pods, "behind", is_gated) == 2;
        (waits && count(pods, "first", is_bound) == 1).then_some(())
    });
    api().delete(&format!("{pods}/foreign")).unwrap();
    world.runs("first", 2);
    drop(operator);
}

#[test]
fn a_gang_that_can_never_fit_holds_none_up_says_why_and_goes_when_a_node_is_added() {
    let world = World::new("gates-never", 2);
    let operator = world.operator(GATES);
    // It is tried after ten minutes: longer than this test waits for anything.
    let long = json!({ "schedulingPolicy": { "scheduleTimeoutSeconds": 600 } });
    world.create("large", &long, &[("Worker", 3, "Never")]);
    world.queued("large", "2 of 3 members would fit on the 2 nodes that match");
    world.queued("large", "it needs 1 more node with cpu: 5");
    world.create("small", &json!({}), &[("Worker", 2, "Never")]);
    world.runs("small", 2);
    world.create_on(&world.pool("gold"), "lost", &long, &[("Worker", 1, "Never")]);
    world.queued(
        "lost",
        "no node has the labels of its `nodeSelector`, pool=gold,test=",
    );
    world.exit("small-worker-0");
    world.condition("small", "Succeeded");
    world.pods("all of the large one behind gates", |pods| {
        (count(pods, "large", is_gated) == 3).then_some(())
    });
    world.node(2);
    world.runs("large", 3);
    let memory = &api().get(&world.path("large")).unwrap()["status"]["trainyard"];
    assert_eq!(memory["epoch"], json!(null), "it was never rolled back");
    let chosen: Schedulers = "gates".parse().unwrap();
    for used in chosen.uses() {
        for verb in used.verbs {
            let right = format!("{verb} {}.{}", used.resource, used.group);
            operator
                .account()
                .wait_until_asked(&right, |asked| asked.to_string() == right);
        }
    }
    drop(operator);
}

#[test]
fn an_operator_that_may_not_list_nodes_says_so_and_gives_turns_one_by_one() {
    let world = World::new("gates-blind", 0);
    world.node_of("x", 0);
    let mut operator = world.operator(GATES).in_vain();
    operator.kill();
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let binding = format!("{bindings}/trainyard-operator-reader-{}", world.namespace.name());
    api().delete(&binding).unwrap();
    let reader = Api::of(operator.account().kubeconfig()).unwrap();
    // The authorizer learns of the change by a watch.
    api().wait(&world.namespace.path("api/v1", "pods"), "a refusal", |_| {
        reader.get("/api/v1/nodes").is_err().then_some(())
    });
    operator.start();
    operator.says("until nodes can be listed");
    let short = json!({ "schedulingPolicy": { "scheduleTimeoutSeconds": 10 } });
    world.create_on(&world.pool("nowhere"), "first", &short, &[("Worker", 1, "Never")]);
    world.pods("the first without a gate", |pods| {
        let open = |pod: &Value| pod["spec"]["schedulingGates"].is_null();
        (count(pods, "first", open) == 1).then_some(())
    });
    world.create_on(&world.pool("x"), "second", &json!({}), &[("Worker", 1, "Never")]);
    world.queued("second", "behind TFJob first");
    world.runs("second", 1);
    drop(operator);
}
