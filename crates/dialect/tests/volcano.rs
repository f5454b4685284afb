//! Volcano's dialect, from text to what `step` decides and what the status shows.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may stop at the first surprise"
)]

#[path = "volcano/admission.rs"]
mod admission;
#[path = "volcano/any.rs"]
mod any;
#[path = "volcano/pods.rs"]
mod pods;
#[path = "volcano/rules.rs"]
mod rules;
#[path = "volcano/runs.rs"]
mod runs;
#[path = "volcano/states.rs"]
mod states;

mod notation;
mod world;

/// A job of one ps and two workers, with these fields of the spec and these of the worker.
fn text(spec: &str, worker: &str) -> String {
    format!(
        "apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: j}}
spec:
  {spec}
  tasks:
    - {{name: ps, replicas: 1, template: {{spec: {{restartPolicy: Never, containers: [{{name: c, image: i}}]}}}}}}
    - name: worker
      replicas: 2
      {worker}
      template: {{spec: {{restartPolicy: OnFailure, containers: [{{name: c, image: i}}]}}}}
"
    )
}
