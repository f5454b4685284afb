//! What pages claim about tests is true: a test that a page names exists.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must say so")]

use std::fs;
use std::path::Path;

/// Our sources, as one text.
fn sources(folder: &Path, out: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

/// The names of tests in a page: words in backticks that nothing else is written like.
fn named(page: &str) -> Vec<&str> {
    let looks_so = |word: &&str| {
        word.matches('_').count() >= 2
            && word
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    page.split('`').skip(1).step_by(2).filter(looks_so).collect()
}

#[test]
fn every_test_that_the_page_about_security_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let page = fs::read_to_string(root.join("docs/security.md")).unwrap();
    let mut text = String::new();
    for folder in ["crates", "tests", "bench"] {
        sources(&root.join(folder), &mut text);
    }
    let named = named(&page);
    assert!(named.len() > 20, "the table is not read: {named:?}");
    for test in named {
        assert!(
            text.contains(&format!("fn {test}(")),
            "docs/security.md names the test {test}"
        );
    }
}

#[test]
fn names_of_tests_are_told_from_other_words() {
    let page = "`a_test_of_ours`, `status.waiting`, `kubectl`, `FailedCreatePod`, `trainyard_leader`";
    assert_eq!(named(page), ["a_test_of_ours"]);
}
