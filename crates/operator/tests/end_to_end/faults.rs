//! Whatever goes wrong with a write or a watch, the job ends as one with which nothing went wrong.
//!
//! ```text
//! operator ─▶ FaultyProxy ─▶ API server      one run undisturbed, then one for each kind of write and each fault
//! ```
//!
//! Each run has its own namespace, operator and proxy. Many run at once, since most of the time they wait.

mod told;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trainyard_cluster_tests::fake_kubelet::{FakeKubelet, History, ProgramEnd, Script};
use trainyard_cluster_tests::faulty::{Fault, FaultyProxy, Write};
use trainyard_cluster_tests::{Namespace, shared};

pub use self::told::Told;
use super::{NODE, install, job, shown};

/// What goes wrong with a write: every second of its kind, or every one where the operator is killed.
const FAULTS: [Fault; 8] = [
    Fault::KillUnanswered,
    Fault::KillAnswered,
    Fault::Refuse(409),
    Fault::Refuse(429),
    Fault::Refuse(500),
    Fault::Refuse(504),
    Fault::Deny(504),
    Fault::HangUp,
];

/// What goes wrong with watches, after every second write.
const WATCHES: [Fault; 3] = [Fault::CutWatches, Fault::Gone, Fault::GoneInside];

/// So many runs side by side: they wait, most of the time.
const AT_ONCE: usize = 18;

/// An undisturbed run takes 20 s; faults cost waits of 1 s, 2 s, 4 s.
const PATIENCE: Duration = Duration::from_secs(100);

/// What goes wrong in one run: with a kind of write, or with watches.
pub type Plan = (Option<Write>, Fault);

/// A run of one job, and how it is played.
pub struct Run {
    /// Version and plural of the job.
    pub jobs: (&'static str, &'static str),
    /// Options of the operator beside the usual.
    pub options: &'static [&'static str],
    /// What is there before the operator.
    pub before: fn(&Namespace<'_>),
    /// Plays the job until it is gone.
    pub play: fn(&Namespace<'_>, &FakeKubelet, &FaultyProxy) -> Result<(), String>,
}

/// The runs of TFJobs.
const TFJOB: Run = Run {
    jobs: ("apis/kubeflow.org/v1", "tfjobs"),
    options: &[],
    before: forerunner,
    play,
};

#[test]
fn a_job_ends_the_same_whatever_goes_wrong_with_a_write_or_a_watch() {
    install();
    let undisturbed = run(None).unwrap();
    for write in Write::ALL {
        let count = undisturbed.writes.iter().filter(|one| **one == write).count();
        assert!(count > 0, "nothing of the kind {write:?}: {undisturbed:#?}");
    }
    // A pod is deleted in any version; a job only in the version that was read, since a user may have given it more time (ADR 11).
    for (write, name, versioned) in &undisturbed.deleted {
        assert_eq!(*versioned, *write == Write::JobDelete, "{name}: {undisturbed:#?}");
    }
    let first = |write: Write| undisturbed.writes.iter().position(|one| *one == write);
    assert!(first(Write::Pod) < first(Write::Status), "{undisturbed:#?}");
    let writes = Write::ALL.into_iter();
    let each = writes.flat_map(|write| FAULTS.map(|fault| (Some(write), fault)));
    let plans: Vec<Plan> = each.chain(WATCHES.map(|fault| (None, fault))).collect();
    each_is_the_same(plans, |plan| differences(&undisturbed, plan));
}

/// Plays every plan, many at once, and fails with what differs.
pub fn each_is_the_same(plans: Vec<Plan>, differences: impl Fn(Plan) -> Vec<String> + Sync) {
    let (open, wrong) = (Mutex::new(plans), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(plan) = { open.lock().unwrap().pop() } {
                    let differences = differences(plan);
                    if !differences.is_empty() {
                        let told = format!("{plan:?}\n  {}", differences.join("\n  "));
                        wrong.lock().unwrap().push(told);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// What can be told of a run when it is over.
#[derive(Debug)]
struct Outcome {
    /// The last status of the job, without times.
    conditions: Vec<(String, String, String)>,
    counts: Value,
    memory: Value,
    /// Pods by name and stamp, as they came.
    made: BTreeMap<String, u32>,
    services: Vec<String>,
    /// What was deleted: kind and name, and whether in one version only; each object once.
    deleted: Vec<(Write, String, bool)>,
    /// Reasons of events, sorted.
    events: Vec<String>,
    writes: Vec<Write>,
    disturbed: u32,
}

fn differences(undisturbed: &Outcome, plan: Plan) -> Vec<String> {
    let found = match run(Some(plan)) {
        Ok(found) => found,
        Err(why) => return vec![why],
    };
    let mut wrong = Vec::new();
    let mut same = |what: &str, here: String, there: String| {
        if here != there {
            wrong.push(format!("{what}: undisturbed {there}, here {here}"));
        }
    };
    let (here, there) = (&found, undisturbed);
    same(
        "conditions",
        format!("{:?}", here.conditions),
        format!("{:?}", there.conditions),
    );
    same("counts", here.counts.to_string(), there.counts.to_string());
    same("memory", here.memory.to_string(), there.memory.to_string());
    same(
        "pods made",
        format!("{:?}", here.made),
        format!("{:?}", there.made),
    );
    same(
        "services",
        format!("{:?}", here.services),
        format!("{:?}", there.services),
    );
    same(
        "deleted",
        format!("{:?}", here.deleted),
        format!("{:?}", there.deleted),
    );
    if found.disturbed == 0 {
        wrong.push("nothing went wrong in this run".into());
    }
    // One may be lost, since a job matters more; none may be told twice.
    let mut rest = there.events.clone();
    for event in &here.events {
        match rest.iter().position(|known| known == event) {
            Some(position) => drop(rest.remove(position)),
            None => wrong.push(format!("an event too many: {event} in {:?}", here.events)),
        }
    }
    if found.writes.len() > there.writes.len() * 3 {
        wrong.push(format!("{} writes: {:?}", found.writes.len(), found.writes));
    }
    wrong
}

/// Plays the job: one worker dies of a signal and is made again, the other ends the job, which is deleted soon after.
fn run(plan: Option<Plan>) -> Result<Outcome, String> {
    TFJOB.run(plan, outcome)
}

impl Run {
    /// Plays the job with this going wrong; gives what can be told of it.
    pub fn run<T>(
        &self,
        plan: Option<Plan>,
        outcome: impl FnOnce(&History, &FaultyProxy) -> T,
    ) -> Result<T, String> {
        let namespace = shared().namespace("faults");
        let kubelet = FakeKubelet::of_jobs(&namespace, NODE, self.jobs);
        let here = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let place = here.join(format!("{}.kubeconfig", namespace.name()));
        let log = here.join(format!("{}.log", namespace.name()));
        let way = FaultyProxy::open(&shared().kubeconfig(), place, plan);
        (self.before)(&namespace);
        let over = AtomicBool::new(false);
        let ended = thread::scope(|scope| {
            let operator = scope.spawn(|| keep_alive(&namespace, self.options, &way, &log, &over));
            let ended = (self.play)(&namespace, &kubelet, &way);
            over.store(true, Ordering::SeqCst);
            while !operator.is_finished() {
                way.kill();
                thread::sleep(Duration::from_millis(10));
            }
            ended
        });
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        let _ = std::fs::remove_file(&log);
        let told = || kubelet.look(story);
        ended.map_err(|why| {
            format!(
                "{why}\nwrites: {:?}\n{}\nthe operator said:\n{said}",
                way.writes(),
                told()
            )
        })?;
        Ok(kubelet.look(|history| outcome(history, &way)))
    }
}

/// Starts the operator, again whenever it was killed.
fn keep_alive(
    namespace: &Namespace<'_>,
    options: &[&str],
    way: &FaultyProxy,
    log: &PathBuf,
    over: &AtomicBool,
) {
    while !over.load(Ordering::SeqCst) {
        let log = File::options().create(true).append(true).open(log).unwrap();
        let mut child = Command::new(trainyard_tools::trainyard().unwrap())
            .args([
                "operator",
                "--log-format",
                "json",
                "--namespace",
                namespace.name(),
            ])
            .args(options)
            .env("KUBECONFIG", way.kubeconfig())
            .env("NO_PROXY", "*")
            .stderr(log)
            .spawn()
            .unwrap();
        way.program(child.id());
        child.wait().unwrap();
    }
}

/// Another job, whose status shows that memory is kept here: the pods of the next one come before its status.
fn forerunner(namespace: &Namespace<'_>) {
    let policy = json!({ "managedBy": "kueue.x-k8s.io/multikueue" });
    let path = namespace.path("apis/kubeflow.org/v1", "tfjobs");
    let before = job("before", &policy, &[("Worker", 1, "Never")]);
    shared().api().create(&path, &before).unwrap();
    let memory = json!({ "status": { "trainyard": { "format": 1, "job": "another" } } });
    shared()
        .api()
        .patch(&format!("{path}/before/status"), &memory)
        .unwrap();
}

fn play(namespace: &Namespace<'_>, kubelet: &FakeKubelet, way: &FaultyProxy) -> Result<(), String> {
    let dies = Script {
        ends: [(0, (1, ProgramEnd::Code(137)))].into(),
        ..Script::default()
    };
    kubelet.script("mnist-worker-1", dies);
    let policy = json!({ "cleanPodPolicy": "Running", "ttlSecondsAfterFinished": 6, "backoffLimit": 1 });
    let roles = [("PS", 1, "ExitCode"), ("Worker", 2, "ExitCode")];
    let path = namespace.path("apis/kubeflow.org/v1", "tfjobs");
    shared()
        .api()
        .create(&path, &job("mnist", &policy, &roles))
        .unwrap();
    let running = |history: &History, name: &str, stamp: &str| {
        history.all("pods").any(|pod| {
            let (last, is_stamp) = (pod.last(), "trainyard.dev/stamp");
            pod.name == name
                && last["metadata"]["annotations"][is_stamp] == stamp
                && last["status"]["phase"] == "Running"
        })
    };
    until(kubelet, "the second life of worker-1", |history| {
        running(history, "mnist-worker-1", "0.1") && running(history, "mnist-ps-0", "0.0")
    })?;
    until(kubelet, "the job running again", |history| {
        let job = history.job("mnist").map(|job| job.last()["status"].clone());
        let conditions = job.map(|status| conditions(&status)).unwrap_or_default();
        conditions.last().is_some_and(|(kind, ..)| kind == "Running")
    })?;
    shared().player().exit(namespace, "mnist-worker-0", 0);
    // The watch may tell of it sooner than the answer.
    until(kubelet, "the end of the job", |history| {
        let asked = way.done().iter().any(|done| done.write == Write::JobDelete);
        asked && history.job("mnist").is_some_and(|job| job.gone.is_some())
    })
}

/// Waits for something to be seen.
pub fn until(kubelet: &FakeKubelet, what: &str, seen: impl Fn(&History) -> bool) -> Result<(), String> {
    let limit = Instant::now() + PATIENCE;
    while !kubelet.look(&seen) {
        if Instant::now() > limit {
            return Err(format!("waited {} s in vain for {what}", PATIENCE.as_secs()));
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

fn outcome(history: &History, way: &FaultyProxy) -> Outcome {
    let status = history.job("mnist").map(|job| job.last()["status"].clone());
    let status = status.unwrap_or_default();
    let mut made = BTreeMap::new();
    for pod in history.all("pods") {
        let stamp = &pod.last()["metadata"]["annotations"]["trainyard.dev/stamp"];
        *made.entry(format!("{} {stamp}", pod.name)).or_default() += 1;
    }
    let done = way.done();
    let mut deleted: Vec<_> = done.iter().filter(|done| !done.uid.is_empty()).collect();
    deleted.sort();
    deleted.dedup();
    let mut events: Vec<String> = history
        .events_of("mnist")
        .into_iter()
        .map(|(reason, _)| reason)
        .collect();
    events.sort();
    let services = history.all("services").map(|service| service.name.clone());
    Outcome {
        conditions: conditions(&status),
        counts: status["replicaStatuses"].clone(),
        memory: without_times(&status["trainyard"]),
        made,
        services: services.collect(),
        deleted: deleted
            .iter()
            .map(|done| (done.write, done.name.clone(), done.versioned))
            .collect(),
        events,
        writes: way.writes(),
        disturbed: way.disturbed(),
    }
}

/// Type (with `!` where it is false), reason and message.
fn conditions(status: &Value) -> Vec<(String, String, String)> {
    let text = |condition: &Value, field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    // Each run has a namespace of its own, which the message names.
    let message = |condition: &Value| {
        let words = text(condition, "message");
        let (before, after) = words.split_once('/').unwrap_or(("", &words));
        format!("{} {after}", before.split(' ').next().unwrap_or_default())
    };
    let all = status["conditions"].as_array().into_iter().flatten();
    all.map(|one| (shown(one), text(one, "reason"), message(one)))
        .collect()
}

/// Moments differ, and so does which job it was.
pub fn without_times(memory: &Value) -> Value {
    match memory {
        Value::Object(fields) => {
            let kept = fields
                .iter()
                .filter(|(key, _)| !["at", "started", "job", "ran", "notBefore"].contains(&key.as_str()));
            kept.map(|(key, value)| (key.clone(), without_times(value)))
                .collect()
        }
        other => other.clone(),
    }
}

/// Everything that was seen of the job, a version a line.
fn story(history: &History) -> String {
    let mut lines = Vec::new();
    for pod in history.all("pods") {
        let last = pod.last();
        let (stamp, phase) = (
            &last["metadata"]["annotations"]["trainyard.dev/stamp"],
            &last["status"]["phase"],
        );
        lines.push(format!(
            "{} {stamp} {phase} gone: {}",
            pod.name,
            pod.gone.is_some()
        ));
    }
    for version in history
        .job("mnist")
        .map(|job| &job.versions[..])
        .unwrap_or_default()
    {
        lines.push(version["status"].to_string());
    }
    lines.join("\n")
}
