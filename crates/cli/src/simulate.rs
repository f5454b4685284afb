//! What a simulated run looks like: lanes and a story made from the trace, drawn as text, as SVG or as JSON.
//!
//! `faults` reads what was typed, `timeline` puts the trace in order, and the rest only draws it.

pub mod faults;
mod json;
pub mod story;
pub mod svg;
pub mod text;
pub mod timeline;

pub use self::json::JsonRun;
