//! What must hold, in the words of docs/architecture.md. Every property is an `always`, convergence too: the
//! checker's `eventually` does not see a path that ends in a cycle.

use stateright::Property;
use trainyard_core::{
    Action, Cause, Clean, Event, Hold, Memory, Observed, Outcome, Persist, Seen, Stamp, Step, Storage,
    TaskSeen, Time,
};

use super::environment;
use super::machine::{Charge, Machine};
use super::operator;
use super::world::{DAWN, Group, Life, Move, Pod, Slot, State};

/// Promises about a single step or action; once broken, always broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// T1: nothing is created while an instance of the task is there.
    OneInstance = 1,
    /// T2: nothing is created while something of an older epoch lives.
    OneEpoch = 2,
    /// T3: each life is answered at most once.
    AnsweredOnce = 4,
    /// T4: what is paid has been told, is within the budget, and something costly has happened for each.
    PaidOnce = 8,
    /// T5: what is done is not created again in its epoch.
    DoneStaysDone = 16,
    /// T5w: nor is what has truly succeeded, unless we were away when it went.
    SuccessIsSeen = 32,
    /// L4: a verdict never changes, and nothing is created after it.
    VerdictStands = 64,
    /// T6: the verdict is true.
    VerdictIsTrue = 128,
    /// L5, L6: stamps never fall, and only the current one is created.
    StampsRise = 256,
    /// Addresses are there while something lives.
    AddressesFirst = 512,
    /// L2: deciding twice decides nothing new.
    Idempotent = 1024,
    /// L10: what is stored late can be seen again, and storage is known to keep it.
    LateIsVisible = 2048,
    /// L11: nothing is made while that was refused, nothing is done while memory is dropped.
    Hindered = 4096,
    /// T10: a group of others is neither made nor removed.
    OthersGroup = 8192,
}

/// All properties of a model. With two leaders at a time only some are claimed.
pub fn of(model: &Machine) -> Vec<Property<Machine>> {
    let mut all = claimed_with_two_leaders();
    if model.depositions == 0 {
        all.extend(claimed_with_one_leader());
    }
    all.extend(reached(model));
    all
}

fn kept(state: &State, promise: Promise) -> bool {
    state.past.broken & promise as u16 == 0
}

fn claimed_with_two_leaders() -> Vec<Property<Machine>> {
    vec![
        Property::always("T3 each life is answered once", |_, state| {
            kept(state, Promise::AnsweredOnce)
        }),
        Property::always("T4 each charge is for something", |_, state| {
            kept(state, Promise::PaidOnce)
        }),
        Property::always("L2 deciding twice decides nothing new", |_, state| {
            kept(state, Promise::Idempotent)
        }),
        Property::always("L10 what is stored late can be seen again", |_, state| {
            kept(state, Promise::LateIsVisible)
        }),
        Property::always("L11 a refusal and dropped memory hinder", |_, state| {
            kept(state, Promise::Hindered)
        }),
        Property::always("T10 a group of others is left alone", |_, state| {
            kept(state, Promise::OthersGroup)
        }),
        Property::always("L4 a verdict stands", |_, state| {
            kept(state, Promise::VerdictStands)
        }),
        Property::always("L5 stamps rise", |_, state| kept(state, Promise::StampsRise)),
        Property::always("T6 a verdict is true", |_, state| {
            kept(state, Promise::VerdictIsTrue)
        }),
        Property::always("T7 once faults stop, the world becomes as wanted", comes_to_rest),
        Property::always(
            "T11 when everything has ended, so has the job",
            |model, state: &State| {
                state
                    .memory
                    .as_deref()
                    .is_none_or(|memory| all_ended_is_the_end(model, memory))
            },
        ),
    ]
}

fn claimed_with_one_leader() -> Vec<Property<Machine>> {
    vec![
        Property::always("T1 one instance a task", |_, state| {
            kept(state, Promise::OneInstance)
        }),
        Property::always("T2 one epoch at a time", |_, state| {
            kept(state, Promise::OneEpoch)
        }),
        Property::always("T5 what is done is not run again", |_, state| {
            kept(state, Promise::DoneStaysDone)
        }),
        Property::always(
            "T5w nor what has succeeded, unless it went in an outage",
            |_, state| kept(state, Promise::SuccessIsSeen),
        ),
        Property::always("I1 no stamp in the world is newer than memory", no_newer_stamp),
        Property::always("addresses are there while something lives", |_, state| {
            kept(state, Promise::AddressesFirst)
        }),
    ]
}

/// The model is worth something only if it gets anywhere.
fn reached(model: &Machine) -> Vec<Property<Machine>> {
    let mut all = vec![
        Property::sometimes("the job succeeds", |_, state| {
            outcome(state) == Some(Outcome::Succeeded)
        }),
        Property::sometimes("it succeeds after a restart", |_, state| {
            outcome(state) == Some(Outcome::Succeeded) && paid(state) == 1
        }),
    ];
    if model.charge != Charge::DisruptedEpochs || model.mischief > 1 {
        all.push(Property::sometimes(
            "the budget is used up and the job fails",
            |_, state| is_out_of_restarts(state),
        ));
    }
    if model.toggles > 1 {
        all.push(Property::sometimes("all is stopped on hold", |_, state| {
            is_suspended(state) && state.slots.iter().all(|slot| slot.here.is_none())
        }));
        all.push(Property::sometimes(
            "it succeeds after it was held",
            |_, state| outcome(state) == Some(Outcome::Succeeded) && has_resumed(state),
        ));
    }
    all
}

fn paid(state: &State) -> u32 {
    state.memory.as_deref().map_or(0, |memory| memory.paid)
}

fn is_out_of_restarts(state: &State) -> bool {
    let verdict = state.memory.as_deref().and_then(|memory| memory.verdict.as_ref());
    verdict.is_some_and(|verdict| matches!(verdict.cause, Cause::Restarts { .. }))
}

/// On hold, after something had run.
fn is_suspended(state: &State) -> bool {
    let held = |memory: &Memory| memory.held == Some(Hold::Suspended) && memory.epoch > 0;
    state.memory.as_deref().is_some_and(held)
}

fn has_resumed(state: &State) -> bool {
    state.memory.as_deref().is_some_and(|memory| memory.resumed)
}

fn outcome(state: &State) -> Option<Outcome> {
    let memory = state.memory.as_deref()?;
    memory.verdict.as_ref().map(|verdict| verdict.outcome)
}

/// What one step must keep to.
pub fn judge_step(model: &Machine, state: &mut State, observed: &Observed, now: Time, step: &Step) {
    let memory = state.memory.clone();
    let (before, after) = (memory.as_deref(), &step.memory);
    if before != Some(after) && !decides_nothing_new(model, state, observed, now, step) {
        state.breaks(Promise::Idempotent);
    }
    judge_verdict(model, state, before, step);
    judge_charges(model, state, before, step);
    judge_late(model, state, observed, step);
    if !step.actions.is_empty() && observed.storage == Storage::Drops
        || step.actions.iter().any(Action::makes) && observed.refused.is_some()
    {
        state.breaks(Promise::Hindered);
    }
    let stamp =
        |memory: Option<&Memory>, task| memory.map_or_else(Stamp::default, |memory| memory.stamp(task));
    if model
        .tasks
        .iter()
        .any(|task| stamp(Some(after), task) < stamp(before, task))
    {
        state.breaks(Promise::StampsRise);
    }
}

/// What one step must keep to whose memory is stored.
pub fn judge_stored(model: &Machine, state: &mut State, step: &Step) {
    judge_answers(model, state, step);
}

/// Whatever need not be stored now is a success that is visible, or nothing that matters.
fn judge_late(model: &Machine, state: &mut State, observed: &Observed, step: &Step) {
    if matches!(step.persist, Persist::Nothing | Persist::Before) {
        return;
    }
    let none = Memory::new(&model.jobs[0]);
    let before = state.memory.as_deref().unwrap_or(&none);
    let after = &step.memory;
    let same = (before.epoch, before.paid, before.held, &before.verdict)
        == (after.epoch, after.paid, after.held, &after.verdict);
    let visible = model.tasks.iter().all(|task| {
        let ended = |seen: &TaskSeen| {
            seen.id == *task && seen.stamp == after.stamp(task) && matches!(seen.state, Seen::Ended(_))
        };
        let new = after.is_done(task) && !before.is_done(task);
        before.stamp(task) == after.stamp(task) && (!new || observed.tasks.iter().any(ended))
    });
    if !same || !visible || observed.storage != Storage::Keeps {
        state.breaks(Promise::LateIsVisible);
    }
}

/// With its own memory and the same view, the same follows and nothing is told again.
fn decides_nothing_new(model: &Machine, state: &State, observed: &Observed, now: Time, step: &Step) -> bool {
    let again = (model.decide)(model.job(state), Some(&step.memory), observed, now);
    let odd = |event: &Event| matches!(event, Event::Odd(_));
    again.memory == step.memory && again.actions == step.actions && again.events.iter().all(odd)
}

fn judge_verdict(model: &Machine, state: &mut State, before: Option<&Memory>, step: &Step) {
    let verdict = before.and_then(|memory| memory.verdict.as_ref());
    let creates = step
        .actions
        .iter()
        .any(|action| matches!(action, Action::Create { .. }));
    if verdict.is_some() && (creates || step.memory.verdict.as_ref() != verdict) {
        state.breaks(Promise::VerdictStands);
    }
    if verdict.is_none() && !verdict_is_true(model, state, &step.memory) {
        state.breaks(Promise::VerdictIsTrue);
    }
}

fn judge_charges(model: &Machine, state: &mut State, before: Option<&Memory>, step: &Step) {
    let after = &step.memory;
    let paid_before = before.map_or(0, |memory| memory.paid);
    let told = step
        .events
        .iter()
        .filter(|event| matches!(event, Event::Restarting { paid: true, .. }));
    let told = u32::try_from(told.count()).unwrap();
    let limit = model.jobs[0].limits.restarts.unwrap_or(u32::MAX);
    if after.paid != paid_before + told || after.paid > limit || after.paid as usize > state.past.costly.len()
    {
        state.breaks(Promise::PaidOnce);
    }
}

fn judge_answers(model: &Machine, state: &mut State, step: &Step) {
    for event in &step.events {
        let Event::TaskEnded { task, stamp, .. } = event else {
            continue;
        };
        let at = model.tasks.iter().position(|known| known == task).unwrap();
        let life = (u8::try_from(at).unwrap(), *stamp);
        match state.past.answered.binary_search(&life) {
            Ok(_) => state.breaks(Promise::AnsweredOnce),
            Err(at) => state.past.answered.insert(at, life),
        }
    }
}

/// Drops what no property can ask for any more, so that states that differ only in it are one.
pub fn forget(model: &Machine, state: &mut State) {
    let Some(memory) = state.memory.as_deref() else {
        return;
    };
    let (past, slots) = (&mut state.past, &state.slots);
    past.answered.retain(|&(at, stamp)| {
        let at = usize::from(at);
        let Slot {
            here,
            unheard,
            seen,
            gone,
        } = &slots[at];
        let known = [here, unheard, seen, gone]
            .iter()
            .any(|pod| pod.is_some_and(|pod| pod.stamp == stamp));
        known || stamp >= memory.stamp(&model.tasks[at])
    });
    for succeeded in &mut past.succeeded {
        if u32::from(*succeeded) <= memory.epoch {
            *succeeded = 0;
        }
    }
}

/// A verdict, where there is one, is true: those who decide have succeeded, or more has gone wrong than was paid for.
fn verdict_is_true(model: &Machine, state: &State, memory: &Memory) -> bool {
    let Some(verdict) = &memory.verdict else {
        return true;
    };
    let succeeded = |&at: &usize| u32::from(state.past.succeeded[at]) == memory.epoch + 1;
    let budget = model.jobs[0].limits.restarts.unwrap_or(u32::MAX) as usize;
    match verdict.outcome {
        Outcome::Succeeded => model.deciders.iter().all(succeeded),
        Outcome::Failed => {
            // Where failures are kept, they may end the job without costing anything.
            state.past.costly.len() > budget || state.past.failed
        }
        Outcome::Terminated => false,
    }
}

/// What one action must keep to, looked at just before it is carried out.
pub fn judge_action(model: &Machine, state: &mut State, action: Move) {
    match action {
        Move::Ensure => {}
        Move::EnsureGroup | Move::RemoveGroup => {
            // What others make while our request is under way is found by it, and refuses it.
            if action == Move::RemoveGroup && state.group == Group::Foreign {
                state.breaks(Promise::OthersGroup);
            }
        }
        Move::Stop { slot, serial } => judge_stop(model, state, usize::from(slot), serial),
        Move::Remove => {
            if state
                .slots
                .iter()
                .any(|slot| slot.here.is_some_and(|pod| pod.alive()))
            {
                state.breaks(Promise::AddressesFirst);
            }
        }
        Move::Create { slot, stamp } => judge_create(model, state, usize::from(slot), stamp),
    }
}

/// T5w: we do not remove the instance of a success that is not stored.
fn judge_stop(model: &Machine, state: &mut State, slot: usize, serial: u8) {
    let stored = |memory: &Memory, pod: &Pod| {
        let task = &model.tasks[slot];
        memory.verdict.is_some() || memory.is_done(task) || pod.stamp < memory.stamp(task)
    };
    let pod = state.slots[slot].here.filter(|pod| pod.serial == serial);
    let memory = state.memory.as_deref();
    if pod.is_some_and(|pod| pod.has_succeeded() && !memory.is_some_and(|memory| stored(memory, &pod))) {
        state.breaks(Promise::SuccessIsSeen);
    }
}

fn judge_create(model: &Machine, state: &mut State, slot: usize, stamp: Stamp) {
    let task = &model.tasks[slot];
    let memory = state.memory.clone();
    if state.slots[slot].here.is_some() {
        state.breaks(Promise::OneInstance);
    }
    let older = |pod: &Pod| pod.alive() && pod.stamp.epoch < stamp.epoch;
    if state
        .slots
        .iter()
        .any(|slot| slot.here.as_ref().is_some_and(older))
    {
        state.breaks(Promise::OneEpoch);
    }
    if memory.as_ref().is_some_and(|memory| memory.is_done(task)) {
        state.breaks(Promise::DoneStaysDone);
    }
    if u32::from(state.past.succeeded[slot]) == stamp.epoch + 1 {
        state.breaks(Promise::SuccessIsSeen);
    }
    // Before the first memory is stored there are first lives only.
    if memory.map_or_else(Stamp::default, |memory| memory.stamp(task)) != stamp {
        state.breaks(Promise::StampsRise);
    }
    if !state.addresses {
        state.breaks(Promise::AddressesFirst);
    }
}

fn no_newer_stamp(model: &Machine, state: &State) -> bool {
    state.slots.iter().zip(&model.tasks).all(|(slot, task)| {
        let stored = state.memory.as_deref();
        let current = stored.map_or_else(Stamp::default, |memory| memory.stamp(task));
        slot.here.is_none_or(|pod| pod.stamp <= current)
    })
}

fn all_ended_is_the_end(model: &Machine, memory: &Memory) -> bool {
    let ended = |task| memory.is_done(task) || memory.is_failed(task);
    memory.verdict.is_some() || !model.tasks.iter().all(ended)
}

/// How many turns of the operator the world may need to come to rest.
const PATIENCE: u64 = 12;

/// Whether the world comes to rest as wanted if from now on nothing happens but what has been asked for: those who
/// were told to stop do, and the operator sees everything and does not fail. The programs neither start nor end.
fn comes_to_rest(model: &Machine, state: &State) -> bool {
    if !state.pass.is_empty() || state.late.is_some() {
        return true; // Such a state is a moment away from one without.
    }
    let mut state = state.clone();
    state.refused = false;
    state.storage = Storage::Keeps;
    for turn in 1..=PATIENCE {
        obey_everyone(model, &mut state);
        let before = state.memory.clone();
        // No wait is longer than this.
        operator::decide(model, &mut state, Time(DAWN + 1000 * turn), false);
        state.refused = false;
        if state.pass.is_empty() && state.memory == before {
            return is_as_wanted(model, &state);
        }
        while let Some(action) = state.pass.pop() {
            operator::carry_out(model, &mut state, action);
        }
    }
    false
}

fn obey_everyone(model: &Machine, state: &mut State) {
    for at in 0..model.tasks.len() {
        let slot = u8::try_from(at).unwrap();
        // Nothing is lost on the way: the operator hears of each step.
        operator::observe(state, slot);
        if state.slots[at].here.is_some_and(|pod| pod.stopping.is_some()) {
            if state.slots[at].here.is_some_and(|pod| pod.life == Life::Running) {
                environment::change(model, state, environment::Change::Obey(slot));
            }
            environment::change(model, state, environment::Change::Leave(slot));
            operator::observe(state, slot);
        }
    }
}

/// The end of the job and everything cleaned up; or on hold with nothing left; or running what memory wants.
fn is_as_wanted(model: &Machine, state: &State) -> bool {
    let Some(memory) = state.memory.as_deref() else {
        return false;
    };
    let pods = || {
        state
            .slots
            .iter()
            .zip(&model.tasks)
            .map(|(slot, task)| (slot.here, task))
    };
    let over = memory.verdict.is_some() || memory.held.is_some();
    if over && state.group == Group::Ours {
        return false;
    }
    if memory.verdict.is_some() {
        return pods().all(|(pod, task)| {
            pod.is_none_or(|pod| may_stay(model, memory, &pod, pod.stamp < memory.stamp(task)))
        });
    }
    if memory.held.is_some() {
        return pods().all(|(pod, _)| pod.is_none());
    }
    pods().all(|(pod, task)| {
        let current =
            pod.is_some_and(|pod| pod.alive() && pod.stopping.is_none() && pod.stamp == memory.stamp(task));
        let settled = memory.is_done(task) || memory.is_failed(task);
        if settled {
            pod.is_none_or(|pod| !pod.alive())
        } else {
            current
        }
    })
}

fn may_stay(model: &Machine, memory: &Memory, pod: &Pod, stale: bool) -> bool {
    let after_the_end = memory
        .verdict
        .as_ref()
        .is_some_and(|verdict| DAWN + u64::from(pod.created) > verdict.at.0);
    match model.jobs[0].clean {
        Clean::All => false,
        Clean::Unfinished => !pod.alive(),
        Clean::None => !pod.alive() || !stale && !after_the_end,
    }
}
