//! Chance from a seed: the same seed gives the same faults on every machine.

use super::script::{Delayed, Fault, ProgramEnd, Script, Trouble};
use crate::job::{Job, RoleName, TaskId};
use crate::memory::Outcome;
use crate::observed::{Fixture, Ordered};

/// A small generator of numbers (splitmix64): equal seeds, equal numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        let span = u64::from(high.saturating_sub(low)) + 1;
        low.saturating_add(u32::try_from(self.number() % span).unwrap_or(0))
    }

    /// True in so many of a hundred cases.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.between(1, 100) <= percent
    }

    /// One of these; there must be one.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let last = u32::try_from(from.len().saturating_sub(1)).unwrap_or(u32::MAX);
        &from[self.between(0, last) as usize]
    }
}

/// Until when faults begin.
const HORIZON: u32 = 90;

/// Faults for a job: of programs and nodes, of users, and of the operator.
#[must_use]
pub fn faults_for(job: &Job, random: &mut Random) -> Script {
    let tasks: Vec<TaskId> = job.tasks().collect();
    let mut faults = Vec::new();
    if tasks.is_empty() {
        return Script::default();
    }
    for _ in 0..random.between(0, 6) {
        let task = random.pick(&tasks).clone();
        faults.push(of_a_task(task, random));
    }
    if random.chance(10) {
        never_starts(random.pick(&tasks), random, &mut faults);
    }
    for _ in 0..random.between(0, 2) {
        of_people(job, random, &mut faults);
    }
    for _ in 0..random.between(0, 5) {
        let task = random.pick(&tasks).clone();
        if random.chance(8) {
            clock(random, &mut faults);
        } else {
            faults.push(Fault::Operator(trouble(task, random)));
        }
    }
    Script { faults }
}

fn end(random: &mut Random) -> ProgramEnd {
    let codes = [0, 1, 1, 2, 42, 130, 137, 137, 139, 143];
    match random.between(0, 11) {
        0 => ProgramEnd::OutOfMemory,
        1 => ProgramEnd::NotStarted,
        2 => ProgramEnd::Evicted,
        3 => ProgramEnd::Init(*random.pick(&[None, Some(1), Some(3), Some(137)])),
        4 => ProgramEnd::Rejected,
        _ => ProgramEnd::Code(*random.pick(&codes)),
    }
}

fn of_a_task(task: TaskId, random: &mut Random) -> Fault {
    let at = random.between(0, HORIZON);
    match random.between(0, 13) {
        0..=4 => Fault::Ends {
            task,
            life: random.between(0, 3),
            after: random.between(0, 30),
            end: end(random),
        },
        5 => Fault::EndsAt {
            task,
            at,
            end: end(random),
        },
        6 | 7 => Fault::Drained {
            task,
            at,
            code: *random.pick(&[0, 143, 137]),
        },
        8 => Fault::Vanishes { task, at },
        9 => Fault::Collected { task, at },
        10 => Fault::StartsLate {
            task,
            life: random.between(0, 2),
            by: random.between(1, 40),
        },
        11 => Fault::IgnoresTerm {
            task,
            seconds: random.between(0, 40),
        },
        12 => Fault::Lingers { task },
        _ => Fault::NodeLost {
            task,
            at,
            back_after: random.chance(60).then(|| random.between(1, 60)),
        },
    }
}

/// One life after the other ends before it has run.
fn never_starts(task: &TaskId, random: &mut Random, faults: &mut Vec<Fault>) {
    let end = *random.pick(&[
        ProgramEnd::Rejected,
        ProgramEnd::Rejected,
        ProgramEnd::Init(Some(1)),
    ]);
    faults.extend((0..random.between(4, 9)).map(|life| Fault::Ends {
        task: task.clone(),
        life,
        after: 0,
        end,
    }));
}

fn of_people(job: &Job, random: &mut Random, faults: &mut Vec<Fault>) {
    let at = random.between(0, HORIZON);
    match random.between(0, 9) {
        0..=2 => {
            faults.push(Fault::Suspend { at });
            if random.chance(90) {
                let at = at + random.between(0, 20);
                faults.push(Fault::Resume { at });
            }
        }
        3 | 4 => {
            let names: Vec<RoleName> = job.roles.iter().map(|role| role.name.clone()).collect();
            let role = random.pick(&names).clone();
            let count = random.between(0, 4);
            faults.push(Fault::Replicas {
                role: role.clone(),
                at,
                count,
            });
            if random.chance(50) {
                let (at, count) = (at + random.between(0, 10), random.between(1, 4));
                faults.push(Fault::Replicas { role, at, count });
            }
        }
        5 | 6 => orders(at, random, faults),
        7 => {
            faults.push(Fault::GangOpens { at: at / 2 });
            faults.push(Fault::GangBreaks { at });
        }
        8 => faults.push(Fault::FixtureLost {
            fixture: *random.pick(&[Fixture::Addresses, Fixture::Gang]),
            at,
        }),
        _ if random.chance(30) => faults.push(Fault::Deleted { at }),
        _ => {
            let tasks: Vec<TaskId> = job.tasks().collect();
            faults.push(Fault::NameTaken {
                task: random.pick(&tasks).clone(),
                at: if random.chance(50) { 0 } else { at },
                seconds: random.between(1, 20),
            });
        }
    }
}

fn orders(at: u32, random: &mut Random, faults: &mut Vec<Fault>) {
    let paid = random.chance(50);
    let what = match random.between(0, 4) {
        0 => Ordered::RestartJob { paid },
        1 => Ordered::Finish(*random.pick(&[Outcome::Succeeded, Outcome::Failed, Outcome::Terminated])),
        2 | 3 => Ordered::Abort,
        _ => Ordered::Resume { paid },
    };
    faults.push(Fault::Ordered { at, what });
    if what == Ordered::Abort && random.chance(80) {
        let at = at + random.between(0, 20);
        let what = Ordered::Resume { paid };
        faults.push(Fault::Ordered { at, what });
    }
}

/// A clock that is wrong is set right some time: nothing claims to come to rest under one that stays wrong.
fn clock(random: &mut Random, faults: &mut Vec<Fault>) {
    let at = random.between(0, HORIZON);
    let by = i32::try_from(random.between(0, 200)).unwrap_or(0) - 100;
    let step = |at, by| Fault::Operator(Trouble::ClockSteps { at, by });
    faults.push(step(at, by));
    faults.push(step(at + random.between(1, 60), -by));
}

fn trouble(task: TaskId, random: &mut Random) -> Trouble {
    let at = random.between(0, HORIZON);
    let write = random.between(0, 40);
    match random.between(0, 12) {
        0..=3 => Trouble::Crashes {
            after_write: write,
            down: if random.chance(50) {
                0
            } else {
                random.between(1, 40)
            },
        },
        4 => Trouble::WriteRefused { write },
        5 => Trouble::WriteTimesOut { write },
        6..=8 => Trouble::Lags {
            what: match random.between(0, 5) {
                0 => Delayed::Gang,
                1 => Delayed::Orders,
                _ => Delayed::Task(task),
            },
            from: at,
            until: at + random.between(1, 30),
        },
        9 => Trouble::Busy {
            at,
            seconds: random.between(1, 30),
        },
        10 => Trouble::LooksAgain { at },
        11 => Trouble::Relists { at },
        _ if random.chance(30) => Trouble::OldLeader {
            at,
            behind: random.between(1, 4),
        },
        _ => Trouble::Relists { at },
    }
}
