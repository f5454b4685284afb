use serde_json::json;
use trainyard_core::{Cause, GangScheduler, Outcome, Time, Verdict};

use super::*;
use crate::apply::Report;
use crate::job::Reading;
use crate::kinds::t9k::KIND as T9K;
use crate::kinds::tfjob::KIND as TFJOB;

static GROUPS: GroupApi = GroupApi {
    group: "toy.dev",
    version: "v1",
    kind: "Group",
    plural: "groups",
    follows: &["minMember"],
    state: |_| GroupState::Open,
    help: "install it",
};
static BATCHES: GroupApi = GroupApi {
    group: "toy.dev",
    version: "v1",
    kind: "Batch",
    plural: "batches",
    follows: &[],
    state: |_| GroupState::Open,
    help: "install it",
};

const JOB: &str = "job";

fn group(api: &'static GroupApi, name: &str, owner: Option<&str>) -> GroupSeen {
    GroupSeen {
        api,
        name: name.into(),
        namespace: "research".into(),
        uid: format!("{}-{name}", api.plural).into(),
        version: 1,
        created: Time(1),
        deleting: false,
        owner: owner.map(|uid| (TFJOB.api, "mnist".into(), uid.into())),
        is_ours: true,
        spec: json!({ "minMember": 3 }),
        state: GroupState::Waiting(None),
    }
}

fn wanted(api: &'static GroupApi, name: &str) -> GroupWanted {
    let object = json!({ "metadata": { "name": name }, "spec": { "minMember": 2 } });
    GroupWanted { api, object }
}

/// What is written, by name.
fn changes(writes: Vec<GroupWrite>) -> Vec<(String, GroupChange)> {
    let named = |write: GroupWrite| (write.name.to_string(), write.change);
    writes.into_iter().map(named).collect()
}

#[test]
fn which_group_is_joined_and_which_is_changed() {
    let job: Arc<str> = JOB.into();
    let want = [wanted(&GROUPS, "mnist")];
    let create = GroupChange::Create(want[0].object.clone());
    let correct = GroupChange::Correct("groups-mnist".into(), json!({ "minMember": 2 }));
    let rows = [
        (None, GangSeen::Held, None),
        (Some(JOB), GangSeen::Held, Some(correct)),
        (Some("before"), GangSeen::Absent, Some(create)),
    ];
    for (owner, seen, change) in rows {
        let mut groups = Groups::default();
        assert!(groups.see(group(&GROUPS, "mnist", owner), false));
        assert_eq!(groups.seen(&want, &job, &[]), seen, "{owner:?}");
        let expected: Vec<_> = change.into_iter().map(|it| ("mnist".into(), it)).collect();
        assert_eq!(changes(groups.corrections(&want, &job)), expected, "{owner:?}");
        assert_eq!(groups.deletions(&job).len(), usize::from(owner == Some(JOB)));
    }
    let mut going = group(&GROUPS, "mnist", Some(JOB));
    going.deleting = true;
    let mut groups = Groups::default();
    groups.see(going, false);
    assert_eq!(groups.seen(&want, &job, &[]), GangSeen::Absent);
}

#[test]
fn a_server_that_accepts_a_correction_and_ignores_it_is_not_asked_again() {
    let job: Arc<str> = JOB.into();
    let want = [wanted(&GROUPS, "mnist")];
    let mut groups = Groups::default();
    groups.see(group(&GROUPS, "mnist", Some(JOB)), false);
    let first = groups.corrections(&want, &job);
    groups.sent(&first);
    assert!(groups.corrections(&want, &job).is_empty());
    groups.refused();
    assert_eq!(changes(groups.corrections(&want, &job)), changes(first));
}

#[test]
fn a_job_has_several_groups_of_several_apis_and_none_that_it_does_not_want() {
    let job: Arc<str> = JOB.into();
    let want = [
        wanted(&BATCHES, "mnist"),
        wanted(&GROUPS, "mnist-ps"),
        wanted(&GROUPS, "mnist-worker"),
    ];
    let mut groups = Groups::default();
    for (api, name) in [(&BATCHES, "mnist"), (&GROUPS, "mnist-ps"), (&GROUPS, "mnist")] {
        let mut known = group(api, name, Some(JOB));
        (known.spec, known.state) = (json!({ "minMember": 2 }), GroupState::Open);
        groups.see(known, true);
    }
    assert_eq!(groups.seen(&want, &job, &[]), GangSeen::Absent, "one is missing");
    assert_eq!(
        changes(groups.corrections(&want, &job)),
        [
            ("mnist-worker".into(), GroupChange::Create(want[2].object.clone())),
            ("mnist".into(), GroupChange::Delete("groups-mnist".into())),
        ]
    );
    let mut last = group(&GROUPS, "mnist-worker", None);
    last.state = GroupState::Open;
    groups.see(last, false);
    assert_eq!(groups.seen(&want, &job, &[]), GangSeen::Open);
    assert_eq!(groups.deletions(&job).len(), 3, "the one that a user made stays");
    groups.removed(&"batches-mnist".into());
    assert_eq!(groups.deletions(&job).len(), 2);
}

fn job_wire(name: &str) -> crate::job::JobWire {
    let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "i" }] } });
    let wire = json!({
        "metadata": { "name": name, "namespace": "research", "uid": JOB, "resourceVersion": "1", "generation": 1 },
        "spec": { "tfReplicaSpecs": { "Worker": { "replicas": 2, "template": template } } },
    });
    serde_json::from_value(wire).unwrap()
}

#[test]
fn a_group_that_a_user_made_is_found_whether_it_or_its_job_comes_first() {
    let api = gang::scheduler(&GangScheduler::Volcano).unwrap().apis[0];
    let key = JobKey {
        kind: &TFJOB,
        namespace: "research".into(),
        name: "mnist".into(),
    };
    let joined = |store: &Store| {
        let entry = store.entries.get(&key).unwrap();
        entry.groups.joined(&wanted(api, "mnist"), &JOB.into()).is_some()
    };
    for group_first in [true, false] {
        let mut store = Store::new(Reading {
            gang: "volcano".parse().unwrap(),
            ..Reading::default()
        });
        store.groups_begin(api);
        if group_first {
            store.group_seen(group(api, "mnist", None));
        }
        store.job_seen(&TFJOB, job_wire("mnist"));
        if !group_first {
            store.group_seen(group(api, "mnist", None));
        }
        store.group_seen(group(api, "of-another-job", None));
        store.groups_end(api);
        assert!(joined(&store), "{group_first}");
        assert_eq!(store.groups.aside.len(), 1);
        store.group_gone(&group(api, "mnist", None));
        assert!(!joined(&store));
        store.job_gone(&TFJOB, &job_wire("mnist"));
        assert!(store.entries.is_empty() && store.groups.wanted.is_empty());
        store.groups_begin(api);
        store.groups_end(api);
        assert!(store.groups.aside.is_empty(), "it was not listed again");
    }
}

fn volcano() -> (&'static GroupApi, Store) {
    let store = Store::new(Reading {
        kinds: vec![&TFJOB, &T9K],
        gang: "volcano".parse().unwrap(),
        ..Reading::default()
    });
    (gang::scheduler(&GangScheduler::Volcano).unwrap().apis[0], store)
}

#[test]
fn an_ended_job_keeps_its_claim_to_a_group_that_a_user_made() {
    let (api, mut store) = volcano();
    store.group_seen(group(api, "mnist", None));
    store.job_seen(&TFJOB, job_wire("mnist"));
    let verdict = Verdict {
        outcome: Outcome::Succeeded,
        cause: Cause::Order,
        at: Time(1_800_000_000),
    };
    let memory = json!({ "format": 1, "job": JOB, "started": 1_800_000_000, "verdict": verdict });
    for version in ["2", "3"] {
        let mut ended = job_wire("mnist");
        ended.metadata.resource_version = Some(version.into());
        ended.status = Some(json!({ "trainyard": memory }));
        store.job_seen(&TFJOB, ended);
    }
    let entry = store.entries.values().next().unwrap();
    let Meaning::Job(compiled) = &*entry.job.as_ref().unwrap().meaning else {
        panic!("it can be read")
    };
    assert!(compiled.shrunk);
    store.group_gone(&group(api, "mnist", None));
    store.job_gone(&TFJOB, &job_wire("mnist"));
    assert!(store.entries.is_empty(), "{:?}", store.entries);
}

#[test]
fn a_job_of_another_kind_does_not_take_a_group_over() {
    let (api, mut store) = volcano();
    store.job_seen(&TFJOB, job_wire("mnist"));
    let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "i" }] } });
    let other = json!({
        "metadata": { "name": "mnist", "namespace": "research", "uid": "other", "resourceVersion": "1", "generation": 1 },
        "spec": { "replicaSpecs": [{ "type": "worker", "replicas": 1, "template": template }] },
    });
    let other: crate::job::JobWire = serde_json::from_value(other).unwrap();
    store.job_seen(&T9K, other.clone());
    store.group_seen(group(api, "mnist", None));
    let holders = |store: &Store| -> Vec<&'static crate::kinds::Kind> {
        let with_group = store.entries.iter().filter(|(_, entry)| !entry.groups.is_empty());
        with_group.map(|(key, _)| key.kind).collect()
    };
    assert_eq!(holders(&store), [&TFJOB]);
    // And when it goes, the other one still wants its group.
    store.job_gone(&T9K, &other);
    store.group_gone(&group(api, "mnist", None));
    store.group_seen(group(api, "mnist", None));
    assert_eq!(holders(&store), [&TFJOB]);
}

#[test]
fn where_a_gang_scheduler_is_not_installed_only_the_jobs_that_it_places_wait() {
    let now = Time(1_800_000_000);
    let (api, mut store) = volcano();
    store.job_seen(&TFJOB, job_wire("mnist"));
    let mut alone = job_wire("alone");
    alone.metadata.uid = Some("alone".into());
    alone.metadata.annotations = Some([("trainyard.dev/gang".to_owned(), "none".to_owned())].into());
    store.job_seen(&TFJOB, alone);
    let writes = store.next(now).unwrap();
    assert_eq!(&*writes.key.name, "alone");
    assert!(store.next(now).is_none(), "groups may be listed in a moment");

    store.api_unknown(Source::groups(api));
    let writes = store.next(now).unwrap();
    assert!(writes.actions.is_empty(), "{writes:?}");
    let status = writes.status.clone().unwrap();
    let wait = &status["waiting"][0];
    assert_eq!(wait["reason"], "GangSchedulerNotInstalled");
    assert!(
        wait["message"]
            .as_str()
            .unwrap()
            .contains("podgroups.scheduling.volcano.sh"),
        "{wait}"
    );
    let told = Report {
        written: Some((20, status)),
        ..Report::of(writes.key.clone(), Arc::clone(&writes.uid))
    };
    store.applied(told, now);
    store.api_unknown(Source::groups(api));
    assert!(store.next(now).is_none(), "told once");

    store.groups_begin(api);
    store.groups_end(api);
    let writes = store.next(now).unwrap();
    assert_eq!(&*writes.key.name, "mnist");
    assert_eq!(writes.groups.len(), 1, "{writes:?}");
    assert_eq!(writes.status.unwrap()["waiting"], Value::Null);
    // Once listed, groups are known though their API goes.
    store.api_unknown(Source::groups(api));
    assert!(store.groups.unlisted.is_empty());
}

#[test]
fn a_group_that_volcano_made_for_a_job_is_left_alone() {
    let (api, _) = volcano();
    let seen = |name: &str, mark: Option<&str>| {
        let annotations = mark.map(|mark| json!({ "trainyard.dev/group": mark }));
        let object = json!({
            "metadata": {
                "name": name, "namespace": "research", "uid": name, "annotations": annotations,
                "ownerReferences": [{
                    "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "name": "mnist", "uid": JOB, "controller": true,
                }],
            },
            "spec": { "minMember": 1 },
        });
        GroupSeen::of(api, serde_json::from_value(object).unwrap())
    };
    let job: Arc<str> = JOB.into();
    let mut groups = Groups::default();
    groups.see(seen("podgroup-8a3f", None), false);
    groups.see(seen("podgroup-copied", Some("mnist")), false);
    groups.see(seen("mnist-workers", Some("mnist-workers")), false);
    // The last release set no mark.
    groups.see(seen("mnist", None), false);
    let deleted: Vec<String> = groups
        .deletions(&job)
        .iter()
        .map(|write| write.name.to_string())
        .collect();
    assert_eq!(deleted, ["mnist", "mnist-workers"]);
    let want = [wanted(api, "mnist"), wanted(api, "podgroup-8a3f")];
    let written = changes(groups.corrections(&want, &job));
    let names: Vec<&str> = written.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["mnist", "mnist-workers"]);
}
