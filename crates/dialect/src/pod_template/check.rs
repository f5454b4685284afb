//! Walks a value along a table of fields and reports what does not fit: unknown fields and wrong types.

use trainyard_document::Kind;
use trainyard_document::codes::Code;
use trainyard_document::fields::Field;
use trainyard_document::quantity::quantity;

/// What a value must look like.
#[derive(Debug)]
pub enum Shape {
    /// Anything.
    Any,
    /// Text.
    Text,
    /// A boolean.
    Bool,
    /// A whole number.
    Int,
    /// A whole number or text: a port by number or name.
    IntOrText,
    /// A quantity.
    Quantity,
    /// The value of an environment variable: text, with words of its own where it is not.
    Variable,
    /// One of a few words.
    Words(&'static [&'static str]),
    /// A list of equal things.
    List(&'static Self),
    /// A map with keys of the user's choice.
    Map(&'static Self),
    /// A map with these fields.
    Object(&'static [(&'static str, Self)]),
}

/// Reports everything in `field` that does not have the shape.
pub fn check(field: &Field<'_>, shape: &Shape) {
    match shape {
        Shape::Any => {}
        // The value itself is not wanted here, only what is reported about it.
        Shape::Text => _ = field.text(),
        Shape::Bool => _ = field.bool(),
        Shape::Int => _ = field.int(i64::MIN..=i64::MAX),
        Shape::Quantity => _ = quantity(field),
        Shape::IntOrText => {
            if !matches!(field.node.kind, Kind::Int(_) | Kind::Text(_)) {
                field.wrong_type("a whole number or text");
            }
        }
        Shape::Variable => variable(field),
        Shape::Words(words) => {
            let words: Vec<(&'static str, ())> = words.iter().map(|word| (*word, ())).collect();
            _ = field.choice(&words);
        }
        Shape::List(inner) => field.items().iter().for_each(|item| check(item, inner)),
        Shape::Map(inner) => {
            let Some(mut map) = field.fields() else { return };
            for (_, value) in map.entries().iter().filter(|(_, value)| !value.node.is_null()) {
                check(value, inner);
            }
        }
        Shape::Object(known) => object(field, known),
    }
}

fn object(field: &Field<'_>, known: &'static [(&'static str, Shape)]) {
    let Some(mut fields) = field.fields() else { return };
    let mut strangers = false;
    for (key, value) in fields.entries() {
        match known.iter().find(|(name, _)| *name == &**key) {
            Some(_) if value.node.is_null() => {}
            Some((_, shape)) => check(&value, shape),
            None => strangers = true,
        }
    }
    if strangers && let Some(mut fields) = field.fields() {
        let names: Vec<&'static str> = known.iter().map(|(name, _)| *name).collect();
        fields.skip(&names);
        fields.finish();
    }
}

/// kubectl turns `value: yes` into a boolean, and the API server refuses it.
fn variable(field: &Field<'_>) {
    let node = field.node;
    let (written, type_) = (field.problems.written(node), node.describe());
    let problem = match &node.kind {
        Kind::Text(_) => return,
        Kind::Bool(_) | Kind::Int(_) | Kind::Float(_) => {
            let message = format!("`{written}` is {type_}, and the value of a variable is text");
            let problem = field.problem(Code::EnvNotText, message);
            problem.hint(format!("put it in quotes: \"{written}\""))
        }
        _ => {
            let message = format!("the value of a variable is text, not {type_}");
            let problem = field.problem(Code::EnvNotText, message);
            problem.hint("write it as text in quotes")
        }
    };
    field.tell(problem.found(written).allowed("text"));
}
