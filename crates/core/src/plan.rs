//! From a job to its tasks: names, addresses, and what each task is started with.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::job::{Addresses, Job, Role, TaskId, Template};
use crate::observed::Stamp;
use crate::tf_config::Cluster;

/// Where every task can be reached: from names on a cluster, from chosen ports on one machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressBook(pub BTreeMap<TaskId, Arc<str>>);

/// One life of one task, ready to be started.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Task {
    /// The task.
    pub id: TaskId,
    /// The life that begins.
    pub stamp: Stamp,
    /// The pod template to start.
    pub template: Template,
    /// The value of `TF_CONFIG`, if the job has one.
    pub tf_config: Option<String>,
}

impl Task {
    /// The life of `id` with that stamp; `resumed` chooses the template for jobs that have been paused.
    #[must_use]
    pub fn of(job: &Job, cluster: &Cluster, id: &TaskId, stamp: Stamp, resumed: bool) -> Option<Self> {
        let (_, role) = job.role(&id.role).filter(|(_, role)| id.index < role.replicas)?;
        let template = match &role.resume_template {
            Some(template) if resumed => template.clone(),
            _ => role.template.clone(),
        };
        Some(Self {
            id: id.clone(),
            stamp,
            template,
            tf_config: cluster.tf_config(id),
        })
    }
}

/// The name of a task's pod or process: `<job>-<role>-<index>`.
#[must_use]
pub fn task_name(job: &Job, task: &TaskId) -> String {
    format!("{}-{}-{}", job.name, task.role, task.index)
}

/// The addresses that a job's tasks have on a cluster. `domain` follows `svc`, for clusters with a domain of their
/// own.
#[must_use]
pub fn addresses(job: &Job, domain: Option<&str>) -> AddressBook {
    let domain = domain.map(|domain| format!(".{domain}")).unwrap_or_default();
    let suffix = match job.addresses {
        Addresses::PerJob => format!(".{}.{}.svc{domain}", job.name, job.namespace),
        Addresses::PerJobShort => format!(".{}", job.name),
        Addresses::PerReplica => format!(".{}.svc{domain}", job.namespace),
        Addresses::Given => return AddressBook::default(),
    };
    let address = |role: &Role, task: TaskId| {
        let address = format!("{}-{}-{}{suffix}:{}", job.name, role.name, task.index, role.port);
        (task, Arc::from(address))
    };
    // Collected, not inserted one by one: the tasks of a role come in order already.
    let all = job
        .roles
        .iter()
        .flat_map(|role| role.tasks().map(|task| address(role, task)));
    AddressBook(all.collect())
}
