mod later;

use super::*;
use crate::policy::testing::{self, Bench, observed, running, waiting, worker};
use crate::{Placement, Stamp, Verdict};

const NOW: Time = Time(1000);

fn members(needed: u32, gated: u32, unplaced: u32, placed: u32) -> Members {
    Members {
        needed,
        gated,
        unplaced,
        placed,
        ..Members::default()
    }
}

fn standing(since: u64, members: Members) -> Standing {
    Standing {
        epoch: 0,
        since: Time(since),
        was_placed: members.are_placed(),
        members,
    }
}

/// A gang of two that waits.
fn waits(since: u64) -> Standing {
    standing(since, members(2, 2, 0, 0))
}

fn terms(priority: i32, reach: Reach) -> Terms {
    Terms {
        priority,
        patience: 60,
        reach: reach.into(),
    }
}

/// Nothing is known of nodes.
fn in_doubt(priority: i32) -> Terms {
    terms(priority, Reach::all())
}

fn pool(gangs: &[(&'static str, i32, Standing)]) -> Pools<&'static str> {
    let mut pool = Pools::default();
    for (key, priority, seen) in gangs {
        pool.see(key, *seen, in_doubt(*priority), NOW);
    }
    pool
}

/// A gang and its nodes.
type OnNodes = (&'static str, &'static [usize]);

/// Gangs of one priority that wait, the first one the longest.
fn on_nodes(gangs: &[OnNodes]) -> Pools<&'static str> {
    let mut pools = Pools::default();
    for (since, (key, nodes)) in (1..).zip(gangs) {
        let reach = nodes.iter().copied().collect();
        pools.see(key, waits(since), terms(0, reach), NOW);
    }
    pools
}

/// Everything that has a turn now.
fn begun(pools: &mut Pools<&'static str>, now: Time) -> Vec<&'static str> {
    std::iter::from_fn(|| pools.next(now, |_| Fit::Now)).collect()
}

#[test]
fn what_a_gang_needs_follows_from_its_members() {
    let leaving = Members {
        leaving: 1,
        ..members(2, 0, 0, 0)
    };
    let resumed = Members {
        settled: 1,
        ..members(2, 1, 0, 0)
    };
    let rows = [
        (members(2, 0, 0, 0), Stage::Idle),
        (members(2, 1, 0, 0), Stage::Idle),
        (members(2, 2, 0, 0), Stage::Waits),
        (members(2, 1, 1, 0), Stage::Open),
        (members(2, 1, 0, 1), Stage::Open),
        (members(2, 0, 0, 2), Stage::Idle),
        (members(2, 1, 0, 2), Stage::Mends),
        (members(2, 0, 1, 2), Stage::Mends),
        (leaving, Stage::Leaves),
        (resumed, Stage::Waits),
    ];
    for (members, stage) in rows {
        assert_eq!(standing(1, members).stage(), stage, "{members:?}");
    }
    let lost = Standing {
        was_placed: true,
        ..waits(1)
    };
    assert_eq!(lost.stage(), Stage::Mends, "all were placed before");
    let unstored = Standing {
        was_placed: false,
        ..standing(1, members(2, 0, 0, 2))
    };
    assert_eq!(
        unstored.stage(),
        Stage::Open,
        "that they are placed is not stored yet"
    );
}

#[test]
fn one_gang_at_a_time_has_the_turn_by_priority_and_then_by_age() {
    let mut pool = pool(&[
        ("young", 0, waits(9)),
        ("old", 0, waits(5)),
        ("first", 7, waits(20)),
    ]);
    let mut order = Vec::new();
    while let Some(next) = pool.next(NOW, |_| Fit::Now) {
        assert_eq!(pool.told(&next, NOW).0, GangSeen::Open);
        assert_eq!(pool.next(NOW, |_| Fit::Now), None, "{next} has it");
        pool.see(&next, standing(1, members(2, 0, 0, 2)), in_doubt(0), NOW);
        order.push(next);
    }
    assert_eq!(order, ["first", "old", "young"]);
    assert!(pool.is_empty());
}

#[test]
fn a_gang_that_has_lost_a_gate_has_the_turn_also_for_an_operator_that_has_just_started() {
    let mut pool = pool(&[
        ("old", 0, waits(1)),
        ("open", 0, standing(9, members(2, 1, 1, 0))),
    ]);
    assert_eq!(pool.next(NOW, |_| Fit::Now), None);
    assert_eq!(pool.told(&"open", NOW), (GangSeen::Open, Some(Time(1060))));
    assert_eq!(pool.told(&"old", NOW).0, GangSeen::Held);
    assert_eq!(pool.ahead(&"old", NOW).collect::<Vec<_>>(), [&"open"]);
}

#[test]
fn a_turn_without_progress_is_over_and_the_next_one_begins_when_its_room_is_free() {
    let mut pool = pool(&[("a", 0, waits(1)), ("b", 0, waits(2))]);
    assert_eq!(pool.next(NOW, |_| Fit::Now), Some("a"));
    let half = standing(1, members(2, 0, 1, 1));
    pool.see(&"a", half, in_doubt(0), Time(1030));
    assert_eq!(pool.told(&"a", Time(1089)), (GangSeen::Open, Some(Time(1090))));
    let expired = GangSeen::Expired { epoch: 0 };
    assert_eq!(pool.told(&"a", Time(1090)), (expired, None));
    let leaving = Members {
        leaving: 1,
        ..members(2, 0, 0, 0)
    };
    let left = |members| Standing {
        epoch: 1,
        ..standing(1090, members)
    };
    pool.see(&"a", left(leaving), in_doubt(0), Time(1091));
    assert_eq!(
        pool.next(Time(1092), |_| Fit::Now),
        None,
        "its pods are still there"
    );
    pool.see(&"a", left(members(2, 2, 0, 0)), in_doubt(0), Time(1100));
    assert_eq!(
        pool.next(Time(1100), |_| Fit::Now),
        Some("b"),
        "it waits behind the others"
    );
}

#[test]
fn nothing_keeps_the_others_waiting_for_ever() {
    let leaving = Members {
        leaving: 1,
        ..members(2, 0, 0, 0)
    };
    let rows = [
        (members(2, 0, 1, 1), 1120),
        (members(2, 0, 1, 2), 1060),
        (leaving, 1060),
    ];
    for (members, free) in rows {
        let mut pool = pool(&[("stuck", 0, standing(1, members)), ("b", 0, waits(2))]);
        assert_eq!(pool.told(&"b", NOW), (GangSeen::Held, None));
        assert_eq!(pool.wake(NOW), Some(Time(free)), "{members:?}");
        assert_eq!(pool.next(Time(free - 1), |_| Fit::Now), None, "{members:?}");
        assert_eq!(pool.next(Time(free), |_| Fit::Now), Some("b"), "{members:?}");
    }
}

#[test]
fn a_gang_that_fits_later_keeps_its_room_for_a_turn_and_one_that_never_fits_keeps_none() {
    let gangs = [("large", 0, waits(990)), ("small", 0, waits(995))];
    let fit = |of_large: Fit| move |key: &&str| if *key == "large" { of_large } else { Fit::Now };
    let mut waiting = pool(&gangs);
    assert_eq!(waiting.next(NOW, fit(Fit::Later)), None);
    assert_eq!(waiting.ahead(&"small", NOW).collect::<Vec<_>>(), [&"large"]);
    assert_eq!(waiting.wake(NOW), Some(Time(1060)));
    assert_eq!(waiting.next(Time(1059), fit(Fit::Later)), None);
    assert_eq!(waiting.next(Time(1059), fit(Fit::Now)), Some("large"), "room");
    let mut waiting = pool(&gangs);
    assert_eq!(waiting.next(NOW, fit(Fit::Never)), Some("small"));
    assert_eq!(waiting.ahead(&"small", NOW).count(), 0);
}

#[test]
fn a_gang_that_would_not_fit_is_tried_after_a_turn_and_then_now_and_then() {
    for advice in [Fit::Later, Fit::Never] {
        let mut pool = pool(&[("large", 0, waits(1))]);
        assert_eq!(pool.next(NOW, |_| advice), None);
        assert_eq!(pool.next(Time(1059), |_| advice), None);
        assert_eq!(pool.next(Time(1060), |_| advice), Some("large"), "{advice:?}");
        let half = standing(1, members(2, 0, 1, 1));
        pool.see(&"large", half, in_doubt(0), Time(1061));
        let again = |now: u64, pool: &mut Pools<&'static str>| {
            let seen = Standing { epoch: 1, ..waits(1) };
            pool.see(&"large", seen, in_doubt(0), Time(now));
            pool.next(Time(now), |_| advice)
        };
        assert_eq!(again(1200, &mut pool), None, "{advice:?}");
        assert_eq!(pool.since(&"large"), Some(Time(1200)), "whatever its memory says");
        // It rests for a minute, and then keeps its nodes for two.
        let tried = if advice == Fit::Later { 1380 } else { 1800 };
        assert_eq!(pool.wake(Time(1200)), Some(Time(tried)), "{advice:?}");
        assert_eq!(again(tried - 1, &mut pool), None, "{advice:?}");
        assert_eq!(again(tried, &mut pool), Some("large"), "{advice:?}");
    }
}

#[test]
fn gangs_that_share_no_node_have_turns_at_once_and_those_that_do_never() {
    let rows: &[(&[OnNodes], &[&str])] = &[
        (&[("a", &[1, 2]), ("b", &[3])], &["a", "b"]),
        (&[("a", &[1, 2]), ("b", &[2])], &["a"]),
        (&[("a", &[1]), ("b", &[1, 2]), ("c", &[3])], &["a", "c"]),
        // What the second one waits for is not used up by the third.
        (&[("a", &[1]), ("b", &[1, 2]), ("c", &[2])], &["a"]),
        (&[("a", &[1]), ("none", &[]), ("c", &[1])], &["a", "none"]),
    ];
    for (gangs, expected) in rows {
        assert_eq!(begun(&mut on_nodes(gangs), NOW), *expected, "{gangs:?}");
    }
    let mut pools = on_nodes(&[("a", &[1]), ("b", &[2])]);
    pools.see(&"unknown", waits(9), in_doubt(9), NOW);
    assert_eq!(begun(&mut pools, NOW), ["unknown"]);
    assert_eq!(pools.ahead(&"a", NOW).collect::<Vec<_>>(), [&"unknown"]);
}

#[test]
fn a_gang_in_its_turn_keeps_the_nodes_that_it_had_and_gets_those_that_are_added() {
    let mut pools = on_nodes(&[("a", &[1]), ("b", &[1]), ("c", &[2])]);
    let of = |nodes: &[usize]| Arc::new(nodes.iter().copied().collect::<Reach>());
    assert_eq!(pools.next(NOW, |_| Fit::Now), Some("a"));
    pools.reaches(&"a", of(&[2]));
    let half = standing(1, members(2, 0, 1, 1));
    let moved = Terms {
        reach: of(&[2]),
        ..in_doubt(0)
    };
    pools.see(&"a", half, moved, NOW);
    assert_eq!(begun(&mut pools, NOW), Vec::<&str>::new());
    pools.reaches(&"b", of(&[3]));
    assert_eq!(begun(&mut pools, NOW), ["b"], "one that waits has those of now");
}

#[test]
fn a_gang_whose_nodes_are_busy_reserves_the_others_unless_it_would_never_fit() {
    let gangs: &[OnNodes] = &[("busy", &[1]), ("wide", &[1, 2]), ("small", &[2])];
    let never = |key: &&str| if *key == "wide" { Fit::Never } else { Fit::Now };
    let mut pools = on_nodes(gangs);
    assert_eq!(pools.next(NOW, never), Some("busy"));
    assert_eq!(pools.next(NOW, never), None, "no advice was asked for yet");
    let done = Standing {
        was_placed: true,
        ..standing(1, members(2, 0, 0, 2))
    };
    pools.see(&"busy", done, terms(0, [1].into_iter().collect()), NOW);
    pools.see(&"other", waits(9), terms(0, [1].into_iter().collect()), NOW);
    let begun: Vec<_> = std::iter::from_fn(|| pools.next(NOW, never)).collect();
    assert_eq!(begun, ["small", "other"]);
}

#[test]
fn one_pass_over_a_thousand_gangs_and_nodes_is_cheap() {
    let mut pools: Pools<u32> = Pools::default();
    let mut asked = 0;
    for number in 0..1000_u32 {
        // Ten pools of a hundred nodes each, and a hundred gangs in each.
        let first = usize::try_from(number % 10).unwrap() * 100;
        let terms = terms(0, (first..first + 100).collect());
        pools.see(&number, waits(u64::from(number)), terms, NOW);
    }
    let mut fit = |_: &u32| {
        asked += 1;
        Fit::Now
    };
    let begun = std::iter::from_fn(|| pools.next(NOW, &mut fit)).count();
    assert_eq!((begun, asked), (10, 10), "advice is asked for where it matters");
}

#[test]
fn members_that_are_replaced_join_at_once() {
    let mending = standing(1, members(2, 1, 0, 2));
    let pool = pool(&[("mended", 0, mending), ("b", 0, waits(2))]);
    assert_eq!(pool.told(&"mended", Time(9999)), (GangSeen::Open, None));
}

#[test]
fn standing_is_read_from_what_is_seen() {
    let mut bench = Bench::workers(3);
    bench.job.gang = Some(crate::Gang {
        scheduler: GangScheduler::Gates,
        members: 3,
        ..testing::gang()
    });
    let first = Stamp::default();
    let mut gated = waiting(worker(0), first);
    gated.placement = Placement::Gated;
    let mut stale = running(worker(1), first);
    stale.stopping = Some(Time(2));
    let mut memory = bench.memory();
    memory.role(&worker(1).role).attempts.set(1, 1);
    memory.role(&worker(2).role).done.insert(2);
    let seen = observed(&[gated, stale]);
    let found = Standing::of(&bench.job, Some(&memory), &seen, Time(7)).unwrap();
    let expected = Members {
        settled: 1,
        leaving: 1,
        ..members(3, 1, 0, 0)
    };
    assert_eq!(
        (found.members, found.since, found.was_placed),
        (expected, Time(7), false)
    );

    memory.gates.rolled_back = Some(Time(50));
    memory.gates.placed = Some(0);
    let found = Standing::of(&bench.job, Some(&memory), &seen, Time(7)).unwrap();
    assert_eq!((found.since, found.was_placed), (Time(50), true));
    memory.verdict = Some(Verdict {
        outcome: crate::Outcome::Succeeded,
        cause: crate::Cause::Deadline,
        at: Time(9),
    });
    assert_eq!(Standing::of(&bench.job, Some(&memory), &seen, Time(7)), None);
    bench.job.gang = Some(testing::gang());
    assert_eq!(Standing::of(&bench.job, None, &seen, Time(7)), None);
}

#[test]
fn a_turn_lasts_as_long_as_the_job_says_within_bounds() {
    let mut bench = Bench::workers(1);
    let mut gang = testing::gang();
    for (timeout, expected) in [
        (None, PATIENCE),
        (Some(0), 1),
        (Some(30), 30),
        (Some(u32::MAX), MOST_PATIENCE),
    ] {
        gang.timeout = timeout;
        bench.job.gang = Some(gang.clone());
        assert_eq!(patience(&bench.job), expected);
    }
}
