//! Lines of logs on their way to standard output.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::fd::{AsFd, BorrowedFd};

use trainyard_local::log_merge::Merged;
use trainyard_local::logs::LogSource;
use trainyard_local::run::moment::Moment;

use super::kept::KeptRun;
use crate::args::Color;
use crate::args::runs::Logs;
use crate::failure::Failure;

/// Writes lines as was asked for.
pub struct Show {
    out: BufWriter<File>,
    block: Vec<u8>,
    width: usize,
    prefixes: bool,
    timestamps: bool,
    raw: bool,
}

impl Show {
    pub fn new(typed: &Logs, _run: &KeptRun, chosen: &[LogSource], _color: Color) -> Result<Self, Failure> {
        // Standard output itself: what programs wrote is not ours to change, and comes in large blocks.
        let out = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let mut show = Self {
            out: BufWriter::with_capacity(1 << 16, out),
            block: Vec::new(),
            width: 0,
            prefixes: !typed.no_prefix,
            timestamps: typed.timestamps,
            raw: typed.raw,
        };
        for source in chosen {
            show.admit(source);
        }
        Ok(show)
    }

    /// The column of names has room for this one from now on.
    pub fn admit(&mut self, source: &LogSource) {
        self.width = self.width.max(label(source).chars().count());
    }

    /// Standard output.
    pub fn output(&self) -> BorrowedFd<'_> {
        self.out.get_ref().as_fd()
    }

    /// Writes a block.
    pub fn write(&mut self, merged: &Merged<'_>) -> Result<(), Failure> {
        if self.raw {
            return Ok(self.out.write_all(merged.block.bytes)?);
        }
        let mut before = String::new();
        if self.timestamps {
            before = merged.time.map_or_else(
                || "-                        ".to_owned(),
                |time| format!("{} ", Moment::from(time)),
            );
        }
        let width = self.width;
        let prefix = |sign| format!("{before}{:<width$} {sign} ", label(merged.source));
        let (prefix, continuation) = if self.prefixes {
            (prefix('│'), prefix('┄'))
        } else {
            (before.clone(), before.clone())
        };
        self.block.clear();
        merged
            .block
            .prefix_into(&mut self.block, prefix.as_bytes(), continuation.as_bytes());
        Ok(self.out.write_all(&self.block)?)
    }

    /// Hands on everything written.
    pub fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }
}

fn label(source: &LogSource) -> String {
    match &source.container {
        None => source.task.to_string(),
        Some(container) => format!("{}:{container}", source.task),
    }
}
