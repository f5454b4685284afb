//! Free ports below the ephemeral range that no other run takes.
