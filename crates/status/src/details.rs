//! What a world knows of instances that no decision needs, for the statuses that show it.

use std::sync::Arc;

/// One container of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerSeen {
    /// Its name.
    pub name: Arc<str>,
    /// Its state.
    pub state: ContainerState,
}

/// The state of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerState {
    /// It has not started.
    Waiting,
    /// It runs.
    Running,
    /// It has ended, with this exit code where that is known.
    Terminated(Option<i32>),
}

/// What is known of one instance besides its task.
#[derive(Clone, Copy, Debug, Default)]
pub struct InstanceDetails<'a> {
    /// Its containers, the main one first; empty where it has the main one alone.
    pub containers: &'a [ContainerSeen],
    /// Its node does not answer for it, so what is known of it is old.
    pub is_silent: bool,
}
