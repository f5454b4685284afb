//! The map that the linker writes: which function lies where.

use std::collections::BTreeMap;
use std::ops::Range;

/// Functions by the address at which they begin: their lengths and names.
#[derive(Debug, Default)]
pub struct Map(BTreeMap<u64, (u64, String)>);

impl Map {
    /// Reads lld's form: `VMA LMA Size Align file:(.text.name)`, where every function is a section of its own.
    pub fn read(text: &str) -> Self {
        Self(text.lines().filter_map(function).collect())
    }

    /// From the first function to the last.
    pub fn range(&self) -> Range<u64> {
        let first = self.0.keys().next().copied().unwrap_or_default();
        let end = self.0.iter().next_back().map(|(at, (size, _))| at + size);
        first..end.unwrap_or_default()
    }

    /// The function at that address.
    pub fn function(&self, address: u64) -> Option<&str> {
        let (at, (size, name)) = self.0.range(..=address).next_back()?;
        (address < at + size).then_some(name)
    }
}

fn function(line: &str) -> Option<(u64, (u64, String))> {
    let (before, section) = line.rsplit_once(":(.text.")?;
    let name = section.strip_suffix(')')?;
    // Functions that are marked as seldom used have a prefix.
    let name = name.strip_prefix("unlikely.").unwrap_or(name);
    let mut words = before.split_ascii_whitespace();
    let number = |word: Option<&str>| u64::from_str_radix(word?, 16).ok();
    let at = number(words.next())?;
    let _loaded_at = number(words.next())?;
    let size = number(words.next())?;
    (size > 0).then(|| (at, (size, name.to_owned())))
}
