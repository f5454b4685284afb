//! The loop: watch updates in, writes out.

mod handle;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kube::Client;
use tokio::sync::mpsc::Receiver;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use trainyard_core::Time;

use crate::api::Api;
use crate::apply::{Report, apply_catching_panics};
use crate::job::Reading;
use crate::lease::{Leadership, LeaseId, hold};
use crate::notice::{Notice, Observer};
use crate::rate_limit::RateLimit;
use crate::store::{Panicked, Source, Store};
use crate::watches::{self, WatchUpdate};

/// How often it is told how much is known.
const NOW_AND_THEN: Duration = Duration::from_secs(10);

/// How an operator works.
#[derive(Clone, Debug)]
pub struct Options {
    /// Jobs of this namespace only.
    pub namespace: Option<String>,
    /// How jobs are read.
    pub reading: Reading,
    /// So many requests at a time.
    pub requests: usize,
    /// So many jobs at a time.
    pub jobs: usize,
    /// Requests a second, and so many at once after a quiet time; no limit where there is none.
    pub limit: Option<(f64, u32)>,
    /// The Lease that is to be held before anything is done; without one, this operator acts at once.
    pub lease_id: Option<LeaseId>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            namespace: None,
            reading: Reading::default(),
            requests: 32,
            jobs: 32,
            limit: None,
            lease_id: None,
        }
    }
}

/// Another operator may act now, since the Lease could not be renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the Lease could not be renewed in time, or another operator took it: another operator may act now")]
pub struct LeaseLost;

/// Operates until `stop` is over; applies that are in flight are finished, and then the Lease is given back.
pub async fn operate(
    client: Client,
    options: Options,
    observer: Arc<dyn Observer>,
    stop: impl Future<Output = ()>,
) -> Result<(), LeaseLost> {
    let (mut watches, news) = watches::begin(&client, &options, &observer);
    let (stopping, stopped) = watch::channel(false);
    let (leadership, lease) = stand(&client, options.lease_id, stopped, Arc::clone(&observer));
    let limit = options
        .limit
        .and_then(|(a_second, burst)| RateLimit::new(a_second, burst));
    let mut operator = Operator {
        api: Arc::new(Api::new(client, options.requests, limit, Arc::clone(&observer))),
        applying: JoinSet::new(),
        observer,
        unseen: unseen(&options.reading),
        unknown: BTreeSet::new(),
        kinds: options.reading.kinds.len(),
        leads: false,
        store: Store::with_slots(options.reading, options.jobs),
    };
    let ended = operator.run(&mut watches, news, leadership, stop).await;
    watches.shutdown().await;
    // Nothing is in flight any more, so the next operator may begin.
    stopping.send_replace(true);
    if let Some(lease) = lease {
        let _ = lease.await;
    }
    ended
}

/// Reaches for the Lease, where there is one to hold.
fn stand(
    client: &Client,
    lease_id: Option<LeaseId>,
    stop: watch::Receiver<bool>,
    observer: Arc<dyn Observer>,
) -> (watch::Receiver<Leadership>, Option<JoinHandle<()>>) {
    let Some(lease_id) = lease_id else {
        return (watch::channel(Leadership::Leading).1, None);
    };
    let (sender, leadership) = watch::channel(Leadership::Standby { leader: None });
    let lease = tokio::spawn(hold(client.clone(), lease_id, sender, stop, observer));
    (leadership, Some(lease))
}

/// Every watch, before its first list is complete.
fn unseen(reading: &Reading) -> Vec<Source> {
    let kinds = reading.kinds.iter().copied();
    kinds
        .flat_map(|kind| {
            let orders = kind.orders.map(|_| Source::Orders(kind));
            let boards = [Source::Boards(kind), Source::BoardPods(kind)];
            let boards = boards.into_iter().filter(|_| reading.tensorboard);
            [Source::Jobs(kind), Source::Pods(kind), Source::Services(kind)]
                .into_iter()
                .chain(orders)
                .chain(boards)
        })
        .chain(reading.network_policies.then_some(Source::Policies))
        .chain(reading.gang.apis().into_iter().map(Source::groups))
        .chain(reading.gang.queues().into_iter().map(Source::queues))
        .chain(reading.kueue.then_some(Source::Workloads))
        .chain(reading.gang.have_gates().then_some(Source::Nodes))
        .collect()
}

/// Whether jobs may be acted on. What a job has made must be known; and so must the jobs of all other kinds, one of which may have its
/// name. Jobs of one kind have different names, so those of a single kind are acted on while they are listed. A kind without a definition has
/// no jobs, and one whose jobs may not be listed has none of ours. Groups are waited for by the jobs that need them.
fn may_act(unseen: &[Source], unknown: &BTreeSet<Source>, kinds: usize) -> bool {
    let mut awaited = unseen.iter().filter(|source| !unknown.contains(source));
    awaited.all(|source| match source {
        Source::Jobs(_) => kinds == 1,
        Source::Pods(_) | Source::Services(_) => false,
        // An order is obeyed when it is seen, nothing waits for a TensorBoard, a queue only explains, and a policy that exists is found when it is to be created.
        Source::Groups(..)
        | Source::Queues(..)
        | Source::Orders(_)
        | Source::Boards(_)
        | Source::BoardPods(_)
        | Source::Policies
        | Source::Workloads
        | Source::Nodes => true,
    })
}

struct Operator {
    api: Arc<Api>,
    store: Store,
    applying: JoinSet<Report>,
    observer: Arc<dyn Observer>,
    /// What has not been seen as a whole yet.
    unseen: Vec<Source>,
    /// What the cluster had no API for, or did not let us list, when it was last asked.
    unknown: BTreeSet<Source>,
    /// How many kinds of jobs are run.
    kinds: usize,
    /// Whether it is ours to act.
    leads: bool,
}

impl Operator {
    async fn run(
        &mut self,
        watches: &mut JoinSet<()>,
        mut news: Receiver<WatchUpdate>,
        mut leadership: watch::Receiver<Leadership>,
        stop: impl Future<Output = ()>,
    ) -> Result<(), LeaseLost> {
        let mut stop = std::pin::pin!(stop);
        let mut now_and_then = tokio::time::interval(NOW_AND_THEN);
        leadership.mark_changed();
        loop {
            tokio::select! {
                () = &mut stop => break,
                Ok(()) = leadership.changed() => self.stand(&leadership.borrow_and_update().clone())?,
                Some(first) = news.recv() => {
                    self.handle(first);
                    while let Ok(more) = news.try_recv() {
                        self.handle(more);
                    }
                }
                Some(report) = self.applying.join_next() => self.absorb(report),
                // A watch goes on for ever. Who has lost one knows nothing any more.
                Some(Err(ended)) = watches.join_next() => if ended.is_panic() {
                    std::panic::resume_unwind(ended.into_panic());
                },
                () = wake_up(self.store.wake()) => {}
                _ = now_and_then.tick() => {
                    let (jobs, pods) = self.store.counts();
                    self.observer.notice(&Notice::Known { jobs, pods });
                }
            }
            self.begin();
        }
        let passes = self.applying.len();
        self.observer.notice(&Notice::Stopping { passes });
        loop {
            tokio::select! {
                report = self.applying.join_next() => match report {
                    Some(report) => self.absorb(report),
                    None => return Ok(()),
                },
                Ok(()) = leadership.changed() => self.stand(&leadership.borrow_and_update().clone())?,
            }
        }
    }

    /// Hears who is to act. What is in flight when it is lost goes no further than its present request.
    fn stand(&mut self, leadership: &Leadership) -> Result<(), LeaseLost> {
        let led = std::mem::replace(&mut self.leads, *leadership == Leadership::Leading);
        if self.leads && !led {
            self.store.start_leading();
        }
        match leadership {
            Leadership::Leading => self.observer.notice(&Notice::Leading),
            Leadership::Standby { leader } => self.observer.notice(&Notice::Standby {
                leader: leader.as_deref(),
            }),
            Leadership::Lost => {
                self.applying.abort_all();
                return Err(LeaseLost);
            }
        }
        Ok(())
    }

    fn absorb(&mut self, report: Result<Report, tokio::task::JoinError>) {
        match report {
            Ok(report) => self.store.applied(report, now()),
            // Passes catch their own panics.
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => {}
        }
    }

    /// Starts what is to be done, as far as there is room for it.
    fn begin(&mut self) {
        if !self.leads {
            return self.store.stop_leading();
        }
        if !may_act(&self.unseen, &self.unknown, self.kinds) {
            return;
        }
        while let Some(writes) = self.store.next(now()) {
            let (api, observer) = (Arc::clone(&self.api), Arc::clone(&self.observer));
            self.applying.spawn(apply_catching_panics(api, observer, writes));
        }
        for Panicked { job, words, wait } in self.store.take_panics() {
            self.observer.notice(&Notice::Panicked {
                job: &job,
                words: &words,
                wait,
            });
        }
        let queued = self.store.queued();
        let active = self.applying.len();
        self.observer.notice(&Notice::Load { queued, active });
    }
}

/// Whole seconds, as everywhere.
fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(since.as_secs())
}

/// Ends when that second begins.
async fn wake_up(at: Option<Time>) {
    let Some(at) = at else {
        return std::future::pending().await;
    };
    // A status may name a time that no clock reaches.
    let Some(moment) = UNIX_EPOCH.checked_add(Duration::from_secs(at.0)) else {
        return std::future::pending().await;
    };
    let left = moment.duration_since(SystemTime::now()).unwrap_or_default();
    tokio::time::sleep(left).await;
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    #[test]
    fn jobs_are_acted_on_once_those_of_all_kinds_and_their_objects_are_listed() {
        use crate::kinds::t9k::KIND as T9K;
        use crate::kinds::tfjob::KIND as TFJOB;

        let (jobs, others) = (Source::Jobs(&TFJOB), Source::Jobs(&T9K));
        let groups = Source::Groups("podgroups", "scheduling.volcano.sh");
        let rows = [
            (vec![jobs], vec![], 1, true),
            (vec![jobs, groups], vec![], 1, true),
            (vec![Source::Pods(&TFJOB)], vec![], 1, false),
            (vec![Source::Services(&TFJOB)], vec![], 1, false),
            (vec![jobs], vec![], 2, false),
            (vec![others], vec![], 2, false),
            (vec![others], vec![others], 2, true),
            (vec![jobs, others], vec![others], 2, false),
            (vec![], vec![], 2, true),
        ];
        for (unseen, unknown, kinds, expected) in rows {
            let known = may_act(&unseen, &unknown.iter().copied().collect(), kinds);
            assert_eq!(known, expected, "{unseen:?} {unknown:?} {kinds}");
        }
    }

    #[tokio::test]
    async fn a_time_that_never_comes_is_waited_for() {
        for at in [u64::MAX, u64::MAX / 2, u64::MAX / 2 + 1, 253_402_300_800] {
            let woken = timeout(Duration::from_millis(1), wake_up(Some(Time(at)))).await;
            assert!(woken.is_err(), "{at}");
        }
        wake_up(Some(Time(0))).await;
    }
}
