//! All exit codes; scripts rely on them.

use std::process::ExitCode;

/// How the program exits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// 0: done.
    #[default]
    Success,
    /// 1: done, with a negative result: a manifest has problems, a job failed.
    No,
    /// 2: not done: wrong usage, or a file cannot be read or written.
    Unable,
    /// The code of a run: the above, or 124, 130 and others.
    Code(u8),
}

impl Exit {
    /// [`Exit::No`] if there is something wrong, else [`Exit::Success`].
    pub fn no_if(wrong: bool) -> Self {
        if wrong { Self::No } else { Self::Success }
    }

    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::No => 1,
            Self::Unable => 2,
            Self::Code(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
