//! L1 to L11 on arbitrary inputs, also nonsensical ones; and T12, the size of memory.
//!
//! `PROPTEST_CASES=1000000 cargo test -p trainyard-core --features sim --lib one_step` tries more of them.

use proptest::prelude::*;

use super::nonsense;
use super::properties::{check_step, check_verdict};
use crate::sim::observer::StepCall;
use crate::step;

/// More than proptest's own number, unless the environment asks for even more.
fn config() -> ProptestConfig {
    let told = ProptestConfig::default();
    ProptestConfig {
        cases: told.cases.max(8192),
        failure_persistence: None,
        max_shrink_iters: 100_000,
        ..told
    }
}

proptest! {
    #![proptest_config(config())]

    /// L1 is that this returns at all.
    #[test]
    fn one_step_keeps_its_word_whatever_it_is_given(input in nonsense::input()) {
        let given = step(&input.job, input.memory.as_ref(), &input.observed, input.now);
        let call = StepCall {
            job: &input.job,
            memory: input.memory.as_ref(),
            observed: &input.observed,
            now: input.now,
            step: &given,
        };
        let mut violations = check_step(&call, &mut step);
        violations.extend(check_verdict(&call));
        prop_assert!(violations.is_empty(), "{}", violations[0]);
    }
}
