//! `trainyard check`.

use std::fs;
use std::os::unix::fs::symlink;

use crate::run::{folder, manifest, run, run_with};

fn bad(name: &str) -> String {
    format!("tests/fixtures/bad/{name}")
}

#[test]
fn a_good_file_says_so_and_prints_nothing() {
    let ran = run(&["check", "examples/tfjob/parameter-server.yaml"]);
    assert_eq!((ran.out.as_str(), ran.code), ("", Some(0)));
    assert_eq!(ran.err, "1 file, 1 job: no problems\n");
}

/// `kubectl get … | trainyard check -` must not pass where kubectl fails.
#[test]
fn nothing_to_check_is_a_warning_and_exits_2() {
    for nothing in [
        "",
        "# only a comment\n",
        "---\n",
        "apiVersion: v1\nkind: List\nitems: []\n",
    ] {
        let ran = run_with(&["check", "-"], nothing);
        assert_eq!(ran.code, Some(2), "{nothing:?}: {}", ran.err);
        assert!(
            ran.out.contains("TY032") && ran.out.contains("no job found"),
            "{}",
            ran.out
        );
        assert!(
            ran.out.contains("did the command before the pipe fail?"),
            "{}",
            ran.out
        );
        assert_eq!(ran.err, "1 file, 0 jobs: 1 warning\n");
    }
    let json = run_with(&["check", "-o", "json", "-"], "").json();
    assert_eq!(json["files"][0]["problems"][0]["code"], "TY032");
    // Beside a file with jobs it is only warned of, and other objects are something to check.
    let folder = folder("check-empty");
    fs::write(folder.join("empty.yaml"), "").expect("a file");
    fs::write(folder.join("job.yaml"), manifest("job", 1)).expect("a file");
    let folder = folder.to_str().expect("a path");
    assert_eq!(run(&["check", folder]).code, Some(0));
    assert_eq!(run(&["check", folder, "--deny-warnings"]).code, Some(1));
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let ran = run_with(&["check", "-"], map);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""));
}

#[test]
fn problems_are_shown_with_place_snippet_and_help() {
    for name in [
        "tfjob/misspelt-fields.yaml",
        "tfjob/several-problems-in-several-documents.yaml",
        "other/duplicate-keys.yaml",
        "other/unclosed-quote.yaml",
        "other/not-utf-8.yaml",
        "other/nul-in-the-text.yaml",
        "other/broken-json.json",
        "volcano/conflicting-policies.yaml",
    ] {
        insta::assert_snapshot!(name, run(&["check", &bad(name)]).shown());
    }
}

#[test]
fn the_same_problems_are_there_for_programs() {
    let ran = run(&["check", "-o", "json", &bad("volcano/conflicting-policies.yaml")]);
    insta::assert_snapshot!("conflicting policies as json", ran.shown());
}

#[test]
fn every_example_and_every_fixture_is_judged_as_its_folder_says() {
    for (name, good) in [
        ("examples", true),
        ("tests/fixtures/ok", true),
        ("tests/fixtures/bad", false),
    ] {
        let ran = run(&["check", "-o", "json", name]);
        assert_eq!(ran.code, Some(i32::from(!good)), "{name}: {}", ran.err);
        for file in ran.json()["files"].as_array().expect("files") {
            let (name, problems) = (&file["file"], file["problems"].as_array().expect("problems"));
            if good {
                let bad = problems.iter().find(|problem| problem["severity"] == "error");
                assert_eq!(bad, None, "{name}");
            } else {
                assert!(!problems.is_empty(), "{name}");
            }
        }
    }
}

#[test]
fn warnings_fail_only_when_they_are_denied() {
    let file = "tests/fixtures/ok/tfjob/ps-runs-on.yaml";
    let ran = run(&["check", file]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (Some(0), "1 file, 1 job: 1 warning\n")
    );
    assert_eq!(run(&["check", file, "--deny-warnings"]).code, Some(1));
}

#[test]
fn standard_input_is_read_once() {
    let ran = run_with(&["check", "-", "-"], &manifest("x", 1));
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (Some(0), "1 file, 1 job: no problems\n")
    );
    let ran = run_with(&["check", "-"], "kind: TFJob\napiVersion: kubeflow.org/v1\n");
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains(" --> -:1:"), "{}", ran.out);
}

#[test]
fn folders_are_searched_in_the_order_of_names_and_hidden_ones_are_not() {
    let folder = folder("folders");
    for (name, text) in [
        ("b.yaml", manifest("b", 1)),
        ("a.yml", manifest("a", 1)),
        ("deep/er/c.json", "{}".into()),
        ("deep/notes.txt", "not: [a manifest".into()),
        (".git/x.yaml", "not: [a manifest".into()),
    ] {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
    }
    // A link that leads back must not be followed for ever.
    symlink(&folder, folder.join("deep/loop")).expect("a link can be made");
    let ran = run(&["check", "-o", "json", folder.to_str().expect("a path")]);
    let names: Vec<String> = ran.json()["files"]
        .as_array()
        .expect("files")
        .iter()
        .map(|file| {
            file["file"]
                .as_str()
                .expect("a name")
                .rsplit('/')
                .next()
                .expect("a name")
                .to_owned()
        })
        .collect();
    assert_eq!(names, ["a.yml", "b.yaml", "c.json"]);
}

#[test]
fn what_cannot_be_read_is_named_and_the_others_are_still_checked() {
    let folder = folder("unreadable");
    fs::create_dir(folder.join("empty")).expect("a folder can be made");
    symlink("nowhere", folder.join("dangling.yaml")).expect("a link can be made");
    fs::write(folder.join("good.yaml"), manifest("good", 1)).expect("a file can be written");
    let path = folder.to_str().expect("a path");
    let (empty, missing) = (format!("{path}/empty"), format!("{path}/missing.yaml"));
    let ran = run(&["check", path, &empty, &missing, &bad("tfjob/no-name.yaml")]);
    assert_eq!(ran.code, Some(2));
    insta::assert_snapshot!("unreadable", ran.shown().replace(path, "FOLDER"));
}

#[test]
fn a_thousand_files_are_told_in_order() {
    let folder = folder("thousand");
    for number in 0..1000 {
        let text = match number % 100 {
            7 => manifest("x", 1).replace("Worker", "Wroker"),
            _ => manifest(&format!("job-{number}"), 2),
        };
        fs::write(folder.join(format!("{number:04}.yaml")), text).expect("a file can be written");
    }
    let path = folder.to_str().expect("a path");
    let ran = run(&["check", path]);
    assert_eq!(ran.code, Some(1));
    let places: Vec<&str> = ran
        .out
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("--> "))
        .filter_map(|place| place.rsplit('/').next())
        .collect();
    let mut sorted = places.clone();
    sorted.sort_unstable();
    assert_eq!(places, sorted);
    assert!(ran.err.starts_with("1000 files, 990 valid jobs: "), "{}", ran.err);
    assert_eq!(run(&["check", path]).out, ran.out);
}

#[test]
fn text_that_a_terminal_would_obey_is_shown_not_sent() {
    let hostile =
        "apiVersion: kubeflow.org/v1\nkind: \"TF\\e[31mJob\\u202e\"\nmetadata: {name: \"a\\u0007\"}\n";
    for arguments in [["check", "-"], ["plan", "-"]] {
        let ran = run_with(&arguments, hostile);
        for text in [&ran.out, &ran.err] {
            assert!(
                !text
                    .chars()
                    .any(|character| character != '\n' && character.is_control()),
                "{text}"
            );
        }
    }
}

#[test]
fn a_path_is_never_cut() {
    let deep = folder("paths")
        .join("with a space and an ü")
        .join("long".repeat(40))
        .join("deep".repeat(40));
    fs::create_dir_all(&deep).expect("a folder can be made");
    let missing = deep.join("missing.yaml");
    let missing = missing.to_str().expect("a path");
    assert!(missing.chars().count() > 300, "{missing}");
    for command in ["check", "plan", "render", "simulate"] {
        let ran = run(&[command, missing]);
        assert_eq!(ran.code, Some(2), "{command}");
        let told = ran.out + &ran.err;
        assert!(told.contains(&format!("cannot read `{missing}`: ")), "{told}");
    }
    symlink("nowhere", deep.join("dangling.yaml")).expect("a link can be made");
    let ran = run(&["check", deep.to_str().expect("a path")]);
    assert!(
        ran.out
            .contains(deep.join("dangling.yaml").to_str().expect("a path")),
        "{}",
        ran.out
    );
}

#[test]
fn a_placeholder_is_an_error_where_its_manifest_is_applied_and_else_a_warning() {
    let text =
        manifest("unfilled", 2).replace("image: x", "image: <DOCKER_USERNAME>/x, args: [sort <IN >OUT]");
    let ran = run_with(&["check", "-"], &text);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (Some(1), "1 file, 0 valid jobs: 1 error\n")
    );
    assert!(
        ran.out.contains("error[TY075]: `<DOCKER_USERNAME>` is"),
        "{}",
        ran.out
    );
    for (command, code, word) in [
        ("plan", 0, "warning[TY075]"),
        ("simulate", 0, "warning[TY075]"),
        ("render", 2, "error[TY075]"),
    ] {
        let ran = run_with(&[command, "-"], &text);
        assert_eq!(ran.code, Some(code), "{command}: {}", ran.err);
        assert!(ran.err.contains(word), "{command}: {}", ran.err);
        assert_eq!(ran.out.is_empty(), command == "render", "{command}: {}", ran.out);
    }
    // A name with one is wrong in any case, and is told once.
    let text = manifest("<YOUR_NAME>", 2);
    for (command, word) in [("check", "TY075"), ("plan", "TY056")] {
        let ran = run_with(&[command, "-"], &text);
        let told = ran.out + &ran.err;
        assert_eq!(ran.code, Some(1), "{command}: {told}");
        assert_eq!(told.matches("[TY").count(), 1, "{command}: {told}");
        assert!(told.contains(word), "{command}: {told}");
    }
}

#[test]
fn files_without_a_job_say_why_they_have_none() {
    let stranger = "apiVersion: kubeflow.org/v1\nkind: MPIJob\nmetadata: {name: a}\n";
    for (text, words) in [
        ("", "there is no job in this file: it is empty"),
        (
            stranger,
            "there is no job in this file: no object is of a kind that Trainyard runs",
        ),
    ] {
        for command in ["plan", "run", "render"] {
            let ran = run_with(&[command, "-"], text);
            assert_eq!(ran.code, Some(2), "{command}: {}", ran.err);
            assert!(ran.err.contains(words), "{command}: {}", ran.err);
        }
    }
    let ran = run_with(&["check", "-"], stranger);
    assert_eq!(ran.code, Some(0));
    let words = "`MPIJob` of `kubeflow.org/v1` is not a kind that Trainyard runs";
    assert!(ran.out.contains(words), "{}", ran.out);
}

#[test]
fn a_version_that_is_not_served_is_told_with_the_command_that_helps() {
    let file = "tests/fixtures/ok/tfjob/v1alpha1-worker-zero-is-chief.yaml";
    let ran = run(&["check", file]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (Some(0), "1 file, 1 job: 1 warning\n")
    );
    for words in [
        "warning[TY106]",
        "`kubeflow.org/v1alpha1`",
        "`trainyard convert --to tfjob`",
    ] {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
    let converted = run(&["convert", file, "--to", "tfjob"]);
    let ran = run_with(&["check", "-"], &converted.out);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (Some(0), "1 file, 1 job: no problems\n"),
        "{}",
        ran.out
    );
    // Old manifests often have other problems: all are told at once.
    let text = fs::read_to_string(crate::run::root().join(file)).unwrap_or_default();
    let ran = run_with(
        &["check", "-"],
        &text.replacen("spec:\n", "spec:\n  nonsense: 1\n", 1),
    );
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.out.contains("TY020") && ran.out.contains("TY106"),
        "{}",
        ran.out
    );
    // Only `check` is about clusters: what runs on one machine runs.
    assert!(!run(&["plan", file]).err.contains("TY106"));
}
