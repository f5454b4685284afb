//! Times and durations as Kubernetes writes them.

use jiff::Timestamp;
use trainyard_core::Time;

/// What later times are written as: the year has four digits.
const LAST: &str = "9999-12-31T23:59:59Z";

/// `2026-11-15T22:58:36Z`.
#[must_use]
pub fn rfc3339(time: Time) -> String {
    let seconds = i64::try_from(time.0).ok();
    let time = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.map_or_else(|| LAST.to_owned(), |time| time.to_string())
}

/// A time as Kubernetes writes it; a fraction of a second is dropped, other zones are converted. None before 1970.
#[must_use]
pub fn read_rfc3339(text: &str) -> Option<Time> {
    let time: Timestamp = text.parse().ok()?;
    u64::try_from(time.as_second()).ok().map(Time)
}

/// `1h2m3s`, as Go writes durations.
pub(super) fn go_duration(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{seconds}s"),
        _ => format!("{hours}h{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_kubernetes_writes_them() {
        let table = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_210_096, "2024-02-29T12:34:56Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ];
        for (seconds, text) in table {
            assert_eq!(rfc3339(Time(seconds)), text);
            assert_eq!(read_rfc3339(text), Some(Time(seconds)), "{text}");
        }
        assert_eq!(rfc3339(Time(u64::MAX)), "9999-12-31T23:59:59Z");
    }

    #[test]
    fn every_day_of_four_centuries_reads_back() {
        for day in (0..146_097).map(|day| day * 86_400 + 12_345) {
            assert_eq!(read_rfc3339(&rfc3339(Time(day))), Some(Time(day)));
        }
    }

    #[test]
    fn other_forms_are_read_and_nonsense_is_not() {
        assert_eq!(
            read_rfc3339("2026-03-01T08:00:00.123456Z"),
            Some(Time(1_772_352_000))
        );
        assert_eq!(
            read_rfc3339("2026-03-01T09:00:00+01:00"),
            Some(Time(1_772_352_000))
        );
        for text in [
            "",
            "yesterday",
            "2026-03-01",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-03-01T08:00:00",
            "2026-03-01T08:00:00+1",
            "1969-12-31T23:59:59Z",
            "2026-03-0äT08:00:00Z",
        ] {
            assert_eq!(read_rfc3339(text), None, "{text}");
        }
    }

    #[test]
    fn durations_are_written_as_go_writes_them() {
        for (seconds, text) in [(0, "0s"), (59, "59s"), (60, "1m0s"), (3723, "1h2m3s")] {
            assert_eq!(go_duration(seconds), text);
        }
    }
}
