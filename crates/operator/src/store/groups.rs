//! The objects by which gang schedulers place jobs, as far as they are known to exist.
//!
//! A group that a job owns is kept in that job's entry, by its API and name. One that a user or another controller made is kept in
//! the entry of the job that wants a group of that name, and aside while there is none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use trainyard_core::{GangSeen, TaskSeen};
use trainyard_manifest::gang::{self, GroupApi, GroupState, GroupWanted, QueueWait};

use super::tracked::{Tracked, named_by_fields};
use super::{Source, Store};
use crate::job::{JobKey, JobSeen, Meaning};
use crate::watched::GroupSeen;

/// Plural and API group of group objects.
type ApiId = (&'static str, &'static str);
/// An API, a namespace, and a name.
type GroupKey = (ApiId, Arc<str>, Arc<str>);

fn id(api: &GroupApi) -> ApiId {
    (api.plural, api.group)
}

/// The groups of one job.
#[derive(Debug, Default)]
pub struct Groups {
    known: BTreeMap<ApiId, Tracked<GroupSeen>>,
    /// The last correction of each group. If the API server accepts it and stores the group unchanged, it is not sent again.
    tried: BTreeMap<Arc<str>, Value>,
    /// Where the job stands in [`GroupIndex::wanted`].
    claimed: Vec<GroupKey>,
    /// Why its group waits because of the queue that it is in, as it was when the job was last reconciled.
    pub queue: Option<QueueWait>,
}

named_by_fields!(GroupSeen);

/// A request about one group.
#[derive(Clone, Debug)]
pub struct GroupWrite {
    /// The API of the group.
    pub api: &'static GroupApi,
    /// Its name.
    pub name: Arc<str>,
    /// What is done with it.
    pub change: GroupChange,
}

/// What is done with a group.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupChange {
    /// Create this object, which has no owner yet.
    Create(Value),
    /// Merge this into the spec of the group with that UID.
    Correct(Arc<str>, Value),
    /// Delete the group with that UID.
    Delete(Arc<str>),
}

impl Groups {
    /// Takes a group in that a watch has shown, or that we have written; false if it is older than what is known.
    pub fn see(&mut self, group: GroupSeen, made: bool) -> bool {
        self.known.entry(id(group.api)).or_default().see(group, made)
    }

    /// We have deleted a group.
    pub fn removed(&mut self, uid: &Arc<str>) {
        let mut known = self.known.values_mut();
        if let Some(known) = known.find(|known| known.all().any(|group| group.uid == *uid)) {
            known.removed(uid);
        }
    }

    /// Our requests are done.
    pub fn apply_finished(&mut self) {
        self.known.values_mut().for_each(Tracked::apply_finished);
    }

    /// One of our requests was refused, maybe a correction.
    pub fn refused(&mut self) {
        self.tried.clear();
    }

    /// Whether no group is known to exist.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.values().all(Tracked::is_empty)
    }

    /// The group of that name that the tasks of a job are members of: its own, or one that no other job of ours made.
    #[must_use]
    pub fn joined(&self, wanted: &GroupWanted, job: &Arc<str>) -> Option<&GroupSeen> {
        let group = self.known.get(&id(wanted.api))?.get(wanted.name())?;
        (!group.deleting && (group.owner.is_none() || group.is_of(job))).then_some(group)
    }

    /// The groups that were made for a job, and may be changed and deleted.
    fn own<'a>(&'a self, job: &'a Arc<str>) -> impl Iterator<Item = &'a GroupSeen> {
        let all = self.known.values().flat_map(Tracked::all);
        all.filter(|group| !group.deleting && group.was_made_for(job))
    }

    /// The groups that have not been let in.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &GroupSeen> {
        let all = self.known.values().flat_map(Tracked::all);
        all.filter(|group| matches!(group.state, GroupState::Waiting(_) | GroupState::Silent))
    }

    /// How far a job's groups have come.
    #[must_use]
    pub fn seen(&self, wanted: &[GroupWanted], job: &Arc<str>, tasks: &[TaskSeen]) -> GangSeen {
        let joined = wanted.iter().filter_map(|wanted| self.joined(wanted, job));
        gang::seen(wanted.len(), joined.map(|group| &group.state), tasks)
    }

    /// What has to be written for a job's groups to be as they should. A group that is not ours is never written.
    pub fn corrections(&mut self, wanted: &[GroupWanted], job: &Arc<str>) -> Vec<GroupWrite> {
        let mut writes: Vec<GroupWrite> = wanted
            .iter()
            .filter_map(|one| self.correction(one, job))
            .collect();
        let is_wanted = |group: &&GroupSeen| {
            let same =
                |wanted: &GroupWanted| id(wanted.api) == id(group.api) && wanted.name() == &*group.name;
            wanted.iter().any(same)
        };
        writes.extend(self.own(job).filter(|group| !is_wanted(group)).map(delete));
        let still: BTreeSet<Arc<str>> = writes.iter().filter_map(corrected).cloned().collect();
        self.tried.retain(|uid, _| still.contains(uid));
        writes.retain(|write| match &write.change {
            GroupChange::Correct(uid, spec) => self.tried.get(uid) != Some(spec),
            _ => true,
        });
        writes
    }

    fn correction(&self, wanted: &GroupWanted, job: &Arc<str>) -> Option<GroupWrite> {
        let change = match self.joined(wanted, job) {
            None => GroupChange::Create(wanted.object.clone()),
            Some(group) if group.was_made_for(job) => {
                GroupChange::Correct(Arc::clone(&group.uid), wanted.correction(&group.spec)?)
            }
            Some(_) => return None,
        };
        Some(GroupWrite {
            api: wanted.api,
            name: wanted.name().into(),
            change,
        })
    }

    /// These are being sent.
    pub fn sent(&mut self, writes: &[GroupWrite]) {
        for write in writes {
            if let GroupChange::Correct(uid, spec) = &write.change {
                self.tried.insert(Arc::clone(uid), spec.clone());
            }
        }
    }

    /// The deletion of every group that was made for a job.
    #[must_use]
    pub fn deletions(&self, job: &Arc<str>) -> Vec<GroupWrite> {
        self.own(job).map(delete).collect()
    }
}

fn delete(group: &GroupSeen) -> GroupWrite {
    GroupWrite {
        api: group.api,
        name: Arc::clone(&group.name),
        change: GroupChange::Delete(Arc::clone(&group.uid)),
    }
}

/// The UID of the group that a write corrects.
fn corrected(write: &GroupWrite) -> Option<&Arc<str>> {
    match &write.change {
        GroupChange::Correct(uid, _) => Some(uid),
        _ => None,
    }
}

/// Groups of an API that have not been listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unlisted {
    /// They are being listed.
    Awaited,
    /// The cluster has no such API.
    Unknown,
}

/// What is known of groups beside those in the entries of jobs.
#[derive(Debug, Default)]
pub struct GroupIndex {
    /// APIs whose groups have not been listed since the operator started. Jobs that need one of them wait.
    unlisted: BTreeMap<ApiId, Unlisted>,
    /// UIDs that the list of each API has shown so far, while one is read.
    listed: BTreeMap<ApiId, BTreeSet<Arc<str>>>,
    /// The job that wants a group of that name.
    wanted: BTreeMap<GroupKey, JobKey>,
    /// Groups that belong to no job of ours, and that none wants.
    aside: BTreeMap<GroupKey, GroupSeen>,
}

impl GroupIndex {
    /// Before the groups of these APIs have been listed.
    pub fn awaiting(apis: Vec<&'static GroupApi>) -> Self {
        let unlisted = apis.into_iter().map(|api| (id(api), Unlisted::Awaited));
        Self {
            unlisted: unlisted.collect(),
            ..Self::default()
        }
    }

    /// A group that belongs to no job of ours, and that none wants.
    pub(super) fn aside(&self, api: &GroupApi, namespace: &Arc<str>, name: &Arc<str>) -> Option<&GroupSeen> {
        let of = (id(api), Arc::clone(namespace), Arc::clone(name));
        self.aside.get(&of)
    }

    /// The first API of a job's groups of which none has been listed; none where the job has no groups.
    pub fn unlisted(&self, job: &JobSeen) -> Option<(&'static GroupApi, Unlisted)> {
        let Meaning::Job(compiled) = &*job.meaning else {
            return None;
        };
        let module = gang::scheduler(&compiled.job().gang.as_ref()?.scheduler)?;
        let mut apis = module.apis.iter();
        apis.find_map(|api| Some((*api, *self.unlisted.get(&id(api))?)))
    }
}

impl Store {
    /// The cluster has no API for these objects. Groups that have been listed before stay as they were.
    pub fn api_unknown(&mut self, source: Source) {
        self.gates.source_known(source);
        if let Source::Boards(kind) = source {
            self.boards_known(kind);
        }
        if source == Source::Workloads {
            self.workloads_unknown();
        }
        if let Source::Groups(plural, group) = source
            && let Some(unlisted) = self.groups.unlisted.get_mut(&(plural, group))
            && std::mem::replace(unlisted, Unlisted::Unknown) == Unlisted::Awaited
        {
            self.enqueue_all(|_| true);
        }
    }

    /// A list of all groups of an API begins.
    pub fn groups_begin(&mut self, api: &'static GroupApi) {
        self.groups.listed.insert(id(api), BTreeSet::new());
        for entry in self.entries.values_mut() {
            if let Some(known) = entry.groups.known.get_mut(&id(api)) {
                known.list_begins();
            }
        }
    }

    /// Every group of an API has been listed: those that were not are gone, but for those we have created since the list began.
    pub fn groups_end(&mut self, api: &'static GroupApi) {
        let Some(listed) = self.groups.listed.remove(&id(api)) else {
            return;
        };
        if self.groups.unlisted.remove(&id(api)).is_some() {
            self.enqueue_all(|_| true);
        }
        let aside = &mut self.groups.aside;
        aside.retain(|(of, ..), group| *of != id(api) || listed.contains(&group.uid));
        let mut touched = Vec::new();
        for (key, entry) in &mut self.entries {
            let known = entry.groups.known.get_mut(&id(api));
            if known.is_some_and(|known| known.list_ends(&listed)) {
                entry.conflict_removed();
                touched.push(key.clone());
            }
        }
        for key in touched {
            self.enqueue(key.clone());
            self.drop_if_empty(&key);
        }
    }

    /// A watch has shown a group.
    pub fn group_seen(&mut self, group: GroupSeen) {
        if let Some(listed) = self.groups.listed.get_mut(&id(group.api)) {
            listed.insert(Arc::clone(&group.uid));
        }
        let Some(key) = self.job_of(&group) else {
            self.groups.aside.insert(key_of(&group), group);
            return;
        };
        if self
            .entries
            .entry(key.clone())
            .or_default()
            .groups
            .see(group, false)
        {
            self.enqueue(key);
        }
    }

    /// A group is gone.
    pub fn group_gone(&mut self, group: &GroupSeen) {
        let Some(key) = self.job_of(group) else {
            self.groups.aside.remove(&key_of(group));
            return;
        };
        if let Some(entry) = self.entries.get_mut(&key) {
            let known = entry.groups.known.entry(id(group.api)).or_default();
            if known.lose(&group.name, &group.uid, entry.applying) {
                entry.conflict_removed();
                self.enqueue(key.clone());
            }
        }
        self.drop_if_empty(&key);
    }

    /// The job whose entry a group belongs in: the one that owns it, else the one that wants a group of that name.
    fn job_of(&self, group: &GroupSeen) -> Option<JobKey> {
        let owned = group.owner.as_ref().and_then(|(api, name, _)| {
            let mut kinds = self.reading.kinds.iter();
            Some(JobKey {
                kind: kinds.find(|kind| kind.api == *api)?,
                namespace: Arc::clone(&group.namespace),
                name: Arc::clone(name),
            })
        });
        owned.or_else(|| self.groups.wanted.get(&key_of(group)).cloned())
    }

    /// A job has been read: groups of the names that it wants belong in its entry from now on.
    pub(super) fn claim_groups(&mut self, key: &JobKey) {
        let job = self.entries.get(key).and_then(|entry| entry.job.as_ref());
        let Some(Meaning::Job(compiled)) = job.map(|job| &*job.meaning) else {
            return;
        };
        if compiled.shrunk {
            // What it wanted is not known any more, and what it joined stays known until it is gone.
            return;
        }
        let wanted = gang::groups(&compiled.subject, None);
        self.disclaim_groups(key);
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        for wanted in wanted {
            let of = (id(wanted.api), Arc::clone(&key.namespace), wanted.name().into());
            if let Some(group) = self.groups.aside.remove(&of) {
                entry.groups.see(group, false);
            }
            entry.groups.claimed.push(of.clone());
            // A job of another kind with the same name waits, and must not take the group over.
            self.groups.wanted.entry(of).or_insert_with(|| key.clone());
        }
    }

    /// A job wants no group any more.
    pub(super) fn disclaim_groups(&mut self, key: &JobKey) {
        let claimed = self.entries.get_mut(key).map(|entry| &mut entry.groups.claimed);
        for of in claimed.map(std::mem::take).unwrap_or_default() {
            if self.groups.wanted.get(&of) == Some(key) {
                self.groups.wanted.remove(&of);
            }
        }
    }
}

fn key_of(group: &GroupSeen) -> GroupKey {
    (
        id(group.api),
        Arc::clone(&group.namespace),
        Arc::clone(&group.name),
    )
}

#[cfg(test)]
mod tests;
