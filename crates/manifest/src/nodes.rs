//! Tasks whose addresses are those of nodes: on the host's network, each on a node and port of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use trainyard_core::{AddressBook, Job, Role, TaskId};

use crate::values::{list, object};

/// The node that a task runs on, and its port there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// The node.
    pub node: String,
    /// The port TensorFlow listens on there.
    pub port: u16,
    /// The template names the node itself.
    pub by_template: bool,
}

/// The seat of every task.
pub type Seats = BTreeMap<TaskId, Seat>;

/// Gives every task a node, in order, and from the first again where there are fewer nodes than tasks; a template that names its node
/// keeps it. Tasks on one node get ports of their own. None where there is no node for some task.
#[must_use]
pub fn seats(job: &Job, nodes: &[String]) -> Option<Seats> {
    let mut next = nodes.iter().cycle();
    let mut taken: BTreeSet<(String, u16)> = BTreeSet::new();
    let mut seats = Seats::new();
    for role in &job.roles {
        let named = node_of(role);
        for task in role.tasks() {
            let node = match &named {
                Some(node) => node.clone(),
                None => next.next()?.clone(),
            };
            let port = (role.port..=u16::MAX).find(|port| !taken.contains(&(node.clone(), *port)))?;
            taken.insert((node.clone(), port));
            let by_template = named.is_some();
            let seat = Seat {
                node,
                port,
                by_template,
            };
            seats.insert(task, seat);
        }
    }
    Some(seats)
}

/// `node:port` of every task.
#[must_use]
pub fn book(seats: &Seats) -> AddressBook {
    let address = |(task, seat): (&TaskId, &Seat)| {
        let address: Arc<str> = format!("{}:{}", seat.node, seat.port).into();
        (task.clone(), address)
    };
    AddressBook(seats.iter().map(address).collect())
}

/// The node that a role's template names.
fn node_of(role: &Role) -> Option<String> {
    let template: Value = serde_json::from_str(&role.template.0).ok()?;
    let name = template["spec"]["nodeName"].as_str()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// Puts a pod on its node. By affinity and not by `nodeName`, so that the scheduler still checks whether there is room.
pub(crate) fn sit(pod: &mut Map<String, Value>, seat: &Seat) {
    pod.insert("hostNetwork".into(), true.into());
    pod.entry("dnsPolicy")
        .or_insert_with(|| "ClusterFirstWithHostNet".into());
    if seat.by_template {
        return;
    }
    let field = json!({ "key": "metadata.name", "operator": "In", "values": [seat.node] });
    let required = object(pod, "affinity")
        .and_then(|affinity| object(affinity, "nodeAffinity"))
        .and_then(|node| object(node, "requiredDuringSchedulingIgnoredDuringExecution"));
    let Some(terms) = required.and_then(|required| list(required, "nodeSelectorTerms")) else {
        return;
    };
    if terms.is_empty() {
        terms.push(json!({}));
    }
    // Terms are alternatives, so each must name the node.
    for term in terms.iter_mut().filter_map(Value::as_object_mut) {
        if let Some(fields) = list(term, "matchFields") {
            fields.push(field.clone());
        }
    }
}
