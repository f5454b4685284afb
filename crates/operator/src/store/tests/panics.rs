//! A panic about one job is that job's: it is read again later, and the others go on.

use super::*;
use crate::apply::reread::Reread;

/// A store with a job that panics when it is looked at, and one that does not.
fn sick() -> Store {
    let mut store = Store::new(Reading::default());
    store.storage.insert(&TFJOB, Storage::Keeps);
    store.job_seen(&TFJOB, job(10, 1, &Value::Null));
    store.job_seen(&TFJOB, another("well"));
    sicken(&mut store);
    store
}

fn sicken(store: &mut Store) {
    let key = key_of(&TFJOB, &job(10, 1, &Value::Null));
    store.entries.get_mut(&key).unwrap().hook = Some(|| panic!("out of bounds"));
}

fn reread(writes: &Writes) -> Report {
    Report {
        reread: Some(Reread {
            job: Some(job(20, 1, &Value::Null)),
            pods: vec![pod(0, 12, "p0", &running())],
            services: vec![service("s1")],
        }),
        ..Report::of(writes.key.clone(), Arc::clone(&writes.uid))
    }
}

#[test]
fn a_panic_in_a_decision_is_the_jobs_own_and_the_job_is_read_again() {
    let mut store = sick();
    assert_eq!(&*store.next(NOW).unwrap().key.name, "well");
    assert!(store.next(NOW).is_none());
    let [panicked] = &store.take_panics()[..] else {
        panic!("one panic is told")
    };
    assert_eq!(
        (&*panicked.job.name, &*panicked.words, panicked.wait),
        ("mnist", "out of bounds", 1)
    );
    assert_eq!(store.counts().0, 1, "its entry is dropped");
    assert_eq!(store.wake(), Some(NOW + 1));

    let writes = store.next(NOW + 1).unwrap();
    assert!(writes.reread && writes.actions.is_empty() && writes.status.is_none());
    let event = &writes.events[0];
    assert_eq!(
        (&event["reason"], &event["type"], &event["regarding"]["name"]),
        (&json!("OperatorPanicked"), &json!("Warning"), &json!("mnist"))
    );
    assert!(
        event["note"]
            .as_str()
            .unwrap()
            .ends_with("read again in 1 s: out of bounds")
    );
    store.applied(reread(&writes), NOW + 1);
    assert_eq!(store.counts(), (2, 1));
    let writes = store.next(NOW + 1).unwrap();
    assert_eq!((writes.version, !writes.reread), (20, true));
    assert_eq!(creates(&writes), ["worker-1"], "it goes on where it was");
}

#[test]
fn a_panic_in_the_requests_of_a_job_is_its_own_too() {
    let mut store = sick();
    store.entries.values_mut().for_each(|entry| entry.hook = None);
    let writes = store.next(NOW).unwrap();
    let panicked = Report {
        panicked: Some("index out of bounds".into()),
        ..Report::of(writes.key.clone(), Arc::clone(&writes.uid))
    };
    store.applied(panicked, NOW);
    assert_eq!(store.take_panics().len(), 1);
    assert_eq!(&*store.next(NOW).unwrap().key.name, "well");
    let writes = store.next(NOW + 1).unwrap();
    assert!(writes.reread);
    // What went while it was read is gone.
    store.pod_gone(&TFJOB, &pod(0, 13, "p0", &running()));
    store.applied(reread(&writes), NOW + 1);
    assert_eq!(store.counts(), (2, 0));
}

#[test]
fn a_job_that_panics_again_and_again_waits_longer_and_longer() {
    let mut store = sick();
    store.job_gone(&TFJOB, &another("well"));
    let (mut now, mut waits) = (NOW, Vec::new());
    while waits.len() < 12 {
        while let Some(writes) = store.next(now) {
            assert!(writes.reread);
            store.applied(reread(&writes), now);
            sicken(&mut store);
        }
        let told = store.take_panics();
        assert!(told.len() <= 1, "{told:?}");
        waits.extend(told.into_iter().map(|panicked| panicked.wait));
        now = store.wake().unwrap_or(now + 1).max(now);
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
}

#[test]
fn a_job_that_cannot_be_read_again_is_tried_later() {
    let mut store = sick();
    assert_eq!(&*store.next(NOW).unwrap().key.name, "well");
    assert!(store.next(NOW).is_none());
    let mut now = NOW;
    for wait in [1, 2, 4] {
        now = now + wait;
        assert!(store.next(Time(now.0 - 1)).is_none());
        let writes = store.next(now).unwrap();
        let refused = Report {
            error: Some(refusal(ApplyErrorKind::Other)),
            ..Report::of(writes.key.clone(), Arc::clone(&writes.uid))
        };
        store.applied(refused, now);
        assert!(store.next(now).is_none());
    }
}

#[test]
fn a_job_that_was_deleted_while_it_was_read_again_stays_so() {
    let mut store = sick();
    store.next(NOW).unwrap();
    assert!(store.next(NOW).is_none());
    let writes = store.next(NOW + 1).unwrap();
    store.job_gone(&TFJOB, &job(21, 1, &Value::Null));
    let mut gone = reread(&writes);
    gone.reread.as_mut().unwrap().pods.clear();
    gone.reread.as_mut().unwrap().services.clear();
    store.applied(gone, NOW + 1);
    assert_eq!(store.counts(), (1, 0));
    assert_eq!(store.entries.len(), 1);
}
