//! What Kubernetes allows as a name.

/// The most characters of a label: names of pods' hosts, containers, Services.
pub const LABEL_LENGTH: usize = 63;
/// The most characters of a port's name.
pub const PORT_NAME_LENGTH: usize = 15;

/// What is wrong with a name that must be a DNS label (`my-job-1`); `None` if nothing is.
#[must_use]
pub fn wrong_label(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("it is empty");
    }
    if name.len() > LABEL_LENGTH {
        return Some("it has more than 63 characters");
    }
    if !name
        .bytes()
        .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
    {
        return Some("only lower-case letters, digits and dashes are allowed");
    }
    if name.starts_with('-') || name.ends_with('-') {
        return Some("it must begin and end with a letter or digit");
    }
    None
}

/// What is wrong with the name of a port (`tfjob-port`); `None` if nothing is.
#[must_use]
pub fn wrong_port_name(name: &str) -> Option<&'static str> {
    if name.len() > PORT_NAME_LENGTH {
        return Some("it has more than 15 characters");
    }
    if let Some(wrong) = wrong_label(name) {
        return Some(wrong);
    }
    if !name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        return Some("it needs at least one letter");
    }
    name.contains("--").then_some("two dashes may not stand together")
}

/// The nearest valid label, for a hint; `None` if nothing is left of the name.
#[must_use]
pub fn mended_label(name: &str) -> Option<String> {
    let mapped: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .collect();
    let cut: String = mapped.trim_matches('-').chars().take(LABEL_LENGTH).collect();
    let cut = cut.trim_end_matches('-');
    (!cut.is_empty() && cut != name).then(|| cut.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_judged_as_kubernetes_does() {
        for good in ["a", "0", "my-job-1", "a--b", &"x".repeat(63)] {
            assert_eq!(wrong_label(good), None, "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a.b", "a_b", "ä", &"x".repeat(64)] {
            assert!(wrong_label(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn port_names_are_shorter_and_need_a_letter() {
        for good in ["tfjob-port", "a1", "1a"] {
            assert_eq!(wrong_port_name(good), None, "{good}");
        }
        for bad in ["2222", "a--b", "a-very-long-name", "Http", ""] {
            assert!(wrong_port_name(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn a_hint_is_a_valid_label() {
        for (name, meant) in [
            ("My_Job", Some("my-job")),
            ("-x-", Some("x")),
            ("ok", None),
            ("__", None),
        ] {
            assert_eq!(mended_label(name).as_deref(), meant, "{name}");
        }
    }
}
