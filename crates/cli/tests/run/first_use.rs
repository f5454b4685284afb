//! What a new user meets: which Python runs, how an environment is made, and what is answered to words that people try.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::bench::{Bench, Ran, Run, finished};

/// A program called Python: it says whether it has TensorFlow, has pip, makes environments of itself, and says how it was started.
fn fake_python(has_tensorflow: bool, install: &str) -> String {
    let has = u8::from(has_tensorflow);
    format!(
        r#"#!/bin/sh
case "$*" in
*trainyard-python*) echo "trainyard-python 3.11.7 {has} $0";;
*"import sys; print"*) echo 3.11.7;;
"-m pip --version") ;;
"-m pip download "*) echo "ERROR: no such version (from versions: 2.20.0, 2.21.0)" >&2; exit 1;;
"-m venv --clear "*) mkdir -p "$4/bin" && cp "$0" "$4/bin/python" && ln -s python "$4/bin/python3";;
"-m pip install "*) {install};;
"-c import tensorflow") ;;
*) echo "$0 was started with $*";;
esac
"#
    )
}

fn workers(bench: &Bench, flags: &[&str], command: &[&str]) -> Command {
    let own = ["run", "--name", "job", "--workers", "1"];
    bench.command(&[&own, flags, &["--"], command].concat())
}

/// The line about Python among what was said.
fn python_line(ran: &Ran) -> &str {
    let mut lines = ran.err.lines().filter(|line| line.contains("tasks use "));
    let line = lines.next().unwrap_or_default();
    assert_eq!(lines.next(), None, "{}", ran.err);
    line
}

/// A virtual environment with a package called TensorFlow that is none.
fn virtual_environment(bench: &Bench) -> PathBuf {
    let root = bench.path("venv");
    let made = Command::new("python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(&root)
        .status();
    assert!(made.expect("there is a Python").success());
    let libraries = fs::read_dir(root.join("lib")).expect("an environment has libraries");
    let library = libraries.flatten().next().expect("of one Python").path();
    let package = library.join("site-packages/tensorflow");
    fs::create_dir(&package).expect("a directory can be made");
    fs::write(package.join("__init__.py"), "place = __file__\n").expect("a file can be written");
    root
}

const TRAIN: &str = "import sys, tensorflow\nprint('prefix', sys.prefix)\n";

#[test]
fn an_activated_environment_is_used_and_named() {
    let bench = Bench::new();
    bench.program("python", &fake_python(true, "false"));
    bench.write("train.py", TRAIN);
    let root = virtual_environment(&bench);
    // Whether or not it is first on PATH, and by whichever name.
    for name in ["python", "python3"] {
        let ran = finished(workers(&bench, &[], &[name, "train.py"]).env("VIRTUAL_ENV", &root));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let line = python_line(&ran);
        assert!(
            line.contains(&format!("{}/bin/{name} (Python 3.", root.display())),
            "{line}"
        );
        assert!(line.ends_with(": the activated virtual environment"), "{line}");
        assert_eq!(ran.lines("worker-0"), [format!("prefix {}", root.display())]);
    }
    // The command goes before what is activated.
    let other = bench.program("python3.9", &fake_python(true, "false"));
    let ran = finished(workers(&bench, &[], &[&other.display().to_string(), "x"]).env("VIRTUAL_ENV", &root));
    assert!(
        python_line(&ran).ends_with("python3.9 (Python 3.11.7): the command names it"),
        "{ran:?}"
    );
    let ran = finished(workers(&bench, &[], &["python3.9", "x"]).env("VIRTUAL_ENV", &root));
    assert!(
        python_line(&ran).ends_with("`python3.9` on PATH, which has TensorFlow"),
        "{ran:?}"
    );
}

#[test]
fn a_named_environment_is_used_with_and_without_a_manifest() {
    let bench = Bench::new();
    bench.write("train.py", TRAIN);
    let root = virtual_environment(&bench);
    let printed = bench.run(&[
        "run",
        "--name",
        "job",
        "--workers",
        "1",
        "--print",
        "--",
        "/usr/bin/python3",
        "train.py",
    ]);
    bench.write("job.yaml", printed.out);
    let interpreter = root.join("bin/python");
    for arguments in [
        vec![
            "run",
            "--python",
            "venv",
            "--workers",
            "1",
            "--name",
            "job",
            "--",
            "python",
            "train.py",
        ],
        vec!["run", "--python", "venv/bin/python", "job.yaml"],
    ] {
        let ran = bench.run(&arguments);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let line = python_line(&ran);
        assert!(
            line.contains(&interpreter.display().to_string()) && line.ends_with(": `--python` names it"),
            "{line}"
        );
        assert_eq!(ran.lines("worker-0"), [format!("prefix {}", root.display())]);
    }
    let ran = bench.run(&["run", "--python", "vnev", "job.yaml"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.err.contains("vnev` does not exist") && ran.err.contains("help: "),
        "{}",
        ran.err
    );
}

#[test]
fn python_on_path_is_used_if_it_has_tensorflow() {
    let bench = Bench::new();
    let python = bench.program("python", &fake_python(true, "false"));
    bench.program("train", "#!/usr/bin/env python\n");
    for command in [vec!["python", "train.py"], vec!["train"]] {
        let ran = finished(&mut workers(&bench, &[], &command));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let expected = format!(
            "note: tasks use {} (Python 3.11.7): `python` on PATH, which has TensorFlow",
            python.display()
        );
        assert_eq!(python_line(&ran), expected);
    }
    // With `--python own` it is not even asked.
    let ran = finished(&mut workers(
        &bench,
        &["--python", "own"],
        &["python", "train.py"],
    ));
    let expected = format!(
        "note: tasks use {}: the first `python` on PATH (`--python own`)",
        python.display()
    );
    assert_eq!(python_line(&ran), expected);
    let ran = finished(&mut workers(&bench, &["-q"], &["python", "train.py"]));
    assert!(!ran.err.contains("tasks use"), "{ran:?}");
}

#[test]
fn without_a_python_that_has_tensorflow_one_is_made_and_the_reason_comes_first() {
    let bench = Bench::new();
    let text = fake_python(false, "true");
    let python = bench.program("python", &text);
    bench.program("python3", &text);
    bench.program("uv", "#!/bin/sh\nexit 1\n");
    let ran = finished(&mut workers(&bench, &[], &["python", "train.py"]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let reason = format!(
        "`python` on PATH ({}, Python 3.11.7) has no TensorFlow",
        python.display()
    );
    let lines: Vec<&str> = ran.err.lines().collect();
    assert!(
        lines[0].starts_with(&format!("note: {reason}, so")),
        "{}",
        ran.err
    );
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("trainyard: made tensorflow")),
        "{}",
        ran.err
    );
    assert!(
        python_line(&ran).contains("/.cache/trainyard/python/environments/tensorflow"),
        "{}",
        ran.err
    );
    assert!(python_line(&ran).contains(&reason), "{}", ran.err);
    assert!(
        ran.lines("worker-0")[0].contains("/.cache/trainyard/python/environments/"),
        "{ran:?}"
    );
    // The second time there is nothing to make.
    let ran = finished(&mut workers(&bench, &[], &["python", "train.py"]));
    assert!(
        ran.err.starts_with("note: tasks use ") && python_line(&ran).contains(&reason),
        "{}",
        ran.err
    );
}

#[test]
fn an_installer_has_a_clock_and_says_what_it_does() {
    let bench = Bench::new();
    let go = bench.path("go");
    let install = format!(
        "echo 'Collecting tensorflow-cpu==2.21.0'; echo '  Downloading tensorflow_cpu.whl (240.1 MB)'; until [ -e '{}' ]; do sleep 0.05; done",
        go.display()
    );
    for terminal in [false, true] {
        let _ = fs::remove_file(&go);
        let text = fake_python(false, &install);
        bench.program("python", &text);
        bench.program("python3", &text);
        bench.program("uv", "#!/bin/sh\nexit 1\n");
        let cache = bench.path(if terminal { "one" } else { "other" });
        let mut command = if terminal {
            bench.on_terminal(&["run", "--name", "job", "--workers", "1", "--", "python", "x"])
        } else {
            workers(&bench, &[], &["python", "x"])
        };
        command.env("XDG_CACHE_HOME", cache);
        let mut run = Run::start(command);
        if terminal {
            run.until_bytes("  downloading tensorflow_cpu.whl (240.1 MB)");
            run.until_bytes("2s  downloading");
        } else {
            let line = run.until(": downloading tensorflow_cpu.whl (240.1 MB)");
            assert!(line.starts_with("trainyard: "), "{line}");
            assert!(!line.contains(['\r', '\x1b']), "{line:?}");
        }
        fs::write(&go, "").expect("a file can be written");
        let (said, status) = run.finish();
        assert!(status.success(), "{said:#?}");
    }
}

#[test]
fn words_that_people_try_are_answered_with_the_right_command() {
    let bench = Bench::new();
    bench.write("train.py", "");
    for (typed, meant) in [
        (
            &["run", "train.py"][..],
            "`trainyard run --workers 2 -- python train.py`",
        ),
        (
            &["run", "--workers", "3", "train.py"],
            "`trainyard run --workers 3 -- python train.py`",
        ),
        (
            &["run", "--workers", "3", "python", "train.py"],
            "`trainyard run --workers 3 -- python train.py`",
        ),
        (
            &["init"],
            "`trainyard run --workers 2 --print -- python train.py > job.yaml`",
        ),
        (&["status"], "`trainyard ps`"),
    ] {
        let ran = bench.run(typed);
        assert_eq!(ran.code, Some(2), "{typed:?}: {ran:?}");
        assert!(
            ran.err.starts_with("error: ") && ran.err.contains("\nhelp: "),
            "{typed:?}: {}",
            ran.err
        );
        assert!(ran.err.contains(meant), "{typed:?}: {}", ran.err);
        assert_eq!(ran.out, "");
    }
}
