//! T13 and T14: a tenant that forges pods, owners, labels, stamps and statuses between any two reconciles.
//!
//! Two jobs in two namespaces run by the same script twice, once with the adversary and once without. An object that is not a
//! task (by owner and by name) changes nothing that is written about the job; and whatever is done to one job, objects of
//! its own included, changes nothing that is written about the other. The values come from a seed and are drawn from the
//! whole range of their types. Mutants take one check away each, and must be noticed.

use std::collections::BTreeMap;

use trainyard_core::Stamp;

use super::*;

/// How many seeds are played; each is two runs.
const SEEDS: u64 = 100;

/// More applies than this in one second, and the loop never rests.
const MOST_PASSES: u32 = 500;

/// Seconds of one run.
const LENGTH: u64 = 120;

/// splitmix64: equal seeds, equal numbers.
pub struct Random(pub u64);

impl Random {
    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let at = self.below(u64::try_from(from.len()).unwrap());
        &from[usize::try_from(at).unwrap()]
    }

    /// Small, at an edge, or anything.
    pub fn any(&mut self) -> u64 {
        let edges = [
            u64::from(u32::MAX),
            u64::from(u32::MAX) + 1,
            u64::from(Stamp::MOST),
            u64::from(Stamp::MOST) + 1,
            u64::MAX,
            0,
        ];
        match self.below(3) {
            0 => self.below(4),
            1 => *self.pick(&edges),
            _ => self.number() >> self.below(64),
        }
    }
}

/// A check that is taken away from what the store is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mutant {
    None,
    /// A pod is a task's by its labels, whatever it is called.
    NoNameCheck,
    /// A pod is a job's by its labels, whatever its owner.
    NoOwnerCheck,
    /// A pod is a job's by its labels, in whatever namespace it is.
    NoNamespaceCheck,
}

/// What the adversary may do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Create and delete pods that are no task of the job.
    Strangers,
    /// That, and write what it likes on the pods and the status of job `a`.
    Everything,
}

/// Two jobs, the pods of both, and the store that watches them: the test is the API server and the kubelet.
struct World {
    store: Store,
    now: Time,
    jobs: BTreeMap<&'static str, PlayedJob>,
    mutant: Mutant,
}

#[derive(Default)]
struct PlayedJob {
    /// Of its own objects, so that one job's versions tell nothing of the other's.
    version: u64,
    status: Value,
    /// How many pods have been created for it: the same number in both runs.
    created: u32,
    pods: BTreeMap<String, Value>,
    strangers: Vec<Value>,
    /// Everything that was written about it, a line per reconcile.
    log: Vec<String>,
    /// Pods that were created and stopped, in order.
    actions: Vec<String>,
}

const NAMESPACES: [&str; 2] = ["a", "b"];

impl World {
    fn new(mutant: Mutant) -> Self {
        let mut world = Self {
            store: Store::new(Reading::default()),
            now: NOW,
            jobs: NAMESPACES.map(|name| (name, PlayedJob::default())).into(),
            mutant,
        };
        for namespace in NAMESPACES {
            world.show_job(namespace);
        }
        world
    }

    fn job(&mut self, namespace: &str) -> &mut PlayedJob {
        self.jobs.get_mut(namespace).unwrap()
    }

    fn version(&mut self, namespace: &str) -> u64 {
        let job = self.job(namespace);
        job.version += 1;
        job.version
    }

    fn show_job(&mut self, namespace: &str) {
        let version = self.version(namespace);
        let status = self.job(namespace).status.clone();
        let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "i" }] } });
        let wire = json!({
            "metadata": {
                "name": "mnist", "namespace": namespace, "uid": uid(namespace),
                "resourceVersion": version.to_string(), "generation": 1,
            },
            "spec": {
                "runPolicy": { "backoffLimit": 2 },
                "tfReplicaSpecs": { "Worker": { "replicas": 2, "restartPolicy": "ExitCode", "template": template } },
            },
            "status": status,
        });
        self.store.job_seen(&TFJOB, serde_json::from_value(wire).unwrap());
    }

    fn show_pod(&mut self, namespace: &str, name: &str) {
        let version = self.version(namespace).to_string();
        if let Some(pod) = self.job(namespace).pods.get_mut(name) {
            pod["metadata"]["resourceVersion"] = version.into();
            let seen = serde_json::from_value(pod.clone()).unwrap();
            self.store.pod_seen(&TFJOB, seen);
        }
    }

    /// Lets everything happen until then.
    fn pass(&mut self, until: Time) -> Result<(), String> {
        loop {
            self.settle()?;
            match self.store.wake() {
                Some(wake) if wake > self.now && wake <= until => self.now = wake,
                _ => break,
            }
        }
        self.now = until;
        self.settle()
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

    /// What the API server would do.
    fn apply(&mut self, writes: &Writes) {
        let namespace = NAMESPACES
            .into_iter()
            .find(|name| **name == *writes.key.namespace);
        let namespace = namespace.unwrap();
        let mut done = Report::of(writes.key.clone(), Arc::clone(&writes.uid));
        if let Some(status) = &writes.status {
            let version = self.version(namespace);
            self.job(namespace).status = status.clone();
            done.written = Some((version, status.clone()));
        }
        done.services = vec![ServiceSeen {
            name: "mnist".into(),
            namespace: namespace.into(),
            uid: "s1".into(),
            job: "mnist".into(),
            owner: Some(uid(namespace).into()),
        }];
        let mut gone = Vec::new();
        for action in &writes.actions {
            match action {
                Action::Create { task, stamp } => {
                    let version = self.version(namespace);
                    let mut pod = task_pod(namespace, &task.to_string(), version, *stamp);
                    self.job(namespace).created += 1;
                    pod["metadata"]["uid"] = format!("pod-{}", self.job(namespace).created).into();
                    let name = pod["metadata"]["name"].as_str().unwrap().to_owned();
                    if self.job(namespace).pods.contains_key(&name) {
                        done.error = Some(refusal(ApplyErrorKind::Creating(Created::Pod)));
                        break;
                    }
                    done.made.push(serde_json::from_value(pod.clone()).unwrap());
                    self.job(namespace).pods.insert(name, pod);
                }
                Action::Stop { instance, force, .. } => {
                    done.stopped.push((Arc::clone(instance), *force));
                    let job = self.job(namespace);
                    let named = job
                        .pods
                        .iter()
                        .find(|(_, pod)| pod["metadata"]["uid"] == **instance);
                    let name = named.map(|(name, _)| name.clone());
                    gone.extend(name.and_then(|name| job.pods.remove(&name)));
                }
                Action::Ensure(_)
                | Action::Remove(_)
                | Action::Ungate { .. }
                | Action::Answered(_)
                | Action::DeleteJob => {}
            }
        }
        let reasons: Vec<&Value> = writes.events.iter().map(|event| &event["reason"]).collect();
        let reasons: Vec<&&Value> = reasons.iter().filter(|reason| **reason != "UnknownPod").collect();
        let actions = writes.actions.iter().map(|action| format!("{action:?}"));
        self.job(namespace).actions.extend(actions);
        let line = format!("{:?} {:?} {reasons:?}", writes.status, writes.actions);
        if writes.status.is_some() || !writes.actions.is_empty() || !reasons.is_empty() {
            self.job(namespace).log.push(line);
        }
        self.store.applied(done, self.now);
        for pod in gone {
            self.store.pod_gone(&TFJOB, &serde_json::from_value(pod).unwrap());
        }
    }

    /// What happens to a job's pods by itself.
    fn happen(&mut self, namespace: &str, random: &mut Random) {
        let names: Vec<String> = self.job(namespace).pods.keys().cloned().collect();
        if names.is_empty() {
            return;
        }
        let name = random.pick(&names).clone();
        let status = match random.below(6) {
            0..=2 => running(),
            3 => exited(*random.pick(&[0, 1, 42])),
            _ => exited(*random.pick(&[137, 143, 255])),
        };
        let delete = random.below(8) == 0;
        let job = self.job(namespace);
        if delete {
            let pod = job.pods.remove(&name).unwrap();
            self.store.pod_gone(&TFJOB, &serde_json::from_value(pod).unwrap());
        } else if let Some(pod) = job.pods.get_mut(&name)
            && pod["status"]["containerStatuses"].is_null()
        {
            pod["status"] = status;
            self.show_pod(namespace, &name);
        }
    }

    /// The adversary's move in a namespace.
    fn forge(&mut self, namespace: &'static str, reach: Reach, random: &mut Random) {
        match random.below(if reach == Reach::Everything { 7 } else { 4 }) {
            0..=2 => self.forge_stranger(namespace, random),
            3 => self.delete_stranger(namespace),
            4 => self.forge_own_pod(namespace, random),
            5 => {
                self.job(namespace).status = forged_status(random);
                self.show_job(namespace);
            }
            _ => {
                self.job(namespace).status = Value::Null;
                self.show_job(namespace);
            }
        }
    }

    fn forge_stranger(&mut self, namespace: &'static str, random: &mut Random) {
        let version = self.version(namespace);
        let pod = stranger(namespace, version, random);
        let seen = self.mutated(&pod);
        self.store.pod_seen(&TFJOB, seen);
        self.job(namespace).strangers.push(pod);
    }

    fn delete_stranger(&mut self, namespace: &str) {
        if let Some(pod) = self.job(namespace).strangers.pop() {
            let seen = self.mutated(&pod);
            self.store.pod_gone(&TFJOB, &seen);
        }
    }

    /// Annotations and status of a task's own pod.
    fn forge_own_pod(&mut self, namespace: &str, random: &mut Random) {
        let names: Vec<String> = self.job(namespace).pods.keys().cloned().collect();
        if names.is_empty() {
            return;
        }
        let name = random.pick(&names).clone();
        let (stamp, status) = (forged_stamp(random), forged_pod_status(random));
        let job = self.job(namespace);
        if let Some(pod) = job.pods.get_mut(&name) {
            pod["metadata"]["annotations"]["trainyard.dev/stamp"] = stamp.into();
            pod["status"] = status;
        }
        self.show_pod(namespace, &name);
    }

    /// A forged pod as the store would be shown it without one of the checks.
    fn mutated(&self, pod: &Value) -> PodSeen {
        let mut seen: PodSeen = serde_json::from_value(pod.clone()).unwrap();
        match self.mutant {
            Mutant::None => {}
            Mutant::NoNameCheck => {
                let mut named = pod.clone();
                let label = |name: &str| {
                    pod["metadata"]["labels"][name]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned()
                };
                let (role, index) = (label("trainyard.dev/role"), label("trainyard.dev/task-index"));
                named["metadata"]["name"] = format!("mnist-{role}-{index}").into();
                let named: PodSeen = serde_json::from_value(named).unwrap();
                seen.task = named.task;
            }
            Mutant::NoOwnerCheck => seen.owner = Some(uid(&seen.namespace).into()),
            Mutant::NoNamespaceCheck => {
                seen.namespace = "b".into();
                seen.owner = Some(uid("b").into());
            }
        }
        seen
    }
}

fn uid(namespace: &str) -> String {
    format!("job-{namespace}")
}

fn task_pod(namespace: &str, task: &str, version: u64, stamp: Stamp) -> Value {
    let (role, index) = task.rsplit_once('-').unwrap();
    json!({
        "metadata": {
            "name": format!("mnist-{task}"), "namespace": namespace, "uid": "",
            "resourceVersion": version.to_string(), "creationTimestamp": "2027-01-15T07:59:58Z",
            "labels": {
                "trainyard.dev/job-name": "mnist", "trainyard.dev/role": role, "trainyard.dev/task-index": index,
            },
            "annotations": { "trainyard.dev/stamp": format!("{}.{}", stamp.epoch, stamp.attempt) },
            "ownerReferences": [{
                "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "uid": uid(namespace), "controller": true,
            }],
        },
        "spec": { "restartPolicy": "Never", "containers": [{ "name": "tensorflow" }] },
        "status": {},
    })
}

/// A pod that is no task: its owner is another, or its name is not the task's that its labels name.
fn stranger(namespace: &str, version: u64, random: &mut Random) -> Value {
    let index = random.any().to_string();
    let index = (*random.pick(&["0", "1", "01", "-1", "4294967295", index.as_str()])).to_owned();
    let role = *random.pick(&["worker", "worker", "ps", "Worker", "nonsense", ""]);
    let task_name = format!("mnist-{role}-{index}");
    let is_task = ["mnist-worker-0", "mnist-worker-1"].contains(&task_name.as_str());
    // A task's own name is taken by its pod.
    let named = !is_task && random.below(2) == 0;
    let name = if named {
        task_name
    } else {
        format!("forged-{version}")
    };
    // With a task's name and the job's UID it would be a task that was scaled away, and be stopped.
    let owners = if named { 3 } else { 4 };
    let owner = match random.below(owners) {
        0 => json!([]),
        1 => {
            json!([{ "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "uid": random.any().to_string(), "controller": true }])
        }
        2 => json!([{ "apiVersion": "batch/v1", "kind": "Job", "uid": uid(namespace), "controller": true }]),
        _ => {
            json!([{ "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "uid": uid(namespace), "controller": true }])
        }
    };
    let mut pod = task_pod(namespace, "worker-0", version, Stamp::default());
    pod["metadata"]["name"] = name.into();
    pod["metadata"]["uid"] = format!("forged-{version}").into();
    pod["metadata"]["labels"]["trainyard.dev/role"] = role.into();
    pod["metadata"]["labels"]["trainyard.dev/task-index"] = index.into();
    pod["metadata"]["annotations"]["trainyard.dev/stamp"] = forged_stamp(random).into();
    pod["metadata"]["ownerReferences"] = owner;
    pod["status"] = forged_pod_status(random);
    pod
}

fn forged_stamp(random: &mut Random) -> String {
    let stamp = format!("{}.{}", random.any(), random.any());
    match random.below(6) {
        0 => "0.0".into(),
        1 => (*random.pick(&["", ".", "-1.-1", "1", "a.b", "0.0.0"])).to_owned(),
        _ => stamp,
    }
}

fn forged_pod_status(random: &mut Random) -> Value {
    let code = i32::try_from(random.any() % (1 << 31)).unwrap_or_default();
    let mut status = exited(*random.pick(&[0, 1, 137, code, -code]));
    let times = [
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        "2027-01-15T08:00:01Z",
        "soon",
    ];
    let container = &mut status["containerStatuses"][0];
    container["restartCount"] = (random.any() % (1 << 31)).into();
    for field in ["startedAt", "finishedAt"] {
        container["state"]["terminated"][field] = (*random.pick(&times)).into();
    }
    match random.below(4) {
        0 => running(),
        1 => json!({ "phase": *random.pick(&["Succeeded", "Failed", "Unknown", ""]) }),
        _ => status,
    }
}

/// A status with a memory that no operator wrote.
fn forged_status(random: &mut Random) -> Value {
    let range = format!("{}-{}", random.below(4), random.any() % (1 << 32));
    let mut memory = json!({
        "format": 1, "job": *random.pick(&["job-a", "job-a", "job-b", ""]), "epoch": random.any(), "paid": random.any(),
        "notBefore": random.any(), "started": random.any(), "inPlaceGone": random.any(), "inPlaceMost": random.any(),
        "roles": { "worker": {
            "attempts": format!("{range}:{}", 1 + random.any() % 1000), "done": range, "failed": range,
            "born": random.any(), "notBefore": format!("{range}:1"),
        } },
    });
    for field in [
        "epoch",
        "paid",
        "notBefore",
        "started",
        "inPlaceGone",
        "inPlaceMost",
        "roles",
    ] {
        if random.below(2) == 0 {
            memory.as_object_mut().unwrap().remove(field);
        }
    }
    match random.below(5) {
        0 => json!({ "trainyard": "text", "conditions": "text" }),
        1 => json!({ "conditions": [{ "type": "Running", "status": "True" }] }),
        _ => json!({ "startTime": "2027-01-15T07:59:58Z", "trainyard": memory }),
    }
}

/// What a job has come to: every pod that was created or stopped, and what is remembered at the end, without times.
fn decided(job: &PlayedJob) -> Vec<String> {
    let memory = &job.status["trainyard"];
    let roles = &memory["roles"]["worker"];
    let verdict = &memory["verdict"];
    let facts = [
        &memory["epoch"],
        &memory["paid"],
        &roles["attempts"],
        &roles["done"],
        &roles["failed"],
        &verdict["outcome"],
        &verdict["cause"],
    ];
    let facts = facts.map(ToString::to_string);
    job.actions.iter().cloned().chain(facts).collect()
}

/// What was written about each job in one run.
fn play(
    seed: u64,
    reach: Option<Reach>,
    mutant: Mutant,
) -> Result<BTreeMap<&'static str, PlayedJob>, String> {
    let mut world = World::new(mutant);
    let mut lives = NAMESPACES.map(|_| Random(seed));
    let mut adversary = Random(seed ^ 0x5eed);
    // Both jobs have begun before: the store learns from the first status whether memory is kept.
    world.pass(NOW + 3)?;
    let mut second = 3;
    while second < LENGTH {
        second += 1 + Random(seed ^ second).below(8);
        world.pass(NOW + u32::try_from(second).unwrap())?;
        for (namespace, random) in NAMESPACES.into_iter().zip(&mut lives) {
            world.happen(namespace, random);
        }
        if let Some(reach) = reach {
            for _ in 0..adversary.below(4) {
                world.forge("a", reach, &mut adversary);
                // Between any two reconciles: not only at the end of a second.
                if adversary.below(2) == 0 {
                    world.settle()?;
                }
            }
        }
    }
    world.pass(NOW + 1000)?;
    Ok(world.jobs)
}

/// The first difference that the adversary makes to a job.
fn difference(seed: u64, job: &str, reach: Reach, mutant: Mutant) -> Option<String> {
    let calm = play(seed, None, Mutant::None).unwrap();
    let attacked = match play(seed, Some(reach), mutant) {
        Ok(jobs) => jobs,
        Err(why) => return Some(format!("seed {seed}: {why}")),
    };
    // An event of the adversary's may bring a reconcile, and with it a status, forward: of the job that it is about less is
    // claimed, of the other one every byte.
    let written = |jobs: &BTreeMap<&str, PlayedJob>| match job {
        "a" => decided(&jobs[job]),
        _ => jobs[job].log.clone(),
    };
    let (calm, attacked) = (written(&calm), written(&attacked));
    (calm != attacked).then(|| {
        let at = calm.iter().zip(&attacked).position(|(one, other)| one != other);
        let at = at.unwrap_or_else(|| calm.len().min(attacked.len()));
        format!(
            "seed {seed}, entry {at}:\ncalm     {:?}\nattacked {:?}",
            calm.get(at),
            attacked.get(at)
        )
    })
}

#[test]
fn t13_objects_that_are_not_the_task_change_nothing_that_is_decided() {
    for seed in 0..SEEDS {
        let found = difference(seed, "a", Reach::Strangers, Mutant::None);
        assert_eq!(found, None);
    }
}

#[test]
fn t14_whatever_is_forged_about_one_job_changes_nothing_about_another() {
    for seed in 0..SEEDS {
        let found = difference(seed, "b", Reach::Everything, Mutant::None);
        assert_eq!(found, None);
    }
}

#[test]
fn each_check_taken_away_is_noticed() {
    for (what, mutant, job) in [
        ("the name of a pod", Mutant::NoNameCheck, "a"),
        ("the owner of a pod", Mutant::NoOwnerCheck, "a"),
        ("the namespace of a pod", Mutant::NoNamespaceCheck, "b"),
    ] {
        let noticed = (0..SEEDS).any(|seed| difference(seed, job, Reach::Strangers, mutant).is_some());
        assert!(noticed, "{what} is not looked at, and nothing differs");
    }
}
