//! Every help, followed: a manifest with a problem, what the help says, and the manifest of a user who has done so.
//!
//! The problem is then gone and nothing in the manifest is wrong. A line of ours that gives a help and is reached by no row
//! fails a test, and so does a help that a fixture or an example gets and no row tries.

mod manifests;
mod shape;
mod t9k;
mod text;
mod tfjob;
mod versions;
mod volcano;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use trainyard_document::Source;
use trainyard_document::codes::Code;
use trainyard_document::problem::{Problem, Severity};

use crate::{Dialect, not_served, placeholders, read, with_placeholders};

/// One help.
struct Row {
    code: Code,
    help: &'static str,
    before: Vec<u8>,
    after: Vec<u8>,
}

/// A change of a text: the first becomes the second.
type Edit<'a> = (&'a str, &'a str);

/// A row made from a good manifest, how it is spoilt, and how it is mended.
fn row(code: Code, good: &str, spoil: &[Edit<'_>], help: &'static str, mend: &[Edit<'_>]) -> Row {
    let before = edited(good, spoil);
    let after = edited(&before, mend);
    Row {
        code,
        help,
        before: before.into_bytes(),
        after: after.into_bytes(),
    }
}

fn edited(text: &str, edits: &[Edit<'_>]) -> String {
    edits.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "`{from}` is not in\n{text}");
        text.replacen(from, to, 1)
    })
}

fn rows() -> Vec<Row> {
    let rows = [
        text::rows(),
        shape::rows(),
        tfjob::rows(),
        versions::rows(),
        t9k::rows(),
        volcano::rows(),
    ];
    rows.into_iter().flatten().collect()
}

/// Everything that `check` says.
fn problems(bytes: &[u8]) -> Vec<Problem> {
    let source = match Source::from_bytes("t", bytes) {
        Ok(source) => source,
        Err(problem) => return vec![*problem],
    };
    let reading = read(&source);
    let unserved = not_served(&source);
    let problems = reading.problems.into_iter().chain(unserved).collect();
    with_placeholders(problems, placeholders(&source))
}

#[test]
fn a_help_that_is_followed_ends_the_problem() {
    let wrong: Vec<String> = rows().iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is wrong with a row: the help is not given, or does not help.
fn wrong(row: &Row) -> Option<String> {
    let told = |problems: &[Problem]| -> String {
        let lines = problems
            .iter()
            .map(|problem| format!("  {} {}\n", problem.code, problem.in_a_line()));
        lines.collect()
    };
    let before = problems(&row.before);
    if !before
        .iter()
        .any(|problem| problem.code == row.code && problem.hint.as_deref() == Some(row.help))
    {
        return Some(format!(
            "{} does not say `{}`, but\n{}",
            row.code,
            row.help,
            told(&before)
        ));
    }
    let after: Vec<Problem> = problems(&row.after)
        .into_iter()
        .filter(|problem| problem.code == row.code || problem.severity == Severity::Error)
        .collect();
    let text = String::from_utf8_lossy(&row.after);
    (!after.is_empty()).then(|| {
        format!(
            "{}: `{}` does not help\n{}{text}",
            row.code,
            row.help,
            told(&after)
        )
    })
}

#[test]
fn the_help_about_a_version_that_is_not_served_is_the_command_that_helps() {
    for version in ["v1alpha1", "v1alpha2"] {
        let text = match version {
            "v1alpha1" => manifests::FIRST.to_owned(),
            _ => edited(manifests::OLD, &[("v1beta2", version)]),
        };
        let source = Source::from_bytes("t", text.as_bytes()).unwrap();
        let reading = read(&source);
        let [problem] = &not_served(&source)[..] else {
            panic!("{version} is not served");
        };
        let help = problem.hint.as_deref().unwrap();
        assert!(help.contains("`trainyard convert --to tfjob`"), "{help}");
        for read in reading.jobs() {
            let converted = crate::convert::convert(&source, read, Dialect::TfJob);
            assert!(converted.losses.is_empty(), "{:#?}", converted.losses);
            assert_eq!(problems(converted.text.as_bytes()), []);
        }
    }
    assert_eq!(problems(manifests::OLD.as_bytes()), []);
}

/// Lines that a row cannot reach, and why.
const NOT_TRIED: &[(&str, &str)] = &[("tfjob/served.rs", "the test above tries it")];

#[test]
fn every_line_that_gives_a_help_is_tried() {
    let tried: BTreeSet<(String, usize)> = rows()
        .iter()
        .flat_map(|row| problems(&row.before))
        .filter_map(|problem| problem.hinted_by)
        .map(|at| (within_src(Path::new(at.file())), at.line() as usize))
        .collect();
    let mut missing = Vec::new();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for path in ["document/src", "dialect/src"]
        .iter()
        .flat_map(|folder| files(&crates.join(folder), &["rs"]))
    {
        let (name, text) = (within_src(&path), fs::read_to_string(&path).unwrap());
        let is_test = name.contains("tests") || name.starts_with("helps") || name == "problem.rs";
        if is_test || NOT_TRIED.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in (1..).zip(code.lines()) {
            let gives = line.contains(".hint(") || line.contains(".maybe_hint(");
            if gives && !line.trim_start().starts_with("//") && !tried.contains(&(name.clone(), number)) {
                missing.push(format!("{name}:{number}: {}", line.trim()));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new(), "helps that no row follows");
}

#[test]
fn every_help_that_a_fixture_gets_is_tried() {
    let tried: BTreeSet<(Code, String)> = rows().iter().map(|row| (row.code, form(row.help))).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["tests/fixtures/bad", "tests/fixtures/ok", "examples"];
    let mut missing = BTreeSet::new();
    for path in folders
        .iter()
        .flat_map(|folder| files(&root.join(folder), &["yaml", "json"]))
    {
        for problem in problems(&fs::read(&path).unwrap()) {
            let Some(hint) = problem.hint else { continue };
            if problem.code != Code::VersionNotServed && !tried.contains(&(problem.code, form(&hint))) {
                missing.insert(format!("{} {}", problem.code, form(&hint)));
            }
        }
    }
    assert_eq!(missing, BTreeSet::new(), "helps that no row follows");
}

/// The help without the words and numbers of one manifest.
fn form(help: &str) -> String {
    let mut out = String::new();
    for (position, part) in help.split('`').enumerate() {
        if position % 2 == 1 {
            out.push_str("`_`");
        } else {
            let said = part.split('"').step_by(2).collect::<String>();
            out.extend(said.chars().filter(|letter| !letter.is_ascii_digit()));
        }
    }
    out
}

fn within_src(path: &Path) -> String {
    let path = path.to_string_lossy().replace('\\', "/");
    path.rsplit_once("src/")
        .map_or_else(|| path.clone(), |(_, rest)| rest.to_owned())
}

fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, endings));
        } else if path
            .extension()
            .and_then(|ending| ending.to_str())
            .is_some_and(|ending| endings.contains(&ending))
        {
            found.push(path);
        }
    }
    found.sort();
    found
}
