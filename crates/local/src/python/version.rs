//! Versions of packages, in the order in which they were released: `2.15.0rc1` before `2.15.0` before `2.15.0.post1`.

use std::cmp::Ordering;
use std::fmt;

/// One version, as package indexes write them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Version {
    numbers: Vec<u32>,
    stage: Stage,
    text: String,
}

/// How far along a version is; ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Stage {
    Dev(u32),
    Alpha(u32),
    Beta(u32),
    Candidate(u32),
    Final,
    Post(u32),
}

impl Version {
    /// Reads a version; none if the text is not one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (numbers, rest) = text.split_at(end.unwrap_or(text.len()));
        let numbers = numbers.strip_suffix('.').unwrap_or(numbers);
        let numbers: Result<Vec<u32>, _> = numbers.split('.').map(str::parse).collect();
        let rest = rest.trim_start_matches(['.', '-', '_']);
        // What follows a plus sign names a build, not a version.
        let rest = rest.split_once('+').map_or(rest, |(version, _)| version);
        let word_end = rest.find(|c: char| !c.is_ascii_alphabetic());
        let (word, number) = rest.split_at(word_end.unwrap_or(rest.len()));
        let number = || number.trim_start_matches(['.', '-']).parse().unwrap_or(0);
        let stage = match word {
            "" if rest.is_empty() => Stage::Final,
            "dev" => Stage::Dev(number()),
            "a" | "alpha" => Stage::Alpha(number()),
            "b" | "beta" => Stage::Beta(number()),
            "rc" | "c" => Stage::Candidate(number()),
            "post" | "r" => Stage::Post(number()),
            _ => return None,
        };
        Some(Self {
            numbers: numbers.ok()?,
            stage,
            text: text.to_owned(),
        })
    }

    /// The first two numbers: `2.15`.
    pub(crate) fn minor(&self) -> (u32, u32) {
        (self.number(0), self.number(1))
    }

    /// Whether it is neither a candidate nor anything before one.
    pub(crate) fn is_final(&self) -> bool {
        self.stage >= Stage::Final
    }

    /// Whether this version begins with the numbers of the other: `2.15.1` with those of `2.15`.
    pub(crate) fn is_within(&self, wider: &Self) -> bool {
        wider.stage == Stage::Final && self.numbers.starts_with(&wider.numbers)
    }

    fn number(&self, position: usize) -> u32 {
        self.numbers.get(position).copied().unwrap_or(0)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let longest = self.numbers.len().max(other.numbers.len());
        let numbers = (0..longest).map(|at| self.number(at).cmp(&other.number(at)));
        let numbers = numbers.fold(Ordering::Equal, Ordering::then);
        numbers
            .then(self.stage.cmp(&other.stage))
            // The same version written in two ways must still be two in a set of texts.
            .then_with(|| self.text.cmp(&other.text))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The version among `there` that is closest to what was asked for: itself, another of the same minor version, the
/// next newer minor version, the next older one; of a minor version its newest. Candidates count only if nothing else
/// is there.
pub(super) fn nearest<'v>(asked: &Version, there: &'v [Version]) -> Option<&'v Version> {
    let same = |version: &&Version| version.numbers == asked.numbers && version.stage == asked.stage;
    if let Some(exact) = there.iter().find(same) {
        return Some(exact);
    }
    let finals: Vec<&Version> = there.iter().filter(|version| version.is_final()).collect();
    let there: Vec<&Version> = if finals.is_empty() {
        there.iter().collect()
    } else {
        finals
    };
    let within = there.iter().filter(|version| version.is_within(asked)).max();
    let minor = within.map(|version| version.minor()).or_else(|| {
        let minors = || there.iter().map(|version| version.minor());
        let newer = minors().filter(|minor| *minor >= asked.minor()).min();
        newer.or_else(|| minors().max())
    })?;
    let of_minor = there.iter().filter(|version| version.minor() == minor).max();
    within.or(of_minor).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(text: &str) -> Vec<Version> {
        text.split(' ').map(|one| Version::parse(one).unwrap()).collect()
    }

    #[test]
    fn versions_are_ordered_as_they_are_released() {
        let order = versions(
            "1.13.1 2.0 2.0.0.post1 2.2 2.15.0.dev1 2.15.0a1 2.15.0b1 2.15.0rc0 2.15.0rc2 2.15.0 2.15.0.post1 2.15.1 2.100",
        );
        for pair in order.windows(2) {
            assert!(pair[0] < pair[1], "{} {}", pair[0], pair[1]);
        }
        for text in ["", "x", "2.x", "2..1", "latest", "2.1-gpu"] {
            assert!(Version::parse(text).is_none(), "{text}");
        }
        assert_eq!(Version::parse("2.1+cpu").unwrap().minor(), (2, 1));
    }

    #[test]
    fn the_nearest_version_is_the_same_minor_one_then_a_newer_then_an_older() {
        let there = "2.12.0rc0 2.12.0 2.12.1 2.13.0 2.15.0 2.15.0.post1 2.15.1 2.21.0 2.22.0rc0";
        let table = [
            ("2.15.0", Some("2.15.0")),
            ("2.15", Some("2.15.1")),
            ("2.15.7", Some("2.15.1")),
            ("2", Some("2.21.0")),
            ("2.11.0", Some("2.12.1")),
            ("1.13.1", Some("2.12.1")),
            ("2.14.0", Some("2.15.1")),
            ("2.22.0", Some("2.21.0")),
            ("2.22.0rc0", Some("2.22.0rc0")),
            ("2.12.0rc0", Some("2.12.0rc0")),
            ("3.0", Some("2.21.0")),
        ];
        let there = versions(there);
        for (asked, expected) in table {
            let found = nearest(&Version::parse(asked).unwrap(), &there).map(ToString::to_string);
            assert_eq!(found.as_deref(), expected, "{asked}");
        }
        assert_eq!(nearest(&Version::parse("2.0").unwrap(), &[]), None);
        let only = versions("2.0.0rc1");
        assert_eq!(nearest(&Version::parse("1.0").unwrap(), &only), only.first());
    }
}
