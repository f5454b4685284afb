//! What manifests compile to.

use trainyard_core::{InPlace, Settled, Test, When};

use crate::notation::{assert_complete, file, files, job, read, rules};

/// A job with these policies on the job and on the worker.
fn text(job: &str, worker: &str) -> String {
    crate::text(
        &format!("policies: [{job}]"),
        &format!("maxRetry: 5\n      policies: [{worker}]"),
    )
}

/// The rules that the policies give, without what every job has.
fn of_policies(job_policies: &str, worker_policies: &str) -> Vec<String> {
    let read = job(&text(job_policies, worker_policies));
    assert_complete(&read.job, job_policies);
    let mut all = rules(&read.job);
    all.truncate(all.len() - 5);
    all
}

#[test]
fn the_tutorials_job_compiles_to_nine_rules() {
    let read = job(&file("tests/fixtures/ok/volcano/tutorial-hosts-from-files.yaml"));
    assert_eq!(
        rules(&read.job),
        [
            "count worker succeeded = all → complete  spec.tasks[1].policies[0]",
            "any disrupted|vanished → restart job $  spec.policies[0]",
            "any disrupted|vanished → fail  spec.maxRetry",
            "any failed → keep  built in",
            "any succeeded → keep  built in",
            "count any ended = all, ps succeeded < 1 → fail  spec.tasks[0].minAvailable",
            "count any ended = all, worker succeeded < 2 → fail  spec.tasks[1].minAvailable",
            "count any ended = all, any succeeded ≥ 3 → complete  spec.minAvailable",
            "count any ended = all → fail  built in",
        ]
    );
}

#[test]
fn without_policies_a_deleted_pod_is_made_anew_and_a_failed_one_stays() {
    assert_eq!(
        of_policies("", ""),
        [
            "any disrupted|vanished → restart task  built in",
            "any failed → keep  built in",
        ]
    );
}

#[test]
fn each_event_of_the_job_is_waited_for_in_its_own_way() {
    let anew = "any disrupted|vanished → restart task  built in";
    let keep = "any failed → keep  built in";
    let table: &[(&str, &[&str])] = &[
        (
            "PodFailed",
            &["any failed|disrupted → abort  spec.policies[0]", anew],
        ),
        (
            "PodEvicted",
            &["any disrupted|vanished → abort  spec.policies[0]", keep],
        ),
        (
            "TaskCompleted",
            &[
                "count ps succeeded = all → abort  spec.policies[0]",
                "count worker succeeded = all → abort  spec.policies[0]",
                anew,
                keep,
            ],
        ),
        (
            "TaskFailed",
            &[
                "ps in place ≥ 3 → abort  spec.policies[0]",
                "worker in place ≥ 5 → abort  spec.policies[0]",
                anew,
                keep,
            ],
        ),
        ("Unknown", &["gang broken → abort  spec.policies[0]", anew, keep]),
        ("PodPending", &[anew, keep]),
        ("JobUpdated", &[anew, keep]),
        (
            "'*'",
            &[
                "any failed|disrupted|vanished → abort  spec.policies[0]",
                "count ps succeeded = all → abort  spec.policies[0]",
                "ps in place ≥ 3 → abort  spec.policies[0]",
                "count worker succeeded = all → abort  spec.policies[0]",
                "worker in place ≥ 5 → abort  spec.policies[0]",
                "gang broken → abort  spec.policies[0]",
            ],
        ),
    ];
    for (event, expected) in table {
        let policy = format!("{{event: {event}, action: AbortJob}}");
        assert_eq!(of_policies(&policy, ""), *expected, "{event}");
    }
}

#[test]
fn each_action_means_one_thing_and_a_restart_two() {
    let fails = |who: &str| format!("{who} 3 → fail  spec.maxRetry");
    let from = "spec.policies[0]";
    let table: &[(&str, Vec<String>)] = &[
        ("AbortJob", vec![format!("any 3 → abort  {from}")]),
        ("TerminateJob", vec![format!("any 3 → terminate  {from}")]),
        ("CompleteJob", vec![format!("any 3 → complete  {from}")]),
        ("ResumeJob", vec![format!("any 3 → keep  {from}")]),
        (
            "RestartJob",
            vec![format!("any 3 → restart job $  {from}"), fails("any")],
        ),
        (
            "RestartPod",
            vec![format!("any 3 → restart task $  {from}"), fails("any")],
        ),
        (
            "RestartTask",
            vec![
                format!("ps 3 → restart ps $  {from}"),
                fails("ps"),
                format!("worker 3 → restart worker $  {from}"),
                fails("worker"),
            ],
        ),
    ];
    for (action, expected) in table {
        let found = of_policies(&format!("{{exitCode: 3, action: {action}}}"), "");
        assert_eq!(found[..found.len() - 2], expected[..], "{action}");
    }
}

#[test]
fn a_restart_for_a_level_takes_all_that_the_level_looked_at() {
    let table: &[(&str, &str, &str)] = &[
        (
            "TaskFailed",
            "RestartPod",
            "worker in place ≥ 5 → restart worker $  spec.policies[0]",
        ),
        (
            "TaskCompleted",
            "RestartPod",
            "count worker succeeded = all → restart worker $  spec.policies[0]",
        ),
        (
            "Unknown",
            "RestartTask",
            "gang broken → restart job $  spec.policies[0]",
        ),
        (
            "Unknown",
            "RestartPod",
            "gang broken → restart job $  spec.policies[0]",
        ),
    ];
    for (event, action, expected) in table {
        let found = of_policies(&format!("{{event: {event}, action: {action}}}"), "");
        assert!(
            found.iter().any(|rule| rule == expected),
            "{event} {action}: {found:#?}"
        );
    }
}

#[test]
fn a_task_comes_before_its_job_and_lists_keep_their_order() {
    let found = of_policies(
        "{event: PodFailed, action: RestartJob}",
        "{exitCode: 2, action: TerminateJob}, {events: [PodFailed, PodEvicted], action: RestartPod}",
    );
    assert_eq!(
        found,
        [
            "worker 2 → terminate  spec.tasks[1].policies[0]",
            "worker failed|disrupted|vanished → restart task $  spec.tasks[1].policies[1]",
            "worker failed|disrupted|vanished → fail  spec.maxRetry",
            "any failed|disrupted → restart job $  spec.policies[0]",
            "any failed|disrupted → fail  spec.maxRetry",
            "any disrupted|vanished → restart task  built in",
        ]
    );
}

#[test]
fn an_eviction_is_answered_by_its_own_policies_before_those_for_failures() {
    let evicted = "{event: PodEvicted, action: RestartJob}";
    let failed = "{event: PodFailed, action: AbortJob}";
    assert_eq!(
        of_policies(evicted, failed),
        [
            "worker failed → abort  spec.tasks[1].policies[0]",
            "any disrupted|vanished → restart job $  spec.policies[0]",
            "any disrupted|vanished → fail  spec.maxRetry",
            "any failed → keep  built in",
        ]
    );
    assert_eq!(
        of_policies(failed, "{event: PodEvicted, action: RestartPod}"),
        [
            "worker disrupted|vanished → restart task $  spec.tasks[1].policies[0]",
            "worker disrupted|vanished → fail  spec.maxRetry",
            "any failed|disrupted → abort  spec.policies[0]",
            "any disrupted|vanished → restart task  built in",
        ],
        "the ps has no policy for evictions: there a failure's is asked"
    );
}

#[test]
fn policies_for_failures_leave_evictions_to_those_that_wait_for_them() {
    let worker = "{event: PodFailed, action: AbortJob}, {event: PodEvicted, action: RestartPod, timeout: 1m}";
    assert_eq!(
        of_policies("", worker)[..3],
        [
            "worker failed → abort  spec.tasks[1].policies[0]",
            "worker disrupted|vanished → restart task  spec.tasks[1].policies[1]",
            "worker down again @60s → restart task $  spec.tasks[1].policies[1]",
        ]
    );
    let job = "{event: PodFailed, action: AbortJob}, {event: PodEvicted, action: RestartTask}";
    let found = of_policies(job, "");
    assert_eq!(found[0], "any failed → abort  spec.policies[0]");
    assert!(
        !found.iter().any(|rule| rule.starts_with("any disrupted → abort")),
        "{found:#?}"
    );
}

#[test]
fn a_time_out_leaves_the_end_as_it_is_and_then_looks_whether_the_pod_is_still_down() {
    let table: &[(&str, &[&str])] = &[
        (
            "event: PodPending",
            &["any down first-start|again @600s → abort  spec.policies[0]"],
        ),
        (
            "event: PodFailed",
            &[
                "any failed → keep  spec.policies[0]",
                "any down failed @600s → abort  spec.policies[0]",
            ],
        ),
        (
            "event: PodEvicted",
            &[
                "any disrupted|vanished → restart task  spec.policies[0]",
                "any down again @600s → abort  spec.policies[0]",
            ],
        ),
        (
            "events: [PodFailed, PodEvicted]",
            &[
                "any disrupted|vanished → restart task  spec.policies[0]",
                "any failed → keep  spec.policies[0]",
                "any down again|failed @600s → abort  spec.policies[0]",
            ],
        ),
        ("exitCode: 7", &["any 7 @600s → abort  spec.policies[0]"]),
    ];
    for (trigger, expected) in table {
        let found = of_policies(&format!("{{{trigger}, action: AbortJob, timeout: 10m}}"), "");
        assert_eq!(found[..expected.len()], **expected, "{trigger}");
    }
}

#[test]
fn the_end_is_judged_by_the_minimums() {
    let ends = |text: &str| {
        let read = job(text);
        let end = |rule: &&trainyard_core::Rule| match &rule.when {
            When::Count(counts) => counts[0].test == Test::All && counts[0].what == Settled::Ended,
            _ => false,
        };
        let position = read.job.rules.iter().position(|rule| end(&rule)).unwrap();
        rules(&read.job).split_off(position)
    };
    let base = text("", "");
    assert_eq!(
        ends(&base.replace("  policies: []\n  tasks", "  minAvailable: 2\n  tasks")),
        [
            "count any ended = all, any succeeded ≥ 2 → complete  spec.minAvailable",
            "count any ended = all → fail  built in",
        ],
        "fewer than the tasks need: they are not asked"
    );
    let none_of_ps = base.replace("replicas: 1,", "replicas: 1, minAvailable: 0,");
    assert_eq!(
        ends(&none_of_ps),
        [
            "count any ended = all, worker succeeded < 2 → fail  spec.tasks[1].minAvailable",
            "count any ended = all, any succeeded ≥ 2 → complete  spec.minAvailable",
            "count any ended = all → fail  built in",
        ]
    );
    assert_eq!(
        ends(&base.replace("  policies: []\n  tasks", "  minSuccess: 2\n  tasks")),
        ["count any ended = all → fail  spec.minSuccess"]
    );
}

#[test]
fn max_retry_counts_the_request_that_ends_the_job() {
    for (given, restarts) in [
        ("", 2),
        ("maxRetry: 0\n", 2),
        ("maxRetry: 1\n", 0),
        ("maxRetry: 7\n", 6),
    ] {
        let text = text("", "").replace("  policies: []\n  tasks", &format!("  {given}  tasks"));
        assert_eq!(job(&text).job.limits.restarts, Some(restarts), "{given}");
    }
}

#[test]
fn the_restart_policy_is_the_templates_own() {
    let read = job(&text("{event: PodEvicted, action: RestartJob}", ""));
    let in_place: Vec<InPlace> = read.job.roles.iter().map(|role| role.in_place).collect();
    assert_eq!(in_place, [InPlace::Never, InPlace::OnFailure]);
    let always = job(&file(
        "tests/fixtures/ok/volcano/template-without-restart-policy.yaml",
    ));
    assert_eq!(always.job.roles[0].in_place, InPlace::Always);
}

#[test]
fn policies_that_never_decide_are_warned_of() {
    let table = [
        (
            "{exitCode: 3, action: AbortJob}",
            "{event: PodFailed, action: RestartPod}",
            0,
        ),
        (
            "",
            "{event: PodFailed, action: RestartPod}, {exitCode: 3, action: AbortJob}",
            1,
        ),
        (
            "",
            "{exitCode: 3, action: AbortJob}, {event: PodFailed, action: RestartPod}",
            0,
        ),
        (
            "",
            "{events: [PodFailed, PodEvicted], action: AbortJob}, {exitCode: 3, action: AbortJob}",
            1,
        ),
        (
            "{event: PodFailed, action: AbortJob}, {exitCode: 9, action: RestartJob}",
            "",
            1,
        ),
    ];
    for (job, worker, warnings) in table {
        let problems = read(&text(job, worker)).problems;
        let shadowed = problems
            .iter()
            .filter(|problem| problem.code.to_string() == "TY055");
        assert_eq!(shadowed.count(), warnings, "{job} {worker}: {problems:#?}");
    }
}

#[test]
fn every_good_manifest_answers_every_end_of_every_task() {
    let mut count = 0;
    for folder in ["tests/fixtures/ok/volcano", "examples/volcano"] {
        for path in files(folder) {
            let name = path.display().to_string();
            assert_complete(&job(&std::fs::read_to_string(path).unwrap()).job, &name);
            count += 1;
        }
    }
    assert!(count >= 16, "{count}");
}

#[test]
fn jobs_that_can_never_succeed_are_warned_of() {
    let warned = |text: &str| {
        let problems = read(text).problems;
        problems.iter().any(|problem| problem.code.to_string() == "TY054")
    };
    for name in ["any-event", "template-without-restart-policy"] {
        assert!(
            warned(&file(&format!("tests/fixtures/ok/volcano/{name}.yaml"))),
            "{name}"
        );
    }
    // Completing a task is answered with something else than success, before anything could count it.
    let table = [
        ("{event: TaskCompleted, action: TerminateJob}", "", true),
        (
            "{event: TaskCompleted, action: TerminateJob}",
            "{event: TaskCompleted, action: CompleteJob}",
            false,
        ),
        (
            "{event: TaskCompleted, action: CompleteJob}",
            "{event: TaskCompleted, action: AbortJob}",
            false,
        ),
        ("", "{event: TaskCompleted, action: RestartTask}", true),
        ("", "", false),
    ];
    for (job, worker, never) in table {
        assert_eq!(warned(&text(job, worker)), never, "{job} | {worker}");
    }
}
