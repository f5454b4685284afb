//! What real gang schedulers do with the operator's groups: one table of scenarios over the schedulers, each on a cluster of its own. The
//! table of `docs/gangs.md` tells what was seen here.
//!
//! Nodes and pods are played: each node has 8 processors and holds one task of 5.

mod queues;

use serde_json::{Value, json};
use trainyard_cluster_tests::{Api, Cluster, Crds, KubeBatch, Namespace, Node, Operator, Parts};

use self::queues::{queue_is_full_or_closed, queue_is_missing};
use super::{job, kube_batch, shown};

/// A scheduler and what a test must know of it.
struct Scheduler {
    /// For `--gang-scheduler-name`.
    name: &'static str,
    parts: Parts,
    crds: Option<Crds>,
    /// The API of its groups.
    groups: &'static str,
    /// It looks again at a group that it has rejected only when the group changes, not when a node comes or pods end.
    sleeps: bool,
    /// Pods that have ended are members: `members` need not be lowered before another task is created again.
    counts_ended: bool,
    /// How many members a group needs.
    members: &'static str,
    /// What it says about a gang that has no room.
    says: &'static str,
}

const VOLCANO: Scheduler = Scheduler {
    name: "volcano",
    parts: Parts::VOLCANO,
    crds: Some(Crds::Volcano),
    groups: "apis/scheduling.volcano.sh/v1beta1",
    sleeps: false,
    counts_ended: true,
    members: "/spec/minMember",
    says: "Unschedulable",
};
const COSCHEDULING: Scheduler = Scheduler {
    name: "coscheduler",
    parts: Parts::COSCHEDULING,
    crds: Some(Crds::Coscheduling),
    groups: "apis/scheduling.x-k8s.io/v1alpha1",
    sleeps: true,
    counts_ended: false,
    members: "/spec/minMember",
    says: "nodes are available",
};
const NATIVE: Scheduler = Scheduler {
    name: "native",
    parts: Parts::NATIVE,
    crds: None,
    groups: "apis/scheduling.k8s.io/v1beta1",
    sleeps: false,
    counts_ended: false,
    members: "/spec/schedulingPolicy/gang/minCount",
    says: "2 scheduled",
};

/// Started by its test: it takes minutes to build.
const KUBE_BATCH: Scheduler = Scheduler {
    name: "kube-batch",
    parts: Parts::API,
    crds: Some(Crds::KubeBatch),
    groups: "apis/scheduling.incubator.k8s.io/v1alpha1",
    sleeps: false,
    counts_ended: true,
    members: "/spec/minMember",
    says: "tasks in gang unschedulable",
};

type Scenario = fn(&mut Stage<'_>);

/// Played one after the other: the first begins with two nodes, and the others have three.
const SCENARIOS: [Scenario; 6] = [
    waits_for_a_node,
    two_compete,
    member_dies,
    another_dies,
    scales,
    suspends,
];

#[test]
fn volcano() {
    play(
        &VOLCANO,
        &[not_let_in, published, queue_is_missing, queue_is_full_or_closed],
    );
}

#[test]
fn the_coscheduling_plugin() {
    play(&COSCHEDULING, &[]);
}

#[test]
fn kubernetes_own_groups() {
    play(&NATIVE, &[needs_more_members, large_and_small]);
}

#[test]
fn kube_batch_itself() {
    if !KubeBatch::is_asked_for() {
        return;
    }
    let cluster = Cluster::start(KUBE_BATCH.parts);
    let _scheduler = kube_batch::start(&cluster);
    play_on(&cluster, &KUBE_BATCH, &[queue_is_missing]);
}

#[test]
fn a_scheduler_that_ignores_kubernetes_own_groups_is_told() {
    let cluster = Cluster::start(Parts::IGNORED_GROUPS);
    cluster.player().node(&Node::ready("one"));
    let namespace = cluster.namespace("ignored");
    let stage = Stage {
        cluster: &cluster,
        namespace: &namespace,
        operator: Operator::with(&namespace, &["--gang-scheduler-name", "native"]),
        scheduler: &NATIVE,
    };
    stage.create("alone", 2);
    stage.until_placed("alone", 1);
    let told = stage
        .api()
        .wait(&stage.path("alone"), "that groups are ignored", |job| {
            let mut all = job["status"]["waiting"].as_array()?.iter();
            let wait = all.find(|wait| wait["reason"] == "GangIgnored")?;
            Some(wait["message"].as_str()?.to_owned())
        });
    assert!(
        told.contains("PodGroup alone") && told.contains("GenericWorkload=true"),
        "{told}"
    );
}

fn play(scheduler: &'static Scheduler, more: &[Scenario]) {
    let cluster = Cluster::start(scheduler.parts);
    play_on(&cluster, scheduler, more);
}

fn play_on(cluster: &Cluster, scheduler: &'static Scheduler, more: &[Scenario]) {
    if let Some(crds) = scheduler.crds {
        cluster.install(crds);
    }
    for node in ["one", "two"] {
        cluster.player().node(&Node::ready(node));
    }
    let namespace = cluster.namespace("gang");
    let operator = Operator::with(&namespace, &["--gang-scheduler-name", scheduler.name]);
    let mut stage = Stage {
        cluster,
        namespace: &namespace,
        operator,
        scheduler,
    };
    for scenario in SCENARIOS.iter().chain(more) {
        scenario(&mut stage);
    }
}

/// A cluster with a scheduler and the operator.
struct Stage<'a> {
    cluster: &'a Cluster,
    namespace: &'a Namespace<'a>,
    operator: Operator,
    scheduler: &'static Scheduler,
}

impl Stage<'_> {
    fn api(&self) -> &Api {
        self.cluster.api()
    }

    fn path(&self, job: &str) -> String {
        self.namespace
            .path("apis/kubeflow.org/v1", &format!("tfjobs/{job}"))
    }

    fn group(&self, job: &str) -> String {
        self.namespace
            .path(self.scheduler.groups, &format!("podgroups/{job}"))
    }

    /// Creates a job of so many workers of 5 processors.
    #[track_caller]
    fn create(&self, name: &str, workers: u32) {
        self.create_as(name, workers, &json!({}));
    }

    #[track_caller]
    fn create_in(&self, queue: &str, name: &str, workers: u32) {
        self.create_as(name, workers, &json!({ "schedulingPolicy": { "queue": queue } }));
    }

    #[track_caller]
    fn create_as(&self, name: &str, workers: u32, policy: &Value) {
        let mut job = job(name, policy, &[("Worker", workers, "ExitCode")]);
        let spec = &mut job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"];
        spec["containers"][0]["resources"] = json!({ "requests": { "cpu": "5" } });
        let jobs = self.namespace.path("apis/kubeflow.org/v1", "tfjobs");
        self.api().create(&jobs, &job).unwrap();
    }

    #[track_caller]
    fn patch(&self, job: &str, spec: &Value) {
        self.api()
            .patch(&self.path(job), &json!({ "spec": spec }))
            .unwrap();
    }

    /// Room has become free: a scheduler that does not look by itself is woken.
    fn wake(&self, job: &str) {
        if self.scheduler.sleeps {
            let touched = json!({ "metadata": { "annotations": { "touched": format!("{:?}", std::time::Instant::now()) } } });
            self.api().patch(&self.group(job), &touched).unwrap();
        }
    }

    /// The pods of a job that are on nodes, of those that have not ended.
    fn placed(list: &Value, job: &str) -> usize {
        let pods = list["items"].as_array().into_iter().flatten();
        let of_job = |pod: &&Value| {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            name.strip_prefix(job).is_some_and(|rest| rest.starts_with('-'))
        };
        let ended = |pod: &Value| {
            ["Succeeded", "Failed"]
                .iter()
                .any(|phase| pod["status"]["phase"] == *phase)
        };
        pods.filter(of_job)
            .filter(|pod| pod["spec"]["nodeName"].is_string() && !ended(pod))
            .count()
    }

    fn pods(&self) -> String {
        self.namespace.path("api/v1", "pods")
    }

    /// Waits until so many tasks of a job are on nodes.
    #[track_caller]
    fn until_placed(&self, job: &str, tasks: usize) {
        self.api()
            .wait(&self.pods(), &format!("{tasks} of {job} on nodes"), |pods| {
                (Self::placed(pods, job) == tasks).then_some(())
            });
    }

    #[track_caller]
    fn none_is_placed(&self, job: &str) {
        let pods = self.api().get(&self.pods()).unwrap();
        assert_eq!(Self::placed(&pods, job), 0, "{job} is placed in part");
    }

    /// Waits until a job says that the scheduler does not place it; gives the words.
    #[track_caller]
    fn until_held(&self, job: &str) -> String {
        self.api().wait(&self.path(job), "what it waits for", |job| {
            let all = job["status"]["waiting"].as_array()?;
            let words: Vec<&str> = all.iter().filter_map(|wait| wait["message"].as_str()).collect();
            let said = all.iter().any(|wait| {
                let by_scheduler = wait["pod"].is_string() && wait["reason"] != "NotScheduled";
                by_scheduler || wait["reason"] == "PodGroupPending"
            });
            said.then(|| words.join("; "))
        })
    }

    /// Waits until a job says this of what it waits for.
    #[track_caller]
    fn until_told(&self, job: &str, words: &str) {
        self.api().wait(&self.path(job), words, |job| {
            let mut all = job["status"]["waiting"].as_array()?.iter();
            all.any(|wait| wait["message"].as_str().is_some_and(|said| said.contains(words)))
                .then_some(())
        });
    }

    #[track_caller]
    fn run(&self, job: &str, workers: &[u32]) {
        for index in workers {
            self.cluster
                .player()
                .run(self.namespace, &format!("{job}-worker-{index}"));
        }
    }

    #[track_caller]
    fn exit(&self, job: &str, index: u32, code: i32) {
        self.cluster
            .player()
            .exit(self.namespace, &format!("{job}-worker-{index}"), code);
    }

    /// Ends a pod that is being deleted.
    #[track_caller]
    fn vanish(&self, job: &str, index: u32) {
        let pod = format!("{job}-worker-{index}");
        self.api()
            .wait(&self.namespace.pod(&pod), "being deleted", |pod| {
                pod["metadata"]["deletionTimestamp"].is_string().then_some(())
            });
        self.cluster.player().vanish(self.namespace, &pod, 143);
    }

    /// Waits until a pod with that stamp is on a node.
    #[track_caller]
    fn life_placed(&self, job: &str, index: u32, stamp: &str) -> Value {
        let pod = self.namespace.pod(&format!("{job}-worker-{index}"));
        self.api().wait(&pod, &format!("life {stamp} on a node"), |pod| {
            let is_it = pod["metadata"]["annotations"]["trainyard.dev/stamp"] == stamp;
            (is_it && pod["spec"]["nodeName"].is_string()).then(|| pod.clone())
        })
    }

    #[track_caller]
    fn until_condition(&self, job: &str, wanted: &str) {
        self.api().wait(&self.path(job), wanted, |job| {
            let conditions = job["status"]["conditions"].as_array()?;
            conditions.iter().any(|one| shown(one) == wanted).then_some(())
        });
    }

    /// All workers succeed, and the group goes.
    #[track_caller]
    fn finish(&self, job: &str, workers: &[u32]) {
        for index in workers {
            self.exit(job, *index, 0);
        }
        self.until_condition(job, "Succeeded");
        self.api().wait_until_gone(&self.group(job));
    }

    /// By the audit log: where the scheduler counts no pods that have ended, the group was changed before its member was created again.
    #[track_caller]
    fn lowered_before_created(&self, job: &str, index: u32) {
        if self.scheduler.counts_ended {
            return;
        }
        let account = self.operator.account();
        let pod = format!("{job}-worker-{index}");
        // The log is written a moment later.
        self.api()
            .wait(&self.group(job), "that it was changed before", |_| {
                let lowered = account.times("patch", "podgroups", job);
                let created = account.created("pods", &pod);
                (created.len() > 1 && lowered.first()? < created.last()?).then_some(())
            });
    }

    #[track_caller]
    fn until_members(&self, job: &str, members: u32) {
        self.api()
            .wait(&self.group(job), &format!("{members} members"), |group| {
                (group.pointer(self.scheduler.members) == Some(&members.into())).then_some(())
            });
    }
}

fn waits_for_a_node(stage: &mut Stage<'_>) {
    stage.create("large", 3);
    let words = stage.until_held("large");
    stage.none_is_placed("large");
    assert!(words.contains(stage.scheduler.says), "{words}");
    stage.operator.kill();
    stage.cluster.player().node(&Node::ready("three"));
    stage.operator.start();
    stage.wake("large");
    stage.until_placed("large", 3);
    stage.run("large", &[0, 1, 2]);
    stage.until_condition("large", "Running");
    stage.finish("large", &[0, 1, 2]);
}

fn two_compete(stage: &mut Stage<'_>) {
    let names = ["first", "second"];
    for name in names {
        stage.create(name, 2);
    }
    let placed = |pods: &Value| {
        let counts = names.map(|name| Stage::placed(pods, name));
        let one = names.into_iter().zip(counts).find(|(_, count)| *count == 2);
        one.map(|(name, _)| name)
    };
    let winner = stage.api().wait(&stage.pods(), "one of them on nodes", placed);
    let loser = if winner == "first" { "second" } else { "first" };
    stage.run(winner, &[0, 1]);
    stage.until_held(loser);
    stage.none_is_placed(loser);
    stage.finish(winner, &[0, 1]);
    stage.wake(loser);
    stage.until_placed(loser, 2);
    stage.run(loser, &[0, 1]);
    stage.finish(loser, &[0, 1]);
}

fn member_dies(stage: &mut Stage<'_>) {
    stage.create("dies", 3);
    stage.until_placed("dies", 3);
    stage.run("dies", &[0, 1, 2]);
    stage.until_condition("dies", "Running");
    stage.operator.kill();
    stage.exit("dies", 1, 137);
    stage.operator.start();
    let again = stage.life_placed("dies", 1, "0.1");
    let before = stage.api().get(&stage.namespace.pod("dies-worker-0")).unwrap();
    let marks = |pod: &Value| {
        let keys = ["scheduling.k8s.io/group-name", "scheduling.x-k8s.io/pod-group"];
        let metadata = &pod["metadata"];
        let named = keys.map(|key| {
            (
                metadata["annotations"][key].clone(),
                metadata["labels"][key].clone(),
            )
        });
        (named, pod["spec"]["schedulingGroup"].clone())
    };
    assert_eq!(marks(&again), marks(&before), "the same group");
    stage.run("dies", &[1]);
    stage.finish("dies", &[0, 1, 2]);
}

fn another_dies(stage: &mut Stage<'_>) {
    stage.create("rest", 3);
    stage.until_placed("rest", 3);
    stage.run("rest", &[0, 1, 2]);
    stage.until_condition("rest", "Running");
    stage.exit("rest", 2, 0);
    stage.exit("rest", 1, 137);
    stage.life_placed("rest", 1, "0.1");
    stage.lowered_before_created("rest", 1);
    stage.run("rest", &[1]);
    stage.finish("rest", &[0, 1]);
}

fn scales(stage: &mut Stage<'_>) {
    let replicas = |count: u32| json!({ "tfReplicaSpecs": { "Worker": { "replicas": count } } });
    stage.create("scaled", 2);
    stage.until_placed("scaled", 2);
    stage.run("scaled", &[0, 1]);
    stage.until_condition("scaled", "Running");
    stage.patch("scaled", &replicas(3));
    stage.until_members("scaled", 3);
    stage.until_placed("scaled", 3);
    stage.run("scaled", &[2]);
    stage.patch("scaled", &replicas(1));
    stage.vanish("scaled", 2);
    stage.vanish("scaled", 1);
    stage.until_members("scaled", 1);
    stage.exit("scaled", 0, 137);
    stage.life_placed("scaled", 0, "0.1");
    stage.run("scaled", &[0]);
    stage.finish("scaled", &[0]);
}

fn suspends(stage: &mut Stage<'_>) {
    let suspend = |held: bool| json!({ "runPolicy": { "suspend": held } });
    stage.create("held", 2);
    stage.until_placed("held", 2);
    stage.run("held", &[0, 1]);
    stage.until_condition("held", "Running");
    stage.patch("held", &suspend(true));
    stage.operator.kill();
    stage.operator.start();
    stage.vanish("held", 0);
    stage.vanish("held", 1);
    stage.api().wait_until_gone(&stage.group("held"));
    stage.until_condition("held", "Suspended");
    stage.patch("held", &suspend(false));
    for index in [0, 1] {
        stage.life_placed("held", index, "1.0");
    }
    stage.run("held", &[0, 1]);
    stage.finish("held", &[0, 1]);
}

/// It needs more than the cluster has and what Volcano lets in beyond that, so it has no pods.
fn not_let_in(stage: &mut Stage<'_>) {
    stage.create("huge", 9);
    let words = stage.until_held("huge");
    let told = "PodGroup huge waits: it is let in, and its pods are created, when the cluster, its queue and quotas have room for what it needs (45 of cpu)";
    assert!(words.contains(told), "{words}");
    stage.none_is_placed("huge");
    stage.patch("huge", &json!({ "runPolicy": { "suspend": true } }));
    stage.api().wait_until_gone(&stage.group("huge"));
}

/// As it was published: the group has the job's name, and no queue.
const PUBLISHED: &str = "\
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata:
  name: dist-mnist-for-e2e-test
spec:
  minMember: 6
---
apiVersion: \"kubeflow.org/v1\"
kind: \"TFJob\"
metadata:
  name: \"dist-mnist-for-e2e-test\"
spec:
  tfReplicaSpecs:
    PS:
      replicas: 2
      restartPolicy: Never
      template:
        spec:
          containers:
            - name: tensorflow
              image: ccr.ccs.tencentyun.com/chenyong/tf-dist-mnist-test:1.0
    Worker:
      replicas: 4
      restartPolicy: Never
      template:
        spec:
          containers:
            - name: tensorflow
              image: ccr.ccs.tencentyun.com/chenyong/tf-dist-mnist-test:1.0
";

fn published(stage: &mut Stage<'_>) {
    let namespace = stage.namespace.name();
    let apply = ["apply", "--namespace", namespace, "--filename", "-"];
    stage.cluster.kubectl().run_with(&apply, PUBLISHED).good();
    let job = "dist-mnist-for-e2e-test";
    stage.until_placed(job, 6);
    for (role, count) in [("ps", 2), ("worker", 4)] {
        for index in 0..count {
            let pod = format!("{job}-{role}-{index}");
            stage.cluster.player().run(stage.namespace, &pod);
        }
    }
    stage.until_condition(job, "Running");
    for index in 0..4 {
        stage.exit(job, index, 0);
    }
    stage.until_condition(job, "Succeeded");
    let group = stage.api().get(&stage.group(job)).unwrap();
    assert_eq!(
        group["metadata"]["ownerReferences"],
        json!(null),
        "it is the user's"
    );
    assert_eq!(
        (&group["spec"]["minMember"], &group["spec"]["minResources"]),
        (&json!(6), &json!(null))
    );
}

fn needs_more_members(stage: &mut Stage<'_>) {
    let group = json!({
        "apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": { "name": "theirs" },
        "spec": { "schedulingPolicy": { "gang": { "minCount": 3 } } },
    });
    let groups = stage.namespace.path(NATIVE.groups, "podgroups");
    stage.api().create(&groups, &group).unwrap();
    stage.create("theirs", 2);
    let words = stage.until_held("theirs");
    assert!(
        words.contains("2 of the 3 members that it needs exist"),
        "{words}"
    );
    stage.none_is_placed("theirs");
    let fewer = json!({ "spec": { "schedulingPolicy": { "gang": { "minCount": 2 } } } });
    stage.api().patch(&stage.group("theirs"), &fewer).unwrap();
    stage.until_placed("theirs", 2);
    stage.run("theirs", &[0, 1]);
    for index in 0..2 {
        stage.exit("theirs", index, 0);
    }
    stage.until_condition("theirs", "Succeeded");
}

fn large_and_small(stage: &mut Stage<'_>) {
    let class = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": { "name": "urgent" }, "value": 1000,
    });
    stage
        .api()
        .create("/apis/scheduling.k8s.io/v1/priorityclasses", &class)
        .unwrap();
    let policy = json!({ "schedulingPolicy": { "priorityClass": "urgent" } });
    let mut unlike = job("unlike", &policy, &[("PS", 3, "Never"), ("Worker", 2, "Never")]);
    for (role, processors) in [("PS", "2"), ("Worker", "8")] {
        let spec = &mut unlike["spec"]["tfReplicaSpecs"][role]["template"]["spec"];
        spec["containers"][0]["resources"] = json!({ "requests": { "cpu": processors } });
    }
    let jobs = stage.namespace.path("apis/kubeflow.org/v1", "tfjobs");
    stage.api().create(&jobs, &unlike).unwrap();
    // Two nodes for the large ones, and the third for the others: small ones first would not fit.
    stage.until_placed("unlike", 5);
    let group = stage.api().get(&stage.group("unlike")).unwrap();
    let pod = stage.api().get(&stage.namespace.pod("unlike-ps-0")).unwrap();
    assert_eq!(
        (&group["spec"]["priority"], &pod["spec"]["priority"]),
        (&json!(1000), &json!(1000))
    );
}
