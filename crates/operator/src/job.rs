//! A job as the API server shows it, and what it means.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::panic::catch_unwind;
use std::sync::Arc;

use serde::Deserialize as _;
use serde_json::Value;
use trainyard_core::{AddressBook, Cluster, GangScheduler, Job, Memory, Order, Subject, Time, addresses};
use trainyard_dialect::{read_value, tensorboard};
use trainyard_document::problem::{Problem, Severity};
use trainyard_manifest::cluster_map::ClusterMap;
use trainyard_manifest::gang::{Began, Placing, Schedulers, deadlock, gang, unplaced};
use trainyard_manifest::isolation;
use trainyard_manifest::kinds::Kinds;
use trainyard_manifest::kueue::{PRIORITY_LABEL, Queued, queue_of};
use trainyard_manifest::task_pod::{Owner, TaskPods, fixture_names};
use trainyard_status::{MEMORY_FIELD, Unread};

use crate::board::{self, WantedBoard};
pub use crate::job_wire::JobWire;
use crate::kinds::{self, Kind};
use crate::reconcile::wait::{Reason, Wait};
use crate::store::{NeededObject, panic_words};
use crate::{order, other_manager};

/// Longest description of what is wrong with a job, in characters.
const LONGEST: usize = 4000;

/// Identifies a job: two of the same name may follow each other, but never exist at once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobKey {
    /// Its kind.
    pub kind: &'static Kind,
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

impl JobKey {
    /// The job of that kind and name.
    #[must_use]
    pub fn of(kind: &'static Kind, namespace: &Arc<str>, name: &Arc<str>) -> Self {
        Self {
            kind,
            namespace: Arc::clone(namespace),
            name: Arc::clone(name),
        }
    }

    /// The job of another kind with the same name, whose pods, Services and groups would have the same names.
    #[must_use]
    pub fn namesake(&self, kind: &'static Kind) -> Self {
        Self { kind, ..self.clone() }
    }
}

/// A job as it was last seen or written.
#[derive(Clone, Debug)]
pub struct JobSeen {
    /// Its kind, namespace and name.
    pub key: JobKey,
    /// Which job of that name.
    pub uid: Arc<str>,
    /// Its version.
    pub version: u64,
    /// Grows with every change of its spec.
    pub generation: i64,
    /// Differs with every change of its annotations and labels, of which the generation says nothing.
    marks: u64,
    /// When it was created.
    pub created: Time,
    /// It is being deleted.
    pub deleting: bool,
    /// Its status.
    pub status: Option<Value>,
    /// What it means, or why it means nothing.
    pub meaning: Arc<Meaning>,
    /// What is wrong with its last edit, where that is not what it means.
    pub mistake: Option<Arc<str>>,
    /// The order that its annotation gives, or why that is none.
    pub order: Option<Result<Order, Arc<str>>>,
    /// Why nothing is done about it, where another controller writes its status.
    pub other_manager: Option<Arc<str>>,
}

/// What a job's spec means.
#[derive(Debug)]
pub enum Meaning {
    /// This.
    Job(Box<Compiled>),
    /// Another controller is to run it.
    NotOurs,
    /// Nothing is done about it, and its status says why, until the job or the operator is changed.
    Waits(Wait),
    /// It cannot be read: these are the problems, one a line.
    Broken(String),
}

/// A job that can be run.
#[derive(Debug)]
pub struct Compiled {
    /// The job, and what comes with it.
    pub subject: Subject,
    /// Where its tasks are found.
    pub book: AddressBook,
    /// What `TF_CONFIG` says.
    pub cluster: Cluster,
    /// The map of addresses.
    pub map: ClusterMap,
    /// What has to be there before the first task.
    pub needed: Vec<NeededObject>,
    /// The TensorBoard that it asks for.
    pub board: Option<Arc<WantedBoard>>,
    /// What stands for it in a queue of Kueue's, if it names one.
    pub queued: Option<Arc<Queued>>,
    /// It has ended, and what only its tasks need has been let go.
    pub shrunk: bool,
}

impl Compiled {
    /// The job that `step` decides about.
    #[must_use]
    pub fn job(&self) -> &Job {
        &self.subject.job
    }

    /// What makes its pods.
    #[must_use]
    pub fn pods<'a>(&'a self, owner: &Owner) -> TaskPods<'a> {
        TaskPods::of(&self.subject, &self.book, &self.cluster, &self.map, owner)
    }
}

/// How an operator reads jobs.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub struct Reading {
    /// Which kinds of jobs are run. Nothing is watched of others.
    pub kinds: Vec<&'static Kind>,
    /// What follows `svc` in addresses, on clusters with a domain of their own.
    pub domain: Option<String>,
    /// Every job has a Service a replica, as Kubeflow's have, unless it says otherwise.
    pub per_replica: bool,
    /// Pods and Services also get the labels of Kubeflow's first operators.
    pub legacy_labels: bool,
    /// A TensorBoard is created for jobs that ask for one, and Deployments are watched.
    pub tensorboard: bool,
    /// A NetworkPolicy is created for jobs that ask to be isolated, and NetworkPolicies are watched.
    pub network_policies: bool,
    /// The image of `TensorBoard`s whose settings name none.
    pub tensorboard_image: String,
    /// Jobs with the name of a queue run when Kueue admits them, and Workloads are watched.
    pub kueue: bool,
    /// The gang schedulers that jobs may be placed by. Without any, every task is placed by itself, whatever its job says.
    pub gang: Schedulers,
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            kinds: kinds::chosen(&Kinds::default()),
            domain: None,
            per_replica: false,
            legacy_labels: false,
            tensorboard: false,
            network_policies: false,
            tensorboard_image: trainyard_manifest::tensorboard::IMAGE.to_owned(),
            kueue: false,
            gang: Schedulers::default(),
        }
    }
}

impl Reading {
    /// Reads a job; what it means is taken over from `before` where nothing has changed.
    #[must_use]
    pub fn read(&self, kind: &'static Kind, wire: JobWire, before: Option<&JobSeen>) -> JobSeen {
        let meta = &wire.metadata;
        let text = |text: &Option<String>| Arc::<str>::from(text.as_deref().unwrap_or_default());
        let uid = text(&meta.uid);
        let generation = meta.generation.unwrap_or_default();
        let mut marks = DefaultHasher::new();
        (&meta.annotations, &meta.labels).hash(&mut marks);
        let marks = marks.finish();
        let same = before.filter(|before| {
            before.uid == uid && (before.generation, before.marks) == (generation, marks) && generation > 0
        });
        let (meaning, mistake) = match same {
            Some(before) => (Arc::clone(&before.meaning), before.mistake.clone()),
            None => self.meaning_after(kind, &wire, &uid, before),
        };
        let other_manager = other_manager::found(kind, &wire, before);
        JobSeen {
            other_manager,
            key: JobKey {
                kind,
                namespace: text(&meta.namespace),
                name: text(&meta.name),
            },
            version: version(meta.resource_version.as_deref()),
            created: Time(
                meta.creation_timestamp
                    .as_ref()
                    .map_or(0, |time| u64::try_from(time.0.as_second()).unwrap_or_default()),
            ),
            deleting: meta.deletion_timestamp.is_some(),
            order: order::read(meta.annotations.as_ref()),
            meaning,
            mistake,
            uid,
            generation,
            marks,
            status: wire.status,
        }
    }

    /// What a changed job means. An edit that cannot be read leaves a job that runs as it was: its tasks must not end, nor
    /// its deadline be forgotten, because of it.
    fn meaning_after(
        &self,
        kind: &'static Kind,
        wire: &JobWire,
        uid: &Arc<str>,
        before: Option<&JobSeen>,
    ) -> (Arc<Meaning>, Option<Arc<str>>) {
        let last = before
            .filter(|before| before.uid == *uid)
            .map(|before| &before.meaning);
        let read = catch_unwind(|| self.meaning(kind, wire, uid));
        let meaning = read.unwrap_or_else(|panic| {
            let words = panic_words(&*panic);
            Meaning::Broken(format!(
                "the operator failed to read it, which is a bug of the operator: {words}"
            ))
        });
        match (meaning, last) {
            (Meaning::Broken(words) | Meaning::Waits(Wait { message: words, .. }), Some(last))
                if matches!(**last, Meaning::Job(_)) =>
            {
                (Arc::clone(last), Some(words.into()))
            }
            (meaning, _) => (Arc::new(meaning), None),
        }
    }

    fn meaning(&self, kind: &'static Kind, wire: &JobWire, uid: &Arc<str>) -> Meaning {
        if let Some(words) = &wire.unreadable {
            return Meaning::Broken(words.clone());
        }
        let memory = stored_memory(wire.status.as_ref());
        let Some(manifest) = (kind.manifest)(wire, memory.as_ref(), self) else {
            return Meaning::NotOurs;
        };
        // A spec of a megabyte may have as much wrong with it.
        let broken = |words: String| Meaning::Broken(words.chars().take(LONGEST).collect());
        let (reading, flaw) = read_with_board("job", manifest);
        let Some(job) = reading.jobs().next() else {
            let errors = reading
                .problems
                .iter()
                .filter(|problem| problem.severity == Severity::Error);
            let words = errors.map(Problem::in_a_line);
            return broken(words.collect::<Vec<_>>().join("; "));
        };
        let mut subject = job.subject(None, None);
        subject.job.uid = Arc::clone(uid);
        subject.legacy_labels = self.legacy_labels;
        // A job that runs is placed as it began; one that has not begun or is held follows its manifest.
        let began = match &memory {
            Some(memory) if memory.started.is_some() && memory.held.is_none() => {
                Began::As(memory.gang.as_deref())
            }
            _ => Began::NotYet,
        };
        match isolation::policy(&subject) {
            Some(_) if !self.network_policies => return not_isolated(),
            policy => subject.objects.extend(policy),
        }
        let placing = self.gang.placing(&job.gang, began);
        let scheduler = match placing {
            Placing::Alone => None,
            Placing::Together(scheduler) => Some(scheduler),
            Placing::NotChosen(scheduler) => return not_chosen(&scheduler, &self.gang),
        };
        subject.job.gang = match &scheduler {
            Some(scheduler) => Some(gang(scheduler, &subject.job)),
            None => unplaced(&subject),
        };
        if let Some(words) = deadlock(&subject.job) {
            return broken(words);
        }
        let book = addresses(&subject.job, self.domain.as_deref());
        let cluster = Cluster::of(&subject.job, &book);
        let mut map = ClusterMap::of(&subject.job, &book, &cluster);
        // One object less a job: hosts stand in the pods that ask for them, as long as that is short.
        map.inline = !map.large;
        let needed = fixture_names(&subject, &map);
        let needed = needed
            .map(|(plural, name)| NeededObject::of(plural, &name))
            .collect();
        let mut compiled = Compiled {
            book,
            cluster,
            map,
            needed,
            board: board::wanted(kind, &subject, self, flaw.as_deref()),
            queued: None,
            shrunk: false,
            subject,
        };
        compiled.queued = self.queued(kind, wire, &compiled).map(Arc::new);
        Meaning::Job(Box::new(compiled))
    }

    /// What stands for a job in the queue that its label names.
    fn queued(&self, kind: &'static Kind, wire: &JobWire, compiled: &Compiled) -> Option<Queued> {
        let labels = wire.metadata.labels.as_ref();
        let queue = queue_of(labels).filter(|_| self.kueue)?;
        let job = compiled.job();
        let owner = Owner {
            api: kind.api,
            name: Arc::clone(&job.name),
            uid: Arc::clone(&job.uid),
        };
        let class = labels.and_then(|labels| labels.get(PRIORITY_LABEL));
        let pods = compiled.pods(&owner);
        Some(Queued::of(kind.api, job, queue, class.map(String::as_str), &pods))
    }
}

/// Reads a manifest; if the settings of its TensorBoard are wrong, without them, and what is wrong: no job fails by its TensorBoard.
fn read_with_board(name: &str, mut manifest: Value) -> (trainyard_dialect::Reading, Option<String>) {
    let reading = read_value(name, &manifest);
    let Some(flaws) = tensorboard::flaws(&reading.problems) else {
        return (reading, None);
    };
    tensorboard::remove(&mut manifest);
    let without = read_value(name, &manifest);
    if without.jobs().next().is_some() {
        (without, Some(flaws))
    } else {
        (reading, None)
    }
}

impl JobSeen {
    /// The memory that its status holds.
    pub fn memory(&self, job: &Job) -> Result<Option<Memory>, Unread> {
        (self.key.kind.memory)(self.status.as_ref(), job)
    }
}

/// The memory in a status, whichever job it is of; none where there is none, or it cannot be read.
#[must_use]
pub fn stored_memory(status: Option<&Value>) -> Option<Memory> {
    Memory::deserialize(status?.get(MEMORY_FIELD)?).ok()
}

/// The operator has no rights for NetworkPolicies. The job is not run without one: others could connect to its pods.
fn not_isolated() -> Meaning {
    let message = "the job asks to be isolated, and the operator was installed without the right to create NetworkPolicies: install it \
                   again with `--network-policies` beside the flags that it has, or remove the annotation `trainyard.dev/network-policy`";
    Meaning::Waits(Wait::new(Reason::NetworkPoliciesNotEnabled, message))
}

/// The operator has no rights for this scheduler, and no watch of its groups.
fn not_chosen(named: &GangScheduler, told: &Schedulers) -> Meaning {
    let name = named.word().unwrap_or_default();
    let told = match told.to_string() {
        none if none.is_empty() => "no gang scheduler".to_owned(),
        names => format!("`{names}` alone"),
    };
    let message = format!(
        "the job asks for the gang scheduler `{name}`, and the operator was installed with {told}: install it again with `{name}` \
         in `--gang-scheduler-name`, or set the annotation `trainyard.dev/gang` to another scheduler, or to `none` for its pods to be placed one by one"
    );
    Meaning::Waits(Wait::new(Reason::GangSchedulerNotChosen, message))
}

/// Versions of one kind of object grow; one that is no number is older than all.
#[must_use]
pub fn version(text: Option<&str>) -> u64 {
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trainyard_core::TaskId;
    use trainyard_manifest::names::Life;

    use super::*;
    use crate::kinds::tfjob::KIND as TFJOB;

    #[test]
    fn a_job_is_read_again_when_its_spec_or_an_annotation_changes() {
        let seen = |generation: i64, scope: &str, before: Option<&JobSeen>| {
            let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "i" }] } });
            let wire = json!({
                "metadata": {
                    "name": "mnist", "namespace": "ml", "uid": "u", "generation": generation,
                    "annotations": { "trainyard.dev/restart-scope": scope },
                },
                "spec": { "tfReplicaSpecs": { "Worker": { "template": template } } },
            });
            Reading::default().read(&TFJOB, serde_json::from_value(wire).unwrap(), before)
        };
        let first = seen(1, "Job", None);
        let again =
            |generation, scope| !Arc::ptr_eq(&seen(generation, scope, Some(&first)).meaning, &first.meaning);
        assert!(!again(1, "Job"), "a new status alone");
        assert!(again(2, "Job") && again(1, "Replica"));
        let wrong = seen(1, "Sometimes", Some(&first));
        assert!(wrong.mistake.is_some_and(|words| words.contains("restart-scope")));
        assert!(
            Arc::ptr_eq(&wrong.meaning, &first.meaning),
            "it goes on as it was"
        );
    }

    /// A job with that annotation and status, read by an operator with two gang schedulers.
    fn choosing(gang: &str, status: &Value, before: Option<&JobSeen>) -> JobSeen {
        let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "i" }] } });
        let wire = json!({
            "metadata": {
                "name": "mnist", "namespace": "ml", "uid": "u", "generation": 1,
                "annotations": { "trainyard.dev/gang": gang },
            },
            "spec": { "tfReplicaSpecs": { "Worker": { "template": template } } },
            "status": status,
        });
        let reading = Reading {
            gang: "volcano,plugins".parse().unwrap(),
            ..Reading::default()
        };
        reading.read(&TFJOB, serde_json::from_value(wire).unwrap(), before)
    }

    fn scheduler(seen: &JobSeen) -> &str {
        let Meaning::Job(compiled) = &*seen.meaning else {
            panic!("it cannot be read")
        };
        compiled.job().gang.as_ref().unwrap().scheduler.name().unwrap()
    }

    #[test]
    fn an_edit_that_names_a_gang_scheduler_that_was_not_chosen_leaves_a_job_as_it_was() {
        let first = choosing("plugins", &Value::Null, None);
        let edited = choosing("kube-batch", &Value::Null, Some(&first));
        assert!(Arc::ptr_eq(&edited.meaning, &first.meaning));
        assert!(edited.mistake.is_some_and(|words| words.contains("kube-batch")));
        let new = choosing("kube-batch", &Value::Null, None);
        assert!(matches!(&*new.meaning, Meaning::Waits(_)));
    }

    #[test]
    fn a_held_job_may_change_its_gang_scheduler_and_one_that_runs_may_not() {
        let began = |held: Option<&str>| {
            let memory = json!({ "format": 1, "job": "u", "started": 1_800_000_000, "gang": "volcano" });
            let mut status = json!({ "trainyard": memory });
            if let Some(held) = held {
                status["trainyard"]["held"] = held.into();
            }
            status
        };
        assert_eq!(scheduler(&choosing("plugins", &began(None), None)), "volcano");
        assert_eq!(
            scheduler(&choosing("plugins", &began(Some("Suspended")), None)),
            "plugins"
        );
    }

    #[test]
    fn a_job_for_a_scheduler_that_was_not_chosen_waits_and_says_what_to_do() {
        let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "i" }] } });
        let read = |gang: &str, told: &str| {
            let wire = json!({
                "metadata": {
                    "name": "mnist", "namespace": "ml", "uid": "u", "generation": 1,
                    "annotations": { "trainyard.dev/gang": gang },
                },
                "spec": {
                    "scheduler": { "t9kScheduler": { "queue": "q", "priority": 50 } },
                    "replicaSpecs": [{ "type": "worker", "template": template }],
                },
            });
            let reading = Reading {
                gang: told.parse().unwrap(),
                ..Reading::default()
            };
            let wire = serde_json::from_value(wire).unwrap();
            reading.read(&kinds::t9k::KIND, wire, None)
        };
        assert_eq!(scheduler(&read("t9k", "volcano,t9k")), "t9k-scheduler");
        let seen = read("t9k-scheduler", "volcano");
        let Meaning::Waits(wait) = &*seen.meaning else {
            panic!("it does not wait: {seen:?}")
        };
        assert_eq!(wait.reason, Reason::GangSchedulerNotChosen);
        assert!(
            wait.message.contains("`t9k`") && wait.message.contains("or to `none`"),
            "{}",
            wait.message
        );
        assert_eq!(scheduler(&read("volcano", "volcano")), "volcano");
        let alone = read("none", "volcano");
        let Meaning::Job(compiled) = &*alone.meaning else {
            panic!("it cannot be read: {alone:?}")
        };
        assert_eq!(compiled.job().gang, None);
    }

    /// The names of the variables of worker 0's containers, where its main one has these arguments.
    fn variables(argument: &str) -> Vec<Vec<String>> {
        let template = json!({ "spec": {
            "initContainers": [{ "name": "first", "image": "i" }],
            "containers": [{ "name": "tensorflow", "image": "i", "args": [argument] }, { "name": "beside", "image": "i" }],
        } });
        let wire = json!({
            "metadata": { "name": "mnist", "namespace": "ml", "uid": "u" },
            "spec": { "tfReplicaSpecs": { "Worker": { "replicas": 2, "template": template } } },
        });
        let seen = Reading::default().read(&TFJOB, serde_json::from_value(wire).unwrap(), None);
        let Meaning::Job(compiled) = &*seen.meaning else {
            panic!("it cannot be read")
        };
        let owner = Owner {
            api: TFJOB.api,
            name: "mnist".into(),
            uid: "u".into(),
        };
        let task: TaskId = "worker-0".parse().unwrap();
        let pod = compiled.pods(&owner).pod(&task, Life::default());
        let names = |container: &Value| {
            let variables = container["env"].as_array().into_iter().flatten();
            variables
                .map(|one| one["name"].as_str().unwrap().to_owned())
                .collect()
        };
        let lists = [&pod["spec"]["initContainers"], &pod["spec"]["containers"]];
        lists
            .iter()
            .flat_map(|list| list.as_array().unwrap())
            .map(names)
            .collect()
    }

    #[test]
    fn pods_get_tf_config_and_who_mentions_our_variables_gets_those_too() {
        let alone: [Vec<String>; 3] = [Vec::new(), vec!["TF_CONFIG".into()], Vec::new()];
        assert_eq!(variables("--epochs=3"), alone);
        let ours = [
            "TRAINYARD_ROLE",
            "TRAINYARD_INDEX",
            "TRAINYARD_CHIEF_HOSTS",
            "TRAINYARD_PS_HOSTS",
            "TRAINYARD_WORKER_HOSTS",
        ];
        let [first, main, beside] = &variables("--task=$(TRAINYARD_INDEX)")[..] else {
            panic!("three containers")
        };
        assert_eq!(
            (&first[..], &beside[..]),
            (&ours.map(String::from)[..], &first[..])
        );
        assert_eq!(main[..ours.len()], ours);
        assert_eq!(main[ours.len()..], ["TF_CONFIG"]);
    }
}
