//! Names: the job's own, and everything that is named after it.

use trainyard_core::{Job, Role};
use trainyard_document::codes::Code;
use trainyard_document::names::{LABEL_LENGTH, mended_label, wrong_label};
use trainyard_document::problem::shown;

use super::Places;
use crate::manifest::Metadata;

/// Checks the names of the job, which is also its Service's, and of its namespace.
pub(crate) fn name(metadata: &Metadata<'_>) {
    if let (Some(field), Some(wrong)) = (&metadata.namespace_at, wrong_label(&metadata.namespace)) {
        let namespace = &*metadata.namespace;
        let message = format!(
            "`{}` cannot be the name of a namespace: {wrong}",
            shown(namespace)
        );
        let problem = field.problem(Code::BadName, message).found(namespace);
        let hint = mended_label(namespace).map(|name| format!("for example `{name}`"));
        field.tell(problem.maybe_hint(hint));
    }
    let (field, name) = (&metadata.place, &*metadata.name);
    let Some(wrong) = not_dns_1035(name).filter(|_| !name.is_empty()) else {
        return;
    };
    let message = format!("`{}` cannot be the name of a job: {wrong}", shown(name));
    let problem = field.problem(Code::BadName, message).found(name);
    let problem = problem.allowed(
        "lower-case letters, digits and `-`; the first a letter, the last a letter or digit; at most 63",
    );
    let suggestion = suggestion(name).filter(|_| !metadata.generate_name);
    let hint = suggestion.map(|name| format!("for example `{name}`"));
    field.tell(problem.maybe_hint(hint));
}

/// Checks the longest of the names made from the job's.
pub(super) fn derived(job: &Job, places: &Places<'_>) {
    let (field, name) = (&places.name, &*job.name);
    let names = job.roles.iter().filter(|role| role.replicas > 0);
    let longest = names
        .map(|role| longest(name, role))
        .max_by_key(String::len)
        .filter(|longest| longest.len() > LABEL_LENGTH && name.len() <= LABEL_LENGTH);
    let Some(longest) = longest else { return };
    let length = longest.len();
    let counting = if places.generate_name {
        ", the five that a server adds included"
    } else {
        ""
    };
    let message = format!(
        "the pod name `{longest}` would have {length} characters{counting}; at most {LABEL_LENGTH} are allowed"
    );
    let problem = field.problem(Code::NameTooLong, message).found(name);
    let over = length - LABEL_LENGTH;
    field.tell(problem.hint(format!("shorten the job's name by {over}")));
}

/// The longest name of the role's tasks.
fn longest(job: &str, role: &Role) -> String {
    format!("{job}-{}-{}", role.name, role.replicas.saturating_sub(1))
}

/// What keeps text from being the name of a Service; none if nothing does.
fn not_dns_1035(name: &str) -> Option<&'static str> {
    let digit_first = name.starts_with(|c: char| c.is_ascii_digit());
    wrong_label(name)
        .or_else(|| digit_first.then_some("it does not begin with a letter, as the name of its Service must"))
}

/// A name close to it that would do.
fn suggestion(name: &str) -> Option<String> {
    let label = mended_label(name).unwrap_or_else(|| name.to_owned());
    let label = if label.starts_with(|c: char| c.is_ascii_digit()) {
        mended_label(&format!("Job-{label}"))?
    } else {
        label
    };
    not_dns_1035(&label).is_none().then_some(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_a_service_may_be_called() {
        for good in ["a", "mnist", "a-1", "x0"] {
            assert_eq!(not_dns_1035(good), None, "{good}");
        }
        let long = "a".repeat(64);
        for bad in ["3d-unet", "Mnist", "a_b", "a.b", "-a", "a-", long.as_str()] {
            assert!(not_dns_1035(bad).is_some(), "{bad}");
            let other = suggestion(bad).unwrap();
            assert_eq!(not_dns_1035(&other), None, "{bad} became {other}");
        }
        assert_eq!(suggestion("___"), None);
    }
}
