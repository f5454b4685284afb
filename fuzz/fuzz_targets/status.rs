//! A status as any client may have written it, read as memory of each kind: what is read can be decided with, and the
//! status that follows holds exactly the memory that was decided.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use trainyard_core::{Observed, Time};
use trainyard_fuzz::{JOB, decide};
use trainyard_status::{t9k_memory, tfjob_memory, tfjob_status, volcano_memory};

const NOW: Time = Time(1_800_000_000);

fuzz_target!(|bytes: &[u8]| {
    let Ok(status) = serde_json::from_slice::<Value>(bytes) else {
        return;
    };
    let observed = Observed::default();
    for read in [tfjob_memory, t9k_memory, volcano_memory] {
        match read(Some(&status), &JOB) {
            Ok(memory) => drop(decide(&JOB, memory.as_ref(), &observed, NOW)),
            Err(unread) => assert!(unread.flaw.to_string().len() < 1000, "a message of any length"),
        }
    }
    let Ok(memory) = tfjob_memory(Some(&status), &JOB) else {
        return;
    };
    let decided = decide(&JOB, memory.as_ref(), &observed, NOW);
    let next = tfjob_status(Some(&status), &JOB, &decided, &observed, NOW);
    assert_eq!(tfjob_memory(Some(&next), &JOB), Ok(Some(decided.memory)));
});
