//! A service account, for programs that are to be tested with no more rights than they will have.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use trainyard_manifest::gang::Schedulers;
use trainyard_manifest::install::{Install, NAME};
use trainyard_manifest::kinds::Kinds;

use crate::cluster::Cluster;
use crate::namespace::Namespace;
use crate::server::control_plane::AUDIT_LOG;

/// How long the audit log may lag behind.
const PATIENCE: Duration = Duration::from_secs(20);

/// A service account with a token.
pub struct Account {
    namespace: String,
    name: String,
    kubeconfig: PathBuf,
    audit: PathBuf,
}

/// A request that an account has made, from the audit log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asked {
    /// The API group; empty is the core one.
    pub group: String,
    /// The resource, and the subresource after a slash.
    pub resource: String,
    /// What was to be done with it.
    pub verb: String,
    /// In which namespace; empty is all of them.
    pub namespace: String,
    /// Whether it was allowed.
    pub allowed: bool,
}

impl fmt::Display for Asked {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            group,
            resource,
            verb,
            ..
        } = self;
        write!(out, "{verb} {resource}.{group}")
    }
}

impl Account {
    /// The account of that name, which must be there, with a token for an hour.
    #[track_caller]
    #[must_use]
    pub fn of(cluster: &Cluster, namespace: &str, name: &str) -> Self {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": { "expirationSeconds": 3600 },
        });
        let answer = cluster.api().create(&path, &request);
        let answer = answer.unwrap_or_else(|error| panic!("no token for {namespace}/{name}: {error}"));
        let account = Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            kubeconfig: cluster.place().join(format!("{namespace}.{name}.kubeconfig")),
            audit: cluster.place().join("logs").join(AUDIT_LOG),
        };
        account.write(cluster, answer["status"]["token"].as_str().unwrap_or_default());
        account
    }

    /// The operator's account in a namespace, with the rights there that `trainyard install` gives it; made if need be.
    #[track_caller]
    #[must_use]
    pub fn of_operator(namespace: &Namespace<'_>, gang: Schedulers, kinds: Kinds) -> Self {
        let install = Install {
            gang,
            kinds,
            ..Install::default()
        };
        Self::of_install(namespace, install)
    }

    /// The same, for an operator that is installed in this way.
    #[track_caller]
    #[must_use]
    pub fn of_install(namespace: &Namespace<'_>, install: Install) -> Self {
        let install = Install {
            namespace: namespace.name().into(),
            watch: Some(namespace.name().into()),
            ..install
        };
        for object in install.access() {
            match namespace.cluster().api().create(&collection(&object), &object) {
                Ok(_) => {}
                Err(refused) if refused.code == 409 => {}
                Err(refused) => panic!("cannot make {object}: {refused}"),
            }
        }
        Self::of(namespace.cluster(), namespace.name(), NAME)
    }

    /// The administrator's kubeconfig with another token. Only this user can read the directory.
    #[track_caller]
    fn write(&self, cluster: &Cluster, token: &str) {
        let admin = fs::read_to_string(cluster.kubeconfig()).unwrap_or_default();
        let written = admin.lines().map(|line| match line.split_once("token: ") {
            Some((indent, _)) => format!("{indent}token: {token}\n"),
            None => format!("{line}\n"),
        });
        let done = fs::write(&self.kubeconfig, written.collect::<String>());
        done.unwrap_or_else(|error| panic!("cannot write {}: {error}", self.kubeconfig.display()));
    }

    /// A kubeconfig that authenticates as this account.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Whether it may do something, by the API server's own word.
    #[track_caller]
    #[must_use]
    pub fn may(&self, cluster: &Cluster, verb: &str, group: &str, resource: &str) -> bool {
        self.may_in(&self.namespace, cluster, verb, group, resource)
    }

    /// The same in another namespace than its own.
    #[track_caller]
    #[must_use]
    pub fn may_in(
        &self,
        namespace: &str,
        cluster: &Cluster,
        verb: &str,
        group: &str,
        resource: &str,
    ) -> bool {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {
                "user": self.user(),
                "groups": ["system:serviceaccounts", format!("system:serviceaccounts:{}", self.namespace), "system:authenticated"],
                "resourceAttributes": {
                    "verb": verb, "group": group, "resource": resource, "subresource": subresource,
                    "namespace": namespace,
                },
            },
        });
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let answer = cluster.api().create(path, &review);
        let answer = answer.unwrap_or_else(|error| panic!("no answer about access: {error}"));
        answer["status"]["allowed"] == true
    }

    fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }

    /// What it has asked for so far.
    #[must_use]
    pub fn asked(&self) -> BTreeSet<Asked> {
        self.entries().iter().filter_map(asked).collect()
    }

    /// When it has asked to create that object, in order.
    #[must_use]
    pub fn created(&self, resource: &str, name: &str) -> Vec<Timestamp> {
        self.times("create", resource, name)
    }

    /// When it has asked to do something with that object, in order.
    #[must_use]
    pub fn times(&self, verb: &str, resource: &str, name: &str) -> Vec<Timestamp> {
        let about = json!({ "resource": resource, "name": name });
        let mut entries = self.entries();
        entries.retain(|entry| {
            let object = &entry["objectRef"];
            let same = |field: &str| object[field] == about[field];
            entry["verb"] == verb && same("resource") && same("name")
        });
        let times = entries.iter().map(|entry| &entry["requestReceivedTimestamp"]);
        let mut times: Vec<Timestamp> = times.filter_map(|time| time.as_str()?.parse().ok()).collect();
        times.sort();
        times
    }

    /// Its lines of the audit log.
    fn entries(&self) -> Vec<Value> {
        let user = self.user();
        let log = fs::read_to_string(&self.audit).unwrap_or_default();
        let entries = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        entries
            .filter(|entry| entry["user"]["username"] == user.as_str())
            .collect()
    }

    /// What it has asked for in vain.
    #[must_use]
    pub fn refused(&self) -> Vec<Asked> {
        self.asked().into_iter().filter(|asked| !asked.allowed).collect()
    }

    /// Waits until it has asked for something of which that is true: the log is written a moment later.
    #[track_caller]
    pub fn wait_until_asked(&self, what: &str, look: impl Fn(&Asked) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !self.asked().iter().any(&look) {
            assert!(
                Instant::now() < deadline,
                "it never asked for {what}: {:#?}",
                self.asked()
            );
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Where an object of a namespace's own is created.
fn collection(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_lowercase();
    let version = text(&object["apiVersion"]);
    let root = if version == "v1" { "api" } else { "apis" };
    let namespace = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("namespaces/{namespace}/"),
        None => String::new(),
    };
    format!("/{root}/{version}/{namespace}{}s", text(&object["kind"]))
}

/// A request for a resource; others (`/readyz`, `/apis`) need no right.
fn asked(entry: &Value) -> Option<Asked> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let about = entry.get("objectRef")?;
    let resource = text(&about["resource"]);
    let subresource = text(&about["subresource"]);
    Some(Asked {
        group: text(&about["apiGroup"]),
        resource: if subresource.is_empty() {
            resource
        } else {
            format!("{resource}/{subresource}")
        },
        verb: text(&entry["verb"]),
        namespace: text(&about["namespace"]),
        allowed: entry["annotations"]["authorization.k8s.io/decision"] == "allow",
    })
}
