//! An object as an API server has stored it becomes the same jobs and problems as its text; every job has bounded tasks, an
//! explanation of every rule, a `TF_CONFIG` that is JSON, and can be decided about.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trainyard_core::{Cluster, Job, MOST_TASKS, Observed, Time, addresses, explain};
use trainyard_dialect::{Reading, read, read_value};
use trainyard_document::{Source, parse};
use trainyard_fuzz::decide;

/// Larger jobs are read, but not decided about: it would take the whole time.
const PLAYED: u64 = 200;

fuzz_target!(|bytes: &[u8]| {
    let Ok(source) = Source::from_bytes("fuzz.yaml", bytes) else {
        return;
    };
    for document in parse(&source).0 {
        if document.root.as_map().is_none() {
            continue;
        }
        let value = document.root.to_json();
        let reading = read_value("job", &value);
        compare(&reading, &value.to_string());
        reading.jobs().for_each(|job| check(&job.job));
    }
});

/// The text of the same object means the same.
fn compare(reading: &Reading, text: &str) {
    let Ok(source) = Source::from_bytes("job", text.as_bytes()) else {
        return;
    };
    let from_text = read(&source);
    let jobs = |reading: &Reading| reading.jobs().map(|job| job.job.clone()).collect::<Vec<_>>();
    assert_eq!(jobs(reading), jobs(&from_text));
    let codes = |reading: &Reading| {
        let mut codes: Vec<_> = reading.problems.iter().map(|problem| problem.code).collect();
        codes.sort();
        codes
    };
    assert_eq!(codes(reading), codes(&from_text));
}

fn check(job: &Job) {
    assert!(job.size() <= MOST_TASKS);
    assert_eq!(explain::rules(job).len(), job.rules.len());
    if job.size() > PLAYED {
        return;
    }
    let cluster = Cluster::of(job, &addresses(job, None));
    for task in job.tasks() {
        if let Some(text) = cluster.tf_config(&task) {
            serde_json::from_str::<serde_json::Value>(&text).expect("TF_CONFIG is JSON");
        }
    }
    decide(job, None, &Observed::default(), Time(1_800_000_000));
}
