//! Several logs as one: blocks of whole lines in the order in which they came.

use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io;
use std::time::SystemTime;

use crate::logs::pump::{LogBlock, LogSource};
use crate::logs::reader::LogReader;

/// All buffers together take about so much.
const ALL_BUFFERS: usize = 32 * 1024 * 1024;
/// And each at most so much.
const LARGEST: usize = 256 * 1024;

/// How much one of so many logs reads at a time.
#[must_use]
pub fn share(logs: usize) -> usize {
    (ALL_BUFFERS / logs.max(1)).clamp(4096, LARGEST)
}

/// Lines of one log, and when they came.
#[derive(Debug)]
pub struct Merged<'a> {
    /// The log that it comes from.
    pub source: &'a LogSource,
    /// The lines.
    pub block: LogBlock<'a>,
    /// When it was written; none if the index does not say.
    pub time: Option<SystemTime>,
}

/// A log that cannot be read. The others can.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the log `{}`: {source}", log.file.display())]
pub struct UnreadableLog {
    /// The log that could not be read.
    pub log: Box<LogSource>,
    /// What the system said.
    pub source: io::Error,
}

/// Reads several logs in order of time; within a log the order is always that of its lines.
///
/// After each block only the log that it came from is looked at, so that many logs cost little more than a few.
#[derive(Debug, Default)]
pub struct LogMerge {
    /// By number, in the order in which they were added.
    readers: BTreeMap<usize, LogReader>,
    added: usize,
    /// Those that must be asked for their next block.
    unasked: VecDeque<usize>,
    /// Those that have a block, the oldest on top; of several of the same time, the log that was added first.
    ready: BinaryHeap<Reverse<(Option<SystemTime>, usize)>>,
    /// Those that had nothing when they were asked.
    idle: VecDeque<usize>,
}

impl LogMerge {
    /// Another log.
    pub fn add(&mut self, reader: LogReader) {
        self.readers.insert(self.added, reader);
        self.unasked.push_back(self.added);
        self.added += 1;
    }

    /// More may have been written to all of them.
    pub fn look_again(&mut self) {
        self.readers.values_mut().for_each(LogReader::look_again);
        self.unasked.append(&mut self.idle);
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.readers.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.readers.is_empty()
    }

    /// Nothing more will be written to these: each is let go when all of it has been seen.
    pub fn complete(&mut self, over: impl Fn(&LogSource) -> bool) {
        for reader in self.readers.values_mut() {
            reader.complete |= over(&reader.source);
        }
        self.unasked.append(&mut self.idle);
    }

    /// The oldest block there is; of those of the same time, that of the log that was added first. A log that cannot be
    /// read is an error once, and let go.
    pub fn next_block(&mut self) -> Result<Option<Merged<'_>>, UnreadableLog> {
        while let Some(number) = self.unasked.pop_front() {
            self.ask(number)?;
        }
        let Some(Reverse((_, number))) = self.ready.pop() else {
            return Ok(None);
        };
        self.unasked.push_back(number);
        Ok(self.readers.get_mut(&number).and_then(LogReader::take))
    }

    /// Asks a log for its next block, and notes what came of it.
    fn ask(&mut self, number: usize) -> Result<(), UnreadableLog> {
        let Entry::Occupied(mut reader) = self.readers.entry(number) else {
            return Ok(());
        };
        match reader.get_mut().peek() {
            Ok(Some(time)) => self.ready.push(Reverse((time, number))),
            Ok(None) if reader.get().complete => drop(reader.remove()),
            Ok(None) => self.idle.push_back(number),
            Err(source) => {
                let log = Box::new(reader.remove().source);
                return Err(UnreadableLog { log, source });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;
    use crate::logs::files::source_of;
    use crate::logs::index::IndexWriter;

    #[test]
    fn lines_of_several_logs_come_in_order_of_time() {
        let directory = tempfile::tempdir().unwrap();
        let mut merge = LogMerge::default();
        let logs: [(&str, &[(u64, &str)]); 3] = [
            (
                "ps-0.0.0.log",
                &[
                    (1000, "p1\n"),
                    (4000, "p2\n"),
                    (2000, "p3, the clock was set back\n"),
                ],
            ),
            ("worker-0.0.0.log", &[(1000, "a1\n"), (3000, "a2\na3\n")]),
            ("worker-1.0.0.log", &[(2000, "b1\n"), (5000, "b2")]),
        ];
        for (name, pieces) in logs {
            let file = directory.path().join(name);
            let mut index = IndexWriter::open(&file).unwrap();
            let mut text = String::new();
            for (millis, piece) in pieces {
                let time = SystemTime::UNIX_EPOCH + Duration::from_millis(*millis);
                index.note(text.len() as u64, time).unwrap();
                text.push_str(piece);
            }
            fs::write(&file, text).unwrap();
            merge.add(LogReader::new(source_of(&file).unwrap(), share(3)));
        }
        merge.add(LogReader::new(
            source_of(&directory.path().join("worker-2.0.0.log")).unwrap(),
            share(3),
        ));
        let missing = merge.next_block().unwrap_err();
        assert_eq!(missing.source.kind(), io::ErrorKind::NotFound);
        let mut seen = String::new();
        merge.complete(|source| source.task.index == 1);
        while let Some(merged) = merge.next_block().unwrap() {
            seen.push_str(std::str::from_utf8(merged.block.bytes).unwrap());
        }
        assert_eq!(merge.len(), 2, "what is complete and seen is let go");
        assert_eq!(seen, "p1\na1\nb1\na2\na3\np2\np3, the clock was set back\nb2");
    }

    #[test]
    fn a_log_that_had_nothing_is_asked_again_when_it_grows_or_is_over() {
        let directory = tempfile::tempdir().unwrap();
        let mut merge = LogMerge::default();
        let files = ["worker-0.0.0.log", "worker-1.0.0.log"].map(|name| directory.path().join(name));
        for file in &files {
            fs::write(file, "").unwrap();
            merge.add(LogReader::new(source_of(file).unwrap(), share(2)));
        }
        let mut rest = |grown: &str, over: bool| {
            fs::write(&files[1], grown).unwrap();
            merge.look_again();
            merge.complete(|_| over);
            let mut seen = String::new();
            while let Some(merged) = merge.next_block().unwrap() {
                seen.push_str(std::str::from_utf8(merged.block.bytes).unwrap());
            }
            (seen, merge.len())
        };
        assert_eq!(rest("", false), (String::new(), 2));
        assert_eq!(rest("one\ntw", false), ("one\n".to_owned(), 2));
        assert_eq!(rest("one\ntwo\nthr", false), ("two\n".to_owned(), 2));
        assert_eq!(rest("one\ntwo\nthr", true), ("thr".to_owned(), 0));
    }
}
