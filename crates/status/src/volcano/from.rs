//! Where rules come from that fields other than policies ask for; the status tells ends apart by it.

/// So many successes complete the job.
pub(crate) const MIN_SUCCESS: &str = "spec.minSuccess";
/// Everything has ended, and so many have succeeded.
pub(crate) const MIN_AVAILABLE: &str = "spec.minAvailable";
/// No restart is left.
pub(crate) const MAX_RETRY: &str = "spec.maxRetry";
