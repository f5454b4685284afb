//! Validates names and images of the arguments, all at once.

use clap::Parser as _;
use trainyard_document::names::wrong_label;
use trainyard_document::problem::shown;
use trainyard_manifest::install::Install as Wishes;

use crate::args::{Arguments, Command, Install, Place};
use crate::failure::Failure;
use crate::visible::CONTINUED;

/// Limit for names in Kubernetes.
const LONGEST_NAME: usize = 253;

/// Validates the arguments of `install`.
pub fn check(typed: &Install, wishes: &Wishes) -> Result<(), Failure> {
    let mut wrong = of_place(&typed.place);
    let images = [
        ("--image", &typed.image, "registry.example/trainyard:0.1.0"),
        (
            "--tensorboard-image",
            &typed.tensorboard_image,
            "registry.example/tensorboard:2.19.0",
        ),
    ];
    for (flag, image, example) in images {
        let Some(image) = image else { continue };
        if image.is_empty() || image.chars().any(|c| c.is_whitespace() || c.is_control()) {
            let shown = shown(image);
            wrong.push(format!("`{flag}`: `{shown}` is not an image such as `{example}`"));
        }
    }
    if let Some(class) = &typed.priority_class
        && !is_name(class)
    {
        wrong.push(format!(
            "`--priority-class`: `{}` is not a valid name of a PriorityClass",
            shown(class)
        ));
    }
    wrong.extend(of_operator(typed, wishes));
    told(&wrong)
}

/// Parses the arguments for `trainyard operator`, together with those that `install` adds: otherwise it would not start.
fn of_operator(typed: &Install, wishes: &Wishes) -> Option<String> {
    if typed.arguments.is_empty() {
        return None;
    }
    let words = std::iter::once("trainyard".to_owned()).chain(wishes.words());
    let operator = match Arguments::try_parse_from(words) {
        Ok(Arguments {
            command: Command::Operator(operator),
            ..
        }) => operator,
        Ok(_) => return None,
        Err(error) => {
            let said = error.to_string();
            let first = said.lines().next().unwrap_or_default();
            let first = first.strip_prefix("error: ").unwrap_or(first);
            let help = "see `trainyard operator --help`";
            return Some(format!("after `--`: {first}; {help}"));
        }
    };
    if wishes.gang != operator.gangs.schedulers() {
        let why = "which also grants the right to write groups";
        return Some(format!(
            "after `--`: give `--gang-scheduler-name` to `install` itself, {why}"
        ));
    }
    if wishes.tensorboard != operator.tensorboard {
        let why = "which also grants the rights to Deployments";
        return Some(format!(
            "after `--`: give `--tensorboard` to `install` itself, {why}"
        ));
    }
    if wishes.network_policies != operator.network_policies {
        let why = "which also grants the rights to NetworkPolicies";
        return Some(format!(
            "after `--`: give `--network-policies` to `install` itself, {why}"
        ));
    }
    if wishes.kueue != operator.kueue {
        let why = "which also grants the rights to Workloads";
        return Some(format!("after `--`: give `--kueue` to `install` itself, {why}"));
    }
    if wishes.kinds != operator.kinds {
        let why = "which also installs their CRDs and grants the rights";
        return Some(format!("after `--`: give `--kinds` to `install` itself, {why}"));
    }
    let elsewhere = wishes.watch.is_none() && operator.namespace.is_some();
    elsewhere.then(|| {
        "after `--`: use `install --watch-namespace`, which also limits the rights to that namespace".into()
    })
}

/// Validates the arguments of `uninstall`.
pub fn check_place(place: &Place) -> Result<(), Failure> {
    told(&of_place(place))
}

fn of_place(place: &Place) -> Vec<String> {
    let named = [
        ("--namespace", Some(&place.namespace)),
        ("--watch-namespace", place.watch_namespace.as_ref()),
    ];
    let named = named.into_iter().filter_map(|(flag, name)| Some((flag, name?)));
    named
        .filter_map(|(flag, name)| Some((flag, name, wrong_label(name)?)))
        .map(|(flag, name, wrong)| format!("`{flag}`: `{}` is not a namespace: {wrong}", shown(name)))
        .collect()
}

fn told(wrong: &[String]) -> Result<(), Failure> {
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(wrong.join(CONTINUED), None))
}

/// Labels separated by dots.
fn is_name(name: &str) -> bool {
    name.len() <= LONGEST_NAME && name.split('.').all(|label| wrong_label(label).is_none())
}
