//! Converting keeps the meaning, or says what is lost.
#![expect(
    clippy::expect_used,
    reason = "a test that cannot read its manifests has failed"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::json;
use trainyard_core::{ClusterForm, Ending, Job, Role, RoleKind, TaskId, Test, Then, When};
use trainyard_dialect::convert::{Converted, convert};
use trainyard_dialect::{Dialect, ReadJob, read};
use trainyard_document::Source;
use trainyard_document::codes::Code;
use trainyard_document::problem::Problem;

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

/// Every manifest of every folder, so that those of a new dialect are among them.
fn manifests() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let inside = |folder: PathBuf| {
        let entries = fs::read_dir(folder).expect("a folder of manifests");
        entries.map(|entry| entry.expect("an entry").path())
    };
    let folders = ["examples", "tests/fixtures/ok"].map(|folder| root.join(folder));
    let folders = folders.into_iter().flat_map(inside).filter(|path| path.is_dir());
    let is_manifest = |path: &PathBuf| path.extension().is_some_and(|end| end == "yaml" || end == "json");
    let mut found: Vec<PathBuf> = folders.flat_map(inside).filter(is_manifest).collect();
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
            for to in Dialect::ALL {
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
            for to in Dialect::ALL {
                there_and_back(&text, &job, to);
            }
        }
    }
}

/// A job with these roles, in `kubeflow.org/v1`, with more lines under `metadata` and `runPolicy`.
fn with_roles(roles: &[&str], metadata: &str, policy: &str) -> Source {
    let role = |name: &&str| {
        format!(
            "    {name}:\n      restartPolicy: ExitCode\n      template:\n        metadata: {{creationTimestamp: null}}\n        \
             spec: {{containers: [{{name: tensorflow, image: x}}]}}\n"
        )
    };
    let roles: String = roles.iter().map(role).collect();
    source(&format!(
        "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata:\n  name: any\n  creationTimestamp: null\n{metadata}spec:\n  runPolicy:\n    \
         cleanPodPolicy: Running\n{policy}  tfReplicaSpecs:\n{roles}"
    ))
}

fn converted(text: &Source, to: Dialect) -> (Converted, ReadJob) {
    let job = jobs(text).remove(0);
    let converted = convert(text, &job, to);
    let again = jobs(&source(&converted.text)).remove(0);
    (converted, again)
}

#[test]
fn every_layout_of_roles_is_whole_in_the_cluster_of_a_volcano_job() {
    for (roles, expected) in [
        (&["Master", "Worker"][..], "worker chief"),
        (&["Master", "PS", "Worker"], "ps worker chief"),
        (&["Chief", "Worker"], "worker chief"),
        (&["Chief", "PS", "Worker", "Evaluator"], "ps worker chief"),
        (&["Master", "Evaluator"], "chief"),
        (&["PS", "Worker"], "ps worker"),
    ] {
        let (converted, job) = converted(&with_roles(roles, "", ""), Dialect::Volcano);
        let ClusterForm::Full { roles: listed, .. } = &job.job.cluster else {
            panic!("no cluster: {}", converted.text);
        };
        let types: Vec<&str> = listed
            .iter()
            .filter_map(|name| Some(&*job.job.role(name)?.1.tf_type))
            .collect();
        assert_eq!(types.join(" "), expected, "{}", converted.text);
        let lost: Vec<&str> = converted
            .losses
            .iter()
            .filter(|loss| matches!(loss.code, Code::LostRole | Code::LostName))
            .map(|loss| loss.message.as_str())
            .collect();
        // What Volcano's own plugin makes of it: the task that it calls the chief, and no evaluator in `cluster`.
        let mut arguments = vec!["--port=2222"];
        if roles.contains(&"Master") {
            assert_eq!(lost, ["`TF_CONFIG` calls the tasks of `master` `chief` there"]);
            arguments.push("--chief=master");
        } else {
            assert_eq!(lost, [""; 0]);
        }
        if roles.contains(&"Evaluator") {
            arguments.push("--evaluator=none");
            let evaluator = job.job.roles.iter().find(|role| role.kind == RoleKind::Evaluator);
            assert_eq!(evaluator.map(|role| &*role.tf_type), Some("evaluator"));
        }
        assert_eq!(
            converted.manifest["spec"]["plugins"]["tensorflow"],
            json!(arguments)
        );
    }
}

#[test]
fn restarts_without_a_limit_stay_so() {
    let text = with_roles(&["Worker"], "", "");
    let (there, job) = converted(&text, Dialect::Volcano);
    assert_eq!(there.manifest["spec"]["maxRetry"], 2_147_483_647_u32);
    assert_eq!(job.job.limits.restarts, None);
    let told = |converted: &Converted| {
        let about = |loss: &&Problem| loss.message.contains("number of restarts");
        converted
            .losses
            .iter()
            .find(about)
            .map(|loss| loss.message.clone())
    };
    assert_eq!(told(&there), None, "{:#?}", there.losses);
    // Where it does change, unlimited is said and not "none".
    let volcano = source(&there.text.replace("maxRetry: 2147483647", "maxRetry: 5"));
    let back = convert(&volcano, &jobs(&volcano).remove(0), Dialect::TfJob);
    assert_eq!(told(&back), None, "{:#?}", back.losses);
    for limit in [0, 1, 6, i32::MAX.cast_unsigned() - 2] {
        let limited = with_roles(&["Worker"], "", &format!("    backoffLimit: {limit}\n"));
        let (there, job) = converted(&limited, Dialect::Volcano);
        assert_eq!(told(&there), None, "{limit}");
        assert_eq!(job.job.limits.restarts, Some(limit));
    }
    let most = with_roles(&["Worker"], "", &format!("    backoffLimit: {}\n", i32::MAX));
    let (there, _) = converted(&most, Dialect::Volcano);
    assert_eq!(
        told(&there).as_deref(),
        Some("the number of restarts allowed is 2147483647 here and unlimited there")
    );
}

#[test]
fn our_additions_are_annotations_that_no_definition_drops() {
    let ours = "    restartScope: [PS, Worker]\n    startTimeoutSeconds: 90\n    startOrder: [PS]\n    backoffLimit: 3\n";
    let text = with_roles(&["PS", "Worker"], "", ours);
    for to in [Dialect::TfJob, Dialect::TensorFlowTrainingJob] {
        let (there, job) = converted(&text, to);
        let annotations = &there.manifest["metadata"]["annotations"];
        assert_eq!(
            *annotations,
            json!({
                "trainyard.dev/restart-scope": "PS,Worker",
                "trainyard.dev/start-timeout-seconds": "90",
                "trainyard.dev/start-order": "PS",
            })
        );
        for field in ["restartScope", "startTimeoutSeconds", "startOrder"] {
            assert!(
                there.manifest["spec"]["runPolicy"].get(field).is_none(),
                "{}",
                there.text
            );
        }
        assert_eq!(job.job.roles[1].after, jobs(&text)[0].job.roles[1].after);
    }
    // The field counts where both are given, so the annotation must not come back.
    let both = with_roles(
        &["Worker"],
        "  annotations: {trainyard.dev/restart-scope: Job, a: b}\n",
        "    restartScope: Replica\n",
    );
    let (there, _) = converted(&both, Dialect::TfJob);
    assert_eq!(there.manifest["metadata"]["annotations"], json!({"a": "b"}));
}

#[test]
fn empty_times_are_dropped() {
    let text = with_roles(&["Chief", "Worker"], "", "");
    for to in Dialect::ALL {
        let (there, _) = converted(&text, to);
        assert!(!there.text.contains("creationTimestamp"), "{}", there.text);
        // A job that stays in its dialect is written as it is, but for these.
        let text = source(
            &there
                .text
                .replace("  name: any\n", "  name: any\n  creationTimestamp: null\n"),
        );
        let (again, _) = converted(&text, to);
        assert!(!again.text.contains("creationTimestamp"), "{}", again.text);
    }
}

#[test]
fn a_replica_without_a_type_is_the_master_of_the_first_version() {
    let text = source(
        "apiVersion: kubeflow.org/v1alpha1\nkind: TFJob\nmetadata: {name: any}\nspec:\n  replicaSpecs:\n  - tfReplicaType: WORKER\n    \
         replicas: 2\n    template: {spec: {containers: [{name: tensorflow, image: of-worker}]}}\n  - template: {spec: {containers: \
         [{name: tensorflow, image: of-master}]}}\n  - tfReplicaType: PS\n    template: {spec: {containers: [{name: tensorflow, \
         image: of-ps}]}}\n",
    );
    let job = jobs(&text).remove(0);
    let kinds: Vec<RoleKind> = job.job.roles.iter().map(|role| role.kind).collect();
    assert_eq!(kinds, [RoleKind::Master, RoleKind::Ps, RoleKind::Worker]);
    let (there, again) = converted(&text, Dialect::TfJob);
    assert!(there.losses.is_empty(), "{:#?}", there.losses);
    for role in ["Master", "Worker", "PS"] {
        let image =
            &there.manifest["spec"]["tfReplicaSpecs"][role]["template"]["spec"]["containers"][0]["image"];
        assert_eq!(*image, format!("of-{}", role.to_lowercase()));
    }
    assert_eq!(meaning(&again.job), meaning(&job.job));
    // Losses cite the entries of the list, and fields that this version has.
    let (there, _) = converted(&text, Dialect::Volcano);
    let paths: Vec<&str> = there.losses.iter().map(|loss| loss.place.path.as_str()).collect();
    assert!(paths.contains(&"spec.replicaSpecs[1]"), "{paths:?}");
    for field in ["runPolicy", "tfReplicaSpecs", "successPolicy"] {
        assert!(
            !paths.iter().any(|path| path.contains(field)),
            "{field} in {paths:?}"
        );
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
