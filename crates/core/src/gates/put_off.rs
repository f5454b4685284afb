//! A gang that would not fit: for how long it keeps those behind it waiting, and when it is tried all the same.
//!
//! One that would fit when jobs have ended gets its nodes only if nothing else begins on them for as long as those jobs take, which the arbiter cannot know. So
//! it keeps them free for the length of a turn, and for twice as long after each turn that failed.

use crate::time::Time;

/// A gang that would not fit is tried all the same when its turn has been put off for so many seconds: nodes may be counted wrongly, and a
/// cluster that grows on demand adds none for pods behind a gate. The first time it is tried as soon as a turn would have lasted.
pub const TRIED_AFTER: u32 = 600;
/// A gang keeps nodes free for this many seconds at a time at most: it waits for jobs that last an hour, and nodes do not stand idle for those that
/// last a day.
pub const MOST_RESERVED: u32 = 3600;
/// Failed turns beyond these change nothing: a second, doubled so often, is more than [`MOST_RESERVED`].
const MOST_TURNS: u32 = 12;

/// Whether a gang would fit, as far as is known. It is advice: the scheduler decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fit {
    /// There is room for it, or nothing is known.
    Now,
    /// When jobs of this operator have ended.
    Later,
    /// Not on the nodes that there are, if they were empty.
    Never,
}

/// Turns of a gang in which it was not placed. Its memory says so too, but users may write that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Failed {
    /// When the last one was over.
    pub at: Time,
    /// How many there were since it was placed, up to [`MOST_TURNS`].
    pub turns: u32,
}

impl Failed {
    /// One more.
    pub fn again(self, now: Time) -> Self {
        Self {
            at: now,
            turns: MOST_TURNS.min(self.turns + 1),
        }
    }
}

/// Since when a gang's turn has been put off because it would not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PutOff {
    pub since: Time,
    pub fit: Fit,
}

impl PutOff {
    /// When it is tried although it would not fit.
    pub fn tried(self, failed: Failed, patience: u32) -> Time {
        match self.fit {
            Fit::Later => {
                let longer = patience.saturating_mul(1 << failed.turns.min(MOST_TURNS));
                self.since.max(rested(failed, patience)) + longer.min(MOST_RESERVED.max(patience))
            }
            Fit::Now | Fit::Never if failed.turns == 0 => self.since + patience,
            Fit::Now | Fit::Never => self.since + TRIED_AFTER,
        }
    }

    /// Whether it keeps those behind it waiting until it is tried.
    pub fn reserves(self, failed: Failed, patience: u32, now: Time) -> bool {
        self.fit == Fit::Later && rested(failed, patience) <= now
    }
}

/// After a turn that failed, gangs of a lower priority may go first for as long as one lasts: they stand behind it again and again.
fn rested(failed: Failed, patience: u32) -> Time {
    failed.at + patience
}
