//! What has to change in a group that exists for it to be as its job wants it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use trainyard_document::quantity::Quantity;

/// A merge patch from one spec to another, of these fields alone; none where they are the same.
pub(super) fn patch(follows: &[&str], wanted: &Value, seen: &Value) -> Option<Value> {
    let mut patch = Map::new();
    for field in follows {
        let there = seen.get(*field).filter(|value| !is_nothing(value));
        match (wanted.get(*field), there) {
            (Some(wanted), Some(there)) if same(wanted, there) => {}
            (Some(wanted), there) => {
                patch.insert((*field).to_owned(), replaced(wanted, there));
            }
            (None, Some(_)) => {
                patch.insert((*field).to_owned(), Value::Null);
            }
            (None, None) => {}
        }
    }
    (!patch.is_empty()).then(|| patch.into())
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_str() == Some("") || value.as_object().is_some_and(Map::is_empty)
}

/// Whether two values mean the same: a scheduler that writes a group may write its amounts in another way.
fn same(one: &Value, other: &Value) -> bool {
    let amounts = |value: &Value| -> Option<BTreeMap<String, Quantity>> {
        let amounts = value.as_object()?.iter();
        let read = |value: &Value| match value {
            Value::String(text) => Quantity::parse(text).ok(),
            value => Quantity::parse(&value.to_string()).ok(),
        };
        amounts
            .map(|(name, value)| Some((name.clone(), read(value)?)))
            .collect()
    };
    one == other || amounts(one).is_some_and(|one| Some(one) == amounts(other))
}

/// A value as a merge patch has to say it: what is there and should not be is null.
fn replaced(wanted: &Value, seen: Option<&Value>) -> Value {
    let (Value::Object(wanted), Some(Value::Object(seen))) = (wanted, seen) else {
        return wanted.clone();
    };
    let gone = seen.keys().filter(|key| !wanted.contains_key(*key));
    let gone = gone.map(|key| (key.clone(), Value::Null));
    wanted.clone().into_iter().chain(gone).collect()
}
