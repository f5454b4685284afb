//! Who comes after whom, where several take turns on one machine.
//!
//! A turn begins with what the turn before has left: garbage in the API server's memory, for one. With the same order in every
//! round it is always the same one who leaves it to the same one, and what that costs is taken for a difference between them.
//! So every round has another order, and after as many rounds as there are participants, or twice as many if their number is odd, everybody
//! has come after everybody else equally often (a Williams square).

/// The order of one round, by number.
#[must_use]
pub fn of_round(round: usize, participants: usize) -> Vec<usize> {
    // From both ends towards the middle: 0, 1, n - 1, 2, n - 2 … Each step is of another width, so no neighbours are met twice.
    let first = (0..participants).map(|at| {
        let width = at.div_ceil(2);
        if at % 2 == 1 {
            width
        } else {
            (participants - width) % participants
        }
    });
    let mut order: Vec<usize> = first.map(|who| (who + round) % participants).collect();
    if participants % 2 == 1 && round / participants % 2 == 1 {
        order.reverse();
    }
    order
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn everybody_comes_equally_often_after_everybody_else() {
        for (participants, rounds) in [(2, 2), (3, 6), (4, 4), (4, 8)] {
            let mut pairs = BTreeMap::new();
            for round in 0..rounds {
                let order = of_round(round, participants);
                let mut all = order.clone();
                all.sort_unstable();
                assert_eq!(all, (0..participants).collect::<Vec<_>>());
                for pair in order.windows(2) {
                    *pairs.entry((pair[0], pair[1])).or_insert(0) += 1;
                }
            }
            assert_eq!(pairs.len(), participants * (participants - 1), "{pairs:?}");
            let counts: Vec<i32> = pairs.values().copied().collect();
            assert!(counts.windows(2).all(|two| two[0] == two[1]), "{pairs:?}");
        }
    }
}
