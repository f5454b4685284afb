//! Deciding: what one look at a job costs, by the number of its tasks.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use trainyard_bench::{NOW, SIZES, job, killed, running};
use trainyard_core::{Fixture, FixtureSeen, Observed, Seen, step};

fn main() {
    divan::main();
}

/// Nothing has changed: the look that every idle job costs.
#[divan::bench(args = SIZES)]
fn nothing_changed(bencher: Bencher, tasks: u32) {
    let Some(job) = job(tasks) else { return };
    let (memory, observed) = running(&job);
    bencher
        .counter(ItemsCount::new(tasks))
        .bench(|| step(&job, Some(&memory), black_box(&observed), NOW));
}

/// One worker in the middle was killed: it is charged, stamped and waits.
#[divan::bench(args = SIZES)]
fn one_task_ended(bencher: Bencher, tasks: u32) {
    let Some(job) = job(tasks) else { return };
    let (memory, mut observed) = running(&job);
    let middle = observed.tasks.len() / 2;
    observed.tasks[middle].state = Seen::Ended(killed());
    bencher
        .counter(ItemsCount::new(tasks))
        .bench(|| step(&job, Some(&memory), black_box(&observed), NOW));
}

/// The very first look: everything is created.
#[divan::bench(args = SIZES)]
fn everything_is_created(bencher: Bencher, tasks: u32) {
    let Some(job) = job(tasks) else { return };
    let observed = Observed {
        fixtures: vec![(Fixture::Addresses, FixtureSeen::Ours { right: true })],
        ..Observed::default()
    };
    bencher
        .counter(ItemsCount::new(tasks))
        .bench(|| step(&job, None, black_box(&observed), NOW));
}

/// Every task was killed at once: as many charges as the budget has, and the end.
#[divan::bench(args = SIZES)]
fn everything_ended(bencher: Bencher, tasks: u32) {
    let Some(mut job) = job(tasks) else { return };
    job.limits.restarts = None;
    let (memory, mut observed) = running(&job);
    for seen in &mut observed.tasks {
        seen.state = Seen::Ended(killed());
    }
    bencher
        .counter(ItemsCount::new(tasks))
        .bench(|| step(&job, Some(&memory), black_box(&observed), NOW));
}

/// Every task has another number of attempts: the most that memory can hold.
#[divan::bench(args = SIZES)]
fn nothing_changed_after_many_restarts(bencher: Bencher, tasks: u32) {
    let Some(job) = job(tasks) else { return };
    let (mut memory, mut observed) = running(&job);
    for (number, seen) in (0..).zip(&mut observed.tasks) {
        seen.stamp.attempt = number % 100;
        let role = memory.roles.entry(seen.id.role.clone()).or_default();
        role.attempts.set(seen.id.index, seen.stamp.attempt);
    }
    bencher
        .counter(ItemsCount::new(tasks))
        .bench(|| step(&job, Some(&memory), black_box(&observed), NOW));
}
