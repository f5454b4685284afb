//! Volcano's dialect, from text to what `step` decides.

mod notation;

use notation::{file, job, rules};

#[test]
fn the_tutorials_job_compiles_to_nine_rules() {
    let read = job(&file("tests/fixtures/ok/volcano/tutorial-hosts-from-files.yaml"));
    assert_eq!(
        rules(&read.job),
        [
            "count worker succeeded = all → complete  spec.tasks[1].policies[0]",
            "any disrupted|vanished → restart job $  spec.policies[0]",
            "any disrupted|vanished → fail  spec.maxRetry",
            "any failed → keep  built in",
            "any succeeded → keep  built in",
            "count any ended = all, ps succeeded < 1 → fail  spec.tasks[0].minAvailable",
            "count any ended = all, worker succeeded < 2 → fail  spec.tasks[1].minAvailable",
            "count any ended = all, any succeeded ≥ 3 → complete  spec.minAvailable",
            "count any ended = all → fail  built in",
        ]
    );
}
