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
    pub fn start(speed: u32) -> Self {
        Self::reading(SystemTime::now(), speed)
    }

    /// The wall clock is read here and never again.
    fn reading(wall: SystemTime, speed: u32) -> Self {
        let since = wall.duration_since(UNIX_EPOCH);
        Self {
            begin: Instant::now(),
            base: since.unwrap_or_default().as_secs(),
            speed: speed.max(1),
        }
    }

    /// Now, in whole seconds.
    pub fn now(&self) -> Time {
        Time(self.base + self.elapsed().as_secs())
    }

    /// How long the run has gone on.
    pub fn elapsed(&self) -> Duration {
        self.begin.elapsed() * self.speed
    }

    /// When that second begins.
    pub fn instant(&self, time: Time) -> Instant {
        let after = Duration::from_secs(time.0.saturating_sub(self.base));
        self.begin + after / self.speed
    }

    /// So many seconds of the run from now.
    pub fn after(&self, seconds: u32) -> Instant {
        Instant::now() + self.shortened(Duration::from_secs(seconds.into()))
    }

    /// How long that much of the run's time really takes.
    pub fn shortened(&self, duration: Duration) -> Duration {
        duration / self.speed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes_alike_wherever_the_wall_clock_stands() {
        let year = Duration::from_hours(365 * 24);
        let now = SystemTime::now();
        for wall in [now, now - year, now + year, UNIX_EPOCH, UNIX_EPOCH - year] {
            let clock = Clock::reading(wall, 1000);
            let begun = clock.now();
            // The next second of the run is as near as a millisecond, by a clock that is never set.
            let next = clock.instant(begun + 1);
            assert!(next <= Instant::now() + Duration::from_millis(1), "{wall:?}");
            while Instant::now() < next {}
            assert!(clock.now() > begun && clock.now() < begun + 3600, "{wall:?}");
        }
    }

    #[test]
    fn a_run_in_a_hurry_waits_less() {
        let clock = Clock::start(4);
        let after = clock.after(10) - Instant::now();
        assert!(
            after <= Duration::from_millis(2500) && after > Duration::from_secs(2),
            "{after:?}"
        );
        assert_eq!(
            clock.shortened(Duration::from_secs(30)),
            Duration::from_millis(7500)
        );
        assert_eq!(
            Clock::start(0).shortened(Duration::from_secs(1)),
            Duration::from_secs(1)
        );
    }
}
