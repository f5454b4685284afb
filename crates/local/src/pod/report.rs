//! What is wrong with a template on this machine, and what of it is not carried out; each with its place.

use std::cell::RefCell;

/// Something that keeps a task from being started.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal {
    /// Where: the role, and the field in its template.
    pub path: String,
    /// What was found.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Something in a template that a process on this machine cannot honour. Said once, not for every task.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ignored {
    /// Where: the role, and the field in its template.
    pub path: String,
    /// Why, or what is done in its place.
    pub why: String,
    /// Whether the program may notice. Where pods are placed, or how images are pulled, it does not.
    pub matters: bool,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub refusals: Vec<Refusal>,
    pub ignored: Vec<Ignored>,
}

/// A place, and the list that findings go to.
#[derive(Clone, Debug)]
pub(super) struct Report<'a> {
    path: String,
    found: &'a RefCell<Found>,
}

impl<'a> Report<'a> {
    pub fn new(path: String, found: &'a RefCell<Found>) -> Self {
        Self { path, found }
    }

    /// A place within this one.
    pub fn at(&self, field: &str) -> Self {
        Self {
            path: format!("{}.{field}", self.path),
            found: self.found,
        }
    }

    pub fn refuse(&self, message: impl Into<String>, hint: Option<String>) {
        self.found.borrow_mut().refusals.push(Refusal {
            path: self.path.clone(),
            message: message.into(),
            hint,
        });
    }

    pub fn ignore(&self, why: impl Into<String>) {
        self.ignored(why.into(), true);
    }

    /// For what no program notices.
    pub fn ignore_quietly(&self, why: impl Into<String>) {
        self.ignored(why.into(), false);
    }

    fn ignored(&self, why: String, matters: bool) {
        self.found.borrow_mut().ignored.push(Ignored {
            path: self.path.clone(),
            why,
            matters,
        });
    }
}
