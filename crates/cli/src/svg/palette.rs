//! All colours of pictures. They are dark enough to read on white, and distinguishable with colour blindness.

use super::{Font, Paint};

/// The paper.
pub const GROUND: &str = "#ffffff";
/// Text.
pub const INK: &str = "#1f2933";
/// Secondary text.
pub const SOFT_INK: &str = "#64707d";
/// Lines between things.
pub const LINE: &str = "#8a95a1";
/// Success, and the tasks that decide it.
pub const GOOD: &str = "#1b7f4b";
/// The ground of what decides success.
pub const GOOD_GROUND: &str = "#dff3e7";
/// Failure.
pub const BAD: &str = "#c62828";
/// The ground of what has failed.
pub const BAD_GROUND: &str = "#f6caca";
/// What needs attention, and what was disrupted.
pub const CAREFUL: &str = "#b26a00";
/// Its ground.
pub const CAREFUL_GROUND: &str = "#ffe0b2";
/// A task that runs.
pub const RUNNING: &str = "#5b8def";
/// A task that waits to start.
pub const WAITING: &str = "#cfd8dc";
/// A task on its way down.
pub const STOPPING: &str = "#9fb6c8";
/// Lines behind everything.
pub const FAINT: &str = "#eceff1";
/// The gang's outline.
pub const GANG: &str = "#b45309";

/// A task that decides success.
pub const DECIDES: Paint = Paint::outlined(GOOD).wide(2).on(GOOD_GROUND);
/// Small text for things to look up.
pub const NOTE: Font = Font::new(12, SOFT_INK);

/// The three shades of one role: its ground, its outline, its tasks.
#[derive(Clone, Copy, Debug)]
pub struct Shades {
    pub ground: &'static str,
    pub edge: &'static str,
    pub node: &'static str,
}

const fn shades(ground: &'static str, edge: &'static str, node: &'static str) -> Shades {
    Shades { ground, edge, node }
}

pub const AMBER: Shades = shades("#fdf6e3", "#c98a10", "#f8e3ae");
pub const BLUE: Shades = shades("#eef5fc", "#3d7ebf", "#c5dcf3");
pub const VIOLET: Shades = shades("#f5f0fb", "#8159b8", "#dccdf0");
pub const TEAL: Shades = shades("#e9f7f6", "#2b8a84", "#bfe4e1");
pub const GRAY: Shades = shades("#f4f5f7", "#7b8794", "#d7dce1");
