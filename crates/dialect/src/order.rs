//! The annotation that gives an order to a job that runs, whatever its kind: `trainyard.dev/order: <id>/<Restart|Stop>`.
//!
//! The operator obeys it. It is no part of what a manifest means, and a value that is not an order is ignored, so it is a
//! warning here: an error would keep the operator from running the job.

use trainyard_core::{Order, Ordered, Outcome};
use trainyard_document::codes::Code;
use trainyard_document::fields::Field;
use trainyard_document::problem::{closest, shown};

/// The annotation.
pub const ANNOTATION: &str = "trainyard.dev/order";
/// What its value may be.
pub const ALLOWED: &str =
    "`<id>/Restart` or `<id>/Stop`, with an id of at most 63 letters, digits, `-`, `_` and `.`";
/// Longest id, in bytes: the operator keeps it in the job's status.
const LONGEST_ID: usize = 63;

const RESTART: &str = "Restart";
const STOP: &str = "Stop";

/// The order that a value of the annotation gives; none if it is not [one](ALLOWED).
#[must_use]
pub fn parse(text: &str) -> Option<Order> {
    let (id, verb) = text.split_once('/')?;
    let what = match verb {
        // The budget is for failures.
        RESTART => Ordered::RestartJob { paid: false },
        STOP => Ordered::Finish(Outcome::Terminated),
        _ => return None,
    };
    is_id(id).then(|| Order { id: id.into(), what })
}

fn is_id(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(is_plain)
}

/// Reports a value that is not an order.
pub(crate) fn check(field: &Field<'_>) {
    let Some(text) = field.text() else { return };
    if parse(text).is_some() {
        return;
    }
    let message = format!("`{}` is not an order, and the operator ignores it", shown(text));
    let problem = field.problem(Code::FieldIgnored, message).found(text);
    field.tell(problem.allowed(ALLOWED).maybe_hint(hint(text)));
}

fn hint(text: &str) -> Option<String> {
    let verbs = [RESTART, STOP];
    let Some((id, verb)) = text.split_once('/') else {
        let verb = verbs.into_iter().find(|verb| *verb == text)?;
        return Some(format!("write an id before it, as in `monday/{verb}`"));
    };
    let verb = closest(verb, verbs).filter(|_| is_id(id))?;
    Some(format!("did you mean `{id}/{verb}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_an_id_and_a_verb() {
        let order = |what: Ordered| {
            Some(Order {
                id: "a-1.b_2".into(),
                what,
            })
        };
        let restart = Ordered::RestartJob { paid: false };
        assert_eq!(parse("a-1.b_2/Restart"), order(restart));
        assert_eq!(parse("a-1.b_2/Stop"), order(Ordered::Finish(Outcome::Terminated)));
        let longest = format!("{}/Stop", "x".repeat(LONGEST_ID));
        assert!(parse(&longest).is_some());
        assert!(ALLOWED.contains(&format!("at most {LONGEST_ID} letters")));
        let long = format!("x{longest}");
        for wrong in [
            "", "/Stop", "a", "a/stop", "a/Stop/", "a b/Stop", "a/b/Stop", &long,
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_slip_of_the_verb_and_a_missing_id_get_a_hint() {
        for (wrong, right) in [
            ("monday/Restrat", Some("did you mean `monday/Restart`?")),
            ("Stop", Some("write an id before it, as in `monday/Stop`")),
            ("a b/Restrat", None),
            ("a/Scale", None),
        ] {
            assert_eq!(hint(wrong).as_deref(), right, "{wrong}");
        }
    }
}
