//! What several targets share: a job, and what must hold for every step.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use trainyard_core::{Action, Job, Memory, Observed, Step, Time, step};
use trainyard_document::Source;

/// A chief, two parameter servers, four workers; restarts by exit code, limits, a deadline.
pub static JOB: LazyLock<Job> = LazyLock::new(|| {
    let text = include_bytes!("../../examples/tfjob/parameter-server.yaml");
    let source = Source::from_bytes("job.yaml", text).expect("an example is valid");
    let reading = trainyard_dialect::read(&source);
    let mut job = reading.jobs().next().expect("an example has a job").job.clone();
    job.uid = "1".into();
    job
});

/// Decides, and checks that the decision is bounded by the job and what was observed, whatever that is.
pub fn decide(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    let decided = step(job, memory, observed, now);
    assert_eq!(decided, step(job, memory, observed, now), "not deterministic");
    let mut created = BTreeSet::new();
    for action in &decided.actions {
        match action {
            Action::Create { task, .. } => {
                assert!(created.insert(task), "{task} is created twice");
                let role = job.role(&task.role);
                assert!(role.is_some_and(|(_, role)| task.index < role.replicas), "{task} is not of the job");
            }
            Action::Stop { instance, .. } => {
                assert!(observed.tasks.iter().any(|seen| seen.instance == *instance), "{instance} was not observed");
            }
            _ => {}
        }
    }
    let size = usize::try_from(job.size()).expect("a job fits into memory") + observed.tasks.len();
    assert!(decided.actions.len() <= 2 * size + 16, "{} actions", decided.actions.len());
    assert!(decided.events.len() <= 8 * size + 16, "{} events", decided.events.len());
    let written = serde_json::to_value(&decided.memory).expect("memory is data");
    let again: Memory = serde_json::from_value(written).expect("what was written can be read");
    assert_eq!(again, decided.memory);
    decided
}
