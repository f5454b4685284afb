//! Several logs as one: blocks of whole lines in the order in which they came.

use std::io;
use std::time::SystemTime;

use crate::log_reader::LogReader;
use crate::logs::{LogBlock, LogSource};

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
    /// Whose.
    pub source: &'a LogSource,
    /// The lines.
    pub block: LogBlock<'a>,
    /// When; none if nobody noted it.
    pub time: Option<SystemTime>,
}

/// A log that cannot be read. The others can.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the log `{}`: {source}", log.file.display())]
pub struct UnreadableLog {
    /// Which.
    pub log: Box<LogSource>,
    /// What the system said.
    pub source: io::Error,
}

/// Reads several logs in order of time; within a log the order is always that of its lines.
#[derive(Debug, Default)]
pub struct LogMerge {
    readers: Vec<LogReader>,
}

impl LogMerge {
    /// Another log.
    pub fn add(&mut self, reader: LogReader) {
        self.readers.push(reader);
    }

    /// More may have been written to all of them.
    pub fn look_again(&mut self) {
        self.readers.iter_mut().for_each(LogReader::look_again);
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
        for reader in &mut self.readers {
            reader.complete |= over(&reader.source);
        }
    }

    /// The oldest block there is; of those of the same time, that of the log that was added first. A log that cannot be
    /// read is an error once, and let go.
    pub fn next_block(&mut self) -> Result<Option<Merged<'_>>, UnreadableLog> {
        let mut oldest: Option<(Option<SystemTime>, usize)> = None;
        let mut position = 0;
        while let Some(reader) = self.readers.get_mut(position) {
            match reader.peek() {
                Err(source) => {
                    let log = Box::new(self.readers.remove(position).source);
                    return Err(UnreadableLog { log, source });
                }
                Ok(None) if reader.complete => {
                    self.readers.remove(position);
                    continue;
                }
                Ok(Some(time)) if oldest.is_none_or(|oldest| (time, position) < oldest) => {
                    oldest = Some((time, position));
                }
                Ok(_) => {}
            }
            position += 1;
        }
        let reader = oldest.and_then(|(_, position)| self.readers.get_mut(position));
        Ok(reader.and_then(LogReader::take))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;
    use crate::log_files::source_of;
    use crate::log_index::IndexWriter;

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
}
