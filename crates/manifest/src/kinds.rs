//! Kinds of jobs as the API server knows them: names, labels, definition and rights, one file per kind. What the operator does with a
//! job of a kind is in `kinds` of the operator's crate.

mod chosen;
mod common;
pub mod t9k;
mod tensorboard;
pub mod tfjob;
pub mod volcano;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use serde_json::{Value, json};
use trainyard_document::names::wrong_label;

pub use self::chosen::Kinds;
use crate::install::access::Use;

/// Every kind that the operator can run, and that pods of a job may have as owner.
pub static ALL: &[&JobApi] = &[&tfjob::API, &t9k::API, &volcano::API];

/// The label that tells our definitions from those of a vendor.
const NAME_LABEL: &str = "app.kubernetes.io/name";
const OURS: &str = "trainyard";

/// A kind of job on the API server. Two are equal if group and kind are.
#[derive(Debug)]
pub struct JobApi {
    /// Its word in `--kinds`: `tfjob`.
    pub word: &'static str,
    /// `kubeflow.org`.
    pub group: &'static str,
    /// The version that the operator reads and writes.
    pub version: &'static str,
    /// `group/version`.
    pub api_version: &'static str,
    /// `TFJob`.
    pub kind: &'static str,
    /// `tfjobs`.
    pub plural: &'static str,
    /// What kubectl takes for it beside `tfjob` and `tfjobs`.
    pub short_names: &'static [&'static str],
    /// `tfjobs/status`.
    pub status: &'static str,
    /// Labels of its pods and Services.
    pub labels: PodLabels,
    /// The roles that its jobs may have, as pods are labelled and named.
    pub roles: Roles,
    /// Whether the status of its jobs shows the containers of their pods; what no status shows is not kept.
    pub shows_containers: bool,
    /// The `CustomResourceDefinition`s: its own, then those of objects beside it that its users write.
    pub definitions: fn(Served) -> Vec<Value>,
    /// What the operator does with objects of this kind.
    pub uses: &'static [Use],
    /// Whose kind it is.
    pub vendor: Vendor,
}

/// The vendor of a kind, and how its own definition and controller are known: two controllers of one kind undo each other's work.
#[derive(Debug)]
pub struct Vendor {
    /// `Kubeflow's`.
    pub whose: &'static str,
    /// The vendor's definition may become ours once its controller is gone, since its jobs are taken over. Otherwise the kind is left off
    /// where the definition is not ours.
    pub gives_way: bool,
    /// Images of its controller, without registry and tag.
    pub images: &'static [&'static str],
    /// A label of its controller's Deployment.
    pub label: Option<(&'static str, &'static str)>,
    /// The flag by which its controller is told which kinds it runs; it runs all of them where it is not told.
    pub kinds_flag: Option<&'static str>,
    /// How the names of its webhooks end. Which of them are asked about the kind is in their rules.
    pub webhook: Option<&'static str>,
    /// What else a user can do about its controller than to stop it; begins with `; or`.
    pub instead: &'static str,
}

/// Labels of pods and Services, each list in order of preference: pods that another operator made lack our own.
#[derive(Debug)]
pub struct PodLabels {
    /// Key and value that every pod and Service of the kind has. Watches select by it; it proves nothing.
    pub selector: (&'static str, &'static str),
    /// Keys of the job's name. Every object has the last one, so lists select by it.
    pub job: &'static [&'static str],
    /// Keys of the role.
    pub role: &'static [&'static str],
    /// Keys of the task's index.
    pub index: &'static [&'static str],
}

/// The roles that jobs of a kind may have.
#[derive(Clone, Copy, Debug)]
pub enum Roles {
    /// These alone: a pod with another role is no task.
    Named(&'static [&'static str]),
    /// Any name that its author gives, as far as a pod can be called so.
    Any,
}

impl Roles {
    /// Whether a job may have a role of that name.
    #[must_use]
    pub fn allow(self, role: &str) -> bool {
        match self {
            Self::Named(names) => names.contains(&role),
            Self::Any => wrong_label(role).is_none(),
        }
    }
}

/// Which versions an installation serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Served {
    /// All of them: old manifests work as they are.
    #[default]
    All,
    /// The stored one alone: each further one costs the API server a cache of its own.
    Newest,
}

impl JobApi {
    /// The kind with that `apiVersion`, whatever the version, and that `kind`.
    #[must_use]
    pub fn find(api_version: &str, kind: &str) -> Option<&'static Self> {
        let (group, _) = api_version.split_once('/')?;
        let mut all = ALL.iter().copied();
        all.find(|api| api.group == group && api.kind == kind)
    }

    /// The name of its definition.
    #[must_use]
    pub fn definition_name(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// The command that installs its definition.
    #[must_use]
    pub fn install_command(&self) -> String {
        let chosen = Kinds::default();
        let is_usual = chosen.apis().contains(&self);
        let flag = if is_usual {
            String::new()
        } else {
            format!(" --kinds {}", self.word)
        };
        format!("trainyard crd{flag} | kubectl apply --server-side --force-conflicts -f -")
    }

    /// What its objects are called among those of all kinds: `tfjobs`, or `volcano-jobs` where the plural alone would not do.
    #[must_use]
    pub fn users_name(&self) -> String {
        if self.plural.starts_with(self.word) {
            self.plural.to_owned()
        } else {
            format!("{}-{}", self.word, self.plural)
        }
    }

    /// Its `CustomResourceDefinition`, with these versions.
    fn definition_of(&self, versions: &[Value]) -> Value {
        let mut definition = definition((self.group, self.kind, self.plural), versions);
        if !self.short_names.is_empty() {
            definition["spec"]["names"]["shortNames"] = json!(self.short_names);
        }
        definition
    }

    fn name(&self) -> (&str, &str) {
        (self.group, self.kind)
    }
}

/// A definition of ours, with labels by which it is told from a vendor's.
fn definition((group, kind, plural): (&str, &str, &str), versions: &[Value]) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.{group}"),
            "labels": { NAME_LABEL: OURS, "app.kubernetes.io/component": "definition" },
        },
        "spec": {
            "group": group,
            "names": {
                "kind": kind, "listKind": format!("{kind}List"),
                "plural": plural, "singular": kind.to_ascii_lowercase(),
            },
            "scope": "Namespaced",
            "conversion": { "strategy": "None" },
            "versions": versions,
        },
    })
}

/// Whether a definition is ours, by its labels.
#[must_use]
pub fn is_our_definition(metadata: &Value) -> bool {
    metadata["labels"][NAME_LABEL] == OURS
}

/// The columns of `kubectl get`, the same for every kind; `state` is where its status says in one word how a job is. The operator adds the
/// others to the status of every kind.
fn columns(state: &str) -> Value {
    json!([
        { "name": "State", "type": "string", "jsonPath": state },
        { "name": "Ready", "type": "string", "jsonPath": ".status.ready" },
        { "name": "Restarts", "type": "integer", "jsonPath": ".status.restarts" },
        { "name": "Summary", "type": "string", "jsonPath": ".status.summary" },
        { "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" },
    ])
}

impl PodLabels {
    /// The label by which the objects of one job are listed.
    #[must_use]
    pub fn listed_by(&self) -> &'static str {
        self.job.last().copied().unwrap_or_default()
    }
}

impl PartialEq for JobApi {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for JobApi {}

impl PartialOrd for JobApi {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for JobApi {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name().cmp(&other.name())
    }
}

impl Hash for JobApi {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_one_that_a_job_of_the_kind_may_have() {
        let rows = [
            (Roles::Named(&["ps", "worker"]), "worker", true),
            (Roles::Named(&["ps", "worker"]), "chief", false),
            (Roles::Named(&["ps", "worker"]), "", false),
            (Roles::Any, "any-name-1", true),
            (Roles::Any, "", false),
            (Roles::Any, "Worker", false),
            (Roles::Any, "a.b", false),
            (Roles::Any, "a/b", false),
        ];
        for (roles, role, expected) in rows {
            assert_eq!(roles.allow(role), expected, "{roles:?}: {role}");
        }
        assert!(!Roles::Any.allow(&"a".repeat(64)));
    }

    /// Users type them, and roles and definitions are named by them.
    #[test]
    fn no_two_kinds_have_a_name_in_common() {
        let mut names = Vec::new();
        for api in ALL {
            names.extend([api.word.to_owned(), api.definition_name(), api.users_name()]);
            names.extend(api.short_names.iter().map(|name| (*name).to_owned()));
            assert_eq!(api.status, format!("{}/status", api.plural));
            assert_eq!(api.api_version, format!("{}/{}", api.group, api.version));
            let finalizers = format!("{}/finalizers", api.plural);
            let holds = api.uses.iter().any(|used| used.resource == finalizers);
            assert!(holds, "{}: its pods are refused on OpenShift", api.word);
        }
        let unique: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!(unique.len(), names.len(), "{names:?}");
    }

    #[test]
    fn definitions_are_named_after_their_kinds_and_keep_what_the_operator_writes() {
        for api in ALL {
            let definitions = (api.definitions)(Served::All);
            let own = definitions.first().unwrap();
            assert_eq!(own["metadata"]["name"], api.definition_name().as_str());
            let ours = |definition: &Value| is_our_definition(&definition["metadata"]);
            assert!(
                definitions.iter().all(ours),
                "{} is taken for a vendor's",
                api.word
            );
            assert_eq!(
                own["spec"]["names"]["shortNames"].as_array().map_or(0, Vec::len),
                api.short_names.len()
            );
            for version in own["spec"]["versions"].as_array().unwrap() {
                assert!(version["subresources"]["status"].is_object(), "{}", api.word);
                let status = &version["schema"]["openAPIV3Schema"]["properties"]["status"];
                assert_eq!(
                    status["x-kubernetes-preserve-unknown-fields"], true,
                    "{}",
                    api.word
                );
                // The API server notes down one manager of it, by which the operator knows whether another controller writes it.
                assert_eq!(status["x-kubernetes-map-type"], "atomic", "{}", api.word);
                assert!(!version["additionalPrinterColumns"].is_null(), "{}", api.word);
            }
        }
    }

    /// Paths of fields of a schema that say nothing about themselves.
    fn silent(path: &str, schema: &Value, found: &mut Vec<String>) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            if field.get("description").is_none() {
                found.push(path.clone());
            }
            // A pod template is Kubernetes' own, and so are the conditions.
            if !["template", "conditions", "replicaStatuses"].contains(&name.as_str()) {
                for inner in [field, &field["additionalProperties"], &field["items"]] {
                    silent(&path, inner, found);
                }
            }
        }
    }

    #[test]
    fn every_field_of_every_kind_says_what_it_is() {
        let mut found = Vec::new();
        for api in ALL {
            let definitions = (api.definitions)(Served::Newest);
            let schema = &definitions[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            for part in ["spec", "status"] {
                let path = format!("{} {part}", api.kind);
                assert!(schema["properties"][part].get("description").is_some(), "{path}");
                silent(&path, &schema["properties"][part], &mut found);
            }
        }
        assert_eq!(found, Vec::<String>::new());
    }
}
