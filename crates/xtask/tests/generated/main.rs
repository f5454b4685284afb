//! Files that are written by a program and kept in the repository, so that a change to them is seen in review.
//!
//! The ordinary tests compare; `cargo xtask generate` writes. To add one, add a line to `generated()`.

mod deploy;
mod problems;

use std::path::Path;

/// Each generated file: where it lies in the repository, and what it must say.
fn generated() -> Vec<(&'static str, String)> {
    vec![
        ("docs/problems.md", problems::page()),
        ("deploy/crd.yaml", deploy::definition()),
        ("deploy/install.yaml", deploy::install()),
    ]
}

#[test]
fn generated_files_are_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let write = std::env::var_os("TRAINYARD_GENERATE").is_some_and(|value| value == "write");
    let mut stale = Vec::new();
    for (path, wanted) in generated() {
        let file = root.join(path);
        if std::fs::read_to_string(&file).is_ok_and(|found| found == wanted) {
            continue;
        }
        if write {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, wanted).unwrap();
            println!("wrote {path}");
        } else {
            stale.push(path);
        }
    }
    assert!(
        stale.is_empty(),
        "out of date: {stale:?}; run `cargo xtask generate` and commit the result"
    );
}
