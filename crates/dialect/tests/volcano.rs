//! Volcano's dialect, from text to what `step` decides and what the status shows.

#[path = "volcano/rules.rs"]
mod rules;
#[path = "volcano/states.rs"]
mod states;

#[path = "volcano/pods.rs"]
mod pods;

mod notation;
mod world;
