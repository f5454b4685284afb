//! How a file is known again that somebody may have changed since.

/// FNV-1a and the length: it tells contents apart that nobody has made alike on purpose.
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
        // What is kept in state directories and in files must be found again by later versions.
        assert_eq!(fingerprint(b""), "cbf29ce484222325-0");
        assert_eq!(fingerprint(b"foobar"), "85944171f73967e8-6");
    }
}
