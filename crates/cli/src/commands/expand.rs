//! `trainyard expand TEMPLATE`: a template and hosts become one manifest a task, as simpletfjob did it.
//!
//! ```text
//! template ─▶ checked ─▶ hosts (named, or asked of the cluster) ─▶ cast ─▶ expanded ─▶ output
//! ```
//!
//! Whatever can be said without the cluster is said before it is asked, and nothing is written before all is known.

mod hosts;
mod mistakes;
mod ours;
mod output;

use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use trainyard_document::problem::shown;
use trainyard_expand::expand;
use trainyard_expand::hosts::{Cast, Wanted, cast, names};
use trainyard_expand::template::UserTemplate;

use self::output::Target;
use super::table;
use crate::args::Expand;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs::{self, Input};
use crate::locale;
use crate::printer::{CAREFUL, Printer};
use crate::report::{count, render};

/// Fills the template in and writes the manifest, or shows who would play which part.
pub fn run(typed: &Expand, printer: &mut Printer) -> Result<Exit, Failure> {
    let path = template_path(typed)?;
    let source = match inputs::read(&Input::Path(path.to_owned())) {
        Ok(source) => source,
        Err(problem) => {
            printer.show(render(&problem, None, locale::columns()).trim_end())?;
            return Ok(Exit::Unable);
        }
    };
    let template = match UserTemplate::parse(&source.text) {
        Ok(template) => template,
        Err(found) => return mistakes::tell(&source, None, &found, printer),
    };
    let target = Target::of(typed.output.as_deref(), path)?;
    let wanted = wanted(typed)?;
    let found = hosts::find(typed, &template, &wanted)?;
    let cast = cast(&found.hosts, &wanted)
        .map_err(|refused| Failure::usage(refused.to_string(), found.hint(&refused)))?;
    let text = match expand(&template, &cast, &name(path)) {
        Ok(text) => text,
        Err(unexpanded) => {
            return mistakes::tell(&source, Some(&unexpanded.task), &unexpanded.mistakes, printer);
        }
    };
    if !typed.quiet {
        warn(&cast, printer)?;
    }
    finish(typed, &target, &cast, &text, found.left_out().as_deref(), printer)?;
    Ok(Exit::Success)
}

/// Writes it, or shows what would be written.
fn finish(
    typed: &Expand,
    target: &Target,
    cast: &Cast,
    text: &str,
    left_out: Option<&str>,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let mut warning = None;
    let note = if typed.dry_run {
        let change = target.change(text, typed.force)?;
        printer.page(&parts(cast))?;
        Some(format!("would {change}: {}; nothing was written", roles(cast)))
    } else if matches!(target, Target::Standard) {
        printer.data(text)?;
        // simpletfjob's files end without a line break; on a terminal the prompt would follow at once.
        if !text.ends_with('\n') && io::stdout().is_terminal() {
            printer.data("\n")?;
        }
        None
    } else {
        let change = target.change(text, typed.force)?;
        warning = target.write(text, &change)?;
        Some(format!("{}: {}", change.done(), roles(cast)))
    };
    if typed.quiet {
        return Ok(());
    }
    for said in [note.as_deref(), warning.as_deref(), left_out]
        .into_iter()
        .flatten()
    {
        printer.say(said)?;
    }
    Ok(())
}

fn template_path(typed: &Expand) -> Result<&Path, Failure> {
    if let Some(path) = &typed.template {
        return Ok(path);
    }
    // `-E` in front of the template has taken it for its own file.
    let hint = match &typed.exc {
        Some(taken) if taken != Path::new("./exc") => {
            let taken = inputs::shown_path(taken);
            format!(
                "`-E` takes `{taken}` for the file of excluded hosts: write `trainyard expand {taken} -E`"
            )
        }
        _ => "`trainyard expand mnist.yaml -N 3`; `trainyard expand --help` says more".to_owned(),
    };
    Err(Failure::usage("no template is named", Some(hint)))
}

/// What `{{.name}}` means: the name of the file.
fn name(path: &Path) -> String {
    if path == Path::new("-") {
        return "job".to_owned();
    }
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// What was asked for, with the files that it names.
fn wanted(typed: &Expand) -> Result<Wanted, Failure> {
    let num = match typed.num {
        // What simpletfjob said for all.
        None | Some(-1) => None,
        Some(num) => Some(at_least("--num", num, 1)?),
    };
    let exclude = typed.exc.as_deref().map(|path| read_names("-E", path));
    let ps_hosts = typed.psf.as_deref().map(|path| read_names("--psf", path));
    let ps_hosts = ps_hosts.transpose()?;
    if let (Some(path), Some(true)) = (&typed.psf, ps_hosts.as_ref().map(Vec::is_empty)) {
        let message = format!("`{}` names no host", inputs::shown_path(path));
        return Err(Failure::usage(message, Some("for none at all, `--psn 0`".into())));
    }
    Ok(Wanted {
        num,
        exclude: exclude.transpose()?.unwrap_or_default(),
        psn: at_least("--psn", typed.psn, 0)?,
        ps_hosts,
        chief: typed.chief,
        evaluator: typed.evaluator,
        port: typed.port,
    })
}

fn at_least(flag: &str, number: i64, least: i64) -> Result<usize, Failure> {
    let number = Some(number).filter(|number| *number >= least).ok_or(number);
    number
        .and_then(|number| usize::try_from(number).map_err(|_| number))
        .map_err(|number| {
            let hint = (least == 1).then(|| "for all hosts leave it out".to_owned());
            Failure::usage(
                format!("`{flag}` must be at least {least}, and is {number}"),
                hint,
            )
        })
}

/// The names in a file of hosts.
fn read_names(flag: &str, path: &Path) -> Result<Vec<String>, Failure> {
    let bytes = fs::read(path).map_err(|error| {
        let full = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
        let message = format!("cannot read `{}`: {error}", inputs::shown_path(&full));
        let hint = format!("`{flag}` reads a file of hosts, one a line");
        Failure::usage(message, Some(hint))
    })?;
    Ok(names(&String::from_utf8_lossy(&bytes)))
}

/// Names that exclude nobody are most often misspelt.
fn warn(cast: &Cast, printer: &mut Printer) -> Result<(), Failure> {
    if cast.unknown.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = cast
        .unknown
        .iter()
        .map(|name| format!("`{}`", shown(name)))
        .collect();
    printer.say(&format!(
        "{CAREFUL}warning{CAREFUL:#}: excluded, but not among the hosts: {}",
        names.join(", ")
    ))
}

/// `1 ps, 2 workers`.
fn roles(cast: &Cast) -> String {
    let roles = [
        (cast.ps.len(), "parameter server"),
        (usize::from(cast.chief.is_some()), "chief"),
        (cast.workers.len(), "worker"),
        (usize::from(cast.evaluator.is_some()), "evaluator"),
    ];
    let roles: Vec<String> = roles
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, role)| count(number, role))
        .collect();
    roles.join(", ")
}

/// Every task with its host.
fn parts(cast: &Cast) -> String {
    let tasks = cast.tasks();
    let rows: Vec<[table::Cell; 2]> = tasks
        .map(|(kind, index, host)| [format!("{kind}-{index}").into(), host.into()])
        .collect();
    table::render(["TASK", "HOST"], &rows)
}
