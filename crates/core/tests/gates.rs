//! Every interleaving of two gangs that are placed by scheduling gates, on the shipped `step` and the shipped arbiter.
//!
//! A scheduler binds any pod without a gate to any free node, one at a time. What the operator sees of a pod lags by itself, the operator may
//! crash between any two writes and then knows only what it can see, and members may be lost. `-- --nocapture` shows how many states that
//! makes.
//!
//! - G1: one gang at a time is half placed.
//! - G2: from every state both jobs can still end: there is no deadlock.
//! - G3: while a gang waits, each other gang of its priority has the turn once at most: none starves.

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

/// What was found.
#[cfg(test)]
struct Found {
    states: usize,
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
    let found = |broken| Found {
        states: 0,
        broken: Some(broken),
    };
    while at < states.len() {
        let state = states[at].clone();
        if let Some(property) = machine.broken(&state) {
            return found((property, path(&came, at), state));
        }
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
fn holds(name: &str, machine: &Machine, at_least: usize) {
    let Found { states, broken } = explore(machine);
    if let Some((property, path, state)) = broken {
        panic!("{name}: broken: {property}\n{path:?}\nends in {state:#?}");
    }
    println!("{name}: {states} states");
    assert!(states >= at_least, "{name}: only {states} states");
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
    let table = [
        (&pair, Arbiter::LetsNoneIn, "G2"),
        (&pair, Arbiter::Everybody, "G1"),
        (&pair, Arbiter::EverybodyForEver, "G1"),
        (&crash, Arbiter::Forgetful, "G1"),
        (&large, Arbiter::Unfair, "G3"),
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
}
