//! T7: when nothing goes wrong any more, the job comes to rest and stays so.

use crate::job::{Clean, Job, Role};
use crate::memory::{Cause, Memory, Verdict};
use crate::observed::{Fixture, FixtureSeen, GangSeen};
use crate::sim::cache::Cache;
use crate::sim::driver::Decide;
use crate::sim::instance::{Instance, Node};
use crate::sim::play::Rest;
use crate::sim::world::World;
use crate::step::Persist;

/// Seconds after which a job at rest is looked at once more.
const MUCH_LATER: [u32; 2] = [1, 100_000];

/// T7: when nothing goes wrong any more, the job comes to rest: ended and cleaned up, on hold with nothing alive, or
/// running as wanted; and then stays so.
pub fn check(world: &World, rest: Rest, decide: &mut Decide<'_>) -> Result<(), String> {
    match rest {
        Rest::Settled => {}
        Rest::Deleted => return Ok(()),
        Rest::BrokenOff | Rest::Circles => return Err(format!("it never came to rest: {rest:?}")),
    }
    let Some(memory) = &world.memory else {
        return Err("nothing was ever stored".into());
    };
    stays(world, memory, decide)?;
    let over = memory.verdict.is_some() || memory.held.is_some();
    let group = world.fixtures.get(&Fixture::Gang);
    if over && matches!(group, Some(FixtureSeen::Ours { .. })) {
        return Err("the group of a job that does not run is still there".into());
    }
    if world
        .ours()
        .any(|instance| instance.exists() && instance.node != Node::Answers)
    {
        // Its node never answers again, and the job does not allow to force it away: that is waited for, as Kubernetes does.
        return Ok(());
    }
    if let Some(verdict) = &memory.verdict {
        return clean(world, memory, verdict);
    }
    if memory.held.is_some() {
        let alive = world.ours().find(|instance| instance.alive());
        return alive.map_or(Ok(()), |instance| {
            Err(format!("on hold, and {} lives", instance.name))
        });
    }
    runs_as_wanted(world, memory)
}

/// Nothing changes any more, however often and however late it is looked at.
fn stays(world: &World, memory: &Memory, decide: &mut Decide<'_>) -> Result<(), String> {
    let observed = Cache::fresh(world).observe(world);
    for later in MUCH_LATER {
        let step = decide(&world.job, Some(memory), &observed, world.clock() + later);
        let stored = matches!(step.persist, Persist::Nothing | Persist::WithNext);
        if !stored || !step.actions.is_empty() {
            return Err(format!(
                "at rest, yet {later} s later: {:?} {:?}",
                step.events, step.actions
            ));
        }
    }
    Ok(())
}

/// What the clean-up policy lets exist after the end.
fn clean(world: &World, memory: &Memory, verdict: &Verdict) -> Result<(), String> {
    let policy = match verdict.cause {
        Cause::Rule { .. } => world.job.clean,
        Cause::Restarts { .. } | Cause::Deadline | Cause::Order => world.job.clean.max(Clean::Unfinished),
    };
    let may_stay = |instance: &&Instance| match policy {
        Clean::All => false,
        Clean::Unfinished => !instance.alive(),
        Clean::None => !instance.alive() || instance.stamp == memory.stamp(&instance.task),
    };
    let left = world
        .ours()
        .filter(|instance| instance.exists())
        .find(|instance| !may_stay(instance));
    left.map_or(Ok(()), |instance| {
        Err(format!(
            "{policy:?} after {verdict:?} left {} in {:?}",
            instance.name, instance.state
        ))
    })
}

/// Every task runs, has ended, or waits for something that may never come.
fn runs_as_wanted(world: &World, memory: &Memory) -> Result<(), String> {
    let job = &world.job;
    let holds = job.gang.as_ref().is_some_and(|gang| gang.hold);
    if holds && !matches!(world.gang_seen(), GangSeen::Open | GangSeen::Broken { .. }) {
        return Ok(());
    }
    for role in job.roles.iter().filter(|role| !waits_for_others(job, role)) {
        for task in role.tasks() {
            let settled = memory.is_done(&task) || memory.is_failed(&task);
            let runs = world.ours().any(|instance| {
                instance.alive() && instance.task == task && instance.stamp == memory.stamp(&task)
            });
            if !settled && !runs {
                return Err(format!("{task} neither runs nor has ended"));
            }
        }
    }
    Ok(())
}

/// A role that comes after others may wait for them for ever, if they fail for good.
fn waits_for_others(job: &Job, role: &Role) -> bool {
    let after = role.after.as_ref();
    after.is_some_and(|after| after.roles.iter().any(|(name, _)| job.role(name).is_some()))
}
