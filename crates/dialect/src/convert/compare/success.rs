//! What a job needs to succeed, here and there.

use trainyard_core::{Count, Job, Outcome, Rule, Settled, Test, Then, When};
use trainyard_document::codes::Code;
use trainyard_document::problem::Problems;

use super::kind_name;
use crate::convert::outline::Outline;

/// Tells whether the job succeeds otherwise.
pub(super) fn success(outline: &Outline<'_>, to: &Job, problems: &Problems) {
    let from = outline.job;
    let (ours, theirs) = (completing(from), completing(to));
    if ours != theirs {
        let path = successes(from).next().map_or("", |rule| &*rule.from);
        let (ours, theirs) = (words(&ours), words(&theirs));
        let message = format!("the job succeeds {ours} here, and {theirs} there");
        outline.report(problems, Code::LostSuccess, path, message);
    }
}

fn successes(job: &Job) -> impl Iterator<Item = &Rule> {
    let succeeds = |rule: &&Rule| rule.then == Then::Finish(Outcome::Succeeded);
    job.rules.iter().filter(succeeds)
}

/// Every way to succeed: which tasks, and how many of them.
fn completing(job: &Job) -> Vec<Vec<(String, u64)>> {
    let mut ways: Vec<Vec<(String, u64)>> = successes(job)
        .filter_map(|rule| match &rule.when {
            When::Count(counts) => Some(counts.iter().filter_map(|count| needed(job, count)).collect()),
            _ => None,
        })
        .collect();
    for way in &mut ways {
        way.sort();
        way.dedup();
    }
    ways.sort();
    ways.dedup();
    // All tasks of the job: a rule that needs fewer has been met by then.
    let all = vec![("task".to_owned(), job.size())];
    if ways.len() > 1 {
        ways.retain(|way| *way != all);
    }
    ways
}

/// So many of these tasks, with a master and a chief as the same.
fn needed(job: &Job, count: &Count) -> Option<(String, u64)> {
    if count.what == Settled::Ended {
        return None;
    }
    let role = count.who.role.as_ref().and_then(|name| job.role(name));
    let role = role.map(|(_, role)| role);
    let name = match (role, count.who.index) {
        (None, _) => "task".to_owned(),
        (Some(role), Some(index)) if role.replicas > 1 => format!("{} {index}", kind_name(role)),
        (Some(role), _) => kind_name(role),
    };
    let all = role.map_or_else(|| job.size(), |role| u64::from(role.replicas));
    let number = match (count.test, count.who.index) {
        (Test::All, None) => all,
        (Test::All, Some(_)) => 1,
        (Test::AtLeast(least), _) => u64::from(least),
        // Conditions on what has not succeeded come with others that say the same in the positive.
        (Test::Below(_), _) => return None,
    };
    Some((name, number))
}

fn words(ways: &[Vec<(String, u64)>]) -> String {
    if ways.is_empty() {
        return "never".into();
    }
    let part = |(who, number): &(String, u64)| format!("{number} × {who}");
    let way = |way: &Vec<(String, u64)>| way.iter().map(part).collect::<Vec<_>>().join(" and ");
    let all: Vec<String> = ways.iter().map(way).collect();
    format!("with {}", all.join(", or "))
}
