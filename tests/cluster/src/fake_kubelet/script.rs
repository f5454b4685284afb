//! What the pods of one name do.

use std::collections::BTreeMap;

/// A script. Programs are counted from 0 over all pods of the name, those restarted in place too.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// How a program ends by itself, and after how many seconds; the others run until they are told to stop.
    pub ends: BTreeMap<u32, (u32, ProgramEnd)>,
    /// A program starts so many seconds late.
    pub late: BTreeMap<u32, u32>,
    /// Who is told to stop ends after so many seconds; past its grace it is killed. One second, unless said.
    pub heeds_after: Option<u32>,
    /// A container beside the program's goes on until it is told to stop.
    pub lingers: bool,
    /// What happens to the pod, from which second on. Each waits for a pod that it can happen to.
    pub disruptions: Vec<(u32, Disruption)>,
    /// It never gets a node.
    pub no_node: bool,
}

/// How a program ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramEnd {
    /// With a code.
    Code(i32),
    /// Killed for its memory.
    OutOfMemory,
    /// It could not be started.
    NotStarted,
    /// The pod's first init container ends with this code, or could not be started; so the program is not.
    Init(Option<i32>),
    /// The kubelet refuses the pod.
    Rejected,
}

/// What happens to a pod from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disruption {
    /// It is evicted through the API, and its program ends with this code.
    Drain(i32),
    /// It makes room for somebody more important, and its program ends with this code.
    Preempt(i32),
    /// Somebody deletes it, and its program ends with this code.
    Delete(i32),
    /// Its node ends it for want of memory; it stays to be seen.
    Evict,
    /// It is gone at once.
    Vanish,
    /// It has ended, and is removed.
    Remove,
    /// Its node is silent, and it is told to go; the node is back after so many seconds.
    LoseNode(Option<u32>),
}

impl Disruption {
    /// Whether it happens to a pod that has ended; all others happen to one that runs.
    pub(super) fn to_the_ended(self) -> bool {
        self == Self::Remove
    }
}
