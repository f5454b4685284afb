//! Errors that stop a command. Problems of a manifest are not errors of the command: they are its output.

use std::fmt;
use std::io;

use crate::exit::Exit;

/// Why a command could not do what was asked.
#[derive(Debug)]
pub enum Failure {
    /// The reader of standard output closed it; not reported.
    Reader,
    /// Standard output cannot be written.
    Output(io::Error),
    /// A file cannot be written.
    File { path: String, cause: io::Error },
    /// A run's supervisor was killed.
    Killed { signal: i32 },
    /// The command had started and could not continue.
    Ended { message: String, hint: &'static str },
    /// Wrong usage, or an input that cannot be used.
    Usage { message: String, hint: Option<String> },
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
        Self::Usage {
            message: message.into(),
            hint: help.into().0,
        }
    }

    /// The exit code: 128 plus the signal for a killed supervisor, as in a shell.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Killed { signal } => Exit::Code(u8::try_from(128 + signal).unwrap_or(u8::MAX)),
            Self::Ended { .. } => Exit::No,
            _ => Exit::Unable,
        }
    }

    /// The text of the `help:` line.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Usage { hint, .. } => hint.as_deref(),
            Self::Ended { hint, .. } => Some(hint),
            Self::Killed { .. } => Some("`trainyard ps` shows the run as interrupted; its logs are kept"),
            Self::Reader | Self::Output(_) | Self::File { .. } => None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reader => out.write_str("standard output was closed"),
            Self::Output(cause) => write!(out, "cannot write to standard output: {cause}"),
            Self::File { path, cause } => write!(out, "cannot write `{path}`: {cause}"),
            Self::Killed { signal } => {
                write!(
                    out,
                    "the run's supervisor was killed by signal {signal}, and every task with it"
                )
            }
            Self::Usage { message, .. } | Self::Ended { message, .. } => out.write_str(message),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(cause: io::Error) -> Self {
        if cause.kind() == io::ErrorKind::BrokenPipe {
            Self::Reader
        } else {
            Self::Output(cause)
        }
    }
}
