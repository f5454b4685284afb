//! Paths into manifests, as `--set` takes them: `spec.tasks[worker].replicas`.

use serde_json::{Map, Value, json};
use trainyard_document::problem::did_you_mean;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A field of a map; a whole number may also be a place in a list.
    Field(String),
    /// A place in a list, from 0.
    Index(usize),
    /// The item of a list with this name.
    Named(String),
}

/// Fields by which items of lists are named.
const NAMES: &[&str] = &["name", "type", "tfReplicaType"];

/// A path and the text behind it; the sentence says what is wrong.
pub(super) fn assignment(text: &str) -> Result<(Vec<Step>, &str), String> {
    let mut steps = Vec::new();
    let mut rest = text;
    loop {
        if let Some(inner) = rest.strip_prefix('[') {
            let (step, after) = bracket(inner)?;
            steps.push(step);
            rest = after;
        } else {
            let end = rest.find(['.', '[', '=']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            if name.is_empty() {
                return Err("a name is missing in the path".to_owned());
            }
            steps.push(Step::Field(name.to_owned()));
            rest = after;
        }
        if let Some(value) = rest.strip_prefix('=') {
            return Ok((steps, value));
        }
        if let Some(after) = rest.strip_prefix('.') {
            rest = after;
        } else if !rest.starts_with('[') {
            return Err("there is no `=` after the path".to_owned());
        }
    }
}

/// What stands in brackets: a number, a name, or a field in quotes, whatever is in it.
fn bracket(inner: &str) -> Result<(Step, &str), String> {
    for quote in ['"', '\''] {
        if let Some(quoted) = inner.strip_prefix(quote) {
            let end = format!("{quote}]");
            let (name, after) = quoted
                .split_once(&end)
                .ok_or("a quote in the path is not closed")?;
            return Ok((Step::Field(name.to_owned()), after));
        }
    }
    let (name, after) = inner
        .split_once(']')
        .ok_or("a bracket in the path is not closed")?;
    let step = match name.parse() {
        Ok(index) => Step::Index(index),
        Err(_) => Step::Named(name.to_owned()),
    };
    Ok((step, after))
}

/// Why a path leads nowhere.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Astray {
    pub message: String,
    pub hint: Option<String>,
}

fn astray<T>(message: impl Into<String>, hint: Option<String>) -> Result<T, Astray> {
    let message = message.into();
    Err(Astray { message, hint })
}

/// Puts a value at the end of a path, making what is missing on the way; `null` removes what is there.
pub(super) fn put(root: &mut Value, steps: &[Step], value: Value) -> Result<(), Astray> {
    let Some((last, way)) = steps.split_last() else {
        return Ok(());
    };
    let mut here = root;
    for (position, step) in way.iter().enumerate() {
        here = enter(here, step, &steps[position + 1])?;
    }
    if value.is_null() {
        return remove(here, last);
    }
    match (here, last) {
        (here @ (Value::Object(_) | Value::Null), Step::Field(name)) => {
            let map = as_map(here)?;
            let name = spelt(map, name).unwrap_or_else(|| name.clone());
            map.insert(name, value);
        }
        (here, step) => {
            let list = as_list(here, step)?;
            let at = find(list, step)?;
            match list.get_mut(at) {
                Some(item) => *item = value,
                None => list.push(value),
            }
        }
    }
    Ok(())
}

fn enter<'v>(here: &'v mut Value, step: &Step, next: &Step) -> Result<&'v mut Value, Astray> {
    let empty = || match next {
        Step::Field(_) => json!({}),
        Step::Index(_) | Step::Named(_) => json!([]),
    };
    if let (Value::Object(_) | Value::Null, Step::Field(name)) = (&*here, step) {
        let map = as_map(here)?;
        let found = spelt(map, name);
        // A new field is fine, but one that looks like another is a slip.
        let slip = if found.is_none() && name.len() > 3 {
            did_you_mean(name, map.keys().map(String::as_str))
        } else {
            None
        };
        if slip.is_some() {
            return astray(format!("there is no `{name}`"), slip);
        }
        let name = found.unwrap_or_else(|| name.clone());
        let inner = map.entry(name).or_insert_with(empty);
        if inner.is_null() {
            *inner = empty();
        }
        return Ok(inner);
    }
    let list = as_list(here, step)?;
    let at = find(list, step)?;
    if at == list.len() {
        list.push(json!({}));
    }
    Ok(&mut list[at])
}

fn remove(here: &mut Value, last: &Step) -> Result<(), Astray> {
    match (here, last) {
        (Value::Object(map), Step::Field(name)) => {
            if let Some(name) = spelt(map, name) {
                map.shift_remove(&name);
            }
        }
        (Value::Null, _) => {}
        (here, step) => {
            let list = as_list(here, step)?;
            let at = find(list, step)?;
            if at < list.len() {
                list.remove(at);
            }
        }
    }
    Ok(())
}

/// The field as the map spells it: roles of a TFJob are the same in any case.
fn spelt(map: &Map<String, Value>, name: &str) -> Option<String> {
    if map.contains_key(name) {
        return Some(name.to_owned());
    }
    map.keys().find(|key| key.eq_ignore_ascii_case(name)).cloned()
}

fn as_map(value: &mut Value) -> Result<&mut Map<String, Value>, Astray> {
    if value.is_null() {
        *value = json!({});
    }
    match value {
        Value::Object(map) => Ok(map),
        _ => astray("the path leads into something that has no fields", None),
    }
}

fn as_list<'v>(value: &'v mut Value, step: &Step) -> Result<&'v mut Vec<Value>, Astray> {
    if value.is_null() {
        *value = json!([]);
    }
    let what = match step {
        Step::Field(name) | Step::Named(name) => format!("`{name}`"),
        Step::Index(index) => format!("item {index}"),
    };
    match value {
        Value::Array(list) => Ok(list),
        Value::Object(map) => {
            let hint = match step {
                Step::Named(name) => did_you_mean(name, map.keys().map(String::as_str)),
                _ => None,
            };
            let message =
                format!("{what} is asked of a map, not of a list: write a dot and the field's name");
            astray(message, hint)
        }
        _ => {
            let message = format!("{what} is asked of something that has neither fields nor items");
            astray(message, None)
        }
    }
}

/// The place of an item: where it is, or where it would be added.
fn find(list: &[Value], step: &Step) -> Result<usize, Astray> {
    let name = match step {
        Step::Index(index) => return place(*index, list.len()),
        Step::Field(name) | Step::Named(name) => name,
    };
    if let Ok(index) = name.parse() {
        return place(index, list.len());
    }
    let named = |item: &Value| {
        NAMES
            .iter()
            .find_map(|field| Some(item[*field].as_str()?.to_owned()))
    };
    let same = |item: &Value| named(item).is_some_and(|own| own.eq_ignore_ascii_case(name));
    if let Some(at) = list.iter().position(same) {
        return Ok(at);
    }
    let there: Vec<String> = list.iter().filter_map(named).collect();
    let near = did_you_mean(name, there.iter().map(String::as_str));
    let all = || (!there.is_empty()).then(|| format!("there are `{}`", there.join("`, `")));
    astray(format!("no item is named `{name}`"), near.or_else(all))
}

fn place(index: usize, length: usize) -> Result<usize, Astray> {
    if index <= length {
        return Ok(index);
    }
    let hint = match length {
        0 => "the list is empty: `[0]` adds its first item".to_owned(),
        length => format!("the last item is `[{}]`, and `[{length}]` adds one", length - 1),
    };
    astray(format!("there is no item {index}"), Some(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str) -> Step {
        Step::Field(name.to_owned())
    }

    #[test]
    fn paths_are_read_with_dots_brackets_and_quotes() {
        let named = |name: &str| Step::Named(name.to_owned());
        let table: Vec<(&str, Vec<Step>, &str)> = vec![
            ("a=1", vec![field("a")], "1"),
            ("a.b.c=x=y", vec![field("a"), field("b"), field("c")], "x=y"),
            ("a[0].b=", vec![field("a"), Step::Index(0), field("b")], ""),
            (
                "a[tensorflow][2]=z",
                vec![field("a"), named("tensorflow"), Step::Index(2)],
                "z",
            ),
            (
                "a[\"x.y/z=1\"].b=1",
                vec![field("a"), field("x.y/z=1"), field("b")],
                "1",
            ),
            ("a['b']=1", vec![field("a"), field("b")], "1"),
        ];
        for (text, steps, value) in table {
            assert_eq!(assignment(text), Ok((steps, value)), "{text}");
        }
        for text in ["", "a", "a.", "a..b=1", "=1", "a[0=1", "a[\"x=1", "a[0]b=1"] {
            assert!(assignment(text).is_err(), "{text}");
        }
    }

    #[test]
    fn values_are_put_where_the_path_leads() {
        let before = || json!({"spec": {"roles": {"Worker": {"replicas": 4}}, "list": [{"name": "a", "x": 1}, {"type": "b"}], "none": null}});
        let table = [
            (
                "spec.roles.Worker.replicas=2",
                "/spec/roles/Worker/replicas",
                json!(2),
            ),
            (
                "spec.roles.worker.replicas=2",
                "/spec/roles/Worker/replicas",
                json!(2),
            ),
            ("spec.policy.limit=3", "/spec/policy/limit", json!(3)),
            ("spec.none.x=3", "/spec/none/x", json!(3)),
            ("spec.list[a].x=3", "/spec/list/0/x", json!(3)),
            ("spec.list[0].x=3", "/spec/list/0/x", json!(3)),
            ("spec.list.0.x=3", "/spec/list/0/x", json!(3)),
            ("spec.list[b].y=3", "/spec/list/1/y", json!(3)),
            ("spec.list[2].name=3", "/spec/list/2/name", json!(3)),
            ("spec.list[2]=3", "/spec/list/2", json!(3)),
            ("spec.list[a]=3", "/spec/list/0", json!(3)),
            ("spec.new[0].z=3", "/spec/new/0/z", json!(3)),
        ];
        for (text, pointer, value) in table {
            let (steps, _) = assignment(text).unwrap();
            let mut root = before();
            put(&mut root, &steps, value.clone()).unwrap();
            assert_eq!(root.pointer(pointer), Some(&value), "{text}: {root}");
        }
        let removed = [
            ("spec.roles.Worker=", "/spec/roles/Worker"),
            ("spec.list[b]=", "/spec/list/1"),
        ];
        for (text, pointer) in removed {
            let (steps, _) = assignment(text).unwrap();
            let mut root = before();
            put(&mut root, &steps, Value::Null).unwrap();
            assert_eq!(root.pointer(pointer), None, "{text}");
        }
    }

    #[test]
    fn paths_that_lead_nowhere_say_what_was_probably_meant() {
        let table = [
            (
                "spec.roles.Wroker.replicas=1",
                "there is no `Wroker`",
                Some("did you mean `Worker`?"),
            ),
            (
                "spec.list[c].x=1",
                "no item is named `c`",
                Some("there are `a`, `bee`"),
            ),
            (
                "spec.list[be].x=1",
                "no item is named `be`",
                Some("did you mean `bee`?"),
            ),
            (
                "spec.list[7].x=1",
                "there is no item 7",
                Some("the last item is `[1]`, and `[2]` adds one"),
            ),
            (
                "spec.text.x=1",
                "`x` is asked of something that has neither fields nor items",
                None,
            ),
            (
                "spec.roles[Wroker].x=1",
                "`Wroker` is asked of a map, not of a list: write a dot and the field's name",
                Some("did you mean `Worker`?"),
            ),
        ];
        for (text, message, hint) in table {
            let (steps, _) = assignment(text).unwrap();
            let mut root = json!({"spec": {"roles": {"Worker": {}}, "list": [{"name": "a"}, {"name": "bee"}], "text": "x"}});
            let astray = put(&mut root, &steps, json!(1)).unwrap_err();
            assert_eq!(
                astray,
                Astray {
                    message: message.into(),
                    hint: hint.map(str::to_owned),
                },
                "{text}"
            );
        }
    }
}
