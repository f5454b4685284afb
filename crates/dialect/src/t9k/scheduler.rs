//! `scheduler.t9kScheduler`: all pods are placed together, in a queue.

use std::collections::BTreeMap;
use std::sync::Arc;

use trainyard_core::{Gang, GangScheduler, Role, asked_together};
use trainyard_document::fields::Fields;

/// What `scheduler` says.
pub(super) struct Scheduler {
    queue: Arc<str>,
    priority: Option<i64>,
}

impl Scheduler {
    /// Reads `scheduler`; none means the cluster's own.
    pub fn read(spec: &mut Fields<'_>) -> Option<Self> {
        let mut outer = spec.map("scheduler")?;
        let inner = outer.map("t9kScheduler");
        outer.finish();
        let mut inner = inner?;
        let queue = inner.require("queue").and_then(|field| field.text().cloned());
        let priority = inner.int("priority", 0..=100);
        inner.finish();
        Some(Self {
            queue: queue?,
            priority,
        })
    }

    /// The group: every task is a member. Its scheduler looks at pods that exist, so none are held back.
    pub fn gang(self, roles: &[Role]) -> Gang {
        let members = roles
            .iter()
            .fold(0u32, |sum, role| sum.saturating_add(role.replicas));
        Gang {
            scheduler: GangScheduler::T9k,
            existing: None,
            members,
            per_role: BTreeMap::new(),
            queue: Some(self.queue),
            priority: self.priority.map(|number| number.to_string().into()),
            resources: asked_together(roles, members),
            timeout: None,
            hold: false,
        }
    }
}
