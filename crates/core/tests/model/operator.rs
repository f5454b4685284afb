//! The operator of the model: it observes, decides with the shipped `step`, stores when that says so, acts, and may crash
//! between any two writes. Where `step` leaves it open when memory is stored, both are tried.

use std::sync::Arc;

use trainyard_core::{
    Action, Exit, Fixture, FixtureSeen, Job, Memory, Observed, Persist, Placement, Refusal, Seen, Stamp,
    Step, Storage, TaskSeen, Time, Why,
};

use super::machine::Machine;
use super::properties;
use super::world::{DAWN, End, Group, Life, Move, Pod, State};

/// What the operator may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deed {
    /// Hears what has become of one task.
    Observe(u8),
    /// Decides and stores at once; what was left to be carried out is dropped, as after an error.
    Step,
    /// Decides and acts first, where memory may be stored later.
    StepLate,
    /// Carries out the next action.
    CarryOut,
    /// The next action is refused by the API server.
    Refuse,
    /// The back-off after a refusal is over.
    BackOff,
    /// Crashes and starts again: everything but what is stored is lost, and it lists again.
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
    found.extend([Deed::Step, Deed::StepLate]);
    if state.refused {
        found.push(Deed::BackOff);
    }
    if let Some(next) = state.pass.last() {
        found.push(Deed::CarryOut);
        if state.refusals > 0 && makes(*next) {
            found.push(Deed::Refuse);
        }
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
        Deed::Step => decide(model, state, Time(DAWN + u64::from(state.now)), false),
        Deed::StepLate => decide(model, state, Time(DAWN + u64::from(state.now)), true),
        Deed::Refuse => {
            state.refusals -= 1;
            refuse(state);
        }
        Deed::BackOff => state.refused = false,
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
    state.refused = false;
    for (at, task) in model.tasks.iter().enumerate() {
        let slot = &mut state.slots[at];
        let visible = slot.here.is_some_and(|pod| pod.has_succeeded());
        let missed = !visible && [slot.unheard, slot.gone].iter().flatten().any(Pod::has_succeeded);
        slot.unheard = None;
        slot.gone = None;
        slot.seen = slot.here;
        let remembered = state.memory.as_deref().is_some_and(|memory| memory.is_done(task));
        if missed && !remembered {
            // T5w: its instance went before the end was stored, and then the operator. It will be run again.
            state.past.succeeded[at] = 0;
        }
    }
}

/// One observation, one decision, and one write of memory unless that may come `late`.
pub fn decide(model: &Machine, state: &mut State, now: Time, late: bool) {
    let job = model.job(state);
    let observed = observed(model, state, now);
    let before = state.memory.clone();
    let step = (model.decide)(job, before.as_deref(), &observed, now);
    let may_wait = match step.persist {
        Persist::Nothing | Persist::Before => false,
        Persist::By(by) => now < by,
        Persist::WithNext => true,
    };
    if late && !may_wait {
        // The same as without the choice.
        return;
    }
    properties::judge_step(model, state, &observed, now, &step);
    if state.storage == Storage::Drops {
        // Storing would be in vain, and there is nothing to do.
        state.pass.clear();
        return;
    }
    let stores = before.as_deref() != Some(&step.memory) && !late;
    if stores {
        properties::judge_stored(model, state, &step);
    }
    let Step { memory, actions, .. } = step;
    if stores {
        state.memory = Some(Arc::new(memory));
        state.storage = Storage::Keeps;
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
    let job = &model.jobs[usize::from(state.suspend)];
    for (at, slot) in state.slots.iter_mut().enumerate().take(model.tasks.len()) {
        let absorbed = |pod: &Pod| memory.has_absorbed(job, &task_seen(model, at, pod, Seen::Gone(None)));
        slot.gone = slot.gone.filter(|pod| !absorbed(pod));
    }
}

/// Carries out one action, and knows of it afterwards.
pub fn carry_out(model: &Machine, state: &mut State, action: Move) {
    properties::judge_action(model, state, action);
    match action {
        Move::Ensure => state.addresses = true,
        Move::Remove => state.addresses = false,
        Move::EnsureGroup if state.group == Group::Foreign => refuse(state),
        Move::EnsureGroup => state.group = Group::Ours,
        Move::RemoveGroup => state.group = Group::Absent,
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
                refuse(state);
            }
        }
    }
}

/// Something was not made: the first error ends the rest (W5), and it is not tried again for a while.
fn refuse(state: &mut State) {
    state.pass.clear();
    state.refused = true;
}

fn makes(action: Move) -> bool {
    matches!(action, Move::Ensure | Move::EnsureGroup | Move::Create { .. })
}

/// A request of the deposed leader arrives. Leases take their time: it is a second later than whatever was before.
fn late_write(state: &mut State) {
    state.now += 1;
    match state.late.take() {
        Some(Move::Ensure) => state.addresses = true,
        Some(Move::Remove) => state.addresses = false,
        Some(Move::EnsureGroup) if state.group == Group::Absent => state.group = Group::Ours,
        Some(Move::RemoveGroup) => state.group = Group::Absent,
        Some(Move::Stop { slot, serial }) => stop(state, slot, serial),
        Some(Move::Create { slot, stamp }) => {
            create(state, slot, stamp);
        }
        Some(Move::EnsureGroup) | None => {}
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
pub fn observed(model: &Machine, state: &State, now: Time) -> Observed {
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
    let group = match state.group {
        Group::Absent => None,
        Group::Ours => Some((Fixture::Gang, ours)),
        Group::Foreign => Some((Fixture::Gang, FixtureSeen::Foreign)),
    };
    Observed {
        tasks,
        fixtures: addresses.into_iter().chain(group).collect(),
        refused: state.refused.then_some(Refusal { until: now + 1 }),
        storage: state.storage,
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
        placement: Placement::default(),
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
        Action::Ensure(Fixture::Gang) => Move::EnsureGroup,
        Action::Remove(Fixture::Gang) => Move::RemoveGroup,
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
        Action::Ensure(_)
        | Action::Remove(_)
        | Action::Ungate { .. }
        | Action::Answered(_)
        | Action::DeleteJob => {
            panic!("the model has no {action:?}")
        }
    }
}

/// The signature of `step`: a mutant has the same.
pub type Decide = fn(&Job, Option<&Memory>, &Observed, Time) -> Step;
