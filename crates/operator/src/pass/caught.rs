//! A pass that cannot end the operator.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;

use super::{Pass, Report, carry_out};
use crate::api::Api;
use crate::tell::Listener;
use crate::yard::panic_words;

/// Carries a pass out; a panic is reported like anything else that becomes of it.
pub async fn carry_out_caught(api: Arc<Api>, listener: Arc<dyn Listener>, pass: Pass) -> Report {
    let (key, uid) = (pass.key.clone(), Arc::clone(&pass.uid));
    match AssertUnwindSafe(carry_out(api, listener, pass))
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
