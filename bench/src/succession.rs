//! The order in which candidates take turns on one machine.
//!
//! A turn begins with what the turn before has left: garbage in the API server's memory, for one. With the same order in every
//! round it is always the same one who leaves it to the same one, and what that costs is taken for a difference between them.
//! Here everybody comes after everybody else equally often, from the last of one round to the first of the next as well.

/// The orders of one fewer rounds than there are participants: played one after the other, and from the beginning again,
/// everybody comes once after everybody else. Found for two to five; the same order again and again for one.
#[must_use]
pub fn rounds(participants: usize) -> Vec<Vec<usize>> {
    let turns = participants * participants.saturating_sub(1);
    let mut found = Vec::with_capacity(turns);
    if turns == 0 || !extend(&mut found, participants, turns) {
        return vec![(0..participants).collect()];
    }
    found.chunks(participants).map(<[usize]>::to_vec).collect()
}

/// Tries each candidate that may be next, with backtracking.
fn extend(found: &mut Vec<usize>, participants: usize, turns: usize) -> bool {
    if found.len() == turns {
        return found.first().is_some_and(|first| may_follow(found, *first));
    }
    let round = found.len() / participants * participants;
    for next in 0..participants {
        if found[round..].contains(&next) || !may_follow(found, next) {
            continue;
        }
        found.push(next);
        if extend(found, participants, turns) {
            return true;
        }
        found.pop();
    }
    false
}

/// Whether a candidate may be next: not after itself, and not after one that it has followed before.
fn may_follow(found: &[usize], next: usize) -> bool {
    found.last().is_none_or(|last| {
        let met = found.windows(2).any(|pair| pair == [*last, next]);
        *last != next && !met
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn everybody_comes_once_after_everybody_else() {
        for participants in 2..=5 {
            let rounds = rounds(participants);
            assert_eq!(rounds.len(), participants - 1);
            for round in &rounds {
                let mut all = round.clone();
                all.sort_unstable();
                assert_eq!(all, (0..participants).collect::<Vec<_>>(), "{rounds:?}");
            }
            let turns = rounds.concat();
            let mut met = BTreeMap::new();
            for (before, after) in turns.iter().zip(turns.iter().cycle().skip(1)) {
                *met.entry((before, after)).or_insert(0) += 1;
            }
            assert_eq!(met.len(), participants * (participants - 1), "{rounds:?}");
            assert!(
                met.iter()
                    .all(|((before, after), times)| before != after && *times == 1)
            );
        }
        assert_eq!(rounds(1), [[0]]);
    }
}
