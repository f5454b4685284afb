//! Why something cannot be measured, in words.

use std::fmt;

/// Why something cannot be measured.
#[derive(Debug)]
pub struct Trouble(String);

impl Trouble {
    /// These words.
    pub fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Any error will do: all that is done with one is to tell it.
impl<E: std::error::Error> From<E> for Trouble {
    fn from(error: E) -> Self {
        let mut words = error.to_string();
        let mut cause = error.source();
        while let Some(next) = cause {
            words = format!("{words}: {next}");
            cause = next.source();
        }
        Self(words)
    }
}
