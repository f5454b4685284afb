//! How many tasks of a job need no place any more: some schedulers do not count their pods.

use trainyard_core::{Ending, Job, Memory, Seen, Stamp, TaskSeen};

/// Tasks that have ended in the current epoch and have not been started again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Tasks that have succeeded.
    pub succeeded: u32,
    /// Tasks that have failed, for good or until they are started again.
    pub failed: u32,
}

impl Ended {
    /// What is remembered and what is seen: a pod that has ended counts before memory says so, so that a group is corrected before
    /// another task is created again.
    #[must_use]
    pub fn of(job: &Job, memory: Option<&Memory>, tasks: &[TaskSeen]) -> Self {
        let mut ended = Self::default();
        for role in &job.roles {
            let known = memory.and_then(|memory| memory.roles.get(&role.name));
            let Some(known) = known else { continue };
            let within = |index: &u32| *index < role.replicas;
            ended.succeeded += count(known.done.iter().take_while(within));
            ended.failed += count(known.failed.iter().take_while(within));
        }
        for task in tasks {
            let Seen::Ended(exit) = &task.state else { continue };
            let role = job.role(&task.id.role);
            let is_ours = role.is_some_and(|(_, role)| task.id.index < role.replicas);
            let current = memory.map_or_else(Stamp::default, |memory| memory.stamp(&task.id));
            let is_known =
                memory.is_some_and(|memory| memory.is_done(&task.id) || memory.is_failed(&task.id));
            if !is_ours || is_known || task.stamp != current {
                continue;
            }
            match Ending::of(Some(exit)) {
                Ending::Succeeded => ended.succeeded += 1,
                _ => ended.failed += 1,
            }
        }
        ended
    }

    /// All of them.
    #[must_use]
    pub fn all(self) -> u32 {
        self.succeeded.saturating_add(self.failed)
    }
}

fn count(tasks: impl Iterator<Item = u32>) -> u32 {
    u32::try_from(tasks.count()).unwrap_or(u32::MAX)
}
