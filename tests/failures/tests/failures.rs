//! Failures as users have them: each folder beside `tests` is one, run with `trainyard run`; the first line of the verdict and
//! its help are compared with what its file `expect` says.
//!
//! Those that need TensorFlow take seconds each. Without `TRAINYARD_FAILURES=all`, which `cargo xtask failures --all` sets, only
//! the others run. The table in `docs/failures.md` is made of the same files.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test that cannot go on says why and stops"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// One failure.
#[derive(Clone, Debug)]
struct Case {
    name: String,
    folder: PathBuf,
    /// The arguments of `trainyard`, as in a shell.
    run: String,
    /// The line that must be there; `{}` stands for anything.
    first: String,
    /// Words of the help; none where the first line says it all.
    help: Option<String>,
    /// The entry of the catalogue.
    code: Option<String>,
    /// TensorFlow has to be imported.
    tensorflow: bool,
    /// The folder below its own in which it is run.
    directory: Option<String>,
    /// What a shell does while it runs, with the program as `$TRAINYARD`.
    meanwhile: Option<String>,
    /// Mebibytes of memory that a control group around the run gives it; only root can make one.
    memory: Option<u64>,
    /// A line that must not be there.
    never: Option<String>,
    /// Seconds that it may take.
    limit: u64,
}

impl Case {
    fn read(folder: &Path) -> Self {
        let text = fs::read_to_string(folder.join("expect")).expect("each failure says what is expected");
        let mut fields: BTreeMap<&str, &str> = text
            .lines()
            .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
            .map(|line| {
                line.split_once(": ")
                    .unwrap_or_else(|| panic!("{}: {line}", folder.display()))
            })
            .collect();
        let mut take = |key: &str| fields.remove(key).map(str::to_owned);
        let case = Self {
            name: folder.file_name().expect("a name").to_string_lossy().into_owned(),
            folder: folder.to_owned(),
            run: take("run").expect("run"),
            first: take("first").expect("first"),
            help: take("help"),
            code: take("code"),
            tensorflow: take("needs").is_some(),
            directory: take("in"),
            meanwhile: take("meanwhile"),
            memory: take("memory").map(|memory| memory.parse().expect("mebibytes")),
            never: take("never"),
            limit: take("limit").expect("limit").parse().expect("seconds"),
        };
        assert!(fields.is_empty(), "{}: {fields:?}", folder.display());
        case
    }
}

fn cases() -> Vec<Case> {
    let folders = fs::read_dir(env!("CARGO_MANIFEST_DIR")).expect("a folder");
    let folders = folders.map(|entry| entry.expect("an entry").path());
    let mut cases: Vec<Case> = folders
        .filter(|folder| folder.join("expect").exists())
        .map(|folder| Case::read(&folder))
        .collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

/// Runs a failure in a copy of its folder; what was wrong with what was said.
fn play(case: &Case) -> Result<(), String> {
    let place = TempDir::new().expect("a directory can be made");
    let folder = place.path().join("work");
    fs::create_dir(&folder).expect("a directory can be made");
    for entry in fs::read_dir(&case.folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        fs::copy(&path, folder.join(path.file_name().expect("a name"))).expect("a file can be copied");
    }
    let group = match case.memory.map(MemoryGroup::new) {
        Some(Err(why)) => {
            eprintln!("{}: left out: {why}", case.name);
            return Ok(());
        }
        Some(Ok(group)) => Some(group),
        None => None,
    };
    let program = trainyard_tools::trainyard().unwrap_or_else(|missing| panic!("{missing}"));
    let began = Instant::now();
    let limit = case.limit.to_string();
    let directory = case.directory.as_ref().map_or_else(String::new, |directory| {
        format!("mkdir '{directory}' && cd '{directory}' && ")
    });
    let meanwhile = case.meanwhile.as_ref().map_or_else(String::new, |meanwhile| {
        format!("({meanwhile}) >/dev/null 2>&1 & ")
    });
    let enter = group.as_ref().map_or_else(String::new, MemoryGroup::enter);
    let line = format!(
        "{enter}{directory}{meanwhile}exec timeout --kill-after=5 {limit} '{}' {}",
        program.display(),
        case.run
    );
    let ended = Command::new("bash")
        .args(["-c", &line])
        .current_dir(&folder)
        .env("TRAINYARD_STATE", place.path().join("state"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("TRAINYARD", program)
        .env_remove("TRAINYARD_CONFIG")
        .stdin(Stdio::null())
        .output()
        .expect("bash runs");
    let told = String::from_utf8_lossy(&ended.stderr).into_owned();
    let took = began.elapsed();
    let fail = |why: &str| Err(format!("{}: {why}\n{told}", case.name));
    if took > Duration::from_secs(case.limit) {
        return fail(&format!("it took {took:?}"));
    }
    if let Some(never) = &case.never
        && let Some(line) = told.lines().find(|line| fits(never, line))
    {
        return fail(&format!("a line is `{line}`"));
    }
    let Some(at) = told.lines().position(|line| fits(&case.first, line)) else {
        return fail(&format!("no line is `{}`", case.first));
    };
    let rest: Vec<&str> = told.lines().skip(at).map(str::trim).collect();
    let rest = rest.join(" ");
    match &case.help {
        Some(help) if !rest.contains(help) => return fail(&format!("nothing says `{help}`")),
        _ => {}
    }
    match &case.code {
        Some(code) if !rest.contains(code) => fail(&format!("nothing names {code}")),
        _ => Ok(()),
    }
}

/// A control group with a limit of memory, removed when it is dropped.
struct MemoryGroup(PathBuf);

impl MemoryGroup {
    /// A group with so many mebibytes; why it cannot be made, where it cannot. Of version 1 it is made inside the group of this process, of
    /// version 2 below the root, since there a group with processes has no groups with limits.
    fn new(mebibytes: u64) -> Result<Self, String> {
        let root = Path::new("/sys/fs/cgroup");
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let memory = own.lines().find_map(|line| line.split_once(":memory:"));
        let (parent, limit) = match memory {
            Some((_, group)) => (
                root.join("memory").join(group.trim_start_matches('/')),
                "memory.limit_in_bytes",
            ),
            None => (root.to_owned(), "memory.max"),
        };
        let path = parent.join(format!("trainyard-failures-{}", std::process::id()));
        fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let group = Self(path);
        let limit = group.0.join(limit);
        fs::write(&limit, (mebibytes << 20).to_string())
            .map_err(|error| format!("{}: {error}", limit.display()))?;
        Ok(group)
    }

    /// What a shell does to enter it.
    fn enter(&self) -> String {
        format!("echo $$ > '{}/cgroup.procs' && ", self.0.display())
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // The last process of the run may still be going; then the group stays, empty.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Whether a line is the text, in which `{}` stands for anything.
fn fits(text: &str, line: &str) -> bool {
    let pieces: Vec<&str> = text.split("{}").collect();
    let Some(mut rest) = line.trim().strip_prefix(pieces[0]) else {
        return false;
    };
    for piece in &pieces[1..] {
        let Some(found) = rest.find(piece) else {
            return false;
        };
        rest = &rest[found + piece.len()..];
    }
    rest.is_empty() || text.ends_with("{}")
}

/// Runs failures, so many at once, and tells all that went wrong.
fn play_all(cases: Vec<Case>, at_once: usize) {
    let left = Mutex::new(cases.into_iter());
    let wrong = Mutex::new(Vec::new());
    let next = || left.lock().expect("no panic").next();
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some(case) = next() {
                    if let Err(why) = play(&case) {
                        wrong.lock().expect("no panic").push(why);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn asked(name: &str) -> bool {
    std::env::var("TRAINYARD_FAILURE").is_ok_and(|only| only == name)
}

#[test]
fn failures_without_tensorflow_are_explained_in_their_first_line() {
    let only = std::env::var_os("TRAINYARD_FAILURE").is_some();
    let quick = cases()
        .into_iter()
        .filter(|case| !case.tensorflow && (!only || asked(&case.name)));
    play_all(quick.collect(), 4);
}

#[test]
fn failures_of_tensorflow_are_explained_in_their_first_line() {
    let all = std::env::var("TRAINYARD_FAILURES").is_ok_and(|which| which == "all");
    let slow = cases()
        .into_iter()
        .filter(|case| case.tensorflow && (all || asked(&case.name)));
    play_all(slow.collect(), 1);
}

#[test]
fn the_table_of_failures_is_that_of_the_folders() {
    let path = trainyard_tools::root().join("docs/failures.md");
    let text = fs::read_to_string(&path).unwrap_or_default();
    let (begin, end) = ("<!-- failures -->\n", "<!-- end -->\n");
    let (before, rest) = text.split_once(begin).expect("the page marks its table");
    let (_, after) = rest.split_once(end).expect("the page marks the end of its table");
    let wanted = format!("{before}{begin}{}{end}{after}", table());
    if std::env::var("TRAINYARD_GENERATE").is_ok_and(|mode| mode == "write") {
        fs::write(&path, &wanted).expect("the page can be written");
    }
    let hint = "run `TRAINYARD_GENERATE=write cargo test -p trainyard-failures table`";
    assert!(
        fs::read_to_string(&path).expect("the page is there") == wanted,
        "{hint}"
    );
}

/// The failures as a table, and the entries of the catalogue that have none.
fn table() -> String {
    let cases = cases();
    let mut out = String::from("| failure | code | TensorFlow | first line |\n|---|---|---|---|\n");
    for case in &cases {
        let code = case.code.as_deref().unwrap_or("–");
        let slow = if case.tensorflow { "yes" } else { "" };
        let first = case.first.replace('|', "\\|").replace("{}", "…");
        let _ = writeln!(out, "| {} | {code} | {slow} | `{first}` |", case.name);
    }
    out += "\n| code | what it is | shown by |\n|---|---|---|\n";
    let mut entries: Vec<_> = trainyard_causes::entries().collect();
    entries.sort_by_key(|entry| entry.number);
    for entry in entries {
        let code = entry.code();
        let shown: Vec<&str> = cases
            .iter()
            .filter(|case| case.code.as_ref() == Some(&code))
            .map(|case| case.name.as_str())
            .collect();
        let shown = if shown.is_empty() {
            "the patterns alone".to_owned()
        } else {
            shown.join(", ")
        };
        let _ = writeln!(out, "| {code} | {} | {shown} |", entry.title);
    }
    out
}
