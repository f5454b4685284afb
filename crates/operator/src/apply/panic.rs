//! An apply that cannot end the operator.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;

use super::{Report, Writes, apply};
use crate::api::Api;
use crate::notice::Observer;
use crate::store::panic_words;

/// Applies writes; a panic is reported like anything else that becomes of it.
pub async fn apply_catching_panics(api: Arc<Api>, observer: Arc<dyn Observer>, writes: Writes) -> Report {
    let (key, uid) = (writes.key.clone(), Arc::clone(&writes.uid));
    match AssertUnwindSafe(apply(api, observer, writes))
        .catch_unwind()
        .await
    {
        Ok(report) => report,
        Err(panic) => Report {
            panicked: Some(panic_words(&*panic)),
            ..Report::of(key, uid)
        },
    }
}
