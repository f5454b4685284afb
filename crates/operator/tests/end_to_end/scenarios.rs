//! The table of scenarios on a real API server: every row that names it ends as it does in the simulator.
//!
//! ```text
//! Scenario ─▶ scripts for its pods, changes at their time ─▶ `trainyard operator` ─▶ History ─▶ Ending ─▶ differences
//! ```
//!
//! All rows are played at once by one operator in one namespace, in real seconds. Rows that differ are played once more, by
//! themselves: a busy machine may be late, but a wrong decision stays wrong.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use trainyard_cluster_tests::fake_kubelet::{
    Disruption, FakeKubelet, History, ObjectHistory, ProgramEnd, Script,
};
use trainyard_core::{Job, TaskId, Time, task_name};
use trainyard_document::{Source, parse};
use trainyard_scenarios::{Ending, Fault, Scenario, World, all};

use super::played::{Played, TFJOB};
use super::{Harness, NODE};

/// How many seconds a time may be off: requests take a moment.
const TOLERANCE: u32 = 4;

/// A job that goes on is watched for so long after the last thing that happens to it.
const WATCHED: u32 = 10;

/// Nothing takes longer than that after the moment at which it was to end: grace, waits, a busy machine.
const PATIENCE: u32 = 75;

#[test]
fn every_row_ends_as_in_the_simulator() {
    each_ends_as_in_the_simulator(&TFJOB, 35);
}

/// Plays every row of this kind; there must be so many.
pub fn each_ends_as_in_the_simulator(played: &'static Played, least: usize) {
    let mut rows = all().unwrap();
    let is_played = |row: &Scenario| {
        let object = object(row);
        row.worlds.contains(&World::ApiServer) && object["kind"] == played.kind.api.kind
    };
    rows.retain(is_played);
    assert!(rows.len() >= least, "the table has {} rows", rows.len());
    // The longest first, so that none is left to wait for at the end.
    rows.sort_by_key(|row| std::cmp::Reverse(length(row)));
    let all: Vec<&Scenario> = rows.iter().collect();
    let differing: Vec<&Scenario> = play(played, &all).into_iter().map(|(row, _)| row).collect();
    let report = |(row, wrong): (&Scenario, Vec<String>)| {
        format!("{} ({})\n  {}\n", row.name, row.file, wrong.join("\n  "))
    };
    let reports: Vec<String> = play(played, &differing).into_iter().map(report).collect();
    assert!(reports.is_empty(), "\n{}", reports.join("\n"));
}

/// The rows in which something is wrong, and what.
fn play<'a>(played: &'static Played, rows: &[&'a Scenario]) -> Vec<(&'a Scenario, Vec<String>)> {
    if rows.is_empty() {
        return Vec::new();
    }
    let harness = Harness::of_kind("scenarios", played.kind.api);
    let kubelet = FakeKubelet::of_jobs(&harness.namespace, NODE, played.jobs);
    let plays: Vec<Play<'_>> = rows
        .iter()
        .enumerate()
        .map(|(number, row)| {
            let play = Play::begin(played, (&harness, &kubelet), row, number);
            // The next job is created once the operator has reconciled this one: not all at once.
            harness.seen(&play.job.name);
            play
        })
        .collect();
    for play in &plays {
        while !kubelet.look(|history| play.is_over(history)) {
            thread::sleep(Duration::from_millis(100));
        }
    }
    // All of them once more: what has ended must have stayed so, however long ago it was.
    plays
        .iter()
        .map(|play| (play.row, kubelet.look(|history| play.wrong(history))))
        .filter(|(_, wrong)| !wrong.is_empty())
        .collect()
}

/// How many seconds a row takes, more or less.
fn length(row: &Scenario) -> u32 {
    let took = |fault: &Fault| match fault {
        Fault::Exit { after, life: 0, .. } => *after,
        Fault::Exit { after, .. } => after + 15,
        Fault::Drain { at, .. } | Fault::Suspend { at } | Fault::Resume { at } | Fault::Order { at, .. } => {
            at + WATCHED
        }
        _ => WATCHED,
    };
    let faults = || row.faults.iter().map(took).sum();
    row.expect.ends_at.unwrap_or_else(faults)
}

/// A row that is being played.
struct Play<'a> {
    played: &'static Played,
    row: &'a Scenario,
    job: Job,
    begin: Instant,
}

impl<'a> Play<'a> {
    /// Sets the scripts of the pods and creates the job.
    fn begin(
        played: &'static Played,
        (harness, kubelet): (&Harness, &FakeKubelet),
        row: &'a Scenario,
        number: usize,
    ) -> Self {
        let mut object = object(row);
        let name = format!("row-{number}");
        object["metadata"]["name"] = name.as_str().into();
        let mut job = job(row);
        job.name = name.as_str().into();
        // Scaling may add some.
        let more = (0..9).map(|index| TaskId::new("worker", index));
        let tasks: BTreeSet<TaskId> = job.tasks().chain(more).collect();
        for task in tasks {
            let script = script(&row.faults, &task);
            if script.lingers {
                add_sidecar(played, &mut object, &task);
            }
            kubelet.script(&task_name(&job, &task), script);
        }
        let version = object["apiVersion"].as_str().unwrap_or_default().to_owned();
        let path = harness.namespace.path(&format!("apis/{version}"), played.jobs.1);
        harness.api().create(&path, &object).unwrap();
        let play = Self {
            played,
            row,
            job,
            begin: Instant::now(),
        };
        for (at, patch) in row
            .faults
            .iter()
            .filter_map(|fault| played.change(&object, fault))
        {
            kubelet.change(play.second(at), &harness.path(&play.job.name), patch);
        }
        let order = |fault| played.order(&harness.namespace, &play.job.name, fault);
        for (at, path, object) in row.faults.iter().filter_map(order) {
            kubelet.create(play.second(at), &path, object);
        }
        play
    }

    fn second(&self, second: u32) -> Instant {
        self.begin + Duration::from_secs(second.into())
    }

    /// It ended as it should, or will not do so any more.
    fn is_over(&self, history: &History) -> bool {
        let now = Instant::now();
        let goes_on = self.row.expect.outcome.is_none();
        if goes_on && now < self.second(length(self.row) + WATCHED) {
            return false;
        }
        now > self.second(length(self.row) + PATIENCE) || self.differences(history).is_empty()
    }

    fn differences(&self, history: &History) -> Vec<String> {
        match self.ending(history) {
            Some(ending) => ending.differences(&self.row.expect, TOLERANCE),
            None => vec!["nothing was decided".to_owned()],
        }
    }

    fn wrong(&self, history: &History) -> Vec<String> {
        let mut wrong = self.differences(history);
        if !wrong.is_empty() {
            wrong.push(format!("what happened:\n{}", self.story(history)));
        }
        wrong
    }

    fn ending(&self, history: &History) -> Option<Ending> {
        let seen = history.job(&self.job.name)?;
        let mut job = self.job.clone();
        job.uid = seen.last()["metadata"]["uid"].as_str()?.into();
        let memory = (self.played.kind.memory)(seen.last().get("status"), &job).ok()??;
        let begin: Timestamp = seen.last()["metadata"]["creationTimestamp"]
            .as_str()?
            .parse()
            .ok()?;
        let alive = |task: &TaskId| {
            let name = task_name(&job, task);
            history
                .pods_of(&job.name)
                .any(|pod| pod.name == name && lives(pod))
        };
        Some(Ending {
            creates: u32::try_from(history.pods_of(&job.name).count()).ok()?,
            alive: job.tasks().filter(alive).collect(),
            deleted: seen.gone.is_some(),
            ..Ending::of(&job, &memory, Time(u64::try_from(begin.as_second()).ok()?))
        })
    }

    fn story(&self, history: &History) -> String {
        let after = |moment: Instant| moment.saturating_duration_since(self.begin).as_secs();
        let told = |pod: &ObjectHistory| {
            let gone = pod.gone.map(|gone| format!(", gone at {}", after(gone)));
            let stamp = &pod.last()["metadata"]["annotations"]["trainyard.dev/stamp"];
            let (name, status) = (&pod.name, &pod.last()["status"]);
            let came = after(pod.came);
            format!(
                "{name} {stamp} came at {came}{}: {status}",
                gone.unwrap_or_default()
            )
        };
        let pods: Vec<String> = history.pods_of(&self.job.name).map(told).collect();
        let job = history.job(&self.job.name);
        let status = job.map(|job| job.last()["status"].to_string());
        format!("{}\n{}", pods.join("\n"), status.unwrap_or_default())
    }
}

fn lives(pod: &ObjectHistory) -> bool {
    let phase = pod.last()["status"]["phase"].as_str();
    pod.gone.is_none() && !matches!(phase, Some("Succeeded" | "Failed"))
}

/// What the pods of a task do.
pub fn script(faults: &[Fault], task: &TaskId) -> Script {
    let mut script = Script::default();
    for fault in faults {
        match fault.clone() {
            Fault::Exit {
                task: whose,
                life,
                after,
                code,
            } if whose == *task => {
                script.ends.insert(life, (after, ProgramEnd::Code(code)));
            }
            Fault::OutOfMemory {
                task: whose,
                life,
                after,
            } if whose == *task => {
                script.ends.insert(life, (after, ProgramEnd::OutOfMemory));
            }
            Fault::MissingProgram { task: whose, life } if whose == *task => {
                script.ends.insert(life, (0, ProgramEnd::NotStarted));
            }
            Fault::InitExit {
                task: whose,
                life,
                code,
            } if whose == *task => {
                script.ends.insert(life, (0, ProgramEnd::Init(code)));
            }
            Fault::Reject { task: whose, life } if whose == *task => {
                script.ends.insert(life, (0, ProgramEnd::Rejected));
            }
            Fault::StartLate {
                task: whose,
                life,
                by,
            } if whose == *task => {
                script.late.insert(life, by);
            }
            Fault::IgnoreTerm { task: whose, seconds } if whose == *task => {
                script.heeds_after = Some(seconds);
            }
            Fault::Linger { task: whose } if whose == *task => script.lingers = true,
            other => script.disruptions.extend(disruption(task, &other)),
        }
    }
    script
}

fn disruption(task: &TaskId, fault: &Fault) -> Option<(u32, Disruption)> {
    let (whose, at, disruption) = match fault {
        Fault::Drain { task, at, code } => (task, at, Disruption::Drain(*code)),
        Fault::Evict { task, at } => (task, at, Disruption::Evict),
        Fault::Vanish { task, at } => (task, at, Disruption::Vanish),
        Fault::RemoveObject { task, at } => (task, at, Disruption::Remove),
        Fault::LoseNode { task, at, back_after } => (task, at, Disruption::LoseNode(*back_after)),
        _ => return None,
    };
    (whose == task).then_some((*at, disruption))
}

/// A container beside the program's, for every pod of the role.
fn add_sidecar(played: &Played, object: &mut Value, task: &TaskId) {
    let template = (played.template)(object, &task.role.0).unwrap();
    let containers = template["spec"]["containers"].as_array_mut().unwrap();
    containers.push(json!({ "name": "sidecar", "image": "proxy" }));
}

fn source(row: &Scenario) -> Source {
    Source::from_bytes(row.file.as_str(), row.manifest.as_bytes()).unwrap()
}

/// The manifest as `kubectl` would send it.
fn object(row: &Scenario) -> Value {
    let (documents, problems) = parse(&source(row));
    assert!(problems.is_empty(), "{problems:?}");
    documents[0].root.to_json()
}

/// The one job of the manifest.
fn job(row: &Scenario) -> Job {
    let source = source(row);
    let reading = trainyard_dialect::read(&source);
    let mut jobs = reading.jobs();
    jobs.next().unwrap().job.clone()
}
