//! What Volcano's webhook refuses is refused here, and a little more.

use crate::notation::{codes, read};
use crate::text;

/// Fields of the spec, fields of the worker, and the codes of everything that is wrong.
type Row = (&'static str, &'static str, &'static [&'static str]);

fn check(table: &[Row]) {
    for (spec, worker, expected) in table {
        assert_eq!(codes(&text(spec, worker)), *expected, "{spec} | {worker}");
    }
}

#[test]
fn minimums_can_be_reached() {
    check(&[
        ("minAvailable: 3", "", &[]),
        ("minAvailable: 4", "", &["TY141"]),
        ("minAvailable: -1", "", &["TY046"]),
        ("minSuccess: 3", "", &[]),
        ("minSuccess: 4", "", &["TY141"]),
        ("minSuccess: 0", "", &["TY026"]),
        ("", "minAvailable: 2", &[]),
        ("", "minAvailable: 3", &["TY141"]),
        ("", "minAvailable: 0", &[]),
    ]);
}

#[test]
fn policies_wait_for_one_thing_that_may_be_named() {
    check(&[
        (
            "policies: [{event: PodFailed, exitCode: 3, action: AbortJob}]",
            "",
            &["TY142"],
        ),
        ("policies: [{action: AbortJob}]", "", &["TY142"]),
        ("policies: [{event: PodFailed}]", "", &["TY022"]),
        ("policies: [{event: OutOfSync, action: AbortJob}]", "", &["TY143"]),
        (
            "policies: [{event: CommandIssued, action: AbortJob}]",
            "",
            &["TY143"],
        ),
        (
            "policies: [{event: PodRunning, action: AbortJob}]",
            "",
            &["TY143"],
        ),
        ("policies: [{event: Nothing, action: AbortJob}]", "", &["TY023"]),
        ("policies: [{event: PodFailed, action: SyncJob}]", "", &["TY143"]),
        (
            "policies: [{event: PodFailed, action: OpenQueue}]",
            "",
            &["TY143"],
        ),
        ("policies: [{event: PodFailed, action: Nothing}]", "", &["TY023"]),
        // Volcano looks at the action of events alone.
        ("policies: [{exitCode: 3, action: Nothing}]", "", &["TY023"]),
        (
            "policies: [{event: PodFailed, action: RestartPartition}]",
            "",
            &["TY146"],
        ),
        ("policies: [{exitCode: 0, action: AbortJob}]", "", &["TY026"]),
        (
            "policies: [{event: PodFailed, action: AbortJob, timeout: soon}]",
            "",
            &["TY030"],
        ),
    ]);
}

#[test]
fn nothing_is_waited_for_twice_in_one_list() {
    check(&[
        (
            "policies: [{event: PodFailed, action: AbortJob}, {events: [PodEvicted, PodFailed], action: RestartJob}]",
            "",
            &["TY144"],
        ),
        (
            "policies: [{event: PodFailed, events: [PodFailed], action: AbortJob}]",
            "",
            &[],
        ),
        (
            "policies: [{event: PodFailed, action: AbortJob}]",
            "policies: [{event: PodFailed, action: RestartPod}]",
            &[],
        ),
        (
            "policies: [{exitCode: 3, action: AbortJob}, {exitCode: 3, action: RestartJob}]",
            "",
            &["TY144"],
        ),
        (
            "policies: [{event: '*', action: AbortJob}, {event: PodFailed, action: AbortJob}]",
            "",
            &["TY144"],
        ),
        (
            "policies: [{events: ['*', PodFailed], action: AbortJob}]",
            "",
            &["TY144"],
        ),
        (
            "policies: [{exitCode: 3, action: RestartJob}, {event: '*', action: CompleteJob}]",
            "",
            &[],
        ),
    ]);
}

#[test]
fn events_that_never_come_are_warned_of() {
    check(&[
        (
            "policies: [{event: JobUpdated, action: AbortJob}]",
            "",
            &["TY145"],
        ),
        (
            "policies: [{event: PodPending, action: AbortJob}]",
            "",
            &["TY145"],
        ),
        (
            "policies: [{event: PodPending, action: AbortJob, timeout: 1m}]",
            "",
            &[],
        ),
        ("policies: [{event: Unknown, action: AbortJob}]", "", &[]),
        ("", "policies: [{event: Unknown, action: AbortJob}]", &["TY145"]),
        (
            "policies: [{event: TaskCompleted, action: CompleteJob, timeout: 1m}]",
            "",
            &["TY027"],
        ),
        (
            "policies: [{event: PodFailed, action: ResumeJob}]",
            "",
            &["TY152"],
        ),
    ]);
}

#[test]
fn plugins_are_known_and_can_be_carried_out() {
    check(&[
        ("plugins: {env: [], svc: [], tensorflow: []}", "", &[]),
        ("plugins: {env: , svc: null}", "", &[]),
        ("plugins: {ssh: []}", "", &["TY027"]),
        ("plugins: {ssh: [], tensorflow: []}", "", &["TY027"]),
        ("plugins: {mpi: []}", "", &["TY146"]),
        ("plugins: {pytorch: []}", "", &["TY146"]),
        ("plugins: {ray: []}", "", &["TY146"]),
        ("plugins: {hcclrank: []}", "", &["TY146"]),
        ("plugins: {horovod: []}", "", &["TY147"]),
        ("plugins: {env: [--x]}", "", &["TY148"]),
        (
            "plugins: {tensorflow: [--port, '3333', --worker=worker]}",
            "",
            &[],
        ),
        ("plugins: {tensorflow: [--port=0]}", "", &["TY148"]),
        ("plugins: {tensorflow: [--port]}", "", &["TY148"]),
        ("plugins: {tensorflow: [--chief=worker, -ps=ps]}", "", &[]),
        ("plugins: {tensorflow: [--chief=boss]}", "", &["TY148"]),
        ("plugins: {svc: [--publish-not-ready-addresses]}", "", &[]),
        (
            "plugins: {svc: [--publish-not-ready-addresses=false]}",
            "",
            &["TY027"],
        ),
    ]);
}

#[test]
fn volumes_have_a_path_of_their_own_and_one_claim() {
    check(&[
        ("volumes: [{mountPath: /a, volumeClaimName: c}]", "", &[]),
        (
            "volumes: [{mountPath: /a, volumeClaim: {accessModes: [ReadWriteOnce]}}]",
            "",
            &[],
        ),
        ("volumes: [{volumeClaimName: c}]", "", &["TY022"]),
        ("volumes: [{mountPath: '', volumeClaimName: c}]", "", &["TY150"]),
        (
            "volumes: [{mountPath: '/a:b', volumeClaimName: c}]",
            "",
            &["TY150"],
        ),
        ("volumes: [{mountPath: /a}]", "", &["TY150"]),
        (
            "volumes: [{mountPath: /a, volumeClaimName: c, volumeClaim: {}}]",
            "",
            &["TY150"],
        ),
        (
            "volumes: [{mountPath: /a, volumeClaimName: c}, {mountPath: /a, volumeClaimName: d}]",
            "",
            &["TY150"],
        ),
        ("volumes: [{mountPath: /a, volumeClaimName: C_1}]", "", &["TY056"]),
    ]);
}

#[test]
fn tasks_wait_for_tasks_that_come() {
    check(&[
        ("minAvailable: 1", "dependsOn: {name: [ps]}", &[]),
        ("minAvailable: 1", "dependsOn: {name: [ps], iteration: any}", &[]),
        (
            "minAvailable: 1",
            "dependsOn: {name: [ps], iteration: some}",
            &["TY023"],
        ),
        ("minAvailable: 1", "dependsOn: {name: [nobody]}", &["TY149"]),
        ("minAvailable: 1", "dependsOn: {name: [worker]}", &["TY149"]),
        // All three pods are to be placed together, and two of them are made only once the first runs.
        ("minAvailable: 3", "dependsOn: {name: [ps]}", &["TY072"]),
    ]);
}

#[test]
fn placements_are_possible() {
    check(&[
        (
            "networkTopology: {mode: soft, highestTierAllowed: 2}",
            "",
            &["TY027"],
        ),
        (
            "networkTopology: {highestTierAllowed: 2, highestTierName: rack}",
            "",
            &["TY027", "TY151"],
        ),
        ("", "topologyPolicy: none", &[]),
        ("", "topologyPolicy: restricted", &["TY151"]),
        (
            "",
            "partitionPolicy: {totalPartitions: 2, partitionSize: 1}",
            &["TY027"],
        ),
        (
            "",
            "partitionPolicy: {totalPartitions: 2, partitionSize: 2}",
            &["TY027", "TY151"],
        ),
        (
            "",
            "partitionPolicy: {totalPartitions: 2, partitionSize: 1, minPartitions: 1}\n      minAvailable: 2",
            &["TY027", "TY141"],
        ),
        ("queue: root", "", &["TY023"]),
        ("queue: Not_A_Name", "", &["TY056"]),
        ("priorityClassName: 'a b'", "", &["TY056"]),
    ]);
}

#[test]
fn names_of_hosts_must_fit_where_they_are_put() {
    let many = text("plugins: {svc: []}", "").replace("replicas: 2", "replicas: 90000");
    assert_eq!(codes(&many), ["TY153"]);
    let without = text("", "").replace("replicas: 2", "replicas: 90000");
    assert_eq!(codes(&without), Vec::<String>::new());
    let endless = text("plugins: {svc: []}", "").replace("replicas: 2", "replicas: 2147483647");
    assert_eq!(codes(&endless), ["TY153"]);
    // A ConfigMap holds these, one variable does not.
    let long = |svc: &str| text(svc, "").replace("replicas: 2", "replicas: 9000");
    assert_eq!(codes(&long("plugins: {svc: []}")), ["TY153"]);
    assert_eq!(
        codes(&long("plugins: {svc: ['--inject-hosts-env=false']}")),
        Vec::<String>::new()
    );
}

#[test]
fn a_flood_of_tasks_is_refused_quickly() {
    let mut flood = text("plugins: {svc: []}", "");
    for index in 0..5_000 {
        let task = format!(
            "    - {{name: t{index}, replicas: 1, dependsOn: {{name: [t{}]}}, template: {{}}}}\n",
            index + 1
        );
        flood.push_str(&task);
    }
    let reading = read(&flood);
    assert!(
        reading
            .problems
            .iter()
            .any(|problem| problem.message.contains("5002 tasks are too many"))
    );
    assert_eq!(reading.jobs().count(), 0);
}
