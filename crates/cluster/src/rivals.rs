//! Who else would run the same jobs: two operators for one kind undo each other's work.
//!
//! Looked for before anything is installed, for each kind: its vendor's definition, its vendor's operator, and its vendor's webhook,
//! which refuses every job once no server answers behind it. Where one is found, that kind is left off. Another operator of ours stands in
//! the way of all kinds, since the two would share their roles.

use serde_json::Value;
use trainyard_manifest::kinds::{JobApi, Kinds, Served, Vendor, is_our_definition};

use crate::error::ClusterError;
use crate::session::Session;

/// Both kinds of configurations refuse what they are asked about while no server answers behind them.
const WEBHOOKS: [&str; 2] = ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"];

/// The operator that is to be installed.
#[derive(Clone, Copy, Debug)]
pub struct Newcomer<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// The name of its Deployment.
    pub name: &'a str,
    /// The one namespace whose jobs it runs; none is all.
    pub watch: Option<&'a str>,
    /// The kinds that it is to run.
    pub kinds: &'a Kinds,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Rivals {
    /// Each stands in the way of every kind.
    pub of_all: Vec<ClusterError>,
    /// Each stands in the way of one kind.
    pub of_one: Vec<(&'static JobApi, ClusterError)>,
    /// What could not be looked at.
    pub unseen: Vec<String>,
}

impl Session {
    /// Looks for other controllers that would run the jobs.
    pub fn rivals(&self, newcomer: &Newcomer<'_>) -> Result<Rivals, ClusterError> {
        let mut rivals = Rivals::default();
        let kinds = newcomer.kinds.apis();
        match self.list("apps/v1", "Deployment")? {
            Some(list) => {
                let ours = list.iter().filter_map(|one| our_operator(one, newcomer));
                rivals.of_all.extend(ours);
                for api in kinds {
                    let theirs = list.iter().filter_map(|one| operator(one, newcomer, api));
                    rivals.of_one.extend(theirs.map(|rival| (*api, rival)));
                }
            }
            None => rivals
                .unseen
                .push("you may not list Deployments, so other operators were not looked for".into()),
        }
        for kind in WEBHOOKS {
            self.webhooks(kind, kinds, &mut rivals)?;
        }
        self.definitions(kinds, &mut rivals)?;
        Ok(rivals)
    }

    /// Looks for webhooks of vendors, among configurations of this kind.
    fn webhooks(
        &self,
        kind: &str,
        kinds: &[&'static JobApi],
        rivals: &mut Rivals,
    ) -> Result<(), ClusterError> {
        let list = self.list("admissionregistration.k8s.io/v1", kind)?;
        for api in kinds.iter().filter(|api| api.vendor.webhook.is_some()) {
            match &list {
                Some(list) => {
                    let found = list.iter().flat_map(|one| webhooks_of(kind, one, api));
                    rivals.of_one.extend(found.map(|rival| (*api, rival)));
                }
                None => rivals.unseen.push(format!(
                    "you may not list objects of kind {kind}, so webhooks of {} operator were not looked for",
                    api.vendor.whose
                )),
            }
        }
        Ok(())
    }

    /// Looks for definitions that are not ours, of vendors whose jobs are not taken over.
    fn definitions(&self, kinds: &[&'static JobApi], rivals: &mut Rivals) -> Result<(), ClusterError> {
        for api in kinds.iter().filter(|api| !api.vendor.gives_way) {
            for definition in (api.definitions)(Served::Newest) {
                match self.metadata(&definition)? {
                    Some(found) => {
                        let rival = foreign_definition(&found, api);
                        rivals.of_one.extend(rival.map(|rival| (*api, rival)));
                    }
                    None => rivals.unseen.push(format!(
                        "you may not read the definition `{}`, so it is not known whether it is {}",
                        text(&definition, "/metadata/name"),
                        api.vendor.whose
                    )),
                }
            }
        }
        Ok(())
    }
}

/// A definition that the vendor has installed: its controller may run jobs by it, from wherever that is deployed.
fn foreign_definition(metadata: &Value, api: &JobApi) -> Option<ClusterError> {
    if metadata.is_null() || is_our_definition(metadata) {
        return None;
    }
    let whose = api.vendor.whose;
    let name = metadata["name"].as_str().unwrap_or_default();
    let message = format!("the definition `{name}` is {whose} own, and its controller may run these jobs");
    let hint = format!(
        "to run them with Trainyard, remove {whose} controller and its definition first (`kubectl delete crd {name}` deletes every \
         job with it); `--force` replaces the definition and keeps the jobs"
    );
    Some(ClusterError::new(message, &hint))
}

/// Another operator of ours that would share jobs or rights with this one.
fn our_operator(deployment: &Value, newcomer: &Newcomer<'_>) -> Option<ClusterError> {
    if !is_ours(deployment) {
        return None;
    }
    let (namespace, name, _) = runs_beside(deployment, newcomer, |_| true)?;
    let hint = format!(
        "stop it first: {}; or install over it with `--namespace {namespace}`",
        stop(namespace, name)
    );
    Some(undoes("another operator of Trainyard", (namespace, name), &hint))
}

/// The vendor's operator of a kind.
fn operator(deployment: &Value, newcomer: &Newcomer<'_>, api: &JobApi) -> Option<ClusterError> {
    let vendor = &api.vendor;
    let is_theirs = |container: &Value| !is_ours(deployment) && is_vendors(deployment, container, vendor);
    let (namespace, name, words) = runs_beside(deployment, newcomer, is_theirs)?;
    let kinds = vendor
        .kinds_flag
        .map(|flag| values(&words, flag))
        .unwrap_or_default();
    if !kinds.is_empty() && !kinds.iter().any(|kind| kind.eq_ignore_ascii_case(api.kind)) {
        return None;
    }
    let hint = format!("stop it first: {}{}", stop(namespace, name), vendor.instead);
    Some(undoes(
        &format!("{} operator", vendor.whose),
        (namespace, name),
        &hint,
    ))
}

fn stop(namespace: &str, name: &str) -> String {
    format!("`kubectl --namespace {namespace} scale deployment {name} --replicas 0`")
}

fn undoes(who: &str, (namespace, name): (&str, &str), hint: &str) -> ClusterError {
    let message = format!(
        "{who} runs in this cluster, deployment `{namespace}/{name}`: two operators for one kind undo each other's work"
    );
    ClusterError::new(message, hint)
}

/// The namespace and the name of a Deployment that runs beside the newcomer, in the same namespaces, with the words of the container that is
/// looked for.
fn runs_beside<'a>(
    deployment: &'a Value,
    newcomer: &Newcomer<'_>,
    looked_for: impl Fn(&Value) -> bool,
) -> Option<(&'a str, &'a str, Vec<&'a str>)> {
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
    let container = containers?.iter().find(|container| looked_for(container))?;
    let words = words(container);
    let elsewhere = watched(&words, container)
        .zip(newcomer.watch)
        .is_some_and(|(theirs, ours)| theirs != ours);
    (!elsewhere).then_some((namespace, name, words))
}

/// Whether a container is a vendor's controller, by its image or its Deployment's label.
fn is_vendors(deployment: &Value, container: &Value, vendor: &Vendor) -> bool {
    let image = container["image"].as_str().unwrap_or_default();
    let last = image.rsplit('/').next().unwrap_or_default();
    let last = last.split(['@', ':']).next().unwrap_or_default();
    let labels = &deployment["metadata"]["labels"];
    let labelled = |(key, value): (&str, &str)| labels[key] == value;
    vendor.images.contains(&last) || vendor.label.is_some_and(labelled)
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
    list(container, "command")
        .chain(list(container, "args"))
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

/// The vendor's webhooks that are asked about jobs of a kind. Those of others, such as Kueue, have work to do.
fn webhooks_of(configured: &str, configuration: &Value, api: &JobApi) -> Vec<ClusterError> {
    let Some(ends) = api.vendor.webhook else {
        return Vec::new();
    };
    let (whose, kind) = (api.vendor.whose, api.kind);
    let name = text(configuration, "/metadata/name");
    let webhooks = list(configuration, "webhooks").enumerate();
    let theirs =
        webhooks.filter(|(_, webhook)| text(webhook, "/name").ends_with(ends) && asks_about(webhook, api));
    let told = theirs.map(|(at, webhook)| {
        let webhook = text(webhook, "/name");
        let message = format!(
            "{whose} webhook `{webhook}` is asked about every {kind}, and refuses them all once its operator is gone"
        );
        let patch = format!(
            "[{{\"op\":\"test\",\"path\":\"/webhooks/{at}/name\",\"value\":\"{webhook}\"}},{{\"op\":\"remove\",\"path\":\
             \"/webhooks/{at}\"}}]"
        );
        let hint = format!(
            "take it away: `kubectl patch {} {name} --type json --patch '{patch}'`; the rules of our definition do its work",
            configured.to_lowercase()
        );
        ClusterError::new(message, &hint)
    });
    told.collect()
}

/// Whether the rules of a webhook name the objects of a kind.
fn asks_about(webhook: &Value, api: &JobApi) -> bool {
    let names =
        |rule: &Value, field: &str, wanted: &str| list(rule, field).any(|one| one == wanted || one == "*");
    list(webhook, "rules")
        .any(|rule| names(rule, "apiGroups", api.group) && names(rule, "resources", api.plural))
}

fn list<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    value[field].as_array().into_iter().flatten()
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
