//! The group that a job's tasks are placed as, as far as it is known to exist.

use std::sync::Arc;

use serde_json::Value;
use trainyard_core::GangSeen;
use trainyard_manifest::pod_group::correction;

use super::Store;
use super::tracked::{Named, Tracked};
use crate::job::{JobKey, KIND};
use crate::watched::GroupSeen;

/// Phases of a group that its scheduler has not let in.
const HELD: &[&str] = &["", "Pending"];

/// The group of a job's name.
#[derive(Debug, Default)]
pub struct Group {
    /// It, where there is one.
    pub known: Tracked<GroupSeen>,
    /// The correction that was last asked for. A server that takes it and keeps the group as it was is not asked again.
    tried: Option<Ensure>,
}

impl Named for GroupSeen {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn uid(&self) -> &Arc<str> {
        &self.uid
    }

    fn version(&self) -> u64 {
        self.version
    }
}

/// What is to be done for a group to be as it should.
#[derive(Clone, Debug, PartialEq)]
pub enum Ensure {
    /// Make it.
    Make,
    /// Change this of the group with that UID.
    Correct(Arc<str>, Value),
}

impl Group {
    /// The group that the tasks of a job are in; none where there is none, or one that goes, or another job's.
    #[must_use]
    pub fn of(&self, job: &Arc<str>) -> Option<&GroupSeen> {
        // All groups here have the job's name.
        let mut seen = self.known.all();
        seen.next().filter(|seen| {
            let others = seen
                .owner
                .as_ref()
                .is_some_and(|(kind, uid)| **kind == *KIND && uid != job);
            !seen.deleting && !others
        })
    }

    /// The group that was made for a job, and may be changed and deleted.
    #[must_use]
    pub fn own(&self, job: &Arc<str>) -> Option<&GroupSeen> {
        let owner = |seen: &&GroupSeen| seen.owner.as_ref().is_some_and(|(_, uid)| uid == job);
        self.of(job).filter(owner)
    }

    /// How far a job's group has come.
    #[must_use]
    pub fn seen(&self, job: &Arc<str>) -> GangSeen {
        match self.of(job) {
            None => GangSeen::Absent,
            Some(group) if HELD.contains(&&*group.phase) => GangSeen::Held,
            Some(_) => GangSeen::Open,
        }
    }

    /// What is to be done for it to be as it should; none where it is. One that somebody else made is as they want it.
    pub fn ensure(&mut self, wanted: &Value, job: &Arc<str>) -> Option<Ensure> {
        let ensure = self.needs(wanted, job);
        if ensure.is_none() {
            self.tried = None;
        }
        ensure.filter(|ensure| self.tried.as_ref() != Some(ensure))
    }

    /// This is being asked for.
    pub fn tries(&mut self, ensure: &Ensure) {
        let correction = matches!(ensure, Ensure::Correct(..));
        self.tried = Some(ensure.clone()).filter(|_| correction);
    }

    /// It was refused.
    pub fn refused(&mut self) {
        self.tried = None;
    }

    fn needs(&self, wanted: &Value, job: &Arc<str>) -> Option<Ensure> {
        if self.of(job).is_none() {
            return Some(Ensure::Make);
        }
        let own = self.own(job)?;
        let correction = correction(wanted, &own.spec)?;
        Some(Ensure::Correct(Arc::clone(&own.uid), correction))
    }
}

impl Store {
    /// A list of all groups begins.
    pub fn groups_begin(&mut self) {
        self.listed_groups = Some(self.list_begins(|entry| &mut entry.group.known));
    }

    /// Every group has been listed: those that were not are gone, but for those we have made since the list began.
    pub fn groups_end(&mut self) {
        let listed = self.listed_groups.take();
        self.list_ends(listed, |entry| &mut entry.group.known);
    }

    /// A group is like this now.
    pub fn group_seen(&mut self, group: GroupSeen) {
        if let Some(listed) = &mut self.listed_groups {
            listed.insert(Arc::clone(&group.uid));
        }
        let key = key_of(&group);
        if self
            .entries
            .entry(key.clone())
            .or_default()
            .group
            .known
            .see(group, false)
        {
            self.enqueue(key);
        }
    }

    /// A group is gone.
    pub fn group_gone(&mut self, group: &GroupSeen) {
        let key = key_of(group);
        if let Some(entry) = self.entries.get_mut(&key)
            && entry.group.known.lose(&group.name, &group.uid, entry.applying)
        {
            entry.conflict_removed();
            self.enqueue(key.clone());
        }
        self.drop_if_empty(&key);
    }
}

/// A group is called like its job.
fn key_of(group: &GroupSeen) -> JobKey {
    JobKey {
        namespace: Arc::clone(&group.namespace),
        name: Arc::clone(&group.name),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trainyard_core::Time;

    use super::*;

    fn group(uid: &str, version: u64, owner: Option<(&str, &str)>) -> GroupSeen {
        GroupSeen {
            name: "mnist".into(),
            namespace: "research".into(),
            uid: uid.into(),
            version,
            created: Time(1),
            deleting: false,
            owner: owner.map(|(kind, uid)| (kind.into(), uid.into())),
            spec: json!({ "minMember": 3 }),
            phase: "Pending".into(),
            message: None,
        }
    }

    #[test]
    fn who_may_be_joined_and_who_changed() {
        let job: Arc<str> = "job".into();
        let wanted = json!({ "spec": { "minMember": 2 } });
        let corrected = Some(Ensure::Correct("g".into(), json!({ "minMember": 2 })));
        let rows = [
            (None, GangSeen::Held, false, None),
            (Some(("Deployment", "other")), GangSeen::Held, false, None),
            (Some(("TFJob", "job")), GangSeen::Held, true, corrected),
            (
                Some(("TFJob", "before")),
                GangSeen::Absent,
                false,
                Some(Ensure::Make),
            ),
        ];
        for (owner, seen, own, ensure) in rows {
            let mut known = Group::default();
            assert!(known.known.see(group("g", 1, owner), false));
            assert_eq!(known.seen(&job), seen, "{owner:?}");
            assert_eq!(known.own(&job).is_some(), own, "{owner:?}");
            assert_eq!(known.ensure(&wanted, &job), ensure, "{owner:?}");
        }
        let mut stubborn = Group::default();
        stubborn.known.see(group("g", 1, Some(("TFJob", "job"))), false);
        let asked = stubborn.ensure(&wanted, &job).expect("a correction");
        stubborn.tries(&asked);
        assert_eq!(
            stubborn.ensure(&wanted, &job),
            None,
            "a server that keeps it as it was is not asked again"
        );
        stubborn.refused();
        assert_eq!(stubborn.ensure(&wanted, &job), Some(asked));

        let mut going = group("g", 1, Some(("TFJob", "job")));
        going.deleting = true;
        let mut known = Group::default();
        known.known.see(going, false);
        assert_eq!(known.seen(&job), GangSeen::Absent, "one that goes is none");
    }
}
