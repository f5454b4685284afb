//! Flags that the installed operator has and this installation would take away, as a user does who gives only the new one.

use serde_json::Value;
use trainyard_cluster::Session;
use trainyard_manifest::install::Install as Wishes;
use trainyard_manifest::kinds::Kinds;

use super::{Failure, Printer};

/// Warns of them, once for all.
pub fn warn(session: &Session, wishes: &Wishes, printer: &mut Printer) -> Result<(), Failure> {
    let objects = wishes.objects();
    let Some(wanted) = objects.iter().find(|object| object["kind"] == "Deployment") else {
        return Ok(());
    };
    // A user who may not read it is told so when it is applied.
    let Ok(Some(installed)) = session.find(wanted) else {
        return Ok(());
    };
    let dropped = between(&installed, wanted);
    if dropped.is_empty() {
        return Ok(());
    }
    let message = format!(
        "the installed operator has {}, which this installation takes away",
        dropped.join(", ")
    );
    let hint = "to keep them, give them to `trainyard install` again; arguments that it does not know come after `--`";
    printer.warning(&message, Some(hint))
}

/// Arguments that are lists: what is taken out of one is told, not the whole.
const LISTS: [&str; 2] = ["--kinds", "--gang-scheduler-name"];

/// The arguments whose names the newer Deployment does not have, and what its lists do not.
fn between(installed: &Value, wanted: &Value) -> Vec<String> {
    let kept: Vec<&str> = arguments(wanted).map(name).collect();
    let others = arguments(installed).filter(|argument| !LISTS.contains(&name(argument)));
    let dropped = others.filter(|argument| !kept.contains(&name(argument)));
    let dropped = dropped.map(|argument| format!("`{argument}`"));
    let lists = LISTS.iter().filter_map(|list| {
        let (had, has) = (listed(installed, list), listed(wanted, list));
        let less: Vec<&str> = had
            .iter()
            .filter(|one| !has.contains(one))
            .map(|one| &**one)
            .collect();
        (!less.is_empty()).then(|| format!("`{}` in `{list}`", less.join(",")))
    });
    lists.chain(dropped).collect()
}

/// What a Deployment's argument of that name lists; without one, what that means.
fn listed(deployment: &Value, list: &str) -> Vec<String> {
    let mut arguments = arguments(deployment).peekable();
    if arguments.peek().is_none() {
        return Vec::new();
    }
    let given = arguments.find(|argument| name(argument) == list);
    let given = given
        .and_then(|argument| argument.split_once('='))
        .map(|(_, given)| given.to_owned());
    let usual = || {
        if list == "--kinds" {
            Kinds::default().to_string()
        } else {
            String::new()
        }
    };
    let given = given.unwrap_or_else(usual);
    given
        .split(',')
        .filter(|one| !one.is_empty())
        .map(str::to_owned)
        .collect()
}

fn arguments(deployment: &Value) -> impl Iterator<Item = &str> {
    let words = deployment.pointer("/spec/template/spec/containers/0/args");
    let words = words.and_then(Value::as_array).into_iter().flatten();
    words
        .filter_map(Value::as_str)
        .filter(|word| word.starts_with('-'))
}

fn name(argument: &str) -> &str {
    argument.split('=').next().unwrap_or(argument)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_taken_away_is_named() {
        let deployment = |words: &[&str]| json!({ "spec": { "template": { "spec": { "containers": [{ "args": words }] } } } });
        let installed = deployment(&["operator", "--kinds=tfjob,volcano", "--tensorboard", "--qps=5"]);
        let wanted = deployment(&["operator", "--qps=50", "--network-policies"]);
        assert_eq!(
            between(&installed, &wanted),
            ["`volcano` in `--kinds`", "`--tensorboard`"]
        );
        let other = deployment(&["operator", "--kinds=volcano"]);
        assert_eq!(between(&wanted, &other)[0], "`tfjob` in `--kinds`");
        assert!(between(&installed, &installed).is_empty());
        assert!(
            between(&json!({}), &wanted).is_empty(),
            "another's object of that name"
        );
    }
}
