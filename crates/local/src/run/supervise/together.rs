//! Whether the tasks of a job trained together: a script that does not use `TF_CONFIG` makes each task train alone, and the
//! job succeeds all the same.
//!
//! The sign is that no task ever had a socket at a port of `TF_CONFIG`. Once TensorFlow is loaded, the kernel's table of sockets is looked at
//! every second at first, until one is seen; a closed connection stays in it for a minute, so short ones are seen too. Nothing is said unless
//! two tasks had loaded TensorFlow and were looked at several times since: other programs may divide their work in ways of
//! their own.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use trainyard_core::TaskId;

use super::hints::{process_groups, should_listen};
use crate::run::world::World;
use crate::system::proc_file;
use crate::system::sockets::{Socket, sockets};

/// Between two looks, at first.
const SHORTEST: Duration = Duration::from_secs(1);

/// Between two looks, later: a server of TensorFlow lives as long as its program.
const LONGEST: Duration = Duration::from_secs(5);

/// A look takes at most this part of the time, as far as [`LONGEST`] allows: the table of a machine with many connections is long.
const PART: u32 = 10;

/// A task was looked at so often after it had loaded TensorFlow, or nothing is said about it.
const LOOKS: u32 = 3;

/// Tasks that are looked at for TensorFlow: with two that train alone, all do.
const WATCHED: usize = 2;

/// What the looks have shown.
#[derive(Debug, Default)]
pub(crate) struct Together {
    /// A socket was seen at a port of `TF_CONFIG`, or tasks train together in another way.
    seen: bool,
    next: Option<Instant>,
    began: Option<Instant>,
    /// Tasks that have loaded TensorFlow, and looks since.
    loaded: BTreeMap<TaskId, u32>,
}

impl Together {
    /// When to look next; none if there is nothing to find out.
    pub fn due(&mut self, world: &World) -> Option<Instant> {
        let mut running = world.running();
        let waits = !self.seen && world.shares_network();
        if !(waits && running.any(|task| should_listen(world.job(), task.task))) {
            return None;
        }
        let now = Instant::now();
        self.began.get_or_insert(now);
        Some(*self.next.get_or_insert(now + SHORTEST))
    }

    /// Looks, if it is time.
    pub fn look(&mut self, world: &World) {
        let now = Instant::now();
        if self.seen || self.next.is_none_or(|next| next > now) {
            return;
        }
        self.look_at_programs(world);
        if !self.loaded.is_empty() {
            self.look_at_sockets(world);
        }
        let past = self.began.map_or(Duration::ZERO, |began| now - began) / 60;
        let pause = past.max(now.elapsed() * PART).clamp(SHORTEST, LONGEST);
        self.next = Some(Instant::now() + pause);
    }

    fn look_at_sockets(&mut self, world: &World) {
        let ports = world.addresses.ports();
        let known = |port: u16| ports.values().any(|of_task| *of_task == port);
        self.seen |= sockets()
            .iter()
            .any(|Socket { local, remote, .. }| known(*local) || known(*remote));
    }

    fn look_at_programs(&mut self, world: &World) {
        let listeners = world
            .running()
            .filter(|task| should_listen(world.job(), task.task));
        let watched: Vec<(TaskId, u32)> = listeners
            .filter_map(|running| Some((running.task.clone(), running.pid?)))
            .take(WATCHED)
            .collect();
        if watched.iter().all(|(task, _)| self.loaded.contains_key(task)) {
            for (task, _) in &watched {
                self.loaded.entry(task.clone()).and_modify(|looks| *looks += 1);
            }
            return;
        }
        let groups = process_groups();
        for (task, group) in watched {
            if let Some(looks) = self.loaded.get_mut(&task) {
                *looks += 1;
                continue;
            }
            let members = groups.iter().filter(|(_, of)| *of == group);
            let libraries = libraries(members.map(|(pid, _)| *pid));
            self.seen |= libraries.horovod;
            if libraries.tensorflow {
                self.loaded.insert(task, 0);
            }
        }
    }

    /// The tasks that trained alone, to be asked when the job has succeeded; none if they did not, or if it is not certain.
    pub fn trained_alone(&mut self, world: &World) -> Option<usize> {
        if self.seen || !world.shares_network() {
            return None;
        }
        let tasks = world
            .job()
            .tasks()
            .filter(|task| should_listen(world.job(), task))
            .count();
        if !is_certain(tasks, self.loaded.values().copied()) {
            return None;
        }
        // What was closed since the last look is still in the table.
        self.look_at_sockets(world);
        (!self.seen).then_some(tasks)
    }
}

/// Whether enough was looked at to say that the tasks trained alone. `looks` has a number for each task that has loaded TensorFlow; as
/// watched tasks end others are watched in their place, so that there may be more than [`WATCHED`].
fn is_certain(tasks: usize, looks: impl Iterator<Item = u32>) -> bool {
    tasks >= WATCHED && looks.filter(|looks| *looks >= LOOKS).count() >= WATCHED
}

/// What programs have loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Libraries {
    tensorflow: bool,
    /// It connects its tasks without `TF_CONFIG`.
    horovod: bool,
}

fn libraries(pids: impl Iterator<Item = u32>) -> Libraries {
    let mut all = Libraries::default();
    for pid in pids {
        let one = mapped(&proc_file::read(&format!("/proc/{pid}/maps")));
        all.tensorflow |= one.tensorflow;
        all.horovod |= one.horovod;
    }
    all
}

/// What the table of a process's memory names.
fn mapped(maps: &str) -> Libraries {
    Libraries {
        tensorflow: maps.contains("/libtensorflow_framework.so"),
        horovod: maps.contains("/horovod/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_tasks_that_were_looked_at_often_are_enough_and_more_are_too() {
        let table: [(usize, &[u32], bool); 8] = [
            (2, &[3, 3], true),
            (3, &[3, 3], true),
            (3, &[3, 3, 3], true),
            (3, &[9, 4, 1], true),
            (3, &[9, 2, 1], false),
            (3, &[9], false),
            (3, &[], false),
            (1, &[9, 9], false),
        ];
        for (tasks, looks, expected) in table {
            let certain = is_certain(tasks, looks.iter().copied());
            assert_eq!(certain, expected, "{tasks} tasks, {looks:?}");
        }
    }

    #[test]
    fn libraries_are_told_by_the_files_that_are_mapped() {
        let line =
            "7f00-7f01 r-xp 00000000 08:01 1 /venv/site-packages/tensorflow/libtensorflow_framework.so.2\n";
        let table = [
            (line.to_owned(), (true, false)),
            (
                "7f00-7f01 r-xp 00000000 08:01 1 /usr/lib/libc.so.6\n".to_owned(),
                (false, false),
            ),
            (
                format!("{line}7f 1 /venv/horovod/tensorflow/mpi_lib.so\n"),
                (true, true),
            ),
            (String::new(), (false, false)),
        ];
        for (maps, (tensorflow, horovod)) in table {
            assert_eq!(mapped(&maps), Libraries { tensorflow, horovod }, "{maps}");
        }
        // Of a process that is gone nothing is known.
        assert_eq!(libraries(std::iter::once(u32::MAX)), Libraries::default());
    }
}
