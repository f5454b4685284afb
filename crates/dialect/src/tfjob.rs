//! Kubeflow's `TFJob`, in every version there was.

use crate::manifest::{Object, ReadJob};

/// Reads a `TFJob`.
pub(crate) fn read(_object: &Object<'_>) -> Option<ReadJob> {
    None
}
