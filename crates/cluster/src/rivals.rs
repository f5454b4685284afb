//! Who else would run the same jobs: two operators for one kind undo each other's work.
//!
//! Looked for before anything is installed: Kubeflow's operator under any of its names, another one of ours, and Kubeflow's
//! webhook, which refuses every job once no server answers behind it.

use serde_json::Value;

use crate::error::ClusterError;
use crate::session::Session;

/// The operator that is to be installed.
#[derive(Clone, Copy, Debug)]
pub struct Newcomer<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// The name of its Deployment.
    pub name: &'a str,
    /// The one namespace whose jobs it runs; none is all.
    pub watch: Option<&'a str>,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Rivals {
    /// Each stands in the way.
    pub found: Vec<ClusterError>,
    /// What could not be looked at.
    pub unseen: Vec<String>,
}

impl Session {
    /// Looks for other controllers that would run the jobs.
    pub fn rivals(&self, newcomer: &Newcomer<'_>) -> Result<Rivals, ClusterError> {
        let mut rivals = Rivals::default();
        match self.list("apps/v1", "Deployment")? {
            Some(list) => rivals
                .found
                .extend(list.iter().filter_map(|one| operator(one, newcomer))),
            None => rivals
                .unseen
                .push("you may not list Deployments, so other operators were not looked for".into()),
        }
        let webhooks = self.list(
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration",
        )?;
        match webhooks {
            Some(list) => rivals.found.extend(list.iter().flat_map(webhooks_of_kubeflow)),
            None => rivals
                .unseen
                .push("you may not list webhooks, so Kubeflow's was not looked for".into()),
        }
        Ok(rivals)
    }
}

/// Another operator that runs jobs of ours.
fn operator(deployment: &Value, newcomer: &Newcomer<'_>) -> Option<ClusterError> {
    let (namespace, name) = (
        text(deployment, "/metadata/namespace"),
        text(deployment, "/metadata/name"),
    );
    let replicas = deployment.pointer("/spec/replicas").and_then(Value::as_u64);
    if replicas == Some(0) || (namespace, name) == (newcomer.namespace, newcomer.name) {
        return None;
    }
    let containers = deployment
        .pointer("/spec/template/spec/containers")
        .and_then(Value::as_array);
    let container = containers?
        .iter()
        .find(|container| runs_jobs(deployment, container))?;
    let words = words(container);
    let elsewhere = watched(&words, container)
        .zip(newcomer.watch)
        .is_some_and(|(theirs, ours)| theirs != ours);
    let kinds = values(&words, "--enable-scheme");
    let not_ours = !kinds.is_empty() && !kinds.iter().any(|kind| kind.eq_ignore_ascii_case("tfjob"));
    if elsewhere || not_ours {
        return None;
    }
    let whose = if is_ours(deployment) {
        "another operator of Trainyard"
    } else {
        "Kubeflow's operator"
    };
    let message = format!(
        "{whose} runs in this cluster, deployment `{namespace}/{name}`: two operators for one kind undo each other's work"
    );
    let stop = format!("`kubectl --namespace {namespace} scale deployment {name} --replicas 0`");
    let hint = if is_ours(deployment) {
        format!("stop it first: {stop}; or install over it with `--namespace {namespace}`")
    } else {
        format!(
            "stop it first: {stop}; or, where it runs jobs of other kinds too, give it `--enable-scheme` for each of \
             those (docs/migrate-from-kubeflow.md)"
        )
    };
    Some(ClusterError::new(message, &hint))
}

/// Kubeflow's under the names that it has had, and ours.
fn runs_jobs(deployment: &Value, container: &Value) -> bool {
    let image = container["image"].as_str().unwrap_or_default();
    let last = image.rsplit('/').next().unwrap_or_default();
    let last = last.split(['@', ':']).next().unwrap_or_default();
    matches!(last, "training-operator" | "tf-operator" | "tf_operator")
        || text(deployment, "/metadata/labels/control-plane") == "kubeflow-training-operator"
        || is_ours(deployment)
}

fn is_ours(deployment: &Value) -> bool {
    let label = |name: &str| {
        let labels = &deployment["metadata"]["labels"];
        labels[format!("app.kubernetes.io/{name}")]
            .as_str()
            .unwrap_or_default()
    };
    (label("name"), label("component")) == ("trainyard", "operator")
}

/// A container's command and arguments.
fn words(container: &Value) -> Vec<&str> {
    let list = |field: &str| container[field].as_array().into_iter().flatten();
    list("command")
        .chain(list("args"))
        .filter_map(Value::as_str)
        .collect()
}

/// What a flag is given, however it is written: `--flag=a`, `-flag a`.
fn values<'a>(words: &[&'a str], flag: &str) -> Vec<&'a str> {
    let given = |word: &'a str| {
        let word = word.trim_start_matches('-');
        let rest = word.strip_prefix(flag.trim_start_matches('-'))?;
        rest.strip_prefix('=').or_else(|| rest.is_empty().then_some(""))
    };
    let pairs = words
        .iter()
        .enumerate()
        .filter_map(|(at, word)| Some((at, given(word)?)));
    pairs
        .map(|(at, value)| {
            if value.is_empty() {
                words.get(at + 1).copied().unwrap_or_default()
            } else {
                value
            }
        })
        .collect()
}

/// The namespace whose jobs it runs.
fn watched<'a>(words: &[&'a str], container: &'a Value) -> Option<&'a str> {
    let flag = values(words, "--namespace").pop();
    let mut variables = container["env"].as_array().into_iter().flatten();
    let variable = variables.find(|one| one["name"] == "KUBEFLOW_NAMESPACE");
    let watched = flag.or_else(|| variable.and_then(|one| one["value"].as_str()));
    watched.filter(|namespace| !namespace.is_empty())
}

/// Kubeflow's webhooks for this kind. Others', such as Kueue's, have work to do.
fn webhooks_of_kubeflow(configuration: &Value) -> Vec<ClusterError> {
    let name = text(configuration, "/metadata/name");
    let webhooks = configuration["webhooks"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate();
    let theirs = webhooks.filter(|(_, webhook)| {
        let name = webhook["name"].as_str().unwrap_or_default();
        name.contains("tfjob") && name.ends_with("training-operator.kubeflow.org")
    });
    let told = theirs.map(|(at, webhook)| {
        let webhook = webhook["name"].as_str().unwrap_or_default();
        let message = format!(
            "Kubeflow's webhook `{webhook}` is asked about every TFJob, and refuses them all once its operator is gone"
        );
        let patch = format!(
            "[{{\"op\":\"test\",\"path\":\"/webhooks/{at}/name\",\"value\":\"{webhook}\"}},{{\"op\":\"remove\",\"path\":\
             \"/webhooks/{at}\"}}]"
        );
        let hint = format!(
            "take it away: `kubectl patch validatingwebhookconfiguration {name} --type json --patch '{patch}'`; the rules of \
             our definition do its work"
        );
        ClusterError::new(message, &hint)
    });
    told.collect()
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
