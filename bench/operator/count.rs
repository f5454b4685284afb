//! Counts objects by polling.
//!
//! A watch would show each of them, but the API server closes a watch that cannot keep up with a thousand creations per second, and
//! that would measure the watch instead of the candidate.

use std::thread;
use std::time::{Duration, Instant};

use crate::rig::Rig;
use crate::trouble::Trouble;

/// Between two questions. Each costs the API server a millisecond.
const PAUSE: Duration = Duration::from_millis(25);

/// Waits until there are so many objects at that path; when the answer came that said so.
pub fn until(rig: &Rig, path: &str, count: usize, patience: Duration) -> Result<Instant, Trouble> {
    let begun = Instant::now();
    loop {
        let there = count_at(rig, path)?;
        if there >= count {
            return Ok(Instant::now());
        }
        if begun.elapsed() > patience {
            let seconds = patience.as_secs();
            return Err(Trouble::new(format!(
                "{there} of {count} exist after {seconds} s"
            )));
        }
        thread::sleep(PAUSE);
    }
}

/// How many objects there are at that path: one of them, and the number of the others.
pub fn count_at(rig: &Rig, path: &str) -> Result<usize, Trouble> {
    let list = rig.cluster.api().get(&format!("{path}?limit=1"))?;
    let shown = list["items"].as_array().map_or(0, Vec::len);
    let others = list["metadata"]["remainingItemCount"]
        .as_u64()
        .unwrap_or_default();
    Ok(shown + usize::try_from(others)?)
}
