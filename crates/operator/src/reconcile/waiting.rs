//! What a job waits for, as its pods, its group, the last refusal and its last edit say: in the cluster's own words, one entry a
//! reason.

use std::collections::BTreeMap;

use trainyard_core::{Count, Exit, Job, Outcome, Placement, Role, Rule, Seen, TaskSeen, Then, Time, When};
use trainyard_manifest::observe::{PodSeen, Waits};

use super::lost_nodes::LostNodes;
use super::wait::{Reason, Wait};
use super::{gang, gates};
use crate::apply::{ApplyErrorKind, Created};
use crate::job::{JobSeen, Meaning};
use crate::store::{Entry, LastError};

/// Where it stands in the status.
pub const WAITING_FIELD: &str = "waiting";
/// A pod that has been there for less than this many seconds may still be on its way.
pub(super) const SETTLES: u32 = 5;
/// And so it may for so long while its node prepares it, or no scheduler has come to it.
const SLOW: u32 = 60;
/// So long a node may take to mount Secrets and ConfigMaps: those that exist are there at once.
const MOUNTS: u32 = 10;
/// A container that has failed in place again and again is taken for stable when it has run for so long.
const STABLE: u32 = 60;
/// The kubelet's word for a container that it restarts again and again.
const CRASH_LOOP: &str = "CrashLoopBackOff";
/// Words between which a kubelet changes to and fro, and the one that is told: one cause, one event.
const ALTERNATES: &[(&str, &str)] = &[
    ("ErrImagePull", "ImagePullBackOff"),
    ("RunContainerError", CRASH_LOOP),
    ("CreateContainerError", CRASH_LOOP),
];
/// A refusal is told after so many in a row: one may be a hiccup of the API server, or a pod of that name that is being deleted. A quota
/// is told at once.
pub(super) const LASTS: u32 = 3;
/// More reasons than these are one too many to read.
const MOST: usize = 4;
/// Longer words are cut.
const LONGEST: usize = 500;

/// What is waited for.
#[derive(Debug, Default, PartialEq)]
pub struct Waiting {
    /// As it stands in the status; empty where nothing is waited for.
    pub entries: Vec<Wait>,
    /// When a pod that is new now will have had its time.
    pub settles: Option<Time>,
}

/// What a job that has not ended waits for; `wants` if something is to be made for it.
#[must_use]
pub fn waiting(entry: &Entry, job: &JobSeen, wants: bool, now: Time) -> Waiting {
    let mut waiting = Waiting {
        entries: refused(entry, job, wants),
        settles: None,
    };
    waiting.entries.extend(mistaken(job));
    let compiled = match &*job.meaning {
        Meaning::Job(compiled) => Some(compiled),
        Meaning::NotOurs | Meaning::Broken(_) | Meaning::Waits { .. } => None,
    };
    let meant = compiled.map(|compiled| compiled.job());
    if let Some(compiled) = compiled {
        waiting.entries.extend(no_replicas(compiled.job()));
        if compiled.job().size() > 0 {
            gang::waits(entry, job, &compiled.subject, now, &mut waiting);
            gates::waits(entry, job, compiled.job(), now, &mut waiting);
        }
    }
    let mut silent = LostNodes::default();
    let mut reasons: BTreeMap<(bool, String), (usize, &PodSeen, &Waits)> = BTreeMap::new();
    let ours = entry.pods.values().map(|held| &held.pod);
    let ours = ours.filter(|pod| pod.owner.as_ref() == Some(&job.uid));
    waiting.entries.extend(unreadable(ours.clone()));
    for (pod, task, waits) in ours.filter_map(|pod| Some((pod, pod.task.as_ref()?, pod.waits.as_ref()?))) {
        if !counts(task, waits) {
            continue;
        }
        let settled = settles(task, waits);
        let turns = if settled > now {
            Some(settled)
        } else {
            passes(waits)
        };
        if let Some(turns) = turns.filter(|turns| *turns > now) {
            // Then the words change though no watch shows anything.
            waiting.settles = Some(waiting.settles.map_or(turns, |known| known.min(turns)));
        }
        if settled > now || passes(waits).is_some_and(|over| over <= now) {
            continue;
        }
        if let Waits::Silent { node, .. } = waits {
            silent.add(node, &pod.name);
            continue;
        }
        let reason = reason(task, waits);
        // What may be ordinary is told after what is not.
        let order = (reason.is_ordinary(), reason.to_string());
        reasons.entry(order).or_insert((0, pod, waits)).0 += 1;
    }
    let patience = meant.and_then(|meant| meant.limits.lost_node);
    waiting.entries.extend(silent.told(&job.key.namespace, patience));
    let told = reasons.into_iter().take(MOST);
    let told = told.map(|((_, reason), (pods, pod, waits))| Wait {
        pods: Some(pods),
        ..of_pod(pod, waits, reason.into())
    });
    waiting.entries.extend(told);
    waiting
}

/// What one pod waits for.
fn of_pod(pod: &PodSeen, waits: &Waits, reason: Reason) -> Wait {
    let container = match waits {
        Waits::Said { container, .. } => container.as_deref(),
        Waits::Recovering { container, .. } => Some(&**container),
        _ => None,
    };
    let last = pod.task.as_ref().and_then(|task| task.last.as_ref());
    let last = last.filter(|_| reason.to_string() == CRASH_LOOP);
    let cause = last.and_then(|exit| exit.cause.as_ref());
    let message = match last {
        Some(exit) => loops(pod, exit),
        None => words(pod, waits),
    };
    let help = cause.and_then(|cause| cause.help.as_deref()).map(str::to_owned);
    let log = last.map(|_| previous_log(pod, container));
    Wait {
        pod: Some(pod.name.to_string()),
        container: container.map(str::to_owned),
        help: help
            .into_iter()
            .chain(log)
            .reduce(|help, log| format!("{help}; {log}")),
        code: cause.and_then(|cause| cause.code.as_deref()).map(str::to_owned),
        ..Wait::new(reason, cut(&message))
    }
}

/// The words about a container that fails again and again, each time in place.
fn loops(pod: &PodSeen, exit: &Exit) -> String {
    let restarts = pod.task.as_ref().map_or(0, |task| task.in_place);
    let meaning = exit.meaning();
    format!("it fails again and again (restarts in place: {restarts}): {meaning}")
}

/// The command that shows what a container printed before it was restarted in place.
fn previous_log(pod: &PodSeen, container: Option<&str>) -> String {
    let (name, namespace) = (&pod.name, &pod.namespace);
    let container = container.map_or_else(String::new, |name| format!(" -c {name}"));
    format!("`kubectl logs {name}{container} -n {namespace} --previous` shows what it printed")
}

/// What is wrong with the last edit.
fn mistaken(job: &JobSeen) -> Option<Wait> {
    let words = job.mistake.as_ref()?;
    let message = format!("the last edit cannot be read and the job goes on as it was: {words}");
    let reason = Reason::Other(job.key.kind.invalid_edit.into());
    Some(Wait::new(reason, cut(&message)))
}

/// Pods of the job that cannot be read: they are in the way of its tasks.
fn unreadable<'a>(ours: impl Iterator<Item = &'a PodSeen>) -> Option<Wait> {
    let mut unread = ours.filter(|pod| pod.unreadable().is_some()).peekable();
    let first = *unread.peek()?;
    let message = format!("it cannot be read: {}", first.unreadable().unwrap_or_default());
    Some(Wait {
        pods: Some(unread.count()),
        pod: Some(first.name.to_string()),
        ..Wait::new(Reason::UnreadablePod, cut(&message))
    })
}

/// When a pod has had its time.
fn settles(task: &TaskSeen, waits: &Waits) -> Time {
    match waits {
        Waits::Said { .. } => task.created + SETTLES,
        Waits::Preparing { since, needs, .. } => {
            let immediate = needs.as_ref().is_some_and(|needs| needs.immediate);
            since.unwrap_or(task.created) + if immediate { MOUNTS } else { SLOW }
        }
        Waits::Unplaced { .. } => task.created + SLOW,
        Waits::Recovering { .. } => task.created,
        Waits::Silent { since, .. } => *since,
    }
}

/// When it is not told any more though nothing else happens.
fn passes(waits: &Waits) -> Option<Time> {
    match waits {
        Waits::Recovering { since, .. } => Some(*since + STABLE),
        _ => None,
    }
}

fn reason(task: &TaskSeen, waits: &Waits) -> Reason {
    match waits {
        Waits::Said { reason, .. } => {
            let mut alternates = ALTERNATES.iter().filter(|(word, _)| **word == **reason);
            let told = alternates.find(|(_, told)| *told != CRASH_LOOP || task.in_place > 0);
            told.map_or(&**reason, |(_, told)| told).to_owned().into()
        }
        Waits::Recovering { .. } => CRASH_LOOP.to_owned().into(),
        Waits::Preparing { needs: Some(_), .. } => Reason::VolumesNotReady,
        Waits::Preparing { .. } => Reason::ContainerCreating,
        Waits::Unplaced { .. } => Reason::NotScheduled,
        Waits::Silent { .. } => Reason::NodeLost,
    }
}

/// In the cluster's own words, where it has any.
fn words(pod: &PodSeen, waits: &Waits) -> String {
    match waits {
        Waits::Said { message, .. } => message.to_string(),
        Waits::Preparing {
            needs: Some(needs), ..
        } => format!("its node waits for its volumes, which need {}", needs.words),
        Waits::Preparing { has_sandbox, .. } => {
            let name = &pod.name;
            let what = if *has_sandbox {
                "its node has been pulling its images for"
            } else {
                "its node has been setting up its volumes and network for"
            };
            format!("{what} {SLOW} s: `kubectl describe pod {name}` says how far it is")
        }
        // Told by the end of its last life.
        Waits::Recovering { .. } => String::new(),
        Waits::Unplaced { scheduler } => format!(
            "the scheduler `{scheduler}` has said nothing about it for {SLOW} s: it may not run, or wait for the rest of a group"
        ),
        Waits::Silent { node, .. } => format!("node `{node}` does not answer"),
    }
}

/// What was refused last, as long as it is wanted. An operator that has just started knows of no refusal, or of too few: what its
/// status says of one stands until what was refused is made.
fn refused(entry: &Entry, job: &JobSeen, wants: bool) -> Vec<Wait> {
    let creating = |error: &LastError| match error.kind {
        ApplyErrorKind::Creating(what) => Some(what),
        ApplyErrorKind::Pruned | ApplyErrorKind::Other => None,
    };
    let error = entry.last_error.as_ref();
    let error = error.and_then(|error| Some((error, creating(error)?)));
    // A group that is corrected is no part of what the job itself wants.
    let error = error.filter(|(_, what)| wants || matches!(what, Created::Group(_)));
    if let Some((error, what)) = error.filter(|(error, _)| error.is_quota || entry.failures >= LASTS) {
        let reason = if error.is_quota {
            Reason::ExceededQuota
        } else {
            Reason::FailedCreate(what)
        };
        return vec![Wait::new(reason, cut(&error.message))];
    }
    let stands = wants || error.is_some();
    let mut said = Wait::of_status(job.status.as_ref());
    said.retain(|wait| stands && wait.reason.is_refusal());
    said
}

/// It waits for its author to give it a replica: there is none at all, or none whose success would be the job's.
fn no_replicas(job: &Job) -> Option<Wait> {
    let message = if job.size() == 0 {
        "every role has `replicas: 0`: nothing runs before one of them is raised".to_owned()
    } else if can_be_completed(job) {
        return None;
    } else {
        let empty = job.roles.iter().filter(|role| role.replicas == 0);
        let empty: Vec<String> = empty.map(|role| format!("`{}`", role.name)).collect();
        format!(
            "no replica that could complete the job: {} with `replicas: 0`; the others run until one is raised",
            empty.join(", ")
        )
    };
    Some(Wait::new(Reason::NoReplicas, message))
}

/// Whether the job has every task whose success would complete it.
fn can_be_completed(job: &Job) -> bool {
    let has = |count: &Count| {
        let (wanted, index) = (count.who.role.as_ref(), count.who.index.unwrap_or(0));
        let is = |role: &Role| wanted.is_none_or(|name| *name == role.name) && index < role.replicas;
        job.roles.iter().any(is)
    };
    let completes = |rule: &Rule| match (&rule.when, &rule.then) {
        (When::Count(counts), Then::Finish(Outcome::Succeeded)) => counts.iter().all(has),
        _ => false,
    };
    job.rules.iter().any(completes)
}

/// A pod that goes or has ended waits for nothing but its node; and one that its node has rejected says why until the next.
fn counts(task: &TaskSeen, waits: &Waits) -> bool {
    match (waits, &task.state) {
        (Waits::Silent { .. }, _) => task.alive(),
        (_, Seen::Ended(exit)) => exit.is_rejection(),
        // What its gang waits for is told of the job.
        _ if task.placement == Placement::Gated => false,
        _ => task.stopping.is_none() && matches!(task.state, Seen::Waiting | Seen::Running { .. }),
    }
}

pub(super) fn cut(words: &str) -> String {
    words.chars().take(LONGEST).collect()
}
