//! Known security holes in dependencies. The list of them is a git repository that not every machine can reach, so
//! this check may be left out; the end of the report then says that it was.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::report::Outcome;
use crate::shell::Shell;

/// How long the list may take to arrive.
const PATIENCE: Duration = Duration::from_mins(1);

/// Fetches the list if it can be had, else uses the copy of an earlier day, else skips.
pub fn check(shell: &Shell, deny: &Path) -> (Outcome, String) {
    let deny_text = deny.to_string_lossy();
    // Without this git may wait for a password that nobody types.
    let shell = shell.with("GIT_TERMINAL_PROMPT", "0");
    let fetched = shell
        .quiet_within(PATIENCE, &deny_text, &["fetch", "db"])
        .is_ok_and(|ended| ended.success);
    if !fetched && !have_a_copy() {
        let why = "the advisory database cannot be fetched from here, and no earlier copy is kept";
        return (Outcome::Skipped(why.to_owned()), String::new());
    }
    let note = if fetched {
        ""
    } else {
        "note: the advisory database could not be brought up to date\n"
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
