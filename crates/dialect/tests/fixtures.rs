//! Every example and every fixture, read: the good ones as jobs, the bad ones as reports.
//!
//! A snapshot that changes is a change of what a manifest means: `cargo insta review` shows it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may stop at the first surprise"
)]

#[expect(dead_code, reason = "other tests use the rest")]
mod notation;

use std::fmt::Write;
use std::path::Path;

use trainyard_core::{How, Job, RoleName, Settled, Template, Test, Then, When, Who};
use trainyard_dialect::{Item, Reading, read};
use trainyard_document::Source;
use trainyard_document::codes::Code;
use trainyard_document::problem::{Problem, Severity, has_errors};

/// Wrong in a way that may be meant: they are only warned of.
const ONLY_WARNED_OF: &[&str] = &["gang-larger-than-the-job.yaml"];

/// A folder per dialect, and one of other objects.
const FOLDERS: &str = "*/*.{yaml,json}";

#[test]
fn good_manifests_become_jobs() {
    insta::glob!("../../../examples", FOLDERS, |path| good("example", path));
    insta::glob!("../../../tests/fixtures/ok", FOLDERS, |path| good("ok", path));
}

#[test]
fn bad_manifests_become_reports() {
    let mut passed = Vec::new();
    insta::glob!("../../../tests/fixtures/bad", FOLDERS, |path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        let problems = match source(path) {
            Ok(source) => read(&source).problems,
            Err(problem) => vec![*problem],
        };
        let warned_of = ONLY_WARNED_OF.contains(&name) && !problems.is_empty();
        if !has_errors(&problems) && !warned_of {
            passed.push(name.to_owned());
        }
        insta::assert_snapshot!("bad", report(&problems));
    });
    assert!(passed.is_empty(), "nothing wrong was found in {passed:?}");
}

fn good(name: &str, path: &Path) {
    let reading = read(&source(path).unwrap());
    assert!(!reading.has_errors(), "{}", report(&reading.problems));
    for read in reading.jobs() {
        check_rules(&read.job);
        check_reach(&read.job, &reading.problems);
    }
    let mut text = String::new();
    for item in &reading.items {
        text += &described(item);
    }
    text += &report(&reading.problems);
    insta::assert_snapshot!(name, text);
}

fn source(path: &Path) -> Result<Source, Box<Problem>> {
    let name = path.file_name().unwrap().to_str().unwrap();
    Source::from_bytes(name, &std::fs::read(path).unwrap())
}

fn described(item: &Item) -> String {
    match item {
        Item::Other(other) => {
            let name = &other.name;
            format!("# {} {} {name}\n", other.api_version, other.kind)
        }
        Item::Job(read) => {
            let mut job = read.job.clone();
            for role in &mut job.roles {
                role.template = shortened(&role.template);
                role.resume_template = role.resume_template.as_ref().map(shortened);
            }
            let heading = format!("# {} {:?}", read.api_version, read.dialect);
            let generated = if read.generate_name {
                ", name made by the server"
            } else {
                ""
            };
            let managed = read.managed_by.as_ref().map(|by| format!(", left to {by}"));
            let managed = managed.unwrap_or_default();
            format!("{heading}{generated}{managed}\n{}\n", yaml(&job))
        }
    }
}

/// The rules one a line, the rest as YAML.
fn yaml(job: &Job) -> String {
    let mut value = serde_json::to_value(job).unwrap();
    value["rules"] = job.rules.iter().map(notation::rule).collect();
    let mut out = String::new();
    write_yaml(&mut out, &value, 0);
    out
}

/// Just enough YAML for people to read: maps and lists indented, everything else as JSON.
fn write_yaml(out: &mut String, value: &serde_json::Value, depth: usize) {
    let indent = "  ".repeat(depth);
    match value {
        serde_json::Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                let _ = write!(out, "{indent}{key}:");
                write_value(out, value, depth);
            }
        }
        serde_json::Value::Array(items) if !items.is_empty() => {
            for item in items {
                let _ = write!(out, "{indent}-");
                write_value(out, item, depth);
            }
        }
        other => {
            let _ = writeln!(out, "{indent}{other}");
        }
    }
}

fn write_value(out: &mut String, value: &serde_json::Value, depth: usize) {
    let nested = match value {
        serde_json::Value::Object(map) => !map.is_empty(),
        serde_json::Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    match value {
        serde_json::Value::String(text) => {
            let _ = writeln!(out, " {text}");
        }
        value if nested => {
            out.push('\n');
            write_yaml(out, value, depth + 1);
        }
        value => {
            let _ = writeln!(out, " {value}");
        }
    }
}

/// A template is as long as the manifest; that it is the same one is another test's business.
fn shortened(template: &Template) -> Template {
    Template(format!("{} bytes", template.0.len()).into())
}

fn report(problems: &[Problem]) -> String {
    let mut out = String::new();
    for problem in problems {
        let severity = match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let place = problem
            .place
            .span
            .map_or_else(String::new, |span| format!(" {}:{}", span.line, span.column));
        let document = problem.place.document;
        let _ = writeln!(
            out,
            "{severity} {} #{document}{place} {}",
            problem.code, problem.place.path
        );
        let _ = writeln!(out, "  {}", problem.message);
        let more = [
            ("found", &problem.found),
            ("allowed", &problem.allowed),
            ("hint", &problem.hint),
        ];
        for (name, text) in more {
            if let Some(text) = text {
                let _ = writeln!(out, "  {name}: {text}");
            }
        }
        for (span, words) in &problem.related {
            let _ = writeln!(out, "  see {}:{}: {words}", span.line, span.column);
        }
    }
    out
}

/// What every dialect's compiler promises (C1, C2): every end of every task finds a rule, and when everything has
/// ended the job ends too.
fn check_rules(job: &Job) {
    let ends = [
        How::Succeeded,
        How::Codes(0, 0),
        How::Codes(1, 1),
        How::Codes(137, 137),
        How::NotStarted,
        How::Disrupted,
        How::Vanished,
    ];
    for role in &job.roles {
        for end in ends {
            let answered = |rule: &&trainyard_core::Rule| match &rule.when {
                When::Ended { who, how } => {
                    who.includes(&role.name, 0) && how.iter().any(|how| means(*how, end))
                }
                _ => false,
            };
            let found = job.rules.iter().find(answered);
            assert!(
                found.is_some(),
                "{}: no rule for {end:?} of {}",
                job.name,
                role.name
            );
        }
    }
    let last = job.rules.last().unwrap();
    let When::Count(counts) = &last.when else {
        panic!("{}: the last rule is {last:?}", job.name);
    };
    let [count] = &counts[..] else {
        panic!("{}: the last rule is {last:?}", job.name);
    };
    assert_eq!(
        (count.who.clone(), count.what, count.test),
        (Who::any(), Settled::Ended, Test::All)
    );
    assert!(matches!(last.then, Then::Finish(_)), "{}: {last:?}", job.name);
}

/// A rule that no end can reach, with a restart left or without, has been warned of (C3).
fn check_reach(job: &Job, problems: &[Problem]) {
    let mut reached = vec![false; job.rules.len()];
    let ends = |role: &RoleName, index: u32, budget: bool, end: How| {
        job.rules.iter().position(|rule| match &rule.when {
            When::Ended { who, how } => {
                let paid = matches!(rule.then, Then::Restart { paid: true, .. });
                (budget || !paid) && who.includes(role, index) && how.iter().any(|how| means(*how, end))
            }
            _ => false,
        })
    };
    let codes = (1..256).map(|code| How::Codes(code, code));
    let others = [How::Succeeded, How::NotStarted, How::Disrupted, How::Vanished];
    for end in codes.chain(others) {
        for role in &job.roles {
            for index in 0..3 {
                for budget in [true, false] {
                    if let Some(rule) = ends(&role.name, index, budget, end) {
                        reached[rule] = true;
                    }
                }
            }
        }
    }
    let lost = job.rules.iter().zip(reached).find(|(rule, reached)| {
        let is_edge = matches!(rule.when, When::Ended { .. });
        is_edge && !reached
    });
    if let Some((rule, _)) = lost {
        let warned = problems.iter().any(|problem| problem.code == Code::ShadowedRule);
        assert!(
            warned || &*rule.from == "built in",
            "{}: {}",
            job.name,
            notation::rule(rule)
        );
    }
}

fn means(rule: How, end: How) -> bool {
    match (rule, end) {
        (How::Failed, How::Codes(..) | How::NotStarted) => true,
        (How::Codes(low, high), How::Codes(code, _)) => (low..=high).contains(&code),
        (rule, end) => rule == end,
    }
}

#[test]
fn reading_twice_gives_the_same() {
    let mut readings: Vec<Reading> = Vec::new();
    for _ in 0..2 {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tfjob/parameter-server.yaml");
        readings.push(read(&source(&path).unwrap()));
    }
    let jobs = |reading: &Reading| reading.jobs().map(|read| read.job.clone()).collect::<Vec<_>>();
    assert_eq!(jobs(&readings[0]), jobs(&readings[1]));
}
