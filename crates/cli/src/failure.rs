//! What stops a command before it is done. Problems in manifests are no failures: they are what is reported.

use std::fmt;
use std::io;

use crate::exit::Exit;

/// Why a command could not be done.
#[derive(Debug)]
pub enum Failure {
    /// Whoever read our output went away.
    Reader,
    /// Standard output cannot be written.
    Output(io::Error),
    /// A file cannot be written.
    File { path: String, cause: io::Error },
    /// A run's supervisor was killed.
    Killed { signal: i32 },
    /// It was begun and could not be gone on with.
    Ended { message: String, hint: &'static str },
    /// What was typed makes no sense; with a hint where there is one.
    Usage { message: String, hint: Option<String> },
}

impl Failure {
    /// What was typed makes no sense.
    pub fn usage(message: impl Into<String>, hint: Option<String>) -> Self {
        Self::Usage {
            message: message.into(),
            hint,
        }
    }

    /// The exit code: as a shell shows a death by signal, and else that nothing was done.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Killed { signal } => Exit::Code(u8::try_from(128 + signal).unwrap_or(u8::MAX)),
            Self::Ended { .. } => Exit::No,
            _ => Exit::Unable,
        }
    }

    /// What may help, if something may.
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
            Self::Reader => out.write_str("nobody reads the output any more"),
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
