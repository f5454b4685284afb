//! `trainyard logs JOB`: what the tasks of a run have written, in order of time, and what they write next.

mod choice;
mod follow;
mod show;

use trainyard_local::logs::files;
use trainyard_local::logs::merge::{self, LogMerge};
use trainyard_local::logs::pump::LogSource;
use trainyard_local::logs::reader::LogReader;

use self::choice::Choice;
use self::follow::Following;
use self::show::Show;
use super::lookup;
use crate::args::Color;
use crate::args::runs::Logs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use trainyard_local::run::store::state::StoredRun;

/// Shows what there is, and with `-f` what comes.
pub fn run(typed: &Logs, color: Color, printer: &mut Printer) -> Result<Exit, Failure> {
    let job = lookup::job(&lookup::home()?, &typed.job)?;
    let run = lookup::read_run(&job, typed.run.as_deref())?;
    let listed = list(&run)?;
    let choice = Choice::of(typed, &run, &listed)?;
    let chosen = files::of_lives(&choice.filter(listed.clone()), choice.lives);
    tell_of_none(typed, &run, &chosen, printer)?;
    let mut reading = Reading {
        merge: LogMerge::default(),
        show: Show::new(typed, &run, &chosen, color)?,
        exit: Exit::Success,
    };
    let share = merge::share(chosen.len());
    for source in chosen {
        let mut reader = LogReader::new(source, share);
        match begin(&mut reader, typed) {
            Ok(()) => reading.merge.add(reader),
            Err(error) => {
                let message = format!("cannot read the log `{}`: {error}", reader.source.file.display());
                reading.trouble(&message, printer)?;
            }
        }
    }
    if typed.follow && run.state.is_running() {
        Following::new(job, run, choice, listed).run(&mut reading, printer)?;
    } else {
        // What is written meanwhile is not waited for, and a last line without an end is shown as it is.
        reading.merge.complete(|_| true);
        reading.drain(printer)?;
    }
    Ok(reading.exit)
}

/// Every log of the run.
fn list(run: &StoredRun) -> Result<Vec<LogSource>, Failure> {
    let logs = run.directory.logs();
    let cannot = |error| Failure::usage(format!("cannot list `{}`: {error}", logs.display()), None);
    files::list(&logs).map_err(cannot)
}

fn begin(reader: &mut LogReader, typed: &Logs) -> std::io::Result<()> {
    if let Some(since) = typed.since {
        reader.begin_since(std::time::UNIX_EPOCH + std::time::Duration::from_millis(since.0))?;
    }
    if let Some(lines) = typed.tail {
        reader.begin_tail(lines)?;
    }
    Ok(())
}

/// Says that there are no logs, since no output would look like tasks that wrote nothing.
fn tell_of_none(
    typed: &Logs,
    run: &StoredRun,
    chosen: &[LogSource],
    printer: &mut Printer,
) -> Result<(), Failure> {
    if !chosen.is_empty() || typed.follow && run.state.is_running() {
        return Ok(());
    }
    let again = if typed.previous { " again" } else { "" };
    printer.say(&format!(
        "`{}`: none of these tasks has been started{again} in this run",
        typed.job
    ))
}

/// Logs that are being shown.
struct Reading {
    merge: LogMerge,
    show: Show,
    exit: Exit,
}

impl Reading {
    /// Shows everything that there is by now.
    fn drain(&mut self, printer: &mut Printer) -> Result<(), Failure> {
        self.merge.look_again();
        loop {
            match self.merge.next_block() {
                Ok(Some(merged)) => self.show.write(&merged)?,
                Ok(None) => break,
                Err(error) => {
                    self.show.flush()?;
                    self.trouble(&error.to_string(), printer)?;
                }
            }
        }
        self.show.flush()
    }

    /// Warns about a log that cannot be read; the others are shown.
    fn trouble(&mut self, message: &str, printer: &mut Printer) -> Result<(), Failure> {
        self.exit = Exit::No;
        printer.warning(message, None)
    }
}
