//! Why a pod or container failed, in words: from its termination message, its exit code and the kubelet's reason.
//!
//! The operator reads no logs, which would be a right over every tenant's; with `FallbackToLogsOnError` the end of a log is the
//! termination message. Everything here is a tenant's to write, so all of it is bounded.

use std::sync::Arc;

use trainyard_causes::{Ended, MemoryEvidence, PodEvidence, World, find_in_pod, of_pod};
use trainyard_core::{Exit, FailureCause};
use trainyard_document::problem::is_hidden;

use super::exit::own_fault;
use super::wire::{ContainerWire, PodWire, TerminatedWire};

/// Bytes of a message that are looked at, from its end; a kubelet keeps 12 KiB per pod at most.
const MOST_MESSAGE: usize = 16 * 1024;

/// The reason of a container that used more memory than its limit.
pub(super) const OUT_OF_MEMORY: &str = "OOMKilled";

/// Why a container failed; none if it has not, or nothing is known but that it did.
pub(super) fn of_container(
    wire: &PodWire,
    container: &ContainerWire,
    terminated: &TerminatedWire,
) -> Option<Arc<FailureCause>> {
    let own_fault = own_fault(wire);
    let reason = terminated.reason.as_deref().unwrap_or_default();
    if terminated.exit_code == Some(0) && !own_fault && reason != OUT_OF_MEMORY {
        return None;
    }
    if own_fault {
        return of_whole_pod(wire);
    }
    let ended = Ended {
        output: end_of(terminated.message.as_deref().unwrap_or_default()).as_bytes(),
        code: terminated.exit_code,
        memory: MemoryEvidence::Unknown,
        world: World::Cluster,
    };
    let mut specs = wire.spec.containers.iter().chain(&wire.spec.init_containers);
    let probed = specs.any(|spec| spec.name == container.name && spec.has_killing_probe());
    find_in_pod(&ended, PodEvidence { reason, probed }).map(Arc::new)
}

/// Why the kubelet ended a pod or refused it.
pub(super) fn of_whole_pod(wire: &PodWire) -> Option<Arc<FailureCause>> {
    let status = &wire.status;
    let reason = status.reason.as_deref()?;
    let message = status.message.as_deref().unwrap_or_default();
    of_pod(reason, end_of(message)).map(Arc::new)
}

/// The last line that says something, as it can be shown: without control characters.
pub(super) fn last_line(text: &str) -> Option<Arc<str>> {
    let shown = |line: &str| -> String { line.chars().filter(|it| !is_hidden(*it)).collect() };
    let mut lines = end_of(text).lines().rev().map(shown);
    lines.find_map(|line| Exit::last_line(&line))
}

/// The end of a text, at a character's boundary.
fn end_of(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(MOST_MESSAGE))..]
}
