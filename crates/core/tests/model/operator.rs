//! The operator of the model: it looks, decides with the shipped `step`, persists, then acts, and may crash between
//! any two of these.

use std::sync::Arc;

use trainyard_core::{
    Action, Exit, Fixture, FixtureSeen, Job, Memory, Observed, Seen, Stamp, Step, TaskSeen, Time, Why,
};

use super::machine::Machine;
use super::properties;
use super::world::{DAWN, End, Life, Move, Pod, State};

/// What the operator may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deed {
    /// Hears what has become of one task.
    Observe(u8),
    /// Decides and persists; what was left of the last pass is dropped, as after an error.
    Step,
    /// Carries out the next action of the pass.
    CarryOut,
    /// Dies and starts again: everything but what is persisted is lost, and it lists anew.
    Crash,
    /// Loses the lease with a request under way; another takes over, lists anew.
    Depose,
    /// That request arrives.
    LateWrite,
}

/// Every deed that is possible now.
pub fn deeds(model: &Machine, state: &State, found: &mut Vec<Deed>) {
    for (at, slot) in state.slots.iter().enumerate().take(model.tasks.len()) {
        if slot.seen != slot.here || slot.unheard.is_some() {
            found.push(Deed::Observe(u8::try_from(at).unwrap()));
        }
    }
    found.push(Deed::Step);
    if !state.pass.is_empty() {
        found.push(Deed::CarryOut);
        if state.depositions > 0 {
            found.push(Deed::Depose);
        }
    }
    found.push(Deed::Crash);
    if state.late.is_some() {
        found.push(Deed::LateWrite);
    }
}

/// The state after it.
pub fn act(model: &Machine, state: &mut State, deed: Deed) {
    match deed {
        Deed::Observe(slot) => observe(state, slot),
        Deed::Step => decide(model, state, Time(DAWN + u64::from(state.now))),
        Deed::CarryOut => {
            if let Some(action) = state.pass.pop() {
                carry_out(model, state, action);
            }
        }
        Deed::Crash => start_anew(model, state),
        Deed::Depose => {
            state.depositions -= 1;
            state.late = state.pass.pop();
            start_anew(model, state);
        }
        Deed::LateWrite => late_write(state),
    }
}

/// One task as it is. What has gone is shown as gone.
pub fn observe(state: &mut State, slot: u8) {
    let slot = &mut state.slots[usize::from(slot)];
    if let Some(unheard) = slot.unheard.take() {
        slot.gone = Some(unheard);
    }
    slot.seen = slot.here;
}

/// A fresh list shows what there is, and nothing of what is gone.
fn start_anew(model: &Machine, state: &mut State) {
    state.pass.clear();
    for (at, task) in model.tasks.iter().enumerate() {
        let slot = &mut state.slots[at];
        let visible = slot.here.is_some_and(|pod| pod.has_succeeded());
        let missed = !visible && [slot.unheard, slot.gone].iter().flatten().any(Pod::has_succeeded);
        slot.unheard = None;
        slot.gone = None;
        slot.seen = slot.here;
        let remembered = state.memory.as_deref().is_some_and(|memory| memory.is_done(task));
        if missed && !remembered {
            // Nobody can know of it any more: it will be run again.
            state.past.succeeded[at] = 0;
        }
    }
}

/// One look, one decision, one write of memory.
pub fn decide(model: &Machine, state: &mut State, now: Time) {
    let job = model.job(state);
    let observed = observed(model, state);
    let before = state.memory.clone();
    let step = (model.decide)(job, before.as_deref(), &observed, now);
    properties::judge_step(model, state, &observed, now, &step);
    let Step { memory, actions, .. } = step;
    if before.as_deref() != Some(&memory) {
        state.memory = Some(Arc::new(memory));
    }
    forget_absorbed(model, state);
    properties::forget(model, state);
    state.pass = actions.iter().rev().map(|action| known(model, action)).collect();
}

/// Drops what is gone and has been absorbed by the memory that is now persisted.
fn forget_absorbed(model: &Machine, state: &mut State) {
    let Some(memory) = state.memory.as_deref() else {
        return;
    };
    for (slot, task) in state.slots.iter_mut().zip(&model.tasks) {
        let absorbed = |pod: &Pod| {
            memory.verdict.is_some()
                || pod.stamp < memory.stamp(task)
                || memory.is_done(task)
                || memory.is_failed(task)
        };
        slot.gone = slot.gone.filter(|pod| !absorbed(pod));
    }
}

/// Carries out one action, and knows of it afterwards.
pub fn carry_out(model: &Machine, state: &mut State, action: Move) {
    properties::judge_action(model, state, action);
    match action {
        Move::Ensure => state.addresses = true,
        Move::Remove => state.addresses = false,
        Move::Stop { slot, serial } => {
            stop(state, slot, serial);
            let now = state.now;
            let slot = &mut state.slots[usize::from(slot)];
            if let Some(seen) = slot.seen.as_mut().filter(|seen| seen.serial == serial) {
                seen.stopping = seen.stopping.or(Some(now));
            }
        }
        Move::Create { slot, stamp } => {
            if create(state, slot, stamp) {
                let slot = &mut state.slots[usize::from(slot)];
                slot.seen = slot.here;
            } else {
                // The first error ends the pass (W5).
                state.pass.clear();
            }
        }
    }
}

/// A request of the deposed leader arrives. Leases take their time: it is a second later than whatever was before.
fn late_write(state: &mut State) {
    state.now += 1;
    match state.late.take() {
        Some(Move::Ensure) => state.addresses = true,
        Some(Move::Remove) => state.addresses = false,
        Some(Move::Stop { slot, serial }) => stop(state, slot, serial),
        Some(Move::Create { slot, stamp }) => {
            create(state, slot, stamp);
        }
        None => {}
    }
}

/// Tells that instance and no other to stop. One that has ended goes at once, if its going can be heard of.
fn stop(state: &mut State, slot: u8, serial: u8) {
    let now = state.now;
    let slot = &mut state.slots[usize::from(slot)];
    let Some(pod) = slot.here.as_mut().filter(|pod| pod.serial == serial) else {
        return;
    };
    if pod.alive() || slot.unheard.is_some() {
        pod.stopping = pod.stopping.or(Some(now));
    } else {
        slot.unheard = slot.here.take();
    }
}

/// Creates an instance, unless its name is taken (W1).
fn create(state: &mut State, slot: u8, stamp: Stamp) -> bool {
    let serial = state.free_serial(slot);
    let created = state.now;
    let here = &mut state.slots[usize::from(slot)].here;
    let free = here.is_none();
    if free {
        *here = Some(Pod {
            serial,
            stamp,
            life: Life::Waiting,
            stopping: None,
            created,
        });
    }
    free
}

/// The operator's view, in the words of `step`.
pub fn observed(model: &Machine, state: &State) -> Observed {
    let mut tasks = Vec::with_capacity(model.tasks.len() + 1);
    for (at, slot) in state.slots.iter().enumerate().take(model.tasks.len()) {
        if let Some(pod) = &slot.seen {
            let state = match pod.life {
                Life::Waiting => Seen::Waiting,
                Life::Running => Seen::Running { ready: true },
                Life::Ended(end) => Seen::Ended(exit(end)),
            };
            tasks.push(task_seen(model, at, pod, state));
        }
        if let Some(pod) = &slot.gone {
            let last = match pod.life {
                Life::Ended(end) => Some(exit(end)),
                Life::Waiting | Life::Running => None,
            };
            tasks.push(task_seen(model, at, pod, Seen::Gone(last)));
        }
    }
    let ours = FixtureSeen::Ours { right: true };
    let addresses = state.addresses.then_some((Fixture::Addresses, ours));
    Observed {
        tasks,
        fixtures: addresses.into_iter().collect(),
        ..Observed::default()
    }
}

fn task_seen(model: &Machine, at: usize, pod: &Pod, state: Seen) -> TaskSeen {
    TaskSeen {
        id: model.tasks[at].clone(),
        stamp: pod.stamp,
        instance: model.names[usize::from(pod.serial)].clone(),
        state,
        created: time(pod.created),
        in_place: 0,
        last: None,
        stopping: pod.stopping.map(time),
        lingers: false,
    }
}

fn exit(end: End) -> Exit {
    Exit {
        code: Some(i32::from(end.code)),
        why: Why::Itself,
        asked: end.asked,
        at: time(end.at),
        ran: 1,
        ..Exit::default()
    }
}

fn time(tick: u8) -> Time {
    Time(DAWN + u64::from(tick))
}

/// An action in the words of the model. The model's jobs ask for no other.
fn known(model: &Machine, action: &Action) -> Move {
    let slot = |task| {
        let at = model.tasks.iter().position(|known| known == task).unwrap();
        u8::try_from(at).unwrap()
    };
    match action {
        Action::Ensure(Fixture::Addresses) => Move::Ensure,
        Action::Remove(Fixture::Addresses) => Move::Remove,
        Action::Stop { task, instance, .. } => {
            let serial = model.names.iter().position(|name| name == instance).unwrap();
            Move::Stop {
                slot: slot(task),
                serial: u8::try_from(serial).unwrap(),
            }
        }
        Action::Create { task, stamp } => Move::Create {
            slot: slot(task),
            stamp: *stamp,
        },
        Action::Ensure(_) | Action::Remove(_) | Action::Answered(_) | Action::DeleteJob => {
            panic!("the model has no {action:?}")
        }
    }
}

/// The signature of `step`: a mutant has the same.
pub type Decide = fn(&Job, Option<&Memory>, &Observed, Time) -> Step;
