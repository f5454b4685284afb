//! Every interleaving of small jobs, on the shipped `step`.
//!
//! The world of the model keeps the contract of the worlds, W1 to W7 of docs/architecture.md, and nothing more: what
//! the operator sees of each task lags by itself, it may crash between any two writes, memory is stored at once or as late
//! as `step` allows, and tasks start, end, are drained, lost and collected at any moment. `-- --nocapture` shows how many
//! states that makes.

#[cfg(test)]
mod model {
    pub mod environment;
    pub mod jobs;
    pub mod machine;
    pub mod mutants;
    pub mod operator;
    pub mod properties;
    pub mod world;
}

use std::collections::BTreeSet;
use std::thread::available_parallelism;

use model::machine::Machine;
use model::operator::Decide;
use model::{jobs, mutants};
use stateright::{Checker, Expectation, HasDiscoveries, Model};

/// Explores everything. A model that has become much smaller than it was checks less than it seems to.
#[cfg(test)]
fn explore(name: &str, machine: Machine, at_least: usize) {
    let threads = available_parallelism().map_or(1, usize::from);
    let checker = machine
        .checker()
        .threads(threads)
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    let states = checker.unique_state_count();
    println!(
        "{name}: {states} states, {} transitions, up to {} deep",
        checker.state_count(),
        checker.max_depth()
    );
    let found = checker.discoveries();
    for property in checker.model().properties() {
        let path = found.get(property.name);
        if property.expectation == Expectation::Sometimes {
            assert!(path.is_some(), "{name}: never reached: {}", property.name);
        } else if let Some(path) = path {
            let actions = path.clone().into_actions();
            let last = path.last_state();
            panic!("{name}: broken: {}\n{actions:?}\nends in {last:?}", property.name);
        }
    }
    assert!(states >= at_least, "{name}: only {states} states");
}

#[test]
fn a_chief_a_worker_and_a_parameter_server_with_disruptions() {
    let machine = Machine {
        mischief: 1,
        ..jobs::chief_worker_ps()
    };
    explore("chief, worker, ps; one disruption", machine, 400_000);
}

#[test]
fn a_chief_a_worker_and_a_parameter_server_suspended_and_resumed() {
    let mut machine = jobs::chief_worker_ps();
    machine.toggles = 2;
    // The parameter server serves until it is stopped: otherwise there are three times as many states.
    machine.exits[1] = &[];
    explore("chief, worker, ps; suspended once", machine, 500_000);
}

#[test]
fn two_workers_that_restart_together() {
    let machine = Machine {
        mischief: 1,
        toggles: 2,
        ..jobs::two_workers()
    };
    explore("two workers; one disruption, suspended once", machine, 400_000);
}

#[test]
fn two_workers_that_settle_and_wait_before_they_restart_together() {
    let machine = Machine {
        mischief: 1,
        ..jobs::with_waits(jobs::two_workers(), 2)
    };
    explore("two workers with waits; one disruption", machine, 200_000);
}

#[test]
fn a_volcano_job_that_restarts_when_a_pod_is_evicted() {
    let machine = Machine {
        mischief: 2,
        toggles: 2,
        ..jobs::volcano(1)
    };
    explore(
        "Volcano, ps and worker; two disruptions, suspended once",
        machine,
        400_000,
    );
}

#[test]
fn a_volcano_job_of_two_workers() {
    let machine = Machine {
        mischief: 1,
        ..jobs::volcano(2)
    };
    explore("Volcano, ps and two workers; one disruption", machine, 100_000);
}

#[test]
fn a_write_of_a_deposed_leader_that_arrives_late() {
    let machine = Machine {
        depositions: 1,
        ..jobs::chief_worker()
    };
    explore("chief, worker; a late write of an old leader", machine, 40_000);
    let machine = Machine {
        depositions: 1,
        ..jobs::two_workers()
    };
    explore("two workers; a late write of an old leader", machine, 400_000);
}

#[test]
fn refusals_dropped_memory_and_a_group_of_others() {
    let machine = Machine {
        mischief: 1,
        refusals: 1,
        flips: 2,
        ..jobs::in_a_gang(jobs::chief_worker())
    };
    explore(
        "chief, worker in a gang; refused once, two flips",
        machine,
        100_000,
    );
}

#[test]
fn memory_that_is_stored_as_late_as_it_may_be() {
    let mut machine = jobs::chief_worker();
    machine.ticks = 2;
    machine.mischief = 1;
    explore("chief, worker; two seconds, one disruption", machine, 100_000);
}

#[test]
#[ignore = "takes minutes and some gigabytes; for changes of step"]
fn more_of_everything() {
    let machine = Machine {
        toggles: 2,
        ..jobs::chief_worker_ps()
    };
    explore("chief, worker, ps that dies; suspended once", machine, 2_000_000);
    let machine = Machine {
        mischief: 2,
        ..jobs::volcano(2)
    };
    explore("Volcano, ps and two workers; two disruptions", machine, 1_000_000);
    let machine = Machine {
        mischief: 1,
        depositions: 1,
        ..jobs::chief_worker()
    };
    explore("chief, worker; a late write, one disruption", machine, 900_000);
    let machine = Machine {
        mischief: 2,
        toggles: 2,
        ..jobs::two_workers()
    };
    explore("two workers; two disruptions, suspended once", machine, 1_000_000);
}

/// The property must be among those that the mutant breaks.
#[cfg(test)]
fn is_caught(machine: &Machine, mutant: Decide, property: &'static str) {
    let machine = Machine {
        decide: mutant,
        ..machine.clone()
    };
    let enough = HasDiscoveries::AnyOf(BTreeSet::from([property]));
    let checker = machine
        .checker()
        .finish_when(enough)
        .target_state_count(1_000_000)
        .spawn_bfs()
        .join();
    let found = checker.discovery(property);
    let path = found.unwrap_or_else(|| panic!("not caught: {property}"));
    println!("{property}: {:?}", path.into_actions());
}

#[test]
fn each_safeguard_taken_out_of_step_is_caught() {
    let alone = Machine {
        mischief: 1,
        ..jobs::chief_worker()
    };
    let together = Machine {
        mischief: 1,
        ..jobs::two_workers()
    };
    let volcano = Machine {
        toggles: 2,
        ..jobs::volcano(1)
    };
    let two_leaders = Machine {
        depositions: 1,
        ..jobs::chief_worker()
    };
    let table: [(&Machine, Decide, &'static str); 13] = [
        (&alone, mutants::without_stamps, "T3 each life is answered once"),
        (&alone, mutants::without_stamps, "T6 a verdict is true"),
        (&alone, mutants::believing_every_exit, "T6 a verdict is true"),
        (
            &alone,
            mutants::ahead_of_memory,
            "I1 no stamp in the world is newer than memory",
        ),
        (&alone, mutants::over_the_dead, "T1 one instance a task"),
        (
            &alone,
            mutants::without_addresses,
            "addresses are there while something lives",
        ),
        (&together, mutants::without_barrier, "T2 one epoch at a time"),
        (
            &together,
            mutants::without_tombstones,
            "T5w nor what has succeeded, unless it went in an outage",
        ),
        (
            &together,
            mutants::forgetting_success,
            "T5 what is done is not run again",
        ),
        (&together, mutants::without_a_last_word, "L4 a verdict stands"),
        (
            &together,
            mutants::without_stops,
            "T7 once faults stop, the world becomes as wanted",
        ),
        (
            &two_leaders,
            mutants::leaving_the_late,
            "T7 once faults stop, the world becomes as wanted",
        ),
        (
            &volcano,
            mutants::suspending_in_the_same_epoch,
            "T4 each charge is for something",
        ),
    ];
    for (machine, mutant, property) in table {
        is_caught(machine, mutant, property);
    }
}

#[test]
fn each_safeguard_taken_out_of_storing_is_caught() {
    let alone = Machine {
        mischief: 1,
        ..jobs::chief_worker()
    };
    let together = Machine {
        mischief: 1,
        ..jobs::two_workers()
    };
    let volcano = Machine {
        toggles: 2,
        ..jobs::volcano(1)
    };
    let gang = Machine {
        mischief: 1,
        refusals: 1,
        flips: 1,
        ..jobs::in_a_gang(jobs::chief_worker())
    };
    let table: [(&Machine, Decide, &'static str); 11] = [
        (
            &together,
            mutants::late_payment,
            "L10 what is stored late can be seen again",
        ),
        (
            &alone,
            mutants::late_attempts,
            "L10 what is stored late can be seen again",
        ),
        (
            &alone,
            mutants::late_attempts,
            "I1 no stamp in the world is newer than memory",
        ),
        (
            &together,
            mutants::late_verdict,
            "L10 what is stored late can be seen again",
        ),
        (
            &together,
            mutants::late_verdict,
            "T5w nor what has succeeded, unless it went in an outage",
        ),
        (&volcano, mutants::late_hold, "T4 each charge is for something"),
        (
            &together,
            mutants::late_tombstone,
            "L10 what is stored late can be seen again",
        ),
        (
            &gang,
            mutants::trusting,
            "L10 what is stored late can be seen again",
        ),
        (
            &gang,
            mutants::reckless,
            "L11 a refusal and dropped memory hinder",
        ),
        (
            &gang,
            mutants::without_back_off,
            "L11 a refusal and dropped memory hinder",
        ),
        (
            &gang,
            mutants::taking_groups,
            "T10 a group of others is left alone",
        ),
    ];
    for (machine, mutant, property) in table {
        is_caught(machine, mutant, property);
    }
}
