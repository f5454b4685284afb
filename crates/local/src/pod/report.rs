//! What is wrong with a template on this machine, and what of it is not carried out; each with its place.

use std::cell::RefCell;

use trainyard_document::problem::did_you_mean;

use super::objects::{Keys, Kind};

/// Something that keeps a task from being started.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal {
    /// Where: the role, and the field in its template.
    pub path: String,
    /// What was found.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// It may not hold once something stands for the container's image.
    pub concerns_image: bool,
}

impl Refusal {
    /// A refusal that holds whatever stands for images.
    pub fn new(path: impl Into<String>, message: impl Into<String>, hint: Option<String>) -> Self {
        Self {
            path: path.into(),
            message: message.into(),
            hint,
            concerns_image: false,
        }
    }
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
    /// It is the image of a container.
    pub is_image: bool,
}

/// Everything that was found in the templates of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    pub refusals: Vec<Refusal>,
    pub ignored: Vec<Ignored>,
}

/// A field of a template, and the list that findings about it go to.
#[derive(Clone, Debug)]
pub(super) struct Report<'a> {
    path: String,
    found: &'a RefCell<Findings>,
}

impl<'a> Report<'a> {
    pub fn new(path: String, found: &'a RefCell<Findings>) -> Self {
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
        let refusal = Refusal::new(&self.path, message, hint);
        self.found.borrow_mut().refusals.push(refusal);
    }

    /// Refuses a key that a ConfigMap or Secret does not have.
    pub fn refuse_key(&self, kind: Kind, name: &str, key: &str, keys: &Keys) {
        let hint = did_you_mean(key, keys.keys().map(|key| &**key));
        self.refuse(format!("{} `{name}` has no key `{key}`", kind.word()), hint);
    }

    /// Refuses what may work once something stands for the container's image.
    pub fn refuse_without_image(&self, message: &str, hint: String) {
        self.found.borrow_mut().refusals.push(Refusal {
            concerns_image: true,
            ..Refusal::new(&self.path, message, Some(hint))
        });
    }

    pub fn ignore(&self, why: impl Into<String>) {
        self.ignored(why.into(), true, false);
    }

    /// For what no program notices.
    pub fn ignore_quietly(&self, why: impl Into<String>) {
        self.ignored(why.into(), false, false);
    }

    /// An image that nothing stands for.
    pub fn ignore_image(&self, why: String) {
        self.ignored(why, true, true);
    }

    fn ignored(&self, why: String, matters: bool, is_image: bool) {
        self.found.borrow_mut().ignored.push(Ignored {
            path: self.path.clone(),
            why,
            matters,
            is_image,
        });
    }
}
