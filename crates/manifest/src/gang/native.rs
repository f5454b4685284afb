//! Kubernetes' own groups (`scheduling.k8s.io`, 1.37, feature gate `GenericWorkload`): one `PodGroup` per job, placed by the cluster's
//! scheduler. It holds pods that exist, without a word, until enough of them do.

use serde_json::{Map, Value, json};
use trainyard_core::{Ending, Gang, GangScheduler, Job, Role, Rule, Scope, Subject, Then};

use super::{Ended, GroupApi, GroupState, GroupWanted, Scheduler, group_of, not_ended};
use crate::install::access::of_groups;

const API_GROUP: &str = "scheduling.k8s.io";
/// Joins a pod to a group, and cannot be changed.
const GROUP: &str = "schedulingGroup";

static POD_GROUPS: GroupApi = GroupApi {
    group: API_GROUP,
    version: "v1beta1",
    kind: "PodGroup",
    plural: "podgroups",
    // Nothing else of a group can be changed.
    follows: &["schedulingPolicy"],
    state,
    help: "use Kubernetes 1.37 or later, start kube-apiserver, kube-scheduler and kube-controller-manager with `--feature-gates=GenericWorkload=true` \
           and kube-apiserver with `--runtime-config=scheduling.k8s.io/v1beta1=true`",
};

pub(super) static SCHEDULER: Scheduler = Scheduler {
    serves: |named| *named == GangScheduler::Native,
    apis: &[&POD_GROUPS],
    queues: &[],
    uses: &[of_groups(API_GROUP, "podgroups")],
    holds: false,
    groups,
    mark,
};

fn groups(subject: &Subject, gang: &Gang, ended: Ended) -> Vec<GroupWanted> {
    let job = &subject.job;
    // Pods that have ended are not counted: a task that is created again would be held for ever.
    let least = not_ended(subject, gang, ended);
    let mut spec = Map::new();
    spec.insert(
        "schedulingPolicy".into(),
        json!({ "gang": { "minCount": least } }),
    );
    if let Some(class) = class(job, gang) {
        spec.insert("priorityClassName".into(), class.into());
    }
    if restarts_whole(job) {
        spec.insert("disruptionMode".into(), json!({ "all": {} }));
    }
    group_of(&POD_GROUPS, subject, &spec)
}

/// The priority class of the group and of all its pods, which must have the same: the job's, or else the one that all templates name. A number
/// is a priority of T9k's.
fn class(job: &Job, gang: &Gang) -> Option<String> {
    let said = gang.priority.as_ref().filter(|text| text.parse::<i64>().is_err());
    if let Some(class) = said {
        return Some(class.to_string());
    }
    let named = |role: &Role| {
        let template: Value = serde_json::from_str(&role.template.0).ok()?;
        let class = template.pointer("/spec/priorityClassName")?.as_str()?;
        (!class.is_empty()).then(|| class.to_owned())
    };
    let mut roles = job.roles.iter().filter(|role| role.replicas > 0).map(named);
    let first = roles.next()??;
    roles.all(|class| class.as_ref() == Some(&first)).then_some(first)
}

/// Whether a task that the scheduler preempts takes all others with it anyway.
fn restarts_whole(job: &Job) -> bool {
    let whole = |rule: &Rule| {
        matches!(
            &rule.then,
            Then::Restart {
                scope: Scope::Job,
                ..
            }
        )
    };
    let answer = |role: &Role| job.answer(&role.name, 0, Ending::Disrupted, true);
    job.roles.iter().all(|role| answer(role).is_some_and(whole))
}

fn mark(pod: &mut Value, job: &Job, _: &Role, gang: &Gang) {
    let Some(Value::Object(spec)) = pod.get_mut("spec") else {
        return;
    };
    if gang.existing.is_none() {
        spec.insert(GROUP.into(), json!({ "podGroupName": job.name }));
    }
    let says = |field: &str| {
        spec.get(field)
            .and_then(Value::as_str)
            .is_some_and(|name| !name.is_empty())
    };
    if let Some(class) = class(job, gang).filter(|_| !says("priorityClassName")) {
        spec.insert("priorityClassName".into(), class.into());
    }
}

/// The scheduler writes the condition whenever it has looked at the group as a whole, so a group whose members are on nodes has one: else the
/// scheduler ignores groups.
fn state(status: &Value) -> GroupState {
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    let Some(condition) = conditions.find(|one| one["type"] == "PodGroupInitiallyScheduled") else {
        return GroupState::Silent;
    };
    if condition["status"] == "True" {
        return GroupState::Open;
    }
    let words = condition["message"].as_str().filter(|words| !words.is_empty());
    GroupState::Waiting(words.map(Into::into))
}
