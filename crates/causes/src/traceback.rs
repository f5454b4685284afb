//! Python exceptions in a program's output: what was raised, what it says, and where in the user's own code.
//!
//! A block of frames (`File "…", line N`) is followed by a line that is not indented: the exception and its message, which
//! may go on over many lines. The header `Traceback (most recent call last):` is not needed: a termination message often
//! begins after it, and a `SyntaxError` of the script itself has none.

use crate::lines::{Lines, is_log};

/// Lines after an exception's own that are kept: TensorFlow puts what matters at the end of some fifty.
const MOST_DETAILS: usize = 200;

/// Exceptions that are kept: those raised last.
const MOST_EXCEPTIONS: usize = 32;

/// Lines of other threads and processes that may stand between the frames and the exception.
const MOST_BETWEEN: usize = 8;

/// An exception as Python prints it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exception {
    /// Its class without the module: `InvalidArgumentError`.
    pub kind: String,
    /// The rest of its line.
    pub message: String,
    /// The lines after it.
    pub details: Vec<String>,
    /// The last frame of the user's own code.
    pub place: Option<Place>,
    /// It ended no program: it was raised in a thread, or while an object was destroyed.
    pub aside: bool,
    /// It was raised while the one before it was handled.
    pub chained: bool,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub file: String,
    pub line: u32,
}

impl Place {
    /// `train.py:2`.
    pub fn short(&self) -> String {
        let name = self.file.rsplit('/').next().unwrap_or(&self.file);
        format!("{name}:{}", self.line)
    }

    /// The place of a frame, `File "/app/train.py", line 2, in <module>`.
    pub fn of_frame(line: &str) -> Option<Self> {
        let (file, rest) = line
            .trim_start()
            .strip_prefix("File \"")?
            .split_once("\", line ")?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        Some(Self {
            file: file.to_owned(),
            line: rest[..digits].parse().ok()?,
        })
    }

    /// Whether it is in code that the user wrote, as far as a path tells.
    pub fn is_users(&self) -> bool {
        const OTHERS: [&str; 6] = [
            "/site-packages/",
            "/dist-packages/",
            "/lib/python3",
            "/lib64/python3",
            "__autograph_generated_file",
            "<frozen ",
        ];
        // Frames of compiled extensions name the Cython source they were made from.
        let compiled = [".pyx", ".pxi", ".pxd"]
            .iter()
            .any(|end| self.file.ends_with(end));
        !compiled && !OTHERS.iter().any(|other| self.file.contains(other))
    }
}

/// The exceptions that ended the program: one, or a chain of which the last was raised last. Empty if there is none.
pub(crate) fn cause(exceptions: &[Exception]) -> Vec<&Exception> {
    let Some(last) = exceptions.iter().rposition(|exception| !exception.aside) else {
        return Vec::new();
    };
    let before = exceptions[..=last]
        .iter()
        .rposition(|exception| !exception.chained);
    exceptions[before.unwrap_or(last)..=last].iter().collect()
}

/// Every exception, in the order of the output.
pub(crate) fn exceptions(lines: &Lines) -> Vec<Exception> {
    let mut scanner = Scanner::default();
    for line in lines.iter() {
        scanner.line(line);
    }
    if scanner.found.is_empty() {
        scanner.found.extend(bare(lines));
    }
    scanner.found
}

/// An exception whose frames are not in the output: a long message pushed them out of it.
fn bare(lines: &Lines) -> Option<Exception> {
    let all: Vec<&str> = lines.iter().collect();
    let at = all
        .iter()
        .rposition(|line| raised(line).is_some_and(|(kind, _)| is_usual(kind)))?;
    let (kind, message) = raised(all[at])?;
    let details = all[at + 1..].iter().take(MOST_DETAILS);
    Some(Exception {
        kind: kind.to_owned(),
        message: message.to_owned(),
        details: details.map(|line| (*line).to_owned()).collect(),
        ..Exception::default()
    })
}

#[derive(Debug, Default)]
struct Scanner {
    found: Vec<Exception>,
    state: State,
    /// The last user's frame of the block.
    place: Option<Place>,
    /// What follows is no cause.
    aside: bool,
    /// What follows was raised while the last one was handled.
    chained: bool,
}

#[derive(Debug, Default)]
enum State {
    /// Ordinary output.
    #[default]
    Outside,
    /// Frames were seen, and so many lines that are neither frames nor an exception.
    Frames { between: usize },
    /// The exception was seen; its message may go on.
    After,
}

impl Scanner {
    fn line(&mut self, line: &str) {
        // An exception group draws a frame around its members.
        let line = unframed(line);
        if line.ends_with("Traceback (most recent call last):") {
            self.begin();
        } else if line.starts_with("Exception ignored ") || line.starts_with("Exception in thread ") {
            self.aside = true;
            self.state = State::Outside;
        } else if is_link(line) {
            self.chained = true;
            self.state = State::Outside;
        } else if let Some(place) = frame(line, &self.state) {
            if !matches!(self.state, State::Frames { .. }) {
                self.begin();
            }
            if place.is_users() {
                self.place = Some(place);
            }
        } else {
            self.other(line);
        }
    }

    fn begin(&mut self) {
        self.state = State::Frames { between: 0 };
        self.place = None;
    }

    fn other(&mut self, line: &str) {
        match &mut self.state {
            State::Outside => {}
            State::Frames { between } => {
                if line.starts_with([' ', '\t']) || line.is_empty() {
                    return;
                }
                if let Some((kind, message)) = raised(line).filter(|_| !is_log(line)) {
                    let (kind, message) = (kind.to_owned(), message.to_owned());
                    self.raise(kind, message);
                } else {
                    *between += 1;
                    if *between > MOST_BETWEEN {
                        self.state = State::Outside;
                    }
                }
            }
            State::After => {
                if let Some(exception) = self.found.last_mut()
                    && exception.details.len() < MOST_DETAILS
                {
                    exception.details.push(line.to_owned());
                }
            }
        }
    }

    fn raise(&mut self, kind: String, message: String) {
        if self.found.len() == MOST_EXCEPTIONS {
            self.found.remove(0);
        }
        self.found.push(Exception {
            kind,
            message,
            details: Vec::new(),
            place: self.place.take(),
            aside: std::mem::take(&mut self.aside),
            chained: std::mem::take(&mut self.chained),
        });
        self.state = State::After;
    }
}

/// The line without the frame of an exception group.
fn unframed(line: &str) -> &str {
    let inner = line.trim_start();
    inner.strip_prefix("| ").unwrap_or(line)
}

/// A frame of a traceback. After an exception's line such frames are part of its message: a `tf.function` tells where its nodes were made.
fn frame(line: &str, state: &State) -> Option<Place> {
    let depth = line.len() - line.trim_start_matches(' ').len();
    let fits = match state {
        State::Frames { .. } => depth > 0,
        State::Outside => depth == 2,
        State::After => false,
    };
    fits.then(|| Place::of_frame(line))?
}

fn is_link(line: &str) -> bool {
    line == "During handling of the above exception, another exception occurred:"
        || line == "The above exception was the direct cause of the following exception:"
}

/// An exception's line: `package.module.Kind: message` or `Kind`.
pub(crate) fn raised(line: &str) -> Option<(&str, &str)> {
    let (name, message) = line.split_once(':').unwrap_or((line, ""));
    if !message.is_empty() && !message.starts_with(' ') {
        return None;
    }
    let word = |part: &str| {
        let mut characters = part.chars();
        characters
            .next()
            .is_some_and(|first| first.is_alphabetic() || first == '_')
            && characters.all(|other| other.is_alphanumeric() || other == '_')
    };
    let kind = name.rsplit('.').next()?;
    // `WARNING: …` and `INFO: …` are lines of logs.
    let shouted = kind
        .chars()
        .all(|character| character.is_uppercase() || character == '_');
    let fits = name.len() <= 200 && name.split('.').all(word) && !shouted;
    fits.then_some((kind, message.trim()))
}

/// Whether a word is what exceptions are usually called.
pub(crate) fn is_usual(kind: &str) -> bool {
    ["Error", "Exception", "Interrupt", "Exit", "Warning"]
        .iter()
        .any(|end| kind.ends_with(end))
}
