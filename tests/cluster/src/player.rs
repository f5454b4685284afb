//! Does the work of scheduler and kubelet where there is neither: a test writes what they would write.
//!
//! A pod goes the way that real ones go: [`Player::bind`], [`Player::run`], then [`Player::exit`]. Pods that are deleted
//! while they have a node stay, as they do for a kubelet, until [`Player::vanish`].

mod node;
pub(crate) mod status;

pub use node::Node;
use serde_json::{Value, json};

use crate::api::{Api, Refused};
use crate::namespace::Namespace;

/// Plays nodes and pods of one cluster.
#[derive(Clone, Copy)]
pub struct Player<'a> {
    api: &'a Api,
}

impl<'a> Player<'a> {
    pub(crate) fn new(api: &'a Api) -> Self {
        Self { api }
    }

    /// Gives a pod a node, as the scheduler does.
    #[track_caller]
    pub fn bind(self, namespace: &Namespace<'_>, pod: &str, node: &str) {
        let path = namespace.pod(pod) + "/binding";
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        });
        must(&path, self.api.create(&path, &binding));
    }

    /// Says of a pod that no node takes it, as the scheduler does.
    #[track_caller]
    pub fn no_node(self, namespace: &Namespace<'_>, pod: &str, why: &str) {
        self.change(namespace, pod, |_, status| status::unschedulable(status, why));
    }

    /// Lets a pod run: every container started and ready.
    #[track_caller]
    pub fn run(self, namespace: &Namespace<'_>, pod: &str) {
        self.change(namespace, pod, status::running);
    }

    /// Ends every container of a pod with that code, for good.
    #[track_caller]
    pub fn exit(self, namespace: &Namespace<'_>, pod: &str, code: i32) {
        self.change(namespace, pod, |object, status| {
            status::exited(object, status, code, None);
        });
    }

    /// Ends one container for good; the pod goes on as long as another runs.
    #[track_caller]
    pub fn exit_container(self, namespace: &Namespace<'_>, pod: &str, container: &str, code: i32) {
        self.change(namespace, pod, |object, status| {
            status::exited(object, status, code, Some(container));
        });
    }

    /// Ends every container with that code and starts it again in place, as a kubelet does unasked.
    #[track_caller]
    pub fn restart_in_place(self, namespace: &Namespace<'_>, pod: &str, code: i32) {
        self.change(namespace, pod, |_, status| status::restarted(status, code));
    }

    /// Evicts a pod through the API, as `kubectl drain` does: it is marked and asked to end. [`Player::vanish`] ends it.
    #[track_caller]
    pub fn evict(self, namespace: &Namespace<'_>, pod: &str) {
        let path = namespace.pod(pod) + "/eviction";
        let eviction = json!({
            "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": pod, "namespace": namespace.name()},
        });
        must(&path, self.api.create(&path, &eviction));
    }

    /// Fails a pod for want of memory on its node, as a kubelet does.
    #[track_caller]
    pub fn evict_by_kubelet(self, namespace: &Namespace<'_>, pod: &str) {
        self.change(namespace, pod, status::evicted);
    }

    /// Preempts a pod, as the scheduler does for one of higher priority: marked, then deleted.
    #[track_caller]
    pub fn preempt(self, namespace: &Namespace<'_>, pod: &str) {
        self.change(namespace, pod, |_, status| {
            status::disrupted(status, "PreemptionByScheduler");
        });
        self.delete(&namespace.pod(pod));
    }

    /// Ends a pod that is being deleted: its containers with that code, then the object, as a kubelet does.
    #[track_caller]
    pub fn vanish(self, namespace: &Namespace<'_>, pod: &str, code: i32) {
        self.exit(namespace, pod, code);
        self.delete(&(namespace.pod(pod) + "?gracePeriodSeconds=0"));
    }

    /// A readiness probe of the pod fails, its kubelet says.
    #[track_caller]
    pub fn fail_probe(self, namespace: &Namespace<'_>, pod: &str) {
        self.change(namespace, pod, |_, status| status::probe_failed(status));
    }

    /// Renews the Lease of a node, as its kubelet does: where silent nodes are declared dead, one that is played needs it.
    #[track_caller]
    pub fn renew(self, node: &str) {
        let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
        let now = status::now().replace('Z', ".000000Z");
        let spec = json!({ "holderIdentity": node, "leaseDurationSeconds": 40, "renewTime": now });
        let path = format!("{leases}/{node}");
        let renewed = self.api.patch(&path, &json!({ "spec": spec }));
        if renewed.is_err_and(|refused| refused.code == 404) {
            let lease = json!({
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": { "name": node, "namespace": "kube-node-lease" }, "spec": spec,
            });
            must(leases, self.api.create(leases, &lease));
        }
    }

    /// A node falls silent: it is tainted, and its pods are called not ready by the node lifecycle controller. They go on.
    #[track_caller]
    pub fn silence(self, node: &str) {
        let path = format!("/api/v1/nodes/{node}");
        let unreachable = json!([{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]);
        let tainted = json!({"spec": {"taints": unreachable}});
        must(&path, self.api.patch(&path, &tainted));
        let silent = json!({"status": {"conditions": node::conditions("Unknown", "NodeStatusUnknown")}});
        let status = format!("{path}/status");
        must(&status, self.api.patch(&status, &silent));
        for pod in self.pods_on(node) {
            self.change_at(&path_of(&pod), |_, status| status::silent(status));
        }
    }

    /// Loses a node: it falls silent, its pods are marked and deleted, and stay since no kubelet ends them.
    #[track_caller]
    pub fn lose(self, node: &str) {
        self.silence(node);
        for pod in self.pods_on(node) {
            let path = path_of(&pod);
            self.change_at(&path, |_, status| {
                status::disrupted(status, "DeletionByTaintManager");
            });
            self.delete(&path);
        }
    }

    /// Takes a node away for good: its pods are failed and removed, as the collector of pods does.
    #[track_caller]
    pub fn remove(self, node: &str) {
        self.delete(&format!("/api/v1/nodes/{node}"));
        for pod in self.pods_on(node) {
            let path = path_of(&pod);
            self.change_at(&path, |_, status| {
                status["phase"] = "Failed".into();
                status::disrupted(status, "DeletionByPodGC");
            });
            // The operator may have been first: it deletes what has failed.
            let deleted = self.api.delete(&format!("{path}?gracePeriodSeconds=0"));
            if let Err(refused) = deleted {
                assert_eq!(refused.code, 404, "the API server refuses {path}: {refused}");
            }
        }
    }

    #[track_caller]
    fn pods_on(self, node: &str) -> Vec<Value> {
        let path = format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{node}");
        let pods = self.api.list(&path);
        pods.unwrap_or_else(|error| panic!("cannot list the pods of {node}: {error}"))
    }

    #[track_caller]
    fn change(self, namespace: &Namespace<'_>, pod: &str, change: impl Fn(&Value, &mut Value)) {
        self.change_at(&namespace.pod(pod), change);
    }

    /// Changes a pod's status: read, changed and written whole, again after a conflict with another writer.
    #[track_caller]
    fn change_at(self, path: &str, change: impl Fn(&Value, &mut Value)) {
        let status_path = format!("{path}/status");
        loop {
            let mut pod = must(path, self.api.get(path));
            let mut status = pod["status"].take();
            change(&pod, &mut status);
            pod["status"] = status;
            match self.api.replace(&status_path, &pod) {
                Err(error) if error.code == 409 => {}
                written => {
                    must(&status_path, written);
                    return;
                }
            }
        }
    }

    #[track_caller]
    fn delete(self, path: &str) {
        must(path, self.api.delete(path));
    }

    /// Makes a node.
    #[track_caller]
    pub fn node(self, node: &Node) {
        let path = "/api/v1/nodes";
        must(path, self.api.create(path, &node.object()));
        // A new node has no status: that is for its kubelet to say.
        let status = format!("{path}/{}/status", node.name());
        must(
            &status,
            self.api.patch(&status, &json!({"status": node.status()})),
        );
        if node.is_ready() {
            // The API server taints every new node; a controller, which is not here, unties those that are ready.
            let path = format!("{path}/{}", node.name());
            let taints = json!({"spec": {"taints": node.taints()}});
            must(&path, self.api.patch(&path, &taints));
        }
    }
}

#[track_caller]
fn must(path: &str, answer: Result<Value, Refused>) -> Value {
    answer.unwrap_or_else(|error| panic!("the API server refuses {path}: {error}"))
}

fn path_of(pod: &Value) -> String {
    let text = |name: &str| pod["metadata"][name].as_str().unwrap_or_default().to_owned();
    format!("/api/v1/namespaces/{}/pods/{}", text("namespace"), text("name"))
}
