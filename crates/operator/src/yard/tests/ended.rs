//! What is kept of a job that has ended.

use super::*;
use crate::job::Meaning;

const CANARY: &str = "canary-of-a-large-spec";

/// A job with a megabyte in its template, its annotations and its labels.
fn large(version: u64, generation: i64, status: &Value, clean: &str) -> JobWire {
    let much = CANARY.repeat(1_000_000 / CANARY.len());
    let template = json!({ "spec": { "containers": [{
        "name": "tensorflow", "image": "i", "env": [{ "name": "MUCH", "value": much }],
        "resources": { "limits": { format!("example.com/{CANARY}"): "1" } },
    }] } });
    let wire = json!({
        "metadata": {
            "name": "mnist", "namespace": "ml", "uid": "job", "resourceVersion": version.to_string(),
            "generation": generation, "annotations": { "note": CANARY }, "labels": { CANARY: "a" },
        },
        "spec": {
            "runPolicy": { "cleanPodPolicy": clean, "ttlSecondsAfterFinished": 100 },
            "tfReplicaSpecs": { "Worker": { "replicas": 2, "template": template } },
        },
        "status": status,
    });
    serde_json::from_value(wire).unwrap()
}

/// A yard in which such a job has just succeeded, and the status that says so.
fn ended(clean: &str) -> (Yard, Value) {
    let mut yard = Yard::new(Reading::default());
    yard.job_seen(large(10, 1, &Value::Null, clean));
    let pass = yard.next(NOW).unwrap();
    yard.reported(report(&pass, 11, Vec::new()), NOW);
    let pass = yard.next(NOW).unwrap();
    assert_eq!(creates(&pass), ["worker-0", "worker-1"]);
    let pods = vec![pod(0, 20, "p0", &running()), pod(1, 21, "p1", &running())];
    yard.reported(report(&pass, 22, pods), NOW);
    assert!(
        format!("{yard:?}").len() > 1_000_000,
        "its pods may have to be made again"
    );
    for index in [0, 1] {
        yard.pod_seen(pod(
            index,
            30 + u64::from(index),
            &format!("p{index}"),
            &exited(0),
        ));
    }
    let pass = yard.next(NOW).unwrap();
    let status = pass.status.clone().unwrap();
    assert_eq!(status["conditions"][1]["type"], "Succeeded");
    let stops = pass.actions.iter().filter_map(|action| match action {
        Action::Stop { instance, force, .. } => Some((Arc::clone(instance), *force)),
        _ => None,
    });
    let done = Report {
        stopped: stops.collect(),
        ..report(&pass, 40, Vec::new())
    };
    yard.reported(done, NOW);
    (yard, status)
}

#[track_caller]
fn is_small(yard: &Yard) {
    let kept = format!("{yard:?}");
    assert!(!kept.contains(CANARY), "{kept}");
    assert!(kept.len() < 16_000, "{} bytes are kept", kept.len());
}

#[test]
fn little_is_kept_of_a_job_that_has_ended() {
    let (yard, status) = ended("None");
    is_small(&yard);
    // After a restart of ours, and for one who stands by.
    let mut yard = Yard::new(Reading::default());
    yard.job_seen(large(41, 1, &status, "None"));
    is_small(&yard);
    // A write by others, and an edit.
    yard.job_seen(large(42, 1, &status, "None"));
    yard.job_seen(large(43, 2, &status, "None"));
    is_small(&yard);
}

#[test]
fn a_job_that_has_ended_is_cleaned_up_and_deleted_when_its_time_is_over() {
    let (mut yard, _) = ended("All");
    is_small(&yard);
    for index in [0, 1] {
        yard.pod_gone(&pod(index, 50, &format!("p{index}"), &exited(0)));
    }
    let pass = yard.next(NOW).unwrap();
    assert_eq!(pass.actions, [Action::Remove(Fixture::Addresses)]);
    assert_eq!(pass.services, [("mnist".into(), "s1".into())]);
    let removed = Report {
        removed: vec!["s1".into()],
        services: Vec::new(),
        ..report(&pass, 51, Vec::new())
    };
    yard.reported(removed, NOW);
    assert!(yard.next(NOW).is_none(), "once is enough");
    let over = Time(yard.wake().unwrap().0);
    assert_eq!(over, NOW + 100);
    assert_eq!(yard.next(over).unwrap().actions, [Action::DeleteJob]);
}

#[test]
fn a_job_that_is_to_run_after_all_is_read_again() {
    let (mut yard, status) = ended("None");
    // A user has rewritten the status: the job is at its beginning.
    let mut forged = status;
    forged["trainyard"]["verdict"] = Value::Null;
    forged["trainyard"]["roles"] = json!({});
    forged["conditions"] = json!([]);
    for index in [0, 1] {
        yard.pod_gone(&pod(index, 50, &format!("p{index}"), &exited(0)));
    }
    yard.job_seen(large(60, 1, &forged, "None"));
    let pass = yard.next(NOW).unwrap();
    assert!(pass.reread.is_some(), "{pass:?}");
    let again = crate::pass::reread::Reread {
        job: Some(large(60, 1, &forged, "None")),
        ..Default::default()
    };
    yard.reported(
        Report {
            reread: Some(again),
            ..Report::of(pass.key.clone(), Arc::clone(&pass.uid))
        },
        NOW,
    );
    let pass = yard.next(NOW).unwrap();
    let Meaning::Job(compiled) = &*pass.meaning else {
        panic!("it can be read")
    };
    assert!(!compiled.lean);
    assert_eq!(creates(&pass).len(), 2, "{pass:?}");
}

#[test]
fn little_is_kept_of_what_is_wrong_with_a_job() {
    let mut wire = large(10, 1, &Value::Null, "None");
    let bad: Vec<Value> = (0..5_000)
        .map(|number| json!({ "name": format!("{CANARY}-{number}") }))
        .collect();
    wire.spec["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"] = bad.into();
    let mut yard = Yard::new(Reading::default());
    yard.job_seen(wire);
    let status = yard.next(NOW).unwrap().status.unwrap();
    assert_eq!(status["conditions"][0]["reason"], "InvalidTFJobSpec");
    assert!(format!("{yard:?}").len() < 16_000);
}
