//! The NetworkPolicies of isolated jobs, as a watch shows them: one that was changed is corrected, and one that was deleted is created
//! again.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::DynamicObject;
use trainyard_manifest::isolation::KIND;
use trainyard_manifest::names::isolation;

use super::extras::{ExtraSeen, Extras, Sort};
use super::tracked::Named;
use super::{Source, Store};
use crate::job::{JobKey, version};
use crate::kinds::Kind;

/// A NetworkPolicy, as far as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicySeen {
    /// The job that controls it.
    pub job: JobKey,
    /// The UID of that job.
    pub owner: Arc<str>,
    /// What is known of it.
    pub object: ExtraSeen,
}

impl Named for PolicySeen {
    fn name(&self) -> &Arc<str> {
        &self.object.name
    }

    fn uid(&self) -> &Arc<str> {
        &self.object.uid
    }

    fn version(&self) -> u64 {
        self.object.version
    }
}

impl PolicySeen {
    /// What is kept of an object; none if no job of these kinds controls it, or it has another name than that job's policy.
    #[must_use]
    pub fn of(kinds: &[&'static Kind], object: &DynamicObject) -> Option<Self> {
        let metadata = &object.metadata;
        let text = |text: Option<&String>| Arc::<str>::from(text.map_or("", String::as_str));
        let owners = metadata.owner_references.as_deref().unwrap_or_default();
        let owner = owners.iter().find(|owner| owner.controller == Some(true))?;
        let is_its = |kind: &&&'static Kind| is_of(kind, owner);
        let name = text(metadata.name.as_ref());
        let sort = Sort::find(KIND)?;
        let policy = Self {
            job: JobKey {
                kind: kinds.iter().find(is_its)?,
                namespace: text(metadata.namespace.as_ref()),
                name: owner.name.as_str().into(),
            },
            owner: owner.uid.as_str().into(),
            object: ExtraSeen {
                sort,
                uid: text(metadata.uid.as_ref()),
                version: version(metadata.resource_version.as_deref()),
                content: sort.content(&object.data),
                name,
            },
        };
        policy.is_by_name().then_some(policy)
    }

    /// What is known of an object that was written for a job; none if it is no policy of an isolated job.
    #[must_use]
    pub fn written(job: &JobKey, uid: &Arc<str>, object: &ExtraSeen) -> Option<Self> {
        let policy = Self {
            job: job.clone(),
            owner: Arc::clone(uid),
            object: object.clone(),
        };
        (object.sort.kind == KIND && policy.is_by_name()).then_some(policy)
    }

    fn is_by_name(&self) -> bool {
        *self.object.name == *isolation(&self.job.name)
    }
}

fn is_of(kind: &Kind, owner: &OwnerReference) -> bool {
    kind.api.kind == owner.kind
        && kind.api.api_version.split('/').next() == owner.api_version.split('/').next()
}

impl Extras {
    /// Takes over what the watch shows of the policies of the job with that UID.
    pub fn look_at_policies(&mut self, job: &Arc<str>) {
        for policy in self.policies.all().filter(|policy| policy.owner == *job) {
            let is_it =
                |known: &&mut ExtraSeen| known.sort == policy.object.sort && known.name == policy.object.name;
            match self.known.iter_mut().find(is_it) {
                Some(known) => known.clone_from(&policy.object),
                None => self.known.push(policy.object.clone()),
            }
        }
    }

    /// A list has ended that did not show all that are known; true if some are gone.
    fn forget_lost(&mut self, before: &[Arc<str>]) -> bool {
        let lost = |uid: &Arc<str>| !self.policies.all().any(|policy| policy.object.uid == *uid);
        let lost: Vec<&Arc<str>> = before.iter().filter(|uid| lost(uid)).collect();
        self.known.retain(|known| !lost.contains(&&known.uid));
        !lost.is_empty()
    }

    /// The list of policies is complete.
    pub fn policies_end(&mut self, listed: &std::collections::BTreeSet<Arc<str>>) -> bool {
        let before: Vec<Arc<str>> = self
            .policies
            .all()
            .map(|policy| Arc::clone(&policy.object.uid))
            .collect();
        self.policies.list_ends(listed);
        self.forget_lost(&before)
    }
}

impl Store {
    /// A watch shows the NetworkPolicy of a job.
    pub fn policy_seen(&mut self, policy: PolicySeen) {
        self.list_shows(Source::Policies, &policy.object.uid);
        let key = policy.job.clone();
        let entry = self.entries.entry(key.clone()).or_default();
        if entry.extras.policies.see(policy, false) {
            self.enqueue(key);
        }
    }

    /// The NetworkPolicy of a job is gone. If the job asks for it, it is created again.
    pub fn policy_gone(&mut self, policy: &PolicySeen) {
        let key = policy.job.clone();
        if let Some(entry) = self.entries.get_mut(&key) {
            let (uid, busy) = (&policy.object.uid, entry.applying);
            entry.extras.policies.lose(&policy.object.name, uid, busy);
            entry.extras.known.retain(|known| known.uid != *uid);
            entry.conflict_removed();
            self.enqueue(key.clone());
        }
        self.drop_if_empty(&key);
    }
}
