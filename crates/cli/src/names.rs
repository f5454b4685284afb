//! What may be a name in Kubernetes.

/// A label, and so the name of a namespace, is no longer.
pub const LONGEST_LABEL: usize = 63;

/// Whether it may be the name of a namespace.
pub fn is_label(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty()
        && name.len() <= LONGEST_LABEL
        && name.chars().all(plain)
        && !name.starts_with('-')
        && !name.ends_with('-')
}
