//! Time as the core knows it: whole seconds, always handed in, never asked for.

use std::fmt;
use std::ops::Add;

use serde::{Deserialize, Serialize};

/// Whole seconds since 1970.
///
/// Kubernetes stores seconds; finer times would make "the status changed" true for ever, and the state space of
/// the model checker explode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub u64);

impl Time {
    /// Seconds from `earlier` to `self`; zero when `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Time {
    /// As a number of [`Runs`](crate::Runs), where 0 means that there is none; good until 2106.
    pub(crate) fn in_runs(self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX).max(1)
    }

    /// What [`Self::in_runs`] gave.
    pub(crate) fn of_runs(seconds: u32) -> Option<Self> {
        (seconds > 0).then(|| Self(seconds.into()))
    }
}

impl Add<u32> for Time {
    type Output = Self;

    /// Later by so many seconds; saturates instead of wrapping.
    fn add(self, seconds: u32) -> Self {
        Self(self.0.saturating_add(u64::from(seconds)))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}
