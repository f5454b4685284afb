//! What Kubernetes allows as a name.

/// The most characters of a label: names of pods' hosts, containers, Services.
pub const LABEL_LENGTH: usize = 63;
/// The most characters of a port's name.
pub const PORT_NAME_LENGTH: usize = 15;
/// The most characters of a key of a ConfigMap or a Secret.
pub const KEY_LENGTH: usize = 253;

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

/// Whether it can be the name of most objects: labels with dots between them.
#[must_use]
pub fn is_subdomain(name: &str) -> bool {
    let is_label = |label: &str| {
        let plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        !label.is_empty() && !label.starts_with('-') && !label.ends_with('-') && label.bytes().all(plain)
    };
    name.len() <= KEY_LENGTH && name.split('.').all(is_label)
}

/// The nearest valid label, for a hint; `None` if nothing is left of the name.
#[must_use]
pub fn mended_label(name: &str) -> Option<String> {
    let mapped = name.to_ascii_lowercase();
    let mapped = mapped.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let mapped = mapped.trim_matches('-');
    let cut = mapped.get(..LABEL_LENGTH).unwrap_or(mapped).trim_end_matches('-');
    (!cut.is_empty() && cut != name).then(|| cut.to_owned())
}

/// What is wrong with a key of a ConfigMap or a Secret, which names a file wherever the object is mounted; `None` if
/// nothing is.
#[must_use]
pub fn wrong_key(key: &str) -> Option<&'static str> {
    if key.is_empty() {
        return Some("it is empty");
    }
    if !key.bytes().all(is_for_keys) {
        return Some("only letters, digits, `-`, `_` and `.` are allowed");
    }
    if key.len() > KEY_LENGTH {
        return Some("it has more than 253 characters");
    }
    match key {
        "." => Some("as the name of a file it means the directory itself"),
        _ => key.starts_with("..").then_some("it must not begin with `..`"),
    }
}

fn is_for_keys(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

/// The nearest valid key, for a hint; `None` if nothing is left of the key.
#[must_use]
pub fn mended_key(key: &str) -> Option<String> {
    let mapped = key.replace(|c: char| !u8::try_from(c).is_ok_and(is_for_keys), "-");
    let mapped = mapped.trim_start_matches(['.', '-']);
    let cut = mapped.get(..KEY_LENGTH).unwrap_or(mapped);
    (!cut.is_empty() && cut != key).then(|| cut.to_owned())
}

/// What is wrong with the path of a file within a volume (`items[].path`); `None` if nothing is.
#[must_use]
pub fn wrong_file_path(path: &str) -> Option<&'static str> {
    let reserved = || path.starts_with("..").then_some("it must not begin with `..`");
    wrong_sub_path(path).or_else(reserved)
}

/// What is wrong with a path that must stay within a volume (`subPath`); `None` if nothing is.
#[must_use]
pub fn wrong_sub_path(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("it is empty");
    }
    if path.contains('\0') {
        return Some("no file has a NUL in its name");
    }
    if path.starts_with('/') {
        return Some("it is not relative to the volume");
    }
    let leads_out = path.split('/').any(|part| part == "..");
    leads_out.then_some("`..` leads out of the volume")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_judged_as_kubernetes_does() {
        for good in [
            "a",
            ".dockerconfigjson",
            "train.py",
            "A_b-1",
            "a..b",
            &"x".repeat(KEY_LENGTH),
        ] {
            assert_eq!(wrong_key(good), None, "{good}");
        }
        let long = "x".repeat(KEY_LENGTH + 1);
        for bad in [
            "", ".", "..", "..a", "../a", "/a", "a/b", "a b", "ä", "a\n", "a\0", &long,
        ] {
            assert!(wrong_key(bad).is_some(), "{bad:?}");
            let mended = mended_key(bad);
            assert!(
                mended.as_deref().is_none_or(|key| wrong_key(key).is_none()),
                "{mended:?}"
            );
        }
        assert_eq!(mended_key("../../.ssh/config").as_deref(), Some("ssh-config"));
    }

    #[test]
    fn files_stay_within_their_volume() {
        for good in ["a", "a/b.txt", "a/..b", ".a/./b", "a b"] {
            assert_eq!(wrong_file_path(good), None, "{good}");
        }
        for bad in ["", "/", "/a", "..", "../a", "a/../b", "a/..", "..a", "a\0"] {
            assert!(wrong_file_path(bad).is_some(), "{bad:?}");
        }
        assert_eq!(
            wrong_sub_path("..a"),
            None,
            "only the names of files begin otherwise"
        );
    }

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
