//! Thousands of random runs of random jobs, every property checked on every step; and the mutants that prove that
//! the simulator would notice.
//!
//! `cargo xtask sim --seeds 1000000 --from 0` plays more of them. A failing seed says how it is played again.

mod adversary;
mod jobs;
mod mutants;
mod nonsense;
mod one_step;
mod properties;
mod shrink;
mod trace;

use std::num::ParseIntError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use self::mutants::{MUTANTS, Mutant};
use self::properties::{Ledger, Violation};
use self::shrink::shrink;
use super::driver::Decide;
use super::play::play_observed;
use super::{Fault, Options, Played, Random, Script, Trouble, faults_for, play};
use crate::{Fixture, InPlace, Job, RoleKind, Storage, Time, step};

/// How many seeds the ordinary test plays.
const SEEDS: u64 = 10_000;

/// How many seeds are played twice, with and without what befalls the operator.
const TWINS: u64 = 2_000;

/// How many seeds may pass until a mutant has been noticed.
const MUTANT_SEEDS: u64 = 3_000;

/// After so many failing seeds no more are played.
const MOST_FAILURES: u64 = 3;

/// Plays a job and checks every property on the way.
fn checked(
    job: &Job,
    script: &Script,
    options: &Options,
    decide: &mut Decide<'_>,
) -> (Played, Vec<Violation>) {
    let mut ledger = Ledger::new(script);
    let played = play_observed(job, script, options, decide, &mut ledger);
    (played, ledger.violations)
}

/// What the protocol between `step` and a world leaves open: memory stored late, fixtures that others change or make, and
/// what is known about storage.
fn protocol(random: &mut Random) -> Vec<Fault> {
    let mut faults = Vec::new();
    let at = random.between(0, 60);
    if random.chance(70) {
        let (from, until) = if random.chance(50) {
            (0, 10_000)
        } else {
            (at, at + random.between(1, 60))
        };
        faults.push(Fault::Operator(Trouble::StoresLate { from, until }));
    }
    if random.chance(15) {
        let seen = *random.pick(&[Storage::Unknown, Storage::Drops]);
        faults.push(Fault::Storage { at, seen });
        // Nothing claims to come to rest while memory is dropped.
        let at = at + random.between(0, 30);
        faults.push(Fault::Storage {
            at,
            seen: Storage::Unknown,
        });
    }
    if random.chance(15) {
        let fixture = *random.pick(&[Fixture::Gang, Fixture::Addresses]);
        faults.push(match random.between(0, 2) {
            0 => Fault::FixtureWrong { fixture, at },
            _ => Fault::FixtureTaken {
                fixture: Fixture::Gang,
                at: if random.chance(50) { 0 } else { at },
            },
        });
    }
    faults
}

/// Everything that one seed stands for.
struct Case {
    job: Job,
    script: Script,
    options: Options,
}

impl Case {
    fn of(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let job = jobs::random(&mut random);
        let mut script = faults_for(&job, &mut random);
        script.faults.extend(protocol(&mut random));
        let always = job.roles.iter().any(|role| role.in_place == InPlace::Always);
        let mut endless = vec![RoleKind::Ps, RoleKind::Evaluator];
        if always {
            // A program that is started again whenever it exits must not exit, or nothing ever comes to rest.
            endless.extend([RoleKind::Worker, RoleKind::Chief]);
        }
        let options = Options {
            begin: Time(100_000),
            run_for: 20_000,
            start: random.between(0, 3),
            ready: random.between(0, 2),
            run: random.between(1, 50),
            endless,
            term: random.between(0, 3),
            grace: random.between(1, 30),
            in_place_first: random.between(1, 10),
            in_place_most: 40,
            gang: random.between(0, 5),
        };
        Self { job, script, options }
    }

    /// The same job and the same ends of lives twice: once with what befalls the operator, once without.
    fn twins(seed: u64) -> (Self, Self) {
        let mut random = Random::new(seed);
        let job = jobs::steady(&mut random);
        let ends = jobs::ends(&job, &mut random);
        let troubles = faults_for(&job, &mut random).faults.into_iter().filter(|fault| {
            // With two leaders, or with nothing seen of an end at all, less is claimed.
            matches!(fault, Fault::Operator(trouble) if !matches!(trouble, Trouble::OldLeader { .. }))
        });
        let options = Options {
            begin: Time(100_000),
            run: random.between(1, 50),
            endless: vec![RoleKind::Ps, RoleKind::Evaluator],
            ..Options::default()
        };
        let with = |faults: Vec<Fault>| Self {
            job: job.clone(),
            script: Script { faults },
            options: options.clone(),
        };
        let late = Fault::Operator(Trouble::StoresLate {
            from: 0,
            until: 10_000,
        });
        let late = seed.is_multiple_of(2).then_some(late);
        let disturbed = with(ends.iter().cloned().chain(troubles).chain(late).collect());
        (disturbed, with(ends))
    }

    /// What does not hold; a panic is a violation of L1.
    fn violations(&self, script: &Script) -> Vec<Violation> {
        self.violations_of(step, script)
    }

    /// The same of something in the place of `step`.
    fn violations_of(&self, mut decide: Mutant, script: &Script) -> Vec<Violation> {
        let play = || checked(&self.job, script, &self.options, &mut decide).1;
        catch_unwind(AssertUnwindSafe(play)).unwrap_or_else(|_| {
            vec![Violation {
                property: "L1",
                at: 0,
                what: "it panicked; the message is above".into(),
            }]
        })
    }

    /// The whole story of a failing seed, with as few faults as it takes.
    fn report(&self, seed: u64, violation: &Violation) -> String {
        let same = |script: &Script| {
            self.violations(script)
                .iter()
                .any(|other| other.property == violation.property)
        };
        let small = shrink(&self.script, same);
        let found = self.violations(&small);
        let trace = catch_unwind(AssertUnwindSafe(|| {
            checked(&self.job, &small, &self.options, &mut step)
                .0
                .trace
                .to_string()
        }));
        format!(
            "seed {seed}\n{}\nrules:\n{}\nlimits: {:?} clean {:?} suspend {} gang {}\nroles: {:?}\n{:?}\nfaults:\n{}\n{}\nreplay: \
             cargo xtask sim --seeds 1 --from {seed}",
            found
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("\n"),
            lines(&self.job.rules),
            self.job.limits,
            self.job.clean,
            self.job.suspend,
            self.job.gang.is_some(),
            self.job
                .roles
                .iter()
                .map(|role| (
                    role.name.as_str(),
                    role.replicas,
                    role.in_place,
                    role.after.is_some()
                ))
                .collect::<Vec<_>>(),
            self.options,
            lines(&small.faults),
            trace.unwrap_or_default(),
        )
    }
}

fn lines(values: &[impl std::fmt::Debug]) -> String {
    let lines: Vec<String> = values.iter().map(|value| format!("  {value:?}")).collect();
    lines.join("\n")
}

/// A number from the environment.
#[expect(
    clippy::disallowed_methods,
    reason = "which seeds to play is told from outside"
)]
fn told(name: &str, otherwise: u64) -> Result<u64, ParseIntError> {
    std::env::var(name).map_or(Ok(otherwise), |text| text.parse())
}

/// Plays seeds on all cores; what `check` says of them, in order of seeds, until `most` have said something.
fn play_all<T: Send>(from: u64, count: u64, most: u64, check: impl Fn(u64) -> Option<T> + Sync) -> Vec<T> {
    let (next, found) = (AtomicU64::new(from), AtomicU64::new(0));
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let worker = || {
        let mut mine = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= from.saturating_add(count) || found.load(Ordering::Relaxed) >= most {
                return mine;
            }
            if let Some(said) = check(seed) {
                found.fetch_add(1, Ordering::Relaxed);
                mine.push((seed, said));
            }
        }
    };
    let mut all: Vec<(u64, T)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        let joined = workers.into_iter().filter_map(|worker| worker.join().ok());
        joined.flatten().collect()
    });
    all.sort_by_key(|(seed, _)| *seed);
    all.into_iter().map(|(_, said)| said).collect()
}

#[test]
fn every_property_holds_on_every_seed() {
    let from = told("TRAINYARD_SEED_FROM", 0).unwrap();
    let count = told("TRAINYARD_SEEDS", SEEDS).unwrap();
    let check = |seed| {
        let case = Case::of(seed);
        let violations = case.violations(&case.script);
        violations.first().map(|violation| case.report(seed, violation))
    };
    let failures = play_all(from, count, MOST_FAILURES, check);
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// T4: what is paid for is the same without crashes and delays, if the same lives end in the same way; and so is what
/// becomes of the job.
#[test]
fn what_befalls_the_operator_changes_nothing() {
    let failures = play_all(0, TWINS, MOST_FAILURES, |seed| {
        let (disturbed, calm) = Case::twins(seed);
        let [ours, theirs] = [&disturbed, &calm].map(|case| {
            let played = play(&case.job, &case.script, &case.options);
            let memory = played.memory.clone();
            let result = memory.map(|memory| {
                let verdict = memory.verdict.map(|verdict| verdict.outcome);
                (memory.epoch, memory.paid, verdict)
            });
            (result, played.trace)
        });
        (ours.0 != theirs.0).then(|| {
            format!(
                "seed {seed}: epoch, paid, verdict {:?}, calm {:?}\n{}\n{}\ncalm:\n{}",
                ours.0,
                theirs.0,
                lines(&disturbed.script.faults),
                ours.1,
                theirs.1
            )
        })
    });
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn each_safeguard_taken_out_of_step_is_noticed() {
    for (name, mutant, property) in MUTANTS {
        let noticed = play_all(0, MUTANT_SEEDS, 1, |seed| {
            let case = Case::of(seed);
            let violations = case.violations_of(mutant, &case.script);
            violations
                .into_iter()
                .find(|violation| violation.property == property)
        });
        assert!(!noticed.is_empty(), "{name}: {property} still holds");
    }
}
