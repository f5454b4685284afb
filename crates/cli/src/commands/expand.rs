//! `trainyard expand TEMPLATE`: a template and hosts become one manifest per task, as with simpletfjob.
//!
//! ```text
//! template ─▶ checked ─▶ hosts (given, or from the cluster) ─▶ cast ─▶ expanded ─▶ output
//! ```
//!
//! The template is checked before the cluster is queried, and nothing is written before everything has been checked.

mod hosts;
mod mistakes;
mod ours;
mod output;

use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use trainyard_expand::expand;
use trainyard_expand::hosts::{Cast, Wanted, cast, names};
use trainyard_expand::template::UserTemplate;

use self::output::Target;
use crate::args::Expand;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs;
use crate::printer::Printer;
use crate::report::{self, count, quoted};
use crate::table;

/// Expands the template and writes the manifest, or shows which task gets which host.
pub fn run(typed: &Expand, printer: &mut Printer) -> Result<Exit, Failure> {
    let path = template_path(typed)?;
    let source = report::read(path, Exit::Unable, printer)?;
    let template = UserTemplate::parse(&source.text)
        .map_err(|found| mistakes::report(&source, None, &found, printer))?;
    let target = Target::of(typed.output.as_deref(), path)?;
    let wanted = wanted(typed)?;
    let found = hosts::find(typed, &template, &wanted)?;
    let cast = cast(&found.hosts, &wanted)
        .map_err(|refused| Failure::usage(refused.to_string(), found.hint(&refused)))?;
    let text = expand(&template, &cast, &name(path)).map_err(|unexpanded| {
        mistakes::report(&source, Some(&unexpanded.task), &unexpanded.mistakes, printer)
    })?;
    if !typed.quiet {
        warn(&cast, printer)?;
    }
    finish(typed, &target, &cast, &text, found.left_out().as_deref(), printer)?;
    Ok(Exit::Success)
}

/// Writes the manifest, or shows what would be written.
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
        let would = target.would(change);
        Some(format!("{would}: {}; nothing was written", roles(cast)))
    } else if matches!(target, Target::Standard) {
        printer.data(text)?;
        // simpletfjob's output has no final line break; on a terminal the prompt would follow it.
        if !text.ends_with('\n') && io::stdout().is_terminal() {
            printer.data("\n")?;
        }
        None
    } else {
        let change = target.change(text, typed.force)?;
        warning = target.write(text, change)?;
        Some(format!("{}: {}", target.did(change), roles(cast)))
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
    // `-E` before the template took it as its file.
    let hint = match &typed.exc {
        Some(taken) if taken != Path::new("./exc") => {
            let taken = inputs::shown_path(taken);
            format!("`-E` used `{taken}` as the file of excluded hosts: write `trainyard expand {taken} -E`")
        }
        _ => "try `trainyard expand mnist.yaml -N 3`, or `trainyard expand --help`".to_owned(),
    };
    Err(Failure::usage("no template given", hint))
}

/// The value of `{{.name}}`: the name of the file.
fn name(path: &Path) -> String {
    if path == Path::new("-") {
        return "job".to_owned();
    }
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// The requested roles, including the content of files.
fn wanted(typed: &Expand) -> Result<Wanted, Failure> {
    let num = match typed.num {
        // simpletfjob's value for all.
        None | Some(-1) => None,
        Some(num) => Some(at_least("--num", num, 1)?),
    };
    let exclude = typed.exc.as_deref().map(|path| read_names("-E", path));
    let ps_hosts = typed.psf.as_deref().map(|path| read_names("--psf", path));
    let ps_hosts = ps_hosts.transpose()?;
    if let (Some(path), Some(true)) = (&typed.psf, ps_hosts.as_ref().map(Vec::is_empty)) {
        let message = format!("`{}` has no host", inputs::shown_path(path));
        return Err(Failure::usage(message, "use `--psn 0` for no parameter servers"));
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

fn at_least(flag: &str, number: i64, least: usize) -> Result<usize, Failure> {
    let enough = usize::try_from(number).ok().filter(|number| *number >= least);
    enough.ok_or_else(|| {
        let hint = (least == 1).then(|| "omit it to use all hosts".to_owned());
        Failure::usage(format!("`{flag}` must be at least {least}, not {number}"), hint)
    })
}

/// The names in a file of hosts.
fn read_names(flag: &str, path: &Path) -> Result<Vec<String>, Failure> {
    let bytes = fs::read(path).map_err(|error| {
        let full = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
        let message = format!("cannot read `{}`: {error}", inputs::shown_path(&full));
        let hint = format!("`{flag}` reads a file with one host per line");
        Failure::usage(message, hint)
    })?;
    Ok(names(&String::from_utf8_lossy(&bytes)))
}

/// Warns about excluded names that match no host, which are usually misspelt.
fn warn(cast: &Cast, printer: &mut Printer) -> Result<(), Failure> {
    if cast.unknown.is_empty() {
        return Ok(());
    }
    let names = quoted(&cast.unknown);
    printer.warning(&format!("excluded hosts that do not exist: {names}"), None)
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
    let rows = tasks
        .map(|(kind, index, host)| [format!("{kind}-{index}").into(), host.into()])
        .collect();
    table::render(["TASK", "HOST"], rows)
}
