//! Whether what was typed can be what it is to be: names and images, all mistakes at once.

use clap::Parser as _;
use trainyard_document::problem::shown;
use trainyard_manifest::install::Install as Wishes;

use crate::args::{Arguments, Command, Install, Place};
use crate::failure::Failure;
use crate::names::{LONGEST_LABEL, is_label};
use crate::visible::CONTINUED;

/// A name in Kubernetes is no longer.
const LONGEST_NAME: usize = 253;

/// Looks at everything.
pub fn check(typed: &Install, wishes: &Wishes) -> Result<(), Failure> {
    let mut wrong = of_place(&typed.place);
    if let Some(image) = &typed.image
        && (image.is_empty() || image.chars().any(|c| c.is_whitespace() || c.is_control()))
    {
        wrong.push(format!(
            "`--image`: `{}` is no image: `registry.example/trainyard:0.1.0`",
            shown(image)
        ));
    }
    if let Some(class) = &typed.priority_class
        && !is_name(class)
    {
        wrong.push(format!(
            "`--priority-class`: `{}` is no name of a PriorityClass",
            shown(class)
        ));
    }
    wrong.extend(of_operator(typed, wishes));
    told(&wrong)
}

/// What goes to `trainyard operator` must mean something to it, beside what it is told anyway: it would not start otherwise.
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
            let help = "`trainyard operator --help` tells what there is";
            return Some(format!("after `--`: {first}; {help}"));
        }
    };
    if wishes.gang.is_empty() && !operator.gang_scheduler_name.is_empty() {
        let why = "which then also gives the right to write groups";
        return Some(format!(
            "after `--`: give `--gang-scheduler-name` to `install` itself, {why}"
        ));
    }
    let elsewhere = wishes.watch.is_none() && operator.namespace.is_some();
    elsewhere.then(|| {
        "after `--`: `install --watch-namespace` says whose jobs are run, and gives rights there alone".into()
    })
}

/// Looks at the names of places alone.
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
        .filter(|(_, name)| !is_label(name))
        .map(|(flag, name)| {
            format!(
                "`{flag}`: `{}` is no namespace: at most {LONGEST_LABEL} of a-z, 0-9 and `-`, and no `-` at either end",
                shown(name)
            )
        })
        .collect()
}

fn told(wrong: &[String]) -> Result<(), Failure> {
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(wrong.join(CONTINUED), None))
}

/// Labels with dots between them.
fn is_name(name: &str) -> bool {
    name.len() <= LONGEST_NAME && name.split('.').all(is_label)
}
