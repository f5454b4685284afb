//! Which tasks should exist now: start order, the barrier between lives, waits.

use std::collections::BTreeSet;

use super::StepContext;
use crate::job::After;
use crate::observed::{Seen, Stamp, TaskSeen};
use crate::rule::{Scope, Then};
use crate::step::Event;
use crate::time::Time;

/// A task that should exist, by role position and index, with the stamp it should carry.
pub struct Wanted {
    pub role: usize,
    pub index: u32,
    pub stamp: Stamp,
}

/// Notes the start of the job.
pub fn start(ctx: &mut StepContext) {
    if ctx.memory.started.is_none() {
        ctx.memory.started = Some(ctx.now);
        ctx.events.push(Event::Started);
    }
}

/// Every task that should exist now and may be created if it does not.
pub fn wanted(ctx: &mut StepContext) -> Vec<Wanted> {
    if !ctx.is_active() || old_epoch_lives(ctx) {
        return Vec::new();
    }
    if ctx.memory.not_before > ctx.now {
        ctx.wake_at(ctx.memory.not_before);
        return Vec::new();
    }
    let blocked = blocked_roles(ctx);
    let mut wanted = Vec::new();
    for (role, spec) in ctx.job.roles.iter().enumerate() {
        if blocked[role] || !spec.after.as_ref().is_none_or(|after| is_up(ctx, after)) {
            continue;
        }
        let open = (0..spec.replicas).filter(|&index| !ctx.settled(&spec.name, index));
        wanted.extend(open.map(|index| Wanted {
            role,
            index,
            stamp: ctx.memory.stamp_of(&spec.name, index),
        }));
    }
    wanted.retain(|task| !waits(ctx, task));
    wanted
}

/// Whether a task waits before its next life; asks to be called when that is over, unless something of the task is still there.
fn waits(ctx: &mut StepContext, task: &Wanted) -> bool {
    let name = &ctx.job.roles[task.role].name;
    let until = Time::of_runs(ctx.memory.of_role(name).not_before.get(task.index));
    let until = until.filter(|until| *until > ctx.now);
    let gone = |seen: &&TaskSeen| matches!(seen.state, Seen::Gone(_));
    if let Some(until) = until
        && ctx.view.instances(task.role, task.index).iter().all(gone)
    {
        ctx.wake_at(until);
    }
    until.is_some()
}

/// Nothing of a new epoch starts while anything of an older one lives: same names, same addresses.
fn old_epoch_lives(ctx: &StepContext) -> bool {
    ctx.view
        .all()
        .any(|seen| seen.alive() && (seen.stamp.epoch < ctx.memory.epoch || !seen.stamp.is_possible()))
}

/// The same barrier inside a set of roles that some rule restarts together.
fn blocked_roles(ctx: &StepContext) -> Vec<bool> {
    let roles = &ctx.job.roles;
    let mut stale_lives = BTreeSet::new();
    for seen in ctx
        .view
        .inside()
        .filter(|seen| seen.alive() && ctx.is_stale(seen))
    {
        stale_lives.insert(&seen.id.role);
    }
    let mut blocked = vec![false; roles.len()];
    for rule in &ctx.job.rules {
        let Then::Restart {
            scope: Scope::Roles(set),
            ..
        } = &rule.then
        else {
            continue;
        };
        if set.iter().any(|name| stale_lives.contains(name)) {
            for (position, role) in roles.iter().enumerate() {
                blocked[position] |= set.contains(&role.name);
            }
        }
    }
    blocked
}

/// Whether the tasks that must be up first are.
fn is_up(ctx: &StepContext, after: &After) -> bool {
    let enough = |(name, least): &(crate::RoleName, u32)| {
        let Some((position, role)) = ctx.job.role(name) else {
            return true;
        };
        let up = |&index: &u32| {
            ctx.memory.of_role(name).done.contains(index)
                || matches!(
                    ctx.current(position, index).map(|seen| &seen.state),
                    Some(Seen::Running { ready: true })
                )
        };
        (0..role.replicas).filter(up).count() >= *least as usize
    };
    if after.any {
        after.roles.is_empty() || after.roles.iter().any(enough)
    } else {
        after.roles.iter().all(enough)
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::testing::{Bench, ended, ps, running, waiting, worker};
    use crate::{Action, After, How, RoleName, Scope, Stamp, TaskId, Then};

    const FIRST: Stamp = Stamp { epoch: 0, attempt: 0 };

    fn created(step: &crate::Step) -> Vec<TaskId> {
        let create = |action: &Action| match action {
            Action::Create { task, .. } => Some(task.clone()),
            _ => None,
        };
        step.actions.iter().filter_map(create).collect()
    }

    #[test]
    fn workers_wait_until_enough_parameter_servers_are_ready() {
        let mut bench = Bench::ps_and_workers(2, 1);
        bench.job.roles[1].after = Some(After {
            roles: vec![(RoleName::new("ps"), 2)],
            any: false,
        });
        assert_eq!(created(&bench.step(&[], 1)), [ps(0), ps(1)]);
        let one = [running(ps(0), FIRST), waiting(ps(1), FIRST)];
        assert_eq!(created(&bench.step(&one, 5)), []);
        let both = [running(ps(0), FIRST), running(ps(1), FIRST)];
        assert_eq!(created(&bench.step(&both, 9)), [worker(0)]);
    }

    #[test]
    fn one_of_several_suffices_where_the_manifest_says_any() {
        let mut bench = Bench::ps_and_workers(1, 1);
        let names = vec![(RoleName::new("ps"), 1), (RoleName::new("absent"), 1)];
        bench.job.roles[1].after = Some(After {
            roles: vec![(RoleName::new("ps"), 1)],
            any: true,
        });
        assert_eq!(created(&bench.step(&[], 1)), [ps(0)]);
        bench.job.roles[1].after = Some(After {
            roles: names,
            any: true,
        });
        assert_eq!(created(&bench.step(&[], 1)), [ps(0), worker(0)]);
    }

    #[test]
    fn roles_that_restart_together_wait_for_each_others_old_lives() {
        let together = |names: &[&str]| Then::Restart {
            scope: Scope::Roles(names.iter().map(|name| RoleName::new(name)).collect()),
            paid: true,
        };
        for (names, waits) in [(&["ps", "worker"][..], true), (&["worker"], false)] {
            let bench = Bench::ps_and_workers(1, 1).failing_then(How::Failed, together(names));
            let mut memory = bench.memory();
            for task in [ps(0), worker(0)] {
                memory.role(&task.role).attempts.set(0, 1);
            }
            let old = [running(ps(0), FIRST)];
            let expected = if waits { vec![] } else { vec![worker(0)] };
            assert_eq!(
                created(&bench.step_with(Some(&memory), &old, 10)),
                expected,
                "{names:?}"
            );
            assert_eq!(created(&bench.step_with(Some(&memory), &[], 10)).len(), 2);
        }
    }

    #[test]
    fn nothing_of_a_new_epoch_starts_while_the_old_one_lives() {
        let bench = Bench::workers(2);
        let mut memory = bench.memory();
        memory.epoch = 1;
        let old = [running(worker(1), FIRST)];
        assert_eq!(created(&bench.step_with(Some(&memory), &old, 10)), []);
        let dead = [ended(worker(1), FIRST, 143, 9)];
        assert_eq!(created(&bench.step_with(Some(&memory), &dead, 10)), [worker(0)]);
        assert_eq!(
            created(&bench.step_with(Some(&memory), &[], 10)),
            [worker(0), worker(1)]
        );
    }
}
