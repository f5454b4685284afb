//! What is in the pods, and beside them.

use std::collections::BTreeSet;

use serde_json::Value;
use trainyard_core::{InPlace, Role, RoleName, TaskId};

use super::{About, join, list_of};
use crate::cluster_map::ClusterMap;
use crate::nodes::{Seat, Seats};
use crate::tensorboard::Board;

/// So many tasks are named one by one.
const MOST_SHOWN: usize = 4;

pub(super) fn tell(about: &mut About<'_>, map: &ClusterMap, board: Option<&Board>) {
    sidecars(about);
    emptied(about);
    renamed(about);
    for variable in &map.too_long {
        about.say(format!(
            "`{variable}` is left out: no variable can hold so many hosts."
        ));
    }
    for place in board.into_iter().flat_map(|board| &board.elsewhere) {
        about.say(format!(
            "TensorBoard cannot mount `{place}`: only claims are volumes. It is left out."
        ));
    }
}

/// Who sits where: tasks on one node cannot all listen on the same port, and templates choose for themselves.
pub(super) fn seated(about: &mut About<'_>, seats: &Seats, nodes: &[String]) {
    let used: BTreeSet<&String> = seats.values().map(|seat| &seat.node).collect();
    let spare: Vec<String> = nodes
        .iter()
        .filter(|name| !used.contains(name))
        .map(|name| format!("`{name}`"))
        .collect();
    if !spare.is_empty() {
        about.say(format!(
            "Nothing runs on {}: no more tasks leave their node open (`nodeName`).",
            some_of(&spare)
        ));
    }
    let moved = |(task, seat): (&TaskId, &Seat)| {
        let (_, role) = about.job.role(&task.role)?;
        (role.port != seat.port).then(|| format!("`{task}` {}", seat.port))
    };
    let moved: Vec<String> = seats.iter().filter_map(moved).collect();
    if !moved.is_empty() {
        let shown = some_of(&moved);
        about.say(format!(
            "Tasks that share a node listen on ports of their own: {shown}. A script that does not take its port from TF_CONFIG or TRAINYARD_*_HOSTS must be told."
        ));
    }
}

/// The first few of a list.
fn some_of(all: &[String]) -> String {
    let more = if all.len() > MOST_SHOWN { " …" } else { "" };
    join(&all[..all.len().min(MOST_SHOWN)]) + more
}

fn template(role: &Role) -> Value {
    serde_json::from_str(&role.template.0).unwrap_or_default()
}

/// The task has ended when its main container has; a pod has ended when all its containers have.
fn sidecars(about: &mut About<'_>) {
    let several = |role: &Role| {
        let containers = &template(role)["spec"]["containers"];
        containers.as_array().is_some_and(|list| list.len() > 1)
    };
    let names: Vec<&RoleName> = about
        .peopled()
        .filter(|role| several(role))
        .map(|role| &role.name)
        .collect();
    if !names.is_empty() {
        about.say(format!(
            "A pod of {} is done only when all its containers are. A container that does not end by itself belongs under `initContainers`, with `restartPolicy: Always`.",
            list_of(names)
        ));
    }
}

/// Names that a template gives its pods, which come from their Jobs here.
fn renamed(about: &mut About<'_>) {
    let named = |role: &Role| {
        let spec = &template(role)["spec"];
        spec.get("hostname").is_some() || spec.get("subdomain").is_some()
    };
    let names: Vec<&RoleName> = about
        .peopled()
        .filter(|role| named(role))
        .map(|role| &role.name)
        .collect();
    if !names.is_empty() {
        about.say(format!(
            "`hostname` and `subdomain` in the template of {} are left out: by these names the tasks find each other.",
            list_of(names)
        ));
    }
}

/// Restarts in place keep the pod and what it has written.
fn emptied(about: &mut About<'_>) {
    let keeps = |role: &Role| {
        let volumes = &template(role)["spec"]["volumes"];
        let empty = |volume: &Value| volume.get("emptyDir").is_some();
        let written = volumes.as_array().is_some_and(|list| list.iter().any(empty));
        role.in_place != InPlace::Never && written
    };
    let names: Vec<&RoleName> = about
        .peopled()
        .filter(|role| keeps(role))
        .map(|role| &role.name)
        .collect();
    if !names.is_empty() {
        about.say(format!(
            "A task of {} that is started again gets a new pod: what it has written to an `emptyDir` is gone.",
            list_of(names)
        ));
    }
}
