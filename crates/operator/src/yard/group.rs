//! The group that a job's tasks are placed as, as far as it is known to exist.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use trainyard_core::GangSeen;
use trainyard_manifest::pod_group::correction;

use super::Yard;
use crate::job::{JobKey, KIND};
use crate::watched::GroupSeen;

/// Phases of a group that its scheduler has not let in.
const HELD: &[&str] = &["", "Pending"];

/// The group of a job's name.
#[derive(Debug, Default)]
pub struct Group {
    held: Option<Held>,
    /// Groups that are gone and may still be told of: by a watch that is behind, or by a pass that made them. Whether the
    /// watch has told that they are gone.
    departed: BTreeMap<Arc<str>, bool>,
    /// The correction that was last asked for. A server that takes it and keeps the group as it was is not asked again.
    tried: Option<Ensure>,
}

/// A group, and whether it is known from our own write alone.
#[derive(Debug)]
struct Held {
    seen: GroupSeen,
    /// We have made it, and the list that is being read may have begun before that.
    unlisted: bool,
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
    /// There is such a group; we have just written it, or a watch has shown it. False if something newer is known.
    pub fn see(&mut self, seen: GroupSeen, made: bool) -> bool {
        let older = self
            .held
            .as_ref()
            .is_some_and(|held| held.seen.version > seen.version);
        if older || self.departed.contains_key(&seen.uid) {
            return false;
        }
        self.held = Some(Held { seen, unlisted: made });
        true
    }

    /// The group is gone; false if another of that name is there. While a pass is under way, it may have made this one.
    pub fn lose(&mut self, uid: &Arc<str>, busy: bool) -> bool {
        if busy {
            self.departed.insert(Arc::clone(uid), true);
        } else {
            self.departed.remove(uid);
        }
        let known = self.held.as_ref().is_some_and(|held| held.seen.uid == *uid);
        if known {
            self.held = None;
        }
        known
    }

    /// The group is gone, since we have deleted it.
    pub fn removed(&mut self, uid: &Arc<str>) {
        if self.held.as_ref().is_some_and(|held| held.seen.uid == *uid) {
            self.held = None;
        }
        self.departed.entry(Arc::clone(uid)).or_insert(false);
    }

    /// Everything that a pass has made has been seen.
    pub fn pass_is_over(&mut self) {
        self.departed.retain(|_, told| !*told);
    }

    /// From now on, what we make may be missing in the list.
    pub fn list_begins(&mut self) {
        if let Some(held) = &mut self.held {
            held.unlisted = false;
        }
    }

    /// Drops what was not listed; true if it was dropped.
    pub fn list_ends(&mut self, listed: &BTreeSet<Arc<str>>) -> bool {
        self.departed.retain(|_, told| *told);
        let lost = self
            .held
            .take_if(|held| !held.unlisted && !listed.contains(&held.seen.uid));
        lost.is_some()
    }

    /// Whether nothing is known to exist.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held.is_none()
    }

    /// The group that the tasks of a job are in; none where there is none, or one that goes, or another job's.
    #[must_use]
    pub fn of(&self, job: &Arc<str>) -> Option<&GroupSeen> {
        let seen = self.held.as_ref().map(|held| &held.seen);
        seen.filter(|seen| {
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

impl Yard {
    /// A list of all groups begins.
    pub fn groups_begin(&mut self) {
        self.listed_groups = Some(BTreeSet::new());
        for plot in self.plots.values_mut() {
            plot.group.list_begins();
        }
    }

    /// Every group has been listed: those that were not are gone, but for those we have made since the list began.
    pub fn groups_end(&mut self) {
        let Some(listed) = self.listed_groups.take() else {
            return;
        };
        let mut touched = Vec::new();
        for (key, plot) in &mut self.plots {
            if plot.group.list_ends(&listed) {
                touched.push(key.clone());
            }
        }
        for key in touched {
            self.look_at(key.clone());
            self.drop_if_empty(&key);
        }
    }

    /// A group is like this now.
    pub fn group_seen(&mut self, group: GroupSeen) {
        if let Some(listed) = &mut self.listed_groups {
            listed.insert(Arc::clone(&group.uid));
        }
        let key = key_of(&group);
        if self.plots.entry(key.clone()).or_default().group.see(group, false) {
            self.look_at(key);
        }
    }

    /// A group is gone.
    pub fn group_gone(&mut self, group: &GroupSeen) {
        let key = key_of(group);
        if let Some(plot) = self.plots.get_mut(&key)
            && plot.group.lose(&group.uid, plot.busy)
        {
            self.look_at(key.clone());
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
            assert!(known.see(group("g", 1, owner), false));
            assert_eq!(known.seen(&job), seen, "{owner:?}");
            assert_eq!(known.own(&job).is_some(), own, "{owner:?}");
            assert_eq!(known.ensure(&wanted, &job), ensure, "{owner:?}");
        }
        let mut stubborn = Group::default();
        stubborn.see(group("g", 1, Some(("TFJob", "job"))), false);
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
        known.see(going, false);
        assert_eq!(known.seen(&job), GangSeen::Absent, "one that goes is none");
    }

    #[test]
    fn what_is_gone_is_not_seen_again() {
        let ours = || group("g", 5, Some(("TFJob", "job")));
        let mut known = Group::default();
        known.see(ours(), true);
        assert!(!known.see(group("g", 4, None), false), "an older one");
        known.removed(&"g".into());
        assert!(!known.see(group("g", 6, None), false), "the watch is behind");
        known.lose(&"g".into(), false);
        assert!(known.is_empty());
        known.lose(&"h".into(), true);
        assert!(
            !known.see(group("h", 9, None), true),
            "gone before the pass told that it made it"
        );
        known.pass_is_over();

        known.see(ours(), true);
        assert!(!known.list_ends(&BTreeSet::new()), "made after the list began");
        known.list_begins();
        assert!(known.list_ends(&BTreeSet::new()));
    }
}
