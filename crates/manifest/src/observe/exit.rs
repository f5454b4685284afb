//! How a pod's task is: waiting, running, or ended, and then by whose doing.
//!
//! The main container is the task. What the API calls a phase is about the whole pod and comes second: a sidecar may
//! keep it running, a drained program may have exited 0, an evicted pod may have no container at all.

use trainyard_core::{Exit, Seen, Time, Why};

use super::cause::{self, OUT_OF_MEMORY};
use super::wire::{ConditionWire, ContainerWire, PodWire, StateWire, StatusWire, TerminatedWire};
use super::{Waits, grace_over, volumes};
use crate::pod::MAIN;

/// The scheduler of pods that name none.
const DEFAULT_SCHEDULER: &str = "default-scheduler";
/// Reasons with which a runtime says that it could not start the program.
const NOT_STARTED: &[&str] = &[
    "StartError",
    "ContainerCannotRun",
    "ContainerStatusUnknown.StartError",
];

/// With these a pod was ended for a fault of its own, though the kubelet did it.
const OWN_FAULT: &[&str] = &["Evicted", "DeadlineExceeded"];
/// What a container waits for in the ordinary course of things. Where there are init containers all say the latter, also before
/// the first of them has begun.
const ORDINARY: &[&str] = &["ContainerCreating", "PodInitializing"];

/// The condition of a pod whose volumes are mounted and whose network is set up. Kubelets before 1.29 do not report it.
const SANDBOX: &str = "PodReadyToStartContainers";

/// A kubelet may take this many seconds to remove a pod whose grace is over: volumes are unmounted, containers removed.
const REMOVAL: u32 = 10;

/// A reason or a name is no longer than this in what is told about a job.
const MOST_WORD: usize = 120;

/// The state of the task, and whether something of the pod still runs beside it.
pub fn state(wire: &PodWire, stopping: Option<Time>) -> (Seen, bool) {
    let phase = wire.status.phase.as_deref().unwrap_or("Pending");
    let over = matches!(phase, "Succeeded" | "Failed");
    let terminated = main(wire).and_then(|main| Some((main, main.state.terminated.as_ref()?)));
    match terminated {
        Some((main, terminated)) if over || !restarted_in_place(wire, terminated) => {
            let lingers = !over && others_run(wire);
            (Seen::Ended(ended(wire, main, terminated, stopping)), lingers)
        }
        None if over => (Seen::Ended(without_container(wire, stopping)), false),
        _ if phase == "Pending" => (Seen::Waiting, false),
        _ => {
            let ready = is_ready(wire);
            (Seen::Running { ready }, false)
        }
    }
}

/// How the last life in place ended.
pub fn last(wire: &PodWire) -> Option<Exit> {
    // Between two lives the kubelet shows the end as the present state.
    let last = |container: &'_ ContainerWire| {
        let between = container.state.terminated.as_ref();
        let terminated = container.last_state.terminated.as_ref().or(between)?;
        (container.restart_count > 0).then(|| exit_of(wire, container, terminated, None))
    };
    let init = init_containers(wire).find_map(|init| Some(of_init(init, last(init)?)));
    main(wire).and_then(last).or(init)
}

/// What the pod waits for, if it is something that users may want to know, now or later.
pub fn waits(wire: &PodWire) -> Option<Waits> {
    if wire.metadata.deletion_timestamp.is_some() {
        // It waits for nothing but its kubelet.
        return unanswered(wire);
    }
    if let Some(silent) = not_ready_by_controller(wire) {
        return Some(silent);
    }
    let said = |reason: &str, message: Option<&str>, container: Option<&str>| Waits::Said {
        reason: short(reason).into(),
        message: message.unwrap_or_default().into(),
        container: container.map(|name| short(name).into()),
    };
    let status = &wire.status;
    let placed = status.condition("PodScheduled");
    if let Some(condition) = placed.filter(|it| it.status == "False") {
        let reason = condition.reason.as_deref().unwrap_or("Unschedulable");
        if reason == "SchedulingGated" && wire.spec.scheduling_gates.is_empty() {
            return not_looked_at(wire);
        }
        return Some(said(reason, condition.message.as_deref(), None));
    }
    let mut all = status
        .init_container_statuses
        .iter()
        .chain(&status.container_statuses);
    let container = all.find_map(|container| {
        let waiting = container.state.waiting.as_ref()?;
        let reason = waiting.reason.as_deref()?;
        (!ORDINARY.contains(&reason)).then(|| said(reason, waiting.message.as_deref(), Some(&container.name)))
    });
    let rejected = || {
        let reason = status.reason.as_deref()?;
        let exit =
            matches!(status.phase.as_deref(), Some("Failed")).then(|| without_container(wire, None))?;
        let told = exit.rejected && wire.metadata.deletion_timestamp.is_none();
        told.then(|| said(reason, status.message.as_deref(), None))
    };
    container
        .or_else(rejected)
        .or_else(|| recovering(wire))
        .or_else(|| silent(wire))
}

/// A container that has failed in place more than once and runs again, or is about to: a crash loop between two back-offs.
fn recovering(wire: &PodWire) -> Option<Waits> {
    let failed = |state: &StateWire| {
        let terminated = state.terminated.as_ref();
        terminated.is_some_and(|end| end.exit_code != Some(0))
    };
    let recovers = |container: &ContainerWire| {
        let since = match (&container.state.running, &container.state.terminated) {
            (Some(running), _) if container.restart_count > 1 && failed(&container.last_state) => {
                running.started_at
            }
            (None, Some(end)) if container.restart_count > 0 && failed(&container.state) => {
                end.finished_at.filter(|_| restarted_in_place(wire, end))
            }
            _ => None,
        };
        Some(Waits::Recovering {
            container: short(&container.name).into(),
            since: since?,
        })
    };
    let over = matches!(wire.status.phase.as_deref(), Some("Succeeded" | "Failed"));
    let mut tasks = main(wire).into_iter().chain(init_containers(wire));
    tasks.find_map(recovers).filter(|_| !over)
}

/// One word, as an event takes it, whatever a status holds.
pub fn short(word: &str) -> &str {
    &word[..word.floor_char_boundary(MOST_WORD)]
}

/// A pod that is being deleted and is still there when its grace is over, and [`REMOVAL`] after that.
fn unanswered(wire: &PodWire) -> Option<Waits> {
    let node = wire.spec.node_name.as_deref()?.into();
    let since = grace_over(wire)? + REMOVAL;
    Some(Waits::Silent { node, since })
}

/// A pod that the node lifecycle controller has marked, since its kubelet renews the node's Lease no longer: the controller
/// only sets the status of `Ready`, so there is no reason beside it, and the containers are still called ready. A kubelet
/// that reports a failed probe gives a reason (`ContainersNotReady`), and says the same of the containers.
fn not_ready_by_controller(wire: &PodWire) -> Option<Waits> {
    let status = &wire.status;
    let ready = status
        .condition("Ready")
        .filter(|ready| ready.status == "False")?;
    let says = |condition: &ConditionWire| {
        condition
            .reason
            .as_deref()
            .is_some_and(|reason| !reason.is_empty())
    };
    let containers = status.condition("ContainersReady");
    let runs = main(wire).is_some_and(|main| main.state.running.is_some());
    if says(ready) || containers.is_some_and(|it| it.status == "False") || !runs {
        return None;
    }
    Some(Waits::Silent {
        node: wire.spec.node_name.as_deref()?.into(),
        since: ready.last_transition_time?,
    })
}

/// A pod whose last gate is gone, and whose condition still speaks of gates: its scheduler has not come to it since. The default one does at
/// once; another one may not be there.
fn not_looked_at(wire: &PodWire) -> Option<Waits> {
    let scheduler = wire.spec.scheduler_name.as_deref().unwrap_or(DEFAULT_SCHEDULER);
    (scheduler != DEFAULT_SCHEDULER).then(|| Waits::Unplaced {
        scheduler: scheduler.into(),
    })
}

/// What a pod waits for that neither scheduler nor kubelet has said anything about.
fn silent(wire: &PodWire) -> Option<Waits> {
    let status = &wire.status;
    if status.phase.as_deref().unwrap_or("Pending") != "Pending" {
        return None;
    }
    let placed = status.condition("PodScheduled");
    if placed.is_none() && wire.spec.node_name.is_none() {
        let scheduler = wire.spec.scheduler_name.as_deref().unwrap_or_default().into();
        return Some(Waits::Unplaced { scheduler });
    }
    // What runs before the task takes as long as it takes.
    let began = |init: &ContainerWire| init.state.running.is_some() || init.state.terminated.is_some();
    let since = placed.and_then(|placed| placed.last_transition_time);
    let has_sandbox = is_true(wire, SANDBOX);
    (!status.init_container_statuses.iter().any(began)).then(|| Waits::Preparing {
        since,
        has_sandbox,
        // A sandbox is made when the volumes are there. Kubelets before 1.29 say nothing of it, and then nothing is known.
        needs: volumes::needs(wire).filter(|_| is_false(wire, SANDBOX)),
    })
}

/// The containers that must end before the task begins. Sidecars among the init containers need not, and run beside it.
fn init_containers(wire: &PodWire) -> impl Iterator<Item = &ContainerWire> {
    let is_sidecar = |name: &str| {
        let mut sidecars = wire.spec.init_containers.iter();
        sidecars.any(|init| init.name == name && init.is_sidecar())
    };
    let statuses = wire.status.init_container_statuses.iter();
    statuses.filter(move |status| !is_sidecar(&status.name))
}

/// The end of an init container: the task's own failure, though its main program never ran.
fn of_init(init: &ContainerWire, exit: Exit) -> Exit {
    Exit {
        never_ran: true,
        ran: 0,
        container: Some(init.name.as_str().into()),
        ..exit
    }
}

/// The container that is the task: the one of that name, else the first.
fn main(wire: &PodWire) -> Option<&ContainerWire> {
    let name = main_name(wire)?;
    let mut statuses = wire.status.container_statuses.iter();
    statuses.find(|status| status.name == name)
}

/// The name of the container that is the task.
pub fn main_name(wire: &PodWire) -> Option<&str> {
    let mut names = wire.spec.containers.iter().map(|container| &*container.name);
    let first = names.clone().next();
    names.find(|name| *name == MAIN).or(first)
}

/// Whether the kubelet is about to start it again.
fn restarted_in_place(wire: &PodWire, terminated: &TerminatedWire) -> bool {
    if wire.metadata.deletion_timestamp.is_some() {
        return false;
    }
    match wire.spec.restart_policy.as_deref() {
        Some("Always") => true,
        Some("OnFailure") => terminated.exit_code != Some(0),
        _ => false,
    }
}

/// Whether a container beside the main one keeps the pod. The phase does not tell: the kubelet says that a container has
/// ended before it says so of the pod. Sidecars among the init containers it ends by itself.
fn others_run(wire: &PodWire) -> bool {
    let main = main(wire).map(|main| &main.name);
    let others = wire.status.container_statuses.iter();
    others.filter(|other| Some(&other.name) != main).any(|other| {
        let terminated = other.state.terminated.as_ref();
        terminated.is_none_or(|terminated| restarted_in_place(wire, terminated))
    })
}

fn is_ready(wire: &PodWire) -> bool {
    is_true(wire, "Ready")
}

fn is_true(wire: &PodWire, condition: &str) -> bool {
    let condition = wire.status.condition(condition);
    condition.is_some_and(|condition| condition.status == "True")
}

fn is_false(wire: &PodWire, condition: &str) -> bool {
    let condition = wire.status.condition(condition);
    condition.is_some_and(|condition| condition.status == "False")
}

/// An end of the main container, in the light of everything else the pod says.
fn ended(
    wire: &PodWire,
    container: &ContainerWire,
    terminated: &TerminatedWire,
    stopping: Option<Time>,
) -> Exit {
    let mut exit = exit_of(wire, container, terminated, stopping);
    if is_disrupted(wire) {
        exit.asked = true;
        exit.cause = None;
    } else if own_fault(wire) && exit.code == Some(0) {
        // It was told to go for what it did; that it went quietly is no success.
        exit.code = None;
    }
    exit
}

fn exit_of(
    wire: &PodWire,
    container: &ContainerWire,
    terminated: &TerminatedWire,
    stopping: Option<Time>,
) -> Exit {
    let started = terminated.started_at.unwrap_or_default();
    let at = terminated.finished_at.unwrap_or_default();
    let reason = terminated.reason.as_deref().unwrap_or_default();
    // Runtimes that could not start a program say that it started in 1970.
    let never_ran = NOT_STARTED.contains(&reason) || started == Time(0);
    let why = match reason {
        OUT_OF_MEMORY => Why::OutOfMemory,
        _ if never_ran && terminated.exit_code != Some(0) => Why::NotStarted,
        _ => Why::Itself,
    };
    let ran = if started == Time(0) { 0 } else { at.since(started) };
    let asked = stopping.is_some_and(|stopping| at >= stopping);
    let found = (!asked).then(|| cause::of_container(wire, container, terminated));
    Exit {
        code: terminated.exit_code,
        why,
        asked,
        at,
        ran: u32::try_from(ran).unwrap_or(u32::MAX),
        never_ran: why == Why::NotStarted,
        message: terminated.message.as_deref().and_then(cause::last_line),
        cause: found.flatten(),
        ..Exit::default()
    }
}

/// A pod that has ended and has nothing to say about its main container: an init container failed, it was evicted before it
/// started, its node refused it, or was lost with it.
fn without_container(wire: &PodWire, stopping: Option<Time>) -> Exit {
    let failed = init_containers(wire).find_map(|init| {
        let terminated = init.state.terminated.as_ref()?;
        (terminated.exit_code != Some(0)).then(|| of_init(init, ended(wire, init, terminated, stopping)))
    });
    failed.unwrap_or_else(|| without_any_container(wire, stopping))
}

fn without_any_container(wire: &PodWire, stopping: Option<Time>) -> Exit {
    let changed = |name: &str| wire.status.condition(name)?.last_transition_time;
    let created = wire.metadata.creation_timestamp;
    let at = changed("DisruptionTarget")
        .or_else(|| changed("Ready"))
        .or(stopping)
        .or(created);
    let succeeded = wire.status.phase.as_deref() == Some("Succeeded");
    let (code, why) = match own_fault(wire) && !is_disrupted(wire) {
        true => (None, Why::Itself),
        false if succeeded && stopping.is_none() => (Some(0), Why::Itself),
        false => (None, Why::Disrupted),
    };
    let asked = stopping.is_some() || is_disrupted(wire);
    let never_ran = main(wire).is_none_or(|main| main.state.running.is_none());
    // Without the mark of a disruption, that a node will not have a pod is no evidence that the pod is right.
    let rejected = why == Why::Disrupted && never_ran && !asked;
    let failed = rejected || why == Why::Itself && !succeeded;
    Exit {
        code,
        why,
        asked,
        at: at.unwrap_or_default(),
        never_ran,
        rejected,
        message: last_words(wire),
        cause: failed.then(|| cause::of_whole_pod(wire)).flatten(),
        ..Exit::default()
    }
}

/// Why the pod as a whole ended, in the kubelet's words: `OutOfcpu: Node didn't have enough resource: cpu, …`.
fn last_words(wire: &PodWire) -> Option<std::sync::Arc<str>> {
    let StatusWire { reason, message, .. } = &wire.status;
    let said = [reason.as_deref(), message.as_deref()];
    cause::last_line(&said.into_iter().flatten().collect::<Vec<_>>().join(": "))
}

fn is_disrupted(wire: &PodWire) -> bool {
    is_true(wire, "DisruptionTarget")
}

/// Whether the kubelet ended the pod for something that the pod did.
pub fn own_fault(wire: &PodWire) -> bool {
    let reason = wire.status.reason.as_deref();
    // A node that is short of something refuses a new pod with the same word; nothing of that pod was ever started.
    let refused = reason == Some("Evicted") && wire.status.container_statuses.is_empty();
    !refused && reason.is_some_and(|reason| OWN_FAULT.contains(&reason))
}
