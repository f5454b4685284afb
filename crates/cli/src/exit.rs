//! The exit codes, all of them; scripts rely on these.

use std::process::ExitCode;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// 0: done, and nothing is wrong.
    Success,
    /// 1: done, and the answer is no: a manifest has problems, a job failed.
    No,
    /// 2: not done: wrong usage, or something could not be read or written.
    Unable,
    /// As a run ended: 124, 130 and their kind beside those above.
    Code(u8),
}

impl Exit {
    /// The code itself.
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
