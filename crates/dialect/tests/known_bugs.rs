//! Bugs of the reference that do not exist here, each named after its issue in kubeflow/trainer.
//!
//! Every test goes the whole way: a manifest is read, `step` decides, the status is written.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may stop at the first surprise"
)]

#[expect(dead_code, reason = "other tests use the rest")]
mod notation;
mod play;

use play::{Play, manifest};
use trainyard_core::{Action, Cause, Clean, Cluster, Memory, TaskId, addresses};

// ---- Ends that were asked for ----------------------------------------------------------------------------------

#[test]
fn issue_2124_draining_a_running_pod_does_not_fail_the_job() {
    for policy in ["Never", "OnFailure", "Always", "ExitCode"] {
        let mut play = Play::running(&[("Chief", 1, "Never"), ("Worker", 2, policy)], "");
        play.told_to_stop("worker-1");
        play.settle();
        assert_eq!(play.outcome(), None, "{policy}: while it goes");
        assert_eq!(play.counts("Worker"), (2, 0, 0), "{policy}: it still runs");
        play.drained("worker-1", 143);
        play.wait(60);
        assert_eq!(play.outcome(), None, "{policy}");
        assert_eq!(play.created.last().unwrap(), "worker-1", "{policy}");
        play.all_run();
        play.exits("chief-0", 0);
        play.settle();
        assert_eq!(play.outcome().unwrap(), "Succeeded", "{policy}");
        assert_eq!(
            play.memory.as_ref().unwrap().paid,
            0,
            "{policy}: it costs nothing"
        );
    }
}

#[test]
fn issue_2124_a_drained_chief_that_saves_and_exits_0_has_not_succeeded() {
    let mut play = Play::running(&[("Chief", 1, "Never")], "");
    play.now += 120;
    play.told_to_stop("chief-0");
    play.drained("chief-0", 0);
    play.wait(5);
    assert_eq!(play.outcome(), None);
    assert_eq!(play.created, ["chief-0", "chief-0"]);
    play.all_run();
    play.exits("chief-0", 0);
    play.settle();
    assert_eq!(play.outcome().unwrap(), "Succeeded");
}

#[test]
fn issue_1560_a_deleted_pod_with_exit_code_policy_is_created_again() {
    let mut play = Play::running(&[("Worker", 2, "ExitCode")], "runPolicy: {backoffLimit: 0}");
    play.now += 600;
    play.told_to_stop("worker-1");
    play.drained("worker-1", 137);
    play.wait(1);
    assert_eq!(play.outcome(), None);
    assert_eq!(play.created.last().unwrap(), "worker-1");
}

#[test]
fn issue_999_an_evicted_pod_with_on_failure_is_created_again() {
    let mut play = Play::running(&[("Chief", 1, "Never"), ("PS", 1, "OnFailure")], "");
    play.now += 600;
    play.evicted("ps-0");
    play.wait(15);
    assert_eq!(play.outcome(), None);
    assert_eq!(
        (play.created.last().unwrap().as_str(), play.stopped.as_slice()),
        ("ps-0", &["ps-0".to_owned()][..])
    );
    assert_eq!(play.memory.as_ref().unwrap().paid, 0);
}

#[test]
fn issue_1452_a_disrupted_dynamic_worker_is_created_again() {
    let mut play = Play::running(
        &[("PS", 1, "Never"), ("Worker", 3, "Never")],
        "enableDynamicWorker: true",
    );
    play.now += 600;
    play.told_to_stop("worker-2");
    play.drained("worker-2", 143);
    play.wait(1);
    assert_eq!(
        (play.outcome(), play.created.last().unwrap().as_str()),
        (None, "worker-2")
    );
}

#[test]
fn issue_2070_scaling_in_does_not_fail_the_job() {
    for dynamic in ["enableDynamicWorker: true", ""] {
        let mut play = Play::running(&[("Chief", 1, "Never"), ("Worker", 3, "Never")], dynamic);
        play.job.roles[1].replicas = 1;
        play.told_to_stop("worker-2");
        play.wait(10);
        assert_eq!(play.outcome(), None, "{dynamic}: while it goes");
        play.exits("worker-2", 143);
        play.wait(10);
        assert_eq!(play.outcome(), None, "{dynamic}: when it has ended");
        play.collected("worker-2");
        play.wait(10);
        assert_eq!(play.outcome(), None, "{dynamic}: when it is gone");
        assert_eq!(play.left(), ["chief-0", "worker-0"], "{dynamic}");
        assert_eq!(play.counts("Worker"), (1, 0, 0), "{dynamic}");
    }
}

#[test]
fn issue_1570_node_level_failures_are_answered_by_a_new_pod_under_any_policy() {
    for policy in ["Never", "OnFailure", "Always", "ExitCode"] {
        let mut play = Play::running(&[("Worker", 1, policy)], "");
        play.now += 600;
        play.evicted("worker-0");
        play.wait(15);
        assert_eq!(play.outcome(), None, "{policy}");
        assert_eq!(play.created, ["worker-0", "worker-0"], "{policy}");
    }
}

#[test]
fn issue_720_a_pod_stuck_on_a_lost_node_neither_fails_the_job_nor_is_doubled() {
    let mut play = Play::running(&[("Worker", 2, "Never")], "");
    play.told_to_stop("worker-1");
    play.wait(3600);
    assert_eq!((play.outcome(), play.created.len()), (None, 2));
    play.collected("worker-1");
    play.wait(15);
    assert_eq!((play.outcome(), play.created.len()), (None, 3));

    // Unless the job says that it is to be given up.
    let mut play = Play::running(&[("Worker", 2, "Never")], "runPolicy: {lostNodeSeconds: 60}");
    play.told_to_stop("worker-1");
    play.wait(59);
    assert_eq!((play.stopped.len(), play.created.len()), (0, 2));
    play.wait(20);
    assert_eq!((play.outcome(), play.created.len()), (None, 3));
    assert_eq!(play.stopped, ["worker-1"]);
}

// ---- Work that is done stays done ------------------------------------------------------------------------------

#[test]
fn issue_1186_a_finished_pod_that_is_collected_is_not_run_again() {
    let mut play = Play::running(&[("Worker", 2, "Never")], "successPolicy: AllWorkers");
    play.exits("worker-0", 0);
    play.settle();
    play.collected("worker-0");
    play.wait(100);
    assert_eq!(play.created.len(), 2);
    assert_eq!(play.counts("Worker"), (1, 1, 0));
    play.exits("worker-1", 0);
    play.settle();
    assert_eq!(play.outcome().unwrap(), "Succeeded");
}

#[test]
fn issue_1997_a_finished_pod_whose_node_is_drained_is_not_run_again() {
    let mut play = Play::running(&[("Chief", 1, "Never"), ("Worker", 1, "OnFailure")], "");
    play.exits("worker-0", 0);
    play.settle();
    play.told_to_stop("worker-0");
    play.collected("worker-0");
    play.wait(100);
    assert_eq!((play.created.len(), play.outcome()), (2, None));
}

#[test]
fn issue_2454_success_seen_only_in_the_last_word_of_a_vanishing_pod_counts() {
    let mut play = Play::running(&[("Worker", 1, "Never")], "");
    play.exits("worker-0", 0);
    play.collected("worker-0");
    play.settle();
    assert_eq!(
        (play.outcome().as_deref(), play.created.len()),
        (Some("Succeeded"), 1)
    );
}

// ---- Budgets and limits ----------------------------------------------------------------------------------------

#[test]
fn issue_2045_pods_created_again_by_exit_code_draw_on_backoff_limit() {
    let mut play = Play::running(
        &[("Chief", 1, "Never"), ("Worker", 1, "ExitCode")],
        "runPolicy: {backoffLimit: 2}",
    );
    for _ in 0..3 {
        assert_eq!(play.outcome(), None);
        play.exits("worker-0", 137);
        play.wait(120);
        play.all_run();
        play.settle();
    }
    assert_eq!(play.outcome().unwrap(), "Failed");
    let memory = play.memory.as_ref().unwrap();
    assert!(matches!(
        memory.verdict.as_ref().unwrap().cause,
        Cause::Restarts { .. }
    ));
    assert_eq!((memory.paid, play.created.len()), (2, 4));
    let (reason, message) = play.said("Failed");
    assert_eq!(reason, "TFJobFailed");
    let kubeflows = "Job mnist has failed because it has reached the specified backoff limit";
    assert!(message.starts_with(kubeflows), "{message}");
}

#[test]
fn issue_2342_backoff_limit_is_shared_by_pods_in_place_and_created_again() {
    let mut play = Play::running(
        &[("Chief", 1, "OnFailure"), ("Worker", 1, "ExitCode")],
        "runPolicy: {backoffLimit: 2}",
    );
    play.restarted_in_place("chief-0", 2, 1);
    play.wait(1);
    assert_eq!(play.outcome(), None, "two restarts are allowed");
    play.exits("worker-0", 137);
    play.wait(5);
    assert_eq!(play.outcome().unwrap(), "Failed");
}

#[test]
fn issue_2001_a_pod_that_never_starts_fails_the_job_in_time() {
    let mut play = Play::of(&manifest(
        &[("Worker", 2, "Never")],
        "runPolicy: {startTimeoutSeconds: 300}",
    ));
    play.settle();
    play.run("worker-0");
    play.settle();
    play.wait(299);
    assert_eq!(play.outcome(), None);
    play.wait(1);
    assert_eq!(play.outcome().unwrap(), "Failed");
    let (_, message) = play.said("Failed");
    assert!(
        message.contains("not running 300 seconds after its creation"),
        "{message}"
    );
}

#[test]
fn issue_2001_a_program_that_cannot_be_started_fails_the_job_instead_of_looping() {
    for policy in ["Never", "OnFailure", "ExitCode"] {
        let mut play = Play::running(&[("Worker", 1, policy)], "");
        play.cannot_start("worker-0");
        play.wait(5);
        assert_eq!(play.outcome().as_deref(), Some("Failed"), "{policy}");
        assert_eq!(play.created.len(), 1, "{policy}");
        let meaning = &play.status.as_ref().unwrap()["firstFailure"]["meaning"];
        assert!(
            meaning.as_str().unwrap().contains("could not be started"),
            "{meaning}"
        );
    }
}

#[test]
fn issue_1136_pods_in_place_past_the_limit_fail_the_job_and_their_logs_stay() {
    let mut play = Play::running(
        &[("PS", 1, "Never"), ("Worker", 2, "OnFailure")],
        "runPolicy: {backoffLimit: 1, cleanPodPolicy: None}",
    );
    play.exits("worker-1", 0);
    play.settle();
    play.restarted_in_place("worker-0", 2, 1);
    play.settle();
    assert_eq!(play.outcome().unwrap(), "Failed");
    assert_eq!(
        play.left(),
        ["worker-1"],
        "what lives is stopped, what has ended stays"
    );
}

#[test]
fn issue_1282_waits_between_restarts_grow_instead_of_a_hot_loop() {
    let mut play = Play::running(&[("Chief", 1, "Never"), ("Worker", 1, "ExitCode")], "");
    let mut waits = Vec::new();
    for _ in 0..7 {
        play.exits("worker-0", 137);
        let died = play.now;
        let before = play.created.len();
        while play.created.len() == before {
            play.wait(1);
        }
        waits.push(play.now - died);
        play.all_run();
        play.settle();
    }
    assert_eq!(waits, [1, 10, 20, 40, 80, 160, 320]);
}

#[test]
fn issue_1533_ttl_and_deadline_are_alarms_not_accidents() {
    let more = "runPolicy: {activeDeadlineSeconds: 500, ttlSecondsAfterFinished: 60}";
    let mut play = Play::running(&[("Worker", 1, "Never")], more);
    assert_eq!(play.step().wake.unwrap().0, 600, "the deadline is asked for");
    play.wait(499);
    assert_eq!(play.outcome(), None);
    play.wait(1);
    assert_eq!(play.outcome().unwrap(), "Failed");
    let (_, message) = play.said("Failed");
    let kubeflows = "Job mnist has failed because it was active longer than specified deadline";
    let ours = message.strip_prefix(kubeflows).unwrap();
    assert!(
        ours.contains("`activeDeadlineSeconds: 500`") && ours.contains("help: raise it"),
        "{message}"
    );
    play.wait(59);
    assert!(!play.deleted);
    play.wait(1);
    assert!(play.deleted);
}

#[test]
fn issue_2239_a_suspended_job_with_a_ttl_is_not_deleted() {
    let more = "runPolicy: {suspend: true, ttlSecondsAfterFinished: 0}";
    let mut play = Play::of(&manifest(&[("Worker", 1, "Never")], more));
    play.wait(10_000);
    assert!(!play.deleted);
    assert_eq!(play.conditions(), ["Created", "Suspended"]);
}

#[test]
fn issue_994_a_ttl_without_a_completion_time_cannot_be() {
    let more = "enableDynamicWorker: true, runPolicy: {ttlSecondsAfterFinished: 30}";
    let mut play = Play::running(&[("Worker", 2, "ExitCode")], more);
    play.exits("worker-0", 1);
    play.exits("worker-1", 1);
    play.wait(5);
    assert_eq!(play.outcome().unwrap(), "Failed");
    assert!(play.status.as_ref().unwrap()["completionTime"].is_string());
    play.wait(40);
    assert!(play.deleted);
}

// ---- Conditions ------------------------------------------------------------------------------------------------

#[test]
fn issue_1711_a_job_never_both_succeeds_and_fails() {
    for order in [["chief-0", "worker-0"], ["worker-0", "chief-0"]] {
        let mut play = Play::running(&[("Chief", 1, "Never"), ("Worker", 2, "Never")], "");
        for name in order {
            play.exits(name, i32::from(name == "worker-0"));
        }
        play.wait(5);
        assert_eq!(
            play.conditions(),
            ["Created", "!Running", "Succeeded"],
            "{order:?}"
        );
        play.wait(100);
        assert_eq!(
            play.conditions(),
            ["Created", "!Running", "Succeeded"],
            "{order:?}"
        );
    }
}

#[test]
fn issue_881_a_failed_parameter_server_fails_the_job_and_running_is_taken_back() {
    let mut play = Play::running(&[("PS", 1, "Never"), ("Worker", 2, "Never")], "");
    play.exits("ps-0", 1);
    play.wait(5);
    assert_eq!(play.conditions(), ["Created", "!Running", "Failed"]);
    let (_, message) = play.said("Failed");
    let kubeflows = "TFJob team/mnist has failed because 1 PS replica(s) failed. ";
    assert!(message.starts_with(kubeflows), "{message}");
}

#[test]
fn issue_1598_the_status_is_not_empty_while_the_chief_is_pending() {
    let mut play = Play::of(&manifest(&[("Chief", 1, "Never"), ("Worker", 1, "Never")], ""));
    play.settle();
    play.run("worker-0");
    play.settle();
    assert_eq!(play.conditions(), ["Created"]);
    assert_eq!(play.counts("Worker"), (1, 0, 0));
    assert_eq!(play.status.as_ref().unwrap()["startTime"], "1970-01-01T00:01:40Z");
}

#[test]
fn issue_889_counts_stay_when_the_pods_are_gone() {
    let more = "successPolicy: AllWorkers, runPolicy: {cleanPodPolicy: All}";
    let mut play = Play::running(&[("Worker", 3, "Never")], more);
    for name in ["worker-0", "worker-1", "worker-2"] {
        play.exits(name, 0);
        play.settle();
    }
    play.wait(60);
    assert_eq!(play.left(), Vec::<String>::new());
    assert_eq!(play.counts("Worker"), (0, 3, 0));
    let mut failed = Play::running(&[("Worker", 3, "Never")], "runPolicy: {cleanPodPolicy: All}");
    failed.exits("worker-1", 1);
    failed.wait(60);
    assert_eq!(failed.left(), Vec::<String>::new());
    assert_eq!(
        failed.counts("Worker"),
        (0, 0, 1),
        "nothing is active without a pod"
    );
}

#[test]
fn issue_712_a_failure_of_one_role_is_not_masked_by_the_restart_of_another() {
    let mut play = Play::running(
        &[
            ("Chief", 1, "Never"),
            ("PS", 1, "Never"),
            ("Worker", 1, "ExitCode"),
        ],
        "",
    );
    play.has_restarted_once("worker-0");
    play.exits("worker-0", 137);
    play.wait(3);
    assert_eq!(play.conditions(), ["Created", "Restarting"]);
    play.exits("ps-0", 1);
    play.wait(3);
    assert_eq!(play.outcome().unwrap(), "Failed");
    assert_eq!(play.conditions().last().unwrap(), "Failed");
}

#[test]
fn issue_1749_the_first_failure_is_in_the_status_with_its_meaning() {
    let mut play = Play::running(&[("Chief", 1, "Never"), ("Worker", 2, "ExitCode")], "");
    play.exits("worker-1", 139);
    play.wait(20);
    play.all_run();
    play.exits("worker-0", 1);
    play.wait(5);
    assert_eq!(play.outcome().unwrap(), "Failed");
    let failure = &play.status.as_ref().unwrap()["firstFailure"];
    assert_eq!(failure["task"], "worker-1");
    assert_eq!(
        (failure["exitCode"].as_i64(), failure["signal"].as_i64()),
        (Some(139), Some(11))
    );
    assert!(
        failure["meaning"]
            .as_str()
            .unwrap()
            .contains("segmentation fault")
    );
    assert_eq!(failure["time"], "1970-01-01T00:01:40Z");
}

// ---- Odd specs -------------------------------------------------------------------------------------------------

#[test]
fn issue_1216_a_role_without_replicas_creates_nothing_and_ends_nothing() {
    let mut play = Play::of(&manifest(&[("Chief", 1, "Never"), ("Worker", 0, "Never")], ""));
    play.settle();
    play.all_run();
    play.wait(100);
    assert_eq!(
        (play.created.as_slice(), play.outcome()),
        (&["chief-0".to_owned()][..], None)
    );
    let mut play = Play::of(&manifest(&[("Chief", 0, "Never"), ("Worker", 1, "Never")], ""));
    play.settle();
    assert_eq!(
        (play.created.as_slice(), play.outcome()),
        (&["worker-0".to_owned()][..], None)
    );
    play.all_run();
    play.exits("worker-0", 0);
    play.settle();
    assert_eq!(
        play.outcome().unwrap(),
        "Succeeded",
        "without a chief the worker decides"
    );
}

#[test]
fn issue_1101_names_that_become_too_long_are_refused_before_anything_is_made() {
    let long = "a".repeat(54);
    let text = manifest(&[("Worker", 1, "Never"), ("Evaluator", 1, "Never")], "");
    assert_eq!(
        notation::codes(&text.replace("name: mnist", &format!("name: {long}"))),
        ["TY041"]
    );
    let fits = "a".repeat(51);
    let fits = text.replace("name: mnist", &format!("name: {fits}"));
    assert_eq!(notation::codes(&fits), Vec::<String>::new());
    let generated = text.replace("name: mnist", &format!("generateName: {}", "a".repeat(47)));
    assert_eq!(
        notation::codes(&generated),
        ["TY041"],
        "the server adds five letters"
    );
}

#[test]
fn issue_1745_names_that_no_service_can_have_are_refused() {
    let text = manifest(&[("Worker", 1, "Never")], "");
    for name in ["1mnist", "Mnist", "mnist.v1", "mnist-"] {
        assert_eq!(
            notation::codes(&text.replace("name: mnist", &format!("name: {name}"))),
            ["TY056"],
            "{name}"
        );
    }
}

#[test]
fn issue_813_unusual_specs_are_reported_and_nothing_crashes() {
    // 813, 706, 611, 1284, 1382, 1135: missing containers, wrong types, fields of older versions.
    let heading = "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: a}\n";
    for spec in [
        "",
        "spec:",
        "spec: 1",
        "spec: {}",
        "spec: {tfReplicaSpecs: }",
        "spec: {tfReplicaSpecs: []}",
        "spec: {tfReplicaSpecs: {Worker: }}",
        "spec: {tfReplicaSpecs: {Worker: {template: }}}",
        "spec: {tfReplicaSpecs: {Worker: {template: {spec: {containers: []}}}}}",
        "spec: {tfReplicaSpecs: {Worker: {template: {spec: {containers: [{}]}}}}}",
        "spec: {tfReplicaSpecs: {Worker: {replicas: 9999999, template: {spec: {containers: [{name: tensorflow, image: i}]}}}}}",
    ] {
        assert!(
            !notation::codes(&format!("{heading}{spec}\n")).is_empty(),
            "{spec}"
        );
    }
}

#[test]
fn issue_1192_a_job_without_workers_runs() {
    let mut play = Play::running(&[("Master", 1, "Never"), ("PS", 1, "Never")], "");
    play.exits("master-0", 0);
    play.settle();
    assert_eq!(play.outcome().unwrap(), "Succeeded");
    let mut alone = Play::running(&[("Chief", 1, "Never")], "");
    alone.exits("chief-0", 0);
    alone.settle();
    assert_eq!(alone.outcome().unwrap(), "Succeeded");
}

#[test]
fn issue_1306_a_new_job_of_an_old_name_starts_afresh() {
    let mut play = Play::running(&[("Worker", 1, "Never")], "");
    play.exits("worker-0", 0);
    play.settle();
    let old: Memory = play.memory.clone().unwrap();
    let mut again = Play::of(&manifest(&[("Worker", 1, "Never")], "").replace("u-1", "u-2"));
    again.memory = Some(old);
    again.settle();
    assert_eq!(
        (again.outcome(), again.created.as_slice()),
        (None, &["worker-0".to_owned()][..])
    );
}

// ---- TF_CONFIG -------------------------------------------------------------------------------------------------

fn tf_config(play: &Play, task: &str) -> String {
    let task: TaskId = task.parse().unwrap();
    Cluster::of(&play.job, &addresses(&play.job, None))
        .tf_config(&task)
        .unwrap()
}

#[test]
fn issue_1633_the_evaluator_is_not_in_the_cluster_unless_asked_for() {
    let roles = [
        ("Chief", 1, "Never"),
        ("Worker", 1, "Never"),
        ("Evaluator", 1, "Never"),
    ];
    let text = manifest(&roles, "");
    let ours = tf_config(&Play::of(&text), "worker-0");
    assert!(!ours.contains("evaluator"), "{ours}");
    let annotated = text.replace(
        "uid: u-1",
        "uid: u-1, annotations: {trainyard.dev/evaluator-in-cluster: 'true'}",
    );
    let theirs = tf_config(&Play::of(&annotated), "worker-0");
    assert!(theirs.contains("\"evaluator\":[\"mnist-evaluator-0."), "{theirs}");
}

#[test]
fn issue_1763_the_chief_of_a_job_with_dynamic_workers_gets_a_cluster_it_can_use() {
    let roles = [("Chief", 1, "Never"), ("PS", 2, "Never"), ("Worker", 2, "Never")];
    let play = Play::of(&manifest(&roles, "enableDynamicWorker: true"));
    let chief = tf_config(&play, "chief-0");
    assert!(chief.contains("\"chief\":[\"mnist-chief-0."), "{chief}");
    assert!(
        chief.contains("mnist-ps-0.") && chief.contains("mnist-ps-1."),
        "{chief}"
    );
}

// ---- Gangs -----------------------------------------------------------------------------------------------------

#[test]
fn issue_1011_the_group_of_a_job_is_made_once_and_removed_once() {
    let mut play = Play::running(
        &[("Worker", 2, "Never")],
        "runPolicy: {schedulingPolicy: {minAvailable: 2}}",
    );
    let gang = |step: &trainyard_core::Step| {
        let about = |action: &&Action| {
            matches!(
                action,
                Action::Ensure(trainyard_core::Fixture::Gang) | Action::Remove(trainyard_core::Fixture::Gang)
            )
        };
        step.actions.iter().filter(about).count()
    };
    assert_eq!(gang(&play.step()), 0);
    play.exits("worker-0", 0);
    assert_eq!(gang(&play.step()), 1, "taken away with the verdict");
    for _ in 0..5 {
        assert_eq!(gang(&play.step()), 0);
    }
}

#[test]
fn issue_1977_the_group_knows_queue_priority_and_what_its_members_ask_for() {
    let text = manifest(
        &[("PS", 1, "Never"), ("Worker", 3, "Never")],
        "runPolicy: {schedulingPolicy: {minAvailable: 3, queue: vision, priorityClass: high}}",
    );
    let text = text.replace(
        "image: i",
        "image: i, resources: {requests: {cpu: 500m}, limits: {cpu: 1, nvidia.com/gpu: 2}}",
    );
    let gang = Play::of(&text).job.gang.unwrap();
    assert_eq!(
        (gang.members, gang.queue.as_deref(), gang.priority.as_deref()),
        (3, Some("vision"), Some("high"))
    );
    let asked: Vec<(String, i64)> = gang
        .resources
        .iter()
        .map(|(name, milli)| (name.to_string(), *milli))
        .collect();
    assert_eq!(
        asked,
        [("cpu".to_owned(), 1500), ("nvidia.com/gpu".to_owned(), 6000)]
    );
}

// ---- Clean-up and whole-job restarts ---------------------------------------------------------------------------

#[test]
fn issue_774_a_default_that_leaves_parameter_servers_running_is_warned_of() {
    let text = manifest(&[("PS", 1, "Never"), ("Worker", 1, "Never")], "");
    assert_eq!(notation::codes(&text), ["TY049"]);
    let text = manifest(
        &[("PS", 1, "Never"), ("Worker", 1, "Never")],
        "runPolicy: {cleanPodPolicy: Running}",
    );
    assert_eq!(notation::codes(&text), Vec::<String>::new());
    assert_eq!(Play::of(&text).job.clean, Clean::Unfinished);
}

#[test]
fn issue_2269_a_mirrored_job_restarts_as_a_whole() {
    let more = "runPolicy: {restartScope: Job, backoffLimit: 2}";
    let mut play = Play::running(&[("Worker", 3, "ExitCode")], more);
    play.exits("worker-1", 137);
    play.wait(1);
    play.exits("worker-2", 1);
    play.wait(60);
    let memory = play.memory.as_ref().unwrap();
    assert_eq!(
        (memory.epoch, memory.paid, play.created.len()),
        (1, 1, 6),
        "two deaths, one restart"
    );
    assert_eq!(play.conditions(), ["Created", "Restarting"]);
    play.all_run();
    play.settle();
    assert_eq!(play.conditions(), ["Created", "Running"]);
    play.exits("worker-0", 0);
    play.settle();
    assert_eq!(play.outcome().unwrap(), "Succeeded");
}

#[test]
fn issue_2000_a_drained_worker_restarts_the_mirrored_job_for_free() {
    let more = "runPolicy: {restartScope: Job, backoffLimit: 1}";
    let mut play = Play::running(&[("Worker", 2, "ExitCode")], more);
    play.now += 300;
    play.told_to_stop("worker-1");
    play.exits("worker-0", 1);
    play.wait(4);
    play.drained("worker-1", 143);
    play.wait(30);
    let memory = play.memory.as_ref().unwrap();
    assert_eq!((memory.epoch, memory.paid), (1, 0), "the peer died because of it");
}
