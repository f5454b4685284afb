//! Objects that a kind needs besides pods.

use super::*;
use crate::job::Meaning;

/// A job whose kind needs a claim.
fn with_claim() -> Store {
    let mut store = Store::new(Reading::default());
    store.storage.insert(&TFJOB, Storage::Keeps);
    let mut wire = job(10, 1, &Value::Null);
    wire.spec["runPolicy"]["cleanPodPolicy"] = "All".into();
    store.job_seen(&TFJOB, wire);
    let entry = store.entries.values_mut().next().unwrap();
    let meaning = &mut entry.job.as_mut().unwrap().meaning;
    let Some(Meaning::Job(compiled)) = Arc::get_mut(meaning) else {
        panic!("it can be read")
    };
    let claim =
        json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": "data" } });
    compiled.subject.objects.push(claim);
    store
}

fn claim() -> ExtraSeen {
    ExtraSeen {
        plural: "persistentvolumeclaims",
        api_version: "v1".into(),
        kind: "PersistentVolumeClaim".into(),
        name: "data".into(),
        uid: "c".into(),
    }
}

#[test]
fn extras_are_made_before_pods_and_once() {
    let mut store = with_claim();
    let writes = store.next(NOW).unwrap();
    let ensure = Action::Ensure(Fixture::Extras);
    let position = |wanted: &Action| writes.actions.iter().position(|action| action == wanted);
    let first_create = writes
        .actions
        .iter()
        .position(|action| matches!(action, Action::Create { .. }));
    assert!(
        position(&ensure) < first_create && position(&ensure).is_some(),
        "{:?}",
        writes.actions
    );
    let made = Report {
        extras: vec![claim()],
        ..report(&writes, 0, Vec::new())
    };
    store.applied(made, NOW);
    let writes = store.next(NOW).unwrap();
    assert!(!writes.actions.contains(&ensure), "{:?}", writes.actions);
    assert_eq!(writes.extras, [claim()]);
}

#[test]
fn extras_are_removed_with_what_else_tasks_share() {
    let mut store = with_claim();
    let writes = store.next(NOW).unwrap();
    let pods = vec![pod(0, 20, "p0", &running()), pod(1, 21, "p1", &running())];
    let made = Report {
        extras: vec![claim()],
        ..report(&writes, 0, pods)
    };
    store.applied(made, NOW);
    for (index, uid) in [(0, "p0"), (1, "p1")] {
        store.pod_seen(&TFJOB, pod(index, 30 + u64::from(index), uid, &exited(0)));
    }
    let mut removed = Vec::new();
    for version in 40..44 {
        let Some(writes) = store.next(NOW + 10) else { break };
        if writes.actions.contains(&Action::Remove(Fixture::Extras)) {
            removed.clone_from(&writes.extras);
        }
        store.applied(report(&writes, version, Vec::new()), NOW + 10);
        for (index, uid) in [(0, "p0"), (1, "p1")] {
            store.pod_gone(&TFJOB, &pod(index, 50, uid, &exited(0)));
        }
    }
    assert_eq!(removed, [claim()]);
}
