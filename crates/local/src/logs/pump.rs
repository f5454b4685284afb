//! From a program's output to its log file and to the reporter, in whole lines.
//!
//! Standard output and standard error are one pipe, so their order is kept. What was read goes to the log file as it
//! is; the reporter gets blocks of whole lines, so that lines of different tasks never mix. A log file that cannot be
//! written does not end a run: that is said once, and printing goes on.

use std::fs::File;
use std::io::{self, PipeReader, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use memchr::{memchr_iter, memrchr};
use trainyard_core::{Stamp, TaskId};

use crate::logs::index::IndexWriter;
use crate::system::private;

/// One read takes at most so much.
const READ: usize = 256 * 1024;

/// As long as no more comes at once, a read takes at most so much: most programs say little, and some nothing.
const FIRST_READ: usize = 4 * 1024;

/// A longer line is handed on in pieces.
pub const LONGEST_LINE: usize = 1024 * 1024;

/// All pipes of a user may hold 64 MiB together; we take half of that at most.
const ALL_PIPES: usize = 32 * 1024 * 1024;

/// Whose output it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogSource {
    /// The task.
    pub task: TaskId,
    /// The life of the task.
    pub stamp: Stamp,
    /// Which restart in place within that life.
    pub in_place: u32,
    /// The container; none for the main one.
    pub container: Option<Arc<str>>,
    /// The log file.
    pub file: PathBuf,
}

/// Part of a program's output: whole lines, but for what the flags say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogBlock<'a> {
    /// The lines. They end in a newline, unless the last line is cut or the program ended without one.
    pub bytes: &'a [u8],
    /// The first line goes on from the block before: it was longer than [`LONGEST_LINE`].
    pub continued: bool,
    /// The last line goes on in the next block. If it ends in a carriage return, what follows is written over it, and is no
    /// continuation.
    pub cut: bool,
}

impl LogBlock<'_> {
    /// Appends the block with a prefix before every line; a piece of a long line that goes on gets the second prefix.
    /// What ends without a newline gets one.
    pub fn prefix_into(&self, out: &mut Vec<u8>, prefix: &[u8], continuation: &[u8]) {
        let mut start = 0;
        let ends = memchr_iter(b'\n', self.bytes).map(|newline| newline + 1);
        let unended = !self.bytes.is_empty() && !self.bytes.ends_with(b"\n");
        for end in ends.chain(unended.then_some(self.bytes.len())) {
            let goes_on = start == 0 && self.continued;
            out.extend_from_slice(if goes_on { continuation } else { prefix });
            out.extend_from_slice(&self.bytes[start..end]);
            start = end;
        }
        if unended {
            out.push(b'\n');
        }
    }
}

/// A log file that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the log `{}`: its output is shown but not kept", path.display())]
pub struct LogTrouble {
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub source: io::Error,
}

/// Where output goes besides the log files: the reporter.
///
/// It is called from many threads at once, from each in the order of that program's output. While it does not return,
/// that program's output is not read, and the program waits once the pipe is full.
pub trait LogSink: Send + Sync {
    /// Lines of one program.
    fn lines(&self, source: &LogSource, block: LogBlock<'_>);

    /// A line that has begun and not ended: a progress bar, a prompt. Called with all of it after each read that leaves one;
    /// it comes again, whole, with [`lines`](Self::lines).
    fn unfinished(&self, _source: &LogSource, _line: &[u8]) {}

    /// A log file cannot be written; said once per file.
    fn trouble(&self, source: &LogSource, trouble: &LogTrouble);
}

/// Makes a pipe as large as it may be when there are so many of them.
pub(crate) fn enlarge(pipe: impl AsFd, pipes: usize) {
    let size = (ALL_PIPES / pipes.max(1)).min(LONGEST_LINE);
    // A refusal costs speed and nothing else.
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, size);
}

/// Moves one program's output.
pub(crate) struct Pump {
    pipe: PipeReader,
    source: LogSource,
    sink: Arc<dyn LogSink>,
    log: LogFile,
    /// What has been read and not handed on: the start of a line, at the buffer's beginning.
    buffer: Vec<u8>,
    filled: usize,
    continued: bool,
}

/// Whether there may be more output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pumped {
    /// There may be.
    More,
    /// Every writer has closed the pipe.
    Over,
}

impl Pump {
    pub(crate) fn new(pipe: PipeReader, source: LogSource, sink: Arc<dyn LogSink>) -> Self {
        let log = LogFile::open(&source.file);
        Self {
            pipe,
            source,
            sink,
            log,
            buffer: vec![0; FIRST_READ],
            filled: 0,
            continued: false,
        }
    }

    /// Moves what one read gives; waits if there is nothing.
    pub(crate) fn pull(&mut self) -> Pumped {
        let count = loop {
            match self.pipe.read(&mut self.buffer[self.filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => return Pumped::Over,
                Ok(count) => break count,
            }
        };
        let new = self.filled..self.filled + count;
        if let Some(trouble) = self.log.append(&self.buffer[new.clone()]) {
            self.sink.trouble(&self.source, &trouble);
        }
        self.filled = new.end;
        if self.filled == self.buffer.len() && self.filled < READ {
            // A new one, not this one grown: what has not been written to takes no memory.
            let mut larger = vec![0; READ];
            larger[..self.filled].copy_from_slice(&self.buffer);
            self.buffer = larger;
        }
        match memrchr(b'\n', &self.buffer[new.clone()]) {
            Some(newline) => self.hand_on(new.start + newline + 1, false),
            None if self.filled == LONGEST_LINE => self.cut(),
            None if self.filled == self.buffer.len() => {
                let larger = (2 * self.filled).min(LONGEST_LINE);
                self.buffer.resize(larger, 0);
            }
            None => {}
        }
        if self.filled > 0 {
            self.sink.unfinished(&self.source, &self.buffer[..self.filled]);
        }
        Pumped::More
    }

    /// Hands on a piece of a line that is too long: of a progress bar what has been written over, else all of it.
    fn cut(&mut self) {
        let (length, overwritten) = cut_at(&self.buffer[..self.filled]);
        self.hand_on(length, true);
        self.continued = !overwritten;
    }

    /// Hands on a last line without a newline.
    pub(crate) fn finish(&mut self) {
        if self.filled > 0 {
            self.hand_on(self.filled, false);
        }
    }

    fn hand_on(&mut self, end: usize, cut: bool) {
        let block = LogBlock {
            bytes: &self.buffer[..end],
            continued: self.continued,
            cut,
        };
        self.sink.lines(&self.source, block);
        self.continued = cut;
        self.buffer.copy_within(end..self.filled, 0);
        self.filled -= end;
        if self.buffer.len() > READ && self.filled < READ {
            self.buffer.truncate(READ);
            self.buffer.shrink_to_fit();
        }
    }
}

/// How much of a line that is too long makes a piece, and whether the rest is written over it.
pub(super) fn cut_at(line: &[u8]) -> (usize, bool) {
    memrchr(b'\r', line).map_or((line.len(), false), |at| (at + 1, true))
}

impl AsFd for Pump {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

/// A log file and its index. What could not be written is counted, and the gap is named once writing works again.
struct LogFile {
    path: PathBuf,
    files: io::Result<(File, IndexWriter)>,
    offset: u64,
    lost: u64,
    told: bool,
}

impl LogFile {
    fn open(path: &Path) -> Self {
        let open = || {
            let file = private::append(path)?;
            let length = file.metadata()?.len();
            Ok((file, IndexWriter::open(path)?, length))
        };
        let files = open();
        Self {
            path: path.to_owned(),
            offset: files.as_ref().map_or(0, |(_, _, length)| *length),
            files: files.map(|(file, index, _)| (file, index)),
            lost: 0,
            told: false,
        }
    }

    /// Appends, and gives the first error there is.
    fn append(&mut self, bytes: &[u8]) -> Option<LogTrouble> {
        let source = self.try_append(bytes).err()?;
        let path = self.path.clone();
        (!std::mem::replace(&mut self.told, true)).then_some(LogTrouble { path, source })
    }

    fn try_append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (file, index) = match &mut self.files {
            Ok(files) => files,
            Err(error) => return Err(io::Error::new(error.kind(), error.to_string())),
        };
        if self.lost > 0 {
            let gap = format!(
                "\n[trainyard: {} bytes of output could not be written here]\n",
                self.lost
            );
            file.write_all(gap.as_bytes())?;
            self.offset += gap.len() as u64;
            self.lost = 0;
        }
        let indexed = index.note(self.offset, SystemTime::now());
        let mut rest = bytes;
        while !rest.is_empty() {
            match file.write(rest) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(written @ 1..) => {
                    rest = &rest[written..];
                    self.offset += written as u64;
                }
                result => {
                    self.lost += rest.len() as u64;
                    return Err(result.err().unwrap_or_else(|| io::ErrorKind::WriteZero.into()));
                }
            }
        }
        indexed
    }
}

#[cfg(test)]
mod tests;
