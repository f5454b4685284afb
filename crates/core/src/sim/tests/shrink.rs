//! Makes a script that fails smaller, so that it can be read.

use crate::sim::Script;

/// Drops faults one by one while `fails` still says so of what is left.
#[must_use]
pub fn shrink(script: &Script, mut fails: impl FnMut(&Script) -> bool) -> Script {
    let mut small = script.clone();
    loop {
        let before = small.faults.len();
        for at in (0..small.faults.len()).rev() {
            let mut smaller = small.clone();
            smaller.faults.remove(at);
            if fails(&smaller) {
                small = smaller;
            }
        }
        if small.faults.len() == before {
            return small;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Fault;

    #[test]
    fn what_is_left_is_what_it_takes() {
        let faults = (0..20).map(|at| Fault::Suspend { at });
        let script = Script::of(faults);
        let needs = |script: &Script| {
            [3, 7]
                .iter()
                .all(|&at| script.faults.contains(&Fault::Suspend { at }))
        };
        let small = shrink(&script, needs);
        assert_eq!(small.faults, [Fault::Suspend { at: 3 }, Fault::Suspend { at: 7 }]);
    }
}
