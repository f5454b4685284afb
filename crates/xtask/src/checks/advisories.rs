//! Known vulnerabilities of dependencies. The advisory database is a git repository that not every machine can reach, so
//! this check may be skipped; the end of the report then says so.

use std::path::{Path, PathBuf};

use crate::report::Outcome;
use crate::shell::Shell;

/// Limit for fetching the database, in seconds.
const FETCH_TIMEOUT: &str = "60";

/// Fetches the database, else uses the copy of an earlier run, else skips.
pub fn check(shell: &Shell, deny: &Path) -> (Outcome, String) {
    let deny_text = deny.to_string_lossy();
    // Without this git may prompt for a password and wait for ever.
    let shell = shell.with("GIT_TERMINAL_PROMPT", "0");
    let fetched = shell
        .quiet("timeout", &[FETCH_TIMEOUT, &deny_text, "fetch", "db"])
        .is_ok_and(|ended| ended.success);
    if !fetched && !have_a_copy() {
        let why = "the advisory database cannot be fetched, and there is no earlier copy";
        return (Outcome::Skipped(why.to_owned()), String::new());
    }
    let note = if fetched {
        ""
    } else {
        "note: the advisory database could not be updated\n"
    };
    match shell.quiet(deny, &["--offline", "--all-features", "check", "advisories"]) {
        Ok(ended) if ended.success => (Outcome::Passed, format!("{note}{}", ended.output)),
        Ok(ended) => (Outcome::Failed, format!("{note}{}", ended.output)),
        Err(problem) => (Outcome::Failed, problem + "\n"),
    }
}

/// Whether cargo-deny has a database in its usual place. A clone that failed may leave an empty folder behind.
fn have_a_copy() -> bool {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let home = set("CARGO_HOME").or_else(|| Some(set("HOME")?.join(".cargo")));
    let folders = home.and_then(|home| std::fs::read_dir(home.join("advisory-dbs")).ok());
    folders.is_some_and(|folders| {
        folders
            .flatten()
            .any(|folder| folder.path().join("crates").is_dir())
    })
}
