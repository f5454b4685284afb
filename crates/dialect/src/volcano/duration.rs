//! Durations as Go writes them (`10m30s`, `1.5h`), in whole seconds.

use trainyard_document::codes::Code;
use trainyard_document::fields::Field;
use trainyard_document::problem::shown;

/// Units and their length in nanoseconds, longest name first where one begins another.
const UNITS: &[(&str, u128)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

const SECOND: u128 = 1_000_000_000;

/// Digits after the point that are looked at; more would be below a nanosecond of any unit.
const MOST_DIGITS: usize = 18;

/// The field as whole seconds, rounded up; what is no duration, or not above zero, is reported.
pub(super) fn seconds(field: &Field<'_>) -> Option<u32> {
    let text = field.text()?;
    let found = parse(text).filter(|nanoseconds| *nanoseconds > 0);
    let seconds = found.and_then(|nanoseconds| u32::try_from(nanoseconds.div_ceil(SECOND)).ok());
    if seconds.is_none() {
        let message = format!("`{}` is not a duration", shown(text));
        let problem = field.problem(Code::BadFormat, message).found(text);
        let allowed = "numbers with units, together more than zero: `30s`, `10m`, `1h30m`";
        field.tell(problem.allowed(allowed));
    }
    seconds
}

/// Nanoseconds, where the text is a sum of numbers with units. A minus sign is not one of them.
fn parse(text: &str) -> Option<u128> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(0);
    }
    let mut sum: u128 = 0;
    loop {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let unit = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let (_, nanoseconds) = UNITS.iter().find(|(name, _)| *name == unit)?;
        sum = sum.checked_add(times(number, *nanoseconds)?)?;
        if after.is_empty() {
            return Some(sum);
        }
        rest = after;
    }
}

/// A decimal number times a unit, rounded down to nanoseconds as Go does.
fn times(number: &str, unit: u128) -> Option<u128> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && part.is_empty() || part.contains('.') {
        return None;
    }
    let digits = |text: &str| {
        if text.is_empty() {
            Some(0)
        } else {
            text.parse::<u128>().ok()
        }
    };
    let part = part.get(..MOST_DIGITS).unwrap_or(part);
    let scale = 10u128.checked_pow(u32::try_from(part.len()).ok()?)?;
    let fraction = digits(part)?.checked_mul(unit)? / scale;
    digits(whole)?.checked_mul(unit)?.checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        let table: &[(&str, Option<u128>)] = &[
            ("30s", Some(30_000)),
            ("10m30s", Some(630_000)),
            ("1h", Some(3_600_000)),
            ("1.5h", Some(5_400_000)),
            ("1500ms", Some(1_500)),
            (".5s", Some(500)),
            ("5.s", Some(5_000)),
            ("2h3m4s5ms", Some(7_384_005)),
            ("+1s", Some(1_000)),
            ("0", Some(0)),
            ("0s", Some(0)),
            ("-5s", None),
            ("30", None),
            ("s", None),
            (".s", None),
            ("1.2.3s", None),
            ("1d", None),
            ("1 s", None),
            ("", None),
            ("ten minutes", None),
            ("99999999999999999999999999999999999999999h", None),
        ];
        for (text, milliseconds) in table {
            assert_eq!(
                parse(text).map(|nanos| nanos / 1_000_000),
                *milliseconds,
                "{text}"
            );
        }
    }
}
