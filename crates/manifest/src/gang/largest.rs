//! In which order the tasks of a gang are created.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use trainyard_core::{Job, Role, RoleName};

/// The roles of a job, those with the largest pods first; roles whose pods are as large together. Kubernetes' own scheduler places the
/// pods of a group in the order in which they were created and does not try another one: small pods take the room of large ones.
#[must_use]
pub fn largest_first(job: &Job) -> Vec<Vec<RoleName>> {
    let mut most: BTreeMap<&Arc<str>, i64> = BTreeMap::new();
    for (name, amount) in job.roles.iter().flat_map(|role| &role.ask) {
        let most = most.entry(name).or_default();
        *most = (*most).max(*amount);
    }
    // The share of the largest ask of that kind, in millionths: the largest share counts, then all of them.
    let size = |role: &Role| {
        let share = |(name, amount): (&Arc<str>, &i64)| {
            let most = most.get(name).copied().unwrap_or_default().max(1);
            i128::from(*amount) * 1_000_000 / i128::from(most)
        };
        let shares = || role.ask.iter().map(share);
        (shares().max().unwrap_or_default(), shares().sum::<i128>())
    };
    let mut order: BTreeMap<Reverse<(i128, i128)>, Vec<RoleName>> = BTreeMap::new();
    for role in &job.roles {
        order
            .entry(Reverse(size(role)))
            .or_default()
            .push(role.name.clone());
    }
    order.into_values().collect()
}
