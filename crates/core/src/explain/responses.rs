//! What the rules do about every kind of end of every task, found out as `step` finds it out.

use crate::exit::Ending;
use crate::job::{InPlace, Job, Limits};
use crate::memory::Outcome;
use crate::rule::{How, Rule, Scope, Then, When};

/// Tasks of one role that every rule about ends treats alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskClass {
    /// The role's position.
    pub role: usize,
    /// One of them; all of them, if `rest` is not set.
    pub index: u32,
    /// All of the role but those that have a class of their own.
    pub rest: bool,
}

/// Ends that every rule treats alike: a representative and, for failures with a code, the range of codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndClass {
    pub ending: Ending,
    pub codes: Option<(i32, i32)>,
}

impl EndClass {
    pub fn is_failure(self) -> bool {
        self.ending.is_failure()
    }
}

/// What is done about an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    Keep,
    /// The node starts the program again by itself.
    InPlace,
    Again {
        scope: Scope,
        paid: bool,
    },
    Hold,
    End(Outcome),
}

/// What is done about an end, and what once no restart is left to pay for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub act: Act,
    /// Seconds it must have lasted.
    pub held: u32,
    pub out_of_restarts: Option<Act>,
}

impl Response {
    /// Whether it draws on the shared budget.
    pub fn is_paid(&self, limits: &Limits) -> bool {
        match self.act {
            Act::Again { paid, .. } => paid,
            Act::InPlace => limits.count_in_place,
            Act::Keep | Act::Hold | Act::End(_) => false,
        }
    }
}

/// One class of ends of one class of tasks, and the response to it.
#[derive(Clone, Debug)]
pub struct Case {
    pub class: usize,
    pub answer: Response,
}

/// The response to every class of ends of every class of tasks.
#[derive(Debug)]
pub struct Responses {
    pub task_classes: Vec<TaskClass>,
    pub classes: Vec<EndClass>,
    pub cases: Vec<Case>,
    /// Whether the rule at each position can ever be the one that applies.
    pub reached: Vec<bool>,
    /// The same where the kubelet starts the program again by itself: then only a pod that fails as a whole is answered.
    pub reached_rarely: Vec<bool>,
}

impl Responses {
    pub fn of(job: &Job) -> Self {
        let (task_classes, classes) = (task_classes(job), classes(&job.rules));
        let mut reached: Vec<bool> = job
            .rules
            .iter()
            .map(|rule| !matches!(rule.when, When::Ended { .. }))
            .collect();
        let mut reached_rarely = vec![false; job.rules.len()];
        let mut cases = Vec::with_capacity(task_classes.len() * classes.len());
        for task_class in &task_classes {
            for (class, meant) in classes.iter().enumerate() {
                let answer = if left_to_the_node(job, task_class, *meant) {
                    if meant.is_failure() {
                        answer(job, task_class, *meant, &mut reached_rarely);
                    }
                    in_place(job)
                } else {
                    answer(job, task_class, *meant, &mut reached)
                };
                cases.push(Case { class, answer });
            }
        }
        Self {
            task_classes,
            classes,
            cases,
            reached,
            reached_rarely,
        }
    }

    /// The response to one class of ends of one class of tasks.
    pub fn get(&self, task_class: usize, class: usize) -> Option<&Response> {
        self.cases
            .get(task_class * self.classes.len() + class)
            .map(|case| &case.answer)
    }

    /// The class of an end that exits 0.
    pub fn success(&self) -> Option<usize> {
        self.classes
            .iter()
            .position(|class| class.ending == Ending::Succeeded)
    }
}

fn task_classes(job: &Job) -> Vec<TaskClass> {
    let mut task_classes = Vec::new();
    for (position, role) in job.roles.iter().enumerate() {
        let mut named: Vec<u32> = job
            .rules
            .iter()
            .filter_map(|rule| match &rule.when {
                When::Ended { who, .. } if who.role.as_ref().is_none_or(|name| *name == role.name) => {
                    who.index
                }
                _ => None,
            })
            .filter(|index| *index < role.replicas)
            .collect();
        named.sort_unstable();
        named.dedup();
        let rest = (0..role.replicas).find(|index| !named.contains(index));
        task_classes.extend(named.iter().map(|&index| TaskClass {
            role: position,
            index,
            rest: false,
        }));
        task_classes.extend(rest.map(|index| TaskClass {
            role: position,
            index,
            rest: true,
        }));
    }
    task_classes
}

/// The codes 1 to 255, cut wherever some rule makes a difference, and the ends that have no code.
fn classes(rules: &[Rule]) -> Vec<EndClass> {
    let plain = |ending| EndClass { ending, codes: None };
    let mut cuts = vec![1, 256];
    for rule in rules {
        let When::Ended { how, .. } = &rule.when else {
            continue;
        };
        for how in how {
            if let How::Codes(low, high) = *how {
                cuts.extend([low.clamp(1, 256), high.saturating_add(1).clamp(1, 256)]);
            }
        }
    }
    cuts.sort_unstable();
    cuts.dedup();
    let mut classes = vec![
        plain(Ending::Succeeded),
        plain(Ending::Disrupted),
        plain(Ending::Vanished),
    ];
    classes.extend(cuts.windows(2).map(|pair| EndClass {
        ending: Ending::Failed(Some(pair[0])),
        codes: Some((pair[0], pair[1] - 1)),
    }));
    classes.extend([plain(Ending::Failed(None)), plain(Ending::NotStarted)]);
    classes
}

/// Whether the kubelet, or the local supervisor, restarts the program by itself.
fn left_to_the_node(job: &Job, task_class: &TaskClass, class: EndClass) -> bool {
    match job.roles[task_class.role].in_place {
        InPlace::Never => false,
        InPlace::OnFailure => class.is_failure(),
        InPlace::Always => class.is_failure() || class.ending == Ending::Succeeded,
    }
}

fn in_place(job: &Job) -> Response {
    let ends = job.limits.count_in_place && job.limits.restarts.is_some();
    Response {
        act: Act::InPlace,
        held: 0,
        out_of_restarts: ends.then_some(Act::End(Outcome::Failed)),
    }
}

/// The first rule that means this end and can be paid for, and what follows when nothing is left to pay with.
fn answer(job: &Job, task_class: &TaskClass, class: EndClass, reached: &mut [bool]) -> Response {
    let name = &job.roles[task_class.role].name;
    let mut found: Option<(Act, u32)> = None;
    let no_restart_allowed = job.limits.restarts == Some(0);
    for (position, rule) in job.rules_for(name, task_class.index, class.ending) {
        let paid = rule.then.is_paid();
        if paid && (no_restart_allowed || found.is_some()) {
            continue;
        }
        reached[position] = true;
        let act = act(&rule.then);
        match found {
            Some((first, held)) => {
                return Response {
                    act: first,
                    held,
                    out_of_restarts: Some(act),
                };
            }
            None if paid && job.limits.restarts.is_some() => found = Some((act, rule.held)),
            None => {
                return Response {
                    act,
                    held: rule.held,
                    out_of_restarts: None,
                };
            }
        }
    }
    // What no rule names is kept.
    match found {
        Some((act, held)) => Response {
            act,
            held,
            out_of_restarts: Some(Act::Keep),
        },
        None => Response {
            act: Act::Keep,
            held: 0,
            out_of_restarts: None,
        },
    }
}

fn act(then: &Then) -> Act {
    match then {
        Then::Keep => Act::Keep,
        Then::Restart { scope, paid } => Act::Again {
            scope: scope.clone(),
            paid: *paid,
        },
        Then::Abort => Act::Hold,
        Then::Finish(outcome) => Act::End(*outcome),
    }
}
