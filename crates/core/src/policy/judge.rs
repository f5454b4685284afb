//! The rules, read and applied: the only reader of `job.rules`.
//!
//! Order is rule-major. Each unanswered end takes its first matching rule; all *keep*s are applied first, since they
//! commute; then the candidates (other edges, and levels that are true) in order of rule, time of the end, role, index. So a chief's
//! success beats a worker's failure seen in the same moment, and three deaths in one epoch cost one restart however
//! they are batched. Rounds are repeated until nothing fires: each consumes an end, gives a verdict or a hold, or
//! moves the stamp that its level looked at, so it ends. That argument has assumptions, so rounds are counted too.

use super::restart::{Reason, restart};
use super::suspend::hold;
use super::{StepContext, bounds, failed_starts, gates, remember};
use crate::exit::Ending;
use crate::job::Role;
use crate::memory::{Cause, Failure, Hold, Outcome, RoleMemory};
use crate::observed::{Exit, GangSeen, Seen, Stamp, Why};
use crate::rule::{Count, Down, How, Rule, Scope, Settled, Test, Then, When, Who};
use crate::step::Event;
use crate::time::Time;

/// Applies the rules until nothing fires any more.
pub fn judge(ctx: &mut StepContext) {
    for _ in 0..bounds::rounds(ctx.job) {
        if !ctx.is_active() || !round(ctx) {
            return;
        }
    }
    if ctx.is_active() {
        bounds::exceeded(ctx, bounds::NO_REST);
    }
}

/// One unanswered end of a current life.
struct EndedLife<'a> {
    role: usize,
    index: u32,
    stamp: Stamp,
    ending: Ending,
    exit: Option<&'a Exit>,
}

/// Something that may fire, and by which rule.
struct Candidate<'a> {
    rule: usize,
    role: usize,
    index: u32,
    /// The end that asks for it; none for a level.
    end: Option<EndedLife<'a>>,
    /// A rule before this one would have restarted something, had a restart been left.
    unpaid: Option<usize>,
}

/// Applies every rule that fires now; whether something did.
fn round(ctx: &mut StepContext) -> bool {
    let mut fired = false;
    let mut candidates = Vec::new();
    for end in unanswered(ctx) {
        let (rule, unpaid) = first_match(ctx, &end);
        match rule {
            Some(rule) if !is_due(ctx, &ctx.job.rules[rule], &end) => {}
            Some(rule) if ctx.job.rules[rule].then != Then::Keep => {
                candidates.push(Candidate {
                    rule,
                    role: end.role,
                    index: end.index,
                    unpaid,
                    end: Some(end),
                });
            }
            kept => {
                fired = true;
                keep(ctx, &end, kept, unpaid);
            }
        }
    }
    levels(ctx, &mut candidates);
    // What ended first is reported as the cause: its peers often fail because of it.
    let ended = |candidate: &Candidate<'_>| {
        candidate
            .end
            .as_ref()
            .and_then(|end| end.exit)
            .map(|exit| exit.at)
    };
    candidates.sort_by_key(|candidate| (candidate.rule, ended(candidate), candidate.role, candidate.index));
    note_first_failure(ctx, &candidates);
    for candidate in candidates {
        if !ctx.is_active() {
            return true;
        }
        fired |= fire(ctx, &candidate);
    }
    fired
}

/// Ends of current lives that no rule has answered yet.
fn unanswered<'a>(ctx: &StepContext<'a>) -> Vec<EndedLife<'a>> {
    let mut ends = Vec::new();
    for (role, spec) in ctx.job.roles.iter().enumerate() {
        for index in 0..spec.replicas {
            if ctx.settled(&spec.name, index) {
                continue;
            }
            let stamp = ctx.memory.stamp_of(&spec.name, index);
            let exit = match ctx.current(role, index).map(|seen| &seen.state) {
                Some(Seen::Ended(exit) | Seen::Gone(Some(exit))) => Some(exit),
                Some(Seen::Gone(None)) => None,
                None if remember::has_vanished(ctx, role, index) => None,
                Some(Seen::Waiting | Seen::Running { .. }) | None => continue,
            };
            ends.push(EndedLife {
                role,
                index,
                stamp,
                ending: failed_starts::ending(ctx, &spec.name, index, exit),
                exit,
            });
        }
    }
    ends
}

/// The first rule that means this end and can be paid for; and the first that could not be.
fn first_match(ctx: &StepContext, end: &EndedLife) -> (Option<usize>, Option<usize>) {
    let mut unpaid = None;
    let name = &ctx.job.roles[end.role].name;
    for (position, rule) in ctx.job.rules_for(name, end.index, end.ending) {
        if !rule.then.is_paid() || ctx.memory.can_pay(ctx.job) {
            return (Some(position), unpaid);
        }
        unpaid = unpaid.or(Some(position));
    }
    (None, unpaid)
}

/// Whether the end has settled; asks to be called when it will have.
fn is_due(ctx: &mut StepContext, rule: &Rule, end: &EndedLife) -> bool {
    let settle = if costs(&rule.then) {
        ctx.job.limits.settle
    } else {
        0
    };
    let Some(exit) = end.exit else { return true };
    let due = ctx.clamp(exit.at) + settle.max(rule.held);
    ctx.wake_at(due);
    due <= ctx.now
}

/// Whether a rule costs a restart or the job: then the cause of an end is given time to arrive.
fn costs(then: &Then) -> bool {
    match then {
        Then::Keep | Then::Finish(Outcome::Succeeded) => false,
        Then::Restart { paid, .. } => *paid,
        Then::Abort | Then::Finish(Outcome::Failed | Outcome::Terminated) => true,
    }
}

/// The task stays ended. Where no rule says anything, that is what happens too.
fn keep(ctx: &mut StepContext, end: &EndedLife, rule: Option<usize>, unpaid: Option<usize>) {
    let name = ctx.job.roles[end.role].name.clone();
    tell_end(ctx, end, rule, unpaid);
    let memory = ctx.memory.role(&name);
    if end.ending == Ending::Succeeded {
        memory.done.insert(end.index);
    } else {
        memory.failed.insert(end.index);
        note_failure(ctx, end);
    }
}

/// Adds the level rules that are true now.
fn levels(ctx: &mut StepContext, candidates: &mut Vec<Candidate>) {
    let job = ctx.job;
    for (position, rule) in job.rules.iter().enumerate() {
        let unpaid = rule.then.is_paid() && !ctx.memory.can_pay(job);
        if unpaid || rule.then == Then::Keep {
            continue;
        }
        let true_for = match &rule.when {
            When::Down { who, why } => down(ctx, who, why, rule),
            _ if is_true(ctx, rule) => vec![(0, 0)],
            _ => Vec::new(),
        };
        let candidate = |(role, index)| Candidate {
            rule: position,
            role,
            index,
            end: None,
            unpaid: None,
        };
        candidates.extend(true_for.into_iter().map(candidate));
    }
}

/// Whether a level that looks at no single task is true.
fn is_true(ctx: &StepContext, rule: &Rule) -> bool {
    match &rule.when {
        When::Ended { .. } | When::Down { .. } => false,
        When::Count(counts) => countable(rule, counts) && counts.iter().all(|count| holds(ctx, count)),
        When::InPlace { who, at_least } => *at_least > 0 && in_place(ctx, who) >= *at_least,
        When::GangBroken => {
            ctx.observed.gang
                == GangSeen::Broken {
                    epoch: ctx.memory.epoch,
                }
        }
    }
}

/// A restart must make its own count false, or it would fire for ever: it needs something that has ended to count.
fn countable(rule: &Rule, counts: &[Count]) -> bool {
    let looks_at_ends = |count: &Count| matches!(count.test, Test::All | Test::AtLeast(1..));
    !matches!(rule.then, Then::Restart { .. }) || counts.iter().any(looks_at_ends)
}

fn holds(ctx: &StepContext, count: &Count) -> bool {
    let (mut all, mut counted) = (0u64, 0u64);
    let meant = |role: &&Role| count.who.role.as_ref().is_none_or(|name| *name == role.name);
    for role in ctx.job.roles.iter().filter(meant) {
        let RoleMemory { done, failed, .. } = ctx.memory.of_role(&role.name);
        let failed = (count.what == Settled::Ended).then_some(failed);
        match count.who.index {
            Some(index) if index < role.replicas => {
                all += 1;
                let ended = done.contains(index) || failed.is_some_and(|failed| failed.contains(index));
                counted += u64::from(ended);
            }
            Some(_) => {}
            None => {
                all += u64::from(role.replicas);
                // A task is either done or failed, never both.
                counted += u64::from(done.len()) + failed.map_or(0, |failed| failed.len().into());
            }
        }
    }
    match count.test {
        Test::All => all > 0 && counted >= all,
        Test::AtLeast(least) => counted >= u64::from(least),
        Test::Below(most) => counted < u64::from(most),
    }
}

/// The tasks that have been down for `held` seconds; asks to be called when one will have been.
fn down(ctx: &mut StepContext, who: &Who, why: &[Down], rule: &Rule) -> Vec<(usize, u32)> {
    let mut found = Vec::new();
    for (role, spec) in ctx.job.roles.iter().enumerate() {
        for index in (0..spec.replicas).filter(|&index| who.includes(&spec.name, index)) {
            let Some(since) = down_since(ctx, (role, index), why, &rule.then) else {
                continue;
            };
            if since + rule.held <= ctx.now {
                found.push((role, index));
            } else {
                ctx.wake_at(since + rule.held);
            }
        }
    }
    found
}

/// Since when a task is down in one of these ways.
///
/// A rule that restarts it looks at the visible current instance alone: an absent one would burn every restart at once. A
/// rule that ends the job counts over lives: a task that is created again and again and never runs is still not up.
fn down_since(ctx: &StepContext, (role, index): (usize, u32), why: &[Down], then: &Then) -> Option<Time> {
    let name = &ctx.job.roles[role].name;
    let trying = match then {
        Then::Restart { .. } => None,
        Then::Keep | Then::Abort | Then::Finish(_) => failed_starts::since(ctx, name, index),
    };
    let seen = ctx.current(role, index);
    if let Some(since) = trying
        && !ctx.settled(name, index)
        && seen.is_none_or(|seen| !matches!(seen.state, Seen::Running { .. }))
    {
        let again = ctx.memory.stamp_of(name, index).attempt > 0;
        let state = if again { Down::Again } else { Down::FirstStart };
        return why.contains(&state).then(|| ctx.clamp(since));
    }
    let seen = seen?;
    let failed = || ctx.memory.of_role(name).failed.contains(index);
    let (state, since) = match &seen.state {
        Seen::Waiting if seen.stamp.attempt == 0 => (Down::FirstStart, gates::starts(ctx.job, seen)?),
        Seen::Waiting => (Down::Again, gates::starts(ctx.job, seen)?),
        Seen::Ended(exit) if failed() => (Down::Failed, exit.at),
        _ => return None,
    };
    why.contains(&state).then(|| ctx.clamp(since))
}

fn in_place(ctx: &StepContext, who: &Who) -> u32 {
    let meant = ctx.view.inside().filter(|seen| {
        seen.alive() && who.includes(&seen.id.role, seen.id.index) && seen.stamp == ctx.memory.stamp(&seen.id)
    });
    meant.fold(0, |sum, seen| sum.saturating_add(seen.in_place))
}

/// Applies one candidate, unless what it looked at has changed since; whether it did.
fn fire(ctx: &mut StepContext, candidate: &Candidate) -> bool {
    let rule = &ctx.job.rules[candidate.rule];
    if let Some(end) = &candidate.end {
        let name = &ctx.job.roles[end.role].name;
        if ctx.memory.stamp_of(name, end.index) != end.stamp || ctx.settled(name, end.index) {
            return false;
        }
    } else if is_stale(ctx, rule, candidate) {
        return false;
    }
    if rule.then.is_paid() && !ctx.memory.can_pay(ctx.job) {
        // A candidate before it took the last restart: the next round tries the rules after this one.
        return true;
    }
    if let Some(end) = &candidate.end {
        tell_end(ctx, end, Some(candidate.rule), candidate.unpaid);
    }
    let task = candidate.end.as_ref().map(|end| ctx.task(end.role, end.index));
    match &rule.then {
        Then::Keep => {}
        Then::Abort => hold(ctx, Hold::Aborted),
        Then::Finish(outcome) if candidate.unpaid.is_some() && *outcome == Outcome::Failed => {
            ctx.finish(*outcome, Cause::Restarts { task });
        }
        Then::Finish(outcome) => ctx.finish(
            *outcome,
            Cause::Rule {
                from: rule.from.clone(),
                task,
            },
        ),
        Then::Restart { scope, paid } => restart_by(ctx, rule, scope, *paid, candidate),
    }
    true
}

/// Whether a level that was true when the round began no longer is.
fn is_stale(ctx: &StepContext, rule: &Rule, candidate: &Candidate) -> bool {
    match &rule.when {
        When::Down { why, .. } => {
            down_since(ctx, (candidate.role, candidate.index), why, &rule.then).is_none()
        }
        _ => !is_true(ctx, rule),
    }
}

fn restart_by(ctx: &mut StepContext, rule: &Rule, scope: &Scope, paid: bool, candidate: &Candidate) {
    let at_task = candidate.end.is_some() || matches!(rule.when, When::Down { .. });
    let task = at_task.then_some((candidate.role, candidate.index));
    let reason = Reason {
        task,
        exit: task
            .and_then(|(role, index)| ctx.current(role, index))
            .and_then(|seen| seen.exit()),
        rule: u16::try_from(candidate.rule).ok(),
        paid,
    };
    let scope = covering(ctx, rule, scope);
    restart(ctx, &scope, &reason);
}

/// A level's restart takes at least what the level looked at, so that it cannot stay true.
fn covering(ctx: &StepContext, rule: &Rule, scope: &Scope) -> Scope {
    let looked_at = |who: &Who| match &who.role {
        Some(name) => vec![name.clone()],
        None => ctx.job.roles.iter().map(|role| role.name.clone()).collect(),
    };
    let must = match &rule.when {
        When::Ended { .. } | When::Down { .. } => return scope.clone(),
        When::GangBroken => return Scope::Job,
        When::Count(counts) => counts.iter().flat_map(|count| looked_at(&count.who)).collect(),
        When::InPlace { who, .. } => looked_at(who),
    };
    match scope {
        Scope::Job => Scope::Job,
        Scope::Task => Scope::Roles(must),
        Scope::Roles(roles) => {
            let mut all: Vec<_> = roles.iter().cloned().chain(must).collect();
            all.sort();
            all.dedup();
            Scope::Roles(all)
        }
    }
}

fn tell_end(ctx: &mut StepContext, end: &EndedLife, rule: Option<usize>, unpaid: Option<usize>) {
    let task = ctx.task(end.role, end.index);
    if let Some(rule) = unpaid.and_then(|rule| u16::try_from(rule).ok()) {
        ctx.events.push(Event::Unpaid {
            task: task.clone(),
            rule,
        });
    }
    let how = match end.ending {
        Ending::Succeeded => How::Succeeded,
        Ending::Failed(_) => How::Failed,
        Ending::NotStarted => How::NotStarted,
        Ending::Disrupted => How::Disrupted,
        Ending::Vanished => How::Vanished,
    };
    let rule = rule.and_then(|rule| u16::try_from(rule).ok());
    let code = end.exit.and_then(|exit| exit.code);
    ctx.events.push(Event::TaskEnded {
        task,
        stamp: end.stamp,
        how,
        code,
        rule,
    });
}

/// Of several failures answered in one round, the earliest is the first, whichever rule answers it.
fn note_first_failure(ctx: &mut StepContext, candidates: &[Candidate]) {
    let ends = candidates.iter().filter_map(|candidate| candidate.end.as_ref());
    let mut failures: Vec<&EndedLife> = ends.filter(|end| end.ending.is_failure()).collect();
    failures.sort_by_key(|end| (end.exit.map(|exit| exit.at), end.role, end.index));
    // A free rule that fires in the same round excuses the others; then the failure was not the task's own.
    let excused = candidates.first().is_some_and(|first| {
        let rule = &ctx.job.rules[first.rule];
        matches!(
            &rule.then,
            Then::Restart {
                scope: Scope::Job,
                paid: false
            }
        )
    });
    if let Some(first) = failures.first().filter(|_| !excused) {
        note_failure(ctx, first);
    }
}

fn note_failure(ctx: &mut StepContext, end: &EndedLife) {
    if let (None, Some(exit), true) = (&ctx.memory.first_failure, end.exit, end.ending.is_failure()) {
        let mut exit = exit.clone();
        exit.at = ctx.clamp(exit.at);
        if exit.rejected {
            // Once too often: from here on it is the task's own.
            exit.why = Why::Itself;
        }
        let task = ctx.task(end.role, end.index);
        ctx.memory.first_failure = Some(Failure {
            task,
            stamp: end.stamp,
            exit,
        });
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
