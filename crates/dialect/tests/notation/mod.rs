//! Rule lists in a short notation, so that a test shows them as people write them on paper.
//!
//! `who how → then  from`; `$` costs a restart, `@30s` must have held so long.

use std::path::{Path, PathBuf};

use trainyard_core::{Count, Down, Ending, How, Job, Outcome, Rule, Scope, Settled, Test, Then, When, Who};
use trainyard_dialect::{ReadJob, Reading};
use trainyard_document::Source;

/// Every rule of a job, one a line.
pub fn rules(job: &Job) -> Vec<String> {
    job.rules.iter().map(rule).collect()
}

/// One rule.
pub fn rule(rule: &Rule) -> String {
    let held = match rule.held {
        0 => String::new(),
        held => format!(" @{held}s"),
    };
    format!("{}{held} → {}  {}", when(&rule.when), then(&rule.then), rule.from)
}

fn when(when: &When) -> String {
    match when {
        When::Ended { who: some, how: hows } => {
            format!("{} {}", who(some), joined(hows.iter().map(how), "|"))
        }
        When::Count(counts) => format!("count {}", joined(counts.iter().map(count), ", ")),
        When::Down { who: some, why } => {
            let word = |why: &Down| match why {
                Down::FirstStart => "first-start",
                Down::Again => "again",
                Down::Failed => "failed",
            };
            format!(
                "{} down {}",
                who(some),
                joined(why.iter().map(|why| word(why).into()), "|")
            )
        }
        When::InPlace { who: some, at_least } => format!("{} in place ≥ {at_least}", who(some)),
        When::GangBroken => "gang broken".into(),
    }
}

fn who(who: &Who) -> String {
    let role = who.role.as_ref().map_or("any", |role| role.as_str());
    who.index
        .map_or_else(|| role.to_owned(), |index| format!("{role}[{index}]"))
}

fn how(how: &How) -> String {
    match how {
        How::Succeeded => "succeeded".into(),
        How::Failed => "failed".into(),
        How::Codes(low, high) if low == high => format!("{low}"),
        How::Codes(low, high) => format!("{low}-{high}"),
        How::NotStarted => "not-started".into(),
        How::Disrupted => "disrupted".into(),
        How::Vanished => "vanished".into(),
    }
}

fn count(count: &Count) -> String {
    let what = match count.what {
        Settled::Succeeded => "succeeded",
        Settled::Ended => "ended",
    };
    let test = match count.test {
        Test::All => "= all".to_owned(),
        Test::AtLeast(least) => format!("≥ {least}"),
        Test::Below(most) => format!("< {most}"),
    };
    format!("{} {what} {test}", who(&count.who))
}

fn then(then: &Then) -> String {
    match then {
        Then::Keep => "keep".into(),
        Then::Restart { scope, paid } => {
            let scope = match scope {
                Scope::Task => "task".to_owned(),
                Scope::Roles(roles) => joined(roles.iter().map(ToString::to_string), "+"),
                Scope::Job => "job".to_owned(),
            };
            format!("restart {scope}{}", if *paid { " $" } else { "" })
        }
        Then::Abort => "abort".into(),
        Then::Finish(Outcome::Succeeded) => "complete".into(),
        Then::Finish(Outcome::Failed) => "fail".into(),
        Then::Finish(Outcome::Terminated) => "terminate".into(),
    }
}

fn joined(words: impl Iterator<Item = String>, by: &str) -> String {
    words.collect::<Vec<_>>().join(by)
}

/// Reads text.
pub fn read(text: &str) -> Reading {
    trainyard_dialect::read(&Source::from_bytes("test.yaml", text.as_bytes()).unwrap())
}

/// The one job in the text, which has no errors.
pub fn job(text: &str) -> ReadJob {
    let reading = read(text);
    assert!(!reading.has_errors(), "{:#?}", reading.problems);
    reading.jobs().next().unwrap().clone()
}

/// The codes of everything that is wrong with the text, each once, in order of their numbers.
pub fn codes(text: &str) -> Vec<String> {
    let mut codes: Vec<_> = read(text).problems.iter().map(|problem| problem.code).collect();
    codes.sort();
    codes.dedup();
    codes.iter().map(ToString::to_string).collect()
}

/// A file of the repository.
pub fn file(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// Every manifest of a folder of the repository, in order.
pub fn files(folder: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(root().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// What every compiled job promises: each end of each task is answered, also when no restart is left, and the list
/// ends with what happens when everything has ended.
pub fn assert_complete(job: &Job, name: &str) {
    let ends = [
        Ending::Succeeded,
        Ending::Failed(Some(1)),
        Ending::Failed(Some(137)),
        Ending::Failed(None),
        Ending::NotStarted,
        Ending::Disrupted,
        Ending::Vanished,
    ];
    for task in job.roles.iter().filter_map(|role| role.tasks().next()) {
        for end in ends {
            let answers = |rule: &Rule| match &rule.when {
                When::Ended { who, how } => {
                    let paid = matches!(rule.then, Then::Restart { paid: true, .. });
                    let always = !paid || job.limits.restarts.is_none();
                    always && who.includes(&task.role, task.index) && how.iter().any(|how| end.matches(*how))
                }
                _ => false,
            };
            let answered = job.rules.iter().any(answers);
            assert!(
                answered,
                "{name}: nothing answers {end:?} of {task}: {:#?}",
                rules(job)
            );
        }
    }
    let last = job.rules.last().map(rule).unwrap_or_default();
    assert!(last.starts_with("count any ended = all → "), "{name}: {last}");
}
