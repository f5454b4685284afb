//! What a job waits for whose gang is held by scheduling gates: its turn, room, or members of its own.

use trainyard_core::gates::{Fit, MOST_PATIENCE, is_gated, patience};
use trainyard_core::{GangSeen, Job, Memory, Time};
use trainyard_document::quantity::Quantity;
use trainyard_status::rfc3339;

use super::wait::{Reason, Wait};
use super::waiting::{SETTLES, Waiting, cut};
use crate::job::JobSeen;
use crate::store::{Advice, Entry, Gating, Lack};

/// Adds what such a job waits for.
pub fn waits(entry: &Entry, job: &JobSeen, meant: &Job, now: Time, waiting: &mut Waiting) {
    let Some(gang) = meant.gang.as_ref().filter(|_| is_gated(meant)) else {
        return;
    };
    let tasks = meant.size();
    let mut add = |words: String| waiting.entries.push(Wait::new(Reason::GangQueued, cut(&words)));
    if u64::from(gang.members) > tasks {
        let members = gang.members;
        return add(format!(
            "the gang needs {members} members and the job has {tasks} tasks: lower `schedulingPolicy.minAvailable`"
        ));
    }
    let gating = &entry.gating;
    let memory = job.memory(meant).ok().flatten();
    let held = (gating.told == GangSeen::Held)
        .then(|| held(job, gating))
        .flatten();
    let Some(words) = held else {
        return memory
            .and_then(|memory| backing_off(meant, &memory, now))
            .into_iter()
            .for_each(add);
    };
    let settled = gating.since + SETTLES;
    if settled > now {
        waiting.settles = waiting.settles.min(Some(settled)).or(Some(settled));
        return;
    }
    let rolled_back = memory.and_then(|memory| rolled_back(meant, &memory));
    add(format!("{words}{}", rolled_back.unwrap_or_default()));
}

/// Why a gang is held: others come first, or it would not fit.
fn held(job: &JobSeen, gating: &Gating) -> Option<String> {
    let since = rfc3339(gating.since);
    let turn = turn(job, gating).map(|turn| format!("{turn} since {since}"));
    let fit = gating.advice.as_ref().and_then(fit);
    match (turn, fit) {
        (Some(turn), Some(fit)) => Some(format!("{turn}; {fit}")),
        (None, Some(fit)) => Some(format!("waits for room since {since}: {fit}")),
        (turn, None) => turn,
    }
}

/// How many members fit, and what would help; none where all do, as far as is known.
fn fit(advice: &Advice) -> Option<String> {
    let Advice {
        fit,
        needed,
        now,
        empty,
        nodes,
        lack,
    } = advice;
    let on = match nodes {
        1 => "the one node that matches".to_owned(),
        nodes => format!("the {nodes} nodes that match"),
    };
    match (fit, lack) {
        (Fit::Now, _) => None,
        (Fit::Later, _) => Some(format!(
            "{now} of {needed} members fit on {on} beside jobs that run there"
        )),
        (Fit::Never, None) => Some(format!(
            "{empty} of {needed} members would fit on {on} if no pod ran there"
        )),
        (Fit::Never, Some(Lack::Nodes { more, resource, each })) => {
            let nodes = if *more == 1 { "node" } else { "nodes" };
            Some(format!(
                "{empty} of {needed} members would fit on {on} if no pod ran there: it needs {more} more {nodes} with {resource}: {}",
                Quantity::from_milli(*each)
            ))
        }
        (Fit::Never, Some(lack)) => Some(no_node(lack)),
    }
}

/// Why no node takes a single task.
fn no_node(lack: &Lack) -> String {
    let are = |nodes: usize| {
        if nodes == 1 {
            "one node".into()
        } else {
            format!("{nodes} nodes")
        }
    };
    match lack {
        Lack::Labels(selector) if selector.is_empty() => "the cluster has no nodes".into(),
        Lack::Labels(selector) => format!(
            "no node has the labels of its `nodeSelector`, {selector}: label nodes so, or change the selector"
        ),
        Lack::Tolerations { nodes, taint } => format!(
            "the labels of its `nodeSelector` match {}, with a taint that its pods do not tolerate: add a toleration for {taint}",
            are(*nodes)
        ),
        Lack::Closed(nodes) => format!(
            "its `nodeSelector` matches {}, none ready and open for pods",
            are(*nodes)
        ),
        Lack::TooLarge {
            resource,
            asked,
            most,
        } => format!(
            "a task asks for {resource}: {}, and no node that matches has more than {}: add a larger node, or ask for less",
            Quantity::from_milli(*asked),
            Quantity::from_milli(*most)
        ),
        Lack::Nodes { more, .. } => format!(
            "it needs {} more",
            are(usize::try_from(*more).unwrap_or(usize::MAX))
        ),
    }
}

/// The gangs that it waits for. Jobs of other namespaces are not named.
fn turn(job: &JobSeen, gating: &Gating) -> Option<String> {
    let (first, count) = gating.ahead.as_ref()?;
    let first = if first.namespace == job.key.namespace {
        format!("{} {}", first.kind.api.kind, first.name)
    } else {
        "a job of another namespace".to_owned()
    };
    let others = match count - 1 {
        0 => String::new(),
        1 => " and one other gang".to_owned(),
        more => format!(" and {more} other gangs"),
    };
    Some(format!("waits for its turn behind {first}{others}"))
}

/// What became of its turns so far.
fn rolled_back(meant: &Job, memory: &Memory) -> Option<String> {
    let at = memory.gates.rolled_back?;
    let times = match memory.gates.times {
        0 => return None,
        1 => String::new(),
        times => format!(" for the {times}. time in a row"),
    };
    let patience = patience(meant);
    let longer = if patience < MOST_PATIENCE {
        ", or give it longer with `schedulingPolicy.scheduleTimeoutSeconds`"
    } else {
        ""
    };
    Some(format!(
        "; it was rolled back{times} at {}, because not enough of its tasks had been placed for {patience} s: add nodes{longer}",
        rfc3339(at)
    ))
}

/// Nothing of it is created for a while after it was rolled back.
fn backing_off(meant: &Job, memory: &Memory, now: Time) -> Option<String> {
    let until = Some(memory.not_before).filter(|until| *until > now)?;
    let why = rolled_back(meant, memory)?;
    Some(format!(
        "waits until {} before its next turn{why}",
        rfc3339(until)
    ))
}
