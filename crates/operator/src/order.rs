//! Orders for a job of any kind, by an annotation on it: `trainyard.dev/order: <id>/<Restart|Stop>`.
//!
//! The annotation is the user's and stays. Memory holds the ids of the last orders that were obeyed, so each is obeyed once, also if its
//! annotation is removed or replaced and then put back; another id is another order.

use std::collections::BTreeMap;
use std::sync::Arc;

use trainyard_core::{Order, Ordered, Outcome};

/// The annotation.
pub const ANNOTATION: &str = "trainyard.dev/order";
/// Longest id, in bytes: memory holds it.
const LONGEST_ID: usize = 63;

/// The order that the annotations of a job give; an error says why theirs is none.
#[must_use]
pub fn read(annotations: Option<&BTreeMap<String, String>>) -> Option<Result<Order, Arc<str>>> {
    let text = annotations?.get(ANNOTATION)?;
    let order = parse(text).ok_or_else(|| {
        let shown: String = text.chars().take(LONGEST_ID).collect();
        format!(
            "the annotation {ANNOTATION} is `{shown}`, which is no order: it must be `<id>/Restart` or `<id>/Stop`, with an id of at \
             most {LONGEST_ID} letters, digits, `-`, `_` and `.`"
        )
        .into()
    });
    Some(order)
}

fn parse(text: &str) -> Option<Order> {
    let (id, verb) = text.split_once('/')?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let valid = (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(is_plain);
    let what = match verb {
        // The budget is for failures.
        "Restart" => Ordered::RestartJob { paid: false },
        "Stop" => Ordered::Finish(Outcome::Terminated),
        _ => return None,
    };
    valid.then(|| Order { id: id.into(), what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_an_id_and_a_verb() {
        let read = |text: &str| {
            let annotations = BTreeMap::from([(ANNOTATION.to_owned(), text.to_owned())]);
            read(Some(&annotations))
        };
        let order = |what: Ordered| {
            Some(Ok(Order {
                id: "a-1.b_2".into(),
                what,
            }))
        };
        assert_eq!(
            read("a-1.b_2/Restart"),
            order(Ordered::RestartJob { paid: false })
        );
        assert_eq!(read("a-1.b_2/Stop"), order(Ordered::Finish(Outcome::Terminated)));
        let long = format!("{}/Stop", "x".repeat(64));
        for wrong in [
            "", "/Stop", "a", "a/stop", "a/Stop/", "a b/Stop", "a/b/Stop", &long,
        ] {
            let error = read(wrong).unwrap().unwrap_err();
            assert!(error.contains("is no order"), "{error}");
        }
        assert_eq!(super::read(None), None);
        assert_eq!(super::read(Some(&BTreeMap::new())), None);
    }
}
