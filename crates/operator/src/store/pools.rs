//! Whose turn it is among the gangs that are held by scheduling gates.
//!
//! Every change of a job marks its gang; before the next job is reconciled, the marked gangs are looked at again, and turns are
//! given where they are free. So the order in which jobs are reconciled does not matter, and one change costs no look at the pods of other gangs.

use std::collections::BTreeSet;
use std::sync::Arc;

use trainyard_core::gates::{Pools, Standing, Terms, is_gated, patience};
use trainyard_core::{GangSeen, Placement, Time};
use trainyard_manifest::observe::{NodeSeen, PodSeen};

use super::room::{Advice, Demand, Room};
use super::{Entry, Source, Store};
use crate::job::{JobKey, Meaning, Reading};
use crate::kinds::Kind;

/// After so many seconds a job that waits says anew what it waits for.
const WORDS_LAST: u32 = 120;
/// So many seconds the first turn waits for the list of nodes. Without it all gangs compete.
const NODES_AWAITED: u32 = 10;

/// What one job's gang was told last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gating {
    /// Whether it is its turn.
    pub told: GangSeen,
    /// When that may change by itself.
    pub wake: Option<Time>,
    /// The gangs that it waits for: the first of them, and how many there are.
    pub ahead: Option<(JobKey, usize)>,
    /// Since when it has been waiting.
    pub since: Time,
    /// Whether it would fit, where it waits and that is known.
    pub advice: Option<Advice>,
}

/// The gangs of all jobs that are held by gates.
#[derive(Debug, Default)]
pub struct GatedGangs {
    /// Nothing is done here unless gates were chosen.
    is_on: bool,
    /// Kinds whose jobs have been listed, as far as they can be. No turn is given before: a gang that has it may not be known.
    listed: BTreeSet<&'static Kind>,
    /// Jobs that have changed since they were last looked at.
    marked: BTreeSet<JobKey>,
    /// The second in which turns were last looked at, and in which they first were.
    looked: Option<Time>,
    begun: Option<Time>,
    /// When turns have to be looked at again by themselves.
    wake: Option<Time>,
    /// Nodes have changed since turns were last looked at.
    nodes_changed: bool,
    room: Room,
    pools: Pools<JobKey>,
}

impl GatedGangs {
    /// For an operator that was told to read jobs so.
    pub fn new(reading: &Reading) -> Self {
        Self {
            is_on: reading.gang.have_gates(),
            ..Self::default()
        }
    }

    /// Something about a job has changed.
    pub fn mark(&mut self, key: &JobKey) {
        if self.is_on {
            self.marked.insert(key.clone());
        }
    }

    /// As much is known of the jobs of a kind, or of nodes, as there is to know.
    pub fn source_known(&mut self, source: Source) {
        match source {
            Source::Jobs(kind) => {
                self.listed.insert(kind);
            }
            Source::Nodes => {
                self.room.refuse();
                self.nodes_changed = true;
            }
            _ => {}
        }
    }

    /// Nodes have been listed: these are all.
    pub fn nodes_listed(&mut self, uids: &BTreeSet<Arc<str>>) {
        self.room.listed(uids);
        self.nodes_changed = true;
    }

    /// Keeps of a pod what gangs need, and nothing where there are none.
    pub fn shrink(&self, pod: &mut PodSeen) {
        if !self.is_on {
            (pod.node, pod.needs) = (None, None);
        } else if let Some(needs) = pod.needs.take() {
            pod.needs = Some(self.room.class(needs));
        }
    }

    /// When turns are to be looked at by themselves.
    pub const fn wake(&self) -> Option<Time> {
        self.wake
    }

    /// Takes in the jobs that have changed, and nodes.
    fn look(&mut self, entry: impl Fn(&JobKey) -> Option<Gang>, now: Time) {
        for key in std::mem::take(&mut self.marked) {
            let Some(gang) = entry(&key) else {
                self.pools.lose(&key);
                self.room.demand(&key, Demand::default());
                continue;
            };
            self.room.demand(&key, gang.demand);
            match gang.standing {
                Some((seen, priority, patience)) => {
                    let reach = self.room.reach(&key);
                    let terms = Terms {
                        priority,
                        patience,
                        reach,
                    };
                    self.pools.see(&key, seen, terms, now);
                }
                None => self.pools.lose(&key),
            }
        }
        if self.room.take_moved() {
            let Self { pools, room, .. } = self;
            for key in room.jobs() {
                pools.reaches(key, room.reach(key));
            }
        }
    }

    /// The gangs whose turn begins.
    fn next(&mut self, now: Time) -> Vec<JobKey> {
        let awaited = *self.begun.get_or_insert(now) + NODES_AWAITED;
        if self.room.is_awaited() && awaited > now {
            self.wake = Some(awaited);
            return Vec::new();
        }
        let Self { pools, room, .. } = self;
        let next = std::iter::from_fn(|| pools.next(now, |key| room.fit(key, now)));
        let next = next.collect();
        let stale = self.room.take_stale().then_some(now + 1);
        self.wake = self.pools.wake(now).into_iter().chain(stale).min();
        next
    }
}

impl Store {
    /// A watch shows a node.
    pub fn node_seen(&mut self, node: NodeSeen) {
        self.list_shows(Source::Nodes, &node.uid);
        self.gates.nodes_changed |= self.gates.room.see(node);
    }

    /// A node is gone.
    pub fn node_gone(&mut self, node: &NodeSeen) {
        self.gates.room.gone(&node.name);
        self.gates.nodes_changed = true;
    }

    /// Gives turns to the next gangs, where they are free.
    pub(super) fn take_turns(&mut self, now: Time) {
        let gates = &mut self.gates;
        let is_news = !gates.marked.is_empty() || gates.looked != Some(now) || gates.nodes_changed;
        if !gates.is_on || !is_news {
            return;
        }
        gates.looked = Some(now);
        gates.nodes_changed = false;
        let entries = &self.entries;
        gates.look(|key| entries.get(key).and_then(gang), now);
        let all_listed = self.reading.kinds.iter().all(|kind| gates.listed.contains(kind));
        if all_listed {
            for next in gates.next(now) {
                self.enqueue(next);
            }
        }
    }

    /// What a job's gang is told now.
    pub(super) fn gating(&self, key: &JobKey, now: Time) -> Gating {
        let pools = &self.gates.pools;
        let (told, wake) = pools.told(key, now);
        let waits = pools.waits(key);
        let mut ahead = pools.ahead(key, now).filter(|_| told == GangSeen::Held);
        let ahead = ahead.next().map(|first| (first.clone(), ahead.count() + 1));
        let advice = if waits { self.gates.room.advice(key) } else { None };
        let says = ahead.is_some() || advice.is_some();
        let words = says.then(|| now + WORDS_LAST);
        Gating {
            told,
            wake: wake.into_iter().chain(words).min(),
            ahead,
            since: pools.since(key).unwrap_or_default(),
            advice,
        }
    }
}

/// What is seen of a job.
struct Gang {
    demand: Demand,
    /// Its priority, and how long its turn lasts; none where its gang is not held by gates.
    standing: Option<(Standing, i32, u32)>,
}

fn gang(entry: &Entry) -> Option<Gang> {
    let job = entry.job.as_ref()?;
    let pods = entry.pods.values().map(|held| &held.pod);
    let ours = pods.filter(|pod| pod.owner.as_ref() == Some(&job.uid) && pod.task.is_some());
    let standing = standing(entry, ours.clone());
    let mut demand = Demand::default();
    if let Some((seen, ..)) = &standing {
        let there = seen.members.settled.saturating_add(seen.members.placed);
        demand.needed = seen.members.needed.saturating_sub(there);
    }
    for pod in ours {
        let (Some(needs), Some(task)) = (&pod.needs, &pod.task) else {
            continue;
        };
        if !task.alive() {
            continue;
        }
        if standing.is_some() {
            let gated = task.placement == Placement::Gated && task.stopping.is_none();
            *demand.classes.entry(Arc::clone(needs)).or_default() += u32::from(gated);
        }
        if let Some(node) = &pod.node {
            let held = (Arc::clone(node), Arc::clone(needs));
            *demand.holds.entry(held).or_default() += 1;
        }
    }
    Some(Gang { demand, standing })
}

/// What is seen of a job's gang, its priority, and how long its turn lasts.
fn standing<'a>(entry: &Entry, ours: impl Iterator<Item = &'a PodSeen>) -> Option<(Standing, i32, u32)> {
    let job = entry.job.as_ref()?;
    let Meaning::Job(compiled) = &*job.meaning else {
        return None;
    };
    if !is_gated(compiled.job()) {
        return None;
    }
    let memory = job.memory(compiled.job()).ok()?;
    let observed = entry.observed(&job.uid, job.deleting);
    let seen = Standing::of(compiled.job(), memory.as_ref(), &observed, job.created)?;
    let priority = ours.map(|pod| pod.priority).max();
    Some((seen, priority.unwrap_or_default(), patience(compiled.job())))
}

#[cfg(test)]
impl GatedGangs {
    /// A gang that waits, of two pods whose needs no other has and no node holds.
    pub fn play(&mut self, key: &JobKey, number: u32, now: Time) {
        let cpu = i64::from(number + 9) * 1000;
        let needs = trainyard_manifest::observe::PodNeeds {
            ask: [("cpu".into(), cpu), ("pods".into(), 1000)].into_iter().collect(),
            ..Default::default()
        };
        let demand = Demand {
            classes: [(needs.into(), 2)].into_iter().collect(),
            needed: 2,
            ..Demand::default()
        };
        self.room.demand(key, demand);
        let members = trainyard_core::gates::Members {
            needed: 2,
            gated: 2,
            ..Default::default()
        };
        let seen = Standing {
            epoch: 0,
            since: now,
            members,
            was_placed: false,
        };
        let terms = Terms {
            priority: 0,
            patience: 60,
            reach: self.room.reach(key),
        };
        self.pools.see(key, seen, terms, now);
    }

    /// How many turns begin, and how often advice was computed for that.
    pub fn looks(&mut self, now: Time) -> (usize, usize) {
        let before = self.room.computed;
        (self.next(now).len(), self.room.computed - before)
    }
}
