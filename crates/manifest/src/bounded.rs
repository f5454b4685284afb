//! JSON that users have written, read so that its depth cannot make the reader fail.
//!
//! `serde_json` refuses to descend below 128 levels, and the API server accepts 10,000: one object that is nested deeper would make
//! a whole list of objects fail. Here the parts that are nested too deep are left out, and [`Bounded::cut`] says so.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::{Map, Number, Value};

/// Levels of nesting that are kept: with those of the list around an object there are fewer than 128.
pub const DEEPEST: usize = 100;

/// A value of at most [`DEEPEST`] levels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounded {
    /// What was written; `null` in place of every array and object that is nested too deep.
    pub value: Value,
    /// Whether something was left out.
    pub cut: bool,
}

impl<'de> Deserialize<'de> for Bounded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let cut = Cell::new(false);
        let level = Level {
            left: DEEPEST,
            cut: &cut,
        };
        let value = level.deserialize(deserializer)?;
        Ok(Self {
            value,
            cut: cut.get(),
        })
    }
}

/// Reads a value of at most `left` levels.
struct Level<'a> {
    left: usize,
    cut: &'a Cell<bool>,
}

impl<'a> Level<'a> {
    /// The next level down; none where that is too deep.
    fn deeper(&self) -> Option<impl Fn() -> Level<'a> + use<'a>> {
        let cut = self.cut;
        let left = self.left.checked_sub(1);
        if left.is_none() {
            cut.set(true);
        }
        left.map(|left| move || Level { left, cut })
    }
}

impl<'de> DeserializeSeed<'de> for Level<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level<'_> {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let Some(deeper) = self.deeper() else {
            // `IgnoredAny` skips values without recursion.
            while items.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Value::Null);
        };
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(deeper())? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let Some(deeper) = self.deeper() else {
            while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Value::Null);
        };
        let mut map = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            map.insert(name, fields.next_value_seed(deeper())?);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Bounded {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_value_is_read_as_it_is() {
        let value =
            json!({ "a": [1, -2, 0.5, u64::MAX, i64::MIN, true, null, "text", {}, []], "b": { "c": "d" } });
        let bounded = read(&value.to_string());
        assert_eq!((bounded.value, bounded.cut), (value, false));
    }

    #[test]
    fn what_is_nested_too_deep_is_left_out_and_the_rest_is_read() {
        let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert!(!read(&nested(DEEPEST)).cut);
        assert!(read(&nested(DEEPEST + 1)).cut);
        for levels in [200, 9_000] {
            let objects = format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
            for deep in [nested(levels), objects] {
                let found = read(&format!(r#"{{"deep": {deep}, "after": "read"}}"#));
                assert!(found.cut);
                assert_eq!(found.value["after"], "read");
            }
        }
    }
}
