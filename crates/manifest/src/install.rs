//! What an operator needs on a cluster, as objects: `trainyard install`, `deploy/`, and the tests all take them from here.
//!
//! ```text
//! Install ─┬▶ the definitions of the kinds, the namespace  (kinds)
//!          ├▶ who it is and what it may do            (access: one table)
//!          ├▶ what people may do with jobs            (people)
//!          └▶ the Deployment and what belongs to it   (workload)
//! ```
//!
//! Pure, like everything here: no cluster is asked, and the same wishes give the same bytes.

pub mod access;
mod network;
mod people;
mod workload;

use serde_json::{Value, json};

pub use self::workload::{HEALTH_PORT, METRICS_PORT};
use crate::gang::Schedulers;
use crate::kinds::{Kinds, Served};

/// The namespace unless told.
pub const NAMESPACE: &str = "trainyard-system";
/// What the operator's objects are called: its account, its role, its Deployment, its Service.
pub const NAME: &str = "trainyard-operator";
/// How many run: one works, the other takes over at once when the first one's node is gone.
pub const REPLICAS: u32 = 2;

/// How an operator is to be installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Install {
    /// Its own namespace.
    pub namespace: String,
    /// It runs the jobs of this namespace only; none is all of them.
    pub watch: Option<String>,
    /// Its image.
    pub image: String,
    /// How many of it run, of which one works.
    pub replicas: u32,
    /// How important its pods are, where the cluster has names for that.
    pub priority_class: Option<String>,
    /// The gang schedulers that it may use.
    pub gang: Schedulers,
    /// It creates `TensorBoard`s for jobs that ask for one.
    pub tensorboard: bool,
    /// It creates NetworkPolicies for jobs that ask to be isolated.
    pub network_policies: bool,
    /// Jobs with the name of a queue wait until Kueue admits them.
    pub kueue: bool,
    /// The kinds of jobs that it runs. Of others nothing is installed.
    pub kinds: Kinds,
    /// Which versions of their definitions are served.
    pub served: Served,
    /// Further arguments of `trainyard operator`.
    pub arguments: Vec<String>,
}

impl Default for Install {
    fn default() -> Self {
        Self {
            namespace: NAMESPACE.into(),
            watch: None,
            image: image(),
            replicas: REPLICAS,
            priority_class: None,
            gang: Schedulers::default(),
            tensorboard: false,
            network_policies: false,
            kueue: false,
            kinds: Kinds::default(),
            served: Served::default(),
            arguments: Vec::new(),
        }
    }
}

/// The image that our Dockerfile makes of this version, under the name that its first lines give it.
#[must_use]
pub fn image() -> String {
    format!("trainyard:{}", env!("CARGO_PKG_VERSION"))
}

impl Install {
    /// Every object, in the order in which they must come.
    #[must_use]
    pub fn objects(&self) -> Vec<Value> {
        let mut objects = self.kinds.definitions(self.served);
        objects.push(self.own_namespace());
        objects.extend(self.access());
        objects.extend(people::roles(&self.kinds));
        objects.extend(self.workload());
        objects
    }

    /// Its account and what that may do; nothing else.
    #[must_use]
    pub fn access(&self) -> Vec<Value> {
        let mut objects = vec![self.account()];
        objects.extend(access::roles(self));
        objects
    }

    /// A namespace that the user has chosen may hold other pods, so nothing is said about it. Our own takes no pod
    /// that could do harm.
    fn own_namespace(&self) -> Value {
        let mut object = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": self.namespace },
        });
        if self.namespace == NAMESPACE {
            object["metadata"]["labels"] = json!({ "pod-security.kubernetes.io/enforce": "restricted" });
        }
        object
    }

    fn account(&self) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": self.metadata(NAME),
            // Other pods that name it get no token unless they ask.
            "automountServiceAccountToken": false,
        })
    }

    /// The metadata of something in the operator's own namespace.
    fn metadata(&self, name: &str) -> Value {
        json!({ "name": name, "namespace": self.namespace, "labels": labels() })
    }
}

/// Objects as one text that kubectl takes.
#[must_use]
pub fn text(objects: &[Value]) -> String {
    let documents: Vec<String> = objects.iter().map(trainyard_document::yaml::write).collect();
    documents.join("---\n")
}

/// On everything that is ours: the names that Kubernetes recommends.
fn labels() -> Value {
    json!({
        "app.kubernetes.io/name": "trainyard",
        "app.kubernetes.io/component": "operator",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::ALL;

    /// The API groups that definitions and roles name.
    fn groups(objects: &[Value]) -> Vec<&str> {
        let defined = objects.iter().map(|object| &object["spec"]["group"]);
        let rules = objects.iter().filter_map(|object| object["rules"].as_array());
        let granted = rules.flatten().map(|rule| &rule["apiGroups"][0]);
        defined.chain(granted).filter_map(Value::as_str).collect()
    }

    #[test]
    fn of_a_kind_that_is_off_nothing_is_installed_and_nothing_granted() {
        for off in ALL {
            let Some(kinds) = Kinds::all().without(|api| api == *off) else {
                continue;
            };
            let installs = [Install::default().watch, Some("research".to_owned())].map(|watch| Install {
                watch,
                kinds: kinds.clone(),
                ..Install::default()
            });
            for install in installs {
                let objects = install.objects();
                let groups = groups(&objects);
                assert!(!groups.contains(&off.group), "{}: {groups:?}", off.word);
                for on in kinds.apis() {
                    // Its definition, the operator's role, and two for people.
                    let count = groups.iter().filter(|group| **group == on.group).count();
                    assert!(count >= 4, "{}: {groups:?}", on.word);
                }
                let words = install.words();
                assert!(words.contains(&format!("--kinds={kinds}")) == (kinds != Kinds::default()));
            }
        }
    }
}
