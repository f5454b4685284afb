use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;

use super::*;
use crate::pod::testing::Scratch;

fn machine(variables: &[(&str, &Path)]) -> Machine {
    let pair = |(name, value): &(&str, &Path)| (OsString::from(name), value.as_os_str().to_owned());
    Machine {
        environment: variables.iter().map(pair).collect::<BTreeMap<_, _>>(),
        ..Machine::default()
    }
}

/// Interpreters whose path says whether they have TensorFlow, hang, or are none.
fn pretended(file: &Path) -> Result<Answer, NoAnswer> {
    let text = file.display().to_string();
    if text.contains("hangs") {
        return Err(NoAnswer::Late);
    }
    Ok(Answer {
        version: "3.11.7".into(),
        has_tensorflow: text.contains("with-tf"),
        executable: file.to_owned(),
    })
}

/// A directory with programs of these names.
fn bin(scratch: &Scratch, directory: &str, names: &[&str]) -> PathBuf {
    let path = scratch.path().join(directory);
    fs::create_dir_all(&path).unwrap();
    for name in names {
        scratch.script(&format!("{directory}/{name}"), "");
    }
    path
}

/// The command; our variables; the interpreter, or why there is none.
type Case<'a> = (&'a str, Vec<(&'a str, &'a Path)>, Result<PathBuf, &'a str>);

#[test]
fn the_order_is_the_command_then_what_is_activated_then_path_then_ours() {
    let scratch = Scratch::new();
    let at = |name: &str| scratch.path().join(name);
    let with = bin(&scratch, "with-tf", &["python", "python3", "python3.9"]);
    let without = bin(&scratch, "plain", &["python", "python3"]);
    let hangs = bin(&scratch, "hangs", &["python"]);
    bin(&scratch, "venv/bin", &["python", "python3", "python3.11"]);
    fs::write(at("venv/pyvenv.cfg"), "").unwrap();
    bin(&scratch, "conda/bin", &["python", "python3"]);
    let (venv, conda, gone) = (at("venv"), at("conda"), at("gone"));
    let (base, own) = (Path::new("base"), Path::new("train"));
    let table: Vec<Case<'_>> = vec![
        ("python", vec![("PATH", &with)], Ok(with.join("python"))),
        ("python", vec![("PATH", &without)], Err("has no TensorFlow")),
        (
            "python",
            vec![("PATH", &hangs)],
            Err("does not answer within 10 s"),
        ),
        (
            "python",
            vec![("PATH", &gone)],
            Err("there is no `python` on PATH"),
        ),
        ("python", vec![], Err("there is no `python` on PATH")),
        (
            "python",
            vec![("PATH", &with), ("VIRTUAL_ENV", &venv)],
            Ok(at("venv/bin/python")),
        ),
        // What is activated has no such program.
        (
            "python3.9",
            vec![("PATH", &with), ("VIRTUAL_ENV", &venv)],
            Ok(with.join("python3.9")),
        ),
        (
            "python",
            vec![("PATH", &with), ("VIRTUAL_ENV", &gone)],
            Ok(with.join("python")),
        ),
        (
            "python",
            vec![("PATH", &without), ("VIRTUAL_ENV", Path::new("venv"))],
            Err("has no TensorFlow"),
        ),
        (
            "python",
            vec![
                ("PATH", &without),
                ("CONDA_PREFIX", &conda),
                ("CONDA_DEFAULT_ENV", own),
            ],
            Ok(at("conda/bin/python")),
        ),
        (
            "python",
            vec![
                ("PATH", &without),
                ("CONDA_PREFIX", &conda),
                ("CONDA_DEFAULT_ENV", base),
            ],
            Err("has no TensorFlow"),
        ),
        (
            "python",
            vec![("CONDA_PREFIX", &conda), ("VIRTUAL_ENV", &venv)],
            Ok(at("venv/bin/python")),
        ),
        ("bash", vec![("PATH", &with)], Ok(with.join("python3"))),
        (
            "/opt/python3",
            vec![("PATH", &with), ("VIRTUAL_ENV", &venv)],
            Ok("/opt/python3".into()),
        ),
        ("py/bin/python", vec![("PATH", &with)], Ok(at("py/bin/python"))),
    ];
    for (command, variables, expected) in table {
        let machine = machine(&variables);
        let started_by = started_by(command, &machine, scratch.path());
        match (find(&started_by, &machine, false, &pretended), expected) {
            (Found::Users(found), Ok(interpreter)) => {
                assert_eq!(found.interpreter, interpreter, "{command} {variables:?}");
            }
            (Found::None { why, .. }, Err(words)) => {
                assert!(why.contains(words), "{command} {variables:?}: {why}");
            }
            (found, _) => panic!("{command} {variables:?}: {found:?}"),
        }
    }
}

#[test]
fn a_version_in_the_command_is_the_version_to_make() {
    let machine = machine(&[]);
    for (command, expected) in [
        ("python3.9", Some("3.9")),
        ("python3", None),
        ("python", None),
        ("make", None),
    ] {
        let started_by = started_by(command, &machine, Path::new("/"));
        let Found::None { version, .. } = find(&started_by, &machine, false, &pretended) else {
            panic!("{command}");
        };
        assert_eq!(version.as_deref(), expected, "{command}");
    }
}

#[test]
fn the_configuration_goes_before_path_and_behind_what_is_activated() {
    let scratch = Scratch::new();
    let with = bin(&scratch, "with-tf", &["python"]);
    bin(&scratch, "venv/bin", &["python"]);
    let venv = scratch.path().join("venv");
    let name = StartedBy::Name("python".into());
    let on_path = machine(&[("PATH", &with)]);
    assert!(matches!(
        find(&name, &on_path, true, &pretended),
        Found::None { .. }
    ));
    let active = machine(&[("PATH", &with), ("VIRTUAL_ENV", &venv)]);
    assert!(matches!(find(&name, &active, true, &pretended), Found::Users(_)));
}

#[test]
fn the_first_line_of_a_script_says_which_python_it_starts() {
    let scratch = Scratch::new();
    let machine = machine(&[("PATH", scratch.path())]);
    let name = |name: &str| StartedBy::Name(name.into());
    let table = [
        ("#!/usr/bin/env python3\n", name("python3")),
        (
            "#!/usr/bin/env -S PYTHONUTF8=1 python3.11 -u\n",
            name("python3.11"),
        ),
        (
            "#! /opt/venv/bin/python -u\n",
            StartedBy::File("/opt/venv/bin/python".into(), String::new()),
        ),
        ("#!/bin/sh\npython train.py\n", StartedBy::Unknown),
        ("\u{7f}ELF", StartedBy::Unknown),
        ("", StartedBy::Unknown),
    ];
    for (text, expected) in table {
        let file = scratch.script("script", "");
        fs::write(&file, text).unwrap();
        for typed in ["./script", "script", &file.display().to_string()] {
            match (started_by(typed, &machine, scratch.path()), &expected) {
                (StartedBy::File(file, why), StartedBy::File(expected, _)) => {
                    assert_eq!(&file, expected);
                    assert!(why.contains("script"), "{why}");
                }
                (found, expected) => assert_eq!(&found, expected, "{typed}: {text:?}"),
            }
        }
    }
    assert_eq!(started_by("./gone", &machine, scratch.path()), StartedBy::Unknown);
}

#[test]
fn a_python_that_is_named_is_an_interpreter_or_an_environment() {
    let scratch = Scratch::new();
    bin(&scratch, "venv/bin", &["python"]);
    fs::write(scratch.path().join("venv/pyvenv.cfg"), "").unwrap();
    let venv = scratch.path().join("venv");
    for path in [venv.clone(), venv.join("bin/python")] {
        let found = named(&path, &pretended).unwrap();
        assert_eq!(found.interpreter, venv.join("bin/python"));
        assert_eq!(found.environment.as_ref(), Some(&venv));
        assert!(
            found
                .note()
                .contains("(Python 3.11.7, without TensorFlow): `--python` names it"),
            "{}",
            found.note()
        );
    }
    let bare = scratch.script("python3.9", "");
    assert_eq!(named(&bare, &pretended).unwrap().environment, None);
    for (path, words) in [
        (scratch.path().join("gone"), "does not exist"),
        (scratch.script("hangs", ""), "10 s"),
    ] {
        assert!(named(&path, &pretended).unwrap_err().contains(words));
    }
}
