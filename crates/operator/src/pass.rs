//! A decision on its way to the API server: the status first, where there is one to write, then actions in order, then
//! events.
//!
//! Each pass is a task of its own. It decides nothing; what it has done, and the first thing that was refused, comes back
//! as a [`Report`].

pub mod addresses;
mod caught;
pub mod group;
mod pods;
pub mod reread;

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::join_all;
use serde_json::Value;
use trainyard_core::{Action, Fixture, Stamp, TaskId, Time, task_name};
use trainyard_manifest::observe::PodSeen;
use trainyard_manifest::task_pod::Owner;
use trainyard_status::MEMORY_FIELD;

pub use self::caught::carry_out_caught;
use self::reread::{Again, Reread};
use crate::api::{Api, How, Refused};
use crate::job::{API_VERSION, Compiled, JobKey, KIND, Meaning};
use crate::look::events::{Change, What};
use crate::tell::{Listener, Phase, Told};
use crate::watched::{GroupSeen, ServiceSeen};
use crate::yard::{Ensure, Needed};

/// Something to be done about one job.
#[derive(Debug)]
pub struct Pass {
    /// About which.
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
    /// What is to be done once the status, if there is one, is stored.
    pub actions: Vec<Action>,
    /// What its tasks find each other by and is not there.
    pub missing: Vec<Needed>,
    /// Its Services, where they are to be removed: name and UID.
    pub services: Vec<(Arc<str>, Arc<str>)>,
    /// What is to be done about its group, where that is not as it should be.
    pub ensure: Option<Ensure>,
    /// The UID of its group, where that is to be removed.
    pub ungroup: Option<Arc<str>>,
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
    pub reread: Option<Again>,
}

/// What a pass has done.
#[derive(Debug)]
pub struct Report {
    /// About which job.
    pub key: JobKey,
    /// Which job of that name.
    pub uid: Arc<str>,
    /// The version and the status that are stored now, if one was written.
    pub written: Option<(u64, Value)>,
    /// Pods that exist now.
    pub made: Vec<PodSeen>,
    /// UIDs of pods that have been told to stop, and whether by force.
    pub stopped: Vec<(Arc<str>, bool)>,
    /// Services that exist now.
    pub services: Vec<ServiceSeen>,
    /// Maps of addresses that exist now.
    pub maps: Vec<Arc<str>>,
    /// UIDs of Services that exist no longer.
    pub removed: Vec<Arc<str>>,
    /// Its group, if that was written.
    pub group: Option<GroupSeen>,
    /// The UID of its group, if that exists no longer.
    pub ungrouped: Option<Arc<str>>,
    /// The job has been told to go.
    pub deleted: bool,
    /// What was refused: the rest was left undone.
    pub trouble: Option<Trouble>,
    /// What was read again.
    pub reread: Option<Reread>,
    /// What a panic said that ended the pass; what it has done before that is not known.
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
            stopped: Vec::new(),
            services: Vec::new(),
            maps: Vec::new(),
            removed: Vec::new(),
            group: None,
            ungrouped: None,
            deleted: false,
            trouble: None,
            reread: None,
            panicked: None,
        }
    }
}

/// What went wrong, and with what.
#[derive(Debug)]
pub struct Trouble {
    /// What was being done.
    pub doing: &'static str,
    /// What sort of trouble.
    pub sort: Sort,
    /// What the API server said.
    pub refused: Refused,
}

/// Sorts of trouble, as far as they are told to users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// It was a pod or something that pods need; a job waits for those.
    Creating,
    /// The API server drops what we remember.
    Pruned,
    /// Anything else.
    Other,
}

fn doing(doing: &'static str) -> impl FnOnce(Refused) -> Trouble {
    move |refused| Trouble {
        doing,
        sort: Sort::Other,
        refused,
    }
}

fn creating(doing: &'static str) -> impl FnOnce(Refused) -> Trouble {
    move |refused| Trouble {
        doing,
        sort: Sort::Creating,
        refused,
    }
}

/// Carries a pass out.
pub async fn carry_out(api: Arc<Api>, listener: Arc<dyn Listener>, pass: Pass) -> Report {
    let mut report = Report::of(pass.key.clone(), Arc::clone(&pass.uid));
    let begun = Instant::now();
    report.trouble = try_to(&api, &pass, &mut report).await.err();
    tell(&*listener, &pass, &report);
    listener.told(&Told::Passed {
        took: begun.elapsed(),
        refused: report.trouble.is_some(),
    });
    report
}

/// Tells what a pass has changed, as far as it is stored.
fn tell(listener: &dyn Listener, pass: &Pass, report: &Report) {
    let job = &pass.key;
    let started = |phase| Told::Started {
        phase,
        created: pass.created,
    };
    if pass.first {
        listener.told(&started(Phase::Accepted));
    }
    let is_told = |change: &&Change| report.written.is_some() || change.what == What::Warning;
    for change in pass.changes.iter().filter(is_told) {
        let Change { reason, message, .. } = change;
        match &change.what {
            What::Warning => listener.told(&Told::Warned { job, reason, message }),
            What::Wait => listener.told(&Told::Waits { job, reason, message }),
            // For the job's author, not for the log.
            What::Note => {}
            What::Condition(kind) => {
                if kind == "Running" && pass.fresh {
                    listener.told(&started(Phase::Running));
                }
                listener.told(&Told::Condition {
                    job,
                    kind: reason,
                    message,
                });
            }
        }
    }
    if let Some(trouble) = &report.trouble {
        let Trouble { doing, refused, .. } = trouble;
        listener.told(&Told::Refused { job, doing, refused });
    } else if pass.fresh && pass.creates_first_lives() {
        listener.told(&started(Phase::Created));
    }
    if report.trouble.is_none() && pass.actions.contains(&Action::DeleteJob) {
        listener.told(&Told::Expired { job });
    }
}

impl Pass {
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
            actions: Vec::new(),
            missing: Vec::new(),
            services: Vec::new(),
            ensure: None,
            ungroup: None,
            changes: Vec::new(),
            events: Vec::new(),
            created: Time::default(),
            fresh: false,
            first: false,
            now,
            reread: None,
        }
    }

    /// Whether these are the first pods of a job of which nothing is known.
    #[must_use]
    pub fn starts(&self) -> bool {
        self.first && self.creates_first_lives()
    }

    /// Whether pods are made that nobody remembers having been there before.
    fn creates_first_lives(&self) -> bool {
        let first =
            |action: &Action| matches!(action, Action::Create { stamp, .. } if *stamp == Stamp::default());
        self.actions.iter().any(first)
    }

    /// Leaves it at actions.
    pub fn say_nothing(&mut self) {
        self.status = None;
        self.changes.clear();
        self.events.clear();
    }
}

async fn try_to(api: &Api, pass: &Pass, report: &mut Report) -> Result<(), Trouble> {
    let mut forgotten = false;
    if let Some(status) = &pass.status {
        let written = api.write_status(&pass.key, &pass.uid, pass.version, status).await;
        let (made, stored) = written.map_err(doing("write its status"))?;
        let stored = stored.unwrap_or_default();
        let kept = status.get(MEMORY_FIELD).is_none() || stored.get(MEMORY_FIELD).is_some();
        report.written = Some((made.version, stored));
        forgotten = !kept;
    }
    let acted = match &*pass.meaning {
        _ if forgotten => Err(pruned()),
        _ if let Some(again) = &pass.reread => reread::read(api, pass, again)
            .await
            .map(|read| report.reread = Some(read)),
        Meaning::Job(compiled) => act(api, pass, compiled, report).await,
        Meaning::NotOurs | Meaning::Broken(_) => Ok(()),
    };
    for event in &pass.events {
        // What the status says is told whatever became of the rest: the next pass finds nothing changed. An event that is
        // lost is lost; one that is there already was told before a crash.
        let _ = api.event(&pass.key.namespace, event).await;
    }
    acted
}

/// The server keeps no memory for us: whoever goes on now restarts for ever.
fn pruned() -> Trouble {
    let message = "the installed CRD drops `status.trainyard`: install Trainyard's with `trainyard crd | kubectl apply \
                   --server-side --force-conflicts -f -`; nothing is done about TFJobs until then";
    Trouble {
        doing: "keep its memory",
        sort: Sort::Pruned,
        refused: Refused {
            code: 0,
            reason: "Pruned".into(),
            message: message.into(),
        },
    }
}

/// Actions in order; the first refusal ends it (W5). Neighbours of one kind go together.
async fn act(api: &Api, pass: &Pass, compiled: &Compiled, report: &mut Report) -> Result<(), Trouble> {
    let mut creates: Vec<(&TaskId, Stamp)> = Vec::new();
    let mut stops: Vec<(&TaskId, &Arc<str>, bool)> = Vec::new();
    let (mut ungroup, mut expired) = (false, false);
    for action in &pass.actions {
        match action {
            Action::Ensure(Fixture::Addresses) => {
                addresses::ensure(api, pass, compiled, report).await?;
            }
            Action::Remove(Fixture::Addresses) => addresses::remove(api, pass, report).await?,
            Action::Stop {
                task,
                instance,
                force,
            } => stops.push((task, instance, *force)),
            Action::Create { task, stamp } => creates.push((task, *stamp)),
            Action::DeleteJob => expired = true,
            Action::Ensure(Fixture::Gang) => group::ensure(api, pass, compiled, report).await?,
            Action::Remove(Fixture::Gang) => ungroup = true,
            // Nobody gives orders here, and TFJobs have no extra objects.
            Action::Answered(_) | Action::Ensure(Fixture::Extras) | Action::Remove(Fixture::Extras) => {}
        }
    }
    stop(api, pass, compiled, &stops, report).await?;
    pods::create(api, pass, compiled, &creates, report).await?;
    if ungroup {
        group::remove(api, pass, compiled, report).await?;
    }
    if expired {
        let written = report.written.as_ref().map(|(version, _)| *version);
        let version = written.unwrap_or(pass.version);
        let deleted = api.delete_job(&pass.key, &pass.uid, version).await;
        unless_gone(deleted).map_err(doing("delete it, since its time is over"))?;
        report.deleted = true;
    }
    Ok(())
}

async fn stop(
    api: &Api,
    pass: &Pass,
    compiled: &Compiled,
    stops: &[(&TaskId, &Arc<str>, bool)],
    report: &mut Report,
) -> Result<(), Trouble> {
    let one = |(task, uid, force): &(&TaskId, &Arc<str>, bool)| {
        let name = task_name(compiled.job(), task);
        let how = if *force { How::AtOnce } else { How::Gracefully };
        let (uid, force) = (Arc::clone(uid), *force);
        async move {
            let deleted = api.delete_pod(&pass.key.namespace, &name, &uid, how).await;
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

/// Gone already: then there is nothing to delete. A conflict means another object of that name: whoever asks again knows by
/// then what the watches have shown.
fn unless_gone(deleted: Result<(), Refused>) -> Result<(), Refused> {
    deleted.or_else(|refused| if refused.not_found() { Ok(()) } else { Err(refused) })
}

fn name_of(object: &Value) -> &str {
    object
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn owner(pass: &Pass) -> Owner {
    Owner {
        api_version: API_VERSION,
        kind: KIND,
        name: Arc::clone(&pass.key.name),
        uid: Arc::clone(&pass.uid),
    }
}
