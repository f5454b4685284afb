//! What can be told of a run of any kind, and how it differs from one in which nothing went wrong.

use std::collections::BTreeMap;

use trainyard_cluster_tests::fake_kubelet::History;
use trainyard_cluster_tests::faulty::{FaultyProxy, Write};

/// What can be told of a run of any kind when it is over: what its kind tells, the pods that were made, and what was deleted.
#[derive(Debug)]
pub struct Told {
    words: BTreeMap<&'static str, String>,
    /// Reasons of events, sorted.
    events: Vec<String>,
    /// What was written, in order.
    pub writes: Vec<Write>,
    disturbed: u32,
}

impl Told {
    /// Of the job `mnist`; `own` is what its kind tells.
    pub fn of<const N: usize>(
        history: &History,
        way: &FaultyProxy,
        own: [(&'static str, String); N],
    ) -> Self {
        let mut made: BTreeMap<String, u32> = BTreeMap::new();
        for pod in history.all("pods") {
            let stamp = &pod.last()["metadata"]["annotations"]["trainyard.dev/stamp"];
            *made.entry(format!("{} {stamp}", pod.name)).or_default() += 1;
        }
        let done = way.done();
        let mut deleted: Vec<_> = done.iter().filter(|done| !done.uid.is_empty()).collect();
        deleted.sort();
        deleted.dedup();
        let deleted: Vec<_> = deleted.iter().map(|done| (done.write, &done.name)).collect();
        let events = history.events_of("mnist").into_iter();
        let mut events: Vec<String> = events.map(|(reason, _)| reason).collect();
        events.sort();
        let mut words = BTreeMap::from(own);
        words.insert("pods made", format!("{made:?}"));
        words.insert("deleted", format!("{deleted:?}"));
        Self {
            words,
            events,
            writes: way.writes(),
            disturbed: way.disturbed(),
        }
    }

    /// How a disturbed run differs from this one, which was not.
    pub fn differences(&self, found: Result<Self, String>) -> Vec<String> {
        let found = match found {
            Ok(found) => found,
            Err(why) => return vec![why],
        };
        let mut wrong: Vec<String> = Vec::new();
        for (what, there) in &self.words {
            let here = &found.words[what];
            if here != there {
                wrong.push(format!("{what}: undisturbed {there}, here {here}"));
            }
        }
        // One may be lost, since a job matters more; none may be told twice.
        let mut rest = self.events.clone();
        for event in &found.events {
            match rest.iter().position(|known| known == event) {
                Some(position) => drop(rest.remove(position)),
                None => wrong.push(format!("an event too many: {event} in {:?}", found.events)),
            }
        }
        if found.disturbed == 0 {
            wrong.push("nothing went wrong in this run".into());
        }
        wrong
    }
}
