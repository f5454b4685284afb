//! `tasks` and `aggregate`: every replica with its pod's phase and containers, and how many are in which phase.

use serde_json::{Value, json};
use trainyard_core::{Ending, Exit, Job, Memory, Seen, TaskId, TaskSeen, task_name};

use crate::Instances;
use crate::details::{ContainerState, InstanceDetails};

/// The container that trains.
const MAIN_CONTAINER: &str = "tensorflow";

/// So many replicas and containers are listed, so that the largest job's status is far from what the API server stores of an object. The
/// counts are of all of them.
const MOST_LISTED: usize = 1000;

/// How many replicas are in which state.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregate([u64; 7]);

/// The state of a replica: its pod's phase, and two more for pods that are not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Creating,
    Pending,
    Running,
    Succeeded,
    Failed,
    /// Its node does not answer.
    Unknown,
    Deleted,
}

impl State {
    const WORDS: [&'static str; 7] = [
        "Creating",
        "Pending",
        "Running",
        "Succeeded",
        "Failed",
        "Unknown",
        "Deleted",
    ];

    fn word(self) -> &'static str {
        Self::WORDS[self as usize]
    }
}

impl Aggregate {
    fn count(&mut self, state: State) {
        self.0[state as usize] += 1;
    }

    pub(super) fn of(&self, state: State) -> u64 {
        self.0[state as usize]
    }

    pub(super) fn sum(&self, states: &[State]) -> u64 {
        states.iter().map(|state| self.of(*state)).sum()
    }

    pub(super) fn write(self) -> Value {
        let counts = State::WORDS.into_iter().zip(self.0);
        counts
            .map(|(word, count)| (word.to_ascii_lowercase(), Value::from(count)))
            .collect()
    }
}

/// Every role with its replicas, and how many are in which state.
pub(super) fn tasks<'a>(
    job: &Job,
    memory: &Memory,
    instances: &Instances<'_>,
    details: &dyn Fn(&str) -> InstanceDetails<'a>,
) -> (Vec<Value>, Aggregate) {
    let mut aggregate = Aggregate::default();
    let mut room = MOST_LISTED;
    let mut tasks = Vec::with_capacity(job.roles.len());
    for role in &job.roles {
        let mut replicas = Vec::new();
        for task in role.tasks() {
            let (name, seen) = (task_name(job, &task), instances.current(&task));
            let details = details(&name);
            let state = state(memory, &task, seen, details.is_silent);
            aggregate.count(state);
            let size = 1 + details.containers.len();
            if room >= size {
                room -= size;
                replicas.push(replica(&name, state, seen, details));
            }
        }
        tasks.push(json!({
            "type": role.name.as_str(),
            "restartCount": memory.roles.get(&role.name).map_or(0, |role| role.restarts),
            "replicas": replicas,
        }));
    }
    (tasks, aggregate)
}

fn state(memory: &Memory, task: &TaskId, seen: Option<&TaskSeen>, is_silent: bool) -> State {
    match seen.map(|seen| &seen.state) {
        Some(Seen::Waiting | Seen::Running { .. }) if is_silent => State::Unknown,
        Some(Seen::Waiting) => State::Pending,
        Some(Seen::Running { .. }) => State::Running,
        Some(Seen::Ended(exit)) if Ending::of(Some(exit)) == Ending::Succeeded => State::Succeeded,
        Some(Seen::Ended(_)) => State::Failed,
        Some(Seen::Gone(_)) | None => {
            let over = memory.verdict.is_some() || memory.held.is_some();
            let settled = memory.is_done(task) || memory.is_failed(task);
            if over || settled {
                State::Deleted
            } else {
                State::Creating
            }
        }
    }
}

fn replica(name: &str, state: State, seen: Option<&TaskSeen>, details: InstanceDetails<'_>) -> Value {
    let mut replica = json!({"name": name, "phase": state.word()});
    let Some(seen) = seen.filter(|_| !matches!(state, State::Creating | State::Deleted)) else {
        return replica;
    };
    replica["uid"] = (*seen.instance).into();
    let listed = details
        .containers
        .iter()
        .map(|one| container(&one.name, one.state));
    replica["containers"] = match details.containers {
        [] => json!([container(MAIN_CONTAINER, main_state(seen))]),
        _ => listed.collect(),
    };
    replica
}

fn main_state(seen: &TaskSeen) -> ContainerState {
    match &seen.state {
        Seen::Waiting => ContainerState::Waiting,
        Seen::Running { .. } => ContainerState::Running,
        Seen::Ended(_) | Seen::Gone(_) => {
            ContainerState::Terminated(seen.exit().and_then(|exit: &Exit| exit.code))
        }
    }
}

fn container(name: &str, state: ContainerState) -> Value {
    let (word, code) = match state {
        ContainerState::Waiting => ("Waiting", None),
        ContainerState::Running => ("Running", None),
        ContainerState::Terminated(code) => ("Terminated", code),
    };
    let mut container = json!({"name": name, "state": word});
    if let Some(code) = code {
        container["exitCode"] = code.into();
    }
    container
}
