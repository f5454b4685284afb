use super::*;
use crate::policy::testing::{self, Bench, observed, running, waiting, worker};
use crate::{Stamp, Verdict};

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

fn pool(gangs: &[(&'static str, i32, Standing)]) -> Pool<&'static str> {
    let mut pool = Pool::default();
    for (key, priority, seen) in gangs {
        pool.see(key, *seen, (*priority, 60), NOW);
    }
    pool
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
        pool.see(&next, standing(1, members(2, 0, 0, 2)), (0, 60), NOW);
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
    assert_eq!(pool.ahead(&"old").collect::<Vec<_>>(), [&"open"]);
}

#[test]
fn a_turn_without_progress_is_over_and_the_next_one_begins_when_its_room_is_free() {
    let mut pool = pool(&[("a", 0, waits(1)), ("b", 0, waits(2))]);
    assert_eq!(pool.next(NOW, |_| Fit::Now), Some("a"));
    let half = standing(1, members(2, 0, 1, 1));
    pool.see(&"a", half, (0, 60), Time(1030));
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
    pool.see(&"a", left(leaving), (0, 60), Time(1091));
    assert_eq!(
        pool.next(Time(1092), |_| Fit::Now),
        None,
        "its pods are still there"
    );
    pool.see(&"a", left(members(2, 2, 0, 0)), (0, 60), Time(1100));
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
        assert_eq!(
            pool.told(&"b", NOW),
            (GangSeen::Held, Some(Time(602).max(Time(free))))
        );
        assert_eq!(pool.next(Time(free - 1), |_| Fit::Now), None, "{members:?}");
        assert_eq!(pool.next(Time(free), |_| Fit::Now), Some("b"), "{members:?}");
    }
}

#[test]
fn a_gang_that_waits_for_room_is_not_overtaken_and_one_that_never_fits_is() {
    let gangs = [("large", 0, waits(990)), ("small", 0, waits(995))];
    let fit = |of_large: Fit| move |key: &&str| if *key == "large" { of_large } else { Fit::Now };
    assert_eq!(pool(&gangs).next(NOW, fit(Fit::Later)), None);
    assert_eq!(pool(&gangs).next(NOW, fit(Fit::Never)), Some("small"));
    assert_eq!(
        pool(&gangs).next(Time(1590), fit(Fit::Never)),
        Some("large"),
        "tried"
    );
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
