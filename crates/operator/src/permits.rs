//! So many requests at a time, dealt round robin by namespace.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::fair_queue::FairQueue;

/// Permits, of which one namespace may have all while no other waits for one.
#[derive(Clone, Debug)]
pub struct Permits(Arc<Mutex<PermitState>>);

#[derive(Debug)]
struct PermitState {
    free: usize,
    /// Nothing waits while a permit is free.
    waiting: FairQueue<oneshot::Sender<Permit>>,
}

/// Given back when it is dropped.
#[derive(Debug)]
pub struct Permit(Option<Permits>);

impl Permits {
    /// So many.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Mutex::new(PermitState {
            free: most.max(1),
            waiting: FairQueue::default(),
        })))
    }

    /// Ends when there is a permit for that namespace.
    pub async fn acquire(&self, namespace: &Arc<str>) -> Permit {
        let permit = {
            let mut state = self.state();
            if state.free > 0 {
                state.free -= 1;
                return Permit(Some(self.clone()));
            }
            let (sender, permit) = oneshot::channel();
            state.waiting.push(namespace, sender);
            permit
        };
        // A sender is dropped only with the permits, of which we hold a handle.
        permit.await.unwrap_or(Permit(None))
    }

    /// Hands a permit to the next one that waits and has not given up.
    fn release(self) {
        let mut permit = Permit(Some(self.clone()));
        loop {
            let next = {
                let mut state = self.state();
                let next = state.waiting.take();
                if next.is_none() {
                    state.free += 1;
                    permit.0 = None;
                }
                next
            };
            let Some(next) = next else { return };
            match next.send(permit) {
                Ok(()) => return,
                Err(unwanted) => permit = unwanted,
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, PermitState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(permits) = self.0.take() {
            permits.release();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    type Asking<'a> = Pin<Box<dyn Future<Output = Permit> + 'a>>;

    fn name(number: u8) -> Arc<str> {
        format!("ns-{number}").into()
    }

    fn ask(permits: &Permits, number: u8) -> Asking<'_> {
        Box::pin(async move { permits.acquire(&name(number)).await })
    }

    fn poll(asking: &mut Asking<'_>) -> Option<Permit> {
        match asking.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(permit) => Some(permit),
            Poll::Pending => None,
        }
    }

    proptest! {
        /// Whatever one namespace has asked for, another one has its permit as soon as one is given back for each namespace that waits.
        #[test]
        fn another_namespace_has_its_permit_within_a_bound(
            most in 1usize..64,
            load in 0usize..500,
            others in vec(1u8..6, 0..40),
            given_up in vec(any::<bool>(), 500),
        ) {
            let permits = Permits::new(most);
            let mut held = Vec::new();
            let mut asking = Vec::new();
            for number in std::iter::repeat_n(0, most + load).chain(others.iter().copied()) {
                let mut one = ask(&permits, number);
                match poll(&mut one) {
                    Some(permit) => held.push(permit),
                    None => asking.push(one),
                }
            }
            prop_assert_eq!(held.len(), most, "one namespace may have all of them");
            let mut of_another = ask(&permits, 9);
            prop_assert!(poll(&mut of_another).is_none());
            let mut keep = given_up.into_iter();
            asking.retain(|_| keep.next().unwrap_or(true));
            let mut distinct = others;
            distinct.sort_unstable();
            distinct.dedup();
            let bound = distinct.len() + 2;
            let mut given_back = 0;
            let dealt = loop {
                prop_assert!(given_back < bound, "no permit after {given_back}");
                held.pop();
                given_back += 1;
                asking.retain_mut(|one| match poll(one) {
                    Some(permit) => {
                        held.push(permit);
                        false
                    }
                    None => true,
                });
                if let Some(permit) = poll(&mut of_another) {
                    break permit;
                }
            };
            drop(dealt);
        }
    }

    #[test]
    fn a_permit_for_a_request_that_was_given_up_goes_to_the_next() {
        let permits = Permits::new(1);
        let first = poll(&mut ask(&permits, 0)).unwrap();
        let (mut given_up, mut dealt) = (ask(&permits, 1), ask(&permits, 2));
        let mut next = ask(&permits, 3);
        for one in [&mut given_up, &mut dealt, &mut next] {
            assert!(poll(one).is_none());
        }
        drop(given_up);
        drop(first);
        // It was dealt to the second, which never looks at it.
        drop(dealt);
        drop(poll(&mut next).expect("a permit that was not taken"));
        assert!(poll(&mut ask(&permits, 0)).is_some());
    }
}
