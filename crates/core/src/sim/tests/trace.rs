//! A trace as lines of text, for the reports of failing seeds.

use std::fmt;

use crate::observed::Stamp;
use crate::sim::{Entry, Happened, Trace};

impl fmt::Display for Trace {
    /// One line per entry.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Entry { at, what } in &self.entries {
            writeln!(out, "{at:>6} s  {what}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Happened {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Created { task, stamp } => write!(out, "{task} created as {}", Life(*stamp)),
            Self::Started {
                task,
                stamp,
                in_place,
            } => write!(out, "{task} {} runs (in place: {in_place})", Life(*stamp)),
            Self::Ended { task, stamp, exit } => {
                let asked = if exit.asked { ", asked to" } else { "" };
                write!(
                    out,
                    "{task} {} ended: {:?} {:?}{asked}, ran {} s",
                    Life(*stamp),
                    exit.code,
                    exit.why,
                    exit.ran
                )
            }
            Self::RestartsInPlace { task, times, wait } => {
                write!(out, "{task} restarts in place in {wait} s, time {times}")
            }
            Self::Stopped { task, stamp, why } => {
                write!(out, "{task} {} told to stop: {why:?}", Life(*stamp))
            }
            Self::Gone { task, stamp } => write!(out, "{task} {} is gone", Life(*stamp)),
            Self::Decided(event) => write!(out, "  decided: {event:?}"),
            other => write!(out, "{other:?}"),
        }
    }
}

/// A stamp, short: `0.2` is the second restart in the first epoch.
struct Life(Stamp);

impl fmt::Display for Life {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.0.epoch, self.0.attempt)
    }
}
