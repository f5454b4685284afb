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
use crate::logs::pump::{LONGEST_LINE, LogBlock, LogSource};

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
        let start = match self.index.offset_since(time)? {
            // A damaged index may name any offset.
            Some(offset) => offset.min(about.len()),
            // The times of its lines are not known, only that the last was written since.
            None if self.has_no_times()? && about.modified()? >= time => 0,
            None => about.len(),
        };
        self.begin_at(start)
    }

    fn has_no_times(&self) -> io::Result<bool> {
        let first = self.index.offset_since(SystemTime::UNIX_EPOCH)?;
        Ok(first.is_none())
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
        self.first = if cut { First::Rest } else { First::Line };
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
            None if unread.len() >= LONGEST_LINE => (unread.len(), true),
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
mod tests {
    use std::time::Duration;

    use trainyard_core::TaskId;

    use super::*;
    use crate::logs::index::IndexWriter;

    fn at(millis: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(millis)
    }

    /// A log whose pieces came at these times.
    fn log(directory: &tempfile::TempDir, pieces: &[(u64, &str)]) -> LogSource {
        let file = directory.path().join("worker-0.0.0.log");
        let mut index = IndexWriter::open(&file).unwrap();
        let mut text = String::new();
        for (millis, piece) in pieces {
            index.note(text.len() as u64, at(*millis)).unwrap();
            text.push_str(piece);
        }
        fs::write(&file, text).unwrap();
        LogSource {
            task: TaskId::new("worker", 0),
            stamp: trainyard_core::Stamp::default(),
            in_place: 0,
            container: None,
            file,
        }
    }

    fn millis(time: Option<SystemTime>) -> Option<u128> {
        time.map(|time| time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis())
    }

    fn rest(reader: &mut LogReader, complete: bool) -> Vec<(Option<u128>, String)> {
        let mut blocks = Vec::new();
        reader.look_again();
        reader.complete = complete;
        while reader.peek().unwrap().is_some() {
            let Merged { block, time, .. } = reader.take().unwrap();
            blocks.push((millis(time), String::from_utf8(block.bytes.to_vec()).unwrap()));
        }
        blocks
    }

    const PIECES: [(u64, &str); 4] = [
        (1000, "one\nt"),
        (2000, "wo\nthree\n"),
        (3000, "four\n"),
        (4000, "fi"),
    ];

    #[test]
    fn a_line_has_the_time_of_its_first_byte() {
        let directory = tempfile::tempdir().unwrap();
        let source = log(&directory, &PIECES);
        for read in [1, 3, 4096] {
            let mut reader = LogReader::new(source.clone(), read);
            let blocks = rest(&mut reader, false);
            let mut joined: Vec<(Option<u128>, String)> = Vec::new();
            for (time, text) in blocks {
                match joined.last_mut() {
                    Some((last, before)) if *last == time => before.push_str(&text),
                    _ => joined.push((time, text)),
                }
            }
            let expected = [(1000, "one\ntwo\n"), (2000, "three\n"), (3000, "four\n")];
            let expected = expected.map(|(time, text)| (Some(time), text.to_owned()));
            assert_eq!(joined, expected, "{read}");
            assert_eq!(rest(&mut reader, true), [(Some(4000), "fi".to_owned())]);
        }
    }

    #[test]
    fn a_damaged_index_does_not_keep_a_log_from_being_read() {
        let directory = tempfile::tempdir().unwrap();
        let source = log(&directory, &[(1000, "one\n")]);
        IndexWriter::open(&source.file)
            .unwrap()
            .note(u64::MAX, at(2000))
            .unwrap();
        let mut reader = LogReader::new(source.clone(), 4096);
        reader.begin_since(at(1500)).unwrap();
        assert_eq!(rest(&mut reader, true), []);
        assert_eq!(rest(&mut LogReader::new(source, 4096), true).len(), 1);
    }

    #[test]
    fn a_log_is_read_while_it_grows() {
        let directory = tempfile::tempdir().unwrap();
        let source = log(&directory, &PIECES);
        let mut reader = LogReader::new(source.clone(), 4096);
        rest(&mut reader, false);
        let mut text = fs::read_to_string(&source.file).unwrap();
        let mut index = IndexWriter::open(&source.file).unwrap();
        index.note(text.len() as u64, at(5000)).unwrap();
        text.push_str("ve\nsix\nsev");
        fs::write(&source.file, text).unwrap();
        assert_eq!(
            rest(&mut reader, false),
            [
                (Some(4000), "five\n".to_owned()),
                (Some(5000), "six\n".to_owned()),
            ]
        );
    }

    #[test]
    fn a_time_to_begin_with_never_tears_a_line() {
        let directory = tempfile::tempdir().unwrap();
        let source = log(&directory, &PIECES);
        for (since, expected) in [
            (0, "one\ntwo\nthree\nfour\nfi"),
            (1500, "three\nfour\nfi"),
            (2500, "four\nfi"),
            (4000, "fi"),
            (4001, ""),
        ] {
            for read in [1, 4096] {
                let mut reader = LogReader::new(source.clone(), read);
                reader.begin_since(at(since)).unwrap();
                let text: String = rest(&mut reader, true)
                    .into_iter()
                    .map(|(_, text)| text)
                    .collect();
                assert_eq!(text, expected, "{since}");
            }
        }
    }

    #[test]
    fn the_last_lines_are_counted_from_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let long = "x".repeat(3 * BACKWARDS);
        for (text, lines, expected) in [
            ("", 3, ""),
            ("a\nb\nc\n", 0, ""),
            ("a\nb\nc\n", 1, "c\n"),
            ("a\nb\nc\n", 2, "b\nc\n"),
            ("a\nb\nc", 1, "c"),
            ("a\nb\nc", 2, "b\nc"),
            ("a\nb\n", 9, "a\nb\n"),
            ("\n\n\n", 2, "\n\n"),
            (&*format!("a\n{long}\nb\n"), 2, &*format!("{long}\nb\n")),
        ] {
            let source = log(&directory, &[(1000, text)]);
            let mut reader = LogReader::new(source, 4096);
            reader.begin_tail(lines).unwrap();
            let shown: String = rest(&mut reader, true)
                .into_iter()
                .map(|(_, text)| text)
                .collect();
            assert_eq!(shown.len(), expected.len(), "{lines} of {}", text.len());
            assert_eq!(shown, expected);
        }
    }

    #[test]
    fn a_line_longer_than_the_cap_comes_in_marked_pieces() {
        let directory = tempfile::tempdir().unwrap();
        let long = "x".repeat(2 * LONGEST_LINE + 5);
        let source = log(&directory, &[(1000, &format!("{long}\nshort\n"))]);
        let mut reader = LogReader::new(source, 4096);
        let mut pieces = Vec::new();
        while reader.peek().unwrap().is_some() {
            let block = reader.take().unwrap().block;
            pieces.push((block.bytes.len(), block.continued, block.cut));
        }
        assert_eq!(
            pieces[..3],
            [
                (LONGEST_LINE, false, true),
                (LONGEST_LINE, true, true),
                (5 + "\nshort\n".len(), true, false),
            ]
        );
    }

    #[test]
    fn a_log_without_an_index_has_lines_and_no_times() {
        let directory = tempfile::tempdir().unwrap();
        let source = log(&directory, &[(1000, "one\ntwo\n")]);
        fs::remove_file(crate::logs::index::index_path(&source.file)).unwrap();
        let mut reader = LogReader::new(source.clone(), 4096);
        assert_eq!(rest(&mut reader, true), [(None, "one\ntwo\n".to_owned())]);
        for (since, shown) in [(at(0), 1), (SystemTime::now() + Duration::from_mins(1), 0)] {
            let mut reader = LogReader::new(source.clone(), 4096);
            reader.begin_since(since).unwrap();
            assert_eq!(rest(&mut reader, true).len(), shown);
        }
    }
}
