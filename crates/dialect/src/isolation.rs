//! The annotations by which a job of any kind asks that nothing but its own pods reaches them:
//! `trainyard.dev/network-policy: isolate`, and `trainyard.dev/network-policy-from` for who else may.

use std::net::IpAddr;

use serde_json::{Map, Value};
use trainyard_core::{Isolation, Job, Role};
use trainyard_document::codes::Code;
use trainyard_document::fields::Field;
use trainyard_document::problem::shown;
use trainyard_document::{Source, parse};

use crate::manifest::Metadata;

/// Asks for a NetworkPolicy.
pub const ANNOTATION: &str = "trainyard.dev/network-policy";
/// Who else may connect, as the list `from` of a NetworkPolicy.
pub const FROM: &str = "trainyard.dev/network-policy-from";

const ALLOWED: &str = "a list as in `spec.ingress[].from` of a NetworkPolicy";
const EXAMPLE: &str = "write it as in `[{podSelector: {matchLabels: {app: notebook}}}]`";
const OPERATORS: &[&str] = &["In", "NotIn", "Exists", "DoesNotExist"];

/// What the annotations of a job ask for.
pub(crate) fn read(metadata: &Metadata<'_>, job: &Job) -> Option<Isolation> {
    let asked = metadata.annotation(ANNOTATION);
    if let Some(field) = asked {
        warn_of_host_network(field, job);
    }
    let from = metadata.annotation(FROM).and_then(|field| {
        if asked.is_none() {
            let message = format!("`{FROM}` has no effect without `{ANNOTATION}: isolate`");
            field.tell(field.key_problem(Code::FieldIgnored, message));
        }
        peers(field)
    });
    asked?.choice(&[("isolate", ())])?;
    Some(Isolation {
        from: from.unwrap_or_default(),
    })
}

/// No NetworkPolicy applies to pods in the network of their node.
fn warn_of_host_network(field: &Field<'_>, job: &Job) {
    let in_host_network = |role: &&Role| {
        let template = serde_json::from_str::<Value>(&role.template.0);
        template.is_ok_and(|template| template["spec"]["hostNetwork"] == true)
    };
    if let Some(role) = job.roles.iter().find(in_host_network) {
        let message = format!(
            "pods of `{}` have `hostNetwork: true` and are not isolated",
            role.name
        );
        field.tell(field.problem(Code::FieldIgnored, message));
    }
}

/// The peers that the annotation lists, in the form in which the API server stores them.
fn peers(field: &Field<'_>) -> Option<Vec<Value>> {
    let text = field.text()?;
    let found = parsed(text).and_then(|value| list(&value, "", peer));
    match found {
        Ok(peers) => Some(peers),
        Err(wrong) => {
            let message = format!("`{}` does not say who may connect: {wrong}", shown(text));
            let problem = field.problem(Code::BadFormat, message).found(text);
            field.problems.report(problem.allowed(ALLOWED).hint(EXAMPLE));
            None
        }
    }
}

fn parsed(text: &str) -> Result<Value, String> {
    let not_yaml = || "it is not YAML".to_owned();
    let source = Source::from_bytes(FROM, text.as_bytes()).map_err(|_| not_yaml())?;
    let (documents, problems) = parse(&source);
    match &documents[..] {
        [one] if problems.is_empty() => Ok(one.root.to_json()),
        _ => Err(not_yaml()),
    }
}

/// One entry of the list: pods, namespaces, pods of namespaces, or a block of addresses.
fn peer(value: &Value) -> Result<Value, String> {
    let fields = object(value, &["podSelector", "namespaceSelector", "ipBlock"])?;
    if fields.is_empty() || fields.contains_key("ipBlock") && fields.len() > 1 {
        return Err("an entry has `podSelector`, `namespaceSelector` or both, or else `ipBlock`".into());
    }
    let read = |(key, value): (&String, &Value)| {
        let read = if key == "ipBlock" {
            block(value)
        } else {
            selector(value)
        };
        Ok((key.clone(), read?))
    };
    fields.iter().map(read).collect()
}

fn selector(value: &Value) -> Result<Value, String> {
    let fields = object(value, &["matchLabels", "matchExpressions"])?;
    let mut read = Map::new();
    if let Some(labels) = fields.get("matchLabels").filter(|labels| !labels.is_null()) {
        let labels = labels
            .as_object()
            .filter(|labels| labels.values().all(Value::is_string));
        let labels = labels.ok_or("`matchLabels` is not a map of texts")?;
        if !labels.is_empty() {
            read.insert("matchLabels".into(), labels.clone().into());
        }
    }
    if let Some(expressions) = fields.get("matchExpressions").filter(|list| !list.is_null()) {
        let expressions = list(expressions, "matchExpressions", expression)?;
        if !expressions.is_empty() {
            read.insert("matchExpressions".into(), expressions.into());
        }
    }
    Ok(read.into())
}

fn expression(value: &Value) -> Result<Value, String> {
    let fields = object(value, &["key", "operator", "values"])?;
    let said = |key: &str| fields.get(key).and_then(Value::as_str);
    let operator = said("operator").filter(|operator| OPERATORS.contains(operator));
    let (Some(key), Some(operator)) = (said("key"), operator) else {
        let operators = OPERATORS.join("`, `");
        return Err(format!(
            "an expression needs `key`, and `operator`: `{operators}`"
        ));
    };
    let mut read = Map::from_iter([
        ("key".to_owned(), Value::from(key)),
        ("operator".to_owned(), operator.into()),
    ]);
    let values = texts(fields.get("values"), "values")?;
    if !values.is_empty() {
        read.insert("values".into(), values.into());
    }
    Ok(read.into())
}

fn block(value: &Value) -> Result<Value, String> {
    let fields = object(value, &["cidr", "except"])?;
    let cidr = fields
        .get("cidr")
        .and_then(Value::as_str)
        .ok_or("`ipBlock` needs `cidr`")?;
    let mut read = Map::from_iter([("cidr".to_owned(), Value::from(cidr))]);
    let except = texts(fields.get("except"), "except")?;
    let all = except.iter().filter_map(Value::as_str).chain([cidr]);
    if let Some(wrong) = all.into_iter().find(|text| !is_cidr(text)) {
        return Err(format!(
            "`{}` is no block of addresses, as `10.0.0.0/8` is",
            shown(wrong)
        ));
    }
    if !except.is_empty() {
        read.insert("except".into(), except.into());
    }
    Ok(read.into())
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let most = match address.parse() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    let digits = length.bytes().all(|digit| digit.is_ascii_digit());
    digits && length.parse::<u8>().is_ok_and(|length| length <= most)
}

/// A map with no other fields than these.
fn object<'v>(value: &'v Value, known: &[&str]) -> Result<&'v Map<String, Value>, String> {
    let fields = value
        .as_object()
        .ok_or_else(|| format!("expected a map with `{}`", known.join("`, `")))?;
    match fields.keys().find(|key| !known.contains(&key.as_str())) {
        Some(unknown) => Err(format!(
            "`{}` is not one of `{}`",
            shown(unknown),
            known.join("`, `")
        )),
        None => Ok(fields),
    }
}

fn list(value: &Value, name: &str, read: fn(&Value) -> Result<Value, String>) -> Result<Vec<Value>, String> {
    let items = value.as_array().ok_or_else(|| match name {
        "" => "it is not a list".to_owned(),
        name => format!("`{name}` is not a list"),
    })?;
    items.iter().map(read).collect()
}

/// A list of texts; empty where it is not given.
fn texts(value: Option<&Value>, name: &str) -> Result<Vec<Value>, String> {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return Ok(Vec::new());
    };
    let items = value
        .as_array()
        .filter(|items| items.iter().all(Value::is_string));
    let items = items.ok_or_else(|| format!("`{name}` is not a list of texts"))?;
    Ok(items.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_peers(text: &str) -> Result<Vec<Value>, String> {
        parsed(text).and_then(|value| list(&value, "", peer))
    }

    #[test]
    fn who_else_may_connect_is_written_as_in_a_network_policy() {
        let app = json!({ "podSelector": { "matchLabels": { "app": "notebook" } } });
        let rows = [
            ("[{podSelector: {matchLabels: {app: notebook}}}]", json!([app])),
            ("- podSelector:\n    matchLabels: {app: notebook}\n", json!([app])),
            (
                r#"[{"namespaceSelector": {}, "podSelector": {"matchLabels": {}, "matchExpressions": null}}]"#,
                json!([{ "namespaceSelector": {}, "podSelector": {} }]),
            ),
            (
                "[{podSelector: {matchExpressions: [{key: app, operator: In, values: [a, b]}, {key: x, operator: Exists, values: []}]}}]",
                json!([{ "podSelector": { "matchExpressions": [
                    { "key": "app", "operator": "In", "values": ["a", "b"] }, { "key": "x", "operator": "Exists" },
                ] } }]),
            ),
            (
                "[{ipBlock: {cidr: 10.0.0.0/8, except: []}}]",
                json!([{ "ipBlock": { "cidr": "10.0.0.0/8" } }]),
            ),
            ("[]", json!([])),
        ];
        for (text, expected) in rows {
            assert_eq!(read_peers(text).map(Value::from), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_list_of_peers_is_told() {
        let rows = [
            ("app=notebook", "not a list"),
            ("{podSelector: {}}", "not a list"),
            ("[{podSelector: ", "not YAML"),
            ("", "not YAML"),
            ("[{}]", "an entry has"),
            ("[{podSelector: {}, ipBlock: {cidr: 10.0.0.0/8}}]", "an entry has"),
            ("[{pods: {}}]", "`pods` is not one of"),
            ("[{podSelector: notebook}]", "expected a map"),
            ("[{podSelector: {app: notebook}}]", "`app` is not one of"),
            ("[{podSelector: {matchLabels: {app: 1}}}]", "not a map of texts"),
            ("[{podSelector: {matchExpressions: {}}}]", "not a list"),
            (
                "[{podSelector: {matchExpressions: [{key: a, operator: Is}]}}]",
                "`operator`",
            ),
            (
                "[{podSelector: {matchExpressions: [{key: a, operator: In, values: [1]}]}}]",
                "not a list of texts",
            ),
            ("[{ipBlock: {except: []}}]", "needs `cidr`"),
            ("[{ipBlock: {cidr: 10.0.0/8}}]", "`10.0.0/8` is no block"),
            ("[{ipBlock: {cidr: 10.0.0.0/33}}]", "is no block"),
            ("[{ipBlock: {cidr: '10.0.0.0/+8'}}]", "is no block"),
            ("[{ipBlock: {cidr: '::/0', except: [x]}}]", "`x` is no block"),
        ];
        for (text, words) in rows {
            let wrong = read_peers(text).unwrap_err();
            assert!(wrong.contains(words), "{text}: {wrong}");
        }
    }
}
