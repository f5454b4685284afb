//! Converting keeps the meaning, or says what is lost.
#![expect(
    clippy::expect_used,
    reason = "a test that cannot read its manifests has failed"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use trainyard_core::{Ending, Job, Role, RoleKind, TaskId, Test, Then, When};
use trainyard_dialect::convert::{Converted, convert};
use trainyard_dialect::document::Source;
use trainyard_dialect::{Dialect, ReadJob, read};

const DIALECTS: [Dialect; 3] = [Dialect::TfJob, Dialect::TensorFlowTrainingJob, Dialect::Volcano];

fn source(text: &str) -> Source {
    Source::from_bytes("test.yaml", text.as_bytes()).expect("text")
}

fn jobs(source: &Source) -> Vec<ReadJob> {
    read(source).jobs().cloned().collect()
}

/// What a job means: its tasks, the answer to every end of each, and its limits. Not the names of fields.
fn meaning(job: &Job) -> impl PartialEq + std::fmt::Debug {
    let roles = job.roles.iter().filter(|role| role.replicas > 0);
    let role = |role: &Role| {
        (
            role.kind,
            role.replicas,
            role.in_place,
            role.port,
            role.ask.clone(),
            role.after.clone(),
        )
    };
    let tasks = job.tasks().filter(|task| task.index < 3);
    let answers: Vec<Option<Then>> = tasks
        .flat_map(|task| ENDINGS.map(|ending| (task.clone(), ending)))
        .flat_map(|(task, ending)| [true, false].map(|can_pay| answer(job, &task, ending, can_pay)))
        .collect();
    let levels: Vec<(When, u32, Then)> = job
        .rules
        .iter()
        .filter(|rule| !matches!(rule.when, When::Ended { .. }))
        .map(|rule| (plain(job, &rule.when), rule.held, rule.then.clone()))
        .collect();
    let limits = (job.limits.clone(), job.clean, job.suspend, job.cluster.clone());
    (roles.map(role).collect::<Vec<_>>(), answers, levels, limits)
}

/// "Task 0 has" and "all have" are the same where there is only one.
fn plain(job: &Job, when: &When) -> When {
    let mut when = when.clone();
    if let When::Count(counts) = &mut when {
        for count in counts {
            let alone = count
                .who
                .role
                .as_ref()
                .and_then(|name| job.role(name))
                .is_some_and(|(_, role)| role.replicas == 1);
            if alone && count.who.index == Some(0) && count.test == Test::AtLeast(1) {
                (count.who.index, count.test) = (None, Test::All);
            }
        }
    }
    when
}

const ENDINGS: [Ending; 8] = [
    Ending::Succeeded,
    Ending::Failed(Some(1)),
    Ending::Failed(Some(42)),
    Ending::Failed(Some(137)),
    Ending::Failed(Some(139)),
    Ending::NotStarted,
    Ending::Disrupted,
    Ending::Vanished,
];

/// The first rule that answers an end, with or without a restart left to pay for it.
fn answer(job: &Job, task: &TaskId, ending: Ending, can_pay: bool) -> Option<Then> {
    let mut answers = job.rules.iter().filter_map(|rule| match &rule.when {
        When::Ended { who, how } if who.includes(&task.role, task.index) => {
            how.iter().any(|how| ending.matches(*how)).then_some(&rule.then)
        }
        _ => None,
    });
    answers
        .find(|then| can_pay || !matches!(then, Then::Restart { paid: true, .. }))
        .cloned()
}

/// There and back: what lost nothing on both ways is the same job.
fn there_and_back(text: &Source, job: &ReadJob, to: Dialect) {
    let there = convert(text, job, to);
    let middle = source(&there.text);
    let Some(converted) = jobs(&middle).into_iter().next() else {
        assert!(
            !there.losses.is_empty(),
            "unreadable without a word:\n{}",
            there.text
        );
        return;
    };
    let back = convert(&middle, &converted, job.dialect);
    if there.losses.is_empty() && back.losses.is_empty() {
        let again = jobs(&source(&back.text))
            .into_iter()
            .next()
            .expect("readable again");
        assert_eq!(
            meaning(&again.job),
            meaning(&job.job),
            "{}\n->\n{}\n->\n{}",
            text.text,
            there.text,
            back.text
        );
    }
}

fn manifests() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for folder in [
        "examples/tfjob",
        "examples/t9k",
        "examples/volcano",
        "tests/fixtures/ok/tfjob",
        "tests/fixtures/ok/t9k",
        "tests/fixtures/ok/volcano",
    ] {
        let entries = fs::read_dir(root.join(folder)).expect("a folder of manifests");
        found.extend(entries.map(|entry| entry.expect("an entry").path()));
    }
    found.sort();
    found
}

#[test]
fn every_manifest_goes_there_and_back() {
    let mut seen = 0;
    for path in manifests() {
        let text =
            Source::from_bytes(&*path.to_string_lossy(), &fs::read(&path).expect("a file")).expect("text");
        for job in jobs(&text) {
            for to in DIALECTS {
                there_and_back(&text, &job, to);
                seen += 1;
            }
        }
    }
    assert!(seen > 150, "only {seen} conversions");
}

#[test]
fn a_job_in_its_own_dialect_loses_nothing() {
    for path in manifests() {
        let text =
            Source::from_bytes(&*path.to_string_lossy(), &fs::read(&path).expect("a file")).expect("text");
        for job in jobs(&text)
            .into_iter()
            .filter(|job| job.dialect == Dialect::TfJob)
        {
            let Converted { losses, .. } = convert(&text, &job, job.dialect);
            assert!(losses.is_empty(), "{}: {losses:#?}", path.display());
        }
    }
}

fn tfjob(choice: &Choice) -> String {
    let Choice {
        chief,
        ps,
        workers,
        restart,
        limit,
        deadline,
        clean,
        scope,
        success,
    } = choice;
    let role = |name: &str, replicas: u32| {
        format!(
            "    {name}:\n      replicas: {replicas}\n      restartPolicy: {restart}\n      template:\n        spec:\n          \
             containers:\n          - name: tensorflow\n            image: tensorflow/tensorflow\n"
        )
    };
    let mut roles = String::new();
    if *chief {
        roles.push_str(&role("Chief", 1));
    }
    if *ps > 0 {
        roles.push_str(&role("PS", *ps));
    }
    roles.push_str(&role("Worker", *workers));
    let mut policy = format!("    cleanPodPolicy: {clean}\n");
    if let Some(limit) = limit {
        let _ = writeln!(policy, "    backoffLimit: {limit}");
    }
    if let Some(deadline) = deadline {
        let _ = writeln!(policy, "    activeDeadlineSeconds: {deadline}");
    }
    if let Some(scope) = scope {
        let _ = writeln!(policy, "    restartScope: {scope}");
    }
    let success = if *success {
        "  successPolicy: AllWorkers\n"
    } else {
        ""
    };
    format!(
        "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata:\n  name: any\nspec:\n  runPolicy:\n{policy}{success}  tfReplicaSpecs:\n{roles}"
    )
}

#[derive(Clone, Debug)]
struct Choice {
    chief: bool,
    ps: u32,
    workers: u32,
    restart: &'static str,
    limit: Option<u32>,
    deadline: Option<u32>,
    clean: &'static str,
    scope: Option<&'static str>,
    success: bool,
}

fn choices() -> impl Strategy<Value = Choice> {
    let words = |words: &'static [&'static str]| prop::sample::select(words);
    (
        any::<bool>(),
        0..3u32,
        1..4u32,
        words(&["Never", "OnFailure", "Always", "ExitCode"]),
        prop::option::of(0..9u32),
        prop::option::of(1..9999u32),
        words(&["None", "Running", "All"]),
        prop::option::of(words(&["Replica", "Job"])),
        any::<bool>(),
    )
        .prop_map(
            |(chief, ps, workers, restart, limit, deadline, clean, scope, success)| Choice {
                chief,
                ps,
                workers,
                restart,
                limit,
                deadline,
                clean,
                scope,
                success,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_tfjob_keeps_its_meaning_or_says_what_is_lost(choice in choices()) {
        let text = source(&tfjob(&choice));
        for job in jobs(&text) {
            for to in DIALECTS {
                there_and_back(&text, &job, to);
            }
        }
    }
}

#[test]
fn volcano_says_what_it_cannot_take_along() {
    let choice = Choice {
        chief: true,
        ps: 1,
        workers: 2,
        restart: "Never",
        limit: None,
        deadline: Some(60),
        clean: "None",
        scope: None,
        success: false,
    };
    let text = source(&tfjob(&choice));
    let job = jobs(&text).remove(0);
    let converted = convert(&text, &job, Dialect::Volcano);
    let told: Vec<String> = converted
        .losses
        .iter()
        .map(|loss| format!("{} {}", loss.code, loss.place.path))
        .collect();
    for expected in [
        "TY086 spec.runPolicy.activeDeadlineSeconds",
        "TY086 spec.runPolicy.cleanPodPolicy",
        "TY084 spec.tfReplicaSpecs.*.restartPolicy",
    ] {
        assert!(
            told.iter().any(|loss| loss == expected),
            "{expected} is not in {told:#?}"
        );
    }
    let deadline = converted
        .losses
        .iter()
        .find(|loss| loss.place.path.ends_with("activeDeadlineSeconds"));
    assert!(
        deadline.is_some_and(|loss| loss.place.span.is_some()),
        "a loss has a place in the text"
    );
    assert!(job.job.roles.iter().any(|role| role.kind == RoleKind::Chief));
}
