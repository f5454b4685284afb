//! `scheduler.t9kScheduler`: all pods are placed together, in a queue.

use std::collections::BTreeMap;
use std::sync::Arc;

use trainyard_core::{Gang, GangScheduler, Role, asked_together};
use trainyard_document::codes::Code;
use trainyard_document::fields::{Field, Fields};

/// What `scheduler` says.
pub(super) struct Scheduler<'a> {
    queue: Arc<str>,
    priority: Option<i64>,
    priority_at: Option<Field<'a>>,
}

impl<'a> Scheduler<'a> {
    /// Reads `scheduler`; none means the cluster's own.
    pub fn read(spec: &mut Fields<'a>) -> Option<Self> {
        let mut outer = spec.map("scheduler")?;
        let inner = outer.map("t9kScheduler");
        outer.finish();
        let mut inner = inner?;
        let queue = inner.require("queue").and_then(|field| field.text().cloned());
        let priority_at = inner.get("priority");
        let priority = priority_at.as_ref().and_then(|field| field.int(0..=100));
        inner.finish();
        Some(Self {
            queue: queue?,
            priority,
            priority_at,
        })
    }

    /// The group for this scheduler: every task is a member. T9k's looks at pods that exist, so none are held back; another one knows the
    /// queue, but not what the number of a priority means.
    pub fn gang(self, roles: &[Role], scheduler: GangScheduler) -> Gang {
        let theirs = scheduler == GangScheduler::T9k;
        if let Some(field) = self.priority_at.filter(|_| !theirs) {
            let message = "`priority` has no effect: it is a number of T9k's scheduler, and the annotation `trainyard.dev/gang` names another";
            field.report(Code::FieldIgnored, message);
        }
        let members = roles
            .iter()
            .fold(0u32, |sum, role| sum.saturating_add(role.replicas));
        Gang {
            scheduler,
            existing: None,
            members,
            per_role: BTreeMap::new(),
            queue: Some(self.queue),
            priority: self
                .priority
                .filter(|_| theirs)
                .map(|number| number.to_string().into()),
            resources: asked_together(roles, members),
            timeout: None,
            hold: false,
        }
    }
}
