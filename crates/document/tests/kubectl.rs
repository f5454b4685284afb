//! What we read is what the real kubectl reads.
//!
//! Every row of the tables in `kubectl/cases.rs` and a few thousand made-up ones go through `kubectl annotate --local`,
//! which needs no cluster. The program is `$KUBECTL`, or `kubectl` on the path; without it these tests fail.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on must say so"
)]

#[path = "kubectl/cases.rs"]
mod cases;
#[path = "kubectl/made_up.rs"]
mod made_up;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use trainyard_document::codes::Code;
use trainyard_document::problem::{Problem, has_errors};
use trainyard_document::{Source, parse};

/// What kubectl makes of a file: its objects, without the annotation that made it print them.
fn kubectl(text: &str) -> Result<Vec<Value>, String> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let program = std::env::var_os("KUBECTL").unwrap_or_else(|| "kubectl".into());
    let name = format!(
        "case-{}-{}.yaml",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    );
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&file, text).unwrap();
    let ended = Command::new(&program)
        .args(["annotate", "--local", "-o", "json", "-f"])
        .arg(&file)
        .arg("k=v")
        .env("KUBECONFIG", "/dev/null")
        .output()
        .unwrap_or_else(|error| {
            panic!(
                "cannot run `{}` ({error}): these tests compare our reader with kubectl. Install it, or set KUBECTL \
                 to the program",
                program.display()
            )
        });
    std::fs::remove_file(&file).unwrap();
    if !ended.status.success() {
        return Err(String::from_utf8_lossy(&ended.stderr).into_owned());
    }
    let objects = serde_json::Deserializer::from_slice(&ended.stdout).into_iter::<Value>();
    Ok(objects
        .map(|object| without_annotation(object.unwrap()))
        .collect())
}

fn without_annotation(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().unwrap();
    let annotations = metadata
        .get_mut("annotations")
        .and_then(Value::as_object_mut)
        .unwrap();
    annotations.remove("k");
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    object
}

/// What we make of it.
fn ours(text: &str) -> (Vec<Value>, Vec<Problem>) {
    let source = Source::from_bytes("case.yaml", text.as_bytes()).unwrap();
    let (documents, problems) = parse(&source);
    (
        documents.iter().map(|document| document.root.to_json()).collect(),
        problems,
    )
}

/// An object that kubectl takes, with the lines of a case in it.
fn object(name: &str, lines: &str) -> String {
    format!("apiVersion: t/v1\nkind: Case\nmetadata: {{name: {name}}}\n{lines}\n")
}

/// Equal but for the last bits of a float, which the test's own JSON reader may lose.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            let (x, y) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            a == b || (a.is_f64() || b.is_f64()) && (x - y).abs() <= 1e-14 * x.abs()
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

/// Compares many cases that kubectl accepts in one run of it; returns what each of ours was told.
fn all_the_same(cases: &[(String, String)]) -> BTreeMap<String, Vec<Problem>> {
    let text: Vec<String> = cases.iter().map(|(name, lines)| object(name, lines)).collect();
    let theirs = kubectl(&text.join("---\n")).unwrap_or_else(|error| {
        let refused = cases
            .iter()
            .find(|(name, lines)| kubectl(&object(name, lines)).is_err());
        panic!("kubectl refuses {refused:?}: {error}");
    });
    assert_eq!(theirs.len(), cases.len());
    let mut told = BTreeMap::new();
    let mut wrong = Vec::new();
    for (((name, lines), text), theirs) in cases.iter().zip(&text).zip(&theirs) {
        let (documents, problems) = ours(text);
        if documents.len() != 1 || !same(&documents[0], theirs) || has_errors(&problems) {
            wrong.push(format!(
                "{lines:?}\n  ours    {documents:?} {problems:?}\n  kubectl {theirs}"
            ));
        }
        told.insert(name.clone(), problems);
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
    told
}

fn named(rows: &[&str]) -> Vec<(String, String)> {
    rows.iter()
        .enumerate()
        .map(|(number, lines)| (format!("c{number}"), (*lines).to_owned()))
        .collect()
}

/// Runs `check` on every row, a few at a time: each starts kubectl once.
fn for_each_in_parallel<T: Sync>(rows: &[T], check: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    check(row);
                }
            });
        }
    });
}

#[test]
fn scalars_keys_merges_and_layouts_are_read_as_kubectl_reads_them() {
    let rows: Vec<String> = cases::VALUES.iter().map(|value| format!("v: {value}")).collect();
    let keys: Vec<String> = cases::KEYS
        .iter()
        .map(|key| format!("m: {{{key}: x}}\nn:\n  {key}: x"))
        .collect();
    let rows: Vec<&str> = rows
        .iter()
        .chain(&keys)
        .map(String::as_str)
        .chain(cases::SAME.iter().copied())
        .collect();
    assert!(rows.len() >= 150, "{}", rows.len());
    for (name, problems) in all_the_same(&named(&rows)) {
        let row = rows[name[1..].parse::<usize>().unwrap()];
        let strange = problems
            .iter()
            .find(|problem| !matches!(problem.code, Code::TagIgnored | Code::MergedOverOwn));
        assert!(strange.is_none(), "{row:?} {strange:?}");
        let after = row.contains("later");
        assert_eq!(
            problems.iter().any(|problem| problem.code == Code::MergedOverOwn),
            after,
            "{row:?}"
        );
    }
}

#[test]
fn made_up_scalars_are_read_as_kubectl_reads_them() {
    let mut random = made_up::Random::new(20_261_115);
    let cases: Vec<(String, String)> = (0..3_000)
        .map(|number| {
            let (value, key) = (made_up::scalar(&mut random), made_up::key(&mut random));
            (format!("c{number}"), format!("v: {value}\nm:\n  {key}: {value}"))
        })
        .collect();
    all_the_same(&cases);
}

#[test]
fn made_up_trees_are_read_as_kubectl_reads_them() {
    let mut random = made_up::Random::new(7);
    let cases: Vec<(String, String)> = (0..400)
        .map(|number| (format!("c{number}"), made_up::tree(&mut random)))
        .collect();
    all_the_same(&cases);
}

#[test]
fn whole_files_are_cut_into_the_same_documents() {
    for_each_in_parallel(cases::FILES, |text| {
        let theirs = kubectl(text).unwrap_or_else(|error| panic!("kubectl refuses {text:?}: {error}"));
        let (documents, problems) = ours(text);
        assert!(!has_errors(&problems), "{text:?} {problems:?}");
        assert_eq!(documents.len(), theirs.len(), "{text:?}");
        for (ours, theirs) in documents.iter().zip(&theirs) {
            assert!(
                same(ours, theirs),
                "{text:?}\n  ours    {ours}\n  kubectl {theirs}"
            );
        }
    });
}

#[test]
fn what_kubectl_refuses_we_refuse() {
    for_each_in_parallel(cases::BOTH_REFUSE, |(lines, code)| {
        let text = object("c", lines);
        assert!(kubectl(&text).is_err(), "kubectl takes {lines:?}");
        let (_, problems) = ours(&text);
        assert!(
            problems.iter().any(|problem| problem.code == *code),
            "{lines:?} {problems:?}"
        );
        assert!(has_errors(&problems), "{lines:?}");
    });
}

#[test]
fn where_we_take_more_than_kubectl_we_warn() {
    for_each_in_parallel(cases::WE_TAKE_MORE, |text| {
        assert!(kubectl(text).is_err(), "kubectl takes {text:?}");
        let (documents, problems) = ours(text);
        assert!(
            !documents.is_empty() && !has_errors(&problems),
            "{text:?} {problems:?}"
        );
        assert!(
            problems
                .iter()
                .any(|problem| problem.code == Code::KubectlRefuses),
            "{text:?} {problems:?}"
        );
    });
}

#[test]
fn where_kubectl_is_silently_wrong_we_are_stricter() {
    for_each_in_parallel(cases::WE_REFUSE, |(text, code)| {
        let theirs = kubectl(text);
        assert!(theirs.is_ok(), "kubectl refuses {text:?}: {theirs:?}");
        let (_, problems) = ours(text);
        assert!(
            problems.iter().any(|problem| problem.code == *code),
            "{text:?} {problems:?}"
        );
        assert!(has_errors(&problems), "{text:?}");
    });
}
