//! An adversary: between any two steps it writes what it likes on the job's own instances and into the stored memory.
//!
//! It stands for a tenant who may write pods, pods' statuses and the status of the job. Values come from the whole range of
//! their types, the edges first. What such a tenant says about its own job is believed where it could be true, so only L1 to
//! L9 and T1 are claimed, and that the run comes to an end or is looked at now and then: nothing that is forged keeps the operator busy. Objects that are
//! *not* the job's own never reach `step`; that, and that other jobs go on, is shown where pods are told apart: T13 and T14
//! in `crates/operator/src/store/tests/adversary.rs`.

use super::super::instance::{Instance, State};
use super::super::observer::{Observer, StepCall};
use super::super::play::{Rest, play_observed};
use super::super::world::World;
use super::mutants::Mutant;
use super::properties::{Violation, check_step};
use super::*;
use crate::memory::{Cause, Failure, Hold, Outcome, Verdict};
use crate::policy::bounds::NO_REST;
use crate::{Event, Exit, Memory, Observed, Oddity, RoleMemory, RoleName, Runs, Stamp, Step, TaskId, Why};

/// How many seeds the ordinary test plays.
const ATTACKED: u64 = 5_000;

/// At most so many writes of the adversary in one run.
const MOST_MOVES: u32 = 12;

/// After the last move a run takes at most so many steps, and one more in each so many seconds.
const CALM_STEPS: u32 = 500;
const CALM_SECONDS: u32 = 20;

/// Safeguards without which deciding does not end, each with the property that must break.
const ADVERSARY_MUTANTS: [(&str, Mutant, &str); 2] = [
    ("a restart that does not move its stamp", endless_restart, "L9"),
    ("one event for each index of a forged range", each_index, "L9"),
];

struct Adversary {
    random: Random,
    moves: u32,
    /// It has written into memory: a verdict may not be `step`'s own afterwards.
    touched_memory: bool,
    /// The second of its last move, and how often `step` was called since.
    last_move: u32,
    steps_since: u32,
    /// The last call, for the report.
    last_call: String,
    violations: Vec<Violation>,
}

impl Adversary {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0xad5e);
        Self {
            moves: random.between(1, MOST_MOVES),
            random,
            touched_memory: false,
            last_move: 0,
            steps_since: 0,
            last_call: String::new(),
            violations: Vec::new(),
        }
    }

    fn violated(&mut self, property: &'static str, at: u32, what: String) {
        if self.violations.iter().all(|known| known.property != property) {
            self.violations.push(Violation { property, at, what });
        }
    }

    fn forge(&mut self, world: &mut World) {
        let there = |(_, instance): &(usize, &Instance)| instance.ours && instance.exists();
        let own: Vec<usize> = world
            .instances
            .iter()
            .enumerate()
            .filter(there)
            .map(|(at, _)| at)
            .collect();
        match self.random.between(0, 9) {
            0..=2 if !own.is_empty() => {
                let at = *self.random.pick(&own);
                world.instances[at].stamp = self.stamp();
                world.instances[at].show(world.now);
            }
            3..=5 if !own.is_empty() => {
                let at = *self.random.pick(&own);
                let now = world.now.min(world.clock());
                self.forge_status(&mut world.instances[at], now);
            }
            6 => self.add_instance(world),
            7 if !own.is_empty() => {
                let at = *self.random.pick(&own);
                world.remove(at, None);
            }
            _ => {
                self.touched_memory = true;
                world.memory = match world.memory.take() {
                    Some(memory) if self.random.chance(90) => Some(self.memory(memory)),
                    _ => None,
                };
            }
        }
    }

    /// Small, at an edge, or anything.
    fn number(&mut self) -> u32 {
        let edges = [
            u32::MAX,
            u32::MAX - 1,
            Stamp::MOST,
            Stamp::MOST - 1,
            Stamp::MOST + 1,
            0,
        ];
        match self.random.between(0, 3) {
            0 | 1 => self.random.between(0, 4),
            2 => *self.random.pick(&edges),
            _ => u32::try_from(self.random.number() >> 32).unwrap_or(u32::MAX),
        }
    }

    fn time(&mut self) -> Time {
        match self.random.between(0, 3) {
            0 => Time(u64::MAX),
            1 => Time(0),
            2 => Time(100_000 + u64::from(self.random.between(0, 200))),
            _ => Time(self.random.number()),
        }
    }

    fn stamp(&mut self) -> Stamp {
        Stamp {
            epoch: self.number(),
            attempt: self.number(),
        }
    }

    fn exit(&mut self) -> Exit {
        let whys = [Why::Itself, Why::OutOfMemory, Why::NotStarted, Why::Disrupted];
        let code = i32::from_ne_bytes(self.number().to_ne_bytes());
        let never_ran = self.random.chance(20);
        Exit {
            code: self
                .random
                .chance(90)
                .then(|| *self.random.pick(&[0, 1, 137, code])),
            why: *self.random.pick(&whys),
            asked: self.random.chance(20),
            at: self.time(),
            ran: self.number(),
            never_ran,
            rejected: never_ran && self.random.chance(50),
            container: self.random.chance(10).then(|| "sidecar".into()),
            message: self
                .random
                .chance(10)
                .then(|| "x".repeat(Exit::MOST_MESSAGE).into()),
            cause: None,
        }
    }

    /// W7 holds for forged times too: the store takes none for later than when it was first seen.
    fn forge_status(&mut self, instance: &mut Instance, now: Time) {
        match self.random.between(0, 3) {
            0 => instance.in_place = self.number(),
            1 => instance.created = self.time().min(now),
            _ => {
                let mut exit = self.exit();
                exit.at = exit.at.min(now);
                instance.state = State::Ended(exit);
            }
        }
        instance.show(now);
    }

    /// An instance of a task that the job may not have, by whatever name it has.
    fn add_instance(&mut self, world: &mut World) {
        let mut names: Vec<RoleName> = world.job.roles.iter().map(|role| role.name.clone()).collect();
        names.push(RoleName::new("nonsense"));
        let task = TaskId {
            role: self.random.pick(&names).clone(),
            index: self.number(),
        };
        if world.find(&task).is_none() {
            let number = u32::try_from(world.instances.len()).unwrap_or(u32::MAX);
            let mut forged = Instance::new(&task, self.stamp(), number, world.now, world.now);
            forged.name = format!("{task} forged {number}").into();
            self.forge_status(&mut forged, world.now);
            world.instances.push(forged);
        }
    }

    fn runs(&mut self) -> Runs {
        let (one, other, value) = (self.number(), self.number(), self.number().max(1));
        let text = format!("{}-{}:{value}", one.min(other), one.max(other));
        text.parse().unwrap_or_default()
    }

    fn role_memory(&mut self, role: &mut RoleMemory) {
        let (one, other) = (self.number(), self.number());
        let range = format!("{}-{}", one.min(other), one.max(other));
        match self.random.between(0, 7) {
            0 => role.attempts = self.runs(),
            1 => role.done = range.parse().unwrap_or_default(),
            2 => role.failed = range.parse().unwrap_or_default(),
            3 => role.born = self.number(),
            4 => role.restarts = self.number(),
            5 => role.rejections = self.runs(),
            6 => role.not_before = self.runs(),
            _ => role.starting_since = self.runs(),
        }
    }

    fn memory(&mut self, mut memory: Memory) -> Memory {
        match self.random.between(0, 14) {
            0 => memory.epoch = self.number(),
            1 => memory.started = self.random.chance(80).then(|| self.time()),
            2 => {
                let holds = [None, Some(Hold::Suspended), Some(Hold::Aborted)];
                memory.held = *self.random.pick(&holds);
            }
            3 => memory.not_before = self.time(),
            4 => memory.paid = self.number(),
            5 => memory.rounds = self.number(),
            6 => memory.attempts_before = self.number(),
            7 => memory.in_place_gone = self.number(),
            8 => memory.in_place_most = self.number(),
            9 => memory.job = "another".into(),
            10 => {
                let (task, stamp) = (TaskId::new("nonsense", self.number()), self.stamp());
                let exit = self.exit();
                memory.first_failure = Some(Failure { task, stamp, exit });
            }
            11 => memory.orders.push("forged".into()),
            12 => {
                let at = self.time();
                let outcome = *self.random.pick(&[Outcome::Succeeded, Outcome::Failed]);
                let cause = Cause::Order;
                memory.verdict = self.random.chance(50).then_some(Verdict { outcome, cause, at });
            }
            _ => {
                let mut names: Vec<RoleName> = memory.roles.keys().cloned().collect();
                names.push(RoleName::new("nonsense"));
                let name = self.random.pick(&names).clone();
                let mut role = memory.roles.remove(&name).unwrap_or_default();
                self.role_memory(&mut role);
                memory.roles.insert(name, role);
            }
        }
        memory
    }
}

impl Observer for Adversary {
    fn stepping(&mut self, world: &mut World) {
        if self.moves > 0 && self.random.chance(25) {
            self.moves -= 1;
            self.forge(world);
            (self.last_move, self.steps_since) = (world.elapsed(), 0);
        }
        self.steps_since += 1;
    }

    fn stepped(&mut self, call: &StepCall, decide: &mut Decide<'_>, at: u32) {
        for violation in check_step(call, decide) {
            self.violated(violation.property, at, violation.what);
        }
        if self.moves == 0 && self.steps_since > CALM_STEPS {
            let (memory, observed, now, step) = (call.memory, call.observed, call.now, call.step);
            self.last_call = format!("{now} {memory:?} {observed:?} gave {step:?}");
        }
        let verdict = call.step.memory.verdict.as_ref();
        let endless = verdict
            .is_some_and(|verdict| matches!(&verdict.cause, Cause::Rule { from, .. } if **from == *NO_REST));
        if endless && !self.touched_memory {
            self.violated("L9", at, "the rules fired without end".into());
        }
    }

    fn advanced(&mut self, world: &World) {
        let alive: Vec<&TaskId> = world
            .ours()
            .filter(|one| one.alive())
            .map(|one| &one.task)
            .collect();
        let twice = alive
            .iter()
            .enumerate()
            .find(|(at, task)| alive[..*at].contains(task));
        if let Some((_, task)) = twice {
            self.violated("T1", world.elapsed(), format!("a second {task} lives"));
        }
    }

    /// A job may be looked at now and then for ever, as one with a life that memory does not know is; it may not be busy.
    fn rested(&mut self, world: &World, rest: Rest, _decide: &mut Decide<'_>) {
        let seconds = world.elapsed().saturating_sub(self.last_move);
        let busy = self.steps_since > CALM_STEPS + seconds / CALM_SECONDS;
        if rest == Rest::Circles || busy {
            let steps = self.steps_since;
            let what = format!(
                "{rest:?} after {steps} steps in the last {seconds} s; the last: {}",
                self.last_call
            );
            self.violated("L9", world.elapsed(), what);
        }
    }
}

/// What does not hold in one attacked run, and its story.
fn attacked(seed: u64, mut decide: Mutant) -> (Vec<Violation>, String) {
    let case = Case::of(seed);
    let mut adversary = Adversary::new(seed);
    let run = || {
        let played = play_observed(
            &case.job,
            &case.script,
            &case.options,
            &mut decide,
            &mut adversary,
        );
        played.trace.to_string()
    };
    let story = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        adversary.violated("L1", 0, "it panicked; the message is above".into());
        String::new()
    });
    (adversary.violations, story)
}

#[test]
fn deciding_ends_whatever_is_forged() {
    let from = told("TRAINYARD_SEED_FROM", 0).unwrap();
    let count = told("TRAINYARD_SEEDS", ATTACKED).unwrap();
    let failures = play_all(from, count, MOST_FAILURES, |seed| {
        let (violations, story) = attacked(seed, step);
        let violation = violations.first()?;
        Some(format!("seed {seed}\n{violation}\n{story}"))
    });
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn each_bound_taken_out_of_step_is_noticed_under_attack() {
    for (name, mutant, property) in ADVERSARY_MUTANTS {
        let noticed = play_all(0, ATTACKED, 1, |seed| {
            let (violations, _) = attacked(seed, mutant);
            violations
                .into_iter()
                .find(|violation| violation.property == property)
        });
        assert!(!noticed.is_empty(), "{name}: {property} still holds");
    }
}

/// An end whose restart saturates is answered again on every step.
fn endless_restart(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut given = step(job, memory, observed, now);
    let saturates = |seen: &crate::TaskSeen| seen.stamp.epoch == u32::MAX || seen.stamp.attempt == u32::MAX;
    if observed.tasks.iter().any(saturates) {
        given.memory.rounds = memory.map_or(0, |memory| memory.rounds.wrapping_add(1));
        given.persist = crate::Persist::Before;
    }
    given
}

/// The indexes of a range are gone through one by one.
fn each_index(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let mut given = step(job, memory, observed, now);
    for (name, role) in memory.iter().flat_map(|memory| &memory.roles) {
        let odd = |index| {
            let task = TaskId {
                role: name.clone(),
                index,
            };
            Event::Odd(Oddity::NewerThanMemory(task))
        };
        given.events.extend(role.done.iter().take(1_000).map(odd));
    }
    given
}
