//! The loop: watches in, passes out.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kube::Client;
use kube::runtime::watcher::Event::{Apply, Delete, Init, InitApply, InitDone};
use tokio::sync::mpsc::Receiver;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use trainyard_core::Time;

use crate::api::Api;
use crate::guarded::Guarded;
use crate::job::Reading;
use crate::lease::{Seat, Standing, hold};
use crate::limit::Limit;
use crate::pass::{Report, carry_out_caught};
use crate::tell::{Listener, Told};
use crate::watches::{self, News};
use crate::yard::{Panicked, Yard};

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
    pub seat: Option<Seat>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            namespace: None,
            reading: Reading::default(),
            requests: 32,
            jobs: 32,
            limit: None,
            seat: None,
        }
    }
}

/// Another operator may act now, since the Lease could not be renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the Lease could not be renewed in time, or somebody else took it: another operator may act now")]
pub struct Lost;

/// Operates until `stop` is over; passes that are under way are finished, and then the Lease is given back.
pub async fn operate(
    client: Client,
    options: Options,
    listener: Arc<dyn Listener>,
    stop: impl Future<Output = ()>,
) -> Result<(), Lost> {
    let (watching, may_watch) = watch::channel(false);
    let (mut watches, news) = watches::begin(&client, &options, &listener, &may_watch);
    let (stopping, stopped) = watch::channel(false);
    // What another operator has made since we listed is known by the watches alone.
    let others = watching.clone();
    let (standing, lease) = stand(&client, options.seat, stopped, others, Arc::clone(&listener));
    let limit = options
        .limit
        .and_then(|(a_second, burst)| Limit::new(a_second, burst));
    let mut operator = Operator {
        api: Arc::new(Api::new(client, options.requests, limit, Arc::clone(&listener))),
        passes: JoinSet::new(),
        listener,
        unseen: [Kind::Jobs, Kind::Pods, Kind::Services]
            .into_iter()
            .chain(options.reading.groups.is_some().then_some(Kind::Groups))
            .collect(),
        leads: false,
        watching,
        yard: Yard::with_slots(options.reading, options.jobs),
    };
    let ended = operator.run(&mut watches, news, standing, stop).await;
    watches.shutdown().await;
    // Nothing is under way any more, so whoever waits may begin.
    stopping.send_replace(true);
    if let Some(lease) = lease {
        let _ = lease.await;
    }
    ended
}

/// Reaches for the Lease, where there is one to hold.
fn stand(
    client: &Client,
    seat: Option<Seat>,
    stop: watch::Receiver<bool>,
    others: watch::Sender<bool>,
    listener: Arc<dyn Listener>,
) -> (watch::Receiver<Standing>, Option<JoinHandle<()>>) {
    let Some(seat) = seat else {
        return (watch::channel(Standing::Leading).1, None);
    };
    let (sender, standing) = watch::channel(Standing::By { leader: None });
    let lease = tokio::spawn(hold(client.clone(), seat, sender, stop, others, listener));
    (standing, Some(lease))
}

/// Kinds of objects that are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Jobs,
    Pods,
    Services,
    Groups,
}

struct Operator {
    api: Arc<Api>,
    yard: Yard,
    passes: JoinSet<Report>,
    listener: Arc<dyn Listener>,
    /// What has not been seen as a whole yet.
    unseen: Vec<Kind>,
    /// Whether it is ours to act.
    leads: bool,
    /// Whether every watch may begin.
    watching: watch::Sender<bool>,
}

impl Operator {
    async fn run(
        &mut self,
        watches: &mut JoinSet<()>,
        mut news: Receiver<News>,
        mut standing: watch::Receiver<Standing>,
        stop: impl Future<Output = ()>,
    ) -> Result<(), Lost> {
        let mut stop = std::pin::pin!(stop);
        let mut now_and_then = tokio::time::interval(NOW_AND_THEN);
        standing.mark_changed();
        loop {
            tokio::select! {
                () = &mut stop => break,
                Ok(()) = standing.changed() => self.stand(&standing.borrow_and_update().clone())?,
                Some(first) = news.recv() => {
                    self.hear(first);
                    while let Ok(more) = news.try_recv() {
                        self.hear(more);
                    }
                }
                Some(report) = self.passes.join_next() => self.absorb(report),
                // A watch goes on for ever. Who has lost one knows nothing any more.
                Some(Err(ended)) = watches.join_next() => if ended.is_panic() {
                    std::panic::resume_unwind(ended.into_panic());
                },
                () = wake_up(self.yard.wake()) => {}
                _ = now_and_then.tick() => {
                    let (jobs, pods) = self.yard.counts();
                    self.listener.told(&Told::Known { jobs, pods });
                }
            }
            self.begin();
        }
        let passes = self.passes.len();
        self.listener.told(&Told::Stopping { passes });
        loop {
            tokio::select! {
                report = self.passes.join_next() => match report {
                    Some(report) => self.absorb(report),
                    None => return Ok(()),
                },
                Ok(()) = standing.changed() => self.stand(&standing.borrow_and_update().clone())?,
            }
        }
    }

    /// Hears who is to act. What is under way when it is lost goes no further than its present request.
    fn stand(&mut self, standing: &Standing) -> Result<(), Lost> {
        let led = std::mem::replace(&mut self.leads, *standing == Standing::Leading);
        if self.leads && !led {
            self.yard.stand_up();
        }
        match standing {
            Standing::Leading => self.listener.told(&Told::Leading),
            Standing::By { leader } => self.listener.told(&Told::StandingBy {
                leader: leader.as_deref(),
            }),
            Standing::Lost => {
                self.passes.abort_all();
                return Err(Lost);
            }
        }
        Ok(())
    }

    fn absorb(&mut self, report: Result<Report, tokio::task::JoinError>) {
        match report {
            Ok(report) => self.yard.reported(report, now()),
            // Passes catch their own panics.
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => {}
        }
    }

    /// Starts what is to be done, as far as there is room for it.
    fn begin(&mut self) {
        if !self.leads {
            return self.yard.stand_by();
        }
        if self.unseen.iter().any(|kind| *kind != Kind::Jobs) {
            // What a job has made is not known yet. Other jobs need not be.
            return;
        }
        while let Some(pass) = self.yard.next(now()) {
            let (api, listener) = (Arc::clone(&self.api), Arc::clone(&self.listener));
            self.passes.spawn(carry_out_caught(api, listener, pass));
        }
        for Panicked { job, words, wait } in self.yard.take_panics() {
            self.listener.told(&Told::Panicked {
                job: &job,
                words: &words,
                wait,
            });
        }
        let queued = self.yard.queued();
        if queued == 0 && self.unseen.is_empty() {
            // The first wave is over.
            self.watching
                .send_if_modified(|begun| !std::mem::replace(begun, true));
        }
        let active = self.passes.len();
        self.listener.told(&Told::Load { queued, active });
    }

    fn hear(&mut self, news: News) {
        match news {
            News::Job(Init) => self.yard.jobs_begin(),
            // One without a name cannot be asked for, nor written.
            News::Job(InitApply(job) | Apply(job)) if job.metadata.name.is_none() => {}
            News::Job(InitApply(job) | Apply(job)) => self.yard.job_seen(job),
            News::Job(Delete(job)) => self.yard.job_gone(&job),
            News::Job(InitDone) => {
                self.yard.jobs_end();
                self.seen(Kind::Jobs);
            }
            News::Pod(Init) => self.yard.pods_begin(),
            News::Pod(InitApply(pod) | Apply(pod)) => self.yard.pod_seen(pod.seen),
            News::Pod(Delete(pod)) => self.yard.pod_gone(&pod.seen),
            News::Pod(InitDone) => {
                self.yard.pods_end();
                self.seen(Kind::Pods);
            }
            News::Service(Init) => self.yard.services_begin(),
            News::Service(InitApply(Guarded(Ok(service))) | Apply(Guarded(Ok(service)))) => {
                self.yard.service_seen(service.into());
            }
            News::Service(Delete(Guarded(Ok(service)))) => self.yard.service_gone(&service.into()),
            News::Service(InitDone) => {
                self.yard.services_end();
                self.seen(Kind::Services);
            }
            News::Group(Init) => self.yard.groups_begin(),
            News::Group(InitApply(Guarded(Ok(group))) | Apply(Guarded(Ok(group)))) => {
                self.yard.group_seen(group.into());
            }
            News::Group(Delete(Guarded(Ok(group)))) => self.yard.group_gone(&group.into()),
            News::Group(InitDone) => {
                self.yard.groups_end();
                self.seen(Kind::Groups);
            }
            // One that cannot be read does not exist for us; that it cannot has been told.
            News::Service(InitApply(_) | Apply(_) | Delete(_))
            | News::Group(InitApply(_) | Apply(_) | Delete(_)) => {}
        }
    }

    fn seen(&mut self, kind: Kind) {
        let before = self.unseen.len();
        self.unseen.retain(|unseen| *unseen != kind);
        if self.unseen.is_empty() && before > 0 {
            let (jobs, pods) = self.yard.counts();
            self.listener.told(&Told::Ready { jobs, pods });
        }
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

    #[tokio::test]
    async fn a_time_that_never_comes_is_waited_for() {
        for at in [u64::MAX, u64::MAX / 2, u64::MAX / 2 + 1, 253_402_300_800] {
            let woken = timeout(Duration::from_millis(1), wake_up(Some(Time(at)))).await;
            assert!(woken.is_err(), "{at}");
        }
        wake_up(Some(Time(0))).await;
    }
}
