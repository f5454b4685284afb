//! Carries out what a script says, when its moment has come.

use super::instance::{Node, State};
use super::script::Fault;
use super::trace::{Happened, StopReason};
use super::world::{Gang, World};
use crate::job::TaskId;
use crate::observed::Order;
use crate::time::Time;

/// The second in which a fault is due; none for those that wait for something in the world.
pub(super) fn moment(fault: &Fault) -> Option<u32> {
    match fault {
        Fault::EndsAt { at, .. }
        | Fault::Drained { at, .. }
        | Fault::Vanishes { at, .. }
        | Fault::Collected { at, .. }
        | Fault::NodeLost { at, .. }
        | Fault::Suspend { at }
        | Fault::Resume { at }
        | Fault::Replicas { at, .. }
        | Fault::Ordered { at, .. }
        | Fault::GangBreaks { at } => Some(*at),
        Fault::Ends { .. }
        | Fault::StartsLate { .. }
        | Fault::IgnoresTerm { .. }
        | Fault::Lingers { .. }
        | Fault::GangOpens { .. } => None,
    }
}

/// Carries out every fault whose moment has come and that finds what it needs; whether one did.
pub(super) fn fire(world: &mut World) -> bool {
    let mut fired = false;
    for position in 0..world.faults.len() {
        let pending = &world.faults[position];
        let due = moment(&pending.fault).is_some_and(|at| world.options.begin + at <= world.now);
        if pending.used || !due {
            continue;
        }
        let fault = pending.fault.clone();
        if happen(world, &fault, position) {
            world.faults[position].used = true;
            fired = true;
        }
    }
    fired
}

/// Whether the fault found what it needs.
fn happen(world: &mut World, fault: &Fault, position: usize) -> bool {
    match fault {
        Fault::EndsAt { task, end, .. } => {
            let found = running(world, task);
            found.map(|at| world.end_program(at, *end)).is_some()
        }
        Fault::Drained { task, code, .. } => {
            let found = untold(world, task);
            found.map(|at| world.tell(at, *code, StopReason::Asked)).is_some()
        }
        Fault::Vanishes { task, .. } => {
            let found = untold(world, task);
            found.map(|at| world.remove(at, None)).is_some()
        }
        Fault::Collected { task, .. } => collect(world, task),
        Fault::NodeLost { task, back_after, .. } => lose_node(world, task, *back_after),
        Fault::Suspend { .. } => suspend(world, true),
        Fault::Resume { .. } => suspend(world, false),
        Fault::Replicas { role, count, .. } => {
            let Some(changed) = world.job.roles.iter_mut().find(|one| one.name == *role) else {
                return false;
            };
            let (role, from) = (role.clone(), changed.replicas);
            changed.replicas = *count;
            world.note(Happened::ReplicasSet {
                role,
                from,
                to: *count,
            });
            true
        }
        Fault::Ordered { what, .. } => {
            world.orders.push(Order {
                id: format!("order-{position}").into(),
                what: *what,
            });
            world.note(Happened::Ordered(*what));
            true
        }
        Fault::GangBreaks { .. } => break_gang(world),
        Fault::Ends { .. }
        | Fault::StartsLate { .. }
        | Fault::IgnoresTerm { .. }
        | Fault::Lingers { .. }
        | Fault::GangOpens { .. } => false,
    }
}

fn running(world: &World, task: &TaskId) -> Option<usize> {
    let is_running = |&at: &usize| {
        let instance = &world.instances[at];
        matches!(instance.state, State::Running { .. }) && instance.node == Node::Answers
    };
    world.find(task).filter(is_running)
}

/// An instance that lives, that nobody has told to stop, and whose node answers.
fn untold(world: &World, task: &TaskId) -> Option<usize> {
    let is_untold = |&at: &usize| {
        let instance = &world.instances[at];
        instance.alive() && instance.told.is_none() && instance.node == Node::Answers
    };
    world.find(task).filter(is_untold)
}

fn collect(world: &mut World, task: &TaskId) -> bool {
    let Some(at) = world.find(task) else { return false };
    let State::Ended(exit) = &world.instances[at].state else {
        return false;
    };
    let exit = exit.clone();
    world.remove(at, Some(exit));
    true
}

fn lose_node(world: &mut World, task: &TaskId, back_after: Option<u32>) -> bool {
    let Some(at) = untold(world, task) else {
        return false;
    };
    let back: Option<Time> = back_after.map(|seconds| world.now + seconds);
    world.instances[at].node = Node::Lost { back };
    world.note(Happened::NodeLost { task: task.clone() });
    world.tell(at, 137, StopReason::Asked);
    true
}

fn suspend(world: &mut World, suspend: bool) -> bool {
    if world.job.suspend != suspend {
        world.job.suspend = suspend;
        world.note(Happened::SuspendSet(suspend));
    }
    true
}

/// The group of the newest epoch that has an instance loses part of it.
fn break_gang(world: &mut World) -> bool {
    let instances = world.instances.iter().filter(|instance| instance.alive());
    let newest = instances.map(|instance| instance.stamp.epoch).max();
    let (Gang::Open, Some(epoch)) = (world.gang, newest) else {
        return false;
    };
    world.gang = Gang::Broken { epoch };
    world.note(Happened::GangBroken);
    true
}
