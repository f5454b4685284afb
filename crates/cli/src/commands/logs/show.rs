//! Lines of logs on their way to standard output, as `trainyard run` shows them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use trainyard_core::TaskId;
use trainyard_local::logs::merge::Merged;
use trainyard_local::logs::pump::LogSource;
use trainyard_local::run::timestamp::Timestamp;

use crate::args::runs::Logs;
use crate::args::{Color, Format};
use crate::failure::Failure;
use crate::run::Lines;
use crate::run::View;
use crate::run::json;
use crate::run::prefix::{self, Column, LinePrefix};
use crate::run::stamp;
use trainyard_local::run::store::state::StoredRun;

/// Writes lines as was asked for.
pub struct Show {
    out: BufWriter<File>,
    view: View,
    job: Arc<str>,
    begun: Timestamp,
    /// All tasks of the run: a task has the same colour whatever is shown beside it.
    tasks: Vec<TaskId>,
    column: Column,
    prefixes: BTreeMap<(TaskId, Option<Arc<str>>), LinePrefix>,
    block: Vec<u8>,
}

impl Show {
    /// Shows logs of this run.
    pub fn new(typed: &Logs, run: &StoredRun, chosen: &[LogSource], color: Color) -> Result<Self, Failure> {
        let view = View {
            timestamps: typed.timestamps,
            ..View::typed(color, typed.output, typed.raw, typed.no_prefix)
        };
        // Standard output itself: what programs wrote comes in large blocks, and is not ours to change in a file.
        let out = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let mut show = Self {
            out: BufWriter::with_capacity(1 << 16, out),
            view,
            job: Arc::clone(&run.file.job),
            begun: run.file.started,
            tasks: run.tasks().iter().map(|task| task.task.clone()).collect(),
            column: Column::default(),
            prefixes: BTreeMap::new(),
            block: Vec::new(),
        };
        for source in chosen {
            show.admit(source);
        }
        Ok(show)
    }

    /// The column of names has room for this one from now on.
    pub fn admit(&mut self, source: &LogSource) {
        let label = prefix::label(None, &source.task, source.container.as_ref());
        let before = self.column.width();
        self.column.admit(&label);
        if self.column.width() > before {
            self.prefixes.clear();
        }
    }

    /// Standard output.
    pub fn output(&self) -> BorrowedFd<'_> {
        self.out.get_ref().as_fd()
    }

    /// Writes a block.
    pub fn write(&mut self, merged: &Merged<'_>) -> Result<(), Failure> {
        if self.view.output == Format::Json {
            // A line without a time was written after the run began.
            let time = merged.time.map_or(self.begun, Timestamp::from);
            self.block.clear();
            json::lines(&mut self.block, time, &self.job, merged.source, merged.block);
            return Ok(self.out.write_all(&self.block)?);
        }
        if self.view.lines == Lines::Raw {
            return Ok(self.out.write_all(merged.block.bytes)?);
        }
        let time = match merged.time {
            Some(time) if self.view.timestamps => stamp(&self.view, Timestamp::from(time)),
            // The time is not known.
            None if self.view.timestamps => format!("{:<24} ", "-"),
            _ => String::new(),
        };
        let source = merged.source;
        let key = (source.task.clone(), source.container.clone());
        let (view, tasks, width) = (&self.view, &self.tasks, self.column.width());
        let prefix = self.prefixes.entry(key).or_insert_with(|| {
            let label = prefix::label(None, &source.task, source.container.as_ref());
            let style = prefix::style(tasks, 0, &source.task);
            LinePrefix::new(view, true, &label, style, width)
        });
        self.block.clear();
        prefix.write(&mut self.block, view, &time, merged.block);
        Ok(self.out.write_all(&self.block)?)
    }

    /// Hands on everything written.
    pub fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }
}
