//! What nodes are held for: by gangs that are placed as a whole, or by parts of gangs that wait for the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Sums up the time for which tasks hold nodes. Times count from any one moment, and events come in their order.
#[derive(Debug, Default)]
pub struct NodeTime {
    /// How many tasks a gang has.
    size: usize,
    gangs: BTreeMap<String, Gang>,
    last: Duration,
    wasted: f64,
    used: f64,
}

/// The tasks of one gang that are on nodes.
#[derive(Debug, Default)]
struct Gang {
    placed: BTreeSet<u32>,
    /// All of them have been on nodes at one time, since the first came.
    whole: bool,
}

impl NodeTime {
    /// For gangs of so many tasks.
    #[must_use]
    pub fn of_gangs(size: usize) -> Self {
        Self {
            size,
            ..Self::default()
        }
    }

    /// A task has a node; whether its gang is placed as a whole because of it.
    pub fn placed(&mut self, gang: &str, task: u32, at: Duration) -> bool {
        self.until(at);
        let gang = self.gangs.entry(gang.to_owned()).or_default();
        gang.placed.insert(task);
        let is_complete = gang.placed.len() == self.size && !gang.whole;
        gang.whole |= is_complete;
        is_complete
    }

    /// A task has given its node back.
    pub fn left(&mut self, gang: &str, task: u32, at: Duration) {
        self.until(at);
        if let Some(gang) = self.gangs.get_mut(gang) {
            gang.placed.remove(&task);
            gang.whole &= !gang.placed.is_empty();
        }
    }

    /// Counts until this moment.
    pub fn until(&mut self, at: Duration) {
        let passed = at.saturating_sub(self.last).as_secs_f64();
        self.last = self.last.max(at);
        self.wasted += passed * held(self.gangs.values().filter(|gang| !gang.whole));
        self.used += passed * held(self.gangs.values().filter(|gang| gang.whole));
    }

    /// For so many seconds tasks have held nodes whose gang had not been placed as a whole, summed over the tasks.
    #[must_use]
    pub fn wasted(&self) -> f64 {
        self.wasted
    }

    /// The same of gangs that had.
    #[must_use]
    pub fn used(&self) -> f64 {
        self.used
    }

    /// Whether no gang that is on nodes is placed as a whole, and some are: each waits for the others.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        let mut gangs = self
            .gangs
            .values()
            .filter(|gang| !gang.placed.is_empty())
            .peekable();
        gangs.peek().is_some() && gangs.all(|gang| !gang.whole)
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are fewer tasks than 2⁵²")]
fn held<'a>(gangs: impl Iterator<Item = &'a Gang>) -> f64 {
    gangs.map(|gang| gang.placed.len()).sum::<usize>() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: u64) -> Duration {
        Duration::from_secs(second)
    }

    #[test]
    fn time_counts_as_wasted_until_the_last_task_of_a_gang_has_a_node() {
        let mut time = NodeTime::of_gangs(2);
        assert!(!time.placed("a", 0, second(1)));
        assert!(!time.placed("b", 0, second(2)));
        assert!(time.is_stuck());
        // One of each: 1 s and then 2 × 3 s.
        time.until(second(5));
        assert_eq!((time.wasted(), time.used()), (7.0, 0.0));
        time.left("b", 0, second(5));
        assert!(time.placed("a", 1, second(6)), "now it is whole");
        assert!(!time.is_stuck());
        time.until(second(10));
        assert_eq!((time.wasted(), time.used()), (8.0, 8.0));
        // What is left of a whole gang is used; the next life of it begins anew.
        time.left("a", 0, second(10));
        time.until(second(11));
        assert_eq!((time.wasted(), time.used()), (8.0, 9.0));
        time.left("a", 1, second(11));
        time.placed("a", 0, second(11));
        time.until(second(12));
        assert_eq!((time.wasted(), time.used()), (9.0, 9.0));
    }

    #[test]
    fn an_event_that_comes_late_takes_no_time_away() {
        let mut time = NodeTime::of_gangs(1);
        time.placed("a", 0, second(5));
        time.until(second(4));
        time.until(second(6));
        assert_eq!((time.wasted(), time.used()), (0.0, 1.0));
    }
}
