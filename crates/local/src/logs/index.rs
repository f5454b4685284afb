//! When a log's bytes came: beside each log file, pairs of time and offset.
//!
//! The log itself holds nothing but what the program wrote. This index is what `--since` and `--timestamps` read, and
//! what puts the lines of several logs in order. It is read as a stream: the index of a long run is long.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{Mode, OFlags, open, openat};

/// Lines closer together than this share a time.
const GRAIN: Duration = Duration::from_millis(10);

const ENTRY: usize = 16;

/// So many entries are read at a time.
const READ_AHEAD: usize = 256;

/// The index beside a log file.
#[must_use]
pub fn index_path(log: &Path) -> PathBuf {
    log.with_added_extension("idx")
}

/// Writes an index as its log grows.
#[derive(Debug)]
pub struct IndexWriter {
    file: IndexFile,
    last: Option<SystemTime>,
}

#[derive(Debug)]
enum IndexFile {
    Open(File),
    /// Many programs write nothing, and making a file is the slowest part of starting a small one. The directory is
    /// held, since the path may mean another one by the time the program writes: it may have mounts.
    Unopened {
        directory: OwnedFd,
        name: OsString,
    },
}

impl IndexFile {
    fn open(&mut self) -> io::Result<&mut File> {
        if let Self::Unopened { directory, name } = self {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::CLOEXEC;
            let opened = openat(&*directory, name.as_os_str(), flags, Mode::RUSR | Mode::WUSR)?;
            *self = Self::Open(opened.into());
        }
        match self {
            Self::Open(file) => Ok(file),
            Self::Unopened { .. } => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

impl IndexWriter {
    /// Goes on with the index beside a log; the file is made when there is something to note.
    pub fn open(log: &Path) -> io::Result<Self> {
        let path = index_path(log);
        let directory = path.parent().unwrap_or_else(|| Path::new("."));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let file = IndexFile::Unopened {
            directory: open(directory, flags, Mode::empty())?,
            name: path.file_name().unwrap_or_default().to_owned(),
        };
        Ok(Self { file, last: None })
    }

    /// Notes that the bytes from `offset` on came now, unless it has just noted another offset.
    pub fn note(&mut self, offset: u64, now: SystemTime) -> io::Result<()> {
        let near = |last: SystemTime| now.duration_since(last).is_ok_and(|passed| passed < GRAIN);
        if self.last.is_some_and(near) {
            return Ok(());
        }
        let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let micros = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
        let mut entry = [0; ENTRY];
        entry[..8].copy_from_slice(&micros.to_le_bytes());
        entry[8..].copy_from_slice(&offset.to_le_bytes());
        self.file.open()?.write_all(&entry)?;
        self.last = Some(now);
        Ok(())
    }
}

/// When some bytes came: a time, and the offset of the first of them.
type Entry = (SystemTime, u64);

/// Reads an index along with its log. The log may grow meanwhile, and its index with it; a missing index is empty.
///
/// No file is held open: a run may have more logs than a process may have files.
#[derive(Debug)]
pub struct IndexReader {
    path: PathBuf,
    /// Where the entries begin that have not been read.
    position: u64,
    /// Entries read ahead, the next one last.
    ahead: Vec<Entry>,
    /// The time of the bytes that were last asked for.
    current: Option<SystemTime>,
}

impl IndexReader {
    /// The index of a log, from its beginning.
    #[must_use]
    pub fn of(log: &Path) -> Self {
        Self {
            path: index_path(log),
            position: 0,
            ahead: Vec::new(),
            current: None,
        }
    }

    /// When the byte at this offset came, and the offset of the first byte after it that came later, if there is one
    /// by now. Offsets must not be asked for backwards.
    pub fn at(&mut self, offset: u64) -> io::Result<(Option<SystemTime>, Option<u64>)> {
        loop {
            if self.ahead.is_empty() {
                self.read_ahead()?;
            }
            match self.ahead.last() {
                None => return Ok((self.current, None)),
                Some((_, start)) if *start > offset => return Ok((self.current, Some(*start))),
                Some((time, _)) => {
                    self.current = Some(*time);
                    self.ahead.pop();
                }
            }
        }
    }

    /// Passes over everything before the entry of this offset, without reading what lies between.
    pub fn pass_to(&mut self, offset: u64) -> io::Result<()> {
        let Some(file) = self.open()? else { return Ok(()) };
        let (mut low, mut high) = (0, file.metadata()?.len() / ENTRY as u64);
        while low < high {
            let middle = low.midpoint(high);
            let mut bytes = [0; ENTRY];
            file.read_exact_at(&mut bytes, middle * ENTRY as u64)?;
            match entry(&bytes) {
                Some((_, start)) if start <= offset => low = middle + 1,
                _ => high = middle,
            }
        }
        // One before: it tells when the byte at the offset came.
        self.position = low.saturating_sub(1) * ENTRY as u64;
        self.ahead.clear();
        self.current = None;
        Ok(())
    }

    /// The offset of the first bytes that came at or after this time; none if nothing has come since.
    ///
    /// Clocks are set back: the first such bytes in the log count, so every entry before them is looked at.
    pub fn offset_since(&self, time: SystemTime) -> io::Result<Option<u64>> {
        let Some(file) = self.open()? else { return Ok(None) };
        let mut entries = io::BufReader::with_capacity(READ_AHEAD * ENTRY, file);
        let mut bytes = [0; ENTRY];
        loop {
            match entries.read_exact(&mut bytes) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
                read => read?,
            }
            if let Some((came, offset)) = entry(&bytes)
                && came >= time
            {
                return Ok(Some(offset));
            }
        }
    }

    fn open(&self) -> io::Result<Option<File>> {
        match File::open(&self.path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads on; an entry that is not whole yet is left for later.
    fn read_ahead(&mut self) -> io::Result<()> {
        let Some(file) = self.open()? else { return Ok(()) };
        let mut bytes = [0; READ_AHEAD * ENTRY];
        let count = file.read_at(&mut bytes, self.position)?;
        let whole = count - count % ENTRY;
        self.ahead
            .extend(bytes[..whole].chunks_exact(ENTRY).filter_map(entry));
        self.ahead.reverse();
        self.position += whole as u64;
        Ok(())
    }
}

fn entry(bytes: &[u8]) -> Option<Entry> {
    let (time, offset) = bytes.split_first_chunk()?;
    let time = Duration::from_micros(u64::from_le_bytes(*time));
    let time = SystemTime::UNIX_EPOCH.checked_add(time)?;
    Some((time, u64::from_le_bytes(offset.try_into().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(millis)
    }

    #[test]
    fn an_index_tells_when_bytes_came() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("worker-0.0.0.log");
        let mut reader = IndexReader::of(&log);
        assert_eq!(reader.at(0).unwrap(), (None, None), "there is no index yet");
        let mut writer = IndexWriter::open(&log).unwrap();
        for (offset, millis) in [(0, 1000), (10, 1005), (20, 1010), (500, 9000)] {
            writer.note(offset, at(millis)).unwrap();
        }
        // A process killed in the middle of writing.
        writer.file.open().unwrap().write_all(&[1, 2, 3]).unwrap();
        let expected = [
            (0, 1000, Some(20)),
            (19, 1000, Some(20)),
            (20, 1010, Some(500)),
            (499, 1010, Some(500)),
            (9999, 9000, None),
        ];
        for (offset, millis, next) in expected {
            assert_eq!(reader.at(offset).unwrap(), (Some(at(millis)), next), "{offset}");
            let mut fresh = IndexReader::of(&log);
            fresh.pass_to(offset).unwrap();
            assert_eq!(fresh.at(offset).unwrap(), (Some(at(millis)), next), "{offset}");
        }
        for (millis, offset) in [(0, Some(0)), (1001, Some(20)), (2000, Some(500)), (9001, None)] {
            assert_eq!(reader.offset_since(at(millis)).unwrap(), offset, "{millis}");
        }
    }

    #[test]
    fn an_index_is_read_while_it_grows() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("worker-0.0.0.log");
        let mut writer = IndexWriter::open(&log).unwrap();
        let mut reader = IndexReader::of(&log);
        // More than is read ahead, and one more after each look.
        for number in 0..3 * READ_AHEAD as u64 {
            writer.note(number * 10, at(number * 100)).unwrap();
            if number % 7 == 0 {
                let expected = (Some(at(number * 100)), None);
                assert_eq!(reader.at(number * 10 + 5).unwrap(), expected, "{number}");
            }
        }
    }

    #[test]
    fn a_clock_that_is_set_back_loses_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("worker-0.0.0.log");
        let mut writer = IndexWriter::open(&log).unwrap();
        for (offset, millis) in [(0, 9000), (10, 1000), (20, 9500)] {
            writer.note(offset, at(millis)).unwrap();
        }
        let mut reader = IndexReader::of(&log);
        assert_eq!(reader.offset_since(at(9100)).unwrap(), Some(20));
        assert_eq!(reader.at(15).unwrap(), (Some(at(1000)), Some(20)));
    }
}
