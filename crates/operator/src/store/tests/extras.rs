//! Objects that a kind needs besides pods.

use super::*;
use crate::job::Meaning;

/// A job whose kind needs this object.
fn needing(kind: &str) -> Store {
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
    compiled.subject.objects.push(object(kind));
    store
}

fn object(kind: &str) -> Value {
    json!({ "kind": kind, "metadata": { "name": "it" }, "data": { "hosts": "a" } })
}

fn extra(kind: &str) -> ExtraSeen {
    let sort = Sort::find(kind).unwrap();
    ExtraSeen {
        sort,
        name: "it".into(),
        uid: "c".into(),
        version: 1,
        content: sort.content(&object(kind)),
    }
}

#[test]
fn extras_are_made_before_pods_and_once() {
    let mut store = needing("ConfigMap");
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
        extras: vec![extra("ConfigMap")],
        ..report(&writes, 0, Vec::new())
    };
    store.applied(made, NOW);
    let writes = store.next(NOW).unwrap();
    assert!(!writes.actions.contains(&ensure), "{:?}", writes.actions);
    assert_eq!(writes.extras, [extra("ConfigMap")]);
}

/// The extra objects that are removed when a job ends which needs this one.
fn removed_at_the_end(kind: &str) -> Vec<ExtraSeen> {
    let mut store = needing(kind);
    let writes = store.next(NOW).unwrap();
    let pods = vec![pod(0, 20, "p0", &running()), pod(1, 21, "p1", &running())];
    let made = Report {
        extras: vec![extra(kind)],
        ..report(&writes, 0, pods)
    };
    store.applied(made, NOW);
    for (index, uid) in [(0, "p0"), (1, "p1")] {
        store.pod_seen(&TFJOB, pod(index, 30 + u64::from(index), uid, &exited(0)));
    }
    let mut removed = Vec::new();
    for version in 40..44 {
        let Some(writes) = store.next(NOW + 10) else { break };
        let mut report = report(&writes, version, Vec::new());
        if writes.actions.contains(&Action::Remove(Fixture::Extras)) {
            removed.extend(writes.extras.clone());
            report.removed_extras = writes.extras.iter().map(|extra| extra.uid.clone()).collect();
            report.looked_for_extras = true;
        }
        store.applied(report, NOW + 10);
        for (index, uid) in [(0, "p0"), (1, "p1")] {
            store.pod_gone(&TFJOB, &pod(index, 50, uid, &exited(0)));
        }
    }
    removed
}

#[test]
fn extras_are_removed_with_what_else_tasks_share_and_claims_go_with_the_job() {
    assert_eq!(removed_at_the_end("ConfigMap"), [extra("ConfigMap")]);
    assert_eq!(removed_at_the_end("PersistentVolumeClaim"), []);
}

/// An operator that starts later knows from the status what to look for.
#[test]
fn the_status_lists_what_must_be_removed_until_it_is() {
    let mut store = needing("ConfigMap");
    let writes = store.next(NOW).unwrap();
    let pods = vec![pod(0, 20, "p0", &running()), pod(1, 21, "p1", &running())];
    let made = Report {
        extras: vec![extra("ConfigMap")],
        ..report(&writes, 0, pods)
    };
    store.applied(made, NOW);
    let writes = store.next(NOW + 10).unwrap();
    let status = writes.status.clone().unwrap();
    assert_eq!(status["objects"], json!(["ConfigMap/it"]));

    let mut later = needing("ConfigMap");
    let mut wire = job(11, 1, &status);
    wire.spec["runPolicy"]["cleanPodPolicy"] = "All".into();
    later.job_seen(&TFJOB, wire);
    let writes = later.next(NOW + 10).unwrap();
    assert_eq!(writes.extras, []);
    let listed: Vec<&str> = writes.listed_extras.iter().map(|(_, name)| &**name).collect();
    assert_eq!(listed, ["it"]);
    assert!(
        writes.actions.contains(&Action::Ensure(Fixture::Extras)),
        "{writes:?}"
    );
}
