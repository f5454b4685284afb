//! Lines of 100 bytes that say whose they are and which: written fast, and checked.

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;

/// The hidden first argument that makes this program a writer of lines.
pub const STAGE: &str = "__lines";

/// Of a line, with its newline.
const LENGTH: usize = 100;

/// So many lines are made and written at a time.
const BLOCK: usize = 10_000;

/// Where a line's number stands.
const NUMBER: std::ops::Range<usize> = 20..32;

/// Writes so many megabytes of lines to standard output, in the name of `who`.
pub fn write(who: &str, megabytes: &str) -> io::Result<()> {
    let megabytes = megabytes.parse().map_err(io::Error::other)?;
    let mut out = io::stdout().lock();
    each_block(who, megabytes, |block| out.write_all(block))
}

/// Makes the lines of a writer, a block at a time.
fn each_block(who: &str, megabytes: u64, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let line = format!("{who:<20}{:012}{:x>67}\n", 0, "");
    let mut block = line.as_bytes().repeat(BLOCK);
    let blocks = megabytes * 1_000_000 / (BLOCK * LENGTH) as u64;
    let mut number: u64 = 0;
    for _ in 0..blocks {
        for line in block.chunks_exact_mut(LENGTH) {
            let mut rest = number;
            for digit in line[NUMBER].iter_mut().rev() {
                *digit = b'0' + u8::try_from(rest % 10).unwrap_or_default();
                rest /= 10;
            }
            number += 1;
        }
        take(&block)?;
    }
    Ok(())
}

/// What a stream of lines comes to: its length and a hash that knows their order.
#[derive(Clone, Debug, Default)]
struct Sum {
    bytes: u64,
    hash: DefaultHasher,
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        for line in bytes.chunks(LENGTH) {
            self.hash.write(line);
        }
    }

    fn value(&self) -> (u64, u64) {
        (self.bytes, self.hash.finish())
    }
}

/// Checks a file of prefixed lines of these writers: with the prefix taken off, each writer's lines are all there, whole
/// and in their order, and there is nothing else.
pub fn check(file: &Path, separator: &str, writers: &[String], megabytes: u64) -> io::Result<()> {
    let mut found: BTreeMap<String, Sum> = BTreeMap::new();
    let mut lines = BufReader::with_capacity(1 << 20, File::open(file)?);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        let (who, rest) = split(&line, separator.as_bytes())
            .ok_or_else(|| io::Error::other(format!("torn: {:?}", String::from_utf8_lossy(&line))))?;
        if let Some(sum) = found.get_mut(who) {
            sum.add(rest);
        } else {
            found.entry(who.to_owned()).or_default().add(rest);
        }
        line.clear();
    }
    for who in writers {
        let mut expected = Sum::default();
        each_block(who, megabytes, |block| {
            expected.add(block);
            Ok(())
        })?;
        let (expected, found) = (expected.value(), found.remove(who).unwrap_or_default().value());
        if expected != found {
            let what = format!(
                "{who}: {} bytes written, {} found, or others",
                expected.0, found.0
            );
            return Err(io::Error::other(what));
        }
    }
    match found.keys().next() {
        None => Ok(()),
        Some(who) => Err(io::Error::other(format!("lines of an unknown task `{who}`"))),
    }
}

/// Who wrote a line by its own word, and the line without its prefix; none if it is not whole.
fn split<'a>(line: &'a [u8], separator: &[u8]) -> Option<(&'a str, &'a [u8])> {
    let at = line
        .windows(separator.len())
        .position(|window| window == separator)?;
    let rest = &line[at + separator.len()..];
    let who = std::str::from_utf8(rest.get(..NUMBER.start)?).ok()?.trim_end();
    let prefix = std::str::from_utf8(&line[..at]).ok()?;
    let whole = rest.len() == LENGTH && rest.ends_with(b"\n") && prefix.trim_end() == who;
    whole.then_some((who, rest))
}
