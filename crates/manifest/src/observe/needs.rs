//! What a pod needs of a node, as far as it can be computed outside of a scheduler.
//!
//! It is read from the pod and not from its template: admission adds requests, tolerations and selectors. Whatever else the scheduler heeds
//! (affinity, spread, volumes, claims) only takes nodes away, so the nodes that match here are those, or more.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use trainyard_document::quantity::Quantity;

use super::wire::SpecWire;
use crate::taints::Toleration;

/// More entries than these of one sort are not read.
const MOST: usize = 64;

/// Amounts in thousandths, never negative: `cpu`, `memory`, `nvidia.com/gpu`, and `pods`, of which each pod is one.
pub type Amounts = BTreeMap<Arc<str>, i64>;

/// What a pod needs of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodNeeds {
    /// Its node selector.
    pub selector: BTreeMap<Arc<str>, Arc<str>>,
    /// What it tolerates.
    pub tolerations: Vec<Toleration>,
    /// What it asks for.
    pub ask: Amounts,
    /// It may be placed by other rules than these: another scheduler places it, or there is more than is read.
    pub in_doubt: bool,
}

impl PodNeeds {
    /// Reads them.
    pub(super) fn of(spec: &SpecWire) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let selector = spec.node_selector.as_object();
        let tolerations = spec.tolerations.as_array();
        let tolerations = tolerations.into_iter().flatten().take(MOST + 1);
        let tolerations: Vec<Toleration> = tolerations
            .map(|one| Toleration {
                key: text(&one["key"]),
                operator: text(&one["operator"]),
                value: text(&one["value"]),
                effect: text(&one["effect"]),
            })
            .collect();
        let ask = asked(spec);
        let own = ["", "default-scheduler"];
        let is_ours = own.contains(&spec.scheduler_name.as_deref().unwrap_or_default());
        let too_much = tolerations.len() > MOST
            || selector.is_some_and(|selector| selector.len() > MOST)
            || ask.len() > MOST;
        let selector = selector.into_iter().flatten().take(MOST);
        let selector = selector.map(|(key, value)| (key.as_str().into(), text(value).into()));
        Self {
            in_doubt: !is_ours || too_much || !tolerations.iter().all(Toleration::is_known),
            selector: selector.collect(),
            ask: ask.into_iter().take(MOST).collect(),
            tolerations,
        }
    }

    /// Its node selector as `kubectl get nodes -l` takes it.
    #[must_use]
    pub fn selector_words(&self) -> String {
        let words = self.selector.iter().map(|(key, value)| format!("{key}={value}"));
        words.collect::<Vec<_>>().join(",")
    }
}

/// The amounts in a map of quantities. What is no quantity is left out, and nothing is negative.
pub(super) fn amounts(value: &Value) -> Amounts {
    let entries = value.as_object().into_iter().flatten().take(MOST + 1);
    let amount = |value: &Value| match value {
        Value::String(text) => Quantity::parse(text).ok(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
        _ => None,
    };
    let amounts =
        entries.filter_map(|(name, value)| Some((name.as_str().into(), amount(value)?.milli.max(0))));
    amounts.collect()
}

/// What a pod asks for, as the scheduler counts it: its containers with the sidecars, or what it takes to start them if that is more; or
/// what the pod itself says; and the overhead of its runtime.
fn asked(spec: &SpecWire) -> Amounts {
    let (mut sidecars, mut starting, mut ask) = (Amounts::new(), Amounts::new(), Amounts::new());
    for container in &spec.init_containers {
        let mut own = amounts(&container.resources["requests"]);
        if container.is_sidecar() {
            add(&mut sidecars, &own);
            raise(&mut starting, &sidecars);
        } else {
            add(&mut own, &sidecars);
            raise(&mut starting, &own);
        }
    }
    for container in &spec.containers {
        add(&mut ask, &amounts(&container.resources["requests"]));
    }
    add(&mut ask, &sidecars);
    raise(&mut ask, &starting);
    ask.extend(amounts(&spec.resources["requests"]));
    add(&mut ask, &amounts(&spec.overhead));
    ask.insert("pods".into(), 1000);
    ask
}

fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let entry = sum.entry(Arc::clone(name)).or_default();
        *entry = entry.saturating_add(*amount);
    }
}

fn raise(most: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        let entry = most.entry(Arc::clone(name)).or_default();
        *entry = (*entry).max(*amount);
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize as _;
    use serde_json::json;

    use super::super::wire::PodWire;
    use super::*;

    fn needs(spec: &Value) -> PodNeeds {
        let pod = json!({ "spec": spec });
        PodNeeds::of(&PodWire::deserialize(&pod).unwrap().spec)
    }

    fn asks(cpu: &str) -> Value {
        json!({ "requests": { "cpu": cpu } })
    }

    #[test]
    fn a_pod_asks_for_what_the_scheduler_counts() {
        let container = |cpu: &str| json!({ "name": "c", "resources": asks(cpu) });
        let sidecar = |cpu: &str| json!({ "name": "s", "restartPolicy": "Always", "resources": asks(cpu) });
        let rows = [
            (json!({ "containers": [container("1"), container("500m")] }), 1500),
            (
                json!({ "initContainers": [container("3")], "containers": [container("1")] }),
                3000,
            ),
            (
                json!({ "initContainers": [sidecar("1")], "containers": [container("1")] }),
                2000,
            ),
            (
                json!({ "initContainers": [sidecar("1"), container("3")], "containers": [container("1")] }),
                4000,
            ),
            (
                json!({ "containers": [container("1")], "resources": asks("5") }),
                5000,
            ),
            (
                json!({ "containers": [container("1")], "overhead": { "cpu": "250m" } }),
                1250,
            ),
            (json!({ "containers": [container("-4")] }), 0),
            (json!({ "containers": [container("99999999999E")] }), i64::MAX),
        ];
        for (spec, cpu) in rows {
            let ask = needs(&spec).ask;
            assert_eq!((ask.get("cpu"), ask["pods"]), (Some(&cpu), 1000), "{spec}");
        }
    }

    #[test]
    fn what_cannot_be_computed_is_in_doubt_and_nonsense_is_read() {
        let many: serde_json::Map<_, _> = (0..99).map(|at| (at.to_string(), json!("x"))).collect();
        let rows = [
            (json!({}), false),
            (json!({ "schedulerName": "default-scheduler" }), false),
            (json!({ "schedulerName": "mine" }), true),
            (
                json!({ "tolerations": [{ "operator": "Gt", "key": "a", "value": "1" }] }),
                true,
            ),
            (json!({ "tolerations": [{ "operator": "Exists" }] }), false),
            (json!({ "nodeSelector": many }), true),
            (
                json!({ "nodeSelector": 7, "tolerations": "x", "overhead": [1], "resources": { "requests": { "cpu": {} } } }),
                false,
            ),
        ];
        for (spec, expected) in rows {
            assert_eq!(needs(&spec).in_doubt, expected, "{spec}");
        }
    }
}
