//! A silent hang, explained: TensorFlow waits for its peers without a word, for up to an hour.
//!
//! A task that should listen and does not after half a minute, or a job that says nothing at its start, gets a hint
//! that names the usual causes, those first for which there is a sign. The causes are those that were seen to hang.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use trainyard_core::{ClusterForm, Job, RoleKind, Stamp, TaskId, Time};

use crate::run::event::What;
use crate::run::store::status::{TaskState, TaskStatus};
use crate::run::world::{RunningTask, World};
use crate::system::sockets::listening;

/// Seconds after which a task should have opened its port.
const PORT_AFTER: u32 = 30;

/// The same for a task that uses the processor meanwhile, as importing TensorFlow does.
const PORT_AFTER_WORK: u32 = 120;

/// A task that used so much processor time since the last look is working: in hundredths of one processor. A hang uses none.
const WORKS: u64 = 10;

/// Seconds after which some task should have written something.
const WORD_AFTER: u32 = 60;

/// Whether the tasks of a job have written anything; set by the threads that read their output.
#[derive(Debug, Default)]
pub(crate) struct Spoken(AtomicBool);

impl Spoken {
    pub fn note(&self) {
        // Reading first keeps the line shared between the threads that write logs.
        if !self.0.load(Ordering::Relaxed) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    fn anything(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What has been hinted at already.
#[derive(Debug, Default)]
pub(crate) struct Hints {
    ports: BTreeSet<(TaskId, Stamp)>,
    /// Tasks that were working when they were looked at: when, and how many hundredths of a second they had used.
    working: BTreeMap<(TaskId, Stamp), (Time, u64)>,
    silence: bool,
}

impl Hints {
    /// When to look next; none if there is nothing to look for.
    pub fn due(&self, world: &World, spoken: &Spoken) -> Option<Time> {
        let open = world
            .running()
            .filter(|running| self.is_open(world.job(), running));
        let ports = open.map(|running| self.next_look(&running));
        let words = (!self.silence && !spoken.anything()).then(|| {
            let started = world.running().map(|running| running.since).min();
            started.map(|since| since + WORD_AFTER)
        });
        ports.chain(words.flatten()).min()
    }

    fn is_open(&self, job: &Job, running: &RunningTask<'_>) -> bool {
        should_listen(job, running.task) && !self.ports.contains(&(running.task.clone(), running.stamp))
    }

    fn next_look(&self, running: &RunningTask<'_>) -> Time {
        match self.working.get(&(running.task.clone(), running.stamp)) {
            Some((looked, _)) => *looked + PORT_AFTER,
            None => running.since + PORT_AFTER,
        }
    }

    /// Whether the task has been working since it was last looked at; then it is looked at again later.
    fn works(&mut self, running: &RunningTask<'_>, used: &BTreeMap<u32, u64>, now: Time) -> bool {
        let key = (running.task.clone(), running.stamp);
        let used = running.pid.and_then(|pid| used.get(&pid).copied()).unwrap_or(0);
        let (since, before) = self.working.get(&key).copied().unwrap_or((running.since, 0));
        let passed = now.since(since).max(1);
        let works = used.saturating_sub(before) >= passed * WORKS;
        let patient = now.since(running.since) < u64::from(PORT_AFTER_WORK);
        if works && patient {
            self.working.insert(key, (now, used));
        }
        works && patient
    }

    /// Looks at what is due.
    pub fn look(&mut self, world: &World, spoken: &Spoken, now: Time) -> Vec<What> {
        let mut hints = Vec::new();
        let due: Vec<RunningTask<'_>> = world
            .running()
            .filter(|running| self.is_open(world.job(), running) && self.next_look(running) <= now)
            .collect();
        if !due.is_empty() {
            let listening = if world.shares_network() {
                listening()
            } else {
                BTreeSet::new()
            };
            let used = processor_times();
            let mut hang = Vec::new();
            for running in &due {
                let silent = running.port.filter(|port| !listening.contains(port));
                if let Some(port) = silent.filter(|_| !self.works(running, &used, now)) {
                    hang.push((*running, port));
                }
            }
            hints.extend(not_listening(world, &hang, now));
            let settled = due.iter().filter(|running| self.next_look(running) <= now);
            let settled: Vec<_> = settled
                .map(|running| (running.task.clone(), running.stamp))
                .collect();
            self.ports.extend(settled);
        }
        hints.extend(self.silence(world, spoken, now));
        hints
    }

    /// A job that has said nothing since it started.
    fn silence(&mut self, world: &World, spoken: &Spoken, now: Time) -> Option<What> {
        let started = world.running().map(|running| running.since).min();
        let quiet = started.is_some_and(|since| now.since(since) >= u64::from(WORD_AFTER));
        if !quiet || self.silence || spoken.anything() {
            return None;
        }
        self.silence = true;
        let causes = causes(world.job(), world.table.tasks());
        Some(What::Hint {
            task: None,
            text: format!("No task has written anything for a minute. Usual causes: {causes}"),
        })
    }
}

/// How much processor time each process group has used, in hundredths of a second. Only the run's own processes are to
/// be seen here, as a rule, so looking at all of them once is cheap.
fn processor_times() -> BTreeMap<u32, u64> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let texts = processes.filter_map(|process| fs::read_to_string(process.path().join("stat")).ok());
    let mut times = BTreeMap::new();
    for (group, used) in texts.filter_map(|text| used(&text)) {
        *times.entry(group).or_default() += used;
    }
    times
}

/// Every process that is to be seen here, and its process group.
pub(super) fn process_groups() -> Vec<(u32, u32)> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let groups = processes.filter_map(|process| {
        let pid = process.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(process.path().join("stat")).ok()?;
        Some((pid, used(&stat)?.0))
    });
    groups.collect()
}

/// What a line of `/proc/PID/stat` says: the process group, and what was used by it and by those it has waited for.
fn used(text: &str) -> Option<(u32, u64)> {
    // The name, in brackets, may hold anything; behind it come single words.
    let words: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let group = words.get(2)?.parse().ok()?;
    let times = words.get(11..15)?.iter().map(|word| word.parse::<u64>().ok());
    Some((group, times.sum::<Option<u64>>()?))
}

/// Whether a task of this role starts a TensorFlow server on its port.
pub(super) fn should_listen(job: &Job, task: &TaskId) -> bool {
    let listed = job.cluster != ClusterForm::None && job.size() > 1;
    let kind = job.role(&task.role).map(|(_, role)| role.kind);
    listed && kind.is_some_and(|kind| kind != RoleKind::Evaluator)
}

fn not_listening(world: &World, silent: &[(RunningTask<'_>, u16)], now: Time) -> Option<What> {
    let (running, port) = silent.first()?;
    let (first, seconds) = (running.task, now.since(running.since));
    let who = match silent.len() {
        1 => format!("{first} has not opened its port {port}"),
        2 => format!("{first} and {} have not opened their ports", silent[1].0.task),
        count => format!(
            "{first} and {} other tasks have not opened their ports",
            count - 1
        ),
    };
    let causes = causes(world.job(), world.table.tasks());
    Some(What::Hint {
        task: Some(first.clone()),
        text: format!("{who} {seconds} s after its start. Usual causes: {causes}"),
    })
}

/// The usual causes, those with a sign first.
fn causes(job: &Job, tasks: &[TaskStatus]) -> String {
    let mut causes = vec!["it is still importing TensorFlow on a busy machine".to_owned()];
    let up = [TaskState::Running, TaskState::Succeeded, TaskState::Stopping];
    let mut down = tasks.iter().filter(|status| !up.contains(&status.state));
    if let Some(first) = down.next() {
        let more = match down.count() {
            0 => String::new(),
            others => format!(" and {others} more"),
        };
        causes.push(format!("it waits for {}{more}, which does not run", first.task));
    }
    let has = |kind| {
        job.roles
            .iter()
            .any(|role| role.kind == kind && role.replicas > 0)
    };
    if has(RoleKind::Ps) {
        causes.push(
            "the script uses MultiWorkerMirroredStrategy, whose workers wait for ever where the job has a ps"
                .to_owned(),
        );
    }
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() == 1) {
        causes.push(
            "one processor: a parameter server's worker needs TF_NUM_INTEROP_THREADS=2 or more".to_owned(),
        );
    }
    if let Some(proxy) = ["grpc_proxy", "https_proxy", "http_proxy"]
        .into_iter()
        .find(|name| std::env::var_os(name).is_some())
    {
        causes.push(format!(
            "{proxy} is set, and the script or its environment overrides no_grpc_proxy"
        ));
    }
    causes.push("the script starts no server for this role, or reads no TF_CONFIG".to_owned());
    causes.push("the script builds a cluster with other addresses than TF_CONFIG's".to_owned());
    let numbered: Vec<String> = causes
        .iter()
        .enumerate()
        .map(|(at, cause)| format!("({}) {cause}", at + 1))
        .collect();
    format!("{}.", numbered.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_is_told_by_group() {
        let line = "7 (a) b) S 1 7 7 0 -1 4194304 100 0 0 0 150 25 3 2 20 0 1 0 100 0 0";
        assert_eq!(used(line), Some((7, 180)));
        assert_eq!(used(""), None);
    }
}
