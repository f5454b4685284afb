//! Whether a program was killed for want of memory: the kernel counts such kills, per control group and for the machine.
//!
//! The count of a control group is of its own processes, whichever memory ran out: only its limit, and those of the groups
//! around it, tell whether a limit was reached or the machine was full. The machine's count is of all processes, those of
//! other containers too, and is asked only where the group's is not known.

use std::path::{Path, PathBuf};

use trainyard_causes::MemoryEvidence;

use crate::system::proc_file;

/// Where control groups are found.
const ROOT: &str = "/sys/fs/cgroup";

/// Control groups around ours that are looked at.
const MOST_GROUPS: usize = 16;

/// The kernel's counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OomKills {
    /// Kills on the whole machine.
    machine: Option<u64>,
    /// Kills in the control group of this process, in which the tasks are too.
    group: Option<u64>,
    /// How often that group, or one around it, reached its limit.
    limits: u64,
}

impl OomKills {
    /// As they are now.
    pub fn now() -> Self {
        let groups = proc_file::read("/proc/self/cgroup");
        let group = Group::of(&groups, Path::new(ROOT));
        Self {
            machine: count("/proc/vmstat".as_ref(), "oom_kill"),
            group: group.as_ref().and_then(Group::kills),
            limits: group.as_ref().map_or(0, Group::limits),
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
        (Some(true), _) if now.limits > before.limits => MemoryEvidence::LimitReached,
        (Some(true), _) | (None, Some(true)) => MemoryEvidence::MachineFull,
        (Some(false), _) | (None, Some(false)) => MemoryEvidence::Enough,
        (None, None) => MemoryEvidence::Unknown,
    }
}

/// A line `NAME N` of a file.
fn count(file: &Path, name: &str) -> Option<u64> {
    let text = proc_file::try_read(file.to_str()?).ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(key, _)| *key == name)?.1.trim().parse().ok()
}

/// The control group that counts the memory of this process.
#[derive(Debug, PartialEq, Eq)]
struct Group {
    directory: PathBuf,
    /// Where its hierarchy begins.
    root: PathBuf,
    /// Of version 2, whose files have other names.
    unified: bool,
}

impl Group {
    /// The group that `/proc/self/cgroup` names. A container may see its own group as the root of all.
    fn of(groups: &str, root: &Path) -> Option<Self> {
        let line = |line: &str| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, group) = (parts.next()?, parts.next()?);
            let memory = controllers.split(',').any(|controller| controller == "memory");
            (memory || controllers.is_empty()).then(|| (memory, group.to_owned()))
        };
        let found: Vec<(bool, String)> = groups.lines().filter_map(line).collect();
        // Where both versions are mounted, memory is counted by the first.
        let (memory, group) = found.iter().max_by_key(|(memory, _)| *memory)?;
        let root = if *memory {
            root.join("memory")
        } else {
            root.to_owned()
        };
        let group = Self {
            directory: root.join(group.trim_start_matches('/')),
            root,
            unified: !memory,
        };
        let own = Self {
            directory: group.root.clone(),
            root: group.root.clone(),
            unified: group.unified,
        };
        [group, own].into_iter().find(|group| group.kills().is_some())
    }

    fn kills(&self) -> Option<u64> {
        let file = if self.unified {
            "memory.events"
        } else {
            "memory.oom_control"
        };
        count(&self.directory.join(file), "oom_kill")
    }

    /// How often its limit, or one around it, was reached.
    fn limits(&self) -> u64 {
        let around = self
            .directory
            .ancestors()
            .take_while(|directory| directory.starts_with(&self.root));
        let reached = around.take(MOST_GROUPS).filter_map(|directory| {
            if self.unified {
                return count(&directory.join("memory.events"), "oom");
            }
            let text = proc_file::try_read(directory.join("memory.failcnt").to_str()?).ok()?;
            text.trim().parse().ok()
        });
        reached.fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_tell_a_limit_from_a_full_machine_and_from_neither() {
        use MemoryEvidence::{Enough, LimitReached, MachineFull, Unknown};
        let kills = |machine, group, limits| OomKills {
            machine,
            group,
            limits,
        };
        let before = kills(Some(1), Some(1), 7);
        let without_group = kills(Some(1), None, 0);
        let table = [
            (before, before, Enough),
            (before, kills(Some(2), Some(2), 8), LimitReached),
            (before, kills(Some(2), Some(2), 7), MachineFull),
            // Another container's process was killed.
            (before, kills(Some(2), Some(1), 9), Enough),
            (without_group, kills(Some(2), None, 0), MachineFull),
            (without_group, without_group, Enough),
            (kills(None, None, 0), kills(Some(2), None, 0), Unknown),
            (kills(None, Some(1), 0), kills(None, Some(1), 0), Enough),
        ];
        for (before, now, expected) in table {
            assert_eq!(evidence(before, now), expected, "{before:?} {now:?}");
        }
    }

    #[test]
    fn the_group_is_found_in_both_versions_and_in_containers() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "memory/a/b/memory.oom_control",
            "oom_kill_disable 0\noom_kill 3\n",
        );
        write("memory/a/b/memory.failcnt", "2\n");
        write("memory/a/memory.failcnt", "40\n");
        write("memory/memory.oom_control", "oom_kill 9\n");
        write(
            "user.slice/memory.events",
            "low 0\noom 5\noom_kill 4\noom_group_kill 0\n",
        );
        let table = [
            ("4:memory:/a/b\n0::/\n", Some((Some(3), 42))),
            // The path of the group outside of the container, which is not to be seen inside.
            ("4:cpu,memory:/docker/x\n", Some((Some(9), 0))),
            ("0::/user.slice\n", Some((Some(4), 5))),
            ("0::/nowhere\n", None),
            ("garbage\n::\n", None),
            ("", None),
        ];
        for (groups, expected) in table {
            let group = Group::of(groups, root.path());
            let found = group.map(|group| (group.kills(), group.limits()));
            assert_eq!(found, expected, "{groups}");
        }
    }
}
