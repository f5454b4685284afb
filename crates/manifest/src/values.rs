//! Small things to do with JSON values.

use serde_json::{Map, Value};

/// The map at `key`, made where nothing is.
pub(crate) fn object<'v>(value: &'v mut Map<String, Value>, key: &str) -> Option<&'v mut Map<String, Value>> {
    let inner = value.entry(key).or_insert(Value::Null);
    if inner.is_null() {
        *inner = Value::Object(Map::new());
    }
    inner.as_object_mut()
}

/// The list at `key`, made where nothing is.
pub(crate) fn list<'v>(value: &'v mut Map<String, Value>, key: &str) -> Option<&'v mut Vec<Value>> {
    let inner = value.entry(key).or_insert(Value::Null);
    if inner.is_null() {
        *inner = Value::Array(Vec::new());
    }
    inner.as_array_mut()
}

/// Puts a value where there is one to put.
pub(crate) fn put(map: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        map.insert(key.to_owned(), value.into());
    }
}

/// A number that changes with the text; the same wherever and whenever it is computed (FNV-1a, 64 bits).
pub(crate) fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
