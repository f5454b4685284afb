//! The known causes, as data: what is matched, what is said, what helps, and what `trainyard explain` prints.
//!
//! Entries are tried in the order of the table, so the more special come first. A number, once published, is never given to
//! something else. Each entry has a real failure under `tests/failures`, or says in `docs/failures.md` why it has none.

mod python;
mod system;
mod tensorflow;

use std::fmt;
use std::sync::Arc;

use trainyard_core::FailureCause;

use crate::{Evidence, MemoryEvidence, World, bounded, message, pattern};

/// The entry of jobs that succeed although their tasks did not train together.
const TRAINED_ALONE: u16 = 48;

/// A known cause.
#[derive(Debug)]
pub struct Entry {
    /// `TR001` is 1.
    pub number: u16,
    /// One word, for metrics.
    pub class: &'static str,
    /// What it is, in a few words.
    pub title: &'static str,
    /// Any of these is it.
    when: &'static [When],
    /// What the verdict says; none where the exception's own words say it best. `{0}` is what stood in the first hole of
    /// the pattern, `{exception}` what the exception says.
    says: Option<&'static str>,
    /// What to do, on one machine.
    help: &'static str,
    /// What to do on a cluster, where that differs.
    on_cluster: Option<&'static str>,
    /// What it means and how to mend it: the text of `trainyard explain`.
    pub explanation: &'static str,
}

/// What is matched.
#[derive(Debug)]
enum When {
    /// An exception of one of these classes, or of any if none is named, whose message has this pattern.
    Raised(&'static [&'static str], &'static str),
    /// A line of the output has this pattern; the last such line counts.
    Printed(&'static str),
    /// It ended with this exit code.
    Code(i32),
    /// This is known about memory.
    Memory(MemoryEvidence),
    /// All of these; the holes are those of the first that has some.
    All(&'static [Self]),
}

impl Entry {
    /// Its code: `TR001`.
    #[must_use]
    pub fn code(&self) -> String {
        self.to_string()
    }

    fn found(&self, evidence: &Evidence<'_>, raised: bool) -> Option<FailureCause> {
        let mut alternatives = self.when.iter().filter(|when| when.needs_exception() == raised);
        let holes = alternatives.find_map(|when| when.holes(evidence))?;
        let holes: Vec<Arc<str>> = holes.into_iter().map(bounded).collect();
        let holes: Vec<&str> = holes.iter().map(|hole| &**hole).collect();
        let said = evidence.exception.map(message::of);
        let own_words = said.as_ref().map(message::Said::sentence).unwrap_or_default();
        let fill = |template: &str| bounded(&pattern::filled(template, &holes, &own_words));
        let says = match self.says {
            // Without what it names a sentence says nothing.
            Some(says) if !(says.contains("{0}") && holes.is_empty()) => says,
            _ if own_words.is_empty() => self.title,
            _ => "{exception}",
        };
        let help = match evidence.ended.world {
            World::Machine => self.help,
            World::Cluster => self.on_cluster.unwrap_or(self.help),
        };
        Some(FailureCause {
            code: Some(self.code().into()),
            class: self.class.into(),
            sentence: bounded(fill(says).trim_end_matches(": ")),
            place: said.and_then(|said| said.place).as_deref().map(bounded),
            help: Some(fill(help)),
        })
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "TR{:03}", self.number)
    }
}

impl When {
    /// Whether an exception is part of it: then it is asked for each exception of a chain.
    fn needs_exception(&self) -> bool {
        match self {
            Self::Raised(..) => true,
            Self::All(parts) => parts.iter().any(Self::needs_exception),
            Self::Printed(_) | Self::Code(_) | Self::Memory(_) => false,
        }
    }

    /// What stands in the holes, if it is so.
    fn holes<'e>(&self, evidence: &'e Evidence<'_>) -> Option<Vec<&'e str>> {
        match self {
            Self::Raised(kinds, text) => {
                let exception = evidence.exception?;
                let named = kinds.is_empty() || kinds.contains(&exception.kind.as_str());
                named.then(|| pattern::holes(text, &evidence.words))?
            }
            Self::Printed(text) => evidence
                .lines
                .iter()
                .rev()
                .find_map(|line| pattern::holes(text, line)),
            Self::Code(code) => (evidence.ended.code == Some(*code)).then(Vec::new),
            Self::Memory(known) => (evidence.ended.memory == *known).then(Vec::new),
            Self::All(parts) => {
                let all: Option<Vec<_>> = parts.iter().map(|part| part.holes(evidence)).collect();
                let all = all?;
                Some(
                    all.into_iter()
                        .find(|holes| !holes.is_empty())
                        .unwrap_or_default(),
                )
            }
        }
    }
}

/// All entries, in the order in which they are tried.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    [tensorflow::ENTRIES, python::ENTRIES, system::ENTRIES]
        .into_iter()
        .flatten()
}

/// The entry with this code: `TR001`, `tr1`.
#[must_use]
pub fn entry(code: &str) -> Option<&'static Entry> {
    let code = code.trim();
    let digits = code.strip_prefix("TR").or_else(|| code.strip_prefix("tr"))?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: u16 = digits.parse().ok().filter(|_| plain)?;
    entries().find(|entry| entry.number == number)
}

/// What is said of a job whose tasks, so many, each trained alone.
pub(crate) fn trained_alone(tasks: usize) -> Option<FailureCause> {
    let entry = entries().find(|entry| entry.number == TRAINED_ALONE)?;
    let tasks = tasks.to_string();
    Some(FailureCause {
        code: Some(entry.code().into()),
        class: entry.class.into(),
        sentence: bounded(&pattern::filled(entry.says?, &[&tasks], "")),
        place: None,
        help: Some(entry.help.into()),
    })
}

/// What the catalogue knows about the exception.
pub(crate) fn of_exception(evidence: &Evidence<'_>) -> Option<FailureCause> {
    entries().find_map(|entry| entry.found(evidence, true))
}

/// What it knows about the output and the end.
pub(crate) fn of_end(evidence: &Evidence<'_>) -> Option<FailureCause> {
    entries().find_map(|entry| entry.found(evidence, false))
}
