//! What a look at a job finds about the group that its tasks are placed as, and what follows from that.

use std::sync::Arc;

use trainyard_core::{Action, Fixture, FixtureSeen, Observed, Step};

use crate::job::{Compiled, JobSeen};
use crate::store::{Ensure, Entry};

/// What is to be done about a group, and whether there is to be one.
#[derive(Debug)]
pub struct Grouping {
    wanted: bool,
    ensure: Option<Ensure>,
}

impl Grouping {
    /// Looks at the group of a job.
    pub fn of(entry: &mut Entry, compiled: &Compiled, job: &JobSeen) -> Self {
        let wanted = compiled.group.as_ref();
        Self {
            wanted: wanted.is_some(),
            ensure: wanted.and_then(|wanted| entry.group.ensure(wanted, &job.uid)),
        }
    }

    /// Adds it to what `step` may know.
    pub fn observe(&self, entry: &Entry, job: &JobSeen, observed: &mut Observed) {
        if !self.wanted {
            return;
        }
        observed.gang = entry.group.seen(&job.uid);
        let right = self.ensure.is_none();
        let seen = match entry.group.own(&job.uid) {
            Some(_) => Some(FixtureSeen::Ours { right }),
            None => right.then_some(FixtureSeen::Foreign),
        };
        observed.fixtures.extend(seen.map(|seen| (Fixture::Gang, seen)));
    }

    /// What a pass with these actions is to make of it, and the UID of what it is to take away.
    pub fn work(
        self,
        entry: &mut Entry,
        job: &JobSeen,
        actions: &[Action],
    ) -> (Option<Ensure>, Option<Arc<str>>) {
        let has = |action: Action| actions.contains(&action);
        let ensure = self.ensure.filter(|_| has(Action::Ensure(Fixture::Gang)));
        if let Some(ensure) = &ensure {
            entry.group.tries(ensure);
        }
        let own = entry.group.own(&job.uid).map(|group| Arc::clone(&group.uid));
        (ensure, own.filter(|_| has(Action::Remove(Fixture::Gang))))
    }
}

/// The group of a job that has ended or is held goes, as it should be or not. One that somebody else has made stays.
pub fn part(entry: &Entry, job: &JobSeen, step: &mut Step) {
    let remove = Action::Remove(Fixture::Gang);
    step.actions.retain(|action| *action != remove);
    let over = step.memory.verdict.is_some() || step.memory.held.is_some();
    if over && !job.deleting && entry.group.own(&job.uid).is_some() {
        step.actions.push(remove);
    }
}
