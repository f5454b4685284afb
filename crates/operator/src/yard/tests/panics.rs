//! A panic about one job is that job's: it is read again later, and the others go on.

use super::*;
use crate::pass::reread::Reread;

/// A yard with a job that panics when it is looked at, and one that does not.
fn sick() -> Yard {
    let mut yard = Yard::new(Reading::default());
    yard.kept = true;
    yard.job_seen(job(10, 1, &Value::Null));
    yard.job_seen(another("well"));
    sicken(&mut yard);
    yard
}

fn sicken(yard: &mut Yard) {
    let key = key_of(&job(10, 1, &Value::Null));
    yard.plots.get_mut(&key).unwrap().hook = Some(|| panic!("out of bounds"));
}

fn reread(pass: &Pass) -> Report {
    Report {
        reread: Some(Reread {
            job: Some(job(20, 1, &Value::Null)),
            pods: vec![pod(0, 12, "p0", &running())],
            services: vec![service("s1")],
            group: None,
        }),
        ..Report::of(pass.key.clone(), Arc::clone(&pass.uid))
    }
}

#[test]
fn a_panic_in_a_decision_is_the_jobs_own_and_the_job_is_read_again() {
    let mut yard = sick();
    assert_eq!(&*yard.next(NOW).unwrap().key.name, "well");
    assert!(yard.next(NOW).is_none());
    let [panicked] = &yard.take_panics()[..] else {
        panic!("one panic is told")
    };
    assert_eq!(
        (&*panicked.job.name, &*panicked.words, panicked.wait),
        ("mnist", "out of bounds", 1)
    );
    assert_eq!(yard.counts().0, 1, "its entry is dropped");
    assert_eq!(yard.wake(), Some(NOW + 1));

    let pass = yard.next(NOW + 1).unwrap();
    assert!(pass.reread.is_some() && pass.actions.is_empty() && pass.status.is_none());
    let event = &pass.events[0];
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
    yard.reported(reread(&pass), NOW + 1);
    assert_eq!(yard.counts(), (2, 1));
    let pass = yard.next(NOW + 1).unwrap();
    assert_eq!((pass.version, pass.reread.is_none()), (20, true));
    assert_eq!(creates(&pass), ["worker-1"], "it goes on where it was");
}

#[test]
fn a_panic_in_the_requests_of_a_job_is_its_own_too() {
    let mut yard = sick();
    yard.plots.values_mut().for_each(|plot| plot.hook = None);
    let pass = yard.next(NOW).unwrap();
    let panicked = Report {
        panicked: Some("index out of bounds".into()),
        ..Report::of(pass.key.clone(), Arc::clone(&pass.uid))
    };
    yard.reported(panicked, NOW);
    assert_eq!(yard.take_panics().len(), 1);
    assert_eq!(&*yard.next(NOW).unwrap().key.name, "well");
    let pass = yard.next(NOW + 1).unwrap();
    assert!(pass.reread.is_some());
    // What went while it was read is gone.
    yard.pod_gone(&pod(0, 13, "p0", &running()));
    yard.reported(reread(&pass), NOW + 1);
    assert_eq!(yard.counts(), (2, 0));
}

#[test]
fn a_job_that_panics_again_and_again_waits_longer_and_longer() {
    let mut yard = sick();
    yard.job_gone(&another("well"));
    let (mut now, mut waits) = (NOW, Vec::new());
    while waits.len() < 12 {
        while let Some(pass) = yard.next(now) {
            assert!(pass.reread.is_some());
            yard.reported(reread(&pass), now);
            sicken(&mut yard);
        }
        let told = yard.take_panics();
        assert!(told.len() <= 1, "{told:?}");
        waits.extend(told.into_iter().map(|panicked| panicked.wait));
        now = yard.wake().unwrap_or(now + 1).max(now);
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
}

#[test]
fn a_job_that_cannot_be_read_again_is_tried_later() {
    let mut yard = sick();
    assert_eq!(&*yard.next(NOW).unwrap().key.name, "well");
    assert!(yard.next(NOW).is_none());
    let mut now = NOW;
    for wait in [1, 2, 4] {
        now = now + wait;
        assert!(yard.next(Time(now.0 - 1)).is_none());
        let pass = yard.next(now).unwrap();
        let refused = Report {
            trouble: Some(refusal(Sort::Other)),
            ..Report::of(pass.key.clone(), Arc::clone(&pass.uid))
        };
        yard.reported(refused, now);
        assert!(yard.next(now).is_none());
    }
}

#[test]
fn a_job_that_was_deleted_while_it_was_read_again_stays_so() {
    let mut yard = sick();
    yard.next(NOW).unwrap();
    assert!(yard.next(NOW).is_none());
    let pass = yard.next(NOW + 1).unwrap();
    yard.job_gone(&job(21, 1, &Value::Null));
    let mut gone = reread(&pass);
    gone.reread.as_mut().unwrap().pods.clear();
    gone.reread.as_mut().unwrap().services.clear();
    yard.reported(gone, NOW + 1);
    assert_eq!(yard.counts(), (1, 0));
    assert_eq!(yard.plots.len(), 1);
}
