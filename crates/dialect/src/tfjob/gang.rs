//! Whether a `TFJob`'s tasks must be placed together, and by which scheduler.
//!
//! Kubeflow's operator decides this for a whole cluster by a flag. A manifest can say it too: by the annotation
//! `trainyard.dev/gang`, by `schedulingPolicy`, by the name of a gang scheduler in its templates, or by naming a group there.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::annotations::Wishes;
use super::roles::Replica;
use super::spec::Spec;
use trainyard_core::{Gang, GangChoice, GangScheduler, Role, asked_together};
use trainyard_document::codes::Code;

/// Joins a pod to a group of Volcano or kube-batch.
const GROUP_ANNOTATION: &str = "scheduling.k8s.io/group-name";
/// Join a pod to a group of the coscheduling plugin, or of T9k's scheduler.
const GROUP_LABELS: [&str; 2] = [
    "scheduling.x-k8s.io/pod-group",
    "scheduler.tensorstack.dev/group-name",
];

/// Which gang scheduler the job asks for: the annotation's, or else the one that its templates name.
pub(super) fn choice(spec: &Spec<'_>, wishes: &Wishes<'_>) -> GangChoice {
    let named = || spec.replicas.iter().find_map(scheduler);
    let annotated = wishes.gang.clone();
    annotated.unwrap_or_else(|| named().map_or(GangChoice::Default, GangChoice::Template))
}

/// What the job needs of a gang scheduler; none where nothing asks for one.
pub(super) fn needs(spec: &Spec<'_>, roles: &[Role], choice: GangChoice) -> Option<Gang> {
    let existing = existing(spec);
    let policy = spec.run.scheduling.as_ref();
    let (scheduler, is_gang) = match choice {
        GangChoice::None => return None,
        GangChoice::Default => (GangScheduler::Default, false),
        // A scheduler that is not known to place gangs may place pods one by one.
        GangChoice::Template(scheduler @ GangScheduler::Named(_)) => (scheduler, false),
        GangChoice::Named(scheduler) | GangChoice::Template(scheduler) => (scheduler, true),
    };
    if policy.is_none() && existing.is_none() && !is_gang {
        return None;
    }
    let size: u64 = roles.iter().map(|role| u64::from(role.replicas)).sum();
    let size = u32::try_from(size).unwrap_or(u32::MAX);
    let members = policy.and_then(|policy| policy.members).unwrap_or(size);
    check_members(spec, members, size);
    check_start_order(spec, members);
    let asked = policy.and_then(|policy| policy.resources.clone());
    Some(Gang {
        // Volcano lets a group in before its pods are made; the others look at pods that exist.
        hold: scheduler == GangScheduler::Volcano && existing.is_none(),
        scheduler,
        existing,
        members,
        per_role: BTreeMap::new(),
        queue: policy.and_then(|policy| policy.queue.clone()),
        priority: policy.and_then(|policy| policy.priority.clone()),
        resources: asked.unwrap_or_else(|| asked_together(roles, members)),
        timeout: policy.and_then(|policy| policy.timeout),
    })
}

/// The scheduler that a template names; the cluster's own is none.
fn scheduler(replica: &Replica<'_>) -> Option<GangScheduler> {
    let name = replica.template.scheduler_name.as_ref()?;
    match &**name {
        "" | "default-scheduler" => None,
        name => Some(GangScheduler::named(name)),
    }
}

/// The group that the templates name, if they do: a user made it.
pub(crate) fn existing(spec: &Spec<'_>) -> Option<Arc<str>> {
    let group = |replica: &Replica<'_>| {
        let template = &replica.template;
        let named = template.annotations.get(GROUP_ANNOTATION);
        let labelled = || GROUP_LABELS.iter().find_map(|key| template.labels.get(*key));
        let named = named.or_else(labelled).or(template.scheduling_group.as_ref());
        named.cloned()
    };
    let groups: Vec<Option<Arc<str>>> = spec.replicas.iter().map(group).collect();
    let first = groups.iter().flatten().next()?.clone();
    let other = groups.iter().position(|group| group.as_ref() != Some(&first));
    if let Some(other) = other {
        let field = &spec.replicas[other].field;
        let found = match &groups[other] {
            Some(group) => format!("this role is in the group `{group}`, another is in `{first}`"),
            None => format!("this role is in no group, another is in `{first}`"),
        };
        let problem = field.key_problem(Code::GroupsDiffer, found);
        field.tell(problem.hint("name the same group in every template"));
    }
    Some(first)
}

/// More members than there are tasks: the group is never let in.
fn check_members(spec: &Spec<'_>, members: u32, size: u32) {
    let policy = spec.run.scheduling.as_ref();
    let field = policy.and_then(|policy| policy.members_at.as_ref());
    if let Some(field) = field.filter(|_| members > size) {
        let message =
            format!("{members} members are asked for and the job has {size} tasks: it would wait for ever");
        let problem = field
            .problem(Code::GangLargerThanJob, message)
            .found(members.to_string());
        let hint = format!("set it to {size} at most, or leave it out for all of them");
        field.tell(problem.hint(hint));
    }
}

/// A gang scheduler places no pod before enough pods exist, and a start order makes no more before some run.
fn check_start_order(spec: &Spec<'_>, members: u32) {
    let (Some(field), Some(first)) = (&spec.run.start_order_at, spec.run.start_order.first()) else {
        return;
    };
    let first = spec.replica(*first).map_or(0, |replica| replica.replicas);
    if first < members && first > 0 {
        let message = format!(
            "only {first} tasks are created at first and the gang needs {members}: they would wait for each other for ever"
        );
        let problem = field.problem(Code::StartOrderInGang, message);
        let hint = match spec.limit_path {
            Some(_) => format!(
                "remove the start order, or set `spec.runPolicy.schedulingPolicy.minAvailable` to {first} at most"
            ),
            None => "remove the start order".to_owned(),
        };
        field.tell(problem.hint(hint));
    }
}
