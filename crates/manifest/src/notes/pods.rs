//! Notes about the contents of pods: containers, names, volumes, variables; and about TensorBoard.

use std::collections::BTreeSet;

use serde_json::Value;
use trainyard_core::{InPlace, Role, TaskId};

use super::{About, join};
use crate::cluster_map::ClusterMap;
use crate::nodes::{Seat, Seats};
use crate::tensorboard::Board;

/// More tasks or nodes than these are not listed one by one.
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
            "TensorBoard cannot mount `{place}`: only claims and directories of nodes are volumes. It is left out."
        ));
    }
    if board.is_some_and(|board| board.ttl.is_some()) {
        about.say(
            "TensorBoard's `ttlSecondsAfterFinished` has no effect: nothing here deletes a Deployment after a time. Delete it when you have \
             seen enough."
                .to_owned(),
        );
    }
}

/// Where tasks run, if each has a node: two tasks on one node cannot listen on the same port, and templates may name their node.
pub(super) fn seated(about: &mut About<'_>, seats: &Seats, nodes: &[String]) {
    let used: BTreeSet<&String> = seats.values().map(|seat| &seat.node).collect();
    let spare = nodes.iter().filter(|name| !used.contains(name));
    let spare: Vec<String> = spare.map(|name| format!("`{name}`")).collect();
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

fn pod(role: &Role) -> Value {
    let mut template: Value = serde_json::from_str(&role.template.0).unwrap_or_default();
    template["spec"].take()
}

/// A task has ended when its main container has; a pod has ended when all its containers have.
fn sidecars(about: &mut About<'_>) {
    let several = |role: &Role| {
        pod(role)["containers"]
            .as_array()
            .is_some_and(|list| list.len() > 1)
    };
    about.say_of(several, |names| {
        format!(
            "A pod of {names} is done only when all its containers are. A container that does not end by itself belongs under `initContainers`, with `restartPolicy: Always`."
        )
    });
}

/// Names that a template gives its pods; here they come from the Jobs.
fn renamed(about: &mut About<'_>) {
    let named = |role: &Role| {
        let pod = pod(role);
        pod.get("hostname").is_some() || pod.get("subdomain").is_some()
    };
    about.say_of(named, |names| {
        format!(
            "`hostname` and `subdomain` in the template of {names} are left out: by these names the tasks find each other."
        )
    });
}

/// A restart in place keeps the pod and what it has written.
fn emptied(about: &mut About<'_>) {
    let keeps = |role: &Role| {
        let empty = |volume: &Value| volume.get("emptyDir").is_some();
        let written = |list: &Vec<Value>| list.iter().any(empty);
        role.in_place != InPlace::Never && pod(role)["volumes"].as_array().is_some_and(written)
    };
    about.say_of(keeps, |names| {
        format!(
            "A task of {names} that is started again gets a new pod: what it has written to an `emptyDir` is gone."
        )
    });
}
