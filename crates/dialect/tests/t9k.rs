//! T9k's dialect, from text to what `step` decides and what the status shows.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may stop at the first surprise"
)]

#[path = "t9k/modes.rs"]
mod modes;
#[path = "t9k/rules.rs"]
mod rules;
#[path = "t9k/runs.rs"]
mod runs;
#[path = "t9k/status.rs"]
mod status;

mod notation;
#[expect(dead_code, reason = "other tests use the rest")]
mod world;

/// A job of these roles, each as `type replicas restartPolicy`, with this `runPolicy`.
fn text(run_policy: &str, roles: &[&str]) -> String {
    let mut text = format!(
        "apiVersion: batch.tensorstack.dev/v1beta1
kind: TensorFlowTrainingJob
metadata: {{name: j}}
spec:
  runPolicy: {{{run_policy}}}
  replicaSpecs:
"
    );
    for role in roles {
        let words: Vec<&str> = role.split(' ').collect();
        let [kind, replicas, restart] = words[..] else {
            panic!("{role}")
        };
        let template = "{spec: {containers: [{name: tensorflow, image: i}]}}";
        let fields = format!("type: {kind}, replicas: {replicas}, restartPolicy: {restart}");
        text += "    - {";
        text += &[&fields, "template: "].join(", ");
        text += template;
        text += "}\n";
    }
    text
}
