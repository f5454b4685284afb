//! Gangs that would fit when others have ended: how long they keep their nodes free, also where small ones come for ever.

use super::*;

#[test]
fn a_gang_reserves_for_twice_as_long_after_each_turn_that_failed_up_to_an_hour() {
    let later = PutOff {
        since: NOW,
        fit: Fit::Later,
    };
    let mut failed = Failed::default();
    for expected in [60, 120, 240, 480, 960, 1920, 3600, 3600] {
        assert_eq!(later.tried(failed, 60), NOW + expected, "{failed:?}");
        failed = failed.again(Time(1));
    }
    for _ in 0..100 {
        failed = failed.again(Time(1));
    }
    for patience in [1, 60, MOST_PATIENCE] {
        assert_eq!(later.tried(failed, patience), NOW + MOST_RESERVED, "{patience}");
    }
}

#[test]
fn failed_turns_are_forgotten_when_a_gang_is_placed_or_lost() {
    let after_a_failed_turn = || {
        let mut pool = pool(&[("a", 0, waits(1))]);
        assert_eq!(pool.next(NOW, |_| Fit::Now), Some("a"));
        pool.see(&"a", Standing { epoch: 1, ..waits(1) }, in_doubt(0), Time(1100));
        assert_eq!(
            pool.failed[&"a"],
            Failed {
                at: Time(1100),
                turns: 1
            }
        );
        pool
    };
    let mut pool = after_a_failed_turn();
    assert_eq!(pool.next(Time(1101), |_| Fit::Now), Some("a"));
    let placed = Standing {
        epoch: 1,
        ..standing(1, members(2, 0, 0, 2))
    };
    pool.see(&"a", placed, in_doubt(0), Time(1102));
    assert_eq!(
        pool.failed[&"a"],
        Failed {
            at: Time(1100),
            turns: 0
        }
    );
    let mut pool = after_a_failed_turn();
    pool.lose(&"a");
    assert!(pool.failed.is_empty());
}

#[test]
fn gangs_of_a_lower_priority_go_between_two_turns_of_one_that_would_fit_later() {
    let mut pool = pool(&[("first", 7, waits(1)), ("small", 0, waits(2))]);
    let fit = |key: &&str| if *key == "first" { Fit::Later } else { Fit::Now };
    assert_eq!(pool.next(NOW, fit), None);
    assert_eq!(pool.next(Time(1060), fit), Some("first"));
    pool.see(
        &"first",
        Standing { epoch: 1, ..waits(1) },
        in_doubt(7),
        Time(1120),
    );
    assert_eq!(pool.next(Time(1120), fit), Some("small"));
    pool.see(
        &"small",
        standing(2, members(2, 0, 0, 2)),
        in_doubt(0),
        Time(1121),
    );
    pool.see(&"next", waits(3), in_doubt(0), Time(1180));
    assert_eq!(pool.next(Time(1180), fit), None, "it reserves again");
}

/// Two nodes, a gang of two, and gangs of one that come for ever and run for five minutes each.
#[derive(Default)]
struct Rush {
    pools: Pools<u32>,
    /// Epoch, and how many members have nodes.
    gangs: BTreeMap<u32, (u32, u32)>,
    /// When those that are placed end.
    ends: BTreeMap<u32, Time>,
    /// How many turns of the large one failed.
    failed: u32,
}

const LARGE: u32 = 10;

impl Rush {
    const fn size(key: u32) -> u32 {
        if key == LARGE { 2 } else { 1 }
    }

    fn free(&self) -> u32 {
        2 - self.gangs.values().map(|(_, placed)| placed).sum::<u32>()
    }

    fn comes(&mut self, key: u32, now: Time) {
        self.gangs.insert(key, (0, 0));
        self.shows(key, now, now);
    }

    fn shows(&mut self, key: u32, since: Time, now: Time) {
        let (epoch, placed) = self.gangs[&key];
        let size = Self::size(key);
        let is_open = !self.pools.waits(&key) && self.pools.since(&key).is_some();
        let unplaced = if is_open { size - placed } else { 0 };
        let seen = Standing {
            epoch,
            ..standing(since.0, members(size, size - placed - unplaced, unplaced, placed))
        };
        self.pools.see(&key, seen, in_doubt(0), now);
    }

    /// The scheduler places what it can of a gang in its turn.
    fn binds(&mut self, key: u32, now: Time) {
        let (size, free) = (Self::size(key), self.free());
        let gang = self.gangs.get_mut(&key).unwrap();
        gang.1 += free.min(size - gang.1);
        if gang.1 == size {
            self.ends.insert(key, now + 300);
        }
        self.shows(key, now, now);
        if matches!(self.pools.told(&key, now).0, GangSeen::Expired { .. }) {
            let gang = self.gangs.get_mut(&key).unwrap();
            *gang = (gang.0 + 1, 0);
            self.failed += u32::from(key == LARGE);
            let seen = Standing {
                epoch: gang.0,
                ..standing(now.0, members(size, size, 0, 0))
            };
            self.pools.see(&key, seen, in_doubt(0), now);
        }
    }

    fn second(&mut self, now: Time) {
        let over = self.ends.iter().filter(|(_, end)| **end <= now);
        for key in over.map(|(key, _)| *key).collect::<Vec<_>>() {
            self.ends.remove(&key);
            self.gangs.remove(&key);
            self.pools.lose(&key);
        }
        let free = self.free();
        let fit = |key: &u32| {
            if Self::size(*key) <= free {
                Fit::Now
            } else {
                Fit::Later
            }
        };
        self.pools.next(now, fit);
        let busy: Vec<u32> = self.pools.busy.iter().copied().collect();
        for key in busy {
            self.binds(key, now);
        }
    }
}

#[test]
fn small_gangs_that_come_for_ever_do_not_starve_one_that_fits_the_empty_nodes() {
    // How far the ends of the first two are apart.
    for apart in [100, 150, 200] {
        let mut rush = Rush::default();
        let mut small = LARGE;
        for second in 0..6 * 3600_u64 {
            let now = NOW + u32::try_from(second).unwrap();
            // One for each node in the time that it takes, and some more.
            if second == 0 || second == apart || second > 200 && second % 140 == 0 {
                small += 1;
                rush.comes(small, now);
            }
            if second == 200 {
                rush.comes(LARGE, now);
            }
            rush.second(now);
            if rush.ends.contains_key(&LARGE) {
                break;
            }
        }
        assert!(
            rush.ends.contains_key(&LARGE),
            "{apart}: {} turns failed",
            rush.failed
        );
        assert!(rush.failed <= 4, "{apart}: {} turns failed", rush.failed);
    }
}
