//! What a rule list can come to: whether the job can succeed at all.

use std::collections::BTreeSet;

use trainyard_core::{Count, How, InPlace, Job, Outcome, Role, Rule, Settled, Test, Then, When, Who};

/// Whether some way of ending makes the job succeed.
pub(super) fn can_succeed(job: &Job) -> bool {
    job.rules
        .iter()
        .enumerate()
        .filter(|(_, rule)| rule.then == Then::Finish(Outcome::Succeeded))
        .any(|(position, rule)| match &rule.when {
            When::Count(counts) => {
                let before = &job.rules[..position];
                counts.iter().all(|count| can_hold(job, count, before))
            }
            When::Ended { .. } | When::Down { .. } | When::InPlace { .. } | When::GangBroken => true,
        })
}

/// Whether an earlier rule answers the success of the whole role with something else than success.
fn is_cut_off(before: &[Rule], role: &Role) -> bool {
    before.iter().any(|rule| {
        let When::Count(counts) = &rule.when else {
            return false;
        };
        let whole = |count: &Count| {
            count.who == Who::role(&role.name) && count.what == Settled::Succeeded && count.test == Test::All
        };
        let elsewhere = !matches!(rule.then, Then::Keep | Then::Finish(Outcome::Succeeded));
        elsewhere && matches!(&counts[..], [only] if whole(only))
    })
}

fn can_hold(job: &Job, count: &Count, before: &[Rule]) -> bool {
    let (mut all, mut possible) = (0u64, 0u64);
    for role in &job.roles {
        if count.who.role.as_ref().is_some_and(|name| *name != role.name) {
            continue;
        }
        match count.who.index {
            Some(index) if index < role.replicas => {
                all += 1;
                possible += u64::from(can_settle(job, role, index, count.what));
            }
            Some(_) => {}
            None => {
                all += u64::from(role.replicas);
                let most = how_many(job, role, count.what);
                let cut_off = count.what == Settled::Succeeded && is_cut_off(before, role);
                possible += if cut_off {
                    most.min(u64::from(role.replicas).saturating_sub(1))
                } else {
                    most
                };
            }
        }
    }
    match count.test {
        Test::All => all > 0 && possible >= all,
        Test::AtLeast(least) => possible >= u64::from(least),
        Test::Below(_) => true,
    }
}

/// How many tasks of a role can be settled so. Only tasks that a rule names can differ from the others.
fn how_many(job: &Job, role: &Role, what: Settled) -> u64 {
    let named = job.rules.iter().filter_map(|rule| named_index(rule, role));
    let named: BTreeSet<u32> = named.filter(|index| *index < role.replicas).collect();
    let can = |index: &u32| can_settle(job, role, *index, what);
    let others = u64::from(role.replicas) - named.len() as u64;
    let other = (0..role.replicas).find(|index| !named.contains(index));
    let others_can = other.is_some_and(|index| can(&index));
    let named_can = named.iter().filter(|index| can(index)).count() as u64;
    named_can + if others_can { others } else { 0 }
}

fn named_index(rule: &Rule, role: &Role) -> Option<u32> {
    match &rule.when {
        When::Ended { who, .. } if who.role.as_ref().is_none_or(|name| *name == role.name) => who.index,
        _ => None,
    }
}

/// Whether a task can end and stay so. A failure can always come to stay in some way; a success may not.
fn can_settle(job: &Job, role: &Role, index: u32, what: Settled) -> bool {
    what == Settled::Ended || role.in_place != InPlace::Always && success_stays(job, role, index)
}

fn success_stays(job: &Job, role: &Role, index: u32) -> bool {
    for rule in &job.rules {
        let When::Ended { who, how } = &rule.when else {
            continue;
        };
        if !who.includes(&role.name, index) || !how.contains(&How::Succeeded) {
            continue;
        }
        match &rule.then {
            // Once the budget is used up, the rules after it are tried.
            Then::Restart { paid: true, .. } if job.limits.restarts.is_some() => {}
            Then::Keep | Then::Finish(Outcome::Succeeded) => return true,
            Then::Restart { .. } | Then::Abort | Then::Finish(_) => return false,
        }
    }
    true
}
