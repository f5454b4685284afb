//! Numbers with units: durations, amounts of resources, how often.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A number of seconds in the largest units that say it exactly, at most two of them where it is long.
#[must_use]
pub fn duration(seconds: u32) -> String {
    const UNITS: [(u32, &str); 4] = [(86_400, "d"), (3600, "h"), (60, "min"), (1, "s")];
    if seconds == 0 {
        return "0 s".into();
    }
    let mut rest = seconds;
    let mut parts = Vec::new();
    for (size, unit) in UNITS {
        if rest >= size {
            parts.push(format!("{} {unit}", rest / size));
            rest %= size;
        }
    }
    parts.join(" ")
}

/// `once`, `twice`, `3 times`.
#[must_use]
pub fn times(count: u32) -> String {
    match count {
        1 => "once".into(),
        2 => "twice".into(),
        _ => format!("{count} times"),
    }
}

/// `first`, `second`, … `tenth`, `11th`.
pub(super) fn ordinal(count: u32) -> String {
    const WORDS: [&str; 10] = [
        "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    ];
    let word = count
        .checked_sub(1)
        .and_then(|position| WORDS.get(position as usize));
    if let Some(word) = word {
        return (*word).into();
    }
    let ending = match (count % 100, count % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{count}{ending}")
}

/// An amount of a resource, given in thousandths, as people say it: `1.5 CPU`, `16 GiB`, `2 GPU`.
#[must_use]
pub fn amount(resource: &str, milli: i64) -> String {
    match resource {
        "cpu" => format!("{} CPU", thousandths(milli)),
        "memory" => bytes(milli),
        "ephemeral-storage" => format!("{} disk", bytes(milli)),
        _ if resource.starts_with("hugepages-") => format!("{} {resource}", bytes(milli)),
        "nvidia.com/gpu" => format!("{} GPU", thousandths(milli)),
        _ => format!("{} {resource}", thousandths(milli)),
    }
}

/// What is asked for, the familiar ones first; `nothing` where it is nothing.
#[must_use]
pub fn ask(ask: &BTreeMap<Arc<str>, i64>) -> String {
    let rank = |resource: &str| match resource {
        "cpu" => 0,
        "memory" => 1,
        "nvidia.com/gpu" => 2,
        _ => 3,
    };
    let mut named: Vec<(&str, i64)> = ask.iter().map(|(name, milli)| (&**name, *milli)).collect();
    named.sort_by_key(|(name, _)| (rank(name), *name));
    let words: Vec<String> = named
        .into_iter()
        .map(|(name, milli)| amount(name, milli))
        .collect();
    if words.is_empty() {
        "nothing".into()
    } else {
        words.join(", ")
    }
}

/// Thousandths as a decimal number without needless zeros.
fn thousandths(milli: i64) -> String {
    let sign = if milli < 0 { "-" } else { "" };
    let (whole, part) = (milli.unsigned_abs() / 1000, milli.unsigned_abs() % 1000);
    if part == 0 {
        return format!("{sign}{whole}");
    }
    format!("{sign}{whole}.{}", format!("{part:03}").trim_end_matches('0'))
}

/// Bytes, given in thousandths: in the unit in which they are whole, else rounded to a tenth of a binary one.
fn bytes(milli: i64) -> String {
    const BINARY: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    const DECIMAL: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    let (Ok(milli), false) = (u64::try_from(milli), milli == 0) else {
        return format!("{} B", thousandths(milli));
    };
    let all = milli.div_ceil(1000);
    let exact = |base: u64, units: [&'static str; 6]| {
        let mut found = None;
        let mut rest = all;
        for unit in units {
            if !rest.is_multiple_of(base) {
                break;
            }
            rest /= base;
            found = Some((rest, unit));
        }
        found
    };
    // A number below ten thousand is read at a glance; above that a rounded one says more.
    let whole = [exact(1024, BINARY), exact(1000, DECIMAL)];
    if let Some((count, unit)) = whole
        .into_iter()
        .flatten()
        .filter(|(count, _)| *count < 10_000)
        .min()
    {
        return format!("{count} {unit}");
    }
    rounded(all, BINARY)
}

fn rounded(all: u64, units: [&str; 6]) -> String {
    let Some(power) = (1..=6u32).rev().find(|power| all >> (10 * power) > 0) else {
        return format!("{all} B");
    };
    let unit = 1u128 << (10 * power);
    let tenths = (u128::from(all) * 10 + unit / 2) / unit;
    let name = units[power as usize - 1];
    match tenths % 10 {
        0 => format!("{} {name}", tenths / 10),
        tenth => format!("{}.{tenth} {name}", tenths / 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_said_in_their_own_units() {
        let cases = [
            (0, "0 s"),
            (10, "10 s"),
            (60, "1 min"),
            (90, "1 min 30 s"),
            (360, "6 min"),
            (3600, "1 h"),
            (90_061, "1 d 1 h 1 min 1 s"),
        ];
        for (seconds, words) in cases {
            assert_eq!(duration(seconds), words);
        }
    }

    #[test]
    fn amounts_are_said_in_human_units() {
        let gib = 1024 * 1024 * 1024 * 1000;
        let cases = [
            ("cpu", 500, "0.5 CPU"),
            ("cpu", 4000, "4 CPU"),
            ("cpu", 1250, "1.25 CPU"),
            ("memory", 16 * gib, "16 GiB"),
            ("memory", gib / 2, "512 MiB"),
            ("memory", 8_000_000_000 * 1000, "8 GB"),
            ("memory", 1024 * 1000 * 1000, "1000 KiB"),
            ("memory", 1_234_567_891 * 1000, "1.1 GiB"),
            ("memory", 12_345 * 1000, "12.1 KiB"),
            ("memory", 512 * 1000, "512 B"),
            ("memory", 1, "1 B"),
            ("memory", 0, "0 B"),
            ("memory", -5000, "-5 B"),
            ("memory", i64::MAX, "8.2 PiB"),
            ("nvidia.com/gpu", 2000, "2 GPU"),
            ("amd.com/gpu", 1000, "1 amd.com/gpu"),
            ("ephemeral-storage", gib, "1 GiB disk"),
            ("hugepages-2Mi", gib, "1 GiB hugepages-2Mi"),
        ];
        for (resource, milli, words) in cases {
            assert_eq!(amount(resource, milli), words, "{resource} {milli}");
        }
    }

    #[test]
    fn asks_begin_with_what_people_look_for() {
        let asked = [
            ("amd.com/gpu", 1000),
            ("memory", 2_048_000_000),
            ("nvidia.com/gpu", 1000),
            ("cpu", 1000),
        ];
        let map = asked
            .iter()
            .map(|(name, milli)| ((*name).into(), *milli))
            .collect();
        assert_eq!(ask(&map), "1 CPU, 2000 KiB, 1 GPU, 1 amd.com/gpu");
        assert_eq!(ask(&BTreeMap::new()), "nothing");
    }

    #[test]
    fn counting_words() {
        assert_eq!([times(1), times(2), times(7)], ["once", "twice", "7 times"]);
        assert_eq!(
            [3, 11, 21, 22, 23, 111].map(ordinal),
            ["third", "11th", "21st", "22nd", "23rd", "111th"]
        );
    }
}
