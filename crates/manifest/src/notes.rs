//! What the manifest asks for and the objects do not do, each with commands that do it.
//!
//! `render` prints them on standard error and at the top of its output, for a user to read before applying.

mod ends;
mod limits;
mod pods;

use trainyard_core::explain::{then_words, when_words};
use trainyard_core::{Down, Ending, Job, Role, RoleName, Rule, Subject, Then, When};

use crate::cluster_map::ClusterMap;
use crate::names::{JOB_LABEL, ROLE_LABEL, role_job};
use crate::nodes::Seats;
use crate::render::{Form, Wishes};
use crate::success::Success;
use crate::tensorboard::Board;

/// One thing that is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What is not done, as sentences.
    pub what: String,
    /// Commands that do it.
    pub commands: Vec<String>,
}

/// A job, the form in which it is rendered, and the notes so far.
pub(crate) struct About<'a> {
    subject: &'a Subject,
    job: &'a Job,
    form: Form,
    /// Every task has a Job of its own.
    per_task: bool,
    success: Success<'a>,
    list: Vec<Note>,
}

/// All notes about a rendered job.
#[must_use]
pub fn notes(
    subject: &Subject,
    wishes: &Wishes,
    seats: Option<&Seats>,
    map: &ClusterMap,
    board: Option<&Board>,
) -> Vec<Note> {
    let job = &subject.job;
    let mut about = About {
        subject,
        job,
        form: wishes.form,
        per_task: seats.is_some(),
        success: Success::of(job),
        list: Vec::new(),
    };
    ends::tell(&mut about);
    limits::tell(&mut about);
    about.rules();
    pods::tell(&mut about, map, board);
    if let Some(seats) = seats {
        pods::seated(&mut about, seats, &wishes.nodes);
    }
    about.list
}

impl<'a> About<'a> {
    fn say(&mut self, what: impl Into<String>) {
        self.say_with(what, Vec::new());
    }

    fn say_with(&mut self, what: impl Into<String>, commands: Vec<String>) {
        self.list.push(Note {
            what: what.into(),
            commands,
        });
    }

    /// Roles that have a task.
    fn peopled(&self) -> impl Iterator<Item = &'a Role> + use<'a> {
        self.job.roles.iter().filter(|role| role.replicas > 0)
    }

    /// The names of roles for which something is true.
    fn roles(&self, is: impl Fn(&Role) -> bool) -> Vec<&'a RoleName> {
        let such = self.peopled().filter(|role| is(role));
        such.map(|role| &role.name).collect()
    }

    /// Says something about the roles for which it is true, if there are any.
    fn say_of(&mut self, is: impl Fn(&Role) -> bool, what: impl FnOnce(&str) -> String) {
        let names = self.roles(is);
        if !names.is_empty() {
            self.say(what(&list_of(names)));
        }
    }

    /// The rule that answers when the last task of a role ends so: the first may be the one that decides.
    fn answer(&self, role: &Role, ending: Ending) -> Option<&'a Then> {
        let last = role.replicas.saturating_sub(1);
        let rule = self.job.answer(&role.name, last, ending, true);
        rule.map(|rule| &rule.then)
    }

    /// What one of the objects is called.
    fn unit(&self) -> &'static str {
        match self.form {
            Form::Jobs => "a Job",
            Form::JobSet => "a JobSet",
        }
    }

    /// `kubectl` with the namespace.
    fn kubectl(&self, rest: &str) -> String {
        format!("kubectl -n {} {rest}", self.job.namespace)
    }

    /// The Jobs of some roles, as kubectl takes them.
    fn jobs_of(&self, roles: &[&RoleName]) -> String {
        if self.per_task {
            let names: Vec<&str> = roles.iter().map(|role| role.as_str()).collect();
            let (job, names) = (&self.job.name, names.join(","));
            return format!("job -l '{JOB_LABEL}={job},{ROLE_LABEL} in ({names})'");
        }
        let found = roles.iter().filter_map(|name| self.job.role(name));
        let name = |(_, role): (usize, &Role)| format!("job/{}", role_job(self.job, role));
        found.map(name).collect::<Vec<_>>().join(" ")
    }

    /// Rules about more than one end, which no Job looks at.
    fn rules(&mut self) {
        let job = self.job;
        let is_level = |rule: &&Rule| match &rule.when {
            When::Ended { .. } | When::Count(_) => false,
            When::Down { why, .. } => *why != [Down::Failed],
            When::InPlace { .. } | When::GangBroken => true,
        };
        let mut told: Vec<&When> = Vec::new();
        for rule in job.rules.iter().filter(is_level) {
            // What follows once no restart is left comes as a rule of its own.
            if told.contains(&&rule.when) {
                continue;
            }
            told.push(&rule.when);
            let unit = match self.form {
                Form::Jobs => "A Job",
                Form::JobSet => "A JobSet",
            };
            let (when, then) = (when_words(job, rule), then_words(job, &rule.then));
            self.say(format!(
                "{unit} has no rule like this one: when {when}, {then} ({}).",
                rule.from
            ));
        }
    }
}

/// `a`, `a and b`, `a, b and c`.
fn join(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [front @ .., last] => format!("{} and {last}", front.join(", ")),
    }
}

/// Roles as names.
fn list_of<'r>(roles: impl IntoIterator<Item = &'r RoleName>) -> String {
    let names: Vec<String> = roles.into_iter().map(|name| format!("`{name}`")).collect();
    join(&names)
}
