//! `trainyard rm JOB…`: removes runs that have ended, with their logs, and volumes that no run names any more.

mod volumes;

use trainyard_document::problem::shown;
use trainyard_local::run::store::directory::{Home, JobRuns, RunDirectory};

use self::volumes::Unused;
use super::lookup;
use crate::args::runs::Rm;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::count;
use crate::table;
use trainyard_local::run::store::state::is_over;

/// Chooses first, then removes.
pub fn run(typed: &Rm, printer: &mut Printer) -> Result<Exit, Failure> {
    let home = lookup::home()?;
    let jobs = if typed.all {
        home.jobs()?
    } else {
        lookup::jobs(&home, &typed.jobs)?
    };
    if !typed.run.is_empty() && jobs.len() != 1 {
        return Err(Failure::usage(
            "a run belongs to one job",
            "name one job with `--run`",
        ));
    }
    let mut chosen = Vec::new();
    for job in &jobs {
        chosen.push(Chosen::of(job, typed)?);
    }
    let named = volumes::of_runs(chosen.iter().flat_map(|chosen| &chosen.ended), &home);
    let nameless = volumes::nameless(chosen.iter().flat_map(|chosen| &chosen.ended));
    let mut removal = Removal::default();
    for chosen in &chosen {
        removal.job(chosen, typed.all, printer)?;
    }
    if typed.volumes {
        for run in &nameless {
            printer.say(&format!(
                "kept the volumes of run {run}: {}, so nothing says which they are; they are in `{}`",
                lookup::NOT_KEPT,
                home.volumes().display()
            ))?;
        }
        removal.volumes(&volumes::unused(&home, named), &home, printer)?;
    }
    removal.sum(printer)?;
    Ok(removal.exit)
}

/// The runs of one job that are to be removed.
struct Chosen<'a> {
    job: &'a JobRuns,
    ended: Vec<RunDirectory>,
    /// A chosen run that is still active.
    refused: Option<RunDirectory>,
}

impl<'a> Chosen<'a> {
    fn of(job: &'a JobRuns, typed: &Rm) -> Result<Self, Failure> {
        // Listed under the lock, so no run can begin meanwhile: a new one is not among them.
        let claim = job.claim()?;
        let mut runs = job.runs()?;
        let live = runs
            .last()
            .filter(|newest| claim.is_none() && !is_over(newest))
            .cloned();
        drop(claim);
        if typed.run.is_empty() {
            runs.truncate(runs.len().saturating_sub(typed.keep));
        } else {
            for id in &typed.run {
                lookup::run(job, Some(id))?;
            }
            runs.retain(|run| typed.run.contains(&run.id()));
        }
        let refused = live.filter(|live| runs.contains(live));
        runs.retain(|run| Some(run) != refused.as_ref());
        Ok(Self {
            job,
            ended: runs,
            refused,
        })
    }
}

/// What has been removed so far.
#[derive(Default)]
struct Removal {
    exit: Exit,
    runs: usize,
    bytes: u64,
}

impl Removal {
    fn job(&mut self, chosen: &Chosen<'_>, all: bool, printer: &mut Printer) -> Result<(), Failure> {
        let name = shown(&chosen.job.name);
        for run in &chosen.ended {
            match run.remove() {
                Err(error) => self.failed(&error.to_string(), None, printer)?,
                Ok(bytes) => {
                    self.runs += 1;
                    self.bytes += bytes;
                    let size = table::bytes(bytes);
                    printer.say(&format!("removed run {} of `{name}`: {size}", run.id()))?;
                }
            }
        }
        if let Ok(Some(claim)) = chosen.job.claim() {
            chosen.job.forget_if_empty(claim);
        }
        let Some(live) = &chosen.refused else {
            return Ok(());
        };
        let message = format!("run {} of `{name}` is active and was not removed", live.id());
        if all {
            return printer.say(&message);
        }
        let hint = format!("`trainyard stop {name}` ends it");
        self.failed(&message, Some(&hint), printer)
    }

    fn volumes(&mut self, unused: &Unused, home: &Home, printer: &mut Printer) -> Result<(), Failure> {
        for (path, others) in &unused.still_named {
            let path = path.display();
            printer.say(&format!(
                "kept the volume `{path}`: a run of `{}` may use it",
                shown(others)
            ))?;
        }
        for path in &unused.paths {
            let shown_path = path.display();
            match volumes::remove(path, home) {
                Ok(bytes) => {
                    self.bytes += bytes;
                    let size = table::bytes(bytes);
                    printer.say(&format!("removed the volume `{shown_path}`: {size}"))?;
                }
                Err(error) => {
                    let message = format!("cannot remove the volume `{shown_path}`: {error}");
                    self.failed(&message, None, printer)?;
                }
            }
        }
        Ok(())
    }

    fn failed(&mut self, message: &str, help: Option<&str>, printer: &mut Printer) -> Result<(), Failure> {
        self.exit = Exit::No;
        printer.error(message, help)
    }

    fn sum(&self, printer: &mut Printer) -> Result<(), Failure> {
        match self.runs {
            0 if self.bytes == 0 && self.exit == Exit::Success => printer.say("nothing to remove"),
            0 | 1 => Ok(()),
            runs => printer.say(&format!(
                "{} removed: {}",
                count(runs, "run"),
                table::bytes(self.bytes)
            )),
        }
    }
}
