//! Namespaces have their turns, whatever one of them asks for.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn in_namespace(namespace: &str, name: &str) -> JobWire {
    let mut wire = another(&format!("{namespace}-{name}"));
    wire.metadata.namespace = Some(namespace.into());
    wire
}

/// A store with so many slots that has seen memory kept, with so many new jobs of one namespace.
fn loaded(slots: usize, load: usize) -> Store {
    let mut store = Store::with_slots(Reading::default(), slots);
    store.storage.insert(&TFJOB, Storage::Keeps);
    for number in 0..load {
        store.job_seen(&TFJOB, in_namespace("load", &number.to_string()));
    }
    store
}

fn begun(store: &mut Store) -> Vec<Writes> {
    std::iter::from_fn(|| store.next(NOW)).collect()
}

#[test]
fn one_namespace_has_all_slots_while_no_other_waits() {
    let mut store = loaded(4, 10);
    assert_eq!(begun(&mut store).len(), 4);
}

#[test]
fn a_job_of_another_namespace_begins_at_once_beside_passes_that_take_long() {
    let mut store = loaded(4, 60);
    let long = begun(&mut store);
    assert_eq!(long.len(), 4);
    for name in ["a", "b", "c"] {
        store.job_seen(&TFJOB, in_namespace("other", name));
    }
    let others = begun(&mut store);
    assert_eq!(others.len(), 2, "half of the slots are its share");
    assert!(others.iter().all(|writes| &*writes.key.namespace == "other"));
    assert_eq!(begun(&mut store).len(), 0);
    // The load has more than its share, and the other one has it: a slot that the load gives back stays free, one of the other does not.
    store.applied(report(&long[0], 20, Vec::new()), NOW);
    assert_eq!(begun(&mut store).len(), 0);
    store.applied(report(&others[0], 20, Vec::new()), NOW);
    assert_eq!(&*store.next(NOW).unwrap().key.namespace, "other");
}

#[test]
fn a_retry_of_another_namespace_is_not_held_back_by_full_slots() {
    let mut store = loaded(2, 20);
    store.job_seen(&TFJOB, in_namespace("other", "a"));
    let passes = begun(&mut store);
    let of_other = passes
        .iter()
        .find(|writes| &*writes.key.namespace == "other")
        .unwrap();
    let refused = Report {
        error: Some(refusal(ApplyErrorKind::Creating(Created::Pod))),
        ..Report::of(of_other.key.clone(), Arc::clone(&of_other.uid))
    };
    store.applied(refused, NOW);
    let again: Vec<Writes> = std::iter::from_fn(|| store.next(NOW + 5)).collect();
    assert!(again.iter().any(|writes| &*writes.key.namespace == "other"));
}

proptest! {
    // Reading a job takes a millisecond.
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever waits and is in flight in one namespace, a job of another one is dealt next but one: nothing has to end first.
    #[test]
    fn a_job_of_another_namespace_is_dealt_within_a_bound(
        slots in 1usize..40,
        load in 0usize..60,
        ends in vec(any::<bool>(), 0..60),
    ) {
        let mut store = loaded(slots, load);
        for (writes, ends) in begun(&mut store).iter().zip(ends) {
            if ends {
                store.applied(report(writes, 20, Vec::new()), NOW);
            }
        }
        begun(&mut store);
        store.job_seen(&TFJOB, in_namespace("other", "a"));
        let dealt: Vec<_> = (0..2).filter_map(|_| store.next(NOW)).map(|writes| writes.key.namespace).collect();
        prop_assert!(dealt.iter().any(|namespace| **namespace == *"other"), "{dealt:?}");
    }

    /// There are never more applies than twice the slots, and none is lost.
    #[test]
    fn slots_are_bounded_and_none_is_lost(slots in 1usize..20, namespaces in vec(0u8..60, 0..80)) {
        let mut store = loaded(slots, 0);
        for (number, namespace) in namespaces.iter().enumerate() {
            store.job_seen(&TFJOB, in_namespace(&format!("ns-{namespace}"), &number.to_string()));
        }
        let mut left = namespaces.len();
        loop {
            let passes = begun(&mut store);
            prop_assert!(passes.len() <= 2 * slots);
            prop_assert!(left == 0 || !passes.is_empty(), "{left} wait for ever");
            if passes.is_empty() {
                break;
            }
            for writes in passes {
                left = left.saturating_sub(1);
                store.job_gone(&TFJOB, &in_namespace(&writes.key.namespace, "x"));
                store.entries.get_mut(&writes.key).unwrap().forget_job();
                store.applied(Report::of(writes.key.clone(), Arc::clone(&writes.uid)), NOW);
            }
        }
        prop_assert!(store.entries.is_empty());
    }
}
