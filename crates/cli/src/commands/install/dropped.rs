//! Flags that the installed operator has and this installation would take away, as a user does who gives only the new one.

use serde_json::Value;
use trainyard_cluster::Session;
use trainyard_manifest::install::Install as Wishes;

use super::{Failure, Printer, no_cluster};

/// Warns of them, once for all.
pub fn warn(session: &Session, wishes: &Wishes, printer: &mut Printer) -> Result<(), Failure> {
    let objects = wishes.objects();
    let Some(wanted) = objects.iter().find(|object| object["kind"] == "Deployment") else {
        return Ok(());
    };
    let Some(installed) = session.find(wanted).map_err(no_cluster)? else {
        return Ok(());
    };
    let dropped = between(&installed, wanted);
    if dropped.is_empty() {
        return Ok(());
    }
    let message = format!(
        "the installed operator has {}, which this installation takes away",
        dropped.join(" ")
    );
    let hint = "to keep them, give them to `trainyard install` again; arguments that it does not know come after `--`";
    printer.warning(&message, Some(hint))
}

/// The arguments whose names the newer Deployment does not have.
fn between(installed: &Value, wanted: &Value) -> Vec<String> {
    let kept: Vec<&str> = arguments(wanted).map(name).collect();
    let dropped = arguments(installed).filter(|argument| !kept.contains(&name(argument)));
    dropped.map(|argument| format!("`{argument}`")).collect()
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
            ["`--kinds=tfjob,volcano`", "`--tensorboard`"]
        );
        assert!(between(&installed, &installed).is_empty());
        assert!(
            between(&json!({}), &wanted).is_empty(),
            "another's object of that name"
        );
    }
}
