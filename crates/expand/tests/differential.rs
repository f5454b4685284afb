//! Made-up templates, hosts and flags, against what simpletfjob did with them.
//!
//! What it did is recorded in `differential/recorded.txt`, a line a case: the fingerprint of its output, or `refused`
//! where it panicked, gave up or wrote nonsense. The record is made by `differential/simpletfjob.go` with Go's own
//! text/template. A test makes it anew with Go and compares; a run that has to go without Go says so with
//! `TRAINYARD_WITHOUT_GO=1`. With `TRAINYARD_RECORD=write` a record that differs is kept, and the test fails all the same:
//! a developer must read the difference.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on must say so"
)]

#[path = "differential/cases.rs"]
mod cases;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use trainyard_expand::expand;
use trainyard_expand::hosts::{Wanted, cast, names};
use trainyard_expand::template::UserTemplate;

use crate::cases::Case;

/// How many cases there are.
const CASES: u64 = 3000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/differential")
}

/// What we make of a case, with simpletfjob's meaning of its flags.
fn ours(case: &Case) -> Result<String, String> {
    let num = match case.num {
        -1 | 0 => None,
        num => Some(usize::try_from(num).map_err(|error| error.to_string())?),
    };
    let wanted = Wanted {
        num,
        exclude: case.exclude.as_deref().map(names).unwrap_or_default(),
        psn: usize::try_from(case.psn).map_err(|error| error.to_string())?,
        ..Wanted::default()
    };
    let cast = cast(&case.nodes, &wanted).map_err(|error| error.to_string())?;
    let template = UserTemplate::parse(&case.template).map_err(|mistakes| format!("{mistakes:?}"))?;
    expand(&template, &cast, "job").map_err(|unexpanded| format!("{unexpanded:?}"))
}

/// FNV-1a.
fn fingerprint(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[test]
fn three_thousand_made_up_cases_come_out_as_simpletfjob_made_them() {
    let recorded = std::fs::read_to_string(folder().join("recorded.txt")).expect("there is a record");
    let recorded: Vec<&str> = recorded.lines().collect();
    assert_eq!(recorded.len() as u64, CASES);
    let (mut wrong, mut same) = (Vec::new(), 0);
    for (seed, expected) in (0..CASES).zip(&recorded) {
        let case = Case::made_up(seed);
        let made = ours(&case);
        if case.psn == 0 {
            // It crashed; here it is a cluster without parameter servers.
            assert!(made.is_err() || !made.unwrap().contains("\"ps\": ["), "{seed}");
            continue;
        }
        let told = made
            .as_ref()
            .map_or_else(|_| "refused".to_owned(), |text| fingerprint(text));
        if told == *expected {
            same += u32::from(made.is_ok());
        } else {
            wrong.push(format!(
                "case {seed}: recorded {expected}, ours {made:?}\n{case:?}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ, the first:\n{}",
        wrong.len(),
        wrong[0]
    );
    assert!(same > 1000, "only {same} cases made a manifest");
}

#[test]
fn the_record_is_what_gos_own_templates_make() {
    if std::env::var_os("TRAINYARD_WITHOUT_GO").is_some() {
        return;
    }
    let answers = go().expect(
        "Go compares the record with its own templates: install it, or go without with TRAINYARD_WITHOUT_GO=1",
    );
    let mut record = String::new();
    for answer in &answers {
        let refused = answer["refused"].as_str().unwrap();
        let text = answer["text"].as_str().unwrap();
        let line = if refused.is_empty() {
            fingerprint(text)
        } else {
            "refused".to_owned()
        };
        writeln!(record, "{line}").unwrap();
    }
    let file = folder().join("recorded.txt");
    let recorded = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = record != recorded;
    let keeps = std::env::var_os("TRAINYARD_RECORD").is_some_and(|how| how == "write");
    if differs && keeps {
        std::fs::write(&file, &record).unwrap();
    }
    assert!(
        !differs,
        "the record is not what Go makes; TRAINYARD_RECORD=write keeps that{}",
        if keeps {
            ": it is written now, read the difference"
        } else {
            ""
        }
    );
}

/// What Go makes of every case; none without Go.
fn go() -> Option<Vec<serde_json::Value>> {
    Command::new("go").arg("version").output().ok()?;
    let mut child = Command::new("go")
        .args(["run", "simpletfjob.go"])
        .current_dir(folder())
        // Nothing but the standard library is needed: no module, no network.
        .env("GO111MODULE", "off")
        .env("GOFLAGS", "")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Go runs");
    let mut stdin = child.stdin.take().unwrap();
    let questions = std::thread::spawn(move || {
        for seed in 0..CASES {
            let case = Case::made_up(seed);
            let question = serde_json::json!({
                "Template": case.template, "Nodes": case.nodes, "Exclude": case.exclude, "Num": case.num,
                "Psn": case.psn,
            });
            writeln!(stdin, "{question}").unwrap();
        }
    });
    let ended = child.wait_with_output().unwrap();
    questions.join().unwrap();
    assert!(ended.status.success(), "Go runs the program");
    let answers = serde_json::Deserializer::from_slice(&ended.stdout).into_iter();
    let answers: Vec<serde_json::Value> = answers.map(Result::unwrap).collect();
    assert_eq!(answers.len() as u64, CASES);
    Some(answers)
}
