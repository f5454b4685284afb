//! The NetworkPolicy of a job that asks that nothing but its own pods reaches them.

use serde_json::{Value, json};
use trainyard_core::{Isolation, LabelValue, Subject};

use crate::names::{isolation, of_job};
use crate::tensorboard::{BOARD_LABEL, PART_LABEL};

/// What [`PART_LABEL`] says of the NetworkPolicy; the operator watches those with it.
pub const PART: &str = "network-policy";
/// Its kind.
pub const KIND: &str = "NetworkPolicy";
/// Its `apiVersion`.
pub const API_VERSION: &str = "networking.k8s.io/v1";

/// The NetworkPolicy of a job, if it asks for one.
///
/// It applies to every port: what else listens in a pod of TensorFlow (profilers, debuggers) asks for no password either. The spec is
/// written as the API server stores it, so that what has been changed since can be told by comparing the two.
#[must_use]
pub fn policy(subject: &Subject) -> Option<Value> {
    let Isolation { from } = subject.isolation.as_ref()?;
    let job = &subject.job;
    // The label that its pods have however they were created, also by Kubeflow's operator before this one.
    let mut labels = subject.conventions.pod_labels.iter();
    let (label, _) = labels.find(|(_, value)| *value == LabelValue::Job)?;
    let own = json!({ "matchLabels": { *label: *job.name } });
    let mut peers = vec![json!({ "podSelector": own })];
    if subject.tensorboard.is_some() {
        peers.push(json!({ "podSelector": { "matchLabels": { BOARD_LABEL: *job.name } } }));
    }
    peers.extend(from.iter().cloned());
    let mut labels = of_job(job);
    labels.insert(PART_LABEL.into(), PART.into());
    Some(json!({
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": { "name": isolation(&job.name), "namespace": *job.namespace, "labels": labels },
        "spec": {
            "podSelector": own,
            "ingress": [{ "from": peers }],
            "policyTypes": ["Ingress"],
        },
    }))
}

#[cfg(test)]
mod tests {
    use trainyard_document::Source;

    use super::*;
    use crate::render::{Form, Wishes, render};

    const TEMPLATE: &str = "template: {spec: {containers: [{name: tensorflow, image: i}]}}";

    fn of(api_version: &str, kind: &str, spec: &str) -> Option<Value> {
        let text = format!(
            "apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: mnist\n  namespace: ml\n  annotations:\n    \
             trainyard.dev/network-policy: isolate\n    trainyard.dev/network-policy-from: '[{{namespaceSelector: {{}}}}]'\nspec: {spec}\n"
        );
        let source = Source::from_bytes("job", text.as_bytes()).unwrap();
        let reading = trainyard_dialect::read(&source);
        let job = reading.jobs().next();
        policy(
            &job.unwrap_or_else(|| panic!("{:?}", reading.problems))
                .subject(None, None),
        )
    }

    fn peers(policy: &Value) -> Vec<Value> {
        policy["spec"]["ingress"][0]["from"].as_array().unwrap().clone()
    }

    fn selects(label: &str) -> Value {
        json!({ "podSelector": { "matchLabels": { label: "mnist" } } })
    }

    #[test]
    fn only_the_jobs_own_pods_and_who_is_named_reach_its_pods_whatever_its_kind() {
        let worker = format!("{{type: worker, {TEMPLATE}}}");
        let rows = [
            (
                of(
                    "kubeflow.org/v1",
                    "TFJob",
                    &format!("{{tfReplicaSpecs: {{Worker: {{{TEMPLATE}}}}}}}"),
                ),
                "training.kubeflow.org/job-name",
            ),
            (
                of(
                    "batch.tensorstack.dev/v1beta1",
                    "TensorFlowTrainingJob",
                    &format!("{{replicaSpecs: [{worker}]}}"),
                ),
                "tensorstack.dev/owner-name",
            ),
            (
                of(
                    "batch.volcano.sh/v1alpha1",
                    "Job",
                    &format!("{{tasks: [{{name: worker, {TEMPLATE}}}]}}"),
                ),
                "volcano.sh/job-name",
            ),
        ];
        for (policy, label) in rows {
            let policy = policy.unwrap();
            assert_eq!(policy["metadata"]["name"], "mnist-isolate");
            assert_eq!(policy["spec"]["podSelector"], selects(label)["podSelector"]);
            assert_eq!(policy["spec"]["policyTypes"], json!(["Ingress"]));
            assert_eq!(
                peers(&policy),
                [selects(label), json!({ "namespaceSelector": {} })]
            );
        }
    }

    #[test]
    fn render_writes_it_too() {
        let text = "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: mnist, annotations: {trainyard.dev/network-policy: isolate}}\n\
                    spec: {tfReplicaSpecs: {Worker: {template: {spec: {containers: [{name: tensorflow, image: i}]}}}}}\n";
        let source = Source::from_bytes("job", text.as_bytes()).unwrap();
        let reading = trainyard_dialect::read(&source);
        let subject = reading.jobs().next().unwrap().subject(None, None);
        for form in [Form::Jobs, Form::JobSet] {
            let wishes = Wishes {
                form,
                addresses: None,
                nodes: Vec::new(),
                namespace: None,
            };
            let rendered = render(&subject, &wishes).unwrap();
            let kinds: Vec<&Value> = rendered.objects.iter().map(|object| &object["kind"]).collect();
            let at = |kind: &str| kinds.iter().position(|one| **one == kind);
            let pods = at("Job").or_else(|| at("JobSet"));
            assert!(at(KIND).is_some() && at(KIND) < pods, "{kinds:?}");
        }
    }

    #[test]
    fn its_tensorboard_reaches_them_too() {
        let spec = format!(
            "{{tensorboardSpec: {{image: i, trainingLogFilesets: [pvc://a]}}, replicaSpecs: [{{type: worker, {TEMPLATE}}}]}}"
        );
        let policy = of("batch.tensorstack.dev/v1beta1", "TensorFlowTrainingJob", &spec).unwrap();
        assert_eq!(peers(&policy)[1], selects(BOARD_LABEL));
    }
}
