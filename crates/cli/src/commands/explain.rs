//! `trainyard explain [CODE]`: explains a problem code.

use std::fmt::Write as _;

use trainyard_causes::World;
use trainyard_document::codes::Code;

use crate::args::Explain;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::locale;
use crate::printer::{BAD, Printer, STRONG};
use crate::report::severity_style;
use crate::wrap::wrap;

/// Prints one explanation, or the list of all codes.
pub fn run(typed: &Explain, printer: &mut Printer) -> Result<Exit, Failure> {
    let text = match &typed.code {
        None => every_code(),
        Some(text) if let Some(entry) = trainyard_causes::entry(text) => known_cause(entry),
        Some(text) => {
            let list = "`trainyard explain` lists all codes";
            one_code(Code::find(text).map_err(|unknown| Failure::usage(unknown.to_string(), list))?)
        }
    };
    printer.page(&text)?;
    Ok(Exit::Success)
}

fn one_code(code: Code) -> String {
    let (severity, title) = (code.severity(), code.title());
    let style = severity_style(severity);
    let mut text = format!("{style}{severity}[{code}]{style:#}{STRONG}: {title}{STRONG:#}\n\n");
    for line in wrap(code.explain(), locale::columns()) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{line}");
    }
    text
}

/// A cause of failures, as the verdict of a job names it.
fn known_cause(entry: &trainyard_causes::Entry) -> String {
    let mut text = format!(
        "{BAD}failure[{entry}]{BAD:#}{STRONG}: {}{STRONG:#}\n\n",
        entry.title
    );
    let (here, there) = (entry.remedy(World::Machine), entry.remedy(World::Cluster));
    let remedies = if here == there {
        format!("help: {here}")
    } else {
        format!("On one machine: {here}\n\nOn a cluster: {there}")
    };
    let explained = format!("{}\n\n{remedies}", entry.explanation);
    let paragraphs = explained.split("\n\n").map(|paragraph| {
        let lines = wrap(paragraph, locale::columns());
        lines.join("\n")
    });
    text += &paragraphs.collect::<Vec<_>>().join("\n\n");
    text.push('\n');
    text
}

fn every_code() -> String {
    let mut text = String::new();
    for code in Code::ALL {
        let style = severity_style(code.severity());
        let (severity, title) = (code.severity().to_string(), code.title());
        let _ = writeln!(
            text,
            "{STRONG}{code}{STRONG:#}  {style}{severity:<7}{style:#}  {title}"
        );
    }
    let mut causes: Vec<_> = trainyard_causes::entries().collect();
    causes.sort_by_key(|entry| entry.number);
    for entry in causes {
        let _ = writeln!(
            text,
            "{STRONG}{entry}{STRONG:#}  {BAD}failure{BAD:#}  {}",
            entry.title
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_has_a_remedy_for_each_world_in_paragraphs_of_their_own() {
        let text = |code: &str| known_cause(trainyard_causes::entry(code).unwrap());
        let memory = text("TR008");
        assert!(
            memory.contains("\n\nOn one machine: raise the memory"),
            "{memory}"
        );
        assert!(
            memory.contains("\n\nOn a cluster: raise `resources.limits.memory`"),
            "{memory}"
        );
        assert!(text("TR066").contains("\n\nhelp: lower `resources.requests`"));
    }
}
