//! The sentences of the three manifests that set the bar, and the corners of others.

use super::{Vocabulary, can_succeed, clean, gang, limits, notes, rules, start_order, story, success};
use crate::policy::testing::{count, on_end, role, rule};
use crate::{
    Addresses, After, Clean, ClusterForm, Count, Down, Gang, GangScheduler, How, InPlace, Job, Limits,
    Outcome, Role, RoleKind, RoleName, Rule, Scope, Settled, Test, Then, When, Who,
};

const TFJOB: Vocabulary = Vocabulary {
    restarts: Some("runPolicy.backoffLimit"),
    restart_all: Some("runPolicy.restartScope: Job"),
    clean_none: Some("cleanPodPolicy: None"),
    on_failure: None,
    suspend: Some("runPolicy.suspend"),
};

fn job(roles: Vec<Role>, rules: Vec<Rule>) -> Job {
    Job {
        name: "mnist".into(),
        namespace: "default".into(),
        uid: "".into(),
        roles,
        rules,
        limits: Limits::default(),
        clean: Clean::Unfinished,
        suspend: false,
        gang: None,
        addresses: Addresses::PerJob,
        cluster: ClusterForm::None,
    }
}

fn ends(who: Who, how: &[How], then: Then) -> Rule {
    rule(
        When::Ended {
            who,
            how: how.to_vec(),
        },
        then,
    )
}

fn again(scope: Scope, paid: bool) -> Then {
    Then::Restart { scope, paid }
}

fn named(name: &str) -> Who {
    Who::role(&RoleName::new(name))
}

const COMPLETE: Then = Then::Finish(Outcome::Succeeded);
const FAIL: Then = Then::Finish(Outcome::Failed);

fn all_ended() -> Rule {
    count(Who::any(), Settled::Ended, Test::All, FAIL)
}

/// Chief 1, PS 2, Worker 4, all `ExitCode`, `backoffLimit: 6`, `cleanPodPolicy: Running`.
fn tfjob(scope: &Scope) -> Job {
    let roles = vec![
        role("chief", RoleKind::Chief, 1),
        role("ps", RoleKind::Ps, 2),
        role("worker", RoleKind::Worker, 4),
    ];
    let paid = match scope {
        Scope::Job => ends(Who::any(), &[How::Failed], again(Scope::Job, true)),
        _ => ends(
            Who::any(),
            &[How::Codes(42, 42), How::Codes(128, 255)],
            again(scope.clone(), true),
        ),
    };
    let rules = vec![
        count(named("chief"), Settled::Succeeded, Test::All, COMPLETE),
        ends(
            Who::any(),
            &[How::Disrupted, How::Vanished],
            again(scope.clone(), false),
        ),
        ends(Who::any(), &[How::NotStarted], FAIL),
        paid,
        ends(Who::any(), &[How::Failed], FAIL),
        ends(Who::any(), &[How::Succeeded], Then::Keep),
        all_ended(),
    ];
    let mut job = job(roles, rules);
    job.limits.restarts = Some(6);
    job.limits.count_in_place = true;
    job
}

/// Four workers, `OnFailure`, nothing else.
fn t9k() -> Job {
    let worker = RoleName::new("worker");
    let rules = vec![
        count(
            Who::task(&worker, 0),
            Settled::Succeeded,
            Test::AtLeast(1),
            COMPLETE,
        ),
        ends(
            Who::any(),
            &[How::Disrupted, How::Vanished],
            again(Scope::Task, false),
        ),
        ends(named("worker"), &[How::Failed], again(Scope::Task, true)),
        ends(Who::task(&worker, 0), &[How::Failed], FAIL),
        ends(named("worker"), &[How::Failed], Then::Keep),
        ends(Who::any(), &[How::Succeeded], Then::Keep),
        all_ended(),
    ];
    let mut job = job(vec![role("worker", RoleKind::Worker, 4)], rules);
    job.clean = Clean::None;
    job
}

fn at_the_end(who: Who, test: Test, then: Then) -> Rule {
    let ended = Count {
        who: Who::any(),
        what: Settled::Ended,
        test: Test::All,
    };
    let succeeded = Count {
        who,
        what: Settled::Succeeded,
        test,
    };
    rule(When::Count(vec![ended, succeeded]), then)
}

/// One PS, two workers, `PodEvicted` → `RestartJob`, `TaskCompleted` → `CompleteJob`, `maxRetry: 3`.
fn volcano() -> Job {
    let roles = vec![role("ps", RoleKind::Ps, 1), role("worker", RoleKind::Worker, 2)];
    let gone = [How::Disrupted, How::Vanished];
    let rules = vec![
        count(named("worker"), Settled::Succeeded, Test::All, COMPLETE),
        ends(Who::any(), &gone, again(Scope::Job, true)),
        ends(Who::any(), &gone, FAIL),
        ends(Who::any(), &[How::Failed], Then::Keep),
        ends(Who::any(), &[How::Succeeded], Then::Keep),
        at_the_end(named("ps"), Test::Below(1), FAIL),
        at_the_end(named("worker"), Test::Below(2), FAIL),
        at_the_end(Who::any(), Test::AtLeast(3), COMPLETE),
        all_ended(),
    ];
    let mut job = job(roles, rules);
    job.limits.restarts = Some(2);
    job
}

#[test]
fn a_tfjob_with_exit_codes_is_told_as_its_owner_would_ask() {
    assert_eq!(
        story(&tfjob(&Scope::Task), &TFJOB),
        [
            "Succeeds when chief-0 exits 0; the others are then stopped.",
            "A task that is evicted, preempted or deleted is started again and costs nothing.",
            "A task that is killed by a signal (exit 128–255) or exits 42 is started again, at once, then after 10 s, 20 s, … at most 6 min; \
             6 such restarts are shared by all 7 tasks, the next one fails the job.",
            "Any other failure, also of a PS, fails the job at once.",
        ]
    );
    // A strategy with parameter servers is not mirrored.
    let mut job = tfjob(&Scope::Task);
    job.cluster = ClusterForm::Full {
        roles: Vec::new(),
        environment: true,
    };
    assert_eq!(notes(&job, &TFJOB), [""; 0]);
    job.roles.retain(|role| role.kind != RoleKind::Ps);
    assert_eq!(
        notes(&job, &TFJOB),
        ["nothing restarts the other tasks: for a mirrored strategy set `runPolicy.restartScope: Job`"]
    );
}

#[test]
fn a_tfjob_that_restarts_whole_says_so() {
    assert_eq!(
        story(&tfjob(&Scope::Job), &TFJOB)[1..],
        [
            "If a task is evicted, preempted or deleted, all 7 tasks are stopped and started again; this costs nothing.",
            "If a task exits with another code than 0, all 7 tasks are stopped and started again, at once, then after 10 s, 20 s, \
             … at most 6 min, at most 6 times; the seventh time the job fails.",
            "If a task cannot be started, the job fails.",
        ]
    );
    assert!(notes(&tfjob(&Scope::Job), &TFJOB).is_empty());
}

#[test]
fn a_t9k_job_without_a_limit_says_that_it_has_none() {
    let words = Vocabulary {
        clean_none: Some("cleanUpPolicy: None"),
        ..TFJOB
    };
    assert_eq!(
        story(&t9k(), &words),
        [
            "Succeeds when worker-0 exits 0.",
            "A worker that is evicted, preempted or deleted is started again.",
            "A worker that fails is started again each time, at once, then after 10 s, 20 s, … at most 6 min, without limit.",
            "When it ends everything is left as it is (`cleanUpPolicy: None`).",
        ]
    );
    assert_eq!(
        notes(&t9k(), &words)[0],
        "restarts have no limit: set `runPolicy.backoffLimit`"
    );
    let never: Vec<_> = rules(&t9k()).into_iter().map(|rule| rule.never).collect();
    let unlimited = Some("restarts have no limit");
    assert_eq!(never, [None, None, None, unlimited, unlimited, None, None]);
}

#[test]
fn a_t9k_job_with_a_limit_says_who_decides_after_it() {
    let mut job = t9k();
    job.limits.restarts = Some(3);
    assert_eq!(
        story(&job, &TFJOB)[2..],
        [
            "If worker-0 fails, it is started again, at once, then after 10 s, 20 s, … at most 6 min; 3 such restarts are shared by \
             all 4 workers, the next one fails the job.",
            "A worker other than worker-0 that fails is started again, from the same 3 restarts; without one left it stays \
             ended.",
            "If every task has ended and it has not succeeded, the job fails.",
            "When it ends everything is left as it is (`cleanPodPolicy: None`).",
        ]
    );
    assert!(rules(&job).iter().all(|rule| rule.never.is_none()));
    job.roles[0].replicas = 2;
    assert!(story(&job, &TFJOB)[3].starts_with("If worker-1 fails, it is started again"));
}

#[test]
fn a_volcano_job_says_what_nobody_answers() {
    let words = Vocabulary {
        on_failure: Some("event: PodFailed"),
        ..Vocabulary::default()
    };
    assert_eq!(
        story(&volcano(), &words),
        [
            "Succeeds when both workers have exited 0; ps-0 is then stopped.",
            "If a task is evicted, preempted or deleted, all 3 tasks are stopped and started again, at once, then after 10 s, 20 s, … \
             at most 6 min, at most twice; the third time the job fails.",
            "A task that fails is NOT started again and does not fail the job: the job goes on until it succeeds or every \
             task has ended, and ps-0 never ends by itself. To answer it, add `event: PodFailed`.",
            "If every task has ended and it has not succeeded, the job fails.",
        ]
    );
}

#[test]
fn rules_are_listed_as_they_stand() {
    let words: Vec<String> = rules(&volcano())
        .into_iter()
        .map(|rule| format!("{} → {}", rule.when, rule.then))
        .collect();
    assert_eq!(
        words,
        [
            "both workers have exited 0 → the job succeeds",
            "a task is evicted, preempted or deleted → all tasks are started again together, for one of the restarts left",
            "a task is evicted, preempted or deleted → the job fails",
            "a task fails → it stays ended",
            "a task exits 0 → it stays ended",
            "every task has ended and ps-0 has not exited 0 → the job fails",
            "every task has ended and fewer than 2 workers have exited 0 → the job fails",
            "every task has exited 0 → the job succeeds",
            "every task has ended → the job fails",
        ]
    );
}

#[test]
fn levels_say_what_they_look_at() {
    let down = |why: &[Down]| When::Down {
        who: named("worker"),
        why: why.to_vec(),
    };
    let held = |when: When, held: u32| Rule {
        held,
        ..rule(when, FAIL)
    };
    let cases = [
        (
            held(down(&[Down::FirstStart, Down::Again]), 600),
            "a worker does not run 10 min after it was created",
        ),
        (
            held(down(&[Down::Again]), 30),
            "a worker does not run 30 s after it was created again",
        ),
        (
            held(down(&[Down::Failed]), 30),
            "a worker has been failed for 30 s",
        ),
        (
            rule(
                When::InPlace {
                    who: named("ps"),
                    at_least: 3,
                },
                FAIL,
            ),
            "ps-0 has been restarted in place 3 times or more",
        ),
        (
            rule(
                When::InPlace {
                    who: named("worker"),
                    at_least: 2,
                },
                FAIL,
            ),
            "the workers together have been restarted in place twice or more",
        ),
        (
            rule(When::GangBroken, again(Scope::Job, true)),
            "the scheduler has lost part of the gang",
        ),
        (
            count(named("worker"), Settled::Succeeded, Test::AtLeast(1), COMPLETE),
            "at least one worker has exited 0",
        ),
        (
            held(
                When::Ended {
                    who: named("worker"),
                    how: vec![How::Codes(3, 3), How::Codes(130, 140)],
                },
                5,
            ),
            "a worker exits 3 or 130–140, and 5 s have passed",
        ),
    ];
    for (rule, words) in cases {
        assert_eq!(super::when_words(&volcano(), &rule), words);
    }
}

#[test]
fn restarts_in_place_are_told_as_such() {
    let mut job = tfjob(&Scope::Task);
    for role in &mut job.roles {
        role.in_place = InPlace::OnFailure;
    }
    assert_eq!(
        story(&job, &TFJOB)[2..],
        [
            "A task that fails is started again in place; 6 such restarts are shared by all 7 tasks, the next one fails the job."
        ]
    );
    assert_eq!(
        limits(&job)[0],
        "6 restarts, shared by all 7 tasks; restarts in place count."
    );
    let rarely: Vec<bool> = rules(&job).iter().map(|rule| rule.rarely.is_some()).collect();
    assert_eq!(rarely, [false, false, true, true, true, false, false]);
}

#[test]
fn a_job_whose_deciding_task_never_stays_ended_can_never_succeed() {
    let mut job = t9k();
    assert!(can_succeed(&job));
    job.roles[0].in_place = InPlace::Always;
    assert!(!can_succeed(&job));
    assert_eq!(
        notes(&job, &TFJOB)[0],
        "it can never succeed: the task that decides is restarted whenever it exits, also with 0"
    );

    let mut job = t9k();
    job.rules.insert(
        0,
        on_end(named("worker"), How::Succeeded, again(Scope::Task, true)),
    );
    assert!(!can_succeed(&job), "every success is started again");
    let worker = RoleName::new("worker");
    job.rules
        .insert(0, on_end(Who::task(&worker, 0), How::Succeeded, Then::Keep));
    assert!(can_succeed(&job), "worker-0 stays ended");

    let mut job = t9k();
    job.rules.remove(0);
    assert_eq!(success(&job), "Nothing makes it succeed");
    assert!(!can_succeed(&job));
    assert!(can_succeed(&volcano()));
}

#[test]
fn a_budget_of_nothing_is_no_promise_of_restarts() {
    let mut job = tfjob(&Scope::Task);
    job.limits.restarts = Some(0);
    assert_eq!(
        story(&job, &TFJOB)[2..],
        ["A failure of any task, also of a PS, fails the job at once."]
    );
    assert_eq!(rules(&job)[3].never, Some("no restart is allowed"));
    assert_eq!(limits(&job)[0], "No restart is allowed.");
    for role in &mut job.roles {
        role.in_place = InPlace::OnFailure;
    }
    assert_eq!(
        story(&job, &TFJOB)[2..],
        ["A task that fails is started again in place, and the first time the job fails."]
    );
}

#[test]
fn one_task_alone_is_called_by_its_name() {
    let rules = vec![
        count(named("worker"), Settled::Succeeded, Test::All, COMPLETE),
        ends(
            Who::any(),
            &[How::Disrupted, How::Vanished],
            again(Scope::Task, false),
        ),
        ends(Who::any(), &[How::Failed], FAIL),
        ends(Who::any(), &[How::Succeeded], Then::Keep),
        all_ended(),
    ];
    let job = job(vec![role("worker", RoleKind::Worker, 1)], rules);
    assert_eq!(
        story(&job, &TFJOB),
        [
            "Succeeds when worker-0 exits 0.",
            "If worker-0 is evicted, preempted or deleted, it is started again.",
            "If worker-0 fails, the job fails.",
        ]
    );
    assert!(notes(&job, &TFJOB).is_empty());
}

#[test]
fn limits_clean_up_order_and_gang_are_said() {
    let mut job = tfjob(&Scope::Task);
    job.limits.deadline = Some(3600);
    job.limits.ttl = Some(0);
    job.roles[2].after = Some(After {
        roles: vec![(RoleName::new("ps"), 2), (RoleName::new("chief"), 1)],
        any: false,
    });
    job.gang = Some(Gang {
        scheduler: GangScheduler::Volcano,
        existing: None,
        members: 7,
        per_role: [(RoleName::new("ps"), 2), (RoleName::new("worker"), 1)].into(),
        queue: Some("research".into()),
        priority: Some("high".into()),
        resources: [
            ("cpu".into(), 7000),
            ("requests.cpu".into(), 7000),
            ("pods".into(), 7000),
        ]
        .into(),
        timeout: Some(60),
        hold: true,
    });
    assert_eq!(
        limits(&job),
        [
            "6 restarts, shared by all 7 tasks.",
            "A task is created again at once the first time, then after 10 s, twice as long each time, at most 6 min; after a \
             life of 10 min at once again.",
            "The job fails 1 h after its start; whatever runs is stopped.",
            "The job is deleted as soon as it has ended.",
        ]
    );
    assert_eq!(
        gang(&job),
        [
            "All 7 tasks are placed together by Volcano.",
            "At least 2 of ps and 1 of worker.",
            "Together they ask for 7 CPU.",
            "Queue `research`, priority `high`.",
            "Some are held at most 1 min while the others wait for room.",
            "No task is created before the group has been let in.",
        ]
    );
    assert_eq!(
        start_order(&job, &job.roles[2]).as_deref(),
        Some("once both PS tasks and chief-0 are ready or done")
    );
    assert_eq!(start_order(&job, &job.roles[0]), None);
    assert_eq!(
        clean(&job),
        "What still runs is stopped; what has ended stays, so its logs can be read."
    );
    job.clean = Clean::None;
    assert!(clean(&job).contains("a deadline"), "{}", clean(&job));
}

#[test]
fn an_end_that_is_answered_later_says_how_much_later() {
    let late = Rule {
        held: 30,
        ..ends(Who::any(), &[How::Failed], again(Scope::Task, true))
    };
    let mut job = t9k();
    job.rules.insert(0, late);
    assert_eq!(
        story(&job, &TFJOB)[2],
        "If a worker fails and 30 s have passed, it is started again each time, at once, then after 10 s, 20 s, … at most 6 min, \
         without limit."
    );
}

#[test]
fn a_success_that_an_earlier_rule_prevents_is_not_promised() {
    let mut job = volcano();
    job.rules.insert(
        0,
        count(
            named("worker"),
            Settled::Succeeded,
            Test::All,
            Then::Finish(Outcome::Terminated),
        ),
    );
    assert_eq!(success(&job), "Nothing makes it succeed");
    assert!(!can_succeed(&job));
    assert!(!super::decides(&job, &crate::TaskId::new("worker", 0)));
    assert!(super::decides(&volcano(), &crate::TaskId::new("worker", 1)));
    assert!(!super::decides(&volcano(), &crate::TaskId::new("ps", 0)));
}

#[test]
fn single_codes_are_told_before_every_other_failure() {
    let mut job = volcano();
    let codes = [
        ends(Who::any(), &[How::Codes(2, 2)], Then::Finish(Outcome::Terminated)),
        ends(
            Who::any(),
            &[How::Failed, How::Disrupted],
            again(Scope::Job, true),
        ),
    ];
    job.rules.splice(1..4, codes);
    assert_eq!(
        story(&job, &TFJOB)[1..],
        [
            "If a task exits 2, the job is terminated.",
            "If a task fails otherwise or is evicted, preempted or deleted, all 3 tasks are stopped and started again, \
             at once, then after 10 s, 20 s, … at most 6 min, at most twice; the third time it stays ended.",
            "If every task has ended and it has not succeeded, the job fails.",
        ]
    );
}

#[test]
fn a_level_without_a_restart_left_is_told_in_one_sentence() {
    let mut job = volcano();
    job.rules.insert(0, rule(When::GangBroken, FAIL));
    job.rules
        .insert(0, rule(When::GangBroken, again(Scope::Job, true)));
    let told = "If the scheduler has lost part of the gang, all tasks are started again together, for one of the \
                restarts left; without one the job fails.";
    assert!(
        story(&job, &TFJOB).contains(&told.to_owned()),
        "{:#?}",
        story(&job, &TFJOB)
    );
}

#[test]
fn nonsense_is_told_without_a_panic() {
    let mut empty = job(Vec::new(), vec![rule(When::Count(Vec::new()), COMPLETE)]);
    assert_eq!(notes(&empty, &TFJOB), ["it has no tasks"]);
    assert_eq!(story(&empty, &TFJOB).len(), 1);
    empty.roles = vec![role("worker", RoleKind::Worker, 0)];
    empty.rules.push(ends(Who::any(), &[], Then::Abort));
    empty
        .rules
        .push(ends(named("absent"), &[How::Codes(-5, 70_000)], Then::Abort));
    assert_eq!(story(&empty, &TFJOB).len(), 1);
    let words = rules(&empty);
    assert_eq!(words[2].never, Some("there is no such task"));
}
