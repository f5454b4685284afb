//! One log read back: whole lines, and when they came.
//!
//! Lines that share a time come in one block. Of a log of any size no more is held than the buffer, and no file is held
//! open between two reads: a run may have more logs than a process may have files.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::time::SystemTime;

use memchr::{memchr, memrchr, memrchr_iter};

use crate::logs::index::IndexReader;
use crate::logs::merge::Merged;
use crate::logs::pump::{LONGEST_LINE, LogBlock, LogSource, cut_at};

/// Looked at a time when counting lines from the end.
const BACKWARDS: usize = 64 * 1024;

/// Reads one log.
#[derive(Debug)]
pub struct LogReader {
    /// Whose log it is.
    pub source: LogSource,
    /// Nothing more will be written to it: a last line without an end gets none.
    pub complete: bool,
    index: IndexReader,
    /// `buffer[start..filled]` has been read and not handed out: it begins with a line, or goes on with one.
    buffer: Vec<u8>,
    start: usize,
    filled: usize,
    /// The offset of the first byte that has not been handed out.
    offset: u64,
    /// How much is read at a time.
    read: usize,
    first: First,
    /// The last read gave nothing.
    at_end: bool,
    head: Option<Head>,
}

/// What stands at the beginning of what has not been handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    /// A line.
    Line,
    /// The rest of a line that is too long for one block.
    Rest,
    /// A line that began before what was asked for: it is passed over.
    Passed,
}

/// What comes next: so many bytes of the buffer.
#[derive(Clone, Copy, Debug)]
struct Head {
    time: Option<SystemTime>,
    length: usize,
    cut: bool,
}

impl LogReader {
    /// A reader at the log's beginning that reads so many bytes at a time.
    #[must_use]
    pub fn new(source: LogSource, read: usize) -> Self {
        Self {
            index: IndexReader::of(&source.file),
            source,
            complete: false,
            buffer: Vec::new(),
            start: 0,
            filled: 0,
            offset: 0,
            read: read.clamp(1, LONGEST_LINE),
            first: First::Line,
            at_end: false,
            head: None,
        }
    }

    /// Begins with the first line that came at or after this time.
    pub fn begin_since(&mut self, time: SystemTime) -> io::Result<()> {
        let about = fs::metadata(&self.source.file)?;
        let first = |time| self.index.offset_since(time);
        let start = match first(time)? {
            // A damaged index may name any offset.
            Some(offset) => offset.min(about.len()),
            // The times of its lines are not known, only that the last was written since.
            None if first(SystemTime::UNIX_EPOCH)?.is_none() && about.modified()? >= time => 0,
            None => about.len(),
        };
        self.begin_at(start)
    }

    /// Begins with the last so many lines, or later if it has been told to.
    pub fn begin_tail(&mut self, lines: u64) -> io::Result<()> {
        let start = last_lines(&File::open(&self.source.file)?, lines)?;
        if start > self.offset {
            self.begin_at(start)?;
        }
        Ok(())
    }

    fn begin_at(&mut self, offset: u64) -> io::Result<()> {
        self.offset = offset;
        self.index.pass_to(offset)?;
        // What was asked for may begin within a line.
        let mut before = [b'\n'];
        if let Some(last) = offset.checked_sub(1) {
            File::open(&self.source.file)?.read_at(&mut before, last)?;
        }
        self.first = if before == *b"\n" {
            First::Line
        } else {
            First::Passed
        };
        Ok(())
    }

    /// More may have been written since the end was reached.
    pub fn look_again(&mut self) {
        self.at_end = false;
    }

    /// Whether there is a block, and if so when its lines came. A last line without an end is one only if the log is
    /// complete.
    pub fn peek(&mut self) -> io::Result<Option<Option<SystemTime>>> {
        while self.head.is_none() {
            self.head = self.next_head(false)?;
            if self.head.is_some() {
                break;
            }
            if self.at_end || !self.fill()? {
                self.at_end = true;
                self.head = self.next_head(self.complete)?;
                break;
            }
        }
        Ok(self.head.map(|head| head.time))
    }

    /// The block that [`peek`](Self::peek) spoke of, once.
    pub fn take(&mut self) -> Option<Merged<'_>> {
        let Head { time, length, cut } = self.head.take()?;
        let block = LogBlock {
            bytes: &self.buffer[self.start..self.start + length],
            continued: self.first == First::Rest,
            cut,
        };
        // What a carriage return ends is written over, not continued.
        self.first = if cut && !block.bytes.ends_with(b"\r") {
            First::Rest
        } else {
            First::Line
        };
        self.start += length;
        self.offset += length as u64;
        Some(Merged {
            source: &self.source,
            block,
            time,
        })
    }

    /// Finds what comes next in what has been read: the lines that begin before the next time does.
    fn next_head(&mut self, complete: bool) -> io::Result<Option<Head>> {
        let unread = &self.buffer[self.start..self.filled];
        let lines = memrchr(b'\n', unread).map(|newline| newline + 1);
        let (whole, cut) = match lines {
            Some(whole) => (whole, false),
            None if unread.len() >= LONGEST_LINE => (cut_at(unread).0, true),
            None if complete && !unread.is_empty() => (unread.len(), false),
            None => return Ok(None),
        };
        // The index is asked after the log was read: a time is noted before its bytes are written.
        let (time, next) = self.index.at(self.offset)?;
        let same = next.and_then(|next| usize::try_from(next - self.offset).ok());
        let length = same.filter(|same| *same < whole).map_or(whole, |same| {
            let newline = memchr(b'\n', &unread[same - 1..whole]);
            newline.map_or(whole, |newline| same + newline)
        });
        Ok(Some(Head { time, length, cut }))
    }

    /// Reads on; says whether there was more. The buffer is no larger than what there was to read.
    fn fill(&mut self) -> io::Result<bool> {
        let file = File::open(&self.source.file)?;
        let unread = self.filled - self.start;
        let from = self.offset + unread as u64;
        let more = file.metadata()?.len().saturating_sub(from);
        let room = self.read.min(LONGEST_LINE - unread);
        let wanted = usize::try_from(more).unwrap_or(room).min(room);
        if wanted == 0 {
            return Ok(false);
        }
        self.buffer.copy_within(self.start..self.filled, 0);
        (self.start, self.filled) = (0, unread);
        if self.buffer.len() < unread + wanted {
            self.buffer.resize(unread + wanted, 0);
        }
        let count = file.read_at(&mut self.buffer[unread..unread + wanted], from)?;
        self.filled += count;
        if self.first == First::Passed {
            self.pass_over();
        }
        Ok(count > 0)
    }

    /// Drops the rest of a line that is not shown.
    fn pass_over(&mut self) {
        let newline = memchr(b'\n', &self.buffer[..self.filled]);
        if newline.is_some() {
            self.first = First::Line;
        }
        self.start = newline.map_or(self.filled, |newline| newline + 1);
        self.offset += self.start as u64;
    }
}

/// The offset at which the last so many lines of a file begin.
fn last_lines(file: &File, lines: u64) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let (mut end, mut ends) = (length, 0);
    let mut buffer = vec![0; BACKWARDS];
    while end > 0 {
        let size = usize::try_from(end).unwrap_or(BACKWARDS).min(BACKWARDS);
        let start = end - size as u64;
        file.read_exact_at(&mut buffer[..size], start)?;
        for newline in memrchr_iter(b'\n', &buffer[..size]) {
            let after = start + newline as u64 + 1;
            // The last line's own end does not begin another one.
            ends += u64::from(after < length);
            if after < length && ends == lines || lines == 0 {
                return Ok(if lines == 0 { length } else { after });
            }
        }
        end = start;
    }
    Ok(if lines == 0 { length } else { 0 })
}

#[cfg(test)]
mod tests;
