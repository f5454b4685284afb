//! The supervisor: its first steps, before it starts a task.
