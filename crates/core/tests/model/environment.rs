//! What happens to the tasks by itself or from outside: every change of the true world that is not the operator's.

use trainyard_core::Storage;

use super::machine::Machine;
use super::world::{End, Group, Life, Pod, State};

/// A change of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// A waiting task begins to run.
    Start(u8),
    /// A program ends by its own doing.
    Exit(u8, u8),
    /// A program that was told to stop has saved and exits 0.
    Obey(u8),
    /// An instance that was told to stop, and does not run any more, goes.
    Leave(u8),
    /// A user drains the node: the task is told to stop.
    Drain(u8),
    /// The instance is gone at once, with its node.
    Vanish(u8),
    /// An ended instance is collected.
    Collect(u8),
    /// Others make a group under the name that ours would have.
    TakeGroup,
    /// What is known about storage changes.
    Storage(Storage),
    /// The manifest is suspended or resumed.
    Toggle,
    /// A second passes.
    Tick,
}

/// Every change that is possible now.
pub fn changes(model: &Machine, state: &State, found: &mut Vec<Change>) {
    for at in 0..model.tasks.len() {
        let slot = &state.slots[at];
        let Some(pod) = slot.here else { continue };
        // Removals come one at a time: the operator hears of each, in order.
        let removable = slot.unheard.is_none();
        let slot = u8::try_from(at).unwrap();
        match (pod.life, pod.stopping.is_some()) {
            (Life::Waiting, false) => found.push(Change::Start(slot)),
            (Life::Running, false) => {
                found.extend(model.exits[at].iter().map(|&code| Change::Exit(slot, code)));
            }
            (Life::Running, true) => found.push(Change::Obey(slot)),
            (Life::Waiting | Life::Ended(_), true) if removable => found.push(Change::Leave(slot)),
            _ => {}
        }
        if state.mischief > 0 {
            mischief(slot, &pod, removable, found);
        }
    }
    let gang = model.jobs[0].gang.is_some();
    if gang && state.mischief > 0 && state.group == Group::Absent {
        found.push(Change::TakeGroup);
    }
    if state.flips > 0 {
        let all = [Storage::Unknown, Storage::Drops];
        let others = all.into_iter().filter(|other| *other != state.storage);
        found.extend(others.map(Change::Storage));
    }
    if state.toggles > 0 {
        found.push(Change::Toggle);
    }
    if state.now < model.ticks {
        found.push(Change::Tick);
    }
}

fn mischief(slot: u8, pod: &Pod, removable: bool, found: &mut Vec<Change>) {
    match pod.life {
        Life::Running if pod.stopping.is_none() => found.push(Change::Drain(slot)),
        Life::Ended(_) if removable && pod.stopping.is_none() => found.push(Change::Collect(slot)),
        _ => {}
    }
    if pod.alive() && removable {
        found.push(Change::Vanish(slot));
    }
}

/// The world after it.
pub fn change(model: &Machine, state: &mut State, change: Change) {
    match change {
        Change::Start(slot) => live(state, slot, |pod, _| pod.life = Life::Running),
        Change::Exit(slot, code) => end(model, state, slot, code, false),
        Change::Obey(slot) => end(model, state, slot, 0, true),
        Change::Leave(slot) => remove(state, slot),
        Change::Drain(slot) => {
            state.mischief -= 1;
            live(state, slot, |pod, now| pod.stopping = Some(now));
            model.note_disruption(state, slot);
        }
        Change::Vanish(slot) => {
            state.mischief -= 1;
            model.note_disruption(state, slot);
            remove(state, slot);
        }
        Change::Collect(slot) => {
            state.mischief -= 1;
            // If the end was not seen, it cannot be told from a loss.
            model.note_disruption(state, slot);
            remove(state, slot);
        }
        Change::TakeGroup => {
            state.mischief -= 1;
            state.group = Group::Foreign;
        }
        Change::Storage(storage) => {
            state.flips -= 1;
            state.storage = storage;
        }
        Change::Toggle => {
            state.toggles -= 1;
            state.suspend = !state.suspend;
        }
        Change::Tick => state.now += 1,
    }
}

fn live(state: &mut State, slot: u8, change: impl FnOnce(&mut Pod, u8)) {
    let now = state.now;
    if let Some(pod) = &mut state.slots[usize::from(slot)].here {
        change(pod, now);
    }
}

fn end(model: &Machine, state: &mut State, slot: u8, code: u8, asked: bool) {
    live(state, slot, |pod, at| {
        pod.life = Life::Ended(End { code, asked, at });
    });
    model.note_end(state, slot);
}

fn remove(state: &mut State, slot: u8) {
    let slot = &mut state.slots[usize::from(slot)];
    slot.unheard = slot.here.take();
}
