//! The output of a simulated run: lanes and a story, as text, SVG or JSON.
//!
//! `faults` parses arguments, `timeline` and `story` evaluate the trace, and the rest draws.

pub mod faults;
mod json;
pub mod story;
pub mod svg;
pub mod text;
pub mod timeline;

pub use self::json::JsonRun;
