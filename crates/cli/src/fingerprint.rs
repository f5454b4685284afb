//! Detects whether a file that we wrote has been changed.

/// FNV-1a and the length. It is not collision-resistant: it detects edits, not attacks.
pub fn fingerprint(content: &[u8]) -> String {
    let hash = content.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}-{}", content.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprint_is_fnv_and_stays_so() {
        // Fingerprints in state directories and in files must match those of later versions.
        assert_eq!(fingerprint(b""), "cbf29ce484222325-0");
        assert_eq!(fingerprint(b"foobar"), "85944171f73967e8-6");
    }
}
