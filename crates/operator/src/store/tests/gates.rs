//! Gangs by scheduling gates at the store: turns by nodes, advice, and an adversary that forges pods, gates, statuses and nodes.

use std::collections::BTreeMap;
use std::time::Instant;

use trainyard_core::gates::{MOST_PATIENCE, MOST_RESERVED};
use trainyard_manifest::observe::NodeSeen;

use super::adversary::Random;
use super::*;
use crate::job::JobKey;

/// More applies than this in one second, and the loop never rests.
const MOST_PASSES: u32 = 500;
/// No gang keeps the others waiting for longer than this, whatever it does: it reserves room, then has the turn, then fails to give it back.
const LONGEST: u32 = MOST_RESERVED + 2 * MOST_PATIENCE;

/// Gangs of two in namespaces of their own, their nodes, and a scheduler that places what fits on nodes of the right pool, one pod per node.
struct World {
    store: Store,
    now: Time,
    version: u64,
    jobs: BTreeMap<String, Value>,
    pods: BTreeMap<(String, String), Value>,
    nodes: BTreeMap<String, Value>,
}

impl World {
    fn new() -> Self {
        let reading = Reading {
            gang: "gates".parse().unwrap(),
            ..Reading::default()
        };
        let mut store = Store::new(reading);
        store.list_begins(Source::Jobs(&TFJOB));
        store.list_ends(Source::Jobs(&TFJOB));
        Self {
            store,
            now: NOW,
            version: 100,
            jobs: BTreeMap::new(),
            pods: BTreeMap::new(),
            nodes: BTreeMap::new(),
        }
    }

    /// With these nodes listed: name and pool.
    fn with_nodes(nodes: &[(&str, &str)]) -> Self {
        let mut world = Self::new();
        world.store.list_begins(Source::Nodes);
        for (name, pool) in nodes {
            world.node(name, pool);
        }
        world.store.list_ends(Source::Nodes);
        world
    }

    fn version(&mut self) -> String {
        self.version += 1;
        self.version.to_string()
    }

    fn node(&mut self, name: &str, pool: &str) {
        let node = json!({
            "metadata": { "name": name, "uid": name, "labels": { "pool": pool } }, "spec": {},
            "status": {
                "conditions": [{ "type": "Ready", "status": "True" }], "allocatable": { "cpu": "8", "pods": "110" },
            },
        });
        self.store.node_seen(NodeSeen::of(&node));
        self.nodes.insert(name.into(), node);
    }

    /// A job whose tasks need a node of a pool each.
    fn create(&mut self, namespace: &str, pool: &str, workers: u32) {
        let template = json!({ "spec": {
            "containers": [{ "name": "tensorflow", "image": "i", "resources": { "requests": { "cpu": "5" } } }],
            "nodeSelector": { "pool": pool },
        } });
        let wire = json!({
            "metadata": { "name": "mnist", "namespace": namespace, "uid": format!("job-{namespace}"), "generation": 1 },
            "spec": { "tfReplicaSpecs": { "Worker": { "replicas": workers, "restartPolicy": "ExitCode", "template": template } } },
        });
        self.jobs.insert(namespace.into(), wire);
        self.show_job(namespace);
    }

    fn show_job(&mut self, namespace: &str) {
        let version = self.version();
        let job = self.jobs.get_mut(namespace).unwrap();
        job["metadata"]["resourceVersion"] = version.into();
        let wire = serde_json::from_value(job.clone()).unwrap();
        self.store.job_seen(&TFJOB, wire);
    }

    fn show_pod(&mut self, of: &(String, String)) {
        let version = self.version();
        if let Some(pod) = self.pods.get_mut(of) {
            pod["metadata"]["resourceVersion"] = version.into();
            let seen = serde_json::from_value(pod.clone()).unwrap();
            self.store.pod_seen(&TFJOB, seen);
        }
    }

    /// Everything happens until then, and the scheduler places what it can in each second.
    fn pass(&mut self, seconds: u32) -> Result<(), String> {
        let until = self.now + seconds;
        loop {
            self.settle()?;
            if self.schedule() {
                continue;
            }
            match self.store.wake() {
                Some(wake) if wake > self.now && wake <= until => self.now = wake,
                _ if self.now < until => self.now = until,
                _ => return Ok(()),
            }
        }
    }

    fn settle(&mut self) -> Result<(), String> {
        for _ in 0..MOST_PASSES {
            let Some(writes) = self.store.next(self.now) else {
                return Ok(());
            };
            self.apply(&writes);
        }
        Err(format!("more than {MOST_PASSES} passes at {}", self.now))
    }

    /// Binds a pod without gates to a free node of its pool; false if there is none.
    fn schedule(&mut self) -> bool {
        let taken: Vec<String> = self
            .pods
            .values()
            .filter_map(|pod| pod["spec"]["nodeName"].as_str().map(str::to_owned))
            .collect();
        let fits = |pod: &Value| {
            let free = self.nodes.iter().filter(|(name, node)| {
                !taken.contains(name)
                    && node["metadata"]["labels"]["pool"] == pod["spec"]["nodeSelector"]["pool"]
            });
            let waits = pod["spec"]["nodeName"].is_null() && pod["spec"]["schedulingGates"] == json!([]);
            free.map(|(name, _)| name.clone()).next().filter(|_| waits)
        };
        let found = self
            .pods
            .iter()
            .find_map(|(of, pod)| Some((of.clone(), fits(pod)?)));
        let Some((of, node)) = found else { return false };
        let pod = self.pods.get_mut(&of).unwrap();
        pod["spec"]["nodeName"] = node.into();
        pod["status"] = running();
        self.show_pod(&of);
        true
    }

    /// What the API server would do.
    fn apply(&mut self, writes: &Writes) {
        let namespace = writes.key.namespace.to_string();
        let mut done = Report::of(writes.key.clone(), Arc::clone(&writes.uid));
        if let Some(status) = &writes.status {
            let version: u64 = self.version().parse().unwrap();
            self.jobs.get_mut(&namespace).unwrap()["status"] = status.clone();
            done.written = Some((version, status.clone()));
        }
        done.services = vec![ServiceSeen {
            name: "mnist".into(),
            namespace: namespace.as_str().into(),
            uid: "s1".into(),
            job: "mnist".into(),
            owner: Some(format!("job-{namespace}").into()),
        }];
        let (mut shown, mut gone) = (Vec::new(), Vec::new());
        for action in &writes.actions {
            match action {
                Action::Create { task, stamp } => {
                    let name = format!("mnist-{task}");
                    let of = (namespace.clone(), name.clone());
                    let pool = self.jobs[&namespace]
                        .pointer("/spec/tfReplicaSpecs/Worker/template/spec/nodeSelector/pool")
                        .unwrap();
                    let (_, index) = name.rsplit_once('-').unwrap();
                    let version = self.version + 1;
                    let pod = json!({
                        "metadata": {
                            "name": name, "namespace": namespace, "uid": format!("pod-{version}"),
                            "creationTimestamp": "2027-01-15T07:59:58Z",
                            "labels": {
                                "trainyard.dev/job-name": "mnist", "trainyard.dev/role": "worker",
                                "trainyard.dev/task-index": index,
                            },
                            "annotations": { "trainyard.dev/stamp": format!("{}.{}", stamp.epoch, stamp.attempt) },
                            "ownerReferences": [{
                                "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "uid": format!("job-{namespace}"),
                                "controller": true,
                            }],
                        },
                        "spec": {
                            "restartPolicy": "Never", "nodeSelector": { "pool": pool },
                            "schedulingGates": [{ "name": "trainyard.dev/gang" }],
                            "containers": [{ "name": "tensorflow", "resources": { "requests": { "cpu": "5" } } }],
                        },
                        "status": {},
                    });
                    self.pods.entry(of.clone()).or_insert(pod);
                    shown.push(of);
                }
                Action::Ungate { instance, .. } => {
                    for (of, pod) in &mut self.pods {
                        if pod["metadata"]["uid"] == **instance {
                            pod["spec"]["schedulingGates"] = json!([]);
                            shown.push(of.clone());
                        }
                    }
                }
                Action::Stop { instance, force, .. } => {
                    done.stopped.push((Arc::clone(instance), *force));
                    let found = self.pods.iter();
                    let found = found.filter(|(_, pod)| pod["metadata"]["uid"] == **instance);
                    let found: Vec<_> = found.map(|(of, _)| of.clone()).collect();
                    gone.extend(found.iter().filter_map(|of| self.pods.remove(of)));
                }
                _ => {}
            }
        }
        self.store.applied(done, self.now);
        for of in shown {
            self.show_pod(&of);
        }
        for pod in gone {
            self.store.pod_gone(&TFJOB, &serde_json::from_value(pod).unwrap());
        }
    }

    fn bound(&self, namespace: &str) -> usize {
        let pods = self.pods.iter().filter(|((of, _), _)| of == namespace);
        pods.filter(|(_, pod)| pod["spec"]["nodeName"].is_string())
            .count()
    }

    fn says(&self, namespace: &str) -> String {
        let status = &self.jobs[namespace]["status"];
        status["waiting"][0]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// All tasks of a job exit 0, and their nodes are free.
    fn finish(&mut self, namespace: &str) {
        let all: Vec<_> = self
            .pods
            .keys()
            .filter(|(of, _)| of == namespace)
            .cloned()
            .collect();
        for of in all {
            self.pods.get_mut(&of).unwrap()["status"] = exited(0);
            self.show_pod(&of);
            self.pods.get_mut(&of).unwrap()["spec"]["nodeName"] = "nowhere".into();
        }
    }
}

#[test]
fn gangs_of_pools_that_share_no_node_are_placed_at_the_same_time() {
    let mut world = World::with_nodes(&[("a1", "a"), ("b1", "b"), ("b2", "b")]);
    // The advice for the first is wrong: another pod, which is not seen, is on its second node.
    world.node("a2", "a");
    world.nodes.remove("a2");
    world.create("one", "a", 2);
    world.create("two", "b", 2);
    world.create("three", "a", 1);
    world.pass(10).unwrap();
    assert_eq!((world.bound("one"), world.bound("two")), (1, 2));
    assert_eq!(world.bound("three"), 0, "it competes with the first");
    assert!(
        world
            .says("three")
            .contains("behind a job of another namespace since"),
        "{}",
        world.says("three")
    );
}

#[test]
fn a_gang_that_never_fits_keeps_none_waiting_says_why_and_goes_when_a_node_is_added() {
    let mut world = World::with_nodes(&[("a1", "a"), ("a2", "a")]);
    world.create("large", "a", 3);
    world.pass(1).unwrap();
    world.create("small", "a", 2);
    world.pass(9).unwrap();
    assert_eq!((world.bound("large"), world.bound("small")), (0, 2));
    let words = "2 of 3 members would fit on the 2 nodes that match if no pod ran there: it needs 1 more node with cpu: 5";
    assert!(world.says("large").contains(words), "{}", world.says("large"));
    world.finish("small");
    world.pass(5).unwrap();
    assert_eq!(world.bound("large"), 0);
    world.node("a3", "a");
    world.pass(2).unwrap();
    assert_eq!(world.bound("large"), 3, "at once");
}

#[test]
fn a_gang_that_fits_later_goes_when_another_job_has_ended() {
    let mut world = World::with_nodes(&[("a1", "a"), ("a2", "a")]);
    world.create("first", "a", 2);
    world.pass(5).unwrap();
    assert_eq!(world.bound("first"), 2);
    world.create("second", "a", 2);
    world.pass(10).unwrap();
    assert_eq!(world.bound("second"), 0);
    let words = "0 of 2 members fit on the 2 nodes that match beside jobs that run there";
    assert!(world.says("second").contains(words), "{}", world.says("second"));
    world.finish("first");
    world.pass(3).unwrap();
    assert_eq!(world.bound("second"), 2);
}

#[test]
fn a_selector_that_no_node_has_is_named_and_the_gang_is_tried_all_the_same() {
    let mut world = World::with_nodes(&[("a1", "a")]);
    world.create("lost", "nowhere", 2);
    world.pass(10).unwrap();
    let words = "no node has the labels of its `nodeSelector`, pool=nowhere";
    assert!(world.says("lost").contains(words), "{}", world.says("lost"));
    let gated = |world: &World| {
        world
            .pods
            .values()
            .filter(|pod| pod["spec"]["schedulingGates"] != json!([]))
            .count()
    };
    assert_eq!(gated(&world), 2);
    world.pass(60).unwrap();
    assert_eq!(gated(&world), 0, "a cluster that grows on demand sees them");
}

#[test]
fn without_the_right_to_list_nodes_one_gang_at_a_time_has_the_turn() {
    let mut world = World::new();
    world
        .nodes
        .insert("b1".into(), json!({ "metadata": { "labels": { "pool": "b" } } }));
    world.create("one", "a", 1);
    world.create("two", "b", 1);
    world.pass(5).unwrap();
    let open = |world: &World| {
        world
            .pods
            .values()
            .filter(|pod| pod["spec"]["schedulingGates"] == json!([]))
            .count()
    };
    assert_eq!(open(&world), 0, "nodes may still be listed");
    world.store.api_unknown(Source::Nodes);
    world.pass(2).unwrap();
    assert_eq!(
        (open(&world), world.bound("two")),
        (1, 0),
        "the first one has the turn"
    );
    let mut awaited = World::new();
    awaited.create("one", "a", 1);
    awaited.pass(15).unwrap();
    assert_eq!(open(&awaited), 1, "nor is the list waited for for ever");
}

/// Any text that a quantity, a label or a taint might be.
fn forged_text(random: &mut Random) -> String {
    let number = random.any();
    let texts = [
        "",
        "-1",
        "1e999999999",
        "9223372036854775807",
        "999999999999E",
        "0.0000000001n",
        "a b",
        "NaN",
        "\u{0}",
        "pool",
    ];
    match random.below(3) {
        0 => number.to_string(),
        1 => format!("{number}Ki"),
        _ => (*random.pick(&texts)).to_owned(),
    }
}

fn forged_node(random: &mut Random) -> NodeSeen {
    let name = format!("n{}", random.below(5));
    let value = |random: &mut Random| match random.below(4) {
        0 => json!(random.any()),
        1 => json!([forged_text(random)]),
        _ => json!(forged_text(random)),
    };
    let (resource, label) = (forged_text(random), forged_text(random));
    NodeSeen::of(&json!({
        "metadata": { "name": name, "uid": name, "labels": { "pool": *random.pick(&["a", "b", "f"]), label: value(random) } },
        "spec": {
            "unschedulable": random.below(4) == 0,
            "taints": [{ "key": forged_text(random), "effect": *random.pick(&["NoSchedule", "NoExecute", "", "x"]) }],
        },
        "status": {
            "conditions": [{ "type": "Ready", "status": *random.pick(&["True", "False", "x"]) }],
            "allocatable": { "cpu": value(random), "pods": value(random), resource: value(random) },
        },
    }))
}

/// A pod of the forged job with any gates, node, needs, priority and stamp.
fn forge_pod(world: &mut World, random: &mut Random) {
    let of = ("forged".to_owned(), format!("mnist-worker-{}", random.below(2)));
    let Some(pod) = world.pods.get_mut(&of) else {
        return;
    };
    let spec = &mut pod["spec"];
    match random.below(7) {
        0 => spec["schedulingGates"] = json!([]),
        1 => spec["schedulingGates"] = json!([{ "name": forged_text(random) }]),
        2 => spec["nodeName"] = (*random.pick(&["a1", "b1", "n0", "nowhere"])).into(),
        3 => {
            spec["containers"][0]["resources"]["requests"] =
                json!({ "cpu": forged_text(random), forged_text(random): random.any() });
        }
        4 => spec["nodeSelector"] = json!({ forged_text(random): forged_text(random) }),
        5 => spec["priority"] = random.any().into(),
        _ => {
            pod["metadata"]["annotations"]["trainyard.dev/stamp"] =
                format!("{}.{}", random.any(), random.below(2)).into();
        }
    }
    world.show_pod(&of);
}

fn forge_status(world: &mut World, random: &mut Random) {
    let gates = json!({ "placed": random.below(3), "rolledBack": random.any(), "times": random.any() });
    let memory = json!({ "format": 1, "job": "job-forged", "epoch": random.below(3), "gates": gates });
    let status = match random.below(3) {
        0 => Value::Null,
        _ => json!({ "startTime": "2027-01-15T07:59:58Z", "trainyard": memory }),
    };
    world.jobs.get_mut("forged").unwrap()["status"] = status;
    world.show_job("forged");
}

#[test]
fn whatever_is_forged_of_one_gang_keeps_the_others_waiting_for_a_bounded_time() {
    for seed in 0..30 {
        let mut random = Random(seed);
        let mut world = World::with_nodes(&[("a1", "a"), ("a2", "a"), ("b1", "b")]);
        world.create("forged", "a", 2);
        world.pass(random.below(90).try_into().unwrap()).unwrap();
        world.create("honest", "a", 1);
        let begun = world.now;
        while world.bound("honest") == 0 {
            let waited = world.now.0 - begun.0;
            assert!(
                waited <= LONGEST.into(),
                "seed {seed}: it has waited for {waited} s"
            );
            for _ in 0..random.below(4) {
                match random.below(3) {
                    0 => forge_status(&mut world, &mut random),
                    _ => forge_pod(&mut world, &mut random),
                }
                // The nodes that it says it holds are free all the same.
                for ((of, _), pod) in &mut world.pods {
                    if of == "forged" && pod["spec"]["nodeName"].is_string() {
                        pod["spec"]["nodeName"] = "nowhere".into();
                    }
                }
            }
            world
                .pass(1 + u32::try_from(random.below(60)).unwrap())
                .unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        }
    }
}

#[test]
fn nodes_with_any_values_never_stop_the_operator() {
    for seed in 0..100 {
        let mut random = Random(seed);
        let mut world = World::with_nodes(&[("a1", "a")]);
        world.create("honest", "a", 1);
        world.create("forged", "f", 2);
        for _ in 0..40 {
            let node = forged_node(&mut random);
            if random.below(4) == 0 {
                world.store.node_gone(&node);
            } else {
                world.store.node_seen(node);
            }
            forge_pod(&mut world, &mut random);
            world
                .pass(u32::try_from(random.below(30)).unwrap())
                .unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        }
        world.pass(LONGEST).unwrap();
        assert_eq!(world.bound("honest"), 1, "seed {seed}");
    }
}

/// A thousand gangs with needs of their own on a thousand nodes, none of which fits: the time of one look at all of them is printed.
#[test]
fn a_thousand_gangs_on_a_thousand_nodes_are_each_compared_with_them_once_in_a_second() {
    let mut world = World::new();
    world.store.list_begins(Source::Nodes);
    for number in 0..1000 {
        world.node(&format!("n{number}"), "a");
    }
    world.store.list_ends(Source::Nodes);
    let gates = &mut world.store.gates;
    for number in 0..1000_u32 {
        let key = JobKey::of(&TFJOB, &"ml".into(), &format!("j{number}").into());
        gates.play(&key, number, NOW);
    }
    let begun = Instant::now();
    assert_eq!(gates.looks(NOW), (0, 1000));
    let first = begun.elapsed();
    let begun = Instant::now();
    assert_eq!(gates.looks(NOW), (0, 0), "nothing has changed");
    println!("first look {first:?}, another one {:?}", begun.elapsed());
}
