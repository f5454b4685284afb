//! What people and programs see of a run: from its events and its tasks' output to the terminal.
//!
//! ```text
//! LogBlock ─▶ reporter ─▶ voice, terminal or json ─▶ screen ─▶ standard output
//! RunEvent ─▶ reporter ─▶ talk, summary or json   ─▶ screen ─▶ standard error (json: standard output)
//! TaskStatus[] ─────────▶ footer                  ─▶ screen ─▶ standard error, if it is a terminal
//! ```
//!
//! The supervisor prints, not the process that the user started: what was typed about it comes over as a [`View`].

mod footer;
mod glob;
pub mod json;
mod reporter;
mod screen;
mod stage;
mod summary;
mod talk;
pub mod terminal;
#[cfg(test)]
mod tests;
mod view;
pub mod voice;

pub use self::glob::Glob;
pub use self::reporter::care;
pub use self::screen::Screen;
pub use self::talk::stamp;
pub use self::view::{Lines, Output, View};
