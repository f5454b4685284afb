//! Planning: addresses and `TF_CONFIG` of every task. The output grows with the square of the tasks, since each is told
//! about all; so it is the time for a byte of it that must not grow.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use trainyard_bench::{SIZES, job};
use trainyard_core::{Cluster, Job, Stamp, Task, addresses};

fn main() {
    divan::main();
}

/// Every task of the job, as it is handed to a world; how many bytes of `TF_CONFIG` that makes.
fn plan(job: &Job) -> usize {
    let cluster = Cluster::of(job, &addresses(job, None));
    let mut bytes = 0;
    for id in job.tasks() {
        let task = black_box(Task::of(job, &cluster, &id, Stamp::default(), false));
        bytes += task.and_then(|task| task.tf_config).map_or(0, |text| text.len());
    }
    bytes
}

/// Everything that the start of a job takes.
#[divan::bench(args = SIZES)]
fn every_task(bencher: Bencher, tasks: u32) {
    let Some(job) = job(tasks) else { return };
    bencher
        .counter(BytesCount::new(plan(&job)))
        .bench(|| plan(black_box(&job)));
}

/// What restarting one task takes, with the cluster known.
#[divan::bench(args = SIZES)]
fn one_task(bencher: Bencher, tasks: u32) {
    let Some(job) = job(tasks) else { return };
    let cluster = Cluster::of(&job, &addresses(&job, None));
    let Some(id) = job.tasks().last() else { return };
    let bytes = cluster.tf_config(&id).map_or(0, |text| text.len());
    bencher
        .counter(BytesCount::new(bytes))
        .bench(|| Task::of(&job, black_box(&cluster), &id, Stamp::default(), false));
}

/// The part that all tasks share, with the addresses.
#[divan::bench(args = SIZES)]
fn cluster(bencher: Bencher, tasks: u32) {
    let Some(job) = job(tasks) else { return };
    let cluster = || Cluster::of(black_box(&job), &addresses(&job, None));
    bencher
        .counter(BytesCount::new(cluster().shared().map_or(0, str::len)))
        .bench(cluster);
}
