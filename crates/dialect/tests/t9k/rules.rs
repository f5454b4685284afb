//! What manifests compile to.

use trainyard_core::{Addresses, ClusterForm, GangScheduler, InPlace};

use crate::notation::{assert_complete, codes, file, files, job, rules};
use crate::text;

#[test]
fn the_manuals_job_compiles_to_seven_rules() {
    let read = job(&file("tests/fixtures/ok/t9k/manual-four-workers.yaml"));
    assert_eq!(
        rules(&read.job),
        [
            "count worker[0] succeeded ≥ 1 → complete  primary",
            "any disrupted|vanished → restart task  built in",
            "worker failed → restart task $  spec.replicaSpecs[0].restartPolicy: OnFailure",
            "worker[0] failed → fail  primary",
            "worker failed → keep  spec.runPolicy.backoffLimit",
            "any succeeded → keep  built in",
            "count any ended = all → fail  built in",
        ]
    );
    assert_eq!(read.job.limits.restarts, None);
}

#[test]
fn each_role_keeps_its_own_policy_and_the_chief_decides() {
    let read = job(&file("tests/fixtures/ok/t9k/all-roles-all-policies.yaml"));
    assert_eq!(
        rules(&read.job),
        [
            "count chief succeeded = all → complete  primary",
            "any disrupted|vanished → restart task  built in",
            "chief 42|130|137-138|143 → restart task $  spec.replicaSpecs[0].restartPolicy: ExitCode",
            "worker failed → restart task $  spec.replicaSpecs[1].restartPolicy: OnFailure",
            "ps failed → restart task $  spec.replicaSpecs[2].restartPolicy: Always",
            "chief failed → fail  primary",
            "worker failed → keep  spec.runPolicy.backoffLimit",
            "ps failed → keep  spec.runPolicy.backoffLimit",
            "evaluator failed → keep  spec.replicaSpecs[3].restartPolicy: Never",
            "ps succeeded → restart task $  spec.replicaSpecs[2].restartPolicy: Always",
            "any succeeded → keep  built in",
            "count any ended = all → fail  built in",
        ]
    );
    assert!(read.job.roles.iter().all(|role| role.in_place == InPlace::Never));
    let roles = ["chief", "ps", "worker"]
        .map(trainyard_core::RoleName::new)
        .to_vec();
    let environment = false;
    assert_eq!(read.job.cluster, ClusterForm::Full { roles, environment });
    assert_eq!(read.job.addresses, Addresses::PerJob);
}

#[test]
fn always_starts_a_success_again_unless_it_is_the_primarys() {
    let read = job(&text("backoffLimit: 3", &["worker 2 Always"]));
    assert_eq!(
        rules(&read.job)[2..7],
        [
            "worker failed → restart task $  spec.replicaSpecs[0].restartPolicy: Always",
            "worker[0] failed → fail  primary",
            "worker failed → keep  spec.runPolicy.backoffLimit",
            "worker[0] succeeded → keep  primary",
            "worker succeeded → restart task $  spec.replicaSpecs[0].restartPolicy: Always",
        ]
    );
}

#[test]
fn our_additions_are_tfjobs_own() {
    let policy = "backoffLimit: 3, restartScope: Job, startTimeoutSeconds: 600";
    let read = job(&text(policy, &["worker 2 ExitCode"]));
    assert_eq!(
        rules(&read.job),
        [
            "count worker[0] succeeded ≥ 1 → complete  primary",
            "any disrupted|vanished → restart job  built in",
            "worker failed → restart job $  spec.replicaSpecs[0].restartPolicy: ExitCode",
            "worker[0] failed → fail  primary",
            "worker failed → keep  spec.runPolicy.backoffLimit",
            "any down first-start|again @600s → fail  spec.runPolicy.startTimeoutSeconds",
            "any succeeded → keep  built in",
            "count any ended = all → fail  built in",
        ]
    );
    assert_eq!(read.job.limits.settle, 5);
    let together = "backoffLimit: 3, restartScope: [ps, chief]";
    let read = job(&text(
        together,
        &["chief 1 OnFailure", "ps 2 OnFailure", "worker 2 OnFailure"],
    ));
    let found = rules(&read.job);
    for expected in [
        "chief disrupted|vanished → restart chief+ps  built in",
        "ps failed → restart chief+ps $  spec.replicaSpecs[1].restartPolicy: OnFailure",
        "worker failed → restart task $  spec.replicaSpecs[2].restartPolicy: OnFailure",
    ] {
        assert!(
            found.iter().any(|rule| rule == expected),
            "{expected}: {found:#?}"
        );
    }
    let annotated = text("", &["worker 1 ExitCode"]).replace(
        "{name: j}",
        "{name: j, annotations: {trainyard.dev/retryable-exit-codes: 7-9, trainyard.dev/addresses: per-replica}}",
    );
    let read = job(&annotated);
    let again = "worker 7-9 → restart task $  spec.replicaSpecs[0].restartPolicy: ExitCode";
    assert_eq!(rules(&read.job)[2], again);
    assert_eq!(read.job.addresses, Addresses::PerReplica);
}

#[test]
fn the_schedulers_group_has_every_task() {
    let gang = job(&file("examples/t9k/parameter-server-in-a-queue.yaml"))
        .job
        .gang
        .unwrap();
    assert_eq!(
        (gang.scheduler, gang.members, gang.hold),
        (GangScheduler::T9k, 7, false)
    );
    assert_eq!(
        (gang.queue.as_deref(), gang.priority.as_deref()),
        (Some("default"), Some("50"))
    );
    assert_eq!(gang.resources["nvidia.com/gpu"], 4000);
    let without = job(&file("tests/fixtures/ok/t9k/queue-without-priority.yaml"))
        .job
        .gang
        .unwrap();
    assert_eq!(
        (without.queue.as_deref(), without.priority),
        (Some("gpu-a100"), None)
    );
}

#[test]
fn another_scheduler_takes_the_queue_and_not_the_priority() {
    let with = |annotation: &str| {
        let metadata = format!("metadata:\n  annotations: {{trainyard.dev/gang: {annotation}}}\n");
        file("examples/t9k/parameter-server-in-a-queue.yaml").replacen("metadata:\n", &metadata, 1)
    };
    let gang = job(&with("volcano")).job.gang.unwrap();
    assert_eq!(gang.scheduler, GangScheduler::Volcano);
    assert_eq!((gang.queue.as_deref(), gang.priority), (Some("default"), None));
    assert_eq!(codes(&with("volcano")), ["TY027"], "and that is told");
    assert_eq!(job(&with("none")).job.gang, None);
    assert_eq!(codes(&with("t9k-scheduler")), Vec::<String>::new());
}

#[test]
fn every_good_manifest_answers_every_end_of_every_task() {
    let mut count = 0;
    for folder in ["tests/fixtures/ok/t9k", "examples/t9k"] {
        for path in files(folder) {
            let name = path.display().to_string();
            assert_complete(&job(&std::fs::read_to_string(path).unwrap()).job, &name);
            count += 1;
        }
    }
    assert!(count >= 16, "{count}");
}
