//! Volcano's dialect, from text to what `step` decides and what the status shows.

#[path = "volcano/rules.rs"]
mod rules;
#[path = "volcano/states.rs"]
mod states;

mod notation;
mod world;
