//! Memory as earlier versions have stored it. What stands here is in the statuses of users' jobs: it is added to, and never
//! changed (the rules are on [`Memory`]).

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{AddressForm, Cause, FORMAT, Hold, Memory, Outcome};
use crate::observed::Why;

/// Every field, none with the value that is not written.
fn stored() -> Value {
    json!({
        "format": 1,
        "job": "0b1d8e0e-4c1f-4d53-9a51-0a8f6b1c2d3e",
        "epoch": 2,
        "started": 1_800_000_000,
        "held": "Suspended",
        "resumed": true,
        "notBefore": 1_800_000_100,
        "paid": 3,
        "rounds": 1,
        "inPlaceGone": 4,
        "inPlaceMost": 5,
        "form": "per-replica",
        "gang": "volcano",
        "gates": { "placed": 2, "rolledBack": 1_800_000_060, "times": 1 },
        "roles": {
            "ps": { "attempts": "0:1", "done": "0", "failed": "1", "born": 2, "restarts": 6 },
            "worker": { "attempts": "0-3:1,7:2", "done": "0-2,9", "failed": "4", "born": 10, "restarts": 7 },
        },
        "firstFailure": {
            "task": "worker-4",
            "stamp": { "epoch": 1, "attempt": 2 },
            "exit": {
                "code": 137, "why": "OutOfMemory", "asked": true, "at": 1_800_000_050, "ran": 40,
                "cause": {
                    "code": "TR008", "class": "out-of-memory-limit", "sentence": "out of memory", "place": "train.py:2",
                    "help": "use a smaller batch",
                },
            },
        },
        "orders": ["command-1"],
        "verdict": {
            "outcome": "Failed",
            "cause": { "Rule": { "from": "spec.successPolicy", "task": "worker-4" } },
            "at": 1_800_000_200,
        },
    })
}

/// The least that was ever stored.
fn least() -> Value {
    json!({ "format": 1, "job": "u", "notBefore": 0 })
}

fn reads_back<T: Serialize + DeserializeOwned>(stored: &Value) -> T {
    let read: T = serde_json::from_value(stored.clone()).unwrap_or_else(|error| panic!("{stored}: {error}"));
    assert_eq!(serde_json::to_value(&read).unwrap(), *stored);
    read
}

#[test]
fn memory_is_read_and_written_as_it_always_was() {
    let memory: Memory = reads_back(&stored());
    assert_eq!((memory.paid, memory.roles.len()), (3, 2));
    let least: Memory = serde_json::from_value(least()).unwrap();
    assert_eq!((least.started, least.verdict), (None, None));
    assert_eq!((least.form, least.gang), (None, None));
    assert_eq!(least.gates, super::GateMemory::default());
    assert_eq!(
        FORMAT, 1,
        "with another format, what stands above is an older one and is still read"
    );
}

#[test]
fn fields_of_later_versions_are_read_over() {
    let mut later = stored();
    later["later"] = json!({ "a": 1 });
    later["roles"]["worker"]["later"] = json!("0-3");
    later["gates"]["later"] = json!("x");
    later["firstFailure"]["later"] = json!(true);
    later["firstFailure"]["exit"]["later"] = json!("words");
    later["verdict"]["later"] = json!([1]);
    let memory: Memory = serde_json::from_value(later).unwrap();
    assert_eq!(serde_json::to_value(memory).unwrap(), stored());
}

/// The words of all variants. A variant that is added does not compile here; one that is renamed or removed is not read.
#[test]
fn enums_have_the_variants_that_they_always_had() {
    for word in ["Suspended", "Aborted"] {
        match reads_back(&json!(word)) {
            Hold::Suspended | Hold::Aborted => {}
        }
    }
    for word in ["Succeeded", "Failed", "Terminated"] {
        match reads_back(&json!(word)) {
            Outcome::Succeeded | Outcome::Failed | Outcome::Terminated => {}
        }
    }
    for word in ["Itself", "OutOfMemory", "NotStarted", "Disrupted"] {
        match reads_back(&json!(word)) {
            Why::Itself | Why::OutOfMemory | Why::NotStarted | Why::Disrupted => {}
        }
    }
    for word in ["per-replica", "kubeflow"] {
        match reads_back(&json!(word)) {
            AddressForm::PerReplica | AddressForm::Kubeflow => {}
        }
    }
    for cause in [
        json!({ "Rule": { "from": "spec.successPolicy", "task": "worker-4" } }),
        json!({ "Rule": { "from": "built in" } }),
        json!({ "Restarts": { "task": "worker-4" } }),
        json!({ "Restarts": {} }),
        json!("Deadline"),
        json!("Order"),
    ] {
        match reads_back(&cause) {
            Cause::Rule { from: _, task: _ }
            | Cause::Restarts { task: _ }
            | Cause::Deadline
            | Cause::Order => {}
        }
    }
}
