//! A task as processes: what to start (`launch`), how it is started, stopped, and how its descendants are found.

pub mod environment;
pub(crate) mod exec;
pub mod launch;
pub(crate) mod lookup;
pub mod orphans;
mod program;
mod stop;
pub mod task;
