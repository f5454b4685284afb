//! The operator as pods: a Deployment, a Service for its figures, and how many of its pods may be taken away at once.

use serde_json::{Value, json};

use super::{Install, NAME, labels};
use crate::kinds::Kinds;

/// Where it says how it is.
pub const HEALTH_PORT: u16 = 8081;
/// Where its figures are.
pub const METRICS_PORT: u16 = 8080;
/// The user `nonroot` of images without a shell.
const USER: u32 = 65532;
/// Passes that are under way are finished, and the lease is handed on.
const GRACE: u32 = 30;

impl Install {
    /// Everything that runs, and who may talk to it before it does.
    pub(super) fn workload(&self) -> Vec<Value> {
        let mut objects = vec![self.network_policy(), self.deployment(), self.service()];
        // A budget for a single pod would only keep its node from being drained.
        if self.replicas > 1 {
            objects.push(self.disruption_budget());
        }
        objects
    }

    fn deployment(&self) -> Value {
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": self.metadata(NAME),
            "spec": {
                "replicas": self.replicas,
                // What is remembered of jobs is written by one version at a time: an update pod by pod would let the old and
                // the new one lead in turns, and the old one would leave alone what the new one has begun.
                "strategy": { "type": "Recreate" },
                "selector": { "matchLabels": labels() },
                "template": { "metadata": { "labels": labels() }, "spec": self.pod() },
            },
        })
    }

    fn pod(&self) -> Value {
        let mut pod = json!({
            "serviceAccountName": NAME,
            "automountServiceAccountToken": true,
            "enableServiceLinks": false,
            "securityContext": {
                "runAsNonRoot": true, "runAsUser": USER, "runAsGroup": USER,
                "seccompProfile": { "type": "RuntimeDefault" },
            },
            "terminationGracePeriodSeconds": GRACE,
            "nodeSelector": { "kubernetes.io/os": "linux" },
            // The second one is for when the first one's node is gone; better on the same than nowhere.
            "topologySpreadConstraints": [{
                "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": { "matchLabels": labels() },
            }],
            "containers": [self.container()],
        });
        if let Some(class) = &self.priority_class {
            pod["priorityClassName"] = class.as_str().into();
        }
        pod
    }

    fn container(&self) -> Value {
        let probe = |path: &str, period: u32| json!({ "httpGet": { "path": path, "port": "health" }, "periodSeconds": period });
        json!({
            "name": "operator",
            "image": self.image,
            "imagePullPolicy": "IfNotPresent",
            "args": self.words(),
            "ports": [
                { "name": "metrics", "containerPort": METRICS_PORT },
                { "name": "health", "containerPort": HEALTH_PORT },
            ],
            "livenessProbe": probe("/livez", 10),
            "readinessProbe": probe("/readyz", 5),
            "resources": {
                "requests": { "cpu": "50m", "memory": "64Mi" },
                // Far above what ten thousand jobs take: a leak ends it, and a burst of work is not slowed down.
                "limits": { "memory": "1Gi" },
            },
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "readOnlyRootFilesystem": true,
                "capabilities": { "drop": ["ALL"] },
            },
        })
    }

    /// The words after the program's name.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let mut words = vec![
            "operator".to_owned(),
            "--leader-elect".to_owned(),
            // Otherwise it would be where the jobs are, if that is one namespace.
            format!("--leader-election-namespace={}", self.namespace),
            format!("--health-probe-bind-address=:{HEALTH_PORT}"),
            format!("--metrics-bind-address=:{METRICS_PORT}"),
            "--log-format=json".to_owned(),
        ];
        words.extend(
            self.watch
                .as_ref()
                .map(|namespace| format!("--namespace={namespace}")),
        );
        if self.kinds != Kinds::default() {
            words.push(format!("--kinds={}", self.kinds));
        }
        if !self.gang.is_empty() {
            words.push(format!("--gang-scheduler-name={}", self.gang));
        }
        if self.network_policies {
            words.push("--network-policies".to_owned());
        }
        if self.tensorboard {
            words.push("--tensorboard".to_owned());
        }
        if self.kueue {
            words.push("--kueue".to_owned());
        }
        words.extend(self.arguments.iter().cloned());
        words
    }

    /// Scrapers that look for annotations find it as they found Kubeflow's.
    fn service(&self) -> Value {
        let mut metadata = self.metadata(NAME);
        metadata["annotations"] = json!({
            "prometheus.io/path": "/metrics",
            "prometheus.io/port": METRICS_PORT.to_string(),
            "prometheus.io/scrape": "true",
        });
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {
                "type": "ClusterIP",
                "selector": labels(),
                "ports": [{ "name": "metrics", "port": METRICS_PORT, "targetPort": "metrics" }],
            },
        })
    }

    fn disruption_budget(&self) -> Value {
        json!({
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": self.metadata(NAME),
            "spec": {
                "maxUnavailable": 1,
                // One that does not come up must not keep a node from being drained.
                "unhealthyPodEvictionPolicy": "AlwaysAllow",
                "selector": { "matchLabels": labels() },
            },
        })
    }
}
