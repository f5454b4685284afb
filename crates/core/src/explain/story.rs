//! What will happen to a job, in a few sentences: how it succeeds, what is answered to every end, what is left.

use super::Vocabulary;
use super::conditions::{counts, essential, is_whole};
use super::responses::Responses;
use super::rules::when_words;
use super::sentences::tell;
use super::subjects::how_many;
use crate::job::{Clean, Job, TaskId};
use crate::memory::Outcome;
use crate::rule::{Count, Rule, Settled, Test, Then, When};

/// What will happen to a job, in sentences.
#[must_use]
pub fn story(job: &Job, vocabulary: &Vocabulary) -> Vec<String> {
    let mut sentences = vec![format!("{}{}.", success(job), then_stopped(job))];
    sentences.extend(tell(job, &Responses::of(job), vocabulary));
    if job.clean == Clean::None && job.size() > 0 {
        let field = vocabulary
            .clean_none
            .map(|field| format!(" (`{field}`)"))
            .unwrap_or_default();
        sentences.push(format!("When it ends everything is left as it is{field}."));
    }
    sentences
}

/// Who decides success: `Succeeds when chief-0 exits 0`.
#[must_use]
pub fn success(job: &Job) -> String {
    let ways: Vec<String> = success_rules(job)
        .into_iter()
        .map(|rule| when_it_succeeds(job, rule))
        .collect();
    if ways.is_empty() {
        return "Nothing makes it succeed".into();
    }
    format!("Succeeds when {}", ways.join(", or when "))
}

/// The rules that complete the job, without those that an earlier one covers or ends the job before.
pub fn success_rules(job: &Job) -> Vec<&Rule> {
    let mut kept: Vec<&Rule> = Vec::new();
    for (position, rule) in job.rules.iter().enumerate() {
        if rule.then != Then::Finish(Outcome::Succeeded) {
            continue;
        }
        let ends = |earlier: &Rule| matches!(earlier.then, Then::Finish(_) | Then::Abort);
        let before = &job.rules[..position];
        if !before
            .iter()
            .any(|earlier| ends(earlier) && implies(job, rule, earlier))
        {
            kept.push(rule);
        }
    }
    kept
}

fn when_it_succeeds(job: &Job, rule: &Rule) -> String {
    match &rule.when {
        When::Count(list) => match (essential(job, list).as_slice(), counts(job, list)) {
            ([count], words) if how_many(job, &count.who) == 1 => words.replace(" has exited 0", " exits 0"),
            (_, words) => words,
        },
        _ => when_words(job, rule),
    }
}

/// Whether the conditions of `rule` can only hold where those of `earlier` do.
fn implies(job: &Job, rule: &Rule, earlier: &Rule) -> bool {
    let (When::Count(ours), When::Count(theirs)) = (&rule.when, &earlier.when) else {
        return rule.when == earlier.when;
    };
    let covered = |wanted: &Count| {
        ours.iter().any(|count| {
            let all = is_whole(job, count);
            let wider = count.who.role.is_none() || count.who.role == wanted.who.role;
            let every_index = count.who.index.is_none() || count.who == wanted.who;
            let enough = count.what == Settled::Succeeded || wanted.what == Settled::Ended;
            count == wanted || all && wider && every_index && enough && !matches!(wanted.test, Test::Below(_))
        })
    };
    theirs.iter().all(covered)
}

/// Whether the job's success needs this task to have exited 0, or counts it.
#[must_use]
pub fn decides(job: &Job, task: &TaskId) -> bool {
    let rules = success_rules(job);
    let Some(When::Count(counts)) = rules.first().map(|rule| &rule.when) else {
        return false;
    };
    counts.iter().any(|count| {
        let counted = count.what == Settled::Succeeded && !matches!(count.test, Test::Below(_));
        counted && count.who.includes(&task.role, task.index)
    })
}

/// What happens to the others when the job has succeeded.
fn then_stopped(job: &Job) -> String {
    let rules = success_rules(job);
    let [rule, ..] = rules.as_slice() else {
        return String::new();
    };
    let deciding = match &rule.when {
        When::Count(counts) => match essential(job, counts).as_slice() {
            [count] if is_whole(job, count) => Some(&count.who),
            _ => None,
        },
        _ => None,
    };
    let others: Vec<String> = deciding.map_or_else(Vec::new, |who| {
        let left = job.tasks().filter(|task| !who.includes(&task.role, task.index));
        left.take(2).map(|task| task.to_string()).collect()
    });
    match (job.clean, others.as_slice(), deciding) {
        (Clean::None, _, _) | (Clean::Unfinished, [], Some(_)) => String::new(),
        (Clean::Unfinished, [only], _) => format!("; {only} is then stopped"),
        (Clean::Unfinished, [], None) => "; what still runs is then stopped".into(),
        (Clean::Unfinished, ..) => "; the others are then stopped".into(),
        (Clean::All, ..) => "; every task is then removed".into(),
    }
}
