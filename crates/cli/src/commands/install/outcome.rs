//! Reports the result per object: one line each as text, or one JSON value at the end.

use serde_json::{Value, json};
use trainyard_cluster::{ClusterError, Trial, named};

use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::visible;

/// An object was not tried: its namespace is missing, or the operator that needs it still runs.
pub const SKIPPED: &str = "skipped";
/// An object was deleted.
pub const DELETED: &str = "deleted";
/// An object that was to be deleted did not exist.
pub const NOT_FOUND: &str = "not found";
/// An object is never deleted.
pub const KEPT: &str = "kept";

/// The results so far.
pub struct Outcomes<'a> {
    pub printer: &'a mut Printer,
    pub trial: Trial,
    format: Format,
    told: Vec<Value>,
    refused: Vec<ClusterError>,
}

impl<'a> Outcomes<'a> {
    pub fn new(format: Format, trial: Trial, printer: &'a mut Printer) -> Self {
        Self {
            printer,
            trial,
            format,
            told: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Reports one object, with a word for what was done to it.
    pub fn tell(&mut self, object: &Value, done: Result<&str, ClusterError>) -> Result<(), Failure> {
        let name = named(object);
        let word = *done.as_ref().unwrap_or(&"refused");
        if self.format == Format::Json {
            let mut told = json!({
                "apiVersion": object["apiVersion"], "kind": object["kind"], "name": object["metadata"]["name"],
            });
            if let Some(namespace) = object["metadata"]["namespace"].as_str() {
                told["namespace"] = namespace.into();
            }
            told["outcome"] = word.into();
            self.told.push(told);
        } else {
            let is_dry = self.trial == Trial::Dry;
            let dry = if is_dry { " (server dry run)" } else { "" };
            // Flushed, to show progress.
            self.printer
                .page(&format!("{} {word}{dry}\n", visible::line(&name)))?;
            self.printer.flush()?;
        }
        self.refused.extend(done.err());
        Ok(())
    }

    /// Whether no request was rejected.
    pub fn are_good(&self) -> bool {
        self.refused.is_empty()
    }

    /// Reports errors and returns the exit code.
    pub fn finish(self) -> Result<Exit, Failure> {
        if self.format == Format::Json {
            let problems: Vec<Value> = self
                .refused
                .iter()
                .map(|problem| json!({ "message": problem.message, "hint": problem.hint }))
                .collect();
            self.printer.json(&json!({
                "dryRun": self.trial == Trial::Dry, "objects": self.told, "problems": problems,
            }))?;
        }
        for ClusterError { message, hint } in &self.refused {
            self.printer.error(message, Some(hint))?;
        }
        Ok(Exit::no_if(!self.refused.is_empty()))
    }
}
