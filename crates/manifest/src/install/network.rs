//! Who may open a connection to the operator's pods.
//!
//! Probes and scrapers may, on their two ports, from anywhere: kubelets have no label that a policy could select, and where
//! a cluster's scraper runs is not known here. Nothing is said about connections that the operator opens: the API server's
//! address cannot be told apart by labels, and a policy that names it wrongly stops all jobs.

use serde_json::{Value, json};

use super::workload::{HEALTH_PORT, METRICS_PORT};
use super::{Install, NAME, labels};

impl Install {
    /// Ingress only, to the ports that the Deployment opens.
    pub(super) fn network_policy(&self) -> Value {
        let port = |number: u16| json!({ "protocol": "TCP", "port": number });
        json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": self.metadata(NAME),
            "spec": {
                "podSelector": { "matchLabels": labels() },
                "policyTypes": ["Ingress"],
                "ingress": [{ "ports": [port(METRICS_PORT), port(HEALTH_PORT)] }],
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_ports_that_the_operator_opens_are_let_in() {
        let install = Install::default();
        let objects = install.objects();
        let of = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();
        let (policy, deployment) = (&of("NetworkPolicy")["spec"], &of("Deployment")["spec"]);
        assert_eq!(policy["podSelector"], deployment["selector"]);
        let numbers = |ports: &Value, field: &str| -> Vec<Value> {
            let ports = ports.as_array().unwrap();
            ports.iter().map(|port| port[field].clone()).collect()
        };
        let open = &deployment["template"]["spec"]["containers"][0]["ports"];
        assert_eq!(
            numbers(&policy["ingress"][0]["ports"], "port"),
            numbers(open, "containerPort")
        );
        // A rule for egress, even an empty one, would cut the operator off from the API server.
        assert_eq!(policy["policyTypes"], json!(["Ingress"]));
        assert_eq!(policy.get("egress"), None);
    }
}
