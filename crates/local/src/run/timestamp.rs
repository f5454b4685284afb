//! A point in time as the files of a run write it: `2026-11-16T01:45:12.345Z`.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Milliseconds since 1970, in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Now, by the wall clock: for people. Nothing is decided by it.
    #[must_use]
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// How long after `earlier` this is; nothing if it is before.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = i64::try_from(self.0).unwrap_or(i64::MAX);
        let time = jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX);
        write!(out, "{time:.3}")
    }
}

/// Text that is no point in time.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no point in time; expected one like 2026-11-16T01:45:12.345Z")]
pub struct BadTimestamp(String);

impl FromStr for Timestamp {
    type Err = BadTimestamp;

    fn from_str(text: &str) -> Result<Self, BadTimestamp> {
        let time: Option<jiff::Timestamp> = text.parse().ok();
        let millis = time.and_then(|time| u64::try_from(time.as_millisecond()).ok());
        millis.map(Self).ok_or_else(|| BadTimestamp(text.into()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_reads_back_as_it_was_written() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_794_793_512_345, "2026-11-16T01:45:12.345Z"),
        ] {
            assert_eq!(Timestamp(millis).to_string(), text);
            assert_eq!(text.parse::<Timestamp>().unwrap(), Timestamp(millis));
        }
        assert_eq!(
            "2026-11-16T01:45:12Z".parse::<Timestamp>().unwrap(),
            Timestamp(1_794_793_512_000)
        );
        assert_eq!(
            "2026-11-16T01:45:12.5Z".parse::<Timestamp>().unwrap(),
            Timestamp(1_794_793_512_500)
        );
        assert!("yesterday".parse::<Timestamp>().is_err());
    }
}
