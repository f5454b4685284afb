//! Words that people try: the commands of other tools, and scripts where a manifest is expected. The answer names the right
//! command.

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use trainyard_document::problem::{escaped, shown};

use crate::args::{Command, Run};
use crate::failure::Failure;

/// What to say instead, by what was typed.
const COMMANDS: [(&[&str], &str); 14] = [
    (
        &[
            "init", "new", "create", "generate", "scaffold", "template", "example",
        ],
        "write a manifest with `trainyard run --workers 2 --print -- python train.py > job.yaml`",
    ),
    (
        &["start", "train", "launch", "exec", "execute", "go", "up", "local"],
        "run a manifest with `trainyard run job.yaml`, or a script with `trainyard run --workers 2 -- python train.py`",
    ),
    (
        &["submit", "apply", "deploy-job"],
        "on a cluster jobs are created with `kubectl apply -f job.yaml`; on this machine run it with `trainyard run job.yaml`",
    ),
    (
        &[
            "status", "list", "ls", "jobs", "runs", "get", "show", "top", "describe", "history", "tasks",
        ],
        "list the runs with `trainyard ps`, and the tasks of one with `trainyard ps JOB`",
    ),
    (
        &["log", "tail", "attach", "follow", "output", "watch"],
        "follow the output of a run with `trainyard logs -f JOB`",
    ),
    (
        &["cancel", "down", "abort", "end", "halt", "terminate", "quit"],
        "stop a run with `trainyard stop JOB`",
    ),
    (
        &["delete", "del", "remove", "clean", "cleanup", "prune", "purge"],
        "remove finished runs with `trainyard rm`",
    ),
    (&["pause", "hold"], "suspend a run with `trainyard suspend JOB`"),
    (
        &["continue", "unpause", "unsuspend"],
        "resume a suspended run with `trainyard resume JOB`",
    ),
    (
        &["validate", "lint", "verify", "doctor"],
        "check a manifest with `trainyard check job.yaml`",
    ),
    (
        &["preview", "inspect", "dry-run", "dryrun", "diff"],
        "see what a manifest does with `trainyard plan job.yaml`",
    ),
    (
        &["setup", "deploy", "upgrade", "bootstrap"],
        "install the operator on a cluster with `trainyard install`; runs on this machine need no installation",
    ),
    (
        &["serve", "controller", "manager"],
        "run the operator with `trainyard operator`",
    ),
    (&["version"], "print the version with `trainyard --version`"),
];

/// The answer to a command line that could not be parsed, where what was meant is known.
pub fn answer(error: &clap::Error, all: &[OsString]) -> Option<Failure> {
    let words = texts(all)?;
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
                return None;
            };
            unknown_command(typed, &words)
        }
        ErrorKind::UnknownArgument if words.get(1).is_some_and(|word| word == "run") => {
            let at = words.iter().position(|word| is_program(word))?;
            if words[..at].iter().any(|word| word == "--") {
                return None;
            }
            let message = format!("`{}` is not a manifest", shown(&words[at]));
            Some(Failure::usage(
                message,
                command_after(&words[2..at], &words[at..]),
            ))
        }
        _ => None,
    }
}

/// The answer to `run train.py`: a script is no manifest.
pub fn script_as_manifest(command: &Command, all: &[OsString]) -> Option<Failure> {
    let Command::Run(typed) = command else {
        return None;
    };
    let Run { file: Some(file), .. } = &**typed else {
        return None;
    };
    let name = file
        .to_str()
        .filter(|name| is_script(name) || is_notebook(name))?;
    let message = format!("`{}` is a script, not a manifest", shown(name));
    if is_notebook(name) {
        let message = format!("`{}` is a notebook, not a manifest", shown(name));
        let help = "make a script of it with `jupyter nbconvert --to script`, and run that with `trainyard run --workers 2 -- python SCRIPT`";
        return Some(Failure::usage(message, help));
    }
    let words = texts(all)?;
    // Everything else was understood as flags of ours.
    let own: Vec<String> = words
        .iter()
        .skip(2)
        .take_while(|word| *word != "--")
        .filter(|word| *word != name)
        .cloned()
        .collect();
    Some(Failure::usage(message, command_after(&own, &[name.to_owned()])))
}

fn unknown_command(typed: &str, words: &[String]) -> Option<Failure> {
    let message = format!("there is no command `{}`", shown(typed));
    if is_program(typed) {
        let at = words.iter().position(|word| word == typed)?;
        return Some(Failure::usage(message, command_after(&[], &words[at..])));
    }
    if matches!(extension(typed), Some("yaml" | "yml" | "json")) {
        let help = format!("run a manifest with `trainyard run {}`", escaped(&quoted(typed)));
        return Some(Failure::usage(message, help));
    }
    let known = COMMANDS.iter().find(|(names, _)| names.contains(&typed));
    known.map(|(_, help)| Failure::usage(message, *help))
}

/// The command line with this command in its place, behind `--`.
fn command_after(own: &[String], command: &[String]) -> String {
    let tasks = ["--workers", "--ps", "--chief"];
    let has_tasks = own
        .iter()
        .any(|word| tasks.contains(&word.split('=').next().unwrap_or_default()));
    let mut line = vec!["trainyard", "run"]
        .into_iter()
        .map(str::to_owned)
        .collect::<Vec<_>>();
    line.extend(own.iter().map(|word| quoted(word)));
    if !has_tasks {
        line.extend(["--workers".to_owned(), "2".to_owned()]);
    }
    line.push("--".to_owned());
    line.extend(
        command
            .first()
            .and_then(|script| interpreter(script))
            .map(str::to_owned),
    );
    line.extend(command.iter().map(|word| quoted(word)));
    format!(
        "the command of the tasks stands behind `--`: `{}`",
        escaped(&line.join(" "))
    )
}

fn extension(word: &str) -> Option<&str> {
    Path::new(word).extension()?.to_str()
}

/// What runs a script that is typed alone.
fn interpreter(script: &str) -> Option<&'static str> {
    match extension(script)? {
        "py" => Some("python"),
        "sh" => Some("bash"),
        _ => None,
    }
}

fn is_script(word: &str) -> bool {
    !word.starts_with('-') && !word.contains(' ') && interpreter(word).is_some()
}

fn is_notebook(word: &str) -> bool {
    extension(word) == Some("ipynb")
}

/// Whether a command may begin with this word.
fn is_program(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    let is_python = name
        .strip_prefix("python")
        .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'));
    is_script(word) || is_python || matches!(name, "bash" | "sh" | "torchrun")
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn texts(all: &[OsString]) -> Option<Vec<String>> {
    all.iter().map(|word| word.to_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::args::Arguments;

    /// The message and the help for what was typed.
    fn answered(line: &str) -> Option<(String, String)> {
        let all: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let failure = match Arguments::try_parse_from(&all) {
            Ok(arguments) => script_as_manifest(&arguments.command, &all),
            Err(error) => answer(&error, &all),
        };
        match failure? {
            Failure::Error { exit, message, help } => {
                assert_eq!(exit.code(), 2, "{line}");
                Some((message, help.unwrap_or_default()))
            }
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn a_script_in_the_place_of_a_manifest_is_answered_with_the_right_command() {
        for (typed, meant) in [
            ("run train.py", "run --workers 2 -- python train.py"),
            ("run --workers 3 train.py", "run --workers 3 -- python train.py"),
            (
                "run train.py --workers=3 -q",
                "run --workers=3 -q -- python train.py",
            ),
            (
                "run --workers 2 train.py --epochs 3",
                "run --workers 2 -- python train.py --epochs 3",
            ),
            ("run --chief python3 train.py", "run --chief -- python3 train.py"),
            (
                "run --workers 2 python -u src/train.py",
                "run --workers 2 -- python -u src/train.py",
            ),
            ("run start.sh", "run --workers 2 -- bash start.sh"),
            (
                "train.py --epochs 3",
                "run --workers 2 -- python train.py --epochs 3",
            ),
            ("python train.py", "run --workers 2 -- python train.py"),
            ("run it's.py", r"run --workers 2 -- python 'it'\''s.py'"),
        ] {
            let (message, help) = answered(&format!("trainyard {typed}")).unwrap_or_default();
            assert!(
                help.ends_with(&format!("`trainyard {meant}`")),
                "{typed}: {message}: {help}"
            );
        }
        let (_, help) = answered("trainyard run train.ipynb").unwrap();
        assert!(help.contains("nbconvert"), "{help}");
    }

    #[test]
    fn words_of_other_tools_are_answered_with_ours() {
        for (typed, meant) in [
            ("init", "--print"),
            ("start job.yaml", "trainyard run job.yaml"),
            ("train", "trainyard run"),
            ("launch x", "trainyard run"),
            ("status", "trainyard ps"),
            ("ls", "trainyard ps"),
            ("tail mnist", "trainyard logs -f JOB"),
            ("delete mnist", "trainyard rm"),
            ("job.yaml", "trainyard run job.yaml"),
            ("version", "--version"),
        ] {
            let (message, help) = answered(&format!("trainyard {typed}")).unwrap_or_default();
            assert!(
                message.starts_with("there is no command `") && help.contains(meant),
                "{typed}: {message}: {help}"
            );
        }
    }

    #[test]
    fn what_is_right_or_unknown_has_no_answer_here() {
        for typed in [
            "run job.yaml",
            "run --workers 2 -- python train.py",
            "run --command a.py job.yaml",
            "run --no-such-flag job.yaml",
            "run --workers 2 --no-such-flag -- python train.py",
            "statsu",
            "check train.py",
        ] {
            assert_eq!(answered(&format!("trainyard {typed}")), None, "{typed}");
        }
    }

    #[test]
    fn no_word_that_is_answered_is_a_command_and_every_answer_names_one() {
        let commands = Arguments::command();
        let is_command = |word: &str| commands.find_subcommand(word).is_some();
        for (names, help) in COMMANDS {
            assert!(!names.iter().any(|name| is_command(name)), "{names:?}");
            let named = help
                .split("`trainyard ")
                .skip(1)
                .filter_map(|rest| rest.split([' ', '`']).next());
            for word in named.filter(|word| !word.starts_with('-')) {
                assert!(is_command(word), "{help}");
            }
        }
    }
}
