//! Names: the job's own, and everything that is named after it.

use trainyard_core::{Job, Role};

use super::Places;
use crate::codes::Code;
use crate::problem::shown;

/// Host names, Services and label values have at most so many characters.
const MOST_CHARACTERS: usize = 63;

/// Checks the job's name and the longest of the names made from it.
pub(super) fn check(job: &Job, places: &Places<'_>) {
    let field = &places.name;
    let name = &*job.name;
    if name.is_empty() {
        return;
    }
    if let Some(wrong) = not_dns_1035(name) {
        let message = format!("`{}` cannot be the name of a job: {wrong}", shown(name));
        let problem = field.problem(Code::BadName, message).found(name);
        let problem = problem.allowed(
            "lower-case letters, digits and `-`; the first a letter, the last a letter or digit; at most 63",
        );
        let suggestion = suggestion(name).filter(|_| !places.generate_name);
        let hint = suggestion.map(|name| format!("for example `{name}`"));
        field.problems.report(problem.maybe_hint(hint));
        return;
    }
    let longest = job
        .roles
        .iter()
        .filter(|role| role.replicas > 0)
        .map(|role| (derived(name, role), role))
        .max_by_key(|(derived, _)| derived.len());
    let Some((derived, _)) = longest.filter(|(derived, _)| derived.len() > MOST_CHARACTERS) else {
        return;
    };
    let over = derived.len() - MOST_CHARACTERS;
    let counting = if places.generate_name {
        ", the five that a server adds included"
    } else {
        ""
    };
    let message = format!(
        "the pod name `{derived}` would have {} characters{counting}; at most {MOST_CHARACTERS} are allowed",
        derived.len()
    );
    let problem = field.problem(Code::NameTooLong, message).found(name);
    field
        .problems
        .report(problem.hint(format!("shorten the job's name by {over}")));
}

/// The longest name of the role's tasks.
fn derived(job: &str, role: &Role) -> String {
    format!("{job}-{}-{}", role.name, role.replicas.saturating_sub(1))
}

/// What keeps text from being a DNS-1035 label; none if nothing does.
fn not_dns_1035(name: &str) -> Option<String> {
    let wrong = |c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if let Some(wrong) = name.chars().find(|c| wrong(*c)) {
        return Some(format!("it has `{}`", shown(&wrong.to_string())));
    }
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Some("it does not begin with a letter, as the name of its Service must".to_owned());
    }
    if name.ends_with('-') {
        return Some("it ends with `-`".to_owned());
    }
    (name.len() > MOST_CHARACTERS).then(|| format!("it has {} characters", name.len()))
}

/// The same name with the letters that are allowed.
fn suggestion(name: &str) -> Option<String> {
    let plain = |c: char| match c {
        'A'..='Z' => c.to_ascii_lowercase(),
        'a'..='z' | '0'..='9' => c,
        _ => '-',
    };
    let plain: String = name.chars().take(MOST_CHARACTERS).map(plain).collect();
    let plain = plain.trim_matches('-');
    let plain = if plain.starts_with(|c: char| c.is_ascii_digit()) {
        format!("job-{plain}")
    } else {
        plain.to_owned()
    };
    let cut: String = plain.chars().take(MOST_CHARACTERS).collect();
    (!cut.is_empty()).then(|| cut.trim_end_matches('-').to_owned())
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
        for bad in ["3d-unet", "Mnist", "a_b", "a.b", "-a", "a-", "aä", long.as_str()] {
            assert!(not_dns_1035(bad).is_some(), "{bad}");
            let other = suggestion(bad).unwrap();
            assert_eq!(not_dns_1035(&other), None, "{bad} became {other}");
        }
        assert_eq!(suggestion("___"), None);
    }
}
