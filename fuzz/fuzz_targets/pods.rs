//! A list of pods as any client may have written them: reading one never fails, and deciding with them for a few
//! rounds, then without them, stays within bounds.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use trainyard_core::{Observed, Time};
use trainyard_fuzz::{JOB, decide};
use trainyard_manifest::observe::PodSeen;

/// Seconds since 1970: the first round, soon after, and long after. The seeds are of the first minutes.
const ROUNDS: [u64; 4] = [1_800_000_000, 1_800_000_002, 1_800_000_400, 1_900_000_000];

fuzz_target!(|bytes: &[u8]| {
    let Ok(written) = serde_json::from_slice::<Vec<Value>>(bytes) else {
        return;
    };
    let read = |pod: Value| serde_json::from_value::<PodSeen>(pod).expect("reading a pod never fails");
    let pods: Vec<PodSeen> = written.into_iter().take(100).map(read).collect();
    let present = Observed {
        tasks: pods.iter().filter_map(|pod| pod.task.clone()).collect(),
        ..Observed::default()
    };
    let gone = Observed {
        tasks: pods.iter().filter_map(PodSeen::gone).collect(),
        ..Observed::default()
    };
    let mut memory = None;
    for (observed, now) in [(&present, ROUNDS[0]), (&present, ROUNDS[1]), (&present, ROUNDS[2]), (&gone, ROUNDS[3])] {
        memory = Some(decide(&JOB, memory.as_ref(), observed, Time(now)).memory);
    }
});
