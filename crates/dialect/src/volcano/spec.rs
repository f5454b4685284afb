//! `spec` of a Volcano job: every field, with the defaults that Volcano's webhook would fill in.
//!
//! A cluster without that webhook would see other values; here they are always applied, so that a manifest means
//! the same everywhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use trainyard_document::codes::Code;
use trainyard_document::fields::{Field, Fields};
use trainyard_document::names::is_subdomain;
use trainyard_document::problem::shown;

use super::depends::{self, DependsOn, Positions};
use super::duration;
use super::plugins::{self, Plugins};
use super::policy::{self, Policy};
use super::task;
use super::volumes::{self, JobVolume};
use crate::pod_template::PodTemplate;
use crate::tensorboard::TensorBoard;

/// What 0 and nothing mean for `maxRetry`, of a job and of a task.
pub(super) const MAX_RETRY: u32 = 3;

/// More kinds of task than any real job has; each is named to every other, so that their number counts squared.
const MOST_TASKS: usize = 256;

/// What `spec` says.
#[derive(Debug)]
pub(super) struct Spec<'a> {
    /// Who places the pods.
    pub scheduler: Arc<str>,
    /// In which queue.
    pub queue: Arc<str>,
    /// With which priority class.
    pub priority_class: Option<Arc<str>>,
    /// So many pods at least.
    pub min_available: u32,
    /// So many successes complete the job.
    pub min_success: Option<u32>,
    /// The request to restart that ends the job.
    pub max_retry: u32,
    /// The job is deleted so long after its end.
    pub ttl: Option<u32>,
    /// Its tasks, of which there may be none after a problem.
    pub tasks: Vec<Task<'a>>,
    /// Policies for every task.
    pub policies: Vec<Policy<'a>>,
    /// What is done for the pods.
    pub plugins: Plugins,
    /// What every container mounts.
    pub volumes: Vec<JobVolume>,
    /// A TensorBoard beside the job. Volcano's own definition has no such field; ours has.
    pub tensorboard: Option<TensorBoard>,
}

/// One entry of `tasks`.
#[derive(Debug)]
pub(super) struct Task<'a> {
    /// Its name, given or made.
    pub name: Arc<str>,
    /// How many pods.
    pub replicas: u32,
    /// So many of them at least.
    pub min_available: u32,
    /// So many restarts in place make a `TaskFailed`.
    pub max_retry: u32,
    /// What is started.
    pub template: PodTemplate,
    /// Policies for this task, before the job's.
    pub policies: Vec<Policy<'a>>,
    /// Which tasks must be up before.
    pub depends_on: Option<DependsOn<'a>>,
    /// What the scheduler is told about NUMA nodes.
    pub topology: Option<&'static str>,
    /// Which of the list it is.
    pub position: usize,
    /// Where it stands.
    pub place: Field<'a>,
}

impl Spec<'_> {
    /// How many pods there are.
    pub fn replicas(&self) -> u32 {
        total(&self.tasks, |task| task.replicas)
    }

    /// How many pods the tasks need at least, together.
    pub fn tasks_min_available(&self) -> u32 {
        total(&self.tasks, |task| task.min_available)
    }

    /// Where each task stands.
    pub fn positions(&self) -> Positions<'_> {
        let named = self.tasks.iter().enumerate();
        named.map(|(position, task)| (&*task.name, position)).collect()
    }
}

/// A sum over tasks; capped, never wrapped.
fn total<'t, 'a: 't>(tasks: impl IntoIterator<Item = &'t Task<'a>>, count: impl Fn(&Task<'a>) -> u32) -> u32 {
    let counts = tasks.into_iter().map(count);
    counts.fold(0, u32::saturating_add)
}

/// Reads `spec`; `board` is the annotation that stands for its `tensorboardSpec`.
pub(super) fn read<'a>(mut fields: Fields<'a>, board: Option<&Field<'_>>) -> Spec<'a> {
    let tasks = tasks(&mut fields);
    let min_available = fields.get("minAvailable");
    let min_success = fields.get("minSuccess");
    let scheduler = fields.text("schedulerName").filter(|text| !text.is_empty());
    let mut spec = Spec {
        scheduler: scheduler.map_or_else(|| "volcano".into(), Arc::clone),
        queue: queue(&mut fields),
        priority_class: fields
            .get("priorityClassName")
            .and_then(|name| checked_name(&name)),
        min_available: 0,
        min_success: None,
        max_retry: max_retry(&mut fields),
        ttl: fields.count("ttlSecondsAfterFinished"),
        policies: policy::read(&mut fields, None),
        plugins: plugins::read(&mut fields, &tasks),
        volumes: volumes::read(&mut fields),
        tensorboard: None,
        tasks,
    };
    let asked = min_available.as_ref().and_then(Field::count);
    // Zero and nothing are the same: what the tasks need at least.
    spec.min_available = asked
        .filter(|least| *least > 0)
        .unwrap_or_else(|| spec.tasks_min_available());
    spec.min_success = min_success.as_ref().and_then(|field| field.count_from(1));
    check_minimum(&spec, min_available.as_ref(), asked, "minAvailable");
    check_minimum(&spec, min_success.as_ref(), spec.min_success, "minSuccess");
    depends::check(&spec.tasks, &spec.positions());
    check_start(&spec);
    topology(&mut fields);
    if let Some(estimate) = fields.get("runningEstimate") {
        let _ = duration::seconds(&estimate);
    }
    let why = "it is a hint that no scheduler acts on, Volcano included";
    fields.ignored("runningEstimate", why);
    fields.elsewhere("restartPolicy", "spec.tasks[].template.spec.restartPolicy");
    fields.elsewhere("scheduler", "spec.schedulerName");
    fields.elsewhere("policy", "spec.policies");
    spec.tensorboard = TensorBoard::read(&mut fields, board);
    fields.finish();
    spec
}

fn tasks<'a>(fields: &mut Fields<'a>) -> Vec<Task<'a>> {
    let Some(list) = fields.require("tasks") else {
        return Vec::new();
    };
    let items = list.items();
    if items.is_empty() && list.node.as_list().is_some() {
        let problem = list.problem(Code::VolcanoNoTasks, "the job has no tasks");
        list.tell(problem.hint("add one with `name`, `replicas` and `template`"));
    }
    if items.len() > MOST_TASKS {
        let message = format!("{} tasks are too many", items.len());
        let problem = list.problem(Code::OutOfRange, message);
        let hint = "pods that differ in their number alone belong in one task, with `replicas`";
        let problem = problem.allowed(format!("at most {MOST_TASKS}"));
        list.tell(problem.hint(hint));
    }
    let mut tasks: Vec<Task<'a>> = Vec::new();
    let mut places = BTreeMap::new();
    for (position, item) in items.iter().take(MOST_TASKS).enumerate() {
        let Some((task, place)) = task::read(item, position) else {
            continue;
        };
        if let Some(first) = places.get(&task.name) {
            let message = format!("another task is called `{}` already", shown(&task.name));
            let problem = place.problem(Code::DuplicateName, message).found(&task.name);
            place.tell(problem.related(*first, "the first one"));
            continue;
        }
        places.insert(task.name.clone(), place.span());
        tasks.push(task);
    }
    tasks
}

/// A minimum above the number of pods can never be met.
fn check_minimum(spec: &Spec<'_>, field: Option<&Field<'_>>, least: Option<u32>, what: &str) {
    let replicas = spec.replicas();
    if let (Some(field), Some(least)) = (field, least)
        && least > replicas
        && !spec.tasks.is_empty()
    {
        let message = format!("`{what}` is {least}, but the job has only {}", pods(replicas));
        let problem = field
            .problem(Code::VolcanoMinimum, message)
            .found(least.to_string());
        field.tell(problem.allowed(format!("at most {replicas}")));
    }
}

/// So many pods, in words.
pub(super) fn pods(count: u32) -> String {
    format!("{count} {}", if count == 1 { "pod" } else { "pods" })
}

/// The scheduler places no pod before the whole group exists, and tasks that wait for others are made only once those
/// run: where the tasks that wait for no other are too few for the group, all wait for ever.
fn check_start(spec: &Spec<'_>) {
    let at_once = spec.tasks.iter().filter(|task| task.depends_on.is_none());
    let at_once = total(at_once, |task| task.replicas);
    let Some(waiting) = spec.tasks.iter().find(|task| task.depends_on.is_some()) else {
        return;
    };
    if at_once == 0 || at_once >= spec.min_available {
        return;
    }
    let message = format!(
        "the group needs {} before it is placed, but only {at_once} can be made before others run",
        pods(spec.min_available)
    );
    let problem = waiting.place.problem(Code::StartOrderInGang, message);
    let hint = format!("set `spec.minAvailable` to {at_once} or less, or take `dependsOn` away");
    waiting.place.tell(problem.hint(hint));
}

/// `maxRetry`, where 0 and nothing mean 3.
pub(super) fn max_retry(fields: &mut Fields<'_>) -> u32 {
    let given = fields.count("maxRetry").filter(|most| *most > 0);
    given.unwrap_or(MAX_RETRY)
}

fn queue(fields: &mut Fields<'_>) -> Arc<str> {
    let Some(field) = fields.get("queue") else {
        return "default".into();
    };
    if field.node.as_text() == Some("root") {
        let message = "`root` is the queue above all others and takes no jobs";
        let problem = field.problem(Code::UnknownValue, message).found("root");
        field.tell(problem.allowed("a queue without queues below it"));
    }
    checked_name(&field).unwrap_or_else(|| "default".into())
}

fn checked_name(field: &Field<'_>) -> Option<Arc<str>> {
    let text = field.text().filter(|text| !text.is_empty())?;
    if is_subdomain(text) {
        return Some(text.clone());
    }
    let message = format!("`{}` is not a valid name", shown(text));
    let problem = field.problem(Code::BadName, message).found(text);
    let allowed = "lower-case letters, digits, `-` and `.`, beginning and ending with a letter or digit";
    field.tell(problem.allowed(allowed));
    None
}

/// `networkTopology`: checked, and said to be without effect, since nothing hands it to the scheduler yet.
pub(super) fn topology(fields: &mut Fields<'_>) {
    let Some(field) = fields.get("networkTopology") else {
        return;
    };
    let Some(mut inner) = field.fields() else { return };
    let _ = inner.choice("mode", &[("hard", ()), ("soft", ())]);
    let _ = inner.count("highestTierAllowed");
    let _ = inner.text("highestTierName");
    if inner.has("highestTierAllowed") && inner.has("highestTierName") {
        let message = "a tier is given by number and by name";
        let problem = inner.problem(Code::VolcanoTopology, message);
        field.tell(problem.hint("keep `highestTierAllowed` or `highestTierName`"));
    }
    inner.finish();
    fields.ignored("networkTopology", "the group of pods is made without it");
}
