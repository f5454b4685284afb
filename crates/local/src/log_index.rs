//! When a log's bytes came: beside each log file, pairs of time and offset.
//!
//! The log itself holds nothing but what the program wrote. This index is what `--since` and `--timestamps` read.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Lines closer together than this share a time.
const GRAIN: Duration = Duration::from_millis(10);

const ENTRY: usize = 16;

/// The index beside a log file.
#[must_use]
pub fn index_path(log: &Path) -> PathBuf {
    log.with_added_extension("idx")
}

/// Writes an index as its log grows.
#[derive(Debug)]
pub(crate) struct IndexWriter {
    file: File,
    last: Option<SystemTime>,
}

impl IndexWriter {
    pub(crate) fn open(log: &Path) -> io::Result<Self> {
        let file = File::options().create(true).append(true).open(index_path(log))?;
        Ok(Self { file, last: None })
    }

    /// Notes that the bytes from `offset` on came now, unless it has just noted another offset.
    pub(crate) fn note(&mut self, offset: u64, now: SystemTime) -> io::Result<()> {
        let near = |last: SystemTime| now.duration_since(last).is_ok_and(|passed| passed < GRAIN);
        if self.last.is_some_and(near) {
            return Ok(());
        }
        let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let micros = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
        let mut entry = [0; ENTRY];
        entry[..8].copy_from_slice(&micros.to_le_bytes());
        entry[8..].copy_from_slice(&offset.to_le_bytes());
        self.file.write_all(&entry)?;
        self.last = Some(now);
        Ok(())
    }
}

/// An index, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogIndex(Vec<(SystemTime, u64)>);

impl LogIndex {
    /// Reads the index of a log; a missing one is empty, and a torn last entry is left out.
    pub fn read(log: &Path) -> io::Result<Self> {
        match fs::read(index_path(log)) {
            Ok(bytes) => Ok(Self(bytes.chunks_exact(ENTRY).filter_map(entry).collect())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// When the byte at this offset came.
    #[must_use]
    pub fn time_at(&self, offset: u64) -> Option<SystemTime> {
        let after = self.0.partition_point(|(_, start)| *start <= offset);
        self.0.get(after.checked_sub(1)?).map(|(time, _)| *time)
    }

    /// The offset of the first bytes that came at or after this time; none if nothing came since.
    #[must_use]
    pub fn offset_since(&self, time: SystemTime) -> Option<u64> {
        self.0
            .iter()
            .find(|(came, _)| *came >= time)
            .map(|(_, offset)| *offset)
    }
}

fn entry(bytes: &[u8]) -> Option<(SystemTime, u64)> {
    let number = |range| {
        Some(u64::from_le_bytes(
            bytes.get::<std::ops::Range<usize>>(range)?.try_into().ok()?,
        ))
    };
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_micros(number(0..8)?))?;
    Some((time, number(8..16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_tells_when_bytes_came() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("worker-0.0.0.log");
        assert_eq!(LogIndex::read(&log).unwrap().time_at(0), None);
        let at = |millis| SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
        let mut writer = IndexWriter::open(&log).unwrap();
        for (offset, millis) in [(0, 1000), (10, 1005), (20, 1010), (500, 9000)] {
            writer.note(offset, at(millis)).unwrap();
        }
        // A process killed in the middle of writing.
        writer.file.write_all(&[1, 2, 3]).unwrap();
        let index = LogIndex::read(&log).unwrap();
        for (offset, millis) in [(0, 1000), (19, 1000), (20, 1010), (499, 1010), (9999, 9000)] {
            assert_eq!(index.time_at(offset), Some(at(millis)), "{offset}");
        }
        for (millis, offset) in [(0, Some(0)), (1001, Some(20)), (2000, Some(500)), (9001, None)] {
            assert_eq!(index.offset_since(at(millis)), offset, "{millis}");
        }
    }
}
