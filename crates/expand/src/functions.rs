//! Functions that templates have besides Go's own: with them `TF_CONFIG` fits at any depth.
//!
//! They mean what they mean in Helm's templates: `{{.TF_CONFIG | indent 4}}`, `{{toJson .hosts}}`, `{{quote .host}}`.

use gotmpl::{Template, TemplateError, Value};

/// Adds them.
pub(crate) fn add(template: Template) -> Template {
    template
        .func("indent", |arguments| {
            indented(arguments).map(|text| Value::String(text.into()))
        })
        .func("nindent", |arguments| {
            indented(arguments).map(|text| Value::String(format!("\n{text}").into()))
        })
        .func("toJson", |arguments| {
            let value = arguments.first().ok_or_else(|| wrong("toJson", "a value"))?;
            Ok(Value::String(json(value)?.to_string().into()))
        })
        .func("quote", |arguments| {
            let quoted = |value: &Value| serde_json::Value::String(value.to_string()).to_string();
            let words: Vec<String> = arguments.iter().map(quoted).collect();
            Ok(Value::String(words.join(" ").into()))
        })
}

fn wrong(function: &str, takes: &str) -> TemplateError {
    TemplateError::Exec(format!("`{function}` takes {takes}"))
}

/// Every line with so many spaces before it.
fn indented(arguments: &[Value]) -> Result<String, TemplateError> {
    let takes = || wrong("indent", "a number from 0 to 200 and a text");
    let [spaces, text] = arguments else {
        return Err(takes());
    };
    let spaces = spaces
        .as_int()
        .and_then(|spaces| usize::try_from(spaces).ok())
        .filter(|spaces| *spaces <= 200);
    let prefix = " ".repeat(spaces.ok_or_else(takes)?);
    let text = text.to_string();
    let lines: Vec<String> = text.split('\n').map(|line| format!("{prefix}{line}")).collect();
    Ok(lines.join("\n"))
}

fn json(value: &Value) -> Result<serde_json::Value, TemplateError> {
    use serde_json::Value as Json;
    Ok(match value {
        Value::Nil => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Int(value) => (*value).into(),
        Value::Uint(value) => (*value).into(),
        Value::Float(value) => (*value).into(),
        Value::String(value) => Json::String(value.to_string()),
        Value::List(values) => Json::Array(values.iter().map(json).collect::<Result<_, _>>()?),
        Value::Map(values) => {
            let entries = values.iter();
            let entries = entries.map(|(key, value)| Ok((key.to_string(), json(value)?)));
            Json::Object(entries.collect::<Result<_, TemplateError>>()?)
        }
        Value::Function(_) => return Err(wrong("toJson", "data, not a function")),
    })
}
