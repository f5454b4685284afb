//! Time for decisions: seconds that only go forward, whatever happens to the machine's clock.
//!
//! A run begins at the wall clock's time and goes on by the monotonic clock, so setting the clock in the middle of a
//! run neither ends it at a deadline nor keeps it waiting.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use trainyard_core::Time;

/// The clock of one run.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    begin: Instant,
    base: u64,
    /// How many seconds of the run pass in one of ours: 1, but for tests that would take hours.
    speed: u32,
}

impl Clock {
    /// Starts now.
    #[must_use]
    pub fn start(speed: u32) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            begin: Instant::now(),
            base: since.unwrap_or_default().as_secs(),
            speed: speed.max(1),
        }
    }

    /// Now, in whole seconds.
    #[must_use]
    pub fn now(&self) -> Time {
        Time(self.base + self.elapsed().as_secs())
    }

    /// How long the run has gone on.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.begin.elapsed() * self.speed
    }

    /// When that second begins.
    #[must_use]
    pub fn instant(&self, time: Time) -> Instant {
        let after = Duration::from_secs(time.0.saturating_sub(self.base));
        self.begin + after / self.speed
    }

    /// So many seconds of the run from now.
    #[must_use]
    pub fn after(&self, seconds: u32) -> Instant {
        Instant::now() + self.real(seconds)
    }

    /// How long that much of the run's time really takes.
    #[must_use]
    pub fn shortened(&self, duration: Duration) -> Duration {
        duration / self.speed
    }

    /// How long so many seconds of the run really take.
    #[must_use]
    pub fn real(&self, seconds: u32) -> Duration {
        Duration::from_secs(seconds.into()) / self.speed
    }
}
