//! Namespaces have their turns, whatever one of them asks for.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn in_namespace(namespace: &str, name: &str) -> JobWire {
    let mut wire = another(&format!("{namespace}-{name}"));
    wire.metadata.namespace = Some(namespace.into());
    wire
}

/// A yard with so many slots that has seen memory kept, with so many new jobs of one namespace.
fn loaded(slots: usize, load: usize) -> Yard {
    let mut yard = Yard::with_slots(Reading::default(), slots);
    yard.kept = true;
    for number in 0..load {
        yard.job_seen(in_namespace("load", &number.to_string()));
    }
    yard
}

fn begun(yard: &mut Yard) -> Vec<Pass> {
    std::iter::from_fn(|| yard.next(NOW)).collect()
}

#[test]
fn one_namespace_has_all_slots_while_no_other_waits() {
    let mut yard = loaded(4, 10);
    assert_eq!(begun(&mut yard).len(), 4);
}

#[test]
fn a_job_of_another_namespace_begins_at_once_beside_passes_that_take_long() {
    let mut yard = loaded(4, 60);
    let long = begun(&mut yard);
    assert_eq!(long.len(), 4);
    for name in ["a", "b", "c"] {
        yard.job_seen(in_namespace("other", name));
    }
    let others = begun(&mut yard);
    assert_eq!(others.len(), 2, "half of the slots are its share");
    assert!(others.iter().all(|pass| &*pass.key.namespace == "other"));
    assert_eq!(begun(&mut yard).len(), 0);
    // The load has more than its share, and the other one has it: a slot that the load gives back stays free, one of the other does not.
    yard.reported(report(&long[0], 20, Vec::new()), NOW);
    assert_eq!(begun(&mut yard).len(), 0);
    yard.reported(report(&others[0], 20, Vec::new()), NOW);
    assert_eq!(&*yard.next(NOW).unwrap().key.namespace, "other");
}

#[test]
fn a_retry_of_another_namespace_is_not_held_back_by_full_slots() {
    let mut yard = loaded(2, 20);
    yard.job_seen(in_namespace("other", "a"));
    let passes = begun(&mut yard);
    let of_other = passes
        .iter()
        .find(|pass| &*pass.key.namespace == "other")
        .unwrap();
    let refused = Report {
        trouble: Some(refusal(Sort::Creating)),
        ..Report::of(of_other.key.clone(), Arc::clone(&of_other.uid))
    };
    yard.reported(refused, NOW);
    let again: Vec<Pass> = std::iter::from_fn(|| yard.next(NOW + 5)).collect();
    assert!(again.iter().any(|pass| &*pass.key.namespace == "other"));
}

proptest! {
    // Reading a job takes a millisecond.
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever waits and is under way in one namespace, a job of another one is dealt next but one: nothing has to end first.
    #[test]
    fn a_job_of_another_namespace_is_dealt_within_a_bound(
        slots in 1usize..40,
        load in 0usize..60,
        ends in vec(any::<bool>(), 0..60),
    ) {
        let mut yard = loaded(slots, load);
        for (pass, ends) in begun(&mut yard).iter().zip(ends) {
            if ends {
                yard.reported(report(pass, 20, Vec::new()), NOW);
            }
        }
        begun(&mut yard);
        yard.job_seen(in_namespace("other", "a"));
        let dealt: Vec<_> = (0..2).filter_map(|_| yard.next(NOW)).map(|pass| pass.key.namespace).collect();
        prop_assert!(dealt.iter().any(|namespace| **namespace == *"other"), "{dealt:?}");
    }

    /// There are never more passes than twice the slots, and none is lost.
    #[test]
    fn slots_are_bounded_and_none_is_lost(slots in 1usize..20, namespaces in vec(0u8..60, 0..80)) {
        let mut yard = loaded(slots, 0);
        for (number, namespace) in namespaces.iter().enumerate() {
            yard.job_seen(in_namespace(&format!("ns-{namespace}"), &number.to_string()));
        }
        let mut left = namespaces.len();
        loop {
            let passes = begun(&mut yard);
            prop_assert!(passes.len() <= 2 * slots);
            prop_assert!(left == 0 || !passes.is_empty(), "{left} wait for ever");
            if passes.is_empty() {
                break;
            }
            for pass in passes {
                left = left.saturating_sub(1);
                yard.job_gone(&in_namespace(&pass.key.namespace, "x"));
                yard.plots.get_mut(&pass.key).unwrap().forget_job();
                yard.reported(Report::of(pass.key.clone(), Arc::clone(&pass.uid)), NOW);
            }
        }
        prop_assert!(yard.plots.is_empty());
    }
}
