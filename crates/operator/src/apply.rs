//! A decision on its way to the API server: the status first, where there is one to write, then actions in order, then
//! events.
//!
//! Each apply is a task of its own. It decides nothing; what it has done, and the first thing that was refused, comes back
//! as a [`Report`].

pub mod addresses;
pub mod board;
mod extras;
mod gates;
pub mod groups;
mod orders;
mod panic;
mod pods;
pub mod reread;
pub mod workload;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::join_all;
use serde_json::Value;
use trainyard_core::{Action, Fixture, Stamp, TaskId, Time, task_name};
use trainyard_manifest::gang;
use trainyard_manifest::kinds::JobApi;
use trainyard_manifest::kueue::Placement;
use trainyard_manifest::observe::PodSeen;
use trainyard_manifest::task_pod::Owner;
use trainyard_status::MEMORY_FIELD;

use self::board::{BoardReport, BoardWrite};
pub use self::panic::apply_catching_panics;
use self::reread::Reread;
use self::workload::{WorkloadReport, WorkloadWrite};
use crate::api::{Api, ApiError, How};
use crate::job::{Compiled, JobKey, Meaning};
use crate::notice::{Notice, Observer, Phase};
use crate::reconcile::events::{Change, Milestone, Topic};
use crate::reconcile::waiting::WAITING_FIELD;
use crate::store::{ExtraSeen, GroupWrite, Listed, NeededObject};
use crate::watched::{GroupSeen, ServiceSeen};

/// Something to be done about one job.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about the job when it was decided"
)]
pub struct Writes {
    /// The job that they are about.
    pub key: JobKey,
    /// Which job of that name.
    pub uid: Arc<str>,
    /// The version it was decided from.
    pub version: u64,
    /// What the job means.
    pub meaning: Arc<Meaning>,
    /// The new status, if it has changed.
    pub status: Option<Value>,
    /// The template for resumed jobs is used.
    pub resumed: bool,
    /// Restarts that have been paid for, as new pods say.
    pub paid: u32,
    /// What is to be done once the status, if there is one, is stored.
    pub actions: Vec<Action>,
    /// What its tasks find each other by and is not there.
    pub missing: Vec<NeededObject>,
    /// Its Services, where they are to be removed: name and UID.
    pub services: Vec<(Arc<str>, Arc<str>)>,
    /// What is written to its groups, where the actions say so.
    pub groups: Vec<GroupWrite>,
    /// Objects that give orders, by the ids of these: name and UID.
    pub orders: BTreeMap<Arc<str>, (Arc<str>, Arc<str>)>,
    /// Extra objects of its kind that exist.
    pub extras: Vec<ExtraSeen>,
    /// Extra objects that may exist besides those.
    pub listed_extras: Vec<Listed>,
    /// What is done about its TensorBoard.
    pub board: Option<BoardWrite>,
    /// What is done about its Workload.
    pub workload: Option<WorkloadWrite>,
    /// What Kueue says of new pods, and the name of the Workload by which it does.
    pub placement: Option<(Arc<str>, Arc<Placement>)>,
    /// What has changed about the job.
    pub changes: Vec<Change>,
    /// What is to be told of it on the cluster, after that.
    pub events: Vec<Value>,
    /// When the job was created.
    pub created: Time,
    /// It had neither run nor been held before.
    pub fresh: bool,
    /// Nothing had been done about it before.
    pub first: bool,
    /// When it was decided.
    pub now: Time,
    /// Everything about the job is to be read again.
    pub reread: bool,
}

/// What an apply has done.
#[derive(Debug)]
pub struct Report {
    /// The job of the writes.
    pub key: JobKey,
    /// Which job of that name.
    pub uid: Arc<str>,
    /// The version and the status that are stored now, if one was written.
    pub written: Option<(u64, Value)>,
    /// Pods that exist now.
    pub made: Vec<PodSeen>,
    /// Pods whose gates are gone, as they were then.
    pub ungated: Vec<PodSeen>,
    /// UIDs of pods that have been told to stop, and whether by force.
    pub stopped: Vec<(Arc<str>, bool)>,
    /// Services that exist now.
    pub services: Vec<ServiceSeen>,
    /// Maps of addresses that exist now.
    pub maps: Vec<Arc<str>>,
    /// UIDs of Services that exist no longer.
    pub removed: Vec<Arc<str>>,
    /// Groups that were written.
    pub groups: Vec<GroupSeen>,
    /// UIDs of groups that were deleted.
    pub ungrouped: Vec<Arc<str>>,
    /// UIDs of orders that were obeyed and deleted.
    pub answered: Vec<Arc<str>>,
    /// Extra objects of its kind that exist now.
    pub extras: Vec<ExtraSeen>,
    /// UIDs of those that were deleted.
    pub removed_extras: Vec<Arc<str>>,
    /// All that may exist have been looked for.
    pub looked_for_extras: bool,
    /// What was done about its TensorBoard.
    pub board: Option<BoardReport>,
    /// What was done about its Workload.
    pub workload: Option<WorkloadReport>,
    /// The job has been told to go.
    pub deleted: bool,
    /// What was refused: the rest was left undone.
    pub error: Option<ApplyError>,
    /// What was read again.
    pub reread: Option<Reread>,
    /// What a panic said that ended the apply; what it has done before that is not known.
    pub panicked: Option<String>,
}

impl Report {
    /// Nothing has been done.
    #[must_use]
    pub const fn of(key: JobKey, uid: Arc<str>) -> Self {
        Self {
            key,
            uid,
            written: None,
            made: Vec::new(),
            ungated: Vec::new(),
            stopped: Vec::new(),
            services: Vec::new(),
            maps: Vec::new(),
            removed: Vec::new(),
            groups: Vec::new(),
            ungrouped: Vec::new(),
            answered: Vec::new(),
            extras: Vec::new(),
            removed_extras: Vec::new(),
            looked_for_extras: false,
            board: None,
            workload: None,
            deleted: false,
            error: None,
            reread: None,
            panicked: None,
        }
    }
}

/// What went wrong, and with what.
#[derive(Debug)]
pub struct ApplyError {
    /// What was being done, for the log.
    pub doing: &'static str,
    /// What it means for the job.
    pub kind: ApplyErrorKind,
    /// What the API server said.
    pub refused: ApiError,
}

/// What a refused request means for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyErrorKind {
    /// It waits for an object: a pod, or something that pods need.
    Creating(Created),
    /// The API server drops the memory.
    Pruned,
    /// Nothing that its users are told.
    Other,
}

/// What a job waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// A pod.
    Pod,
    /// A Service by which tasks find each other.
    Service,
    /// The map of the addresses of a large job.
    ConfigMap,
    /// A group of a gang scheduler, created or corrected, by the kind of its object.
    Group(&'static str),
    /// Another object that its kind needs.
    Extra,
}

impl Created {
    /// The kind of the object.
    #[must_use]
    pub const fn object(self) -> &'static str {
        match self {
            Self::Pod => "Pod",
            Self::Service => "Service",
            Self::ConfigMap => "ConfigMap",
            Self::Group(kind) => kind,
            Self::Extra => "Object",
        }
    }

    /// The one whose object is of that kind.
    #[must_use]
    pub fn named(object: &str) -> Option<Self> {
        let groups = gang::apis().map(|api| Self::Group(api.kind));
        let mut all = [Self::Pod, Self::Service, Self::ConfigMap, Self::Extra]
            .into_iter()
            .chain(groups);
        all.find(|one| one.object() == object)
    }
}

fn doing(doing: &'static str) -> impl FnOnce(ApiError) -> ApplyError {
    move |refused| ApplyError {
        doing,
        kind: ApplyErrorKind::Other,
        refused,
    }
}

fn creating(what: Created) -> impl FnOnce(ApiError) -> ApplyError {
    let doing = match what {
        Created::Pod => "create a pod",
        Created::Service => "create what its tasks are found by",
        Created::ConfigMap => "create the map of its addresses",
        Created::Group(_) => "write a group of its gang scheduler",
        Created::Extra => "create an object that it needs",
    };
    move |refused| ApplyError {
        doing,
        kind: ApplyErrorKind::Creating(what),
        refused,
    }
}

/// Applies writes.
pub async fn apply(api: Arc<Api>, observer: Arc<dyn Observer>, writes: Writes) -> Report {
    let mut report = Report::of(writes.key.clone(), Arc::clone(&writes.uid));
    let begun = Instant::now();
    report.error = try_to(&api, &writes, &mut report).await.err();
    tell(&*observer, &writes, &report);
    observer.notice(&Notice::Applied {
        took: begun.elapsed(),
        refused: report.error.is_some(),
    });
    report
}

/// The class of the cause of the first failure that a status shows. A tenant may have written the status, so a word that is no
/// class is none.
fn class_of_failure(status: &Value) -> Option<&'static str> {
    let class = status.pointer("/firstFailure/cause/class")?;
    trainyard_causes::class(class.as_str()?)
}

/// Reports what an apply has changed, as far as it is stored.
fn tell(observer: &dyn Observer, writes: &Writes, report: &Report) {
    let job = &writes.key;
    let started = |phase| Notice::Started {
        phase,
        created: writes.created,
    };
    if writes.first {
        observer.notice(&started(Phase::Accepted));
    }
    let is_told = |change: &&Change| report.written.is_some() || change.topic == Topic::Warning;
    for change in writes.changes.iter().filter(is_told) {
        let Change {
            reason,
            message,
            milestone,
            ..
        } = change;
        match change.topic {
            Topic::Warning => observer.notice(&Notice::Warned { job, reason, message }),
            Topic::Wait => observer.notice(&Notice::Waits { job, reason, message }),
            // For the job's author, not for the log.
            Topic::Note => {}
            Topic::Condition => {
                if *milestone == Some(Milestone::Running) && writes.fresh {
                    observer.notice(&started(Phase::Running));
                }
                observer.notice(&Notice::Condition {
                    job,
                    reason,
                    message,
                    milestone: *milestone,
                    class: writes.status.as_ref().and_then(class_of_failure),
                });
            }
        }
    }
    let refused = report.board.as_ref().and_then(|board| board.refused.as_ref());
    if let Some(refused) = refused {
        let doing = "create or delete its TensorBoard";
        observer.notice(&Notice::Refused { job, doing, refused });
    }
    let refused = report
        .workload
        .as_ref()
        .and_then(|workload| workload.refused.as_ref());
    if let Some(refused) = refused {
        let doing = "write its Workload";
        observer.notice(&Notice::Refused { job, doing, refused });
    }
    if let Some(error) = &report.error {
        let ApplyError { doing, refused, .. } = error;
        observer.notice(&Notice::Refused { job, doing, refused });
    } else if writes.fresh && writes.creates_first_lives() {
        observer.notice(&started(Phase::Created));
    }
    if report.error.is_none() && writes.actions.contains(&Action::DeleteJob) {
        observer.notice(&Notice::Expired { job });
    }
}

impl Writes {
    /// One that does nothing.
    #[must_use]
    pub fn empty(key: &JobKey, uid: Arc<str>, now: Time) -> Self {
        Self {
            key: key.clone(),
            uid,
            version: 0,
            meaning: Arc::new(Meaning::NotOurs),
            status: None,
            resumed: false,
            paid: 0,
            actions: Vec::new(),
            missing: Vec::new(),
            services: Vec::new(),
            groups: Vec::new(),
            orders: BTreeMap::new(),
            extras: Vec::new(),
            listed_extras: Vec::new(),
            board: None,
            workload: None,
            placement: None,
            changes: Vec::new(),
            events: Vec::new(),
            created: Time::default(),
            fresh: false,
            first: false,
            now,
            reread: false,
        }
    }

    /// Whether these are the first pods of a job of which nothing is known.
    #[must_use]
    pub fn starts(&self) -> bool {
        self.first && self.creates_first_lives()
    }

    /// Whether first lives are created.
    fn creates_first_lives(&self) -> bool {
        let first =
            |action: &Action| matches!(action, Action::Create { stamp, .. } if *stamp == Stamp::default());
        self.actions.iter().any(first)
    }

    /// Leaves it at actions.
    pub fn keep_actions_only(&mut self) {
        self.status = None;
        self.changes.clear();
        self.events.clear();
    }
}

async fn try_to(api: &Api, writes: &Writes, report: &mut Report) -> Result<(), ApplyError> {
    let mut forgotten = false;
    if let Some(status) = &writes.status {
        let written = api
            .write_status(&writes.key, &writes.uid, writes.version, status)
            .await;
        let (made, stored) = written.map_err(doing("write its status"))?;
        let stored = stored.unwrap_or_default();
        forgotten = !is_kept(status, &stored);
        report.written = Some((made.version, stored));
    }
    let acted = match &*writes.meaning {
        _ if forgotten => Err(pruned(writes.key.kind.api)),
        _ if writes.reread => reread::read(api, writes)
            .await
            .map(|read| report.reread = Some(read)),
        Meaning::Job(compiled) => {
            if let Some(write) = &writes.board {
                report.board = Some(board::write(api, writes, compiled, write).await);
            }
            if let Some(write) = &writes.workload {
                report.workload = Some(workload::write(api, writes, compiled, write).await);
            }
            act(api, writes, compiled, report).await
        }
        Meaning::NotOurs | Meaning::Broken(_) | Meaning::Waits(_) => Ok(()),
    };
    for event in &writes.events {
        // What the status says is told whatever became of the rest: the next apply finds nothing changed. An event that is
        // lost is lost; one that is there already was told before a crash.
        let _ = api.event(&writes.key.namespace, event).await;
    }
    acted
}

/// Whether the API server has stored what the operator reads back. A status without memory says what its job waits for: where that is
/// dropped, the same write would be due again at once.
fn is_kept(status: &Value, stored: &Value) -> bool {
    let field = match status.get(MEMORY_FIELD) {
        Some(_) => MEMORY_FIELD,
        None => WAITING_FIELD,
    };
    status.get(field).is_none() || stored.get(field).is_some()
}

/// The API server drops the memory: going on would restart tasks for ever.
fn pruned(api: &JobApi) -> ApplyError {
    let definition = api.definition_name();
    // Trainyard's own keeps it, and so would replacing a vendor's take its jobs away from it.
    let first = if api.vendor.gives_way {
        String::new()
    } else {
        format!("if it is not {}, ", api.vendor.whose)
    };
    let message = format!(
        "the installed CRD {definition} drops `status.trainyard`: {first}install Trainyard's with `{}`; nothing is done about these jobs \
         until then",
        api.install_command()
    );
    ApplyError {
        doing: "keep its memory",
        kind: ApplyErrorKind::Pruned,
        refused: ApiError {
            code: 0,
            reason: "Pruned".into(),
            is_quota: false,
            message,
        },
    }
}

/// Actions in order; the first refusal ends it (W5). Neighbours of one kind go together.
async fn act(api: &Api, writes: &Writes, compiled: &Compiled, report: &mut Report) -> Result<(), ApplyError> {
    let mut creates: Vec<(&TaskId, Stamp)> = Vec::new();
    let mut stops: Vec<(&TaskId, &Arc<str>, bool)> = Vec::new();
    let mut ungates: Vec<(&TaskId, &Arc<str>)> = Vec::new();
    let (mut ungroup, mut expired) = (false, false);
    for action in &writes.actions {
        match action {
            Action::Ensure(Fixture::Addresses) => {
                addresses::ensure(api, writes, compiled, report).await?;
            }
            Action::Remove(Fixture::Addresses) => addresses::remove(api, writes, report).await?,
            Action::Stop {
                task,
                instance,
                force,
            } => stops.push((task, instance, *force)),
            Action::Create { task, stamp } => creates.push((task, *stamp)),
            Action::Ungate { task, instance } => ungates.push((task, instance)),
            Action::DeleteJob => expired = true,
            Action::Ensure(Fixture::Gang) => groups::write(api, writes, report).await?,
            Action::Remove(Fixture::Gang) => ungroup = true,
            Action::Answered(id) => orders::delete(api, writes, id, report).await?,
            Action::Ensure(Fixture::Extras) => extras::ensure(api, writes, compiled, report).await?,
            Action::Remove(Fixture::Extras) => extras::remove(api, writes, report).await?,
        }
    }
    stop(api, writes, compiled, &stops, report).await?;
    for creates in pods::in_order(compiled, creates) {
        pods::create(api, writes, compiled, &creates, report).await?;
    }
    gates::ungate(api, writes, compiled, &ungates, report).await?;
    if ungroup {
        groups::write(api, writes, report).await?;
    }
    if expired {
        let written = report.written.as_ref().map(|(version, _)| *version);
        let version = written.unwrap_or(writes.version);
        let deleted = api.delete_job(&writes.key, &writes.uid, version).await;
        unless_gone(deleted).map_err(doing("delete it, since its time is over"))?;
        report.deleted = true;
    }
    Ok(())
}

async fn stop(
    api: &Api,
    writes: &Writes,
    compiled: &Compiled,
    stops: &[(&TaskId, &Arc<str>, bool)],
    report: &mut Report,
) -> Result<(), ApplyError> {
    let one = |(task, uid, force): &(&TaskId, &Arc<str>, bool)| {
        let name = task_name(compiled.job(), task);
        let how = if *force { How::AtOnce } else { How::Gracefully };
        let (uid, force) = (Arc::clone(uid), *force);
        async move {
            let deleted = api.delete_pod(&writes.key.namespace, &name, &uid, how).await;
            unless_gone(deleted).map(|()| (uid, force))
        }
    };
    let mut first = Ok(());
    for stopped in join_all(stops.iter().map(one)).await {
        match stopped {
            Ok(stopped) => report.stopped.push(stopped),
            Err(refused) if first.is_ok() => first = Err(doing("stop a pod")(refused)),
            Err(_) => {}
        }
    }
    first
}

/// An object that is gone needs no delete. A conflict means another object of that name; by the retry the watches have shown it.
fn unless_gone(deleted: Result<(), ApiError>) -> Result<(), ApiError> {
    deleted.or_else(|refused| if refused.not_found() { Ok(()) } else { Err(refused) })
}

fn name_of(object: &Value) -> &str {
    object
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn owner(writes: &Writes) -> Owner {
    Owner {
        api: writes.key.kind.api,
        name: Arc::clone(&writes.key.name),
        uid: Arc::clone(&writes.uid),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_class_is_one_of_those_that_there_are_whatever_a_status_says() {
        let of = |class: Value| class_of_failure(&json!({ "firstFailure": { "cause": { "class": class } } }));
        assert_eq!(of(json!("module-missing")), Some("module-missing"));
        for class in [
            json!("mine-0001"),
            json!(""),
            json!(7),
            json!(null),
            json!(["killed"]),
        ] {
            assert_eq!(of(class.clone()), None, "{class}");
        }
        assert!(
            trainyard_causes::classes().count() < 50,
            "with `unknown` at most 50 values"
        );
    }

    #[test]
    fn a_status_is_kept_if_its_memory_is_or_else_what_it_waits_for() {
        let all = json!({ "trainyard": {}, "waiting": [{}], "conditions": [] });
        let waits = json!({ "waiting": [{}] });
        let rows = [
            (&all, json!({ "trainyard": {} }), true),
            (&all, json!({ "waiting": [{}] }), false),
            (&waits, json!({ "waiting": [{}] }), true),
            (&waits, json!({ "conditions": [] }), false),
            (&json!({ "conditions": [] }), json!({}), true),
        ];
        for (status, stored, kept) in rows {
            assert_eq!(is_kept(status, &stored), kept, "{status} {stored}");
        }
    }
}
