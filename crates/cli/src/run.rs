//! What people and programs see of a run: from its events and its tasks' output to the terminal.
//!
//! ```text
//! LogBlock ─▶ reporter ─▶ prefix, terminal or json ─▶ display ─▶ standard output
//! RunEvent ─▶ reporter ─▶ sentences, summary or json   ─▶ display ─▶ standard error (json: standard output)
//! TaskStatus[], activity ▶ footer                  ─▶ display ─▶ standard error, if it is a terminal
//! ```

mod activity;
mod display;
mod footer;
mod glob;
pub mod json;
pub mod prefix;
mod reporter;
mod sentences;
mod streams;
mod summary;
mod terminal;
#[cfg(test)]
mod tests;
mod view;

pub use self::display::Display;
pub use self::glob::Glob;
pub use self::sentences::stamp;
pub use self::view::{Lines, View};
