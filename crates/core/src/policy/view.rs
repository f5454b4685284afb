//! The observation, ordered: which instances belong to which task, in an order that does not depend on arrival.

use std::collections::BTreeMap;

use crate::job::Job;
use crate::observed::{Observed, Seen, TaskSeen};

/// Instances by role position and index, built once per step.
pub(crate) struct View<'a> {
    /// All instances of tasks that the job has, sorted by task.
    sorted: Vec<&'a TaskSeen>,
    /// For each role, where the instances of each index begin in `sorted`; one entry more than there are tasks.
    starts: Vec<Vec<u32>>,
    /// Instances of tasks that the job no longer has: scaled away, or of a role that was removed.
    outside: Vec<&'a TaskSeen>,
}

impl<'a> View<'a> {
    pub fn of(job: &Job, observed: &'a Observed) -> Self {
        let positions: BTreeMap<&str, usize> = job
            .roles
            .iter()
            .enumerate()
            .map(|(at, role)| (role.name.as_str(), at))
            .collect();
        let mut inside = Vec::with_capacity(observed.tasks.len());
        let mut outside = Vec::new();
        for seen in &observed.tasks {
            match positions.get(seen.id.role.as_str()) {
                Some(&role) if seen.id.index < job.roles[role].replicas => inside.push((role, seen)),
                _ => outside.push(seen),
            }
        }
        inside.sort_by(|(left_role, left), (right_role, right)| {
            (left_role, left.id.index, rank(left), left).cmp(&(
                right_role,
                right.id.index,
                rank(right),
                right,
            ))
        });
        outside.sort();
        let starts = starts(job, &inside);
        Self {
            sorted: inside.into_iter().map(|(_, seen)| seen).collect(),
            starts,
            outside,
        }
    }

    /// The instances of one task; what lives comes first, what is gone last.
    pub fn instances(&self, role: usize, index: u32) -> &[&'a TaskSeen] {
        let starts = &self.starts[role];
        let at = index as usize;
        &self.sorted[starts[at] as usize..starts[at + 1] as usize]
    }

    /// Every instance of a task that the job has, by task.
    pub fn inside(&self) -> impl Iterator<Item = &'a TaskSeen> + '_ {
        self.sorted.iter().copied()
    }

    /// Every instance of a task that the job no longer has.
    pub fn outside(&self) -> impl Iterator<Item = &'a TaskSeen> + '_ {
        self.outside.iter().copied()
    }

    /// Every instance.
    pub fn all(&self) -> impl Iterator<Item = &'a TaskSeen> + '_ {
        self.inside().chain(self.outside())
    }
}

/// Two instances of one life cannot be, but if they are shown, the livelier is believed: nothing is created twice. Of two that
/// are gone, it is the one of which is known how it ended.
fn rank(seen: &TaskSeen) -> u8 {
    match seen.state {
        Seen::Running { .. } => 0,
        Seen::Waiting => 1,
        Seen::Ended(_) => 2,
        Seen::Gone(Some(_)) => 3,
        Seen::Gone(None) => 4,
    }
}

fn starts(job: &Job, sorted: &[(usize, &TaskSeen)]) -> Vec<Vec<u32>> {
    let mut at = 0;
    let count = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let of_role = |(position, role): (usize, &crate::job::Role)| {
        let mut starts = Vec::with_capacity(role.replicas as usize + 1);
        for index in 0..role.replicas {
            starts.push(count(at));
            while sorted
                .get(at)
                .is_some_and(|(role, seen)| *role == position && seen.id.index == index)
            {
                at += 1;
            }
        }
        starts.push(count(at));
        starts
    };
    job.roles.iter().enumerate().map(of_role).collect()
}
