//! A plan for programs. The form is documented in docs/json.md and changes only by additions.

use std::collections::BTreeMap;

use serde::Serialize;
use trainyard_core::explain::RuleWords;
use trainyard_core::{Clean, Gang, InPlace, RoleName, TaskId, task_name};
use trainyard_document::quantity::Quantity;

use super::{JobPlan, RolePlan};

type Amounts = BTreeMap<String, String>;

/// One job.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JsonPlan<'a> {
    name: &'a str,
    namespace: &'a str,
    kind: &'static str,
    api_version: &'a str,
    document: usize,
    generated_name: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    managed_by: Option<&'a str>,
    suspended: bool,
    roles: Vec<JsonRole<'a>>,
    total: Amounts,
    success: &'a str,
    story: &'a [String],
    rules: &'a [RuleWords],
    limits: JsonLimits,
    clean_up: Clean,
    #[serde(skip_serializing_if = "Option::is_none")]
    gang: Option<JsonGang<'a>>,
    notes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    tf_config_bytes: Option<usize>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonRole<'a> {
    name: &'a RoleName,
    kind: &'static str,
    replicas: u32,
    port: u16,
    restarts_in_place: InPlace,
    asks: Amounts,
    total: Amounts,
    #[serde(skip_serializing_if = "Option::is_none")]
    starts: Option<&'a str>,
    tasks: Vec<JsonTask<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonTask<'a> {
    task: &'a TaskId,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<&'a str>,
    decides_success: bool,
}

/// Times in seconds.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonLimits {
    restarts: Option<u32>,
    restarts_in_place_count: bool,
    deadline: Option<u32>,
    ttl: Option<u32>,
    wait_first: u32,
    wait_most: u32,
    wait_healthy: u32,
    settle: u32,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonGang<'a> {
    scheduler: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a str>,
    members: u32,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    per_role: &'a BTreeMap<RoleName, u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<&'a str>,
    resources: Amounts,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<u32>,
    holds_tasks: bool,
}

impl<'a> From<&'a JobPlan<'a>> for JsonPlan<'a> {
    fn from(plan: &'a JobPlan<'a>) -> Self {
        let (read, job) = (plan.read, plan.job());
        Self {
            name: &job.name,
            namespace: &job.namespace,
            kind: read.dialect.kind(),
            api_version: &read.api_version,
            document: read.document,
            generated_name: read.generate_name,
            managed_by: read.managed_by.as_deref(),
            suspended: job.suspend,
            roles: plan.roles.iter().map(|each| role(plan, each)).collect(),
            total: amounts(&plan.total),
            success: &plan.success,
            story: &plan.story,
            rules: &plan.rules,
            limits: limits(plan),
            clean_up: job.clean,
            gang: job.gang.as_ref().map(gang),
            notes: &plan.notes,
            tf_config_bytes: plan.tf_config_bytes(),
        }
    }
}

fn role<'a>(plan: &JobPlan<'a>, role: &'a RolePlan<'a>) -> JsonRole<'a> {
    JsonRole {
        name: &role.spec.name,
        kind: role.spec.kind.tfjob_name(),
        replicas: role.spec.replicas,
        port: role.spec.port,
        restarts_in_place: role.spec.in_place,
        asks: amounts(&role.spec.ask),
        total: amounts(&role.total),
        starts: role.after.as_deref(),
        tasks: role
            .tasks
            .iter()
            .map(|task| JsonTask {
                task: &task.id,
                name: task_name(plan.job(), &task.id),
                address: task.address.as_deref(),
                decides_success: task.decides,
            })
            .collect(),
    }
}

fn limits(plan: &JobPlan<'_>) -> JsonLimits {
    let limits = &plan.job().limits;
    JsonLimits {
        restarts: limits.restarts,
        restarts_in_place_count: limits.count_in_place,
        deadline: limits.deadline,
        ttl: limits.ttl,
        wait_first: limits.wait.first,
        wait_most: limits.wait.most,
        wait_healthy: limits.wait.healthy,
        settle: limits.settle,
    }
}

fn gang(gang: &Gang) -> JsonGang<'_> {
    JsonGang {
        scheduler: gang.scheduler.word().unwrap_or("default"),
        group: gang.existing.as_deref(),
        members: gang.members,
        per_role: &gang.per_role,
        queue: gang.queue.as_deref(),
        priority: gang.priority.as_deref(),
        resources: amounts(&gang.resources),
        timeout: gang.timeout,
        holds_tasks: gang.hold,
    }
}

/// Amounts as Kubernetes writes them.
fn amounts(ask: &BTreeMap<std::sync::Arc<str>, i64>) -> Amounts {
    ask.iter()
        .map(|(name, milli)| (name.to_string(), Quantity::from_milli(*milli).to_string()))
        .collect()
}
