//! The socket over which other commands speak to a run.
