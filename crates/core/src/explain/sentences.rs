//! The responses to every kind of end, as sentences.
//!
//! Ends with the same response share a sentence: what is started again and at what price, what fails the job, what is
//! left as it is. The order is that of a reader's questions, not of the rules.

use std::fmt::Write as _;

use super::Vocabulary;
use super::conditions::{code_ways, gone, merged};
use super::groups::{Group, groups};
use super::responses::{Act, Response, Responses};
use super::rules::{ends, then_words, when_words};
use super::subjects::{
    any_task, join, nonempty_roles, nouns, one_of, only_role, sentence, whole_job, with_article,
};
use super::units::{duration, ordinal, times};
use crate::exit::Ending;
use crate::job::{Job, RoleKind};
use crate::memory::Outcome;
use crate::rule::{Count, Rule, Scope, Settled, Test, Then, When, Who};

/// The response to every kind of end, and what else ends or restarts the job.
pub fn tell(job: &Job, responses: &Responses, vocabulary: &Vocabulary) -> Vec<String> {
    let mut told = Writer {
        job,
        responses,
        failures: vec![Vec::new(); responses.task_classes.len()],
        budget: false,
        waits: false,
        sentences: Vec::new(),
    };
    for group in groups(responses) {
        told.group(&group, vocabulary);
    }
    told.levels();
    told.sentences
}

/// The sentences so far, and what they have said already.
struct Writer<'a> {
    job: &'a Job,
    responses: &'a Responses,
    /// For each class of tasks, the classes of failure already described.
    failures: Vec<Vec<usize>>,
    /// Whether the budget has been told.
    budget: bool,
    /// Whether the waits have been told.
    waits: bool,
    sentences: Vec<String>,
}

/// The tasks that a sentence is about.
struct Subject {
    text: String,
    /// It names a task, so that `a task that …` does not fit.
    named: bool,
    everyone: bool,
}

/// The failures of a sentence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Failures {
    None,
    All,
    /// All that no sentence before has spoken of.
    Others,
    Some,
}

impl Writer<'_> {
    fn group(&mut self, group: &Group, vocabulary: &Vocabulary) {
        let mut subject = self.subject(&group.task_classes);
        let failures = self.failures_of(group);
        let mut verbs = join(&self.verbs(group, failures), "or");
        if group.answer.held > 0 {
            subject.named = true;
            verbs = format!("{verbs} and {} have passed", duration(group.answer.held));
        }
        let sentence = match &group.answer.act {
            Act::Keep => self.kept(&subject, &verbs, vocabulary),
            Act::Hold => format!(
                "If {} {verbs}, everything stops until it is resumed.",
                subject.text
            ),
            Act::End(outcome) => self.ended(&subject, failures, &verbs, *outcome),
            Act::InPlace => self.again(&subject, group, &verbs, "is started again in place", false),
            Act::Again {
                scope: Scope::Task, ..
            } => self.again(&subject, group, &verbs, "is started again", true),
            Act::Again { scope, .. } => self.all_again(&subject, group, &verbs, scope),
        };
        self.sentences.push(sentence);
        for task_class in &group.task_classes {
            let failing = group
                .classes
                .iter()
                .filter(|class| self.responses.classes[**class].is_failure());
            self.failures[*task_class].extend(failing);
        }
    }

    fn failures_of(&self, group: &Group) -> Failures {
        let all = |class: &usize| self.responses.classes[*class].is_failure();
        let every: Vec<usize> = (0..self.responses.classes.len()).filter(all).collect();
        let here: Vec<usize> = group.classes.iter().copied().filter(all).collect();
        let told = &self.failures[group.task_classes[0]];
        let same = group.task_classes.iter().all(|task_class| {
            every
                .iter()
                .all(|class| here.contains(class) || self.failures[*task_class].contains(class))
        });
        if here.is_empty() {
            Failures::None
        } else if here == every {
            Failures::All
        } else if same && !told.is_empty() && here.len() > 1 {
            Failures::Others
        } else {
            Failures::Some
        }
    }

    /// What the ends of a group are, as verbs for one task.
    fn verbs(&self, group: &Group, failures: Failures) -> Vec<String> {
        let classes: Vec<_> = group
            .classes
            .iter()
            .map(|class| self.responses.classes[*class])
            .collect();
        let has = |ending: Ending| classes.iter().any(|class| class.ending == ending);
        let mut words = Vec::new();
        match failures {
            Failures::None => {}
            Failures::All => words.push("fails".into()),
            Failures::Others => words.push("fails otherwise".into()),
            Failures::Some => {
                let codes: Vec<(i32, i32)> = classes.iter().filter_map(|class| class.codes).collect();
                match merged(&codes).as_slice() {
                    [(1, 255)] => words.push("exits with another code than 0".into()),
                    codes => words.extend(code_ways(codes)),
                }
                if has(Ending::NotStarted) {
                    words.push("cannot be started".into());
                }
            }
        }
        if has(Ending::Succeeded) {
            words.push("exits 0".into());
        }
        words.extend(gone(has(Ending::Disrupted), has(Ending::Vanished)));
        if words.is_empty() {
            words.push("ends without an exit code".into());
        }
        words
    }

    /// Whichever of these tasks, in as few words as name it.
    fn subject(&self, task_classes: &[usize]) -> Subject {
        let everyone = task_classes.len() == self.responses.task_classes.len();
        if everyone {
            let text = any_task(self.job);
            return Subject {
                named: self.job.size() == 1,
                text,
                everyone,
            };
        }
        let mut words = Vec::new();
        let mut named = false;
        for (position, role) in self.job.roles.iter().enumerate() {
            let all: Vec<usize> = (0..self.responses.task_classes.len())
                .filter(|task_class| self.responses.task_classes[*task_class].role == position)
                .collect();
            let here: Vec<usize> = all
                .iter()
                .copied()
                .filter(|task_class| task_classes.contains(task_class))
                .collect();
            if here.is_empty() {
                continue;
            }
            if here == all {
                named |= role.replicas == 1;
                words.push(one_of(self.job, &Who::role(&role.name)));
                continue;
            }
            let left = role
                .replicas
                .saturating_sub(u32::try_from(all.len() - 1).unwrap_or(u32::MAX));
            for task_class in here
                .into_iter()
                .map(|task_class| &self.responses.task_classes[task_class])
            {
                if task_class.rest && left > 1 {
                    let noun = with_article(&nouns(self.job, role).0);
                    words.push(format!("{noun} other than {}", self.singled_out(position)));
                } else {
                    named = true;
                    words.push(format!("{}-{}", role.name, task_class.index));
                }
            }
        }
        Subject {
            text: join(&words, "or"),
            named,
            everyone,
        }
    }

    /// The tasks of a role that rules treat by number.
    fn singled_out(&self, position: usize) -> String {
        let task_classes = self
            .responses
            .task_classes
            .iter()
            .filter(|task_class| task_class.role == position && !task_class.rest);
        let names: Vec<String> = task_classes
            .map(|task_class| format!("{}-{}", self.job.roles[position].name, task_class.index))
            .collect();
        join(&names, "and")
    }

    fn kept(&self, subject: &Subject, verbs: &str, vocabulary: &Vocabulary) -> String {
        let mut servers = nonempty_roles(self.job).filter(|role| role.kind == RoleKind::Ps);
        let endless = servers
            .next()
            .map(|role| {
                format!(
                    ", and {} never ends by itself",
                    one_of(self.job, &Who::role(&role.name))
                )
            })
            .unwrap_or_default();
        let goes_on = format!("the job goes on until it succeeds or every task has ended{endless}");
        let hint = vocabulary
            .on_failure
            .filter(|_| subject.everyone)
            .map(|field| format!(" To answer it, add `{field}`."))
            .unwrap_or_default();
        let does = "is NOT started again and does not fail the job";
        format!("{}: {goes_on}.{hint}", clause(subject, verbs, does))
    }

    fn ended(&self, subject: &Subject, failures: Failures, verbs: &str, outcome: Outcome) -> String {
        let does = match outcome {
            Outcome::Succeeded => "completes the job",
            Outcome::Failed => "fails the job at once",
            Outcome::Terminated => "terminates the job at once",
        };
        let also = self.also();
        match failures {
            Failures::All if subject.everyone && !subject.named => {
                format!("A failure of any task{also} {does}.")
            }
            Failures::Others if subject.everyone => format!("Any other failure{also} {does}."),
            _ => format!("If {} {verbs}, the job {}.", subject.text, ends(outcome)),
        }
    }

    /// Roles whose failure people do not expect to matter.
    fn also(&self) -> String {
        if only_role(self.job).is_some() {
            return String::new();
        }
        let quiet =
            nonempty_roles(self.job).filter(|role| matches!(role.kind, RoleKind::Ps | RoleKind::Evaluator));
        let names: Vec<String> = quiet.map(|role| with_article(&nouns(self.job, role).0)).collect();
        if names.is_empty() {
            String::new()
        } else {
            format!(", also of {},", join(&names, "or"))
        }
    }

    /// The task itself starts again.
    fn again(&mut self, subject: &Subject, group: &Group, verbs: &str, does: &str, waits: bool) -> String {
        let limits = &self.job.limits;
        let paid = group.answer.is_paid(limits);
        let wait = if waits && paid {
            self.waits()
        } else {
            String::new()
        };
        let counts = paid || group.answer.act == Act::InPlace;
        let (each, price) = match (counts, paid, limits.restarts) {
            (false, _, Some(_)) => ("", " and costs nothing".into()),
            (false, _, None) => ("", String::new()),
            (true, true, Some(limit)) => ("", self.price(limit, &group.answer, self.job.size() > 1)),
            (true, ..) => (" each time", ", without limit".into()),
        };
        format!(
            "{}.",
            clause(subject, verbs, &format!("{does}{each}{wait}{price}"))
        )
    }

    /// Several tasks start again together.
    fn all_again(&mut self, subject: &Subject, group: &Group, verbs: &str, scope: &Scope) -> String {
        let limits = &self.job.limits;
        let paid = group.answer.is_paid(limits);
        let who = match scope {
            Scope::Roles(roles) => {
                let names: Vec<String> = roles.iter().map(ToString::to_string).collect();
                format!("every task of {} is", join(&names, "and"))
            }
            Scope::Job | Scope::Task if self.job.size() == 1 => format!("{} is", any_task(self.job)),
            Scope::Job | Scope::Task => format!("{} are", whole_job(self.job)),
        };
        let wait = if paid { self.waits() } else { String::new() };
        let price = match (paid, limits.restarts) {
            (true, Some(limit)) => self.price(limit, &group.answer, false),
            (true, None) => ", each time, without limit".into(),
            (false, Some(_)) => "; this costs nothing".into(),
            (false, None) => String::new(),
        };
        format!(
            "If {} {verbs}, {who} stopped and started again{wait}{price}.",
            subject.text
        )
    }

    fn waits(&mut self) -> String {
        if std::mem::replace(&mut self.waits, true) {
            return String::new();
        }
        let wait = self.job.limits.wait;
        let (first, most) = (wait.first.min(wait.most), wait.most);
        if first == 0 {
            String::new()
        } else if first.saturating_mul(2) >= most {
            format!(", at once, then after {}", duration(first))
        } else {
            format!(
                ", at once, then after {}, {}, … at most {}",
                duration(first),
                duration(first * 2),
                duration(most)
            )
        }
    }

    /// What a restart costs, and what follows when nothing is left.
    fn price(&mut self, limit: u32, answer: &Response, shared: bool) -> String {
        let after = |then: &Act| match then {
            Act::End(Outcome::Failed) => "the job fails".to_owned(),
            Act::End(outcome) => format!("the job {}", ends(*outcome)),
            Act::Keep => "it stays ended".into(),
            Act::Hold => "everything stops until it is resumed".into(),
            Act::InPlace | Act::Again { .. } => "it is still started again, at no cost".into(),
        };
        let then = answer.out_of_restarts.as_ref().map(after).unwrap_or_default();
        let told = std::mem::replace(&mut self.budget, true);
        let next = match &answer.out_of_restarts {
            Some(Act::End(Outcome::Failed)) => ", the next one fails the job".to_owned(),
            _ => format!(", after them {then}"),
        };
        match (told, shared, limit) {
            (_, _, 0) => format!(", and the first time {then}"),
            (true, _, 1) => format!(", from the same restart; without it {then}"),
            (true, ..) => format!(", from the same {limit} restarts; without one left {then}"),
            (false, true, 1) => format!("; 1 such restart is shared by {}{next}", whole_job(self.job)),
            (false, true, _) => {
                format!(
                    "; {limit} such restarts are shared by {}{next}",
                    whole_job(self.job)
                )
            }
            (false, false, _) => {
                let time = ordinal(limit.saturating_add(1));
                format!(", at most {}; the {time} time {then}", times(limit))
            }
        }
    }

    /// Rules that look at no single end.
    fn levels(&mut self) {
        let mut at_the_end = false;
        let mut unpaid: Option<&Rule> = None;
        for rule in &self.job.rules {
            let fails_at_the_end = matches!(&rule.when, When::Count(counts) if counts.iter().any(all_ended))
                && rule.then == Then::Finish(Outcome::Failed);
            at_the_end |= fails_at_the_end;
            let told = matches!(rule.when, When::Ended { .. })
                || rule.then == Then::Finish(Outcome::Succeeded)
                || fails_at_the_end;
            if told {
                continue;
            }
            let then = then_words(self.job, &rule.then);
            match unpaid.take() {
                // The same once more: what follows when the restart before it cannot be paid for.
                Some(before) if (&before.when, before.held) == (&rule.when, rule.held) => {
                    if let (Some(last), true) =
                        (self.sentences.last_mut(), self.job.limits.restarts.is_some())
                    {
                        last.truncate(last.trim_end_matches('.').len());
                        // Writing to a String cannot fail.
                        let _ = write!(last, "; without one {then}.");
                    }
                }
                _ => self
                    .sentences
                    .push(format!("If {}, {then}.", when_words(self.job, rule))),
            }
            unpaid = rule.then.is_paid().then_some(rule);
        }
        if at_the_end && self.keeps_failures() && self.job.size() > 1 {
            self.sentences
                .push("If every task has ended and it has not succeeded, the job fails.".into());
        }
    }

    fn keeps_failures(&self) -> bool {
        let keeps = |answer: &Response| answer.act == Act::Keep || answer.out_of_restarts == Some(Act::Keep);
        let mut failures = self
            .responses
            .cases
            .iter()
            .filter(|case| self.responses.classes[case.class].is_failure());
        failures.any(|case| keeps(&case.answer))
    }
}

fn all_ended(count: &Count) -> bool {
    count.who == Who::any() && count.what == Settled::Ended && count.test == Test::All
}

/// `A task that fails is …`, or `If worker-0 fails, it is …`.
fn clause(subject: &Subject, verbs: &str, does: &str) -> String {
    if subject.named {
        format!("If {} {verbs}, it {does}", subject.text)
    } else {
        format!("{} that {verbs} {does}", sentence(&subject.text))
    }
}
