//! What is kept of runs on disk, and who may read it.

pub mod access;
pub mod directory;
pub mod removal;
pub mod run_file;
pub mod state;
pub mod status;
