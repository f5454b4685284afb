//! Whose turn it is among gangs: the arbiter behind gangs on a scheduler that places pods one by one.
//!
//! ```text
//! (job, memory, observed) ─▶ Standing ─┐
//! pods, nodes ─▶ Reach, Fit ───────────┴▶ Pools ─▶ GangSeen ─▶ step ─▶ Ungate, or a new epoch
//! ```
//!
//! Two gangs whose pods a scheduler places at the same time on the same nodes may each get half of what they need and wait for ever. So the
//! pods of a gang have a gate, of gangs that compete for a node one at a time is let go, and one of which not enough was placed in its time gives
//! its room back and waits behind the others. The arbiter keeps nothing that cannot be seen: a gang that has lost a gate and is not placed *has* the
//! turn, also for an operator that has just started. What it holds besides are clocks and how many turns of a gang failed, which may begin anew.
//!
//! Pure, like `step`: what is seen and the time are handed in.

mod put_off;
mod reach;
mod standing;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use self::put_off::{Failed, PutOff};
pub use self::put_off::{Fit, MOST_RESERVED, TRIED_AFTER};
pub use self::reach::Reach;
pub use self::standing::{Members, Stage, Standing};

use crate::job::{GangScheduler, Job};
use crate::observed::GangSeen;
use crate::time::Time;

/// Seconds without another member placed after which a turn is over, where the job does not say.
pub const PATIENCE: u32 = 60;
/// A job cannot keep the others waiting for longer than this.
pub const MOST_PATIENCE: u32 = 600;

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

/// What decides about a gang's turn besides how far its members are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    /// The highest comes first.
    pub priority: i32,
    /// Seconds without progress after which its turn is over.
    pub patience: u32,
    /// The nodes on which its pods may be placed. Two gangs compete if these meet.
    pub reach: Arc<Reach>,
}

/// One gang that waits, or has the turn.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Gang {
    seen: Standing,
    terms: Terms,
    /// Since when it has been waiting; not before its last turn was over.
    since: Time,
    turn: Option<Turn>,
    put_off: Option<PutOff>,
    failed: Failed,
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
    /// Until when no gang that competes with it may begin a turn. A turn that is over ends by a new epoch; should that fail for as long again,
    /// the others go on.
    fn blocks_until(&self) -> Option<Time> {
        let turn = self.turn?;
        let once = turn.since + self.terms.patience;
        Some(match self.seen.stage() {
            Stage::Mends | Stage::Leaves => once,
            Stage::Idle | Stage::Waits | Stage::Open => once + self.terms.patience,
        })
    }

    /// Takes advice.
    fn heed(&mut self, fit: Fit, now: Time) {
        let since = self.put_off.map_or(now, |put_off| put_off.since);
        self.put_off = (fit != Fit::Now).then_some(PutOff { since, fit });
    }

    /// When it is tried though it would not fit.
    fn tried(&self) -> Option<Time> {
        self.put_off
            .map(|put_off| put_off.tried(self.failed, self.terms.patience))
    }

    /// Whether it keeps those behind it waiting: also while its own turn is put off, for some time.
    fn reserves(&self, now: Time) -> bool {
        let is_due = self.tried().is_none_or(|tried| tried <= now);
        let put_off = self.put_off;
        is_due || put_off.is_some_and(|put_off| put_off.reserves(self.failed, self.terms.patience, now))
    }
}

/// All gangs, and which of them have the turn. `K` names a gang.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pools<K> {
    gangs: BTreeMap<K, Gang>,
    /// Those that have the turn, are mended or leave: mostly one per pool.
    busy: BTreeSet<K>,
    /// Those that wait, the next one first.
    waiting: BTreeSet<(Reverse<i32>, Time, K)>,
    failed: BTreeMap<K, Failed>,
}

impl<K> Default for Pools<K> {
    fn default() -> Self {
        Self {
            gangs: BTreeMap::new(),
            busy: BTreeSet::new(),
            waiting: BTreeSet::new(),
            failed: BTreeMap::new(),
        }
    }
}

impl<K: Ord + Clone> Pools<K> {
    /// Whether no gang needs anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.gangs.is_empty()
    }

    /// Takes in what is seen of a gang.
    pub fn see(&mut self, key: &K, seen: Standing, mut terms: Terms, now: Time) {
        let gone = self.forget(key);
        let gave = |turn: &Turn| turn.given && !seen.was_placed;
        let before = gone.as_ref().and_then(|gang| gang.turn);
        let same = before.filter(|turn| turn.epoch == seen.epoch);
        let turn = turn_after(same, &seen, now);
        if before.as_ref().is_some_and(gave) && !turn.as_ref().is_some_and(gave) {
            let failed = self.failed.entry(key.clone()).or_default();
            *failed = failed.again(now);
        }
        if let Some(failed) = self.failed.get_mut(key).filter(|_| seen.was_placed) {
            // The time stays: a status that was written by others takes no gang to the front.
            failed.turns = 0;
        }
        if seen.stage() == Stage::Idle && turn.is_none() {
            return;
        }
        let failed = self.failed.get(key).copied().unwrap_or_default();
        if let Some(gang) = gone.as_ref().filter(|_| same.is_some() && turn.is_some()) {
            // It may hold room on nodes that have changed since.
            terms.reach = gang.terms.reach.joined(terms.reach);
        }
        let gang = Gang {
            since: seen.since.max(failed.at),
            put_off: gone.and_then(|gang| gang.put_off).filter(|_| turn.is_none()),
            seen,
            terms,
            turn,
            failed,
        };
        match turn {
            Some(_) => self.busy.insert(key.clone()),
            None => self.waiting.insert(place_of(key, &gang)),
        };
        self.gangs.insert(key.clone(), gang);
    }

    /// The nodes have changed on which the pods of a gang may be placed.
    pub fn reaches(&mut self, key: &K, reach: Arc<Reach>) {
        if let Some(gang) = self.gangs.get_mut(key) {
            gang.terms.reach = match gang.turn {
                Some(_) => gang.terms.reach.joined(reach),
                None => reach,
            };
        }
    }

    /// A gang is no longer here.
    pub fn lose(&mut self, key: &K) {
        self.forget(key);
        self.failed.remove(key);
    }

    fn forget(&mut self, key: &K) -> Option<Gang> {
        let gang = self.gangs.remove(key)?;
        self.busy.remove(key);
        self.waiting.remove(&place_of(key, &gang));
        Some(gang)
    }

    /// Gives the turn to the next gang that competes with none that has it; says which. A gang that waits keeps those behind it waiting that
    /// compete with it, so that small ones do not use its room up one after the other. One that would never fit does not, and one
    /// that would fit later does until it is tried, which is later after each turn that failed.
    pub fn next(&mut self, now: Time, mut fit: impl FnMut(&K) -> Fit) -> Option<K> {
        let mut taken = self.taken(now);
        let mut next = None;
        for (_, _, key) in &self.waiting {
            let Some(gang) = self.gangs.get_mut(key).filter(|_| !taken.is_all()) else {
                break;
            };
            let is_blocked = taken.meets(&gang.terms.reach);
            // Advice costs a look at all nodes: only a gang that could go now, or was put off before, needs it.
            if !is_blocked || gang.put_off.is_some() {
                gang.heed(fit(key), now);
            }
            let is_due = gang.tried().is_none_or(|tried| tried <= now);
            if is_due && !is_blocked {
                next = Some(key.clone());
                break;
            }
            if gang.reserves(now) {
                taken.join(&gang.terms.reach);
            }
        }
        let key = next?;
        self.begin(&key, now);
        Some(key)
    }

    fn begin(&mut self, key: &K, now: Time) {
        let Some(mut gang) = self.forget(key) else { return };
        gang.put_off = None;
        gang.turn = Some(Turn {
            epoch: gang.seen.epoch,
            most: 0,
            since: now,
            given: true,
        });
        self.busy.insert(key.clone());
        self.gangs.insert(key.clone(), gang);
    }

    /// The nodes of gangs that have the turn, are mended or leave.
    fn taken(&self, now: Time) -> Reach {
        let mut taken = Reach::default();
        for gang in self.busy.iter().filter_map(|key| self.gangs.get(key)) {
            if gang.blocks_until().is_some_and(|until| until > now) {
                taken.join(&gang.terms.reach);
            }
        }
        taken
    }

    /// When [`next`](Self::next) may answer otherwise by itself.
    #[must_use]
    pub fn wake(&self, now: Time) -> Option<Time> {
        if self.waiting.is_empty() {
            return None;
        }
        let of_gang = |gang: &Gang| [gang.blocks_until(), gang.tried()];
        let times = self.gangs.values().flat_map(of_gang).flatten();
        times.filter(|time| *time > now).min()
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
                let over = turn.since + gang.terms.patience;
                if over <= now {
                    (GangSeen::Expired { epoch: turn.epoch }, None)
                } else {
                    (GangSeen::Open, Some(over))
                }
            }
            _ => (GangSeen::Held, None),
        }
    }

    /// Whether a gang waits for its turn.
    #[must_use]
    pub fn waits(&self, key: &K) -> bool {
        self.gangs.get(key).is_some_and(|gang| gang.turn.is_none())
    }

    /// Since when a gang has been waiting, or has had the turn.
    #[must_use]
    pub fn since(&self, key: &K) -> Option<Time> {
        let gang = self.gangs.get(key)?;
        Some(gang.turn.map_or(gang.since, |turn| turn.since))
    }

    /// Those that a gang waits for, of the ones that compete with it: those that have the turn or are mended, then those that come before it
    /// and are not passed over.
    pub fn ahead<'a>(&'a self, key: &'a K, now: Time) -> impl Iterator<Item = &'a K> {
        let own = self.gangs.get(key);
        let place = own.filter(|gang| gang.turn.is_none());
        let place = place.map(|gang| place_of(key, gang));
        let before = place.into_iter().flat_map(|place| self.waiting.range(..place));
        let before = before.map(|(_, _, other)| other).filter(move |other| {
            let gang = self.gangs.get(*other);
            gang.is_some_and(|gang| gang.reserves(now))
        });
        let busy = self.busy.iter().filter(move |other| *other != key);
        busy.chain(before).filter(move |other| {
            let other = self.gangs.get(*other);
            let meets = |(own, other): (&Gang, &Gang)| own.terms.reach.meets(&other.terms.reach);
            own.zip(other).is_some_and(meets)
        })
    }
}

/// Where a gang stands among those that wait.
fn place_of<K: Clone>(key: &K, gang: &Gang) -> (Reverse<i32>, Time, K) {
    (Reverse(gang.terms.priority), gang.since, key.clone())
}

/// The turn that a gang has, by what is seen of it; `before` is the one that it had in this epoch.
fn turn_after(before: Option<Turn>, seen: &Standing, now: Time) -> Option<Turn> {
    match (seen.stage(), before) {
        // Its gates are being taken away, also where a member is missing by now; or it has not had the turn.
        (Stage::Waits, turn) => turn.filter(|turn| turn.given),
        (Stage::Idle, turn) => turn.filter(|turn| turn.given && !seen.was_placed),
        (_, Some(turn)) if seen.members.placed <= turn.most => Some(turn),
        (_, before) => Some(Turn {
            epoch: seen.epoch,
            most: seen.members.placed,
            since: now,
            given: before.is_some_and(|turn| turn.given),
        }),
    }
}

#[cfg(feature = "sim")]
impl<K: Ord + Clone> Pools<K> {
    /// The same with other clocks and epochs, for a model whose states must not grow with time. Of a turn that failed only that it did is kept.
    #[must_use]
    pub fn rebased(&self, clock: impl Fn(Time) -> Time, epoch: impl Fn(&K, u32) -> u32) -> Self {
        let mut pools = self.clone();
        for (key, gang) in &mut pools.gangs {
            gang.seen.epoch = epoch(key, gang.seen.epoch);
            if let Some(put_off) = &mut gang.put_off {
                put_off.since = clock(put_off.since);
            }
            if let Some(turn) = &mut gang.turn {
                (turn.epoch, turn.since) = (epoch(key, turn.epoch), clock(turn.since));
            }
        }
        let of_gangs = pools.gangs.values_mut().map(|gang| &mut gang.failed);
        for failed in pools.failed.values_mut().chain(of_gangs) {
            (failed.at, failed.turns) = (Time::default(), failed.turns.min(1));
        }
        pools
    }
}

#[cfg(test)]
mod tests;
