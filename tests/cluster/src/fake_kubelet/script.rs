//! What the programs of the pods of one name do, and what happens to these pods.

use std::collections::BTreeMap;

/// A script for all pods of one name. Programs are counted from 0 over all pods of the name, those restarted in place too.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// By the program's number: after how many seconds it ends by itself, and how. Others run until they are told to stop.
    pub ends: BTreeMap<u32, (u32, ProgramEnd)>,
    /// By the program's number: seconds from binding to start.
    pub late: BTreeMap<u32, u32>,
    /// Seconds from SIGTERM to the program's end; beyond the grace period it is killed. [default: 1]
    pub heeds_after: Option<u32>,
    /// A sidecar goes on after the program's end until it is told to stop.
    pub lingers: bool,
    /// What happens to the pod, and from which second on. Each waits for a pod to which it can happen.
    pub disruptions: Vec<(u32, Disruption)>,
    /// The pod never gets a node.
    pub no_node: bool,
}

/// How a program ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramEnd {
    /// It exits with this code.
    Code(i32),
    /// The kernel kills it for its memory: `OOMKilled`.
    OutOfMemory,
    /// It cannot be started: `StartError`.
    NotStarted,
    /// The pod's first init container exits with this code, or cannot be started (None); the program does not run.
    Init(Option<i32>),
    /// The kubelet rejects the pod at admission.
    Rejected,
}

/// What happens to a pod from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disruption {
    /// It is evicted through the API, and its program ends with this code.
    Drain(i32),
    /// The scheduler preempts it for a pod of higher priority, and its program ends with this code.
    Preempt(i32),
    /// A user deletes it, and its program ends with this code.
    Delete(i32),
    /// The kubelet evicts it for memory pressure; the object stays.
    Evict,
    /// The object is deleted without grace while it runs.
    Vanish,
    /// The object is deleted after the pod has ended.
    Remove,
    /// Its node is unreachable and the pod is marked for deletion; the node is back after so many seconds, or never.
    LoseNode(Option<u32>),
}

impl Disruption {
    /// Whether it happens to a pod that has ended; all others happen to one that runs.
    pub(super) fn to_the_ended(self) -> bool {
        self == Self::Remove
    }
}
