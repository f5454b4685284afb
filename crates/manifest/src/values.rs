//! Access to JSON values.

use serde_json::{Map, Value};

/// The object at `key`, inserted where there is none.
pub(crate) fn object<'v>(value: &'v mut Map<String, Value>, key: &str) -> Option<&'v mut Map<String, Value>> {
    let inner = value.entry(key).or_insert(Value::Null);
    if inner.is_null() {
        *inner = Value::Object(Map::new());
    }
    inner.as_object_mut()
}

/// The list at `key`, inserted where there is none.
pub(crate) fn list<'v>(value: &'v mut Map<String, Value>, key: &str) -> Option<&'v mut Vec<Value>> {
    let inner = value.entry(key).or_insert(Value::Null);
    if inner.is_null() {
        *inner = Value::Array(Vec::new());
    }
    inner.as_array_mut()
}

/// An object without those of its fields that are null, so that a literal may have optional ones.
pub(crate) fn present(value: Value) -> Map<String, Value> {
    let Value::Object(mut map) = value else {
        return Map::new();
    };
    map.retain(|_, value| !value.is_null());
    map
}

/// A hash of a text that is the same on every machine and in every version (FNV-1a, 64 bits).
#[must_use]
pub fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
