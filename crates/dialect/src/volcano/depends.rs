//! `dependsOn`: which tasks must be up before others start, and that no tasks wait in a circle.

use std::collections::BTreeMap;
use std::sync::Arc;

use trainyard_core::{After, RoleName};
use trainyard_document::codes::Code;
use trainyard_document::fields::{Field, Fields};
use trainyard_document::problem::{did_you_mean, shown};

use super::spec::Task;

/// Tasks of a circle that a message names.
const MOST_SHOWN: usize = 12;

/// One task's `dependsOn`.
#[derive(Clone, Debug)]
pub(super) struct DependsOn<'a> {
    /// The tasks it waits for, each with its place.
    names: Vec<(Arc<str>, Field<'a>)>,
    /// One of them suffices.
    any: bool,
}

/// Reads `dependsOn` of a task.
pub(super) fn read<'a>(fields: &mut Fields<'a>) -> Option<DependsOn<'a>> {
    let mut fields = fields.map("dependsOn")?;
    let names = fields.list("name");
    let names: Vec<_> = names
        .into_iter()
        .filter_map(|field| Some((field.text()?.clone(), field)))
        .collect();
    let any = fields.choice("iteration", &[("any", true), ("all", false)]);
    fields.finish();
    // With one name, one of them is all of them.
    let any = any.unwrap_or(false) && names.len() > 1;
    (!names.is_empty()).then_some(DependsOn { names, any })
}

/// Positions of tasks by name.
pub(super) type Positions<'a> = BTreeMap<&'a str, usize>;

/// What a task waits for, as the job model has it: so many of each task as that task needs at least.
pub(super) fn after(task: &Task<'_>, tasks: &[Task<'_>], positions: &Positions<'_>) -> Option<After> {
    let depends_on = task.depends_on.as_ref()?;
    let least = |(name, _): &(Arc<str>, Field<'_>)| {
        let other = &tasks[*positions.get(&**name)?];
        Some((RoleName::new(name), other.min_available))
    };
    Some(After {
        roles: depends_on.names.iter().filter_map(least).collect(),
        any: depends_on.any,
    })
}

/// Reports names that are no tasks, and circles.
pub(super) fn check(tasks: &[Task<'_>], positions: &Positions<'_>) {
    let mut waits: Vec<Vec<Edge<'_>>> = Vec::with_capacity(tasks.len());
    for task in tasks {
        let mut edges = Vec::new();
        for (name, field) in task.depends_on.iter().flat_map(|depends_on| &depends_on.names) {
            match positions.get(&**name) {
                Some(to) => edges.push(Edge { to: *to, field }),
                None => missing(name, field, tasks),
            }
        }
        waits.push(edges);
    }
    let mut left = circular(&waits);
    while let Some(circle) = one_circle(&waits, &left) {
        report_circle(tasks, &waits, &circle);
        for step in circle {
            left[step] = false;
        }
    }
}

struct Edge<'a> {
    to: usize,
    field: &'a Field<'a>,
}

fn missing(name: &str, field: &Field<'_>, tasks: &[Task<'_>]) {
    let message = format!(
        "the task waits for `{}`, which the job does not have",
        shown(name)
    );
    let problem = field.problem(Code::VolcanoDependsOn, message).found(name);
    let hint = did_you_mean(name, tasks.iter().map(|task| &*task.name));
    field.tell(problem.maybe_hint(hint));
}

/// Which tasks are left when those that wait for no other have been taken away, again and again.
fn circular(waits: &[Vec<Edge<'_>>]) -> Vec<bool> {
    let mut waited_by = vec![Vec::new(); waits.len()];
    let mut open: Vec<usize> = Vec::with_capacity(waits.len());
    for (from, edges) in waits.iter().enumerate() {
        open.push(edges.len());
        for edge in edges {
            waited_by[edge.to].push(from);
        }
    }
    let mut free: Vec<usize> = (0..waits.len()).filter(|at| open[*at] == 0).collect();
    while let Some(at) = free.pop() {
        for from in &waited_by[at] {
            open[*from] -= 1;
            if open[*from] == 0 {
                free.push(*from);
            }
        }
    }
    open.iter().map(|open| *open > 0).collect()
}

/// One circle among the tasks that are left: the way from the first of them, once it meets itself.
fn one_circle(waits: &[Vec<Edge<'_>>], left: &[bool]) -> Option<Vec<usize>> {
    let start = left.iter().position(|left| *left)?;
    let mut met = vec![None; waits.len()];
    let mut way = Vec::new();
    let mut at = start;
    while met[at].is_none() {
        met[at] = Some(way.len());
        way.push(at);
        // A task whose circle has been reported already leads nowhere: it is a circle's end on its own.
        let Some(next) = waits[at].iter().find(|edge| left[edge.to]) else {
            return Some(way);
        };
        at = next.to;
    }
    Some(way.split_off(met[at]?))
}

fn report_circle(tasks: &[Task<'_>], waits: &[Vec<Edge<'_>>], circle: &[usize]) {
    let (Some(first), Some(last)) = (circle.first(), circle.last()) else {
        return;
    };
    let Some(back) = waits[*last].iter().find(|edge| edge.to == *first) else {
        return;
    };
    let names = circle.iter().chain([first]).map(|step| shown(&tasks[*step].name));
    let names: Vec<String> = names.take(MOST_SHOWN).collect();
    let message = format!("the tasks wait for each other: {}", names.join(" → "));
    let problem = back.field.problem(Code::VolcanoDependsOn, message);
    let hint = "take one of these `dependsOn` away, or none of the tasks ever starts";
    back.field.tell(problem.hint(hint));
}
