//! `trainyard explain [CODE]`: explains a problem code.

use std::fmt::Write as _;

use trainyard_document::codes::Code;

use crate::args::Explain;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::locale;
use crate::printer::{Printer, STRONG};
use crate::report::severity_style;
use crate::wrap::wrap;

/// Prints one explanation, or the list of all codes.
pub fn run(typed: &Explain, printer: &mut Printer) -> Result<Exit, Failure> {
    let text = match &typed.code {
        None => every_code(),
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
    text
}
