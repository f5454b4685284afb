//! A plan for programs. The form is documented in docs/json.md and changes only by additions.

use std::collections::BTreeMap;

use serde::Serialize;
use trainyard_core::explain::RuleWords;
use trainyard_core::{Clean, Gang, GangScheduler, InPlace, RoleKind, task_name};
use trainyard_document::quantity::Quantity;

use super::{JobPlan, RolePlan};

type Amounts = BTreeMap<String, String>;

/// One job.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JsonPlan {
    name: String,
    namespace: String,
    kind: &'static str,
    api_version: String,
    document: usize,
    generated_name: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    managed_by: Option<String>,
    suspended: bool,
    roles: Vec<JsonRole>,
    total: Amounts,
    success: String,
    story: Vec<String>,
    rules: Vec<RuleWords>,
    limits: JsonLimits,
    clean_up: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    gang: Option<JsonGang>,
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tf_config_bytes: Option<usize>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonRole {
    name: String,
    kind: &'static str,
    replicas: u32,
    port: u16,
    restarts_in_place: &'static str,
    asks: Amounts,
    total: Amounts,
    #[serde(skip_serializing_if = "Option::is_none")]
    starts: Option<String>,
    tasks: Vec<JsonTask>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonTask {
    task: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
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
struct JsonGang {
    scheduler: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    members: u32,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    per_role: BTreeMap<String, u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<String>,
    resources: Amounts,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<u32>,
    holds_tasks: bool,
}

impl From<&JobPlan<'_>> for JsonPlan {
    fn from(plan: &JobPlan<'_>) -> Self {
        let (read, job) = (plan.read, plan.job());
        Self {
            name: job.name.to_string(),
            namespace: job.namespace.to_string(),
            kind: read.dialect.kind(),
            api_version: read.api_version.to_string(),
            document: read.document,
            generated_name: read.generate_name,
            managed_by: read.managed_by.as_ref().map(ToString::to_string),
            suspended: job.suspend,
            roles: plan.roles.iter().map(|each| role(plan, each)).collect(),
            total: amounts(&plan.total),
            success: plan.success.clone(),
            story: plan.story.clone(),
            rules: plan.rules.clone(),
            limits: limits(plan),
            clean_up: match job.clean {
                Clean::None => "None",
                Clean::Unfinished => "Unfinished",
                Clean::All => "All",
            },
            gang: job.gang.as_ref().map(gang),
            notes: plan.notes.clone(),
            tf_config_bytes: plan.tf_config_bytes(),
        }
    }
}

fn role(plan: &JobPlan<'_>, role: &RolePlan<'_>) -> JsonRole {
    JsonRole {
        name: role.name.to_string(),
        kind: match role.kind {
            RoleKind::Chief => "Chief",
            RoleKind::Master => "Master",
            RoleKind::Worker => "Worker",
            RoleKind::Ps => "PS",
            RoleKind::Evaluator => "Evaluator",
            RoleKind::Other => "Other",
        },
        replicas: role.replicas,
        port: role.port,
        restarts_in_place: match role.in_place {
            InPlace::Never => "Never",
            InPlace::OnFailure => "OnFailure",
            InPlace::Always => "Always",
        },
        asks: amounts(role.ask),
        total: amounts(&role.total),
        starts: role.after.clone(),
        tasks: role
            .tasks
            .iter()
            .map(|task| JsonTask {
                task: task.id.to_string(),
                name: task_name(plan.job(), &task.id),
                address: task.address.as_ref().map(ToString::to_string),
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

fn gang(gang: &Gang) -> JsonGang {
    JsonGang {
        scheduler: match &gang.scheduler {
            GangScheduler::Default => "default".to_owned(),
            GangScheduler::Volcano => "volcano".into(),
            GangScheduler::KubeBatch => "kube-batch".into(),
            GangScheduler::SchedulerPlugins => "scheduler-plugins".into(),
            GangScheduler::T9k => "t9k".into(),
            GangScheduler::Named(name) => name.to_string(),
        },
        group: gang.existing.as_ref().map(ToString::to_string),
        members: gang.members,
        per_role: gang
            .per_role
            .iter()
            .map(|(name, least)| (name.to_string(), *least))
            .collect(),
        queue: gang.queue.as_ref().map(ToString::to_string),
        priority: gang.priority.as_ref().map(ToString::to_string),
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
