//! How many pods are in which state.
//!
//! Counted by task and not by pod: what has ended stays counted when its pod has been collected. Volcano counts pods,
//! and forgets the ended ones when the job completes.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use trainyard_core::{Action, Ending, Job, Observed, RoleName, Seen, Step, TaskSeen};

/// The state of a pod, as its phase names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PodPhase {
    Pending,
    Running,
    Succeeded,
    Failed,
}

/// The words for them, in the order of [`PodPhase`].
const WORDS: [&str; 4] = ["Pending", "Running", "Succeeded", "Failed"];

/// The counts of a job.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub pending: u64,
    pub running: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub terminating: u64,
    by_task: Vec<(RoleName, [u64; 4])>,
}

impl Counts {
    /// Counts what is there after a step: what it stops is terminating.
    pub fn of(job: &Job, step: &Step, observed: &Observed) -> Self {
        let mut counts = Self::default();
        let mut by_task: Vec<[u64; 4]> = vec![[0; 4]; job.roles.len()];
        for (role, tally) in job.roles.iter().zip(&mut by_task) {
            let memory = step.memory.roles.get(&role.name);
            let (done, failed) = memory.map_or((0, 0), |memory| (memory.done.len(), memory.failed.len()));
            tally[PodPhase::Succeeded as usize] = u64::from(done);
            tally[PodPhase::Failed as usize] = u64::from(failed);
        }
        let stopped = stopped(step);
        for seen in &observed.tasks {
            if matches!(seen.state, Seen::Gone(_)) {
                continue;
            }
            if seen.stopping.is_some() || stopped.contains(&*seen.instance) {
                counts.terminating += u64::from(seen.alive());
                continue;
            }
            let settled = step.memory.is_done(&seen.id) || step.memory.is_failed(&seen.id);
            let current = step.memory.stamp(&seen.id) == seen.stamp;
            if let Some((position, role)) = job.role(&seen.id.role)
                && seen.id.index < role.replicas
                && current
                && !settled
                && let Some(phase) = phase(seen)
            {
                by_task[position][phase as usize] += 1;
            }
        }
        for (role, tally) in job.roles.iter().zip(by_task) {
            let [pending, running, succeeded, failed] = tally;
            counts.pending += pending;
            counts.running += running;
            counts.succeeded += succeeded;
            counts.failed += failed;
            counts.by_task.push((role.name.clone(), tally));
        }
        counts
    }

    /// Pods that have got as far as running.
    pub fn started(&self) -> u64 {
        self.running + self.succeeded + self.failed
    }

    /// Pods that are there and have not ended.
    pub fn alive(&self) -> u64 {
        self.pending + self.running + self.terminating
    }

    /// Writes the counts into a status; those of zero are left out, as Volcano leaves them out.
    pub fn write(&self, status: &mut Value) {
        let counts = [
            ("pending", self.pending),
            ("running", self.running),
            ("succeeded", self.succeeded),
            ("failed", self.failed),
            ("terminating", self.terminating),
        ];
        for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            status[name] = count.into();
        }
        let mut tasks = Map::new();
        for (role, tally) in &self.by_task {
            let some = WORDS.into_iter().zip(*tally).filter(|(_, count)| *count > 0);
            let words: Map<String, Value> = some
                .map(|(word, count)| (word.to_owned(), count.into()))
                .collect();
            if !words.is_empty() {
                tasks.insert(role.to_string(), json!({"phase": words}));
            }
        }
        if !tasks.is_empty() {
            status["taskStatusCount"] = tasks.into();
        }
    }
}

/// The pods that the step stops.
fn stopped(step: &Step) -> BTreeSet<&str> {
    let mut stopped = BTreeSet::new();
    for action in &step.actions {
        if let Action::Stop { instance, .. } = action {
            stopped.insert(&**instance);
        }
    }
    stopped
}

fn phase(seen: &TaskSeen) -> Option<PodPhase> {
    match &seen.state {
        Seen::Waiting => Some(PodPhase::Pending),
        Seen::Running { .. } => Some(PodPhase::Running),
        Seen::Ended(exit) if Ending::of(Some(exit)) == Ending::Succeeded => Some(PodPhase::Succeeded),
        Seen::Ended(_) => Some(PodPhase::Failed),
        Seen::Gone(_) => None,
    }
}
