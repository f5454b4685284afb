//! A JSON value becomes a document without being printed and parsed, within the same limits as text.
//!
//! Duplicate keys and numbers that are not finite cannot occur in it. There is no text to point at, so a [`Span`] has line 0,
//! and its `start` is the rank of the key or value in the document: problems keep the order that they would have in text.

use serde_json::{Number, Value};

use super::build::{Builder, Found, Stop};
use super::yaml::{kind, narrow};
use super::{Document, Kind, Source};
use crate::problem::{Problem, Span, tidy};
use crate::scalar::Scalar;

impl Document {
    /// The document that the printed text of `value` would become, but for positions. There is none for null, or where
    /// a limit was exceeded, which is then the problem.
    #[must_use]
    pub fn from_value(source: &Source, value: &Value) -> (Option<Self>, Vec<Problem>) {
        let mut builder = Builder::new(source);
        let walked = walk(value, &mut builder, &mut 0);
        let document = walked.ok().and_then(|()| builder.finish());
        (document, tidy(builder.problems))
    }
}

/// The builder stops at the nesting limit, which bounds this recursion.
fn walk(value: &Value, builder: &mut Builder<'_>, rank: &mut usize) -> Result<(), Stop> {
    let span = next(rank);
    let kind = match value {
        Value::Null => Kind::Null,
        Value::Bool(value) => Kind::Bool(*value),
        Value::Number(value) => number(value),
        Value::String(text) => Kind::Text(text.as_str().into()),
        Value::Array(items) => {
            builder.open_list(0, span)?;
            for item in items {
                walk(item, builder, rank)?;
            }
            builder.close(span);
            return Ok(());
        }
        Value::Object(entries) => {
            builder.open_map(0, span)?;
            for (key, value) in entries {
                builder.scalar(Found::Key(key.as_str().into()), next(rank))?;
                walk(value, builder, rank)?;
            }
            builder.close(span);
            return Ok(());
        }
    };
    builder.scalar(Found::Value(kind), span)
}

fn number(value: &Number) -> Kind {
    let float = || Scalar::Float(value.as_f64().unwrap_or_default());
    let value = value.as_i64().map_or_else(float, Scalar::Int).into_value();
    value.map_or(Kind::Null, kind)
}

fn next(rank: &mut usize) -> Span {
    let start = narrow(*rank);
    *rank += 1;
    Span {
        start,
        end: start,
        ..Span::default()
    }
}
