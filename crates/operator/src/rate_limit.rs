//! So many requests a second, where there is a limit, dealt round robin by namespace.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::permits::Permits;

/// A bucket of tokens that fills by itself. A request takes one, and waits for it if there is none.
#[derive(Debug)]
pub struct RateLimit {
    a_second: f64,
    burst: f64,
    /// One request at a time waits for the next token; the others wait for their turn to do so.
    turns: Permits,
    /// Tokens, negative while requests wait; and when that was true.
    bucket: Mutex<(f64, Instant)>,
}

impl RateLimit {
    /// So many requests a second, and so many at once after a quiet time. None for no limit.
    #[must_use]
    pub fn new(a_second: f64, burst: u32) -> Option<Self> {
        (a_second > 0.0 && a_second.is_finite()).then(|| {
            let burst = f64::from(burst.max(1));
            Self {
                a_second,
                burst,
                turns: Permits::new(1),
                bucket: Mutex::new((burst, Instant::now())),
            }
        })
    }

    /// Ends when a request may be made for that namespace.
    pub async fn turn(&self, namespace: &Arc<str>) {
        let _turn = self.turns.acquire(namespace).await;
        let wait = self.take(Instant::now());
        if !wait.is_zero() {
            sleep(wait).await;
        }
    }

    /// Takes a token; says how long to wait for it.
    fn take(&self, now: Instant) -> Duration {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let (tokens, then) = *bucket;
        let filled = tokens + now.saturating_duration_since(then).as_secs_f64() * self.a_second;
        let left = filled.min(self.burst) - 1.0;
        *bucket = (left, now);
        if left >= 0.0 {
            Duration::ZERO
        } else {
            Duration::from_secs_f64(-left / self.a_second)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_free_and_then_each_waits_its_turn() {
        let limit = RateLimit::new(10.0, 3).unwrap();
        let now = limit.bucket.lock().unwrap().1;
        let waits: Vec<u128> = (0..5).map(|_| limit.take(now).as_millis()).collect();
        assert_eq!(waits, [0, 0, 0, 100, 200]);
        // After a second there would be eight tokens, but no more than a burst is kept.
        let later = now + Duration::from_secs(1);
        let waits: Vec<u128> = (0..4).map(|_| limit.take(later).as_millis()).collect();
        assert_eq!(waits, [0, 0, 0, 100]);
    }

    #[tokio::test]
    async fn another_namespace_waits_for_few_tokens_whatever_one_asks_for() {
        let limit = Arc::new(RateLimit::new(100.0, 1).unwrap());
        let ask = |namespace: &str| {
            let (limit, namespace) = (Arc::clone(&limit), Arc::from(namespace));
            tokio::spawn(async move { limit.turn(&namespace).await })
        };
        let load: Vec<_> = (0..3000).map(|_| ask("load")).collect();
        tokio::task::yield_now().await;
        ask("other").await.unwrap();
        let served = load.iter().filter(|one| one.is_finished()).count();
        assert!(served <= 4, "{served} came before");
    }

    #[test]
    fn nothing_is_no_limit() {
        for none in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(RateLimit::new(none, 5).is_none());
        }
    }
}
