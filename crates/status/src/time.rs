//! Times and durations as Kubernetes writes them.

use trainyard_core::Time;

const DAY: u64 = 86_400;
/// 9999-12-31T23:59:59Z; later moments are written as this one, since the year has four digits.
const LAST: u64 = 253_402_300_799;

/// `2026-11-15T22:58:36Z`.
#[must_use]
pub fn rfc3339(time: Time) -> String {
    let seconds = time.0.min(LAST);
    let (days, rest) = (seconds / DAY, seconds % DAY);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The date so many days after 1970 began, in years that begin in March so that the odd day is the last.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days.saturating_add(719_468);
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

/// A moment from text as Kubernetes writes it; a fraction of a second is dropped, other zones are counted back.
pub fn read_rfc3339(text: &str) -> Option<Time> {
    let number = |range: std::ops::Range<usize>| -> Option<u64> {
        let digits = text.get(range)?;
        digits
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| digits.parse().ok())?
    };
    let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if !separators
        .iter()
        .all(|(at, byte)| text.as_bytes().get(*at) == Some(byte))
    {
        return None;
    }
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    let valid =
        year >= 1970 && (1..=12).contains(&month) && day >= 1 && hour < 24 && minute < 60 && second <= 60;
    if !valid || day > days_in(year, month) {
        return None;
    }
    let of_day = hour * 3600 + minute * 60 + second.min(59);
    let utc = days(year, month, day) * DAY + of_day;
    zone(&text[19..])
        .and_then(|offset| utc.checked_add_signed(-offset))
        .map(Time)
}

/// Seconds east of Greenwich, from what follows the seconds.
fn zone(text: &str) -> Option<i64> {
    let fraction = text
        .strip_prefix('.')
        .map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    let text = fraction.unwrap_or(text);
    if text == "Z" {
        return Some(0);
    }
    let sign = match text.get(..1)? {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let (hours, minutes) = text[1..].split_once(':')?;
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    ((0..24).contains(&hours) && (0..60).contains(&minutes)).then_some(sign * (hours * 3600 + minutes * 60))
}

/// The number of a day, counted from 1970-01-01.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = year - u64::from(month <= 2);
    let (era, of_era) = (year / 400, year % 400);
    let month = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn days_in(year: u64, month: u64) -> u64 {
    let leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    match month {
        2 => 28 + u64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
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
        for day in (0..146_097).map(|day| day * DAY + 12_345) {
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
