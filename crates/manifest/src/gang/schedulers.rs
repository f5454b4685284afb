//! The gang schedulers that one operator was told of, and which of them places a job.

use std::fmt;
use std::str::FromStr;

use trainyard_core::{GangChoice, GangScheduler};
use trainyard_document::names::wrong_label;

use super::{GroupApi, QueueApi, SCHEDULERS, Scheduler, scheduler};
use crate::install::access::Use;

/// The schedulers that an operator was told of, by `--gang-scheduler-name`. The first places every job that does not choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedulers(Vec<GangScheduler>);

/// How a job began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Began<'a> {
    /// It has not, or another operator began it: a user who moves jobs here gives the flag that it had.
    NotYet,
    /// Placed by this scheduler; none where its tasks were placed one by one.
    As(Option<&'a str>),
}

/// How the tasks of a job are placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placing {
    /// Each by itself.
    Alone,
    /// By this gang scheduler.
    Together(GangScheduler),
    /// Not at all: the job asks for a scheduler that the operator was not told of.
    NotChosen(GangScheduler),
}

impl Schedulers {
    /// Which of them places a job. One that has begun stays as it began: if a group began in the middle, a task that is created again
    /// would be its only member and would wait for ever.
    #[must_use]
    pub fn placing(&self, choice: &GangChoice, began: Began<'_>) -> Placing {
        let by = |scheduler: Option<&GangScheduler>| {
            scheduler.map_or(Placing::Alone, |one| Placing::Together(one.clone()))
        };
        let chosen = |wanted: &GangScheduler| self.0.iter().find(|one| *one == wanted);
        match (began, choice) {
            (Began::As(name), _) => by(self.0.iter().find(|one| one.name() == name)),
            (Began::NotYet, GangChoice::None) => Placing::Alone,
            (Began::NotYet, GangChoice::Named(wanted)) => match chosen(wanted) {
                None => Placing::NotChosen(wanted.clone()),
                found => by(found),
            },
            (Began::NotYet, GangChoice::Template(named)) => by(chosen(named).or_else(|| self.0.first())),
            (Began::NotYet, GangChoice::Default) => by(self.0.first()),
        }
    }

    /// The modules that serve them, each once.
    fn modules(&self) -> impl Iterator<Item = &'static Scheduler> {
        let used = |module: &&&Scheduler| {
            let mut served = self.0.iter().filter_map(scheduler);
            served.any(|serves| std::ptr::eq(serves, **module))
        };
        SCHEDULERS.iter().filter(used).copied()
    }

    /// The APIs of all their group objects.
    #[must_use]
    pub fn apis(&self) -> Vec<&'static GroupApi> {
        self.modules().flat_map(|module| module.apis).copied().collect()
    }

    /// The APIs of the queues that these are put into.
    #[must_use]
    pub fn queues(&self) -> Vec<&'static QueueApi> {
        self.modules().flat_map(|module| module.queues).copied().collect()
    }

    /// What the operator does with these objects.
    #[must_use]
    pub fn uses(&self) -> Vec<Use> {
        self.modules().flat_map(|module| module.uses).copied().collect()
    }

    /// Whether gangs are held by scheduling gates.
    #[must_use]
    pub fn have_gates(&self) -> bool {
        self.0.contains(&GangScheduler::Gates)
    }

    /// Volcano alone, which Kubeflow's older operators used where gangs were enabled and no scheduler named.
    #[must_use]
    pub fn volcano() -> Self {
        Self(vec![GangScheduler::Volcano])
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The words of Kubeflow's `--gang-scheduler-name`, several with commas between them. Nothing and `none` are no scheduler.
impl FromStr for Schedulers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() || text.eq_ignore_ascii_case("none") {
            return Ok(Self::default());
        }
        let mut schedulers = Vec::new();
        for name in text.split(',').map(str::trim) {
            let scheduler = match GangScheduler::chosen(&name.to_ascii_lowercase()) {
                GangScheduler::Named(lower) if &*lower == "none" => {
                    return Err("`none` cannot stand beside other schedulers".into());
                }
                GangScheduler::Named(_) if wrong_label(name).is_some() => {
                    return Err("expected `volcano`, `none`, or a name of a-z, 0-9 and `-`".into());
                }
                known => known,
            };
            if super::scheduler(&scheduler).is_none() {
                return Err(format!("this version cannot write the groups of `{name}`"));
            }
            if !schedulers.contains(&scheduler) {
                schedulers.push(scheduler);
            }
        }
        Ok(Self(schedulers))
    }
}

/// As it is written, and read again.
impl fmt::Display for Schedulers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().filter_map(GangScheduler::word).collect();
        out.write_str(&names.join(","))
    }
}
