//! Why a task failed: the end of its log and what is known of its end are put to `trainyard-causes`, and what only the run knows
//! is added to the answer (whose port it is, where the script lies).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use trainyard_causes::{Ended, MOST_OUTPUT, MemoryEvidence};
use trainyard_core::{FailureCause, TaskId};

use super::scripts::{self, Surroundings};
use crate::logs::tail::tail;
use crate::run::event::ProgramEnd;
use crate::system::sockets::{self, Process};

/// What is known of a failure beside its output.
pub(crate) struct Circumstances<'a> {
    pub task: &'a TaskId,
    /// The ports of all tasks.
    pub ports: &'a BTreeMap<TaskId, u16>,
    /// `trainyard kill` killed it.
    pub killed_by_order: bool,
    /// What has happened to memory.
    pub memory: MemoryEvidence,
    /// Where its script could be.
    pub around: Surroundings<'a>,
}

/// Why the program failed; none if nothing is known but that it did.
pub(crate) fn cause(log: &Path, end: &ProgramEnd, known: &Circumstances<'_>) -> Option<FailureCause> {
    if known.killed_by_order {
        return Some(FailureCause {
            class: "killed".into(),
            sentence: "`trainyard kill` killed it (SIGKILL)".into(),
            ..FailureCause::default()
        });
    }
    if end.not_started.is_some() {
        return None;
    }
    // A log that cannot be read is one without words.
    let (output, _) = tail(log, MOST_OUTPUT).unwrap_or_default();
    let ended = Ended {
        output: &output,
        code: end.code,
        memory: known.memory,
        ..Ended::default()
    };
    let mut cause = trainyard_causes::find(&ended)?;
    if cause.code.as_deref() == Some("TR002")
        && let Some(script) = trainyard_causes::missing_script(&ended)
        && let Some(help) = scripts::help(Path::new(&*script), &known.around)
    {
        cause.help = Some(help.into());
    }
    if cause.code.as_deref() == Some("TR007")
        && let Some((sentence, help)) = whose_port(&ended, known)
    {
        cause.sentence = sentence;
        cause.help = Some(help);
    }
    Some(cause)
}

/// The sentence about a port that is taken: whose it is, and which process listens there.
fn whose_port(ended: &Ended<'_>, known: &Circumstances<'_>) -> Option<(Arc<str>, Arc<str>)> {
    let port = trainyard_causes::taken_port(ended)?;
    let owner = known.ports.iter().find(|(_, of_task)| **of_task == port);
    let task = known.task;
    let process = sockets::listener(port);
    let by = process.as_ref().map(by).unwrap_or_default();
    let otherwise = if owner.is_some() {
        "run the job again: it is given other ports"
    } else {
        "let the script open another port"
    };
    let help = match &process {
        Some(Process {
            pid, outside: true, ..
        }) => format!("stop that program (`kill {pid}`), or {otherwise}"),
        _ => "the script starts two servers, or a program outside of the job listens there: `ss -ltnp` names it"
            .to_owned(),
    };
    Some(match owner {
        Some((owner, _)) if owner == task => (
            format!("port {port}, which TF_CONFIG gives to {task}, is taken{by}").into(),
            help.into(),
        ),
        Some((owner, _)) => (
            format!("{task} tried to open port {port}, which is {owner}'s").into(),
            format!(
                "the script has no branch for {}, or does not read its own place from TF_CONFIG",
                task.role
            )
            .into(),
        ),
        None => (format!("port {port} is taken{by}").into(), help.into()),
    })
}

/// ` by python3 (process 4711)`.
fn by(process: &Process) -> String {
    let Process { pid, name, outside } = process;
    let name: String = name.chars().filter(|character| !character.is_control()).collect();
    let whose = if *outside { "" } else { " of this run" };
    format!(" by {name} (process {pid}{whose})")
}
