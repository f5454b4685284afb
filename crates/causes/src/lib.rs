//! Why a program failed: from the end of its output and from how it ended to a sentence, a place in the user's own code
//! and a remedy.
//!
//! ```text
//! bytes ─▶ lines ─▶ exceptions (traceback) ─▶ catalogue ─▶ FailureCause
//!                                  exit code, memory ──┘
//! ```
//!
//! Both worlds call it: a run on one machine [`find`] with the end of a task's log, the operator [`find_in_pod`] with a pod's
//! termination message, and [`of_pod`] with what a pod waits for. Pure: no I/O, no clock. Output is hostile: any bytes give an answer, in time and memory that are linear in at
//! most [`MOST_OUTPUT`] bytes, and no control character of the output is in it. The reasons are in ADR 18.

mod catalogue;
mod lines;
mod message;
mod pattern;
mod traceback;

use std::sync::Arc;

use trainyard_core::FailureCause;

pub use catalogue::{Entry, entries, entry};
use lines::Lines;
use traceback::Exception;

/// Bytes of output that are looked at, from its end.
pub const MOST_OUTPUT: usize = 64 * 1024;

/// Bytes of each text of a cause that are kept.
pub const MOST_TEXT: usize = 400;

/// How a program ended, and what it printed last.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ended<'a> {
    /// The end of its output; of more than [`MOST_OUTPUT`] bytes only the last are looked at.
    pub output: &'a [u8],
    /// Its exit code, 128+n for signal n; none where it is not known.
    pub code: Option<i32>,
    /// What is known about memory.
    pub memory: MemoryEvidence,
    /// Where it ran: remedies differ.
    pub world: World,
}

/// What a cluster says about a pod or container, besides the output.
#[derive(Clone, Copy, Debug, Default)]
pub struct PodEvidence<'a> {
    /// The word of the kubelet, the container runtime, the scheduler or the API server: `StartError`, `Unschedulable`.
    pub reason: &'a str,
    /// The container has a liveness or startup probe.
    pub probed: bool,
}

/// Whether memory ran out while the program ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryEvidence {
    /// It cannot be told.
    #[default]
    Unknown,
    /// Nothing was killed for memory.
    Enough,
    /// The limit of its control group was reached, and a process in it was killed.
    LimitReached,
    /// The machine ran out of memory, and the kernel killed some process.
    MachineFull,
}

/// Where a program ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum World {
    /// As a process of `trainyard run`.
    #[default]
    Machine,
    /// In a pod.
    Cluster,
}

/// The class of a failure whose exception is not in the catalogue.
const EXCEPTION: &str = "exception";

/// The class of a failure of which nothing is known but the exit code.
const EXIT_CODE: &str = "exit-code";

/// Every class that a cause can have, once: the values of a metric.
pub fn classes() -> impl Iterator<Item = &'static str> {
    let is_first =
        |(at, class): &(usize, &'static str)| entries().take(*at).all(|other| other.class != *class);
    let known = entries().map(|entry| entry.class).enumerate();
    let known = known.filter(is_first).map(|(_, class)| class);
    known.chain([EXCEPTION, EXIT_CODE])
}

/// The class of this name; none for a word that is no class. What is read from a cluster may hold any.
#[must_use]
pub fn class(word: &str) -> Option<&'static str> {
    classes().find(|class| *class == word)
}

/// Why a program failed; none if nothing is known but that it did.
#[must_use]
pub fn find(ended: &Ended<'_>) -> Option<FailureCause> {
    find_in_pod(ended, PodEvidence::default())
}

/// What a pod waits for, or why it was refused, if the catalogue knows it: by the word and the message of the scheduler, the
/// kubelet or the API server.
#[must_use]
pub fn of_pod(reason: &str, message: &str) -> Option<FailureCause> {
    let ended = Ended {
        output: message.as_bytes(),
        world: World::Cluster,
        ..Ended::default()
    };
    let pod = PodEvidence {
        reason,
        probed: false,
    };
    let lines = Lines::of(ended.output);
    catalogue::of_cluster(&Evidence::new(&ended, pod, &lines, None))
}

/// Why a container failed; none if nothing is known but that it did. What the cluster says about it counts more than what
/// the program printed.
#[must_use]
pub fn find_in_pod(ended: &Ended<'_>, pod: PodEvidence<'_>) -> Option<FailureCause> {
    let lines = Lines::of(ended.output);
    if let Some(cause) = catalogue::of_cluster(&Evidence::new(ended, pod, &lines, None)) {
        return Some(cause);
    }
    let exceptions = traceback::exceptions(&lines);
    let chain = if was_killed(ended.code) {
        // What it had printed before is not why.
        Vec::new()
    } else {
        traceback::cause(&exceptions)
    };
    // Of exceptions that were raised while others were handled, the last that is known says most.
    for exception in chain.iter().rev() {
        let evidence = Evidence::new(ended, pod, &lines, Some(exception));
        if let Some(cause) = catalogue::of_exception(&evidence) {
            return Some(cause);
        }
    }
    if let Some(exception) = chain.last() {
        return Some(of_exception(exception, &lines));
    }
    catalogue::of_end(&Evidence::new(ended, pod, &lines, None))
        .or_else(|| last_words(&lines, ended.code?))
        .or_else(|| silent(ended))
}

/// What is said of a job that succeeded although its tasks, so many, each trained alone.
#[must_use]
pub fn trained_alone(tasks: usize) -> FailureCause {
    catalogue::trained_alone(tasks).unwrap_or_default()
}

/// The port that the program could not open, if that is what failed.
#[must_use]
pub fn taken_port(ended: &Ended<'_>) -> Option<u16> {
    let lines = Lines::of(ended.output);
    let line = |text: &str| {
        let holes = pattern::holes("No address added out of total {} resolved for '{}'", text)?;
        holes.get(1)?.rsplit(':').next()?.parse().ok()
    };
    lines.iter().rev().find_map(line)
}

/// The script that Python could not open, as it was told, if that is what failed.
#[must_use]
pub fn missing_script(ended: &Ended<'_>) -> Option<Arc<str>> {
    let lines = Lines::of(ended.output);
    let line = |text: &str| {
        let holes = pattern::holes("can't open file '{}': [Errno 2]", text)?;
        holes.first().map(|path| bounded(path))
    };
    lines.iter().rev().find_map(line)
}

/// Whether a signal ended it that no handler of Python's answers: SIGILL, SIGBUS, SIGFPE, SIGKILL, SIGSEGV.
fn was_killed(code: Option<i32>) -> bool {
    matches!(code, Some(132 | 135 | 136 | 137 | 139))
}

/// Everything that the catalogue matches against.
#[derive(Debug)]
pub(crate) struct Evidence<'a> {
    ended: &'a Ended<'a>,
    pod: PodEvidence<'a>,
    lines: &'a Lines,
    exception: Option<&'a Exception>,
    /// What the exception says.
    words: String,
}

impl<'a> Evidence<'a> {
    fn new(
        ended: &'a Ended<'a>,
        pod: PodEvidence<'a>,
        lines: &'a Lines,
        exception: Option<&'a Exception>,
    ) -> Self {
        Self {
            ended,
            pod,
            lines,
            exception,
            words: exception.map(|it| message::of(it).message).unwrap_or_default(),
        }
    }
}

fn of_exception(exception: &Exception, lines: &Lines) -> FailureCause {
    let said = message::of(exception);
    let mut sentence = said.sentence();
    // That a program failed says nothing; what it printed does.
    if said.kind == "CalledProcessError"
        && let Some(words) = lines.words_before_traceback()
    {
        sentence = format!("{} It had printed: {words}", sentence.trim_end());
    }
    FailureCause {
        code: None,
        class: EXCEPTION.into(),
        sentence: bounded(&sentence),
        place: said.place.as_deref().map(bounded),
        help: None,
    }
}

/// A program that said something before it exited with an error.
fn last_words(lines: &Lines, code: i32) -> Option<FailureCause> {
    let last = lines.last_words()?;
    (code != 0).then(|| FailureCause {
        code: None,
        class: EXIT_CODE.into(),
        sentence: bounded(&format!("exit code {code}, after it printed: {last}")),
        place: None,
        help: None,
    })
}

/// A program that exited with an error and said nothing. A pod's termination message is not its whole output.
fn silent(ended: &Ended<'_>) -> Option<FailureCause> {
    let code = ended.code.filter(|code| *code != 0)?;
    (ended.world == World::Machine).then(|| FailureCause {
        code: None,
        class: EXIT_CODE.into(),
        sentence: bounded(&format!("exit code {code}, without a word in its output")),
        place: None,
        help: Some(
            "a call such as `sys.exit(N)` or `os._exit(N)` ended it: look for the number in the script, and for output that is sent to a file"
                .into(),
        ),
    })
}

/// The text, cut to [`MOST_TEXT`] bytes.
pub(crate) fn bounded(text: &str) -> Arc<str> {
    let text = text.trim();
    if text.len() <= MOST_TEXT {
        return text.into();
    }
    let cut = text.floor_char_boundary(MOST_TEXT - '…'.len_utf8());
    format!("{}…", text[..cut].trim_end()).into()
}
