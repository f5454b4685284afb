//! Why a task failed: the end of its log and the kernel's counters are put to `trainyard-causes`, and what only the run knows
//! is added to the answer (whose port it is, where the script lies).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trainyard_causes::{Ended, MOST_OUTPUT, MemoryEvidence};
use trainyard_core::{FailureCause, TaskId};

use crate::logs::tail::tail;
use crate::run::event::ProgramEnd;

/// The kernel's counts of processes that it killed for want of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OomKills {
    /// On the whole machine.
    machine: Option<u64>,
    /// In the control group of this process, whose limit counts for the tasks too.
    group: Option<u64>,
}

impl OomKills {
    /// As they are now.
    pub fn now() -> Self {
        Self {
            machine: count(Path::new("/proc/vmstat")),
            group: group_files().iter().find_map(|file| count(file)),
        }
    }

    /// What has happened since, and from now on is not told again.
    pub fn since_then(&mut self) -> MemoryEvidence {
        let before = std::mem::replace(self, Self::now());
        evidence(before, *self)
    }
}

fn evidence(before: OomKills, now: OomKills) -> MemoryEvidence {
    let rose = |before: Option<u64>, now: Option<u64>| Some(now? > before?);
    match (rose(before.group, now.group), rose(before.machine, now.machine)) {
        (Some(true), _) => MemoryEvidence::LimitReached,
        (_, Some(true)) => MemoryEvidence::MachineFull,
        (_, Some(false)) => MemoryEvidence::Enough,
        (_, None) => MemoryEvidence::Unknown,
    }
}

/// The line `oom_kill N` of a file.
fn count(file: &Path) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(name, _)| *name == "oom_kill")?.1.trim().parse().ok()
}

/// Where the counter of our control group may be: version 2, version 1, and what a container sees of its own.
fn group_files() -> Vec<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let root = Path::new("/sys/fs/cgroup");
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else {
            continue;
        };
        let group = group.trim_start_matches('/');
        if controllers.split(',').any(|controller| controller == "memory") {
            files.push(root.join("memory").join(group).join("memory.oom_control"));
        } else if controllers.is_empty() {
            files.push(root.join(group).join("memory.events"));
        }
    }
    files.extend([root.join("memory.events"), root.join("memory/memory.oom_control")]);
    files
}

/// What is known of a failure beside its output.
pub(crate) struct Circumstances<'a> {
    pub task: &'a TaskId,
    /// The ports of all tasks.
    pub ports: &'a BTreeMap<TaskId, u16>,
    /// `trainyard kill` killed it.
    pub killed_by_order: bool,
    /// What has happened to memory.
    pub memory: MemoryEvidence,
}

/// Why the program failed; none if nothing is known but that it did.
pub(crate) fn cause(log: &Path, end: &ProgramEnd, known: &Circumstances<'_>) -> Option<FailureCause> {
    if known.killed_by_order {
        return Some(FailureCause {
            class: "killed".into(),
            sentence: "`trainyard kill` killed it (SIGKILL)".into(),
            ..FailureCause::default()
        });
    }
    if end.not_started.is_some() {
        return None;
    }
    // A log that cannot be read is one without words.
    let (output, _) = tail(log, MOST_OUTPUT).unwrap_or_default();
    let ended = Ended {
        output: &output,
        code: end.code,
        memory: known.memory,
        ..Ended::default()
    };
    let mut cause = trainyard_causes::find(&ended)?;
    if let Some((sentence, help)) = whose_port(&ended, known) {
        cause.sentence = sentence;
        cause.help = Some(help);
    }
    Some(cause)
}

/// The sentence about a port that is taken, if it belongs to a task of the job.
fn whose_port(ended: &Ended<'_>, known: &Circumstances<'_>) -> Option<(Arc<str>, Arc<str>)> {
    let port = trainyard_causes::taken_port(ended)?;
    let owner = known.ports.iter().find(|(_, of_task)| **of_task == port)?.0;
    let task = known.task;
    let role = &task.role;
    Some(if owner == task {
        (
            format!("port {port}, which TF_CONFIG gives to {task}, is taken").into(),
            "the script starts two servers, or a program outside of the job listens there: `ss -ltnp` names it".into(),
        )
    } else {
        (
            format!("{task} tried to open port {port}, which is {owner}'s").into(),
            format!("the script has no branch for {role}, or does not read its own place from TF_CONFIG")
                .into(),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_tell_a_limit_from_a_full_machine_and_from_neither() {
        let kills = |machine, group| OomKills { machine, group };
        let table = [
            (
                kills(Some(1), Some(1)),
                kills(Some(1), Some(1)),
                MemoryEvidence::Enough,
            ),
            (
                kills(Some(1), Some(1)),
                kills(Some(2), Some(2)),
                MemoryEvidence::LimitReached,
            ),
            (
                kills(Some(1), Some(1)),
                kills(Some(2), Some(1)),
                MemoryEvidence::MachineFull,
            ),
            (
                kills(Some(1), None),
                kills(Some(2), None),
                MemoryEvidence::MachineFull,
            ),
            (kills(None, None), kills(Some(2), None), MemoryEvidence::Unknown),
            (
                kills(None, Some(1)),
                kills(None, Some(1)),
                MemoryEvidence::Unknown,
            ),
        ];
        for (before, now, expected) in table {
            assert_eq!(evidence(before, now), expected, "{before:?} {now:?}");
        }
    }
}
