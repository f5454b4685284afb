//! What a rule waits for, as words.

use super::subjects::{all_of, how_many, join, kind_of, one_of, with_article};
use super::units::duration;
use crate::job::Job;
use crate::rule::{Count, Down, How, Settled, Test, Who};

/// All counts of a rule: `every task has ended and ps-0 has not exited 0`.
pub fn counts(job: &Job, counts: &[Count]) -> String {
    let words: Vec<String> = essential(job, counts)
        .into_iter()
        .map(|one| count(job, one))
        .collect();
    if words.is_empty() {
        // A rule without any condition is true from the start.
        return "the job has started".into();
    }
    join(&words, "and")
}

/// The counts that say something: where all have succeeded, all have ended.
pub fn essential<'a>(job: &Job, counts: &'a [Count]) -> Vec<&'a Count> {
    let succeeds_wholly = |count: &Count| count.what == Settled::Succeeded && is_whole(job, count);
    let idle = |count: &Count| {
        let wider = |other: &Count| other.who.role.is_none() || other.who == count.who;
        let covered = counts.iter().any(|other| succeeds_wholly(other) && wider(other));
        count.what == Settled::Ended && !matches!(count.test, Test::Below(_)) && covered
    };
    counts.iter().filter(|count| !idle(count)).collect()
}

/// Whether a count needs every task it looks at.
pub fn is_whole(job: &Job, count: &Count) -> bool {
    needs(job, count) == how_many(job, &count.who)
}

/// How many tasks a count needs.
pub fn needs(job: &Job, count: &Count) -> u64 {
    match count.test {
        Test::All => how_many(job, &count.who).max(1),
        Test::AtLeast(least) => least.into(),
        Test::Below(_) => 0,
    }
}

fn count(job: &Job, count: &Count) -> String {
    let verb = match count.what {
        Settled::Succeeded => "exited 0",
        Settled::Ended => "ended",
    };
    let (has, have) = (format!("has {verb}"), format!("have {verb}"));
    let meant = how_many(job, &count.who);
    let (one, many) = kind_of(job, &count.who);
    match count.test {
        Test::All => all_of(job, &count.who, &has, &have),
        Test::AtLeast(least) if meant == 1 && least == 1 => format!("{} {has}", the_one(job, &count.who)),
        Test::AtLeast(least) if u64::from(least) == meant && meant > 0 => {
            all_of(job, &count.who, &has, &have)
        }
        Test::AtLeast(1) => format!("at least one {one} {has}"),
        Test::AtLeast(least) => format!("at least {least} of {meant} {many} {have}"),
        Test::Below(most) if meant == 1 && most == 1 => {
            format!("{} has not {verb}", the_one(job, &count.who))
        }
        Test::Below(1) => format!("no {one} {has}"),
        Test::Below(most) => format!("fewer than {most} {many} {have}"),
    }
}

/// The one task that is meant, where it is only one.
fn the_one(job: &Job, who: &Who) -> String {
    let role = job
        .roles
        .iter()
        .find(|role| role.replicas > 0 && who.role.as_ref().is_none_or(|name| *name == role.name));
    match role {
        Some(role) => format!("{}-{}", role.name, who.index.unwrap_or(0)),
        None => one_of(job, who),
    }
}

/// Ways of ending, as verbs for one task: `is evicted, preempted or deleted`.
pub fn ways(how: &[How]) -> Vec<String> {
    let has = |wanted: How| how.contains(&wanted);
    let codes: Vec<(i32, i32)> = how
        .iter()
        .filter_map(|how| match *how {
            How::Codes(low, high) => Some((low, high)),
            _ => None,
        })
        .collect();
    let mut words = code_ways(&codes);
    if has(How::NotStarted) {
        words.push("cannot be started".into());
    }
    if has(How::Failed) {
        words.push("fails".into());
    }
    if has(How::Succeeded) {
        words.push("exits 0".into());
    }
    words.extend(gone(has(How::Disrupted), has(How::Vanished)));
    words
}

/// Ends that came from outside. They are said last: theirs is a list of its own.
pub fn gone(disrupted: bool, vanished: bool) -> Option<String> {
    match (disrupted, vanished) {
        (true, _) => Some("is evicted, preempted or deleted".into()),
        (false, true) => Some("disappears unseen".into()),
        (false, false) => None,
    }
}

/// Exit codes as verbs: those above 127 are signals when all of them are meant.
pub fn code_ways(codes: &[(i32, i32)]) -> Vec<String> {
    let is_signals = |&&(low, high): &&(i32, i32)| low == 128 && high == 255;
    let mut words = Vec::new();
    if codes.iter().any(|range| is_signals(&range)) {
        words.push("is killed by a signal (exit 128–255)".into());
    }
    let mut plain: Vec<(i32, i32)> = codes.iter().filter(|range| !is_signals(range)).copied().collect();
    plain.sort_unstable();
    if !plain.is_empty() {
        words.push(format!("exits {}", code_list(&plain)));
    }
    words
}

/// `42, 130 or 137–139`.
pub fn code_list(codes: &[(i32, i32)]) -> String {
    let one = |&(low, high): &(i32, i32)| {
        if low == high {
            low.to_string()
        } else {
            format!("{low}–{high}")
        }
    };
    join(&codes.iter().map(one).collect::<Vec<_>>(), "or")
}

/// What being down for so long means, for one of those tasks.
pub fn down(job: &Job, who: &Who, why: &[Down], held: u32) -> String {
    let task = one_of(job, who);
    let (first, again, failed) = (
        why.contains(&Down::FirstStart),
        why.contains(&Down::Again),
        why.contains(&Down::Failed),
    );
    let time = duration(held);
    let waiting = match (first, again) {
        (true, true) => Some(format!("does not run {time} after it was created")),
        (true, false) => Some(format!(
            "does not run {time} after it was created for the first time"
        )),
        (false, true) => Some(format!("does not run {time} after it was created again")),
        (false, false) => None,
    };
    let stays = failed.then(|| format!("has been failed for {time}"));
    let ways: Vec<String> = waiting.into_iter().chain(stays).collect();
    format!("{task} {}", join(&ways, "or"))
}

/// Restarts in place, summed over those tasks.
pub fn in_place(job: &Job, who: &Who, at_least: u32) -> String {
    let (one, many) = kind_of(job, who);
    let of = match (&who.role, who.index) {
        (_, Some(_)) => one_of(job, who),
        (Some(_), None) if how_many(job, who) == 1 => one_of(job, who),
        (None, None) if how_many(job, who) == 1 => with_article(&one),
        _ => format!("the {many} together"),
    };
    let plural = how_many(job, who) > 1 && who.index.is_none();
    let verb = if plural { "have" } else { "has" };
    format!(
        "{of} {verb} been restarted in place {} or more",
        super::units::times(at_least)
    )
}

/// Ranges that touch, joined.
pub fn merged(codes: &[(i32, i32)]) -> Vec<(i32, i32)> {
    let mut sorted = codes.to_vec();
    sorted.sort_unstable();
    let mut merged: Vec<(i32, i32)> = Vec::new();
    for (low, high) in sorted {
        match merged.last_mut() {
            Some(last) if last.1 + 1 == low => last.1 = high,
            _ => merged.push((low, high)),
        }
    }
    merged
}
