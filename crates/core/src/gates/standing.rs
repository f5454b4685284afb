//! What is seen of one gang, and what it needs of the arbiter.

use super::is_gated;
use crate::job::Job;
use crate::memory::Memory;
use crate::observed::{Observed, Placement, Seen, TaskSeen};
use crate::policy::View;
use crate::time::Time;

/// How many members of a gang are how far. Only current lives count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Members {
    /// So many must be placed together.
    pub needed: u32,
    /// Behind the gate.
    pub gated: u32,
    /// Without a gate, and without a node.
    pub unplaced: u32,
    /// On a node, or already ended there.
    pub placed: u32,
    /// Tasks that need no instance any more.
    pub settled: u32,
    /// Instances that have a node and are on their way out.
    pub leaving: u32,
}

impl Members {
    /// Counts them.
    pub(crate) fn of(job: &Job, memory: &Memory, view: &View<'_>) -> Self {
        let gang = job.gang.as_ref();
        let mut members = Self {
            needed: gang.map_or(1, |gang| gang.members).max(1),
            ..Self::default()
        };
        for (position, role) in job.roles.iter().enumerate() {
            let known = memory.of_role(&role.name);
            for index in 0..role.replicas {
                if known.done.contains(index) || known.failed.contains(index) {
                    members.settled += 1;
                    continue;
                }
                let stamp = memory.stamp_of(&role.name, index);
                let mut instances = view.instances(position, index).iter();
                if let Some(seen) = instances.find(|seen| seen.stamp == stamp) {
                    members.add(seen);
                }
            }
        }
        let leaves = |seen: &&TaskSeen| {
            let stays = seen.stopping.is_none() && seen.stamp == memory.stamp(&seen.id);
            seen.alive() && has_node(seen) && !stays
        };
        members.leaving = u32::try_from(view.all().filter(leaves).count()).unwrap_or(u32::MAX);
        members
    }

    fn add(&mut self, seen: &TaskSeen) {
        match (&seen.state, seen.placement) {
            (Seen::Gone(_), _) => {}
            (Seen::Ended(_), _) => self.placed += 1,
            _ if seen.stopping.is_some() => {}
            _ if has_node(seen) => self.placed += 1,
            (_, Placement::Gated) => self.gated += 1,
            (_, Placement::Unplaced) => self.unplaced += 1,
            // A gate of another controller holds it: counted as unplaced, it would cost the gang its turn.
            _ => {}
        }
    }

    /// Whether enough of them have nodes.
    #[must_use]
    pub const fn are_placed(&self) -> bool {
        self.placed.saturating_add(self.settled) >= self.needed
    }
}

fn has_node(seen: &TaskSeen) -> bool {
    matches!(seen.placement, Placement::Placed(_)) || matches!(seen.state, Seen::Running { .. })
}

/// What is seen of one gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Standing {
    /// The epoch of its members.
    pub epoch: u32,
    /// Since when it has been waiting: when it was created, resumed or rolled back.
    pub since: Time,
    /// Its members.
    pub members: Members,
    /// Enough of them were placed in this epoch, and that is stored: one that is lost before would leave a gang that never was.
    pub was_placed: bool,
}

/// What a gang needs of the arbiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Nothing: all of it is placed, or too few of its members exist.
    Idle,
    /// Its turn.
    Waits,
    /// It has the turn: gates are gone, and not enough of it is placed.
    Open,
    /// It was placed, and new members are not. They join at once, and no other gang gets the room that they are waiting for.
    Mends,
    /// It is being stopped, and the room that it had is not free yet.
    Leaves,
}

impl Standing {
    /// What is seen of a job's gang; none if it has none by gates, or has ended. `created` is when the job was.
    #[must_use]
    pub fn of(job: &Job, memory: Option<&Memory>, observed: &Observed, created: Time) -> Option<Self> {
        let fresh = Memory::new(job);
        let memory = memory.filter(|memory| memory.job == job.uid).unwrap_or(&fresh);
        if !is_gated(job) || memory.verdict.is_some() || observed.deleting {
            return None;
        }
        let members = Members::of(job, memory, &View::of(job, observed));
        let resumed = memory.started.filter(|_| memory.resumed);
        let waits = [Some(created), resumed, memory.gates.rolled_back];
        Some(Self {
            epoch: memory.epoch,
            since: waits.into_iter().flatten().max().unwrap_or_default(),
            was_placed: memory.gates.placed == Some(memory.epoch),
            members,
        })
    }

    /// What it needs.
    #[must_use]
    pub const fn stage(&self) -> Stage {
        let Members {
            needed,
            gated,
            unplaced,
            placed,
            settled,
            leaving,
        } = self.members;
        if self.was_placed {
            if gated > 0 || unplaced > 0 {
                Stage::Mends
            } else {
                Stage::Idle
            }
        } else if unplaced > 0 || placed > 0 {
            Stage::Open
        } else if leaving > 0 {
            Stage::Leaves
        } else if gated > 0 && gated.saturating_add(settled) >= needed {
            Stage::Waits
        } else {
            Stage::Idle
        }
    }
}
