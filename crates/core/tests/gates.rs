//! Every interleaving of two gangs that are placed by scheduling gates, on the shipped `step` and the shipped arbiter.
//!
//! A scheduler binds any pod without a gate to any free node, one at a time. What the operator sees of a pod lags by itself, the operator may
//! crash between any two writes and then knows only what it can see, and members may be lost. `-- --nocapture` shows how many states that
//! makes.
//!
//! - G1: of gangs that compete one at a time is half placed.
//! - G2: from every state both jobs can still end: there is no deadlock.
//! - G3: while a gang waits, each other gang that competes with it has the turn once at most: none starves.
//! - G4: gangs that share no node can be placed at the same time.

#![expect(
    clippy::disallowed_types,
    reason = "states are only found again in it: nothing depends on its order"
)]

#[cfg(test)]
mod gates {
    pub mod machine;
    pub mod world;
}

use std::collections::HashMap;

use gates::machine::{Arbiter, Machine, Next};
use gates::world::State;
use trainyard_core::gates::Fit;

/// What was found.
#[cfg(test)]
struct Found {
    states: usize,
    /// Both gangs were half placed at the same time.
    at_once: bool,
    /// The first state that breaks a property, and how it came to that.
    broken: Option<(&'static str, Vec<Next>, State)>,
}

/// Looks at every state that can be reached.
#[cfg(test)]
fn explore(machine: &Machine) -> Found {
    let first = machine.first();
    let mut known: HashMap<State, usize> = HashMap::from([(first.clone(), 0)]);
    let mut states = vec![first];
    let mut came: Vec<Option<(usize, Next)>> = vec![None];
    let mut before: Vec<Vec<usize>> = vec![Vec::new()];
    let mut at = 0;
    let mut at_once = false;
    let found = |broken| Found {
        states: 0,
        at_once: false,
        broken: Some(broken),
    };
    while at < states.len() {
        let state = states[at].clone();
        if let Some(property) = machine.broken(&state) {
            return found((property, path(&came, at), state));
        }
        at_once |= machine.halves(&state) > 1;
        for next in machine.choices(&state) {
            let Some(after) = machine.after(&state, next) else {
                continue;
            };
            let number = *known.entry(after.clone()).or_insert_with(|| {
                states.push(after);
                came.push(Some((at, next)));
                before.push(Vec::new());
                states.len() - 1
            });
            before[number].push(at);
        }
        at += 1;
    }
    // Whence both jobs can end.
    let mut open: Vec<usize> = (0..states.len()).filter(|at| states[*at].is_over()).collect();
    let mut ends: Vec<bool> = states.iter().map(State::is_over).collect();
    while let Some(at) = open.pop() {
        for &earlier in &before[at] {
            if !std::mem::replace(&mut ends[earlier], true) {
                open.push(earlier);
            }
        }
    }
    if let Some(stuck) = ends.iter().position(|ends| !ends) {
        let name = "G2 both jobs can still end";
        return found((name, path(&came, stuck), states[stuck].clone()));
    }
    Found {
        states: states.len(),
        at_once,
        broken: None,
    }
}

/// How a state was reached.
#[cfg(test)]
fn path(came: &[Option<(usize, Next)>], mut at: usize) -> Vec<Next> {
    let mut path = Vec::new();
    while let Some((from, next)) = came[at] {
        path.push(next);
        at = from;
    }
    path.reverse();
    path
}

/// Nothing is broken, in at least so many states: a model that has become much smaller than it was checks less than it seems to.
#[cfg(test)]
#[track_caller]
fn holds(name: &str, machine: &Machine, at_least: usize) -> bool {
    let Found {
        states,
        at_once,
        broken,
    } = explore(machine);
    if let Some((property, path, state)) = broken {
        panic!("{name}: broken: {property}\n{path:?}\nends in {state:#?}");
    }
    println!("{name}: {states} states");
    assert!(states >= at_least, "{name}: only {states} states");
    at_once
}

/// Two gangs of two: the first on the first nodes, the second on these.
#[cfg(test)]
fn two_pools(second: &'static [u8]) -> Machine {
    Machine {
        rooms: [2, 2],
        reach: [&[0], second],
        ..Machine::of([2, 2], 2)
    }
}

#[test]
fn two_gangs_on_nodes_for_one_with_a_crash() {
    let machine = Machine {
        crashes: 1,
        ..Machine::of([2, 2], 2)
    };
    holds("two gangs of two on two nodes; one crash", &machine, 1_000);
}

#[test]
fn a_member_is_lost() {
    let machine = Machine {
        losses: 1,
        ..Machine::of([2, 2], 2)
    };
    holds("two gangs of two on two nodes; one loss", &machine, 100);
    let machine = Machine {
        losses: 1,
        ..Machine::of([2, 2], 3)
    };
    holds("two gangs of two on three nodes; one loss", &machine, 100);
}

#[test]
fn a_gang_that_is_too_large_keeps_no_other_from_its_turn() {
    let machine = Machine {
        // It never ends.
        needed: [false, true],
        ..Machine::of([3, 2], 2)
    };
    holds(
        "a gang of three and one of two on two nodes; one crash",
        &machine,
        1_000,
    );
}

#[test]
fn an_operator_that_is_slower_than_its_clocks() {
    let machine = Machine {
        hasty: true,
        ..Machine::of([2, 2], 2)
    };
    holds("two gangs of two on two nodes; any delay", &machine, 100);
}

#[test]
fn what_is_seen_of_pods_lags() {
    let machine = Machine {
        lag: true,
        ..Machine::of([2, 2], 2)
    };
    holds("two gangs of two on two nodes; lag", &machine, 1_000);
}

#[test]
fn gangs_that_share_no_node_are_placed_at_once_and_those_that_do_are_not() {
    let at_once = holds("two gangs on nodes of their own", &two_pools(&[1]), 1_000);
    assert!(at_once, "G4");
    let at_once = holds("two gangs that share some nodes", &two_pools(&[0, 1]), 1_000);
    assert!(!at_once);
}

#[test]
fn labels_change_while_gangs_have_turns() {
    for (name, rooms, reach, then) in [
        (
            "pools that grow together",
            [2, 1],
            [&[0][..], &[1]],
            [&[0][..], &[0, 1]],
        ),
        ("pools that come apart", [2, 2], [&[0], &[0, 1]], [&[0], &[1]]),
    ] {
        let machine = Machine {
            rooms,
            reach,
            then,
            changes: 1,
            ..Machine::of([2, 2], 2)
        };
        holds(name, &machine, 100);
    }
}

#[test]
fn advice_that_is_wrong_delays_turns_and_takes_none_away() {
    for advice in [Fit::Later, Fit::Never] {
        let machine = Machine {
            advice: Some(advice),
            ..Machine::of([2, 2], 2)
        };
        holds(
            &format!("two gangs of two that would fit {advice:?}"),
            &machine,
            100,
        );
    }
}

#[test]
fn each_safeguard_that_is_taken_away_is_noticed() {
    let pair = Machine::of([2, 2], 2);
    let crash = Machine {
        crashes: 1,
        ..pair.clone()
    };
    let large = Machine {
        needed: [false, true],
        ..Machine::of([3, 2], 2)
    };
    let overlapping = two_pools(&[0, 1]);
    let table = [
        (&pair, Arbiter::LetsNoneIn, "G2"),
        (&pair, Arbiter::Everybody, "G1"),
        (&pair, Arbiter::EverybodyForEver, "G1"),
        (&crash, Arbiter::Forgetful, "G1"),
        (&large, Arbiter::Unfair, "G3"),
        (&overlapping, Arbiter::BlindToNodes, "G1"),
    ];
    for (machine, arbiter, property) in table {
        let machine = Machine {
            arbiter,
            ..machine.clone()
        };
        let broken = explore(&machine).broken;
        let name = broken.map(|(name, ..)| name);
        assert!(
            name.is_some_and(|name| name.starts_with(property)),
            "{arbiter:?}: {name:?}"
        );
    }
    let one_pool = Machine {
        arbiter: Arbiter::OnePool,
        ..two_pools(&[1])
    };
    assert!(!explore(&one_pool).at_once, "G4");
}
