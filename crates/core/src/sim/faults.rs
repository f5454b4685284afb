//! Carries out what a script says, when its moment has come.

use super::instance::{Instance, Node, State};
use super::script::{Fault, Trouble};
use super::trace::{Happened, StopReason};
use super::world::{Gang, World};
use crate::job::{RoleName, TaskId};
use crate::observed::{Fixture, FixtureSeen, Order};
use crate::time::Time;

/// How long a job that is being deleted is still there.
const DELETING: u32 = 3;

/// The second in which a fault is due; none for those that wait for something in the world.
fn due(fault: &Fault) -> Option<u32> {
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
        | Fault::GangBreaks { at }
        | Fault::FixtureLost { at, .. }
        | Fault::FixtureWrong { at, .. }
        | Fault::FixtureTaken { at, .. }
        | Fault::Storage { at, .. }
        | Fault::NameTaken { at, .. }
        | Fault::Deleted { at } => Some(*at),
        Fault::Operator(trouble) => match trouble {
            Trouble::Lags { from: at, .. }
            | Trouble::StoresLate { from: at, .. }
            | Trouble::Busy { at, .. }
            | Trouble::ClockSteps { at, .. }
            | Trouble::LooksAgain { at }
            | Trouble::Relists { at }
            | Trouble::OldLeader { at, .. } => Some(*at),
            Trouble::Crashes { .. } | Trouble::WriteRefused { .. } | Trouble::WriteTimesOut { .. } => None,
        },
        Fault::Ends { .. }
        | Fault::StartsLate { .. }
        | Fault::IgnoresTerm { .. }
        | Fault::Lingers { .. }
        | Fault::GangOpens { .. } => None,
    }
}

/// The seconds in which a fault makes something happen.
pub(super) fn moments(fault: &Fault) -> impl Iterator<Item = u32> {
    let over = match fault {
        Fault::Operator(Trouble::Lags { until, .. } | Trouble::StoresLate { until, .. }) => Some(*until),
        _ => None,
    };
    due(fault).into_iter().chain(over)
}

/// Carries out every fault whose moment has come and that finds what it needs; whether one did.
pub(super) fn fire(world: &mut World) -> bool {
    let mut fired = false;
    for position in 0..world.faults.len() {
        let pending = &world.faults[position];
        let is_due = due(&pending.fault).is_some_and(|at| world.options.begin + at <= world.now);
        if pending.used || !is_due {
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
        Fault::Replicas { role, count, .. } => scale(world, role, *count),
        Fault::Ordered { what, .. } => {
            let id = format!("order-{position}").into();
            world.orders.push(Order { id, what: *what });
            world.note(Happened::Ordered(*what));
            true
        }
        Fault::GangBreaks { .. } => break_gang(world),
        Fault::FixtureLost { fixture, .. } => {
            world.take_away(*fixture);
            true
        }
        Fault::FixtureWrong { fixture, .. } => {
            let ours = |seen: &&mut FixtureSeen| **seen != FixtureSeen::Foreign;
            let seen = world.fixtures.get_mut(fixture).filter(ours);
            seen.map(|seen| *seen = FixtureSeen::Ours { right: false })
                .is_some()
        }
        Fault::FixtureTaken { fixture, .. } => take_fixture(world, *fixture),
        Fault::Storage { seen, .. } => {
            world.operator.storage = *seen;
            true
        }
        Fault::NameTaken { task, seconds, .. } => take_name(world, task, *seconds),
        Fault::Deleted { .. } => {
            world.deleting = Some(world.now + DELETING);
            world.note(Happened::Deleting);
            true
        }
        Fault::Operator(trouble) => {
            disturb(world, trouble);
            true
        }
        Fault::Ends { .. }
        | Fault::StartsLate { .. }
        | Fault::IgnoresTerm { .. }
        | Fault::Lingers { .. }
        | Fault::GangOpens { .. } => false,
    }
}

/// Another client makes the object before the operator does.
fn take_fixture(world: &mut World, fixture: Fixture) -> bool {
    let free = !world.fixtures.contains_key(&fixture);
    if free {
        world.fixtures.insert(fixture, FixtureSeen::Foreign);
        world.appears(fixture);
    }
    free
}

fn running(world: &World, task: &TaskId) -> Option<usize> {
    let is_running = |&at: &usize| {
        let instance = &world.instances[at];
        let is_running = matches!(instance.state, State::Running { .. });
        is_running && instance.ours && instance.node == Node::Answers
    };
    world.find(task).filter(is_running)
}

/// An instance that lives, that was not told to stop, and whose node answers.
fn untold(world: &World, task: &TaskId) -> Option<usize> {
    let is_untold = |&at: &usize| {
        let instance = &world.instances[at];
        instance.alive() && instance.ours && instance.told.is_none() && instance.node == Node::Answers
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
    let back: Option<Time> = back_after.map(|seconds| world.now + seconds.max(1));
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

fn scale(world: &mut World, role: &RoleName, to: u32) -> bool {
    let Some(changed) = world.job.roles.iter_mut().find(|one| one.name == *role) else {
        return false;
    };
    let from = changed.replicas;
    changed.replicas = to;
    let role = role.clone();
    world.note(Happened::ReplicasSet { role, from, to });
    true
}

/// The group of the newest epoch that has an instance loses part of it.
fn break_gang(world: &mut World) -> bool {
    let newest = world.ours().filter(|instance| instance.alive());
    let newest = newest.map(|instance| instance.stamp.epoch).max();
    let (Gang::Open, Some(epoch)) = (world.gang, newest) else {
        return false;
    };
    world.gang = Gang::Broken { epoch };
    world.note(Happened::GangBroken);
    true
}

/// An object of another job has the name of a task's instance.
fn take_name(world: &mut World, task: &TaskId, seconds: u32) -> bool {
    if world.find(task).is_some() {
        return false;
    }
    let until = world.now + seconds.max(1);
    let foreign = Instance::foreign(task, world.now, until);
    world.instances.push(foreign);
    world.note(Happened::NameTaken {
        task: task.clone(),
        taken: true,
    });
    true
}

fn disturb(world: &mut World, trouble: &Trouble) {
    world.note(Happened::Trouble(trouble.clone()));
    match trouble {
        Trouble::ClockSteps { by, .. } => world.operator.skew += i64::from(*by),
        Trouble::Busy { seconds, .. } => {
            let until = world.now + *seconds;
            world.operator.away_until = world.operator.away_until.max(until);
            world.operator.away += seconds;
        }
        Trouble::Relists { .. } => world.operator.relists = true,
        Trouble::OldLeader { behind, .. } => world.operator.old_leaders.push(*behind),
        Trouble::Lags { .. }
        | Trouble::StoresLate { .. }
        | Trouble::LooksAgain { .. }
        | Trouble::Crashes { .. }
        | Trouble::WriteRefused { .. }
        | Trouble::WriteTimesOut { .. } => {}
    }
}
