//! Many gangs on few nodes: how long until all have ended, and how much time nodes are held by gangs that wait for the rest of their tasks.
//!
//! Nodes are played, schedulers are real: Kubernetes' own, with and without our gates, and Volcano. A task runs, as that of a real collective does,
//! when all tasks of its gang are on nodes, and then for a fixed time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::json;
use trainyard_bench::node_time::NodeTime;
use trainyard_cluster_tests::{Crds, Node, Parts};

use crate::Asked;
use crate::bars::Bars;
use crate::objects;
use crate::process::{self, Running};
use crate::race::seconds;
use crate::rig::{JOBS, NAMESPACE, PODS, Rig, Wanted};
use crate::trouble::Trouble;
use crate::turn::{definition, trainyard};
use crate::watch::{Sent, Shown, Watch};

/// Tasks per gang.
const TASKS: u32 = 10;
/// So many gangs have room at a time.
const ROOM: u32 = 3;
/// How long a gang runs once all its tasks are on nodes.
const RUNS: Duration = Duration::from_secs(5);
/// It is given up when all gangs that hold nodes have waited for each other for so long.
const STUCK: Duration = Duration::from_secs(30);
/// How much longer than without any waste it may take.
const PATIENCE: u32 = 4;

/// Who places the pods.
#[derive(Clone, Copy)]
struct Placer {
    name: &'static str,
    parts: Parts,
    crds: Option<Crds>,
}

const PLACERS: [Placer; 3] = [
    Placer {
        name: "none",
        parts: Parts::SCHEDULER,
        crds: None,
    },
    Placer {
        name: "volcano",
        parts: Parts::VOLCANO,
        crds: Some(Crds::Volcano),
    },
    Placer {
        name: "gates",
        parts: Parts::SCHEDULER,
        crds: None,
    },
];

/// How it went with one of them.
struct Run {
    finished: usize,
    took: Duration,
    stuck: bool,
    /// Shares of the time of all nodes.
    wasted: f64,
    used: f64,
}

impl Run {
    fn tell(&self, placer: &str, (gangs, ideal): (usize, Duration), bars: &mut Bars) {
        let took = self.took.as_secs_f64();
        let all = self.finished == gangs;
        let end = if self.stuck {
            ", then each gang on nodes waits for the others"
        } else if all {
            ""
        } else {
            ", then it was given up"
        };
        let finished = format!("{} of {gangs} in {}{end}", self.finished, seconds(took));
        let (wasted, used) = (100.0 * self.wasted, 100.0 * self.used);
        println!(
            "{placer}: {finished}; node time wasted {wasted:.1} %, used {used:.1} %; load {}",
            process::load()
        );
        let ideal = ideal.as_secs_f64();
        let ratio = if all {
            format!("{:.2}×", took / ideal)
        } else {
            "-".to_owned()
        };
        // Nothing promises that gangs finish which are placed task by task.
        let bar = (placer != "none").then_some(all);
        bars.add(
            &format!("gangs of {TASKS} with room for {ROOM}, `{placer}`: finished"),
            (finished, format!("{} without any waste", seconds(ideal))),
            ratio,
            (bar.map_or("", |_| "all"), bar),
        );
        bars.add(
            &format!("node time held by gangs that are not whole, `{placer}`"),
            (format!("{wasted:.1} %"), format!("by gangs that run {used:.1} %")),
            "-".to_owned(),
            ("", None),
        );
    }
}

/// A task that a watch shows on a node, told to stop, or at its end.
struct Task {
    gang: String,
    index: u32,
    at: Instant,
    is: Is,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Is {
    Placed,
    Stopping,
    Ended,
}

/// Runs so many gangs with each of them.
pub fn measure(asked: &Asked, bars: &mut Bars) -> Result<(), Trouble> {
    let gangs = asked.gangs;
    let ideal = RUNS * u32::try_from(gangs)?.div_ceil(ROOM);
    println!(
        "{gangs} gangs of {TASKS} tasks on nodes for {ROOM} gangs; each runs for {} once it is whole, so {} at least",
        seconds(RUNS.as_secs_f64()),
        seconds(ideal.as_secs_f64())
    );
    let is_asked = |placer: &Placer| asked.placed_by.as_ref().is_none_or(|name| name == placer.name);
    for placer in PLACERS.into_iter().filter(is_asked) {
        let run = one(placer, gangs, ideal * PATIENCE)?;
        run.tell(placer.name, (gangs, ideal), bars);
    }
    Ok(())
}

fn one(placer: Placer, gangs: usize, patience: Duration) -> Result<Run, Trouble> {
    let rig = Rig::start(placer.parts)?;
    rig.install(&definition()?)?;
    if let Some(crds) = placer.crds {
        rig.cluster.install(crds);
    }
    // One task per node.
    for number in 0..ROOM * TASKS {
        rig.cluster.player().node(&Node::ready(&format!("node-{number}")));
    }
    let flags = [
        "operator",
        "--log-format",
        "json",
        "--kinds",
        "tfjob",
        "--gang-scheduler-name",
    ];
    let _operator = Running::start(rig.command(&trainyard()?)?.args(flags).arg(placer.name))?;
    let succeeded = |shown: &Shown| shown.is("Succeeded");
    let jobs = Watch::begin(&rig.cluster.kubeconfig(), JOBS, Sent::Whole, succeeded)?;
    let (sender, tasks) = channel();
    // What is not heard any more is not needed any more.
    let hear = move |shown: &Shown| Task::of(shown).is_some_and(|task| sender.send(task).is_err());
    let _pods = Watch::begin(&rig.cluster.kubeconfig(), PODS, Sent::Whole, hear)?;
    let begun = Instant::now();
    let all: Vec<Wanted> = (0..gangs).map(gang).collect();
    rig.send(&all)?;
    let mut kubelets = Kubelets::new(begun);
    let mut moved = begun;
    loop {
        if kubelets.hear(&tasks)? {
            moved = Instant::now();
        }
        kubelets.write(&rig)?;
        let finished = jobs.seen().len();
        let stuck = kubelets.time.is_stuck() && moved.elapsed() > STUCK;
        if finished < gangs && !stuck && begun.elapsed() < patience {
            continue;
        }
        let took = if finished == gangs { last(&jobs) } else { None };
        let took = took.map_or_else(|| begun.elapsed(), |last| last - begun);
        kubelets.time.until(took);
        let whole = f64::from(ROOM * TASKS) * took.as_secs_f64();
        return Ok(Run {
            finished,
            took,
            stuck,
            wasted: kubelets.time.wasted() / whole,
            used: kubelets.time.used() / whole,
        });
    }
}

/// When the last job was seen to have succeeded.
fn last(jobs: &Watch) -> Option<Instant> {
    jobs.seen().values().max().copied()
}

/// A job whose tasks each fill a node.
fn gang(number: usize) -> Wanted {
    let mut job = objects::job(&format!("gang-{number}"), 0, TASKS);
    let worker = &mut job["spec"]["tfReplicaSpecs"]["Worker"];
    worker["template"]["spec"]["containers"][0]["resources"] = json!({ "requests": { "cpu": "5" } });
    // The job has succeeded when all of its tasks have.
    job["spec"]["successPolicy"] = "AllWorkers".into();
    Wanted::post(JOBS, job)
}

impl Task {
    fn of(shown: &Shown) -> Option<Self> {
        let (gang, index) = shown.name().rsplit_once("-worker-")?;
        let is = match shown.phase() {
            "Succeeded" | "Failed" => Is::Ended,
            _ if shown.node().is_none() => return None,
            _ if shown.is_deleting() => Is::Stopping,
            _ => Is::Placed,
        };
        Some(Self {
            gang: gang.to_owned(),
            index: index.parse().ok()?,
            at: Instant::now(),
            is,
        })
    }
}

/// Plays the kubelets of all nodes.
struct Kubelets {
    begun: Instant,
    time: NodeTime,
    /// What is to be written, and when.
    due: BinaryHeap<Reverse<(Instant, String, Write)>>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Write {
    Runs,
    Succeeds,
    Goes,
}

impl Kubelets {
    fn new(begun: Instant) -> Self {
        Self {
            begun,
            time: NodeTime::of_gangs(usize::try_from(TASKS).unwrap_or_default()),
            due: BinaryHeap::new(),
        }
    }

    /// Takes in what the watch shows until something is to be written, for a moment at most; whether a task has moved.
    fn hear(&mut self, tasks: &Receiver<Task>) -> Result<bool, Trouble> {
        let next = self.due.peek().map(|Reverse((at, ..))| *at);
        let wait = next.map_or(Duration::MAX, |at| at.saturating_duration_since(Instant::now()));
        let mut moved = false;
        match tasks.recv_timeout(wait.min(Duration::from_millis(100))) {
            Ok(task) => moved |= self.take(&task),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(Trouble::new("the watch of pods has ended")),
        }
        for task in tasks.try_iter() {
            moved |= self.take(&task);
        }
        Ok(moved)
    }

    fn take(&mut self, task: &Task) -> bool {
        let at = task.at.saturating_duration_since(self.begun);
        let Task { gang, index, .. } = task;
        let pod = |index: u32| format!("{gang}-worker-{index}");
        match task.is {
            Is::Placed if self.time.placed(gang, *index, at) => {
                // The last one is here: the collective begins, and ends together.
                for index in 0..TASKS {
                    self.due.push(Reverse((task.at, pod(index), Write::Runs)));
                    self.due
                        .push(Reverse((task.at + RUNS, pod(index), Write::Succeeds)));
                }
            }
            Is::Placed => {}
            Is::Stopping => self.due.push(Reverse((task.at, pod(*index), Write::Goes))),
            Is::Ended => self.time.left(gang, *index, at),
        }
        true
    }

    /// Writes what is due.
    fn write(&mut self, rig: &Rig) -> Result<(), Trouble> {
        let now = Instant::now();
        let (mut statuses, mut gone) = (Vec::new(), Vec::new());
        while self.due.peek().is_some_and(|Reverse((at, ..))| *at <= now) {
            let Some(Reverse((_, pod, write))) = self.due.pop() else {
                break;
            };
            match write {
                Write::Runs => statuses.push(objects::played(&pod, None)),
                Write::Succeeds => statuses.push(objects::played(&pod, Some(0))),
                Write::Goes => gone.push(pod),
            }
        }
        rig.send(&statuses)?;
        for pod in gone {
            let path = format!("/api/v1/namespaces/{NAMESPACE}/pods/{pod}?gracePeriodSeconds=0");
            match rig.cluster.api().delete(&path) {
                Err(refused) if refused.code != 404 => return Err(refused.into()),
                _ => {}
            }
            if let Some((gang, index)) = pod.rsplit_once("-worker-") {
                self.time.left(gang, index.parse()?, self.begun.elapsed());
            }
        }
        Ok(())
    }
}
