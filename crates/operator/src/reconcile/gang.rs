//! The groups of a job in one reconcile: what `step` sees of them, and what is written.

use trainyard_core::gates::is_gated;
use trainyard_core::{Action, Fixture, FixtureSeen, Gang, Memory, Observed, Seen, Subject, TaskSeen, Time};
use trainyard_manifest::gang::{self, Ended, GroupState, GroupWanted, groups};
use trainyard_manifest::observe::{PodSeen, Waits};

use super::wait::{Reason, Wait};
use super::waiting::{SETTLES, Waiting, cut};
use crate::job::{Compiled, JobSeen};
use crate::store::{Entry, GroupWrite};
use crate::watched::GroupSeen;

/// After the name of a group that a user or another controller made.
const NOT_OURS: &str = ", which was not made for this job and is left as it is,";

/// The groups that a job should have, and what has to be written for that.
#[derive(Debug)]
pub struct Grouping {
    wanted: Vec<GroupWanted>,
    corrections: Vec<GroupWrite>,
}

impl Grouping {
    /// Compares the groups that exist with those that the job should have.
    pub fn of(
        entry: &mut Entry,
        (job, compiled): (&JobSeen, &Compiled),
        memory: Option<&Memory>,
        tasks: &[TaskSeen],
    ) -> Self {
        let ended = Ended::of(compiled.job(), memory, tasks);
        let wanted = groups(&compiled.subject, Some(ended));
        Self {
            corrections: if wanted.is_empty() {
                Vec::new()
            } else {
                entry.groups.corrections(&wanted, &job.uid)
            },
            wanted,
        }
    }

    /// Adds them to what `step` sees. A gang without groups, or with those of users alone, is never written.
    pub fn observe(&self, entry: &Entry, (job, compiled): (&JobSeen, &Compiled), observed: &mut Observed) {
        let right = self.corrections.is_empty();
        let needed = compiled.job().gang.is_some();
        if needed {
            observed.gang = if is_gated(compiled.job()) {
                entry.gating.told
            } else {
                entry.groups.seen(&self.wanted, &job.uid, &observed.tasks)
            };
        }
        let seen = if entry.groups.deletions(&job.uid).is_empty() {
            (needed && right).then_some(FixtureSeen::Foreign)
        } else {
            Some(FixtureSeen::Ours { right })
        };
        observed.fixtures.extend(seen.map(|seen| (Fixture::Gang, seen)));
    }

    /// What these actions write to groups.
    pub fn writes(self, entry: &mut Entry, job: &JobSeen, actions: &[Action]) -> Vec<GroupWrite> {
        if actions.contains(&Action::Ensure(Fixture::Gang)) {
            entry.groups.sent(&self.corrections);
            self.corrections
        } else if actions.contains(&Action::Remove(Fixture::Gang)) {
            entry.groups.deletions(&job.uid)
        } else {
            Vec::new()
        }
    }
}

/// Adds what a job waits for because of its groups: one that can never be placed, or that has not been let in.
pub fn waits(entry: &Entry, job: &JobSeen, subject: &Subject, now: Time, waiting: &mut Waiting) {
    let Some(gang) = &subject.job.gang else { return };
    let wanted = groups(subject, None);
    let mut add = |group: &GroupWanted, words: &str, help: Option<String>| {
        let message = cut(&format!("{} {}{words}", group.api.kind, group.name()));
        let reason = Reason::Other(format!("{}Pending", group.api.kind));
        waiting.entries.push(Wait {
            help,
            ..Wait::new(reason, message)
        });
    };
    let tasks = subject.job.size();
    if let Some(first) = wanted.first().filter(|_| u64::from(gang.members) > tasks) {
        let members = gang.members;
        let words = format!(" needs {members} members and the job has {tasks} tasks");
        let help = "lower `schedulingPolicy.minAvailable`, or raise `replicas`".to_owned();
        return add(first, &words, Some(help));
    }
    if let Some((wanted, words)) = wanted.iter().find_map(|wanted| ignored(entry, job, wanted, now)) {
        let message = cut(&format!("{} {}{words}", wanted.api.kind, wanted.name()));
        waiting.entries.push(Wait::new(Reason::GangIgnored, message));
        return;
    }
    if let Some((wanted, words)) = wanted
        .iter()
        .find_map(|wanted| incomplete(entry, job, wanted, now))
    {
        return add(wanted, &words, None);
    }
    let held = wanted.iter().find_map(|wanted| {
        let group = entry.groups.joined(wanted, &job.uid)?;
        Some((wanted, group, why_held(entry, job, gang, group)?))
    });
    let Some((wanted, group, words)) = held else {
        in_queue(entry, job, gang, now, waiting);
        return;
    };
    let settled = group.created + SETTLES;
    if settled > now {
        waiting.settles = Some(settled);
        return;
    }
    let whose = if group.was_made_for(&job.uid) {
        ""
    } else {
        NOT_OURS
    };
    let help = entry.groups.queue.as_ref().map(|queue| queue.help.clone());
    add(wanted, &format!("{whose} waits: {words}"), help);
}

/// Why a group is not placed: its queue, then the scheduler's words. None where it is, or its pods say why.
fn why_held(entry: &Entry, job: &JobSeen, gang: &Gang, group: &GroupSeen) -> Option<String> {
    let said = match &group.state {
        GroupState::Waiting(words) => words.as_deref(),
        GroupState::Placing(words) if lacks_nodes(entry, job) => Some(&**words),
        _ => return None,
    };
    // Where pods are created at once they wait as well, and may say why.
    let held = gang.hold && matches!(group.state, GroupState::Waiting(_));
    let why = entry.groups.queue.as_ref().map(|queue| queue.why.clone());
    match (why.or_else(|| held.then(|| not_let_in(group)).flatten()), said) {
        (Some(why), Some(said)) => Some(format!("{why}; the scheduler says: {said}")),
        (Some(why), None) => Some(why),
        (None, Some(said)) => Some(said.to_owned()),
        (None, None) => held.then(|| "the scheduler has not let it in".to_owned()),
    }
}

/// What is waited for before a group is let in. Volcano itself says that none of its members is there, which comes of it.
fn not_let_in(group: &GroupSeen) -> Option<String> {
    let needs = gang::needs(&group.spec)?;
    Some(format!(
        "it is let in, and its pods are created, when the cluster, its queue and quotas have room for what it needs ({needs})"
    ))
}

/// Tells of the queue of a group that the templates name, while the scheduler has not placed a member.
fn in_queue(entry: &Entry, job: &JobSeen, gang: &Gang, now: Time, waiting: &mut Waiting) {
    let (Some(name), Some(queue)) = (&gang.existing, &entry.groups.queue) else {
        return;
    };
    let settled = members(entry, job).map(|(_, task)| task.created + SETTLES).min();
    let kind = gang::scheduler(&gang.scheduler).and_then(|module| module.apis.first());
    let (Some(settled), Some(api)) = (settled.filter(|_| lacks_nodes(entry, job)), kind) else {
        return;
    };
    if settled > now {
        waiting.settles = Some(settled);
        return;
    }
    let message = cut(&format!("{} {name}{NOT_OURS} waits: {}", api.kind, queue.why));
    let reason = Reason::Other(format!("{}Pending", api.kind));
    waiting.entries.push(Wait {
        help: Some(queue.help.clone()),
        ..Wait::new(reason, message)
    });
}

/// The pods of a job that are tasks of it and have not ended.
fn members<'a>(entry: &'a Entry, job: &'a JobSeen) -> impl Iterator<Item = (&'a PodSeen, &'a TaskSeen)> {
    let pods = entry.pods.values().map(|held| &held.pod);
    let ours = pods.filter(|pod| pod.owner.as_ref() == Some(&job.uid));
    let tasks = ours.filter_map(|pod| Some((pod, pod.task.as_ref()?)));
    tasks.filter(|(_, task)| matches!(task.state, Seen::Waiting | Seen::Running { .. }))
}

/// Whether a scheduler still has to place a member.
fn lacks_nodes(entry: &Entry, job: &JobSeen) -> bool {
    let unplaced = |pod: &PodSeen| match &pod.waits {
        Some(Waits::Said { container, .. }) => container.is_none(),
        Some(Waits::Unplaced { .. }) => true,
        _ => false,
    };
    members(entry, job).any(|(pod, _)| unplaced(pod))
}

/// Says that a scheduler places members of a group one by one, without a word about the group.
fn ignored<'a>(
    entry: &Entry,
    job: &JobSeen,
    wanted: &'a GroupWanted,
    now: Time,
) -> Option<(&'a GroupWanted, String)> {
    let group = entry.groups.joined(wanted, &job.uid)?;
    let is_placed = |(pod, task): (&PodSeen, &TaskSeen)| {
        let prepared = matches!(pod.waits, Some(Waits::Preparing { .. }));
        task.created + SETTLES <= now && (prepared || matches!(task.state, Seen::Running { .. }))
    };
    let silent = group.state == GroupState::Silent && group.created + SETTLES <= now;
    (silent && members(entry, job).any(is_placed)).then(|| {
        let help = group.api.help;
        let words = format!(" has no status though members of it are on nodes, so the scheduler ignores it and places pods one by one: {help}");
        (wanted, words)
    })
}

/// Says that members of a group are missing, where the scheduler holds the others without a word.
fn incomplete<'a>(
    entry: &Entry,
    job: &JobSeen,
    wanted: &'a GroupWanted,
    now: Time,
) -> Option<(&'a GroupWanted, String)> {
    let group = entry.groups.joined(wanted, &job.uid)?;
    let needed = gang::members(&group.spec)?;
    let exist = members(entry, job).count();
    let is_held = |(pod, task): (&PodSeen, &TaskSeen)| {
        matches!(pod.waits, Some(Waits::Unplaced { .. })) && task.created + SETTLES <= now
    };
    let short = (exist as u64) < needed && members(entry, job).any(is_held);
    let words = || {
        format!(
            " waits: {exist} of the {needed} members that it needs exist, and the scheduler places none before"
        )
    };
    short.then(|| (wanted, words()))
}
