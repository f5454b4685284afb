//! What we write, another reader reads: `PyYAML`, which follows YAML 1.1 where kubectl does not.
//!
//! It is asked where Python has it; elsewhere the table beside the writer (`text_that_another_reader_may_take_for_something_else_is_quoted`)
//! stands for it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must say so")]

use std::io::Write as _;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use trainyard_document::yaml::write;

/// Reads all documents of standard input and prints each as JSON, one per line.
const PROGRAM: &str = "
import io, json, sys, yaml
text = io.TextIOWrapper(sys.stdin.buffer, encoding='utf-8', newline='').read()
for document in yaml.safe_load_all(text):
    print(json.dumps(document))
";

/// The documents as `PyYAML` reads them; none where Python has no such reader.
fn read_by_python(text: &str) -> Option<Vec<Value>> {
    let known = Command::new("python3")
        .args(["-c", "import yaml"])
        .stderr(Stdio::null())
        .status();
    if !known.is_ok_and(|status| status.success()) {
        return None;
    }
    let mut child = Command::new("python3")
        .args(["-c", PROGRAM])
        .env("PYTHONIOENCODING", "utf-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = text.to_owned();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "PyYAML cannot read what was written");
    let lines = String::from_utf8(output.stdout).unwrap();
    Some(
        lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
    )
}

/// Text that looks like something else, and any letters of all of Unicode.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        prop::collection::vec(any::<char>(), 0..12).prop_map(|letters| letters.into_iter().collect()),
        "[-a-z0-9:#{}\\[\\]'\"\n |>&*!%@`,.?=<~\r\t\u{85}\u{2028}\u{feff}]{0,12}",
        "[-+.0-9:_eExobtTzZ, ]{1,10}",
        "[+-]?(0x[0-9a-fA-F_]{1,4}|0b[01_]{1,4}|0[0-7_]{1,4}|[0-9_]{1,3}(:[0-5]?[0-9]){1,2}(\\.[0-9_]*)?|\\.(inf|Inf|INF|nan|NaN))",
        "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ][0-9]{1,2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,3})?(Z| ?[-+][0-9]{1,2})?)?",
        "[yYnN]|[yY]es|YES|[nN]o|NO|[oO]n|ON|[oO]ff|OFF|[tT]rue|[fF]alse|~|null|Null|NULL|=|<<",
    ]
}

#[test]
fn every_text_is_the_same_text_to_another_reader() {
    let mut runner = TestRunner::default();
    let mut draw = || texts().new_tree(&mut runner).unwrap().current();
    let documents: Vec<Value> = (0..2000)
        .map(|_| json!({ "value": draw(), "list": [draw(), { draw(): draw() }], "text": format!("{}\n{}", draw(), draw()) }))
        .collect();
    let written: Vec<String> = documents.iter().map(write).collect();
    let written = written.join(
        "---
",
    );
    let Some(read) = read_by_python(&written) else {
        eprintln!("SKIPPED: python3 has no PyYAML");
        return;
    };
    assert_eq!(read.len(), documents.len());
    for (read, document) in read.iter().zip(&documents) {
        assert_eq!(read, document, "\n{}", write(document));
    }
}
