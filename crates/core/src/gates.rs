//! Whose turn it is among the gangs of one pool: the arbiter behind gangs on a scheduler that places pods one by one.
//!
//! ```text
//! (job, memory, observed) ─▶ Standing ─▶ Pool ─▶ GangSeen ─▶ step ─▶ Ungate, or a new epoch
//! ```
//!
//! Two gangs whose pods a scheduler places at the same time may each get half of what they need and wait for ever. So the pods of a gang
//! have a gate, one gang of a pool at a time is let go, and one of which not enough was placed in its time gives its room back and waits behind the
//! others. A pool keeps nothing that cannot be seen: a gang that has lost a gate and is not placed *has* the turn, also for an operator that has
//! just started. What it holds besides are clocks, which may begin anew.
//!
//! Pure, like `step`: what is seen and the time are handed in.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::job::{GangScheduler, Job};
use crate::memory::Memory;
use crate::observed::{GangSeen, Observed, Placement, Seen, TaskSeen};
use crate::policy::View;
use crate::time::Time;

/// Seconds without another member placed after which a turn is over, where the job does not say.
pub const PATIENCE: u32 = 60;
/// A job cannot keep the others waiting for longer than this.
pub const MOST_PATIENCE: u32 = 600;
/// A gang that would not fit on the empty nodes is tried all the same when it has waited for so many seconds: nodes may be counted wrongly,
/// and a cluster that grows on demand adds none for pods behind a gate.
pub const TRIED_AFTER: u32 = 600;

/// Whether the tasks of a job are held by scheduling gates.
#[must_use]
pub fn is_gated(job: &Job) -> bool {
    let gang = job.gang.as_ref();
    gang.is_some_and(|gang| gang.scheduler == GangScheduler::Gates)
}

/// How long a job's turn lasts without progress.
#[must_use]
pub fn patience(job: &Job) -> u32 {
    let timeout = job.gang.as_ref().and_then(|gang| gang.timeout);
    timeout.unwrap_or(PATIENCE).clamp(1, MOST_PATIENCE)
}

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

/// Whether a gang would fit, as far as is known. It is advice: the scheduler decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fit {
    /// There is room for it, or nothing is known.
    Now,
    /// When jobs of this operator have ended.
    Later,
    /// Not on the nodes that there are, if they were empty.
    Never,
}

/// One gang of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Gang {
    seen: Standing,
    priority: i32,
    patience: u32,
    turn: Option<Turn>,
}

/// Since when a gang has had the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Turn {
    epoch: u32,
    /// The most members that were placed in it.
    most: u32,
    /// When that last rose, or it began.
    since: Time,
    /// It was its turn. Otherwise something of it was seen without a gate, or on its way out.
    given: bool,
}

impl Gang {
    /// Until when no other gang may begin a turn. A turn that is over ends by a new epoch; should that fail for as long again, the others go on.
    fn blocks_until(&self) -> Option<Time> {
        let turn = self.turn?;
        let once = turn.since + self.patience;
        Some(match self.seen.stage() {
            Stage::Mends | Stage::Leaves => once,
            Stage::Idle | Stage::Waits | Stage::Open => once + self.patience,
        })
    }
}

/// The gangs that compete for the same nodes. `K` names a gang.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pool<K> {
    gangs: BTreeMap<K, Gang>,
    /// Those that have the turn, are mended or leave: mostly one at a time.
    busy: BTreeSet<K>,
    /// Those that wait, the next one first.
    waiting: BTreeSet<(Reverse<i32>, Time, K)>,
}

impl<K> Default for Pool<K> {
    fn default() -> Self {
        Self {
            gangs: BTreeMap::new(),
            busy: BTreeSet::new(),
            waiting: BTreeSet::new(),
        }
    }
}

impl<K: Ord + Clone> Pool<K> {
    /// Whether no gang needs anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.gangs.is_empty()
    }

    /// Takes in what is seen of a gang.
    pub fn see(&mut self, key: &K, seen: Standing, (priority, patience): (i32, u32), now: Time) {
        let before = self.forget(key).filter(|turn| turn.epoch == seen.epoch);
        let begins = Turn {
            epoch: seen.epoch,
            most: seen.members.placed,
            since: now,
            given: before.is_some_and(|turn| turn.given),
        };
        let turn = match (seen.stage(), before) {
            // Its gates are being taken away, also where a member is missing by now; or it has not had the turn.
            (Stage::Waits, turn) => turn.filter(|turn| turn.given),
            (Stage::Idle, turn) => match turn.filter(|turn| turn.given && !seen.was_placed) {
                None => return,
                turn => turn,
            },
            (_, Some(turn)) if seen.members.placed <= turn.most => Some(turn),
            _ => Some(begins),
        };
        match turn {
            Some(_) => self.busy.insert(key.clone()),
            None => self.waiting.insert((Reverse(priority), seen.since, key.clone())),
        };
        let gang = Gang {
            seen,
            priority,
            patience,
            turn,
        };
        self.gangs.insert(key.clone(), gang);
    }

    /// A gang is no longer here.
    pub fn lose(&mut self, key: &K) {
        self.forget(key);
    }

    fn forget(&mut self, key: &K) -> Option<Turn> {
        let gang = self.gangs.remove(key)?;
        self.busy.remove(key);
        self.waiting
            .remove(&(Reverse(gang.priority), gang.seen.since, key.clone()));
        gang.turn
    }

    /// Gives the turn to the next gang, if none has it; says which. A gang that waits for room keeps those behind it waiting, so that small
    /// ones do not use it up one after the other. One that would never fit does not.
    pub fn next(&mut self, now: Time, mut fit: impl FnMut(&K) -> Fit) -> Option<K> {
        if self.free_at().is_some_and(|free| free > now) {
            return None;
        }
        let mut next = None;
        for (_, since, key) in &self.waiting {
            match fit(key) {
                Fit::Now => next = Some(key.clone()),
                Fit::Never if *since + TRIED_AFTER <= now => next = Some(key.clone()),
                Fit::Never => continue,
                Fit::Later => {}
            }
            break;
        }
        let key = next?;
        let gang = self.gangs.get_mut(&key)?;
        gang.turn = Some(Turn {
            epoch: gang.seen.epoch,
            most: 0,
            since: now,
            given: true,
        });
        self.waiting
            .remove(&(Reverse(gang.priority), gang.seen.since, key.clone()));
        self.busy.insert(key.clone());
        Some(key)
    }

    /// When the next turn may begin at the latest; none if nothing is in its way.
    #[must_use]
    pub fn free_at(&self) -> Option<Time> {
        let busy = self.busy.iter().filter_map(|key| self.gangs.get(key));
        busy.filter_map(Gang::blocks_until).max()
    }

    /// What a gang is told, and when that changes by itself.
    #[must_use]
    pub fn told(&self, key: &K, now: Time) -> (GangSeen, Option<Time>) {
        let Some(gang) = self.gangs.get(key) else {
            return (GangSeen::Held, None);
        };
        match (gang.seen.stage(), gang.turn) {
            (Stage::Mends, _) => (GangSeen::Open, None),
            (Stage::Waits | Stage::Open, Some(turn)) => {
                let over = turn.since + gang.patience;
                if over <= now {
                    (GangSeen::Expired { epoch: turn.epoch }, None)
                } else {
                    (GangSeen::Open, Some(over))
                }
            }
            (Stage::Waits, None) => {
                let tried = gang.seen.since + TRIED_AFTER;
                let times = self.free_at().into_iter().chain([tried]);
                (GangSeen::Held, times.filter(|time| *time > now).min())
            }
            _ => (GangSeen::Held, None),
        }
    }

    /// Since when a gang has been waiting, or has had the turn.
    #[must_use]
    pub fn since(&self, key: &K) -> Option<Time> {
        let gang = self.gangs.get(key)?;
        Some(gang.turn.map_or(gang.seen.since, |turn| turn.since))
    }

    /// Those that a gang waits for: the ones that have the turn or are mended, then the ones that come before it.
    pub fn ahead<'a>(&'a self, key: &'a K) -> impl Iterator<Item = &'a K> {
        let place = self.gangs.get(key).filter(|gang| gang.turn.is_none());
        let place = place.map(|gang| (Reverse(gang.priority), gang.seen.since, key.clone()));
        let before = place.into_iter().flat_map(|place| self.waiting.range(..place));
        let busy = self.busy.iter().filter(move |other| *other != key);
        busy.chain(before.map(|(_, _, other)| other))
    }
}

#[cfg(feature = "sim")]
impl<K: Ord + Clone> Pool<K> {
    /// The same pool with other clocks and epochs, for a model whose states must not grow with time.
    #[must_use]
    pub fn rebased(&self, clock: impl Fn(Time) -> Time, epoch: impl Fn(&K, u32) -> u32) -> Self {
        let mut pool = self.clone();
        for (key, gang) in &mut pool.gangs {
            gang.seen.epoch = epoch(key, gang.seen.epoch);
            if let Some(turn) = &mut gang.turn {
                (turn.epoch, turn.since) = (epoch(key, turn.epoch), clock(turn.since));
            }
        }
        pool
    }
}

#[cfg(test)]
mod tests;
