//! The group that Volcano's scheduler places together, and what it asks for.

use std::collections::BTreeMap;
use std::sync::Arc;

use trainyard_core::{Gang, GangScheduler, RoleName};

use super::spec::{Spec, Task};
use crate::pod_template::{PodTemplate, Resources, resources};

/// The gang of a job: pods are made only once the scheduler has let the group in.
pub(super) fn gang(spec: &Spec<'_>) -> Gang {
    let least = |task: &Task<'_>| (RoleName::new(&task.name), task.min_available);
    Gang {
        scheduler: GangScheduler::named(&spec.scheduler),
        existing: None,
        members: spec.min_available,
        per_role: spec.tasks.iter().map(least).collect(),
        queue: Some(spec.queue.clone()),
        priority: spec.priority_class.clone(),
        resources: min_resources(spec),
        timeout: None,
        hold: true,
    }
}

/// What the members ask for together: first as many of each task as it needs at least, then more until there are
/// enough; or, where the job needs fewer than its tasks, the first ones.
///
/// Volcano goes through the tasks by priority. What a priority class is worth only the cluster knows, so it is the
/// order of the manifest here.
fn min_resources(spec: &Spec<'_>) -> BTreeMap<Arc<str>, i64> {
    let mut left = spec.min_available;
    let mut taken: Vec<u32> = Vec::with_capacity(spec.tasks.len());
    let by_task = spec.min_available >= spec.tasks_min_available();
    for task in &spec.tasks {
        let wanted = if by_task {
            task.min_available
        } else {
            task.replicas
        };
        let count = wanted.min(left);
        left -= count;
        taken.push(count);
    }
    for (task, taken) in spec.tasks.iter().zip(&mut taken) {
        let more = task.replicas.saturating_sub(*taken).min(left);
        *taken += more;
        left -= more;
    }
    let mut sum = BTreeMap::new();
    for (task, count) in spec.tasks.iter().zip(taken) {
        for (name, milli) in quota_usage(&task.template) {
            let entry: &mut i64 = sum.entry(name).or_default();
            *entry = entry.saturating_add(milli.saturating_mul(i64::from(count)));
        }
    }
    sum.retain(|_, milli| *milli != 0);
    sum
}

/// One pod as a resource quota counts it, which is how Volcano fills `minResources`: the pod itself, requests and
/// limits under their names, and requests once more without the prefix.
fn quota_usage(template: &PodTemplate) -> BTreeMap<Arc<str>, i64> {
    let mut usage: BTreeMap<Arc<str>, i64> = BTreeMap::new();
    for name in ["pods", "count/pods"] {
        usage.insert(name.into(), 1000);
    }
    for (name, amount) in &template.requests {
        usage.insert(name.clone(), amount.milli);
        usage.insert(format!("requests.{name}").into(), amount.milli);
    }
    for (name, amount) in limits(template) {
        // A quota has no limits of devices.
        if matches!(&*name, "cpu" | "memory" | "ephemeral-storage") {
            usage.insert(format!("limits.{name}").into(), amount.milli);
        }
    }
    usage
}

/// The limits of a pod: those of its containers together, or of its largest init container.
fn limits(template: &PodTemplate) -> Resources {
    let mut sum = Resources::new();
    let (staying, passing): (Vec<_>, Vec<_>) = template
        .init_containers
        .iter()
        .partition(|container| container.stays);
    for container in template.containers.iter().chain(staying) {
        resources::add_all(&mut sum, &container.limits);
    }
    for container in passing {
        resources::raise(&mut sum, &container.limits);
    }
    sum
}
