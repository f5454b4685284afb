//! The known causes, as data: what is matched, what is said, what helps, and what `trainyard explain` prints.
//!
//! Entries are tried in the order of the table, so the more special come first. A number, once published, is never given to
//! something else. Each entry has a real failure under `tests/failures`, or says in `docs/failures.md` why it has none.

mod cluster;
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
    /// The cluster says one of these words about the pod or container.
    Reason(&'static [&'static str]),
    /// The container has a probe by which the kubelet may have killed it.
    Probed,
    /// All of these; the holes are those of the first that has some.
    All(&'static [Self]),
}

/// What it takes to decide whether something is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sort {
    /// What a cluster says.
    Cluster,
    /// An exception: then it is asked for each exception of a chain.
    Exception,
    /// The output and how the program ended.
    End,
}

impl Entry {
    /// What to do there, as a verdict says it, with `…` for what is known only then.
    #[must_use]
    pub fn remedy(&self, world: World) -> String {
        let holes = ["…"; 4];
        pattern::filled(self.template(world), &holes, "…")
    }

    const fn template(&self, world: World) -> &'static str {
        match (world, self.on_cluster) {
            (World::Cluster, Some(help)) => help,
            _ => self.help,
        }
    }

    /// Its code: `TR001`.
    #[must_use]
    pub fn code(&self) -> String {
        self.to_string()
    }

    /// The cause, if one of the alternatives of this sort fits.
    fn found(&self, evidence: &Evidence<'_>, sort: Sort) -> Option<FailureCause> {
        let mut alternatives = self.when.iter().filter(|when| when.sort() == sort);
        let holes = alternatives.find_map(|when| when.holes(evidence))?;
        let holes: Vec<Arc<str>> = holes.into_iter().map(bounded).collect();
        let holes: Vec<&str> = holes.iter().map(|hole| &**hole).collect();
        let said = evidence.exception.map(message::of);
        let own_words = said.as_ref().map(message::Said::sentence).unwrap_or_default();
        let fill = |template: &str| bounded(&pattern::filled(template, &holes, &own_words));
        let titled = format!("{}: {{0}}", self.title);
        let is_named = holes.first().is_some_and(|hole| !hole.is_empty());
        let says = match self.says {
            // Without what it names a sentence says nothing.
            Some(says) if is_named || !says.contains("{0}") => says,
            _ if !own_words.is_empty() => "{exception}",
            None if is_named => &titled,
            _ => self.title,
        };
        let help = self.template(evidence.ended.world);
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
    /// What it takes to decide it.
    fn sort(&self) -> Sort {
        match self {
            Self::Raised(..) => Sort::Exception,
            Self::Reason(_) => Sort::Cluster,
            Self::All(parts) => parts.iter().map(Self::sort).min().unwrap_or(Sort::End),
            Self::Printed(_) | Self::Code(_) | Self::Memory(_) | Self::Probed => Sort::End,
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
            Self::Reason(words) => words.contains(&evidence.pod.reason).then(Vec::new),
            Self::Probed => evidence.pod.probed.then(Vec::new),
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
    let tables = [
        cluster::ENTRIES,
        tensorflow::ENTRIES,
        python::ENTRIES,
        system::ENTRIES,
    ];
    tables.into_iter().flatten()
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
    entries().find_map(|entry| entry.found(evidence, Sort::Exception))
}

/// What it knows about what the cluster says.
pub(crate) fn of_cluster(evidence: &Evidence<'_>) -> Option<FailureCause> {
    entries().find_map(|entry| entry.found(evidence, Sort::Cluster))
}

/// What it knows about the output and the end.
pub(crate) fn of_end(evidence: &Evidence<'_>) -> Option<FailureCause> {
    entries().find_map(|entry| entry.found(evidence, Sort::End))
}
