//! The run directory: what is kept of a run.
