//! Kubeflow's dialect, from text to what `step` decides and what the status says.
//!
//! The tables follow the reference's own tests where those can be told without a cluster.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may stop at the first surprise"
)]

#[expect(dead_code, reason = "other tests use the rest")]
mod notation;
#[expect(dead_code, reason = "other tests use the rest")]
mod play;

use notation::{codes, file, job, rules};
use play::{Play, manifest};
use serde_json::{Value, json};
use trainyard_core::{
    Addresses, Clean, Cluster, ClusterForm, GangChoice, GangScheduler, InPlace, Outcome, TaskId, addresses,
};
use trainyard_status::{Flaw, tfjob_memory, tfjob_status};

/// Roles for [`manifest`].
type Roles = &'static [(&'static str, u32, &'static str)];

// ---- Rules -----------------------------------------------------------------------------------------------------

const CHIEF_PS_WORKERS: [(&str, u32, &str); 3] = [
    ("Chief", 1, "ExitCode"),
    ("PS", 2, "ExitCode"),
    ("Worker", 4, "ExitCode"),
];

#[test]
fn seven_rules_of_a_job_with_a_chief_and_exit_codes() {
    let text = manifest(
        &CHIEF_PS_WORKERS,
        "runPolicy: {backoffLimit: 6, cleanPodPolicy: Running}",
    );
    let read = job(&text);
    assert_eq!(
        rules(&read.job),
        [
            "count chief succeeded = all → complete  spec.successPolicy",
            "any disrupted|vanished → restart task  built in",
            "any not-started → fail  built in",
            "any 42|128-255 → restart task $  spec.tfReplicaSpecs.*.restartPolicy",
            "any failed → fail  spec.tfReplicaSpecs.*.restartPolicy",
            "any succeeded → keep  built in",
            "count any ended = all → fail  built in",
        ]
    );
    let limits = &read.job.limits;
    assert_eq!(
        (limits.restarts, limits.count_in_place, limits.settle),
        (Some(6), true, 1)
    );
    assert_eq!(read.job.clean, Clean::Unfinished);
}

#[test]
fn whole_job_restarts_pay_for_every_failure_where_there_is_a_limit() {
    let limited = job(&manifest(
        &CHIEF_PS_WORKERS,
        "runPolicy: {backoffLimit: 6, restartScope: Job}",
    ));
    assert_eq!(
        rules(&limited.job)[1..5],
        [
            "any disrupted|vanished → restart job  built in",
            "any not-started → fail  built in",
            "any failed → restart job $  spec.tfReplicaSpecs.*.restartPolicy",
            "any failed → fail  spec.tfReplicaSpecs.*.restartPolicy",
        ]
    );
    assert_eq!(limited.job.limits.settle, 5);
    let text = manifest(
        &CHIEF_PS_WORKERS,
        "runPolicy: {restartScope: Job, cleanPodPolicy: Running}",
    );
    let unlimited = job(&text);
    assert_eq!(
        rules(&unlimited.job)[3],
        "any 42|128-255 → restart job $  spec.tfReplicaSpecs.*.restartPolicy"
    );
    assert_eq!(codes(&text), ["TY104"], "it is warned of");
}

#[test]
fn roles_restart_together_and_the_others_alone() {
    let roles = [
        ("Chief", 1, "ExitCode"),
        ("PS", 2, "OnFailure"),
        ("Worker", 2, "OnFailure"),
    ];
    let read = job(&manifest(
        &roles,
        "runPolicy: {backoffLimit: 3, restartScope: [PS, Chief]}",
    ));
    assert_eq!(
        rules(&read.job),
        [
            "count chief succeeded = all → complete  spec.successPolicy",
            "chief disrupted|vanished → restart chief+ps  built in",
            "ps disrupted|vanished → restart chief+ps  built in",
            "any disrupted|vanished → restart task  built in",
            "any not-started → fail  built in",
            "chief failed → restart chief+ps $  spec.tfReplicaSpecs.Chief.restartPolicy",
            "ps failed → restart chief+ps $  spec.tfReplicaSpecs.PS.restartPolicy",
            "worker failed → restart task $  spec.tfReplicaSpecs.Worker.restartPolicy",
            "chief failed → fail  spec.tfReplicaSpecs.Chief.restartPolicy",
            "ps failed → fail  spec.tfReplicaSpecs.PS.restartPolicy",
            "worker failed → fail  spec.tfReplicaSpecs.Worker.restartPolicy",
            "any succeeded → keep  built in",
            "count any ended = all → fail  built in",
        ]
    );
    let in_place: Vec<InPlace> = read.job.roles.iter().map(|role| role.in_place).collect();
    assert_eq!(in_place, [InPlace::Never, InPlace::Never, InPlace::OnFailure]);
}

#[test]
fn dynamic_workers_may_fail_and_a_job_of_failed_workers_still_ends() {
    let roles = [("PS", 1, "Never"), ("Worker", 2, "Never")];
    let text = manifest(&roles, "enableDynamicWorker: true");
    assert_eq!(
        rules(&job(&text).job)[3..],
        [
            "ps failed → fail  spec.tfReplicaSpecs.PS.restartPolicy",
            "worker failed → keep  spec.enableDynamicWorker",
            "count worker ended = all → fail  built in",
            "any succeeded → keep  built in",
            "count any ended = all → fail  built in",
        ]
    );
    let mut play = Play::running(&roles, "enableDynamicWorker: true");
    play.exits("worker-0", 1);
    play.wait(30);
    assert_eq!(play.outcome(), None);
    play.exits("worker-1", 0);
    play.wait(5);
    assert_eq!(play.outcome().unwrap(), "Failed");
    let kubeflows = "TFJob team/mnist has failed because 1 Worker replica(s) failed. ";
    let message = play.said("Failed").1;
    assert!(message.starts_with(kubeflows), "{message}");
}

#[test]
fn each_policy_has_its_rules_and_what_happens_in_place() {
    let table = [
        ("Never", vec![], InPlace::Never),
        (
            "OnFailure",
            vec!["any failed → restart task $"],
            InPlace::OnFailure,
        ),
        ("Always", vec!["any failed → restart task $"], InPlace::Always),
        (
            "ExitCode",
            vec!["any 42|128-255 → restart task $"],
            InPlace::Never,
        ),
    ];
    for (policy, restarts, in_place) in table {
        let read = job(&manifest(&[("Worker", 2, policy)], ""));
        let all = rules(&read.job);
        let from = "  spec.tfReplicaSpecs.Worker.restartPolicy";
        let mut expected: Vec<String> = restarts.iter().map(|rule| format!("{rule}{from}")).collect();
        expected.push(format!("any failed → fail{from}"));
        assert_eq!(all[3..all.len() - 2], expected, "{policy}");
        assert_eq!(read.job.roles[0].in_place, in_place, "{policy}");
    }
}

#[test]
fn always_under_whole_job_restarts_starts_a_finished_task_again() {
    let roles = [("Chief", 1, "ExitCode"), ("PS", 1, "Always")];
    let read = job(&manifest(
        &roles,
        "runPolicy: {restartScope: Job, backoffLimit: 3}",
    ));
    let all = rules(&read.job);
    assert!(
        all.contains(&"ps succeeded → restart task $  spec.tfReplicaSpecs.PS.restartPolicy".to_owned()),
        "{all:#?}"
    );
    assert_eq!(read.job.roles[1].in_place, InPlace::Never);
}

#[test]
fn a_task_on_a_silent_node_is_given_up_only_where_the_job_says_so() {
    let lost = |policy: &str| {
        job(&manifest(&[("Worker", 2, "Never")], policy))
            .job
            .limits
            .lost_node
    };
    assert_eq!(lost(""), None);
    assert_eq!(lost("runPolicy: {lostNodeSeconds: 300}"), Some(300));
    assert_eq!(
        lost("runPolicy: {lostNodeSeconds: 2147483647}"),
        Some(2_147_483_647)
    );
}

#[test]
fn our_additions_are_fields_and_annotations() {
    let roles = [("PS", 1, "ExitCode"), ("Worker", 2, "ExitCode")];
    let fields =
        "runPolicy: {backoffLimit: 3, restartScope: Job, startTimeoutSeconds: 300, startOrder: [PS]}";
    let by_field = job(&manifest(&roles, fields)).job;
    let annotations = "uid: u-1, annotations: {trainyard.dev/restart-scope: Job, \
                       trainyard.dev/start-timeout-seconds: '300', trainyard.dev/start-order: 'PS'}";
    let plain = manifest(&roles, "runPolicy: {backoffLimit: 3}").replace("uid: u-1", annotations);
    let mut by_annotation = job(&plain).job;
    let timeout = by_annotation
        .rules
        .iter_mut()
        .find(|rule| rule.held == 300)
        .unwrap();
    assert_eq!(&*timeout.from, "trainyard.dev/start-timeout-seconds");
    timeout.from = "spec.runPolicy.startTimeoutSeconds".into();
    assert_eq!(by_annotation, by_field);
    assert!(
        rules(&by_field).contains(
            &"any down first-start|again @300s → fail  spec.runPolicy.startTimeoutSeconds".to_owned()
        )
    );
    let after = by_field.roles[1].after.as_ref().unwrap();
    assert_eq!((after.roles[0].0.as_str(), after.roles[0].1), ("ps", 1));
    assert_eq!(by_field.roles[0].after, None);
}

#[test]
fn a_start_order_is_a_chain_and_roles_it_does_not_name_come_last() {
    let roles = [
        ("Chief", 1, "Never"),
        ("PS", 2, "Never"),
        ("Worker", 3, "Never"),
        ("Evaluator", 1, "Never"),
    ];
    let read = job(&manifest(&roles, "runPolicy: {startOrder: [PS, worker]}"));
    let waits: Vec<String> = read
        .job
        .roles
        .iter()
        .map(|role| {
            let after = role
                .after
                .as_ref()
                .map(|after| format!("{}×{}", after.roles[0].0, after.roles[0].1));
            format!("{} after {}", role.name, after.unwrap_or_default())
        })
        .collect();
    assert_eq!(
        waits,
        [
            "chief after worker×3",
            "ps after ",
            "worker after ps×2",
            "evaluator after worker×3"
        ]
    );
}

#[test]
fn the_old_set_of_retryable_codes_is_an_annotation_away() {
    let text = manifest(&[("Worker", 1, "ExitCode")], "");
    let with = |value: &str| {
        let annotation = format!("uid: u-1, annotations: {{trainyard.dev/retryable-exit-codes: '{value}'}}");
        text.replace("uid: u-1", &annotation)
    };
    let rule = rules(&job(&with("130, 137,138,143")).job)[3].clone();
    assert_eq!(
        rule,
        "any 130|137|138|143 → restart task $  spec.tfReplicaSpecs.Worker.restartPolicy"
    );
    for bad in ["", "0", "256", "5-1", "a", "1,,2"] {
        assert_eq!(codes(&with(bad)), ["TY030"], "{bad}");
    }
}

#[test]
fn the_decider_is_chief_then_master_then_workers() {
    let table: [(Roles, &str, &str); 7] = [
        (
            &[("Chief", 1, "Never"), ("Worker", 2, "Never")],
            "",
            "chief succeeded = all",
        ),
        (
            &[("Master", 1, "Never"), ("Worker", 2, "Never")],
            "",
            "master succeeded = all",
        ),
        (&[("Worker", 2, "Never")], "", "worker[0] succeeded ≥ 1"),
        (
            &[("Worker", 2, "Never")],
            "successPolicy: ''",
            "worker[0] succeeded ≥ 1",
        ),
        (
            &[("Worker", 2, "Never")],
            "successPolicy: AllWorkers",
            "worker succeeded = all",
        ),
        (
            &[("Chief", 1, "Never"), ("Worker", 2, "Never")],
            "successPolicy: AllWorkers",
            "chief succeeded = all",
        ),
        (
            &[("Chief", 0, "Never"), ("Worker", 2, "Never")],
            "",
            "worker[0] succeeded ≥ 1",
        ),
    ];
    for (roles, more, expected) in table {
        let first = rules(&job(&manifest(roles, more)).job)[0].clone();
        assert_eq!(
            first,
            format!("count {expected} → complete  spec.successPolicy"),
            "{roles:?} {more}"
        );
    }
}

// ---- Reading ---------------------------------------------------------------------------------------------------

#[test]
fn defaults_are_the_references() {
    let read = job(&file("tests/fixtures/ok/tfjob/defaults-everywhere.yaml"));
    let role = &read.job.roles[0];
    assert_eq!(
        (role.replicas, role.in_place, role.port),
        (1, InPlace::Never, 2222)
    );
    assert_eq!(
        (read.job.clean, read.job.suspend, &*read.job.namespace),
        (Clean::None, false, "default")
    );
    let limits = &read.job.limits;
    assert_eq!((limits.restarts, limits.deadline, limits.ttl), (None, None, None));
    assert_eq!((read.job.cluster, read.job.gang), (ClusterForm::None, None));
    assert_eq!(read.job.addresses, Addresses::PerJob);
}

#[test]
fn the_port_is_the_one_named_tfjob_port_in_the_main_container() {
    let read = job(&file("tests/fixtures/ok/tfjob/ports-of-their-own.yaml"));
    let ports: Vec<(&str, u16)> = read
        .job
        .roles
        .iter()
        .map(|role| (role.name.as_str(), role.port))
        .collect();
    assert_eq!(ports, [("chief", 2222), ("ps", 5000), ("worker", 5001)]);
}

#[test]
fn a_template_keeps_everything_but_finalizers_and_owners() {
    let read = job(&file("tests/fixtures/ok/tfjob/template-with-traps.yaml"));
    let template: Value = serde_json::from_str(&read.job.roles[0].template.0).unwrap();
    assert_eq!(template["metadata"], json!({"labels": {"app": "traps"}}));
    assert_eq!(template["spec"]["containers"].as_array().unwrap().len(), 2);
}

#[test]
fn fields_that_moved_are_read_in_both_places() {
    let fields = "cleanPodPolicy: All, ttlSecondsAfterFinished: 7, activeDeadlineSeconds: 8, backoffLimit: 9";
    let limits = |text: &str| {
        let job = job(text).job;
        (
            job.clean,
            job.limits.ttl,
            job.limits.deadline,
            job.limits.restarts,
        )
    };
    let roles = [("Worker", 1, "Never")];
    let expected = (Clean::All, Some(7), Some(8), Some(9));
    let new = manifest(&roles, &format!("runPolicy: {{{fields}}}"));
    assert_eq!((limits(&new), codes(&new)), (expected, vec![]));
    let old = manifest(&roles, fields);
    assert_eq!((limits(&old), codes(&old)), (expected, vec!["TY025".to_owned()]));
    for version in ["v1alpha2", "v1beta1", "v1beta2"] {
        let old = old.replace("kubeflow.org/v1", &format!("kubeflow.org/{version}"));
        assert_eq!(
            (limits(&old), codes(&old)),
            (expected, vec![]),
            "{version} has them there"
        );
    }
}

#[test]
fn the_first_version_has_a_list_and_names_its_chief() {
    let read = job(&file(
        "tests/fixtures/ok/tfjob/v1alpha1-worker-zero-is-chief.yaml",
    ));
    let roles: Vec<(&str, u32, u16)> = read
        .job
        .roles
        .iter()
        .map(|role| (role.name.as_str(), role.replicas, role.port))
        .collect();
    assert_eq!(roles, [("ps", 1, 2223), ("worker", 3, 2222)]);
    assert_eq!(
        rules(&read.job)[0],
        "count worker[0] succeeded ≥ 1 → complete  spec.terminationPolicy.chief"
    );
    assert_eq!(read.job.clean, Clean::Unfinished);
    let read = job(&file("tests/fixtures/ok/tfjob/v1alpha1-list-of-replicas.yaml"));
    let in_place: Vec<InPlace> = read.job.roles.iter().map(|role| role.in_place).collect();
    assert_eq!(
        in_place,
        [InPlace::OnFailure; 3],
        "the template's policy is the only one there is"
    );
}

#[test]
fn seed_002_a_policy_in_the_template_is_overwritten_and_warned_of() {
    let text = file("tests/fixtures/ok/tfjob/v1beta1-master-in-capitals.yaml");
    assert_eq!(codes(&text), ["TY050"]);
    let read = job(&text);
    assert_eq!(read.job.roles[0].in_place, InPlace::Never);
    assert_eq!(read.job.roles[0].ask.get("nvidia.com/gpu"), Some(&1000));
}

#[test]
fn a_job_that_somebody_else_manages_is_read_and_marked() {
    let theirs = job(&file(
        "tests/fixtures/ok/tfjob/suspended-and-managed-elsewhere.yaml",
    ));
    assert_eq!(theirs.managed_by.as_deref(), Some("kueue.x-k8s.io/multikueue"));
    assert!(theirs.job.suspend);
    let ours = job(&file("tests/fixtures/ok/tfjob/managed-by-kubeflow-by-name.yaml"));
    assert_eq!(ours.managed_by, None);
}

#[test]
fn a_generated_name_has_a_stand_in() {
    let read = job(&file("tests/fixtures/ok/tfjob/generated-name.yaml"));
    assert!(read.generate_name);
    assert_eq!(&*read.job.name, "sweep-xxxxx");
}

#[test]
fn counts_that_nobody_can_mean_are_refused_at_once() {
    let text = manifest(&[("Worker", 100_001, "Never")], "");
    assert_eq!(codes(&text), ["TY069"]);
    let text = manifest(
        &[("Worker", 2_147_483_647, "Never"), ("PS", 2_147_483_647, "Never")],
        "",
    );
    assert_eq!(codes(&text), ["TY069"]);
}

#[test]
fn a_gang_is_needed_where_the_manifest_says_so() {
    let gang = |path: &str| job(&file(path)).job.gang;
    assert_eq!(gang("examples/tfjob/parameter-server.yaml"), None);
    let volcano = gang("examples/tfjob/gang-with-volcano.yaml").unwrap();
    assert_eq!(
        (volcano.scheduler, volcano.members, volcano.hold),
        (GangScheduler::Volcano, 5, true)
    );
    assert_eq!(volcano.resources.get("cpu"), Some(&18_000));
    let theirs = gang("tests/fixtures/ok/tfjob/kube-batch-with-own-podgroup.yaml");
    let theirs = theirs.or_else(|| {
        let reading = notation::read(&file("tests/fixtures/ok/tfjob/kube-batch-with-own-podgroup.yaml"));
        reading.jobs().next().unwrap().job.gang.clone()
    });
    let theirs = theirs.unwrap();
    assert_eq!(
        (theirs.scheduler, theirs.existing.as_deref()),
        (GangScheduler::KubeBatch, Some("tfjob-group"))
    );
    let policy = gang("tests/fixtures/ok/tfjob/scheduling-policy-in-full.yaml").unwrap();
    assert_eq!(
        (policy.scheduler, policy.members, policy.timeout),
        (GangScheduler::Default, 3, Some(120))
    );
    let other = manifest(&[("Worker", 2, "Never")], "").replace("{spec: {", "{spec: {schedulerName: mine, ");
    assert_eq!(job(&other).job.gang, None, "another scheduler alone is no gang");
}

#[test]
fn a_manifest_chooses_its_gang_scheduler() {
    let plain = file("examples/tfjob/parameter-server.yaml");
    let with = |text: &str, value: &str| {
        let annotated = format!("metadata:\n  annotations: {{trainyard.dev/gang: {value}}}\n");
        text.replacen("metadata:\n", &annotated, 1)
    };
    let volcano = file("examples/tfjob/gang-with-volcano.yaml");
    let named = GangScheduler::Named("mine".into());
    let rows = [
        (plain.clone(), GangChoice::Default, None),
        (with(&plain, "none"), GangChoice::None, None),
        (
            with(&plain, "mine"),
            GangChoice::Named(named.clone()),
            Some(named.clone()),
        ),
        (
            volcano.clone(),
            GangChoice::Template(GangScheduler::Volcano),
            Some(GangScheduler::Volcano),
        ),
        (with(&volcano, "none"), GangChoice::None, None),
        (
            with(&volcano, "mine"),
            GangChoice::Named(named.clone()),
            Some(named),
        ),
    ];
    for (text, choice, scheduler) in rows {
        let read = job(&text);
        let found = (read.gang, read.job.gang.map(|gang| gang.scheduler));
        assert_eq!(found, (choice, scheduler), "{text}");
    }
}

#[test]
fn a_start_order_that_the_gang_cannot_keep_is_refused() {
    let roles = [("PS", 1, "Never"), ("Worker", 2, "Never")];
    let policy = "startOrder: [PS], cleanPodPolicy: All";
    let all = manifest(
        &roles,
        &format!("runPolicy: {{{policy}, schedulingPolicy: {{}}}}"),
    );
    assert_eq!(codes(&all), ["TY072"]);
    let first = manifest(
        &roles,
        &format!("runPolicy: {{{policy}, schedulingPolicy: {{minAvailable: 1}}}}"),
    );
    assert_eq!(codes(&first), Vec::<String>::new());
}

#[test]
fn groups_that_differ_between_roles_are_warned_of() {
    let text = file("tests/fixtures/ok/tfjob/kube-batch-with-own-podgroup.yaml");
    let (before, after) = text.rsplit_once("group-name: tfjob-group").unwrap();
    let differ = format!("{before}group-name: other{after}");
    assert_eq!(codes(&differ), ["TY049", "TY105"]);
}

// ---- TF_CONFIG -------------------------------------------------------------------------------------------------

fn tf_config(text: &str, task: &str) -> Option<String> {
    let job = job(text).job;
    let task: TaskId = task.parse().unwrap();
    Cluster::of(&job, &addresses(&job, None)).tf_config(&task)
}

#[test]
fn tf_config_is_kubeflows_to_the_byte_where_its_addresses_are_asked_for() {
    let annotated = |roles: &[(&str, u32, &str)], more: &str| {
        let annotations = "uid: u-1, annotations: {trainyard.dev/addresses: per-replica, \
                           trainyard.dev/evaluator-in-cluster: 'true'}";
        manifest(roles, more)
            .replace("name: mnist, namespace: team", "name: test-tfjob, namespace: ns")
            .replace("uid: u-1", annotations)
    };
    assert_eq!(
        tf_config(&annotated(&[("Worker", 1, "Never")], ""), "worker-0"),
        None,
        "one task alone"
    );
    let text = annotated(
        &[
            ("Worker", 1, "Never"),
            ("PS", 1, "Never"),
            ("Evaluator", 1, "Never"),
        ],
        "",
    );
    assert_eq!(
        tf_config(&text, "worker-0").unwrap(),
        r#"{"cluster":{"evaluator":["test-tfjob-evaluator-0.ns.svc:2222"],"ps":["test-tfjob-ps-0.ns.svc:2222"],"worker":["test-tfjob-worker-0.ns.svc:2222"]},"task":{"type":"worker","index":0},"environment":"cloud"}"#
    );
    let text = annotated(
        &[("Worker", 2, "Never"), ("PS", 2, "Never")],
        "enableDynamicWorker: true",
    );
    assert_eq!(
        tf_config(&text, "worker-0").unwrap(),
        r#"{"cluster":{"worker":{"0":"test-tfjob-worker-0.ns.svc:2222"},"ps":["test-tfjob-ps-0.ns.svc:2222","test-tfjob-ps-1.ns.svc:2222"]},"task":{"type":"worker","index":0}}"#
    );
    assert_eq!(
        tf_config(&text, "ps-0").unwrap(),
        r#"{"cluster":{"worker":{},"ps":["test-tfjob-ps-0.ns.svc:2222"]},"task":{"type":"ps","index":0}}"#
    );
}

#[test]
fn a_job_is_distributed_when_it_has_more_than_one_task() {
    let table: [(Roles, bool); 4] = [
        (&[("Worker", 1, "Never")], false),
        (&[("Worker", 1, "Never"), ("PS", 1, "Never")], true),
        (&[("Chief", 1, "Never"), ("Worker", 1, "Never")], true),
        (&[("Master", 1, "Never")], false),
    ];
    for (roles, distributed) in table {
        let cluster = job(&manifest(roles, "")).job.cluster;
        assert_eq!(cluster != ClusterForm::None, distributed, "{roles:?}");
    }
}

// ---- Status ----------------------------------------------------------------------------------------------------

#[test]
fn the_normal_path_creates_what_is_missing_and_counts_what_is_there() {
    let both = [("PS", 2, "Never"), ("Worker", 4, "Never")];
    let mut play = Play::of(&manifest(&both, ""));
    play.settle();
    assert_eq!(play.created.len(), 6);
    assert_eq!(
        (play.conditions(), play.counts("Worker")),
        (vec!["Created".to_owned()], (0, 0, 0))
    );
    play.settle();
    assert_eq!(play.created.len(), 6, "what waits is not created again");
    play.run("worker-3");
    play.settle();
    assert_eq!(
        (play.conditions().join(" "), play.counts("Worker")),
        ("Created Running".to_owned(), (1, 0, 0))
    );
    play.all_run();
    play.settle();
    assert_eq!((play.counts("Worker"), play.counts("PS")), ((4, 0, 0), (2, 0, 0)));
    assert_eq!(play.status.as_ref().unwrap()["startTime"], "1970-01-01T00:01:40Z");
    play.exits("worker-1", 0);
    play.settle();
    assert_eq!((play.outcome(), play.counts("Worker")), (None, (3, 1, 0)));
    play.now += 10;
    play.exits("worker-0", 0);
    play.settle();
    assert_eq!(play.conditions().join(" "), "Created !Running Succeeded");
    assert_eq!(
        play.said("Succeeded"),
        (
            "TFJobSucceeded".into(),
            "TFJob team/mnist successfully completed.".into()
        )
    );
    assert_eq!(
        play.said("Running"),
        ("TFJobRunning".into(), "TFJob team/mnist is running.".into())
    );
    assert_eq!(
        play.said("Created"),
        ("TFJobCreated".into(), "TFJob mnist is created.".into())
    );
    assert_eq!(
        play.status.as_ref().unwrap()["completionTime"],
        "1970-01-01T00:01:50Z"
    );
    play.wait(60);
    assert_eq!(
        play.counts("Worker"),
        (0, 4, 0),
        "what still ran counts as succeeded"
    );
    assert_eq!(play.counts("PS"), (0, 2, 0));
}

#[test]
fn a_fast_job_is_created_and_succeeded_without_ever_running() {
    let mut play = Play::of(&manifest(&[("Worker", 1, "Never")], ""));
    play.settle();
    play.exits("worker-0", 0);
    play.settle();
    assert_eq!(play.conditions().join(" "), "Created Succeeded");
}

#[test]
fn a_job_created_suspended_makes_nothing_and_has_not_started() {
    let mut play = Play::of(&manifest(&[("Worker", 1, "Never")], "runPolicy: {suspend: true}"));
    play.wait(50);
    assert_eq!(play.conditions().join(" "), "Created Suspended");
    assert_eq!(
        play.said("Suspended"),
        ("TFJobSuspended".into(), "TFJob mnist is suspended.".into())
    );
    assert_eq!(
        (play.created.len(), play.status.as_ref().unwrap().get("startTime")),
        (0, None)
    );
}

#[test]
fn suspending_and_resuming_gives_the_exact_lists() {
    let mut play = Play::running(&[("Worker", 2, "Never")], "");
    assert_eq!(play.conditions().join(" "), "Created Running");
    play.now += 100;
    play.job.suspend = true;
    play.step();
    assert_eq!(play.counts("Worker"), (0, 0, 0), "at once");
    play.settle();
    assert_eq!(play.conditions().join(" "), "Created !Running Suspended");
    assert_eq!(
        play.said("Running"),
        ("TFJobSuspended".into(), "TFJob mnist is suspended.".into())
    );
    assert_eq!((play.left().len(), play.counts("Worker")), (0, (0, 0, 0)));
    assert_eq!(
        play.status.as_ref().unwrap()["startTime"],
        "1970-01-01T00:01:40Z",
        "it stays"
    );
    play.now += 100;
    play.job.suspend = false;
    play.settle();
    assert_eq!(
        play.said("Suspended"),
        ("TFJobResumed".into(), "TFJob mnist is resumed.".into())
    );
    assert_eq!(
        play.status.as_ref().unwrap()["startTime"],
        "1970-01-01T00:05:00Z",
        "it counts anew"
    );
    play.all_run();
    play.settle();
    assert_eq!(play.conditions().join(" "), "Created !Suspended Running");
    play.exits("worker-0", 0);
    play.settle();
    assert_eq!(
        play.conditions().join(" "),
        "Created !Suspended !Running Succeeded"
    );
    play.job.suspend = true;
    play.wait(10);
    assert_eq!(
        play.conditions().join(" "),
        "Created !Suspended !Running Succeeded",
        "a finished job ignores it"
    );
}

#[test]
fn the_first_failure_has_one_word() {
    type End = fn(&mut Play);
    let ends: [(End, &str); 2] = [
        (|play| play.exits("worker-0", 1), "Error"),
        (|play| play.cannot_start("worker-0"), "StartError"),
    ];
    for (end, word) in ends {
        let mut play = Play::running(&[("Worker", 1, "Never")], "");
        end(&mut play);
        play.wait(5);
        assert_eq!(play.status.as_ref().unwrap()["firstFailure"]["reason"], word);
    }
}

#[test]
fn a_drained_replica_is_not_told_as_a_failure() {
    let mut play = Play::running(&[("Chief", 1, "Never"), ("Worker", 2, "ExitCode")], "");
    play.has_restarted_once("worker-1");
    play.drained("worker-1", 143);
    play.wait(2);
    let message = "job mnist is restarting because Worker replica(s) were disrupted.";
    assert_eq!(
        play.said("Restarting"),
        ("TFJobRestarting".into(), message.into())
    );
}

#[test]
fn a_restarting_job_says_whose_failure_it_was_until_everything_is_back() {
    let roles = [("Chief", 1, "Never"), ("Worker", 2, "ExitCode")];
    let mut play = Play::running(&roles, "");
    play.has_restarted_once("worker-1");
    play.exits("worker-1", 137);
    play.wait(2);
    assert_eq!(play.conditions().join(" "), "Created Restarting");
    let message = "job mnist is restarting because Worker replica(s) failed.";
    assert_eq!(
        play.said("Restarting"),
        ("TFJobRestarting".into(), message.into())
    );
    assert_eq!(
        play.counts("Worker"),
        (1, 0, 1),
        "the dead one is still there to be read"
    );
    play.wait(9);
    assert_eq!(play.created.len(), 5);
    assert_eq!(play.conditions().join(" "), "Created Running");
}

#[test]
fn a_permanent_exit_code_has_kubeflows_own_words() {
    let mut play = Play::running(&[("Worker", 2, "ExitCode")], "");
    play.exits("worker-1", 1);
    play.wait(5);
    let message = "job \"mnist\" is failing because \"Worker\" replica(s) failed.";
    let (reason, said) = play.said("Failed");
    assert_eq!(reason, "TFJobFailed");
    // Ours follow, with the command that shows the log.
    let ours = said.strip_prefix(message).unwrap();
    assert!(
        ours.starts_with(" worker-1: Exit code 1: ")
            && ours.contains("`kubectl logs mnist-worker-1 -c tensorflow -n team`"),
        "{said}"
    );
    assert_eq!(play.counts("Worker"), (1, 0, 1));
    assert_eq!(play.created.len(), 2);
}

/// Rows of the reference's table of states: who fails or finishes, and what the last condition then is.
#[test]
fn what_ends_a_job_and_what_does_not() {
    const WITH_CHIEF: Roles = &[("Chief", 1, "Never"), ("PS", 2, "Never"), ("Worker", 4, "Never")];
    const WITHOUT: Roles = &[("PS", 2, "Never"), ("Worker", 4, "Never")];
    type Row = (Roles, &'static str, &'static [(&'static str, i32)], &'static str);
    let table: &[Row] = &[
        (WITH_CHIEF, "", &[], "Running"),
        (WITH_CHIEF, "", &[("chief-0", 0)], "Succeeded"),
        (WITH_CHIEF, "", &[("chief-0", 1)], "Failed"),
        (WITH_CHIEF, "", &[("worker-0", 0)], "Running"),
        (
            WITH_CHIEF,
            "",
            &[("worker-0", 0), ("worker-1", 0), ("worker-2", 0), ("worker-3", 0)],
            "Running",
        ),
        (WITH_CHIEF, "", &[("worker-0", 1), ("worker-1", 1)], "Failed"),
        (WITH_CHIEF, "", &[("ps-0", 1)], "Failed"),
        (WITH_CHIEF, "", &[("ps-0", 0)], "Running"),
        (
            WITH_CHIEF,
            "",
            &[("chief-0", 0), ("worker-0", 1), ("ps-0", 1)],
            "Succeeded",
        ),
        (
            WITH_CHIEF,
            "successPolicy: AllWorkers",
            &[("chief-0", 0)],
            "Succeeded",
        ),
        (WITHOUT, "", &[("worker-0", 0)], "Succeeded"),
        (WITHOUT, "", &[("worker-1", 0)], "Running"),
        (WITHOUT, "", &[("worker-0", 0), ("worker-1", 1)], "Succeeded"),
        (WITHOUT, "", &[("worker-1", 1)], "Failed"),
        (
            WITHOUT,
            "successPolicy: AllWorkers",
            &[("worker-0", 0)],
            "Running",
        ),
        (
            WITHOUT,
            "successPolicy: AllWorkers",
            &[("worker-0", 0), ("worker-1", 0), ("worker-2", 0)],
            "Running",
        ),
        (
            WITHOUT,
            "successPolicy: AllWorkers",
            &[("worker-0", 0), ("worker-1", 0), ("worker-2", 0), ("worker-3", 0)],
            "Succeeded",
        ),
        (
            WITHOUT,
            "successPolicy: AllWorkers",
            &[("worker-0", 0), ("worker-3", 1)],
            "Failed",
        ),
        (
            WITHOUT,
            "enableDynamicWorker: true",
            &[("worker-1", 1)],
            "Running",
        ),
    ];
    for (roles, more, ends, expected) in table {
        let mut play = Play::running(roles, more);
        for (name, code) in *ends {
            play.exits(name, *code);
        }
        play.wait(5);
        let conditions = play.conditions();
        assert_eq!(conditions.last().unwrap(), expected, "{more} {ends:?}");
        let ended = play.outcome().is_some();
        assert_eq!(
            conditions.contains(&"Running".to_owned()),
            !ended,
            "{more} {ends:?}: {conditions:?}"
        );
    }
}

#[test]
fn clean_up_follows_the_policy() {
    let roles = [("PS", 2, "Never"), ("Worker", 4, "Never")];
    let table = [
        ("All", vec![]),
        ("Running", vec!["worker-0"]),
        (
            "None",
            vec!["ps-0", "ps-1", "worker-0", "worker-1", "worker-2", "worker-3"],
        ),
    ];
    for (policy, left) in table {
        let mut play = Play::running(&roles, &format!("runPolicy: {{cleanPodPolicy: {policy}}}"));
        play.exits("worker-0", 0);
        play.wait(5);
        assert_eq!(play.outcome().unwrap(), "Succeeded");
        assert_eq!(play.left(), left, "{policy}");
    }
}

#[test]
fn a_deadline_stops_what_lives_and_keeps_what_has_ended() {
    for policy in ["None", "Running"] {
        let more = format!("runPolicy: {{activeDeadlineSeconds: 30, cleanPodPolicy: {policy}}}");
        let mut play = Play::running(&[("Worker", 3, "Never")], &more);
        play.exits("worker-2", 0);
        play.wait(30);
        assert_eq!(play.outcome().unwrap(), "Failed", "{policy}");
        assert_eq!(play.left(), ["worker-2"], "{policy}");
    }
}

#[test]
fn counts_of_a_failed_job_follow_its_pods() {
    let roles = [("PS", 1, "Never"), ("Worker", 3, "Never")];
    // Clean-up takes away what runs.
    let mut play = Play::running(&roles, "runPolicy: {cleanPodPolicy: Running}");
    play.exits("worker-2", 1);
    play.wait(5);
    assert_eq!(play.outcome().unwrap(), "Failed");
    assert_eq!(play.left(), ["worker-2"]);
    assert_eq!((play.counts("PS"), play.counts("Worker")), ((0, 0, 0), (0, 0, 1)));
    // The failed one is collected, and has failed all the same.
    play.collected("worker-2");
    play.wait(5);
    assert_eq!(play.counts("Worker"), (0, 0, 1));

    // What stays is counted as what it is.
    let mut play = Play::running(&roles, "runPolicy: {cleanPodPolicy: None}");
    play.exits("worker-2", 1);
    play.wait(5);
    assert_eq!((play.counts("PS"), play.counts("Worker")), ((1, 0, 0), (2, 0, 1)));
    play.exits("worker-0", 0);
    play.drained("worker-1", 143);
    play.wait(5);
    assert_eq!(play.counts("Worker"), (0, 1, 1));
    play.collected("worker-0");
    play.drained("ps-0", 143);
    play.wait(5);
    assert_eq!((play.counts("PS"), play.counts("Worker")), ((0, 0, 0), (0, 1, 1)));
}

#[test]
fn n_restarts_are_allowed_and_the_next_one_is_not() {
    for (limit, allowed) in [(0, 0), (1, 1), (4, 4)] {
        let more = format!("runPolicy: {{backoffLimit: {limit}}}");
        let mut play = Play::running(&[("Worker", 4, "OnFailure")], &more);
        for restarts in 1..=allowed {
            play.restarted_in_place("worker-1", restarts, 1);
            play.wait(1);
            assert_eq!(play.outcome(), None, "limit {limit}, {restarts}");
        }
        play.restarted_in_place("worker-1", allowed + 1, 1);
        play.wait(1);
        assert_eq!(play.outcome().unwrap(), "Failed", "limit {limit}");
    }
}

#[test]
fn a_finished_job_is_deleted_after_its_time_to_live() {
    for code in [0, 1] {
        let mut play = Play::running(
            &[("Worker", 1, "Never")],
            "runPolicy: {ttlSecondsAfterFinished: 3}",
        );
        play.exits("worker-0", code);
        play.wait(1);
        assert!(play.outcome().is_some() && !play.deleted, "exit {code}");
        play.wait(3);
        assert!(play.deleted, "exit {code}");
    }
}

#[test]
fn memory_reads_back_and_a_finished_job_of_another_operator_stays_finished() {
    let mut play = Play::running(&[("Chief", 1, "Never"), ("Worker", 2, "ExitCode")], "");
    play.exits("worker-1", 137);
    play.wait(30);
    assert_eq!(tfjob_memory(play.status.as_ref(), &play.job), Ok(play.memory));
    let theirs = json!({
        "conditions": [
            {"type": "Created", "status": "True", "reason": "TFJobCreated"},
            {"type": "Running", "status": "False", "reason": "TFJobRunning"},
            {"type": "Succeeded", "status": "True", "reason": "TFJobSucceeded"},
        ],
        "startTime": "2026-03-01T08:00:00Z",
        "completionTime": "2026-03-01T09:00:00Z",
        "replicaStatuses": {"Worker": {"succeeded": 2}},
    });
    let mut fresh = Play::of(&manifest(&[("Worker", 2, "Never")], ""));
    fresh.memory = tfjob_memory(Some(&theirs), &fresh.job).unwrap();
    fresh.status = Some(theirs.clone());
    fresh.now = 1_772_400_000;
    fresh.settle();
    let status = fresh.status.as_ref().unwrap();
    assert_eq!(fresh.created.len(), 0);
    for field in ["startTime", "completionTime", "replicaStatuses"] {
        assert_eq!(status[field], theirs[field], "{field}");
    }
    assert_eq!(fresh.conditions().join(" "), "Created !Running Succeeded");
    assert_eq!(
        tfjob_memory(Some(&json!({"conditions": []})), &fresh.job),
        Ok(None)
    );
    assert_eq!(tfjob_memory(None, &fresh.job), Ok(None));
}

/// A status with this memory, of a job that has ended so.
fn remembering(memory: &Value, end: Option<&str>) -> Value {
    let mut conditions =
        vec![json!({"type": "Running", "status": if end.is_none() { "True" } else { "False" }})];
    conditions.extend(end.map(|end| json!({"type": end, "status": "True"})));
    json!({
        "conditions": conditions, "startTime": "2026-03-01T08:00:00Z", "completionTime": "2026-03-01T09:00:00Z",
        "trainyard": memory,
    })
}

/// W6: an unknown variant, a newer format and plain damage are not "no memory".
#[test]
fn a_memory_that_cannot_be_read_is_told_from_none_and_an_end_in_the_conditions_stands() {
    let job = Play::of(&manifest(&[("Worker", 1, "Never")], "")).job;
    let uid = &*job.uid;
    let newer = Some(99);
    let rows = [
        (json!({"format": 99, "job": uid, "unknown": [1]}), newer),
        (json!({"format": 99, "job": "another"}), newer),
        (json!({"format": 4_294_967_296_u64}), Some(4_294_967_296)),
        (json!({"format": 1, "job": uid, "held": "Frozen"}), None),
        (json!({"format": 1, "job": uid, "paid": -1}), None),
        (
            json!({"format": 1, "job": uid, "roles": {"worker": {"done": "3-1"}}}),
            None,
        ),
        (json!({"format": "1", "job": uid}), None),
        (json!({"job": uid}), None),
        (json!({}), None),
        (json!("gone"), None),
    ];
    for (memory, newer) in rows {
        let unread = tfjob_memory(Some(&remembering(&memory, None)), &job).unwrap_err();
        match (&unread.flaw, newer) {
            (Flaw::Newer(format), Some(newer)) => assert_eq!(*format, newer, "{memory}"),
            (Flaw::Broken(why), None) => assert!(!why.is_empty(), "{memory}"),
            (flaw, _) => panic!("{memory}: {flaw}"),
        }
        assert_eq!(unread.ended, None, "{memory}");
        for (end, outcome) in [("Succeeded", Outcome::Succeeded), ("Failed", Outcome::Failed)] {
            let unread = tfjob_memory(Some(&remembering(&memory, Some(end))), &job).unwrap_err();
            let verdict = unread.ended.unwrap().verdict.unwrap();
            assert_eq!(
                (verdict.outcome, verdict.at.0),
                (outcome, 1_772_355_600),
                "{memory}"
            );
        }
    }
}

#[test]
fn a_memory_of_another_job_is_handed_on_as_such_also_where_it_cannot_be_read() {
    let job = Play::of(&manifest(&[("Worker", 1, "Never")], "")).job;
    for rest in [json!({}), json!({"held": "Frozen"})] {
        let mut memory = json!({"format": 1, "job": "another"});
        memory
            .as_object_mut()
            .unwrap()
            .extend(rest.as_object().unwrap().clone());
        let read = tfjob_memory(Some(&remembering(&memory, None)), &job)
            .unwrap()
            .unwrap();
        assert_eq!(&*read.job, "another", "`step` does not believe it");
    }
}

#[test]
fn fields_that_are_not_known_do_not_keep_a_memory_of_our_format_from_being_read() {
    let job = Play::of(&manifest(&[("Worker", 1, "Never")], "")).job;
    let memory =
        json!({"format": 1, "job": job.uid, "paid": 2, "later": {"a": 1}, "roles": {"worker": {"later": 1}}});
    let read = tfjob_memory(Some(&remembering(&memory, None)), &job)
        .unwrap()
        .unwrap();
    assert_eq!(read.paid, 2);
}

#[test]
fn a_status_that_has_nothing_new_to_say_is_the_same() {
    let mut play = Play::running(&[("Chief", 1, "Never"), ("Worker", 2, "OnFailure")], "");
    let before = play.status.clone();
    for _ in 0..3 {
        play.now += 50;
        play.step();
        assert_eq!(play.status, before);
    }
    let observed = play.observed();
    let step = play.step();
    let now = trainyard_core::Time(play.now);
    let nonsense = json!({"conditions": 7, "replicaStatuses": [], "trainyard": "x"});
    let status = tfjob_status(Some(&nonsense), &play.job, &step, &observed, now);
    assert_eq!(
        status["conditions"].as_array().unwrap().len(),
        2,
        "nonsense is no history"
    );
}
