//! Compact sets and maps over task indexes, so that memory stays small: `0-3,7` and `0-3:1,7:2`.
//!
//! Both keep their entries sorted, disjoint and merged, so equal contents are equal values and equal text.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A set of indexes, as inclusive ranges: `0-3,7`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Ranges(
    /// 1 for every index that is in the set.
    Runs,
);

impl Ranges {
    fn of(ranges: impl IntoIterator<Item = (u32, u32)>) -> Self {
        Self(Runs(
            ranges.into_iter().map(|(low, high)| (low, high, 1)).collect(),
        ))
    }

    fn each(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.0.0.iter().map(|&(low, high, _)| (low, high))
    }

    /// Whether `index` is in the set.
    #[must_use]
    pub fn contains(&self, index: u32) -> bool {
        self.0.get(index) > 0
    }

    /// Adds one index.
    pub fn insert(&mut self, index: u32) {
        self.0.set(index, 1);
    }

    /// Removes one index.
    pub fn remove(&mut self, index: u32) {
        self.0.set(index, 0);
    }

    /// Removes every index at or above `end`.
    pub fn truncate(&mut self, end: u32) {
        self.0.truncate(end);
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The indexes at or above `start`. As with every operation on two sets here, the work grows with the number of ranges
    /// and never with the number of indexes: a stored status may hold `0-4294967295`.
    #[must_use]
    pub fn from(&self, start: u32) -> Self {
        let above = self.each().filter(|&(_, high)| high >= start);
        Self::of(above.map(|(low, high)| (low.max(start), high)))
    }

    /// What is in this set and not in the other.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let mut left = Vec::with_capacity(self.ranges());
        for (mut low, high) in self.each() {
            let begin = other.0.0.partition_point(|&(_, end, _)| end < low);
            let mut open = true;
            for &(from, to, _) in other.0.0[begin..].iter().take_while(|&&(from, ..)| from <= high) {
                if low < from {
                    left.push((low, from - 1));
                }
                match to.checked_add(1).filter(|next| *next <= high) {
                    Some(next) => low = next,
                    None => open = false,
                }
            }
            if open {
                left.push((low, high));
            }
        }
        Self::of(left)
    }

    /// How many indexes are in the set.
    #[must_use]
    pub fn len(&self) -> u32 {
        u32::try_from(self.0.sum()).unwrap_or(u32::MAX)
    }

    /// How many ranges it takes to write it: what it costs to store.
    #[must_use]
    pub fn ranges(&self) -> usize {
        self.0.ranges()
    }

    /// Whether nothing is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The indexes, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().map(|(index, _)| index)
    }
}

impl FromIterator<u32> for Ranges {
    fn from_iter<I: IntoIterator<Item = u32>>(indexes: I) -> Self {
        let mut set = Self::default();
        for index in indexes {
            set.insert(index);
        }
        set
    }
}

/// A number for every index, zero unless said otherwise: `0-3:1,7:2`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Runs(Vec<Entry>);

/// The first and the last index, and the number that all of them have.
type Entry = (u32, u32, u32);

impl Runs {
    /// The number at `index`.
    #[must_use]
    pub fn get(&self, index: u32) -> u32 {
        let after = self.0.partition_point(|&(low, _, _)| low <= index);
        match after.checked_sub(1).map(|at| self.0[at]) {
            Some((_, high, value)) if high >= index => value,
            _ => 0,
        }
    }

    /// Puts `value` at `index`.
    pub fn set(&mut self, index: u32, value: u32) {
        if self.get(index) == value {
            return;
        }
        let mut at = self.0.partition_point(|&(low, _, _)| low <= index);
        if at > 0 && self.0[at - 1].1 >= index {
            at -= 1;
            let (low, high, old) = self.0.remove(at);
            if index < high {
                self.0.insert(at, (index + 1, high, old));
            }
            if low < index {
                self.0.insert(at, (low, index - 1, old));
                at += 1;
            }
        }
        if value > 0 {
            self.0.insert(at, (index, index, value));
            self.join(at);
        }
    }

    /// Adds one to the number of every index in `set`. The work grows with the number of ranges, not of indexes.
    pub fn add_one_to(&mut self, set: &Ranges) {
        let mut numbers = Vec::with_capacity(self.0.len() + set.ranges());
        for &(low, high, value) in &self.0 {
            let own = Ranges::of([(low, high)]);
            let kept = own.without(set);
            let more = value.saturating_add(1);
            numbers.extend(own.without(&kept).each().map(|(low, high)| (low, high, more)));
            numbers.extend(kept.each().map(|(low, high)| (low, high, value)));
        }
        let named = Ranges::of(self.0.iter().map(|&(low, high, _)| (low, high)));
        numbers.extend(set.without(&named).0.0);
        self.replace(numbers);
    }

    /// Lowers every number to `most`, where it is higher.
    pub fn limit(&mut self, most: u32) {
        if self.0.iter().any(|&(_, _, value)| value > most) {
            let lowered = |&(low, high, value): &(u32, u32, u32)| (low, high, value.min(most));
            self.replace(self.0.iter().map(lowered).collect());
        }
    }

    /// Forgets every index at or above `end`.
    pub fn truncate(&mut self, end: u32) {
        self.0.retain(|&(low, _, _)| low < end);
        if let Some(last) = self.0.last_mut() {
            last.1 = last.1.min(end.saturating_sub(1));
        }
    }

    /// Takes these entries, in any order and disjoint, instead.
    fn replace(&mut self, mut entries: Vec<Entry>) {
        entries.retain(|&(_, _, value)| value > 0);
        entries.sort_unstable();
        self.0.clear();
        for (low, high, value) in entries {
            match self.0.last_mut() {
                Some(last) if last.2 == value && last.1.checked_add(1) == Some(low) => last.1 = high,
                _ => self.0.push((low, high, value)),
            }
        }
    }

    /// Sets every number to zero.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether every number is zero.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The sum of all numbers.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.0
            .iter()
            .map(|&(low, high, value)| (u64::from(high - low) + 1).saturating_mul(u64::from(value)))
            .fold(0, u64::saturating_add)
    }

    /// How many ranges it takes to say all of them: what it costs to store.
    #[must_use]
    pub fn ranges(&self) -> usize {
        self.0.len()
    }

    /// The highest number.
    #[must_use]
    pub fn most(&self) -> u32 {
        self.0.iter().map(|&(_, _, value)| value).max().unwrap_or(0)
    }

    /// Every index whose number is not zero, with it.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.0
            .iter()
            .flat_map(|&(low, high, value)| (low..=high).map(move |index| (index, value)))
    }

    fn write(&self, out: &mut fmt::Formatter<'_>, values: bool) -> fmt::Result {
        for (position, (low, high, value)) in self.0.iter().enumerate() {
            let comma = if position > 0 { "," } else { "" };
            write!(out, "{comma}{low}")?;
            if low < high {
                write!(out, "-{high}")?;
            }
            if values {
                write!(out, ":{value}")?;
            }
        }
        Ok(())
    }

    /// Merges the entry at `at` with its neighbours where they touch and are equal.
    fn join(&mut self, at: usize) {
        if let Some(&(low, high, value)) = self.0.get(at + 1)
            && value == self.0[at].2
            && self.0[at].1.checked_add(1) == Some(low)
        {
            self.0[at].1 = high;
            self.0.remove(at + 1);
        }
        if at > 0 && self.0[at - 1].2 == self.0[at].2 && self.0[at - 1].1.checked_add(1) == Some(self.0[at].0)
        {
            self.0[at - 1].1 = self.0[at].1;
            self.0.remove(at);
        }
    }
}

/// Text that is not a set or map of indexes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a list of index ranges")]
pub struct BadRanges(String);

impl fmt::Display for Ranges {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(out, false)
    }
}

impl fmt::Display for Runs {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(out, true)
    }
}

impl FromStr for Ranges {
    type Err = BadRanges;

    /// Reads what `Display` writes; anything unsorted, overlapping or unmerged is refused.
    fn from_str(text: &str) -> Result<Self, BadRanges> {
        let read = read(text, |part| read_range(part).map(|(low, high)| (low, high, 1)))?;
        let merged = |pair: &[Entry]| pair[0].1.checked_add(1).is_some_and(|next| next < pair[1].0);
        if read.windows(2).all(merged) {
            Ok(Self(Runs(read)))
        } else {
            Err(BadRanges(text.into()))
        }
    }
}

impl FromStr for Runs {
    type Err = BadRanges;

    /// Reads what `Display` writes; anything unsorted or overlapping is refused.
    fn from_str(text: &str) -> Result<Self, BadRanges> {
        let entry = |part: &str| {
            let (range, value) = part.split_once(':')?;
            let (low, high) = read_range(range)?;
            let value: u32 = value.parse().ok()?;
            (value > 0).then_some((low, high, value))
        };
        read(text, entry).map(Self)
    }
}

/// Entries that are separated by commas, each after the one before.
fn read(text: &str, entry: impl Fn(&str) -> Option<Entry>) -> Result<Vec<Entry>, BadRanges> {
    let parts = text.split(',').filter(|part| !part.is_empty());
    let read: Option<Vec<Entry>> = parts.map(entry).collect();
    read.filter(|read| read.windows(2).all(|pair| pair[0].1 < pair[1].0))
        .ok_or_else(|| BadRanges(text.into()))
}

fn read_range(text: &str) -> Option<(u32, u32)> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let (low, high) = (low.parse().ok()?, high.parse().ok()?);
    (low <= high).then_some((low, high))
}

macro_rules! text_form {
    ($name:ty) => {
        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.to_string()
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadRanges;

            fn try_from(text: String) -> Result<Self, BadRanges> {
                text.parse()
            }
        }
    };
}
text_form!(Ranges);
text_form!(Runs);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_merge_and_split() {
        let mut set: Ranges = [0, 2, 1, 7, 3].into_iter().collect();
        assert_eq!(set.to_string(), "0-3,7");
        assert_eq!(set.len(), 5);
        set.remove(2);
        assert_eq!(set.to_string(), "0-1,3,7");
        set.truncate(4);
        assert_eq!(set.to_string(), "0-1,3");
        assert!(set.contains(3) && !set.contains(2) && !set.contains(7));
        set.truncate(0);
        assert!(set.is_empty());
    }

    #[test]
    fn runs_keep_equal_neighbours_together() {
        let mut runs = Runs::default();
        for (index, value) in [(0, 1), (2, 1), (1, 1), (7, 2), (3, 1)] {
            runs.set(index, value);
        }
        assert_eq!(runs.to_string(), "0-3:1,7:2");
        runs.set(2, 5);
        assert_eq!(runs.to_string(), "0-1:1,2:5,3:1,7:2");
        runs.set(2, 0);
        assert_eq!(runs.to_string(), "0-1:1,3:1,7:2");
        assert_eq!(runs.sum(), 5);
        runs.add_one_to(&"0-2".parse().unwrap());
        assert_eq!(runs.to_string(), "0-1:2,2-3:1,7:2");
        runs.limit(1);
        assert_eq!(runs.to_string(), "0-3:1,7:1");
        runs.truncate(3);
        assert_eq!(runs.to_string(), "0-2:1");
    }

    #[test]
    fn sets_of_four_billion_indexes_cost_no_more_than_their_text() {
        let all: Ranges = "0-4294967295".parse().unwrap();
        let some: Ranges = "3-5,4294967295".parse().unwrap();
        assert_eq!(all.without(&some).to_string(), "0-2,6-4294967294");
        assert_eq!(some.without(&all).to_string(), "");
        assert_eq!(all.from(4_294_967_294).to_string(), "4294967294-4294967295");
        let mut runs: Runs = "4:1,7-9:4294967295".parse().unwrap();
        runs.add_one_to(&all);
        assert_eq!(runs.to_string(), "0-3:1,4:2,5-6:1,7-9:4294967295,10-4294967295:1");
    }

    #[test]
    fn sets_agree_with_sets_of_single_indexes() {
        let sets = |bits: u32| (0..6).filter(move |at| bits & (1 << at) != 0).collect::<Ranges>();
        for (left, right) in (0..64).flat_map(|left| (0..64).map(move |right| (left, right))) {
            let (one, other) = (sets(left), sets(right));
            assert_eq!(one.without(&other), sets(left & !right), "{one} {other}");
            let mut runs = Runs::default();
            runs.add_one_to(&one);
            runs.add_one_to(&other);
            for index in 0..6 {
                let times = (left >> index & 1) + (right >> index & 1);
                assert_eq!(runs.get(index), times, "{one} {other} {index}");
            }
            assert_eq!(runs.to_string().parse::<Runs>().unwrap(), runs);
        }
    }

    #[test]
    fn text_reads_back_and_nonsense_is_refused() {
        for text in ["", "0", "0-3,7", "4294967295"] {
            assert_eq!(text.parse::<Ranges>().unwrap().to_string(), text);
        }
        for text in ["x", "3-1", "0-3,2", "0,1", "-"] {
            assert!(text.parse::<Ranges>().is_err(), "{text}");
        }
        for text in ["", "0:1", "0-3:1,7:2"] {
            assert_eq!(text.parse::<Runs>().unwrap().to_string(), text);
        }
        for text in ["0", "0:0", "2:1,1:1", "0-1:x"] {
            assert!(text.parse::<Runs>().is_err(), "{text}");
        }
    }
}
