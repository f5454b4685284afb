//! What the operator may do: exactly what it does, by one table.
//!
//! The tests run the operator as this account and compare what the API server's audit log saw with the table: what is used
//! must be granted, and what is granted must be used. There is nothing about secrets, `pods/exec` or roles, and
//! nodes are read only for gangs by gates: an attacker who takes the operator over can run pods in the namespaces whose jobs it runs, and no more.

use serde_json::{Value, json};

use super::{Install, NAME, labels};
use crate::kinds::Kinds;
use crate::kueue;

/// The lease by which one of several operators works.
pub const LEASE: &str = "trainyard-operator";
/// What the role and the binding for it are called.
const LEADER: &str = "trainyard-leader-election";

/// Where something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Where jobs are.
    Jobs,
    /// In the operator's own namespace.
    Own,
    /// In no namespace: what administrators wrote for all of them, and which an operator for one namespace reads too.
    Cluster,
}

/// How the API server comes to ask whether something may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// By a request of the operator's: the audit log shows it.
    Request,
    /// While it looks at another request.
    Beside,
}

/// One kind of thing that the operator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// Where.
    pub place: Place,
    /// The API group; empty is the core one.
    pub group: &'static str,
    /// The resource, and the subresource after a slash.
    pub resource: &'static str,
    /// What is done with it.
    pub verbs: &'static [&'static str],
    /// The one object of that name, where the API can tell.
    pub name: Option<&'static str>,
    /// How it is seen.
    pub asked: Asked,
    /// Why it is done.
    pub why: &'static str,
}

/// What the operator does whatever the kinds of its jobs are; each kind has rows of its own.
pub const USES: &[Use] = &[
    Use {
        verbs: &["list", "watch", "get", "create", "delete"],
        why: "a task is a pod; one that is there already is looked at once, to see whose it is",
        ..jobs("", "pods")
    },
    Use {
        verbs: &["list", "watch", "get", "create", "delete"],
        why: "tasks are found by Services: made again when they are deleted, and taken away when they are not needed",
        ..jobs("", "services")
    },
    Use {
        verbs: &["get", "create"],
        why: "the addresses of a large job are in one map and not in every pod",
        ..jobs("", "configmaps")
    },
    Use {
        verbs: &["create"],
        why: "what happened to a job is told as events on it",
        ..jobs("events.k8s.io", "events")
    },
    Use {
        verbs: &["create"],
        // No request to create can be told by the name.
        name: None,
        why: "the first operator makes the lease",
        ..lease()
    },
    Use {
        verbs: &["list", "watch", "get", "update"],
        why: "one of several operators holds the lease and works; the others watch it",
        ..lease()
    },
];

/// What it does with the Deployments of `TensorBoard`s, where it was told to create any.
pub const BOARDS: Use = Use {
    verbs: &["list", "watch", "create", "delete"],
    why: "a job's TensorBoard is a Deployment: created again when it is deleted, and replaced when its settings change",
    ..jobs("apps", "deployments")
};

/// What it does with NetworkPolicies, where it was told to create any.
pub const POLICIES: Use = Use {
    verbs: &["list", "watch", "get", "create", "update", "delete"],
    why: "a job may ask that nothing but its own pods reaches them: the NetworkPolicy is corrected when it was changed, created again \
          when it was deleted, and deleted when the job does not ask for it any more",
    ..jobs("networking.k8s.io", "networkpolicies")
};

/// Everything that the operator does with jobs of these kinds.
pub fn uses(kinds: &Kinds) -> impl Iterator<Item = Use> {
    kinds
        .apis()
        .iter()
        .flat_map(|kind| kind.uses)
        .chain(USES)
        .copied()
}

/// What it does with jobs of one kind.
pub(crate) const fn of_jobs(group: &'static str, plural: &'static str) -> Use {
    Use {
        verbs: &["list", "watch", "delete"],
        why: "jobs are seen; those whose time to live is over are deleted",
        ..jobs(group, plural)
    }
}

/// The same where jobs have no time to live.
pub(crate) const fn of_lasting_jobs(group: &'static str, plural: &'static str) -> Use {
    Use {
        verbs: &["list", "watch"],
        why: "jobs are seen",
        ..jobs(group, plural)
    }
}

/// What it does with their statuses.
pub(crate) const fn of_statuses(group: &'static str, resource: &'static str) -> Use {
    Use {
        verbs: &["update"],
        why: "a job's status, and with it what the operator must remember, is written when something about the job has changed",
        ..jobs(group, resource)
    }
}

/// What lets its pods and Services hold jobs of one kind until they are gone.
pub(crate) const fn of_finalizers(group: &'static str, resource: &'static str) -> Use {
    Use {
        verbs: &["update"],
        asked: Asked::Beside,
        why: "pods and Services hold their job until they are gone (`blockOwnerDeletion`, as Kubeflow's do); where \
              OwnerReferencesPermissionEnforcement is on, as on OpenShift, they are refused without this",
        ..jobs(group, resource)
    }
}

/// What it does with the objects by which a gang scheduler places a job's tasks together.
pub(crate) const fn of_groups(group: &'static str, plural: &'static str) -> Use {
    Use {
        verbs: &["list", "watch", "create", "patch", "delete"],
        why: "a gang scheduler places a job's tasks together that are in one group",
        ..jobs(group, plural)
    }
}

/// What it does with the queues that these objects are put into, and which are in no namespace.
pub(crate) const fn of_queues(group: &'static str, plural: &'static str) -> Use {
    Use {
        verbs: &["list", "watch"],
        why: "a scheduler says nothing about a group whose queue is missing, closed or full: the job's status does",
        ..cluster(group, plural)
    }
}

/// A row about objects in the namespaces of jobs, to be completed.
pub(crate) const fn jobs(group: &'static str, resource: &'static str) -> Use {
    Use {
        place: Place::Jobs,
        group,
        resource,
        verbs: &[],
        name: None,
        asked: Asked::Request,
        why: "",
    }
}

/// The same about objects that are in no namespace.
pub(crate) const fn cluster(group: &'static str, resource: &'static str) -> Use {
    Use {
        place: Place::Cluster,
        ..jobs(group, resource)
    }
}

const fn lease() -> Use {
    Use {
        place: Place::Own,
        name: Some(LEASE),
        ..jobs("coordination.k8s.io", "leases")
    }
}

/// Roles and their bindings. An operator for one namespace has a role there, and may do nothing elsewhere.
pub(super) fn roles(install: &Install) -> Vec<Value> {
    let boards = install.tensorboard.then_some(BOARDS);
    let policies = install.network_policies.then_some(POLICIES);
    let uses = uses(&install.kinds).chain(install.gang.uses());
    let queues = if install.kueue { kueue::USES } else { &[] };
    let uses = uses.chain(boards).chain(policies).chain(queues.iter().copied());
    let uses: Vec<Use> = uses.collect();
    let for_jobs = Scope {
        name: NAME,
        namespace: install.watch.as_deref(),
    };
    let own = Scope {
        name: LEADER,
        namespace: Some(&install.namespace),
    };
    let mut roles = vec![
        for_jobs.role(&uses, Place::Jobs),
        for_jobs.binding(install),
        own.role(&uses, Place::Own),
        own.binding(install),
    ];
    if uses.iter().any(|used| used.place == Place::Cluster) {
        let name = reads(&install.namespace);
        let shared = Scope {
            name: &name,
            namespace: None,
        };
        roles.extend([shared.role(&uses, Place::Cluster), shared.binding(install)]);
    }
    roles
}

/// What the role and the binding for objects without a namespace are called. Each operator has its own, also where each is for one namespace:
/// they may have been installed with other schedulers. Not `-reads-`: bindings of that name were made for a role that all operators shared,
/// and the role of a binding cannot be changed.
#[must_use]
pub fn reads(namespace: &str) -> String {
    format!("{NAME}-reader-{namespace}")
}

/// A role's name and how far it reaches.
#[derive(Clone, Copy)]
struct Scope<'a> {
    name: &'a str,
    /// None is the whole cluster.
    namespace: Option<&'a str>,
}

impl Scope<'_> {
    fn kind(self) -> &'static str {
        if self.namespace.is_some() {
            "Role"
        } else {
            "ClusterRole"
        }
    }

    fn metadata(self) -> Value {
        let mut metadata = json!({ "name": self.name });
        if let Some(namespace) = self.namespace {
            metadata["namespace"] = namespace.into();
        }
        metadata["labels"] = labels();
        metadata
    }

    fn role(self, uses: &[Use], place: Place) -> Value {
        let uses = uses.iter().filter(|used| used.place == place);
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": self.kind(),
            "metadata": self.metadata(),
            "rules": uses.map(rule).collect::<Vec<_>>(),
        })
    }

    fn binding(self, install: &Install) -> Value {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": format!("{}Binding", self.kind()),
            "metadata": self.metadata(),
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": self.kind(), "name": self.name },
            "subjects": [{ "kind": "ServiceAccount", "name": NAME, "namespace": install.namespace }],
        })
    }
}

fn rule(used: &Use) -> Value {
    let mut rule = json!({ "apiGroups": [used.group], "resources": [used.resource] });
    if let Some(name) = used.name {
        rule["resourceNames"] = json!([name]);
    }
    rule["verbs"] = json!(used.verbs);
    rule
}
