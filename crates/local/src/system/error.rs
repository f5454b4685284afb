//! A system call that failed, with what it was for.

use std::io;

/// A step that the system refused.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step}")]
pub struct SystemError {
    /// In the imperative: "mount /proc".
    pub step: &'static str,
    /// The error of the system call.
    #[source]
    pub source: io::Error,
}

/// Names the step at which an error happened.
pub(crate) fn step<E: Into<io::Error>>(step: &'static str) -> impl FnOnce(E) -> SystemError {
    move |source| SystemError {
        step,
        source: source.into(),
    }
}
