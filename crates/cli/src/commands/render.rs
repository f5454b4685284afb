//! `trainyard render FILE`: a job as objects that any cluster understands.
//!
//! ```text
//! file ─▶ jobs and other objects ─▶ manifest::render or convert ─▶ sections ─▶ standard output or a directory
//! ```
//!
//! A file with errors gives no output, since the output is usually applied at once.

mod folder;
mod section;

use trainyard_core::Addresses;
use trainyard_dialect::convert::{convert, without_empty_times};
use trainyard_dialect::{Item, ReadJob, Reading};
use trainyard_document::Source;
use trainyard_document::problem::{FieldPath, Problem, Problems, has_errors, shown};
use trainyard_manifest::render::{Refusal, check_namespace};
use trainyard_manifest::{Form, Rendered, Wishes};

use self::section::Section;
use super::convert::dialect;
use super::jobs;
use crate::args::{Addressing, As, Render};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::locale;
use crate::printer::Printer;
use crate::report::{self, Losses, count};

/// Writes every object of the file, jobs in the requested form, and reports what they cannot do.
pub fn run(typed: &Render, printer: &mut Printer) -> Result<Exit, Failure> {
    check_usage(typed)?;
    let (source, reading) = jobs::read_filled_in(&typed.file, Exit::Unable, printer)?;
    let chosen = jobs::chosen(typed.job.as_deref(), &reading)?;
    if reading.has_errors() {
        return Ok(Exit::Unable);
    }
    let (sections, problems, lost) = sections(typed, &source, &reading);
    report::show(&problems, Some(&source.text), printer)?;
    for lost in &lost {
        report::show_losses(lost, printer)?;
    }
    if has_errors(&problems) || lost.iter().any(|lost| has_errors(&lost.all)) {
        return Ok(Exit::Unable);
    }
    if let Some((kind, name)) = section::twice(&sections) {
        let message = format!("two objects would have the name {kind} `{name}`");
        let hint = "rename one of them, or render jobs one by one with `--job NAME`";
        return Err(Failure::usage(message, hint));
    }
    if typed.output.as_os_str() == "-" {
        printer.data(&section::text(&sections))?;
    } else {
        let written = folder::write(&typed.output, &sections, typed.force)?;
        let name = crate::inputs::shown_path(&typed.output);
        printer.say(&format!("wrote {} to {name}", count(written.objects, "object")))?;
        if let Some(others) = written.others() {
            printer.say(&others)?;
        }
    }
    for section in &sections {
        if let Some(told) = section.told(locale::columns()) {
            printer.show(&told)?;
        }
    }
    if is_plain(typed.to) {
        tell_namespace(typed, &chosen, &reading, printer)?;
    }
    Ok(Exit::Success)
}

/// Rejects flags that cannot be combined, and invalid names.
fn check_usage(typed: &Render) -> Result<(), Failure> {
    let usage = |message: &str, hint: &str| Err(Failure::usage(message, hint));
    let nodes = typed.addresses == Some(Addressing::Nodes);
    if typed.addresses.is_some() && typed.to != As::Jobs {
        return usage(
            "`--addresses` works only with plain Jobs",
            "a JobSet, a TFJob or a Volcano Job defines the names of its pods",
        );
    }
    if !typed.nodes.is_empty() && !nodes {
        return usage(
            "`--nodes` needs `--addresses nodes`",
            "with other addresses the scheduler chooses the nodes",
        );
    }
    for name in &typed.nodes {
        let fits = name
            .split('.')
            .all(|label| trainyard_document::names::wrong_label(label).is_none());
        if !fits || name.len() > 253 {
            let message = format!("`{}` is not a valid node name", shown(name));
            return usage(
                &message,
                "expected comma-separated names, as in `kubectl get nodes`",
            );
        }
    }
    if let Some(namespace) = &typed.namespace
        && let Some(wrong) = trainyard_document::names::wrong_label(namespace)
    {
        let message = format!("`{}` is not a valid namespace: {wrong}", shown(namespace));
        return usage(&message, "for example `research`");
    }
    Ok(())
}

fn is_plain(form: As) -> bool {
    matches!(form, As::Jobs | As::Jobset)
}

/// The objects of the file in order, all problems, and what each job loses that is converted.
fn sections(typed: &Render, source: &Source, reading: &Reading) -> (Vec<Section>, Vec<Problem>, Vec<Losses>) {
    let (mut sections, mut problems, mut lost) = (Vec::new(), Vec::new(), Vec::new());
    let namespace = typed.namespace.as_deref();
    let home = section::home(reading, namespace, is_plain(typed.to));
    // Other objects belong to the first job.
    let first = reading.items.iter().find_map(|item| match item {
        Item::Job(read) => Some(section::owner(read)),
        Item::Other(_) => None,
    });
    for item in &reading.items {
        match item {
            Item::Job(read) if typed.job.as_ref().is_none_or(|name| **name == *read.job.name) => {
                match dialect(&typed.to) {
                    Some(to) => {
                        let refusal = check_namespace(read.own_namespace(), namespace);
                        problems.extend(refusal.map(|refusal| problem(source, read, &refusal)));
                        let converted = convert(source, read, to);
                        lost.push(Losses::of(read, converted.losses));
                        let owner = section::owner(read);
                        sections.push(Section::of_other(owner, converted.manifest, namespace));
                    }
                    None => match plain(typed, read) {
                        Ok(rendered) => sections.push(Section::of_job(read, typed.to, rendered)),
                        Err(refusals) => {
                            problems.extend(refusals.iter().map(|refusal| problem(source, read, refusal)));
                        }
                    },
                }
            }
            Item::Other(other) if typed.job.is_none() => {
                let namespace = home.filter(|_| section::has_namespace(other));
                let owner = first.clone().unwrap_or_default();
                let object = without_empty_times(other.node.to_json());
                sections.push(Section::of_other(owner, object, namespace));
            }
            Item::Job(_) | Item::Other(_) => {}
        }
    }
    (sections, problems, lost)
}

/// The job as plain objects.
fn plain(typed: &Render, read: &ReadJob) -> Result<Rendered, Vec<Refusal>> {
    let jobset = typed.to == As::Jobset;
    let wishes = Wishes {
        form: if jobset { Form::JobSet } else { Form::Jobs },
        addresses: typed.addresses.map(|how| match how {
            Addressing::PerJob => Addresses::PerJob,
            Addressing::PerReplica => Addresses::PerReplica,
            Addressing::Nodes => Addresses::Given,
        }),
        nodes: typed.nodes.clone(),
        namespace: typed.namespace.clone(),
    };
    let subject = read.subject(wishes.namespace.as_deref(), wishes.addresses);
    trainyard_manifest::render(&subject, &wishes)
}

/// A refusal as a problem with its position.
fn problem(source: &Source, read: &ReadJob, refusal: &Refusal) -> Problem {
    let problems = Problems::new(source, read.document);
    let names = refusal.path.iter().copied();
    let path = names
        .clone()
        .fold(FieldPath::root(), |path, name| path.field(name));
    let node = read.node.at(names).unwrap_or(&read.node);
    let place = problems.place(Some(node.span), &path);
    Problem::new(refusal.code, place, refusal.message.clone()).hint(refusal.hint.clone())
}

/// Reports the namespace if the manifest has none: it is written anyway, since addresses contain it.
fn tell_namespace(
    typed: &Render,
    chosen: &[&ReadJob],
    reading: &Reading,
    printer: &mut Printer,
) -> Result<(), Failure> {
    if typed.namespace.is_some() {
        return Ok(());
    }
    if chosen.iter().any(|read| read.own_namespace().is_none()) {
        printer
            .note("the manifest has no namespace, so names and addresses use `default`; `-n` sets another")?;
    }
    if typed.job.is_none() && section::home(reading, None, true).is_none() {
        for other in section::homeless(reading) {
            printer.note(&format!(
                "{other} has no namespace, and the jobs are in several: kubectl chooses it"
            ))?;
        }
    }
    Ok(())
}
