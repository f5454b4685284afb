//! The memory that a status holds, and what is known where it cannot be read.
//!
//! A memory that cannot be read is not the same as none: a job of which nothing is known is started, and one that has ended must
//! not be started again because an older or a newer version looks at it.

use std::fmt;

use serde_json::Value;
use trainyard_core::{FORMAT, Job, Memory};

use super::MEMORY_FIELD;

/// A memory that is there and cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Why not.
    pub flaw: Flaw,
    /// A memory with the verdict alone, if the rest of the status says that the job has ended: enough to let the job expire. It must
    /// not be written, since it would replace the one that cannot be read.
    pub ended: Option<Box<Memory>>,
}

/// What is wrong with a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// A newer version has written it, in this format. Nothing of the status may be written, since this version does not know what it means.
    Newer(u64),
    /// It has our format and makes no sense.
    Broken(String),
}

impl fmt::Display for Flaw {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newer(format) => write!(
                out,
                "`status.{MEMORY_FIELD}` was written by a newer version of trainyard: its format is {format}, this one reads up to \
                 {FORMAT}"
            ),
            // It may quote what a status holds, which may be a megabyte.
            Self::Broken(why) => {
                let why = &why[..why.floor_char_boundary(300)];
                write!(out, "`status.{MEMORY_FIELD}` cannot be read: {why}")
            }
        }
    }
}

/// The memory of a status. Where there is none, and where it cannot be read, `ended` says what the rest of the status does: the
/// memory of a job that has ended.
pub(super) fn recall(
    status: Option<&Value>,
    job: &Job,
    ended: impl FnOnce(&Value) -> Option<Memory>,
) -> Result<Option<Memory>, Unread> {
    let Some(status) = status else { return Ok(None) };
    let Some(written) = status.get(MEMORY_FIELD).filter(|written| !written.is_null()) else {
        return Ok(ended(status));
    };
    let flaw = match read(written, job) {
        Ok(memory) => return Ok(Some(memory)),
        Err(flaw) => flaw,
    };
    Err(Unread {
        flaw,
        ended: ended(status).map(Box::new),
    })
}

/// The format of the memory in a status, where that is newer than ours: such a status must not be written.
#[must_use]
pub fn newer_memory(status: Option<&Value>) -> Option<u64> {
    newer(status?.get(MEMORY_FIELD)?)
}

fn newer(written: &Value) -> Option<u64> {
    let format = written.get("format").and_then(Value::as_u64);
    format.filter(|format| *format > u64::from(FORMAT))
}

fn read(written: &Value, job: &Job) -> Result<Memory, Flaw> {
    // Looked at first: whatever else a newer format holds, it is not to be judged by what we know.
    if let Some(newer) = newer(written) {
        return Err(Flaw::Newer(newer));
    }
    let broken = match serde_json::from_value(written.clone()) {
        Ok(memory) => return Ok(memory),
        Err(error) => Flaw::Broken(error.to_string()),
    };
    let of = written.get("job").and_then(Value::as_str);
    match of.filter(|of| *of != &*job.uid) {
        // Another job's is not believed, so it does not matter what it says.
        Some(other) => {
            let mut memory = Memory::new(job);
            memory.job = other.into();
            Ok(memory)
        }
        None => Err(broken),
    }
}
