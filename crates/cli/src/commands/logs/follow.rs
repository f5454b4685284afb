//! Follows a run: new lines and new attempts, until it ends.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use trainyard_local::logs::files::{self, Lives};
use trainyard_local::logs::merge;
use trainyard_local::logs::pump::LogSource;
use trainyard_local::logs::reader::LogReader;
use trainyard_local::run::store::directory::JobRuns;
use trainyard_local::system::watch::{Watch, Woken};

use super::Reading;
use super::choice::Choice;
use super::list;
use crate::failure::Failure;
use crate::printer::Printer;
use trainyard_local::run::store::state::StoredRun;

/// A run that is followed.
pub struct Following {
    job: JobRuns,
    run: StoredRun,
    choice: Choice,
    watch: Watch,
    /// Logs that have been read or were not chosen.
    known: BTreeSet<PathBuf>,
    listed: Vec<LogSource>,
}

impl Following {
    /// Follows from where the listed logs were read.
    pub fn new(job: JobRuns, run: StoredRun, choice: Choice, listed: Vec<LogSource>) -> Self {
        let watch = Watch::over(&[&run.directory.logs(), &run.directory.path]);
        Self {
            watch,
            job,
            run,
            choice,
            known: listed.iter().map(|source| source.file.clone()).collect(),
            listed,
        }
    }

    /// Shows new lines until the run has ended or the reader has gone.
    pub fn run(mut self, reading: &mut Reading, printer: &mut Printer) -> Result<(), Failure> {
        loop {
            // Looked at first: what was written before the run ended is then there to be read.
            let over = self.is_over();
            self.take_new_logs(reading)?;
            let newest = files::of_lives(&self.listed, Lives::Newest);
            let live: BTreeSet<&Path> = newest.iter().map(|source| &*source.file).collect();
            // A life before the newest writes no more.
            reading
                .merge
                .complete(|source| over || !live.contains(&*source.file));
            reading.drain(printer)?;
            if over {
                return Ok(());
            }
            if self.watch.wait(reading.show.output())? == Woken::ReaderGone {
                return Err(Failure::Reader);
            }
        }
    }

    /// Whether the run has said that it ended, or does not go on and cannot say it any more.
    fn is_over(&self) -> bool {
        let ended = || {
            let status = self.run.directory.read_status();
            status.is_ok_and(|status| status.is_some_and(|status| status.end.is_some()))
        };
        let newest = self.job.newest();
        let replaced = newest.is_ok_and(|newest| newest.as_ref() != Some(&self.run.directory));
        replaced || !self.job.is_running() || ended()
    }

    /// Takes in what was started since.
    fn take_new_logs(&mut self, reading: &mut Reading) -> Result<(), Failure> {
        self.listed = list(&self.run)?;
        let new: Vec<LogSource> = self
            .listed
            .iter()
            .filter(|source| !self.known.contains(&source.file))
            .cloned()
            .collect();
        self.known.extend(new.iter().map(|source| source.file.clone()));
        for source in self.choice.filter(new) {
            reading.show.admit(&source);
            let share = merge::share(reading.merge.len() + 1);
            reading.merge.add(LogReader::new(source, share));
        }
        Ok(())
    }
}
