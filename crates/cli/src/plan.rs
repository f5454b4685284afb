//! The explanation of a job, computed once for text, JSON and picture.

mod json;
pub mod svg;
pub mod text;

use std::collections::BTreeMap;
use std::sync::Arc;

use trainyard_core::explain::{self, RuleWords};
use trainyard_core::{Addresses, Cluster, Job, Role, TaskId, addresses};
use trainyard_dialect::ReadJob;

pub use self::json::JsonPlan;

/// One job, explained.
pub struct JobPlan<'a> {
    pub read: &'a ReadJob,
    pub roles: Vec<RolePlan<'a>>,
    /// Requests of all tasks together.
    pub total: BTreeMap<Arc<str>, i64>,
    pub success: String,
    pub story: Vec<String>,
    pub rules: Vec<RuleWords>,
    pub limits: Vec<String>,
    pub clean: String,
    pub gang: Vec<String>,
    pub notes: Vec<String>,
    /// `TF_CONFIG` of any task.
    pub cluster: Cluster,
}

/// One role, explained.
pub struct RolePlan<'a> {
    pub spec: &'a Role,
    pub tasks: Vec<TaskPlan>,
    /// Requests of its tasks together.
    pub total: BTreeMap<Arc<str>, i64>,
    /// The roles it waits for.
    pub after: Option<String>,
}

/// One task.
pub struct TaskPlan {
    pub id: TaskId,
    /// `None` if it is only known at run time.
    pub address: Option<Arc<str>>,
    /// Its success is required for the job's success.
    pub decides: bool,
}

impl<'a> JobPlan<'a> {
    /// Explains a job.
    pub fn of(read: &'a ReadJob) -> Self {
        let job = &read.job;
        let vocabulary = read.vocabulary();
        let book = addresses(job, None);
        let mut total = BTreeMap::new();
        let mut roles = Vec::new();
        for role in &job.roles {
            let together = times(&role.ask, role.replicas);
            for (name, milli) in &together {
                let sum: &mut i64 = total.entry(name.clone()).or_default();
                *sum = sum.saturating_add(*milli);
            }
            let task = |id| TaskPlan {
                address: book.0.get(&id).cloned(),
                decides: explain::decides(job, &id),
                id,
            };
            roles.push(RolePlan {
                spec: role,
                tasks: role.tasks().map(task).collect(),
                total: together,
                after: explain::start_order(job, role),
            });
        }
        Self {
            read,
            roles,
            total,
            success: explain::success(job),
            story: explain::story(job, &vocabulary),
            rules: explain::rules(job),
            limits: explain::limits(job),
            clean: explain::clean(job),
            gang: explain::gang(job),
            notes: notes(read, explain::notes(job, &vocabulary)),
            cluster: Cluster::of(job, &book),
        }
    }

    /// The job.
    pub fn job(&self) -> &'a Job {
        &self.read.job
    }

    /// `TFJob`, or what a kind is called where its own name says too little.
    pub fn kind(&self) -> &'static str {
        self.read.dialect.title()
    }

    /// The longest `TF_CONFIG` in bytes; none where there is none.
    pub fn tf_config_bytes(&self) -> Option<usize> {
        Some(self.cluster.longest()).filter(|bytes| *bytes > 0)
    }
}

/// Notes about the manifest, then those about the job.
fn notes(read: &ReadJob, said: Vec<String>) -> Vec<String> {
    let mut notes = Vec::new();
    if read.generate_name {
        let note =
            "the API server replaces `xxxxx` by five random characters, in the name and in every address";
        notes.push(note.to_owned());
    }
    if let Some(manager) = &read.managed_by {
        notes.push(format!("it is managed by `{manager}`: Trainyard does not run it"));
    }
    if read.job.addresses == Addresses::Given {
        notes.push("addresses are only known at run time".into());
    }
    notes.extend(read.remarks());
    notes.extend(said);
    notes
}

fn times(ask: &BTreeMap<Arc<str>, i64>, count: u32) -> BTreeMap<Arc<str>, i64> {
    ask.iter()
        .map(|(name, milli)| (name.clone(), milli.saturating_mul(count.into())))
        .collect()
}
