//! `trainyard render`.

mod files;

use std::fmt::Write as _;
use std::fs;

use crate::run::{Ran, folder, manifest, manifests, run, run_with};

const DIGITS: &str = "examples/digits.yaml";

fn rendered(typed: &[&str]) -> Ran {
    let mut all = vec!["render"];
    all.extend(typed);
    run(&all)
}

#[test]
fn a_tfjob_becomes_plain_jobs() {
    insta::assert_snapshot!(rendered(&[DIGITS]).shown());
}

#[test]
fn the_tutorial_made_by_hand_follows_from_one_manifest() {
    insta::assert_snapshot!(
        rendered(&[
            "tests/fixtures/ok/tfjob/tutorial-on-one-node.yaml",
            "--addresses",
            "per-replica"
        ])
        .shown()
    );
}

#[test]
fn mirrored_workers_become_a_jobset_that_starts_again_as_a_whole() {
    insta::assert_snapshot!(
        rendered(&["examples/tfjob/mirrored-workers-gpu.yaml", "--to", "jobset"]).shown()
    );
}

#[test]
fn a_training_job_brings_its_tensorboard() {
    insta::assert_snapshot!(rendered(&["examples/t9k/with-tensorboard.yaml", "-n", "vision"]).shown());
}

#[test]
fn a_volcano_job_keeps_its_files_of_hosts() {
    insta::assert_snapshot!(
        "volcano as jobs",
        rendered(&["examples/digits-volcano.yaml"]).shown()
    );
    let as_set = rendered(&["examples/digits-volcano.yaml", "--to", "jobset"]).out;
    assert!(
        as_set.contains("worker.host: |-\n    digits-volcano-worker-0-0.digits-volcano\n"),
        "{as_set}"
    );
}

#[test]
fn exit_codes_become_rules_and_the_rest_is_told() {
    let ran = rendered(&["examples/volcano/exit-codes.yaml"]);
    insta::assert_snapshot!("exit codes as jobs", ran.shown());
    let ran = rendered(&["tests/fixtures/ok/volcano/every-event-and-action.yaml"]);
    insta::assert_snapshot!("what jobs cannot do", ran.err);
    let ran = rendered(&[
        "tests/fixtures/ok/volcano/every-event-and-action.yaml",
        "--to",
        "jobset",
    ]);
    insta::assert_snapshot!("what a jobset cannot do", ran.err);
}

#[test]
fn tasks_sit_on_nodes_each_with_a_port_of_its_own() {
    let ran = rendered(&[DIGITS, "--addresses", "nodes", "--nodes", "gpu-1,gpu-2"]);
    insta::assert_snapshot!(ran.shown());
}

#[test]
fn a_large_cluster_stands_once_in_a_map() {
    let ran = rendered(&["tests/fixtures/ok/tfjob/hundred-workers.yaml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.out.contains("'{\"cluster\":$(TRAINYARD_CLUSTER),\"task\":{"),
        "{}",
        ran.out
    );
    // Once in the map and once in the list of hosts, and in no pod.
    assert_eq!(ran.out.matches("-worker-99.").count(), 2);
    assert!(ran.out.len() < 40_000, "{} bytes", ran.out.len());
}

#[test]
fn other_dialects_are_written_as_convert_writes_them() {
    for to in ["tfjob", "volcano", "tensorflowtrainingjob"] {
        let file = "examples/tfjob/parameter-server.yaml";
        let converted = run(&["convert", file, "--to", to]);
        let ran = rendered(&[file, "--to", to]);
        assert_eq!(
            (ran.out, ran.err, ran.code),
            (converted.out, converted.err, Some(0))
        );
    }
}

#[test]
fn every_manifest_is_rendered_in_every_form_the_same_each_time() {
    let forms: [&[&str]; 5] = [
        &["--to", "jobs"],
        &["--addresses", "per-job"],
        &["--addresses", "per-replica"],
        &["--addresses", "nodes", "--nodes", "a,b.example.com"],
        &["--to", "jobset"],
    ];
    let mut seen = 0;
    for path in manifests() {
        for form in forms {
            let mut typed = vec![path.as_str()];
            typed.extend(form);
            let ran = rendered(&typed);
            let again = rendered(&typed);
            assert_eq!((&ran.out, ran.code), (&again.out, again.code), "{typed:?}");
            if ran.code == Some(0) {
                seen += 1;
                let checked = run_with(&["check", "-"], &ran.out);
                assert_eq!(checked.code, Some(0), "{typed:?}\n{}", checked.err);
            } else {
                assert!(
                    ran.out.is_empty() && ran.code == Some(2),
                    "{typed:?}\n{}",
                    ran.err
                );
            }
        }
    }
    assert!(seen > 300, "{seen}");
}

#[test]
fn wrong_usage_and_what_cannot_be_written_exits_2_and_writes_nothing() {
    let cases: [&[&str]; 13] = [
        &["examples/no-such-file.yaml"],
        &["tests/fixtures/bad/tfjob/misspelt-fields.yaml"],
        &["tests/fixtures/ok/tfjob/generated-name.yaml"],
        &["tests/fixtures/ok/other/hand-made-services.yaml"],
        &[DIGITS, "--job", "digit"],
        &[DIGITS, "--to", "job"],
        &[DIGITS, "--addresses", "nodes"],
        &[DIGITS, "--nodes", "a"],
        &[DIGITS, "--addresses", "nodes", "--nodes", "a,B_c"],
        &[DIGITS, "--to", "jobset", "--addresses", "per-replica"],
        &[DIGITS, "-n", "My Team"],
        &["examples/tfjob/parameter-server.yaml", "-n", "elsewhere"],
        &[
            "examples/tfjob/parameter-server.yaml",
            "-n",
            "elsewhere",
            "--to",
            "volcano",
        ],
    ];
    let mut shown = String::new();
    for typed in cases {
        let ran = rendered(typed);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{typed:?}");
        writeln!(shown, "$ trainyard render {}\n{}", typed.join(" "), ran.err).expect("a string takes it");
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn names_that_become_too_long_are_told_with_the_figure() {
    let name = "a-name-that-fits-a-tfjob-but-not-the-pods-of-a-jobset";
    let text = manifest(name, 2);
    assert_eq!(run_with(&["render", "-"], &text).code, Some(0));
    let ran = run_with(&["render", "-", "--to", "jobset"], &text);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert!(
        ran.err
            .contains("would have 70 characters; at most 63 are allowed"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("shorten the job's name by 7"), "{}", ran.err);
}

#[test]
fn what_stands_beside_the_jobs_goes_where_they_are() {
    let beside = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: beside}\n";
    let job = |name: &str, namespace: &str| {
        let named = format!("{{name: {name}, namespace: {namespace}}}");
        manifest(name, 2).replace(&format!("{{name: {name}}}"), &named)
    };
    let several = [job("one", "a"), job("two", "b")].join("---\n");
    let mixed = [job("one", "a"), manifest("two", 2)].join("---\n");
    let cases: [(&str, &[&str], Option<&str>); 7] = [
        (&job("one", "research"), &[], Some("research")),
        (&job("one", "research"), &["--to", "jobset"], Some("research")),
        (&manifest("one", 2), &[], Some("default")),
        (&manifest("one", 2), &["-n", "team"], Some("team")),
        (&manifest("one", 2), &["--to", "volcano"], None),
        (&several, &[], None),
        // kubectl would have put it beside the job that names none.
        (&mixed, &[], Some("default")),
    ];
    for (jobs, typed, expected) in cases {
        let mut all = vec!["render", "-"];
        all.extend(typed);
        let ran = run_with(&all, &format!("{jobs}---\n{beside}"));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let written = ran.out.split("---\n").find(|text| text.contains("name: beside"));
        let written = written.expect("the object");
        let namespace = written
            .lines()
            .find_map(|line| line.strip_prefix("  namespace: "));
        assert_eq!(namespace, expected, "{typed:?}\n{jobs}{written}");
        let told = ran.err.contains("ConfigMap `beside` has no namespace");
        assert_eq!(told, jobs == several, "{}", ran.err);
    }
}

#[test]
fn a_folder_in_the_place_of_a_file_is_refused_before_anything_is_written() {
    let out = folder("render-odd").join("out");
    fs::create_dir_all(out.join("05-job-digits-worker.yaml")).expect("a folder");
    let ran = rendered(&[DIGITS, "-o", out.to_str().expect("a path"), "--force"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("is not a file"), "{}", ran.err);
    assert_eq!(fs::read_dir(&out).expect("the folder").count(), 1);
}

/// What is typed behind the file.
type Typed<'a> = &'a [&'a str];

/// What a refusal advises, followed: in the manifest, or on the command line.
#[test]
fn a_refusal_is_gone_when_its_help_is_followed() {
    let good = manifest("job", 2);
    let named = good.replace("name: job", "name: job, namespace: here");
    let generated = good.replace("name: job", "generateName: job-");
    let long = "j".repeat(50);
    let long_space = "n".repeat(60);
    let rows: [(&str, Typed<'_>, &str, String, Typed<'_>); 5] = [
        (
            &generated,
            &[],
            "give the job a name: `name` in place of `generateName`",
            good.clone(),
            &[],
        ),
        (
            &named,
            &["-n", "there"],
            "take one of the two away",
            named.clone(),
            &[],
        ),
        (
            &manifest(&long, 2),
            &["--to", "jobset"],
            "shorten the job's name by 4",
            manifest(&long[4..], 2),
            &["--to", "jobset"],
        ),
        (
            &good,
            &["--addresses", "nodes"],
            "name nodes with `--nodes a,b,c`, or in every template with `nodeName`",
            good.clone(),
            &["--addresses", "nodes", "--nodes", "a,b"],
        ),
        (
            &manifest("job", 2500),
            &["-n", &long_space],
            "use fewer replicas, shorter names, or dynamic workers, who do not know each other",
            manifest("job", 500),
            &["-n", &long_space],
        ),
    ];
    for (before, typed, help, after, then) in rows {
        let refused = run_with(&[&["render", "-"], typed].concat(), before);
        assert_eq!(refused.code, Some(2), "{help}");
        assert!(
            refused.err.contains(&format!("help: {help}")),
            "{help}\n{}",
            refused.err
        );
        let rendered = run_with(&[&["render", "-"], then].concat(), &after);
        assert_eq!(rendered.code, Some(0), "{help}\n{}", rendered.err);
    }
}
