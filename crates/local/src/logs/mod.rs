//! Task output: from the pipe into a log file (`pump`), and back in order of time (`files`, `reader`, `merge`).

pub mod files;
pub mod index;
pub mod merge;
pub mod pump;
pub mod reader;
pub(crate) mod tail;
