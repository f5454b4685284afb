//! Errors that stop a command. Problems of a manifest are not errors of the command: they are its output.

use std::io;

use crate::exit::Exit;

/// Why a command could not do what was asked.
#[derive(Debug)]
pub enum Failure {
    /// The reader of standard output closed it, as `head` does; not reported.
    Reader,
    /// Everything has been reported; only the exit code is left.
    Reported(Exit),
    /// An error to report.
    Error {
        exit: Exit,
        message: String,
        /// The text of the `help:` line.
        help: Option<String>,
    },
}

/// The text of the `help:` line below an error, if there is one.
pub struct Help(Option<String>);

impl From<Option<String>> for Help {
    fn from(text: Option<String>) -> Self {
        Self(text)
    }
}

impl From<&str> for Help {
    fn from(text: &str) -> Self {
        Self(Some(text.to_owned()))
    }
}

impl From<String> for Help {
    fn from(text: String) -> Self {
        Self(Some(text))
    }
}

impl Failure {
    /// Wrong usage, or an input that cannot be used.
    pub fn usage(message: impl Into<String>, help: impl Into<Help>) -> Self {
        Self::new(Exit::Unable, message, help)
    }

    /// The command was understood, and what it asks for was refused or did not succeed.
    pub fn refused(message: impl Into<String>, help: impl Into<Help>) -> Self {
        Self::new(Exit::No, message, help)
    }

    /// A file that cannot be written.
    pub fn file(path: &str, cause: &io::Error) -> Self {
        Self::usage(format!("cannot write `{path}`: {cause}"), None)
    }

    /// The same, with an error of its own where the problems have been reported already.
    pub fn or_reported(self, error: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Reported(_) => error(),
            other => other,
        }
    }

    pub fn new(exit: Exit, message: impl Into<String>, help: impl Into<Help>) -> Self {
        Self::Error {
            exit,
            message: message.into(),
            help: help.into().0,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(cause: io::Error) -> Self {
        if cause.kind() == io::ErrorKind::BrokenPipe {
            return Self::Reader;
        }
        Self::usage(format!("cannot write to standard output: {cause}"), None)
    }
}
