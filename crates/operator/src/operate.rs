//! The loop: watches in, passes out.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::StreamExt as _;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, watcher};
use kube::{Api as Watched, Client};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use trainyard_core::Time;

use crate::api::Api;
use crate::job::{JobWire, Reading};
use crate::lease::{Seat, Standing, hold};
use crate::limit::Limit;
use crate::pass::{Report, carry_out};
use crate::tell::{Listener, Told};
use crate::watched::{OURS, WatchedPod, WatchedService};
use crate::yard::Yard;

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

/// News from the watches.
enum News {
    Job(watcher::Event<JobWire>),
    Pod(watcher::Event<WatchedPod>),
    Service(watcher::Event<WatchedService>),
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
    let (sender, news) = mpsc::channel(1024);
    let mut watches = JoinSet::new();
    let scope = options.namespace.as_deref();
    let jobs = scoped(client.clone(), scope);
    let pods = scoped(client.clone(), scope);
    let all = watcher::Config::default();
    let ours = watcher::Config::default().labels(OURS);
    let told = Arc::clone(&listener);
    watches.spawn(follow("jobs", jobs, all, told, sender.clone(), News::Job));
    let told = Arc::clone(&listener);
    watches.spawn(follow(
        "pods",
        pods,
        ours.clone(),
        told,
        sender.clone(),
        News::Pod,
    ));
    let told = Arc::clone(&listener);
    let services = scoped(client.clone(), scope);
    watches.spawn(follow("services", services, ours, told, sender, News::Service));
    let (stopping, stopped) = watch::channel(false);
    let (standing, lease) = stand(&client, options.seat, stopped, Arc::clone(&listener));
    let limit = options
        .limit
        .and_then(|(a_second, burst)| Limit::new(a_second, burst));
    let mut operator = Operator {
        api: Arc::new(Api::new(client, options.requests, limit, Arc::clone(&listener))),
        yard: Yard::new(options.reading),
        passes: JoinSet::new(),
        most: options.jobs,
        listener,
        unseen: Unseen::ALL,
        leads: false,
    };
    let ended = operator.run(news, standing, stop).await;
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
    listener: Arc<dyn Listener>,
) -> (watch::Receiver<Standing>, Option<JoinHandle<()>>) {
    let Some(seat) = seat else {
        return (watch::channel(Standing::Leading).1, None);
    };
    let (sender, standing) = watch::channel(Standing::By { leader: None });
    let lease = tokio::spawn(hold(client.clone(), seat, sender, stop, listener));
    (standing, Some(lease))
}

/// Kinds of objects of which not all have been seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unseen {
    jobs: bool,
    pods: bool,
    services: bool,
}

impl Unseen {
    const ALL: Self = Self {
        jobs: true,
        pods: true,
        services: true,
    };
    const NONE: Self = Self {
        jobs: false,
        pods: false,
        services: false,
    };
}

struct Operator {
    api: Arc<Api>,
    yard: Yard,
    passes: JoinSet<Report>,
    most: usize,
    listener: Arc<dyn Listener>,
    /// What has not been seen as a whole yet. Until it has, nothing is decided.
    unseen: Unseen,
    /// Whether it is ours to act.
    leads: bool,
}

impl Operator {
    async fn run(
        &mut self,
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
                // Without room for another pass, nothing would come of it.
                () = wake_up(self.yard.wake()), if self.passes.len() < self.most => {}
                _ = now_and_then.tick() => {
                    let (jobs, pods) = self.yard.counts();
                    self.listener.told(&Told::Known { jobs, pods });
                }
            }
            self.begin();
        }
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
            // Its job would wait for ever; whoever starts us again looks at all of them anew.
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => {}
        }
    }

    /// Starts what is to be done, as far as there is room for it.
    fn begin(&mut self) {
        if !self.leads {
            return self.yard.stand_by();
        }
        if self.unseen != Unseen::NONE {
            return;
        }
        while self.passes.len() < self.most {
            let Some(pass) = self.yard.next(now()) else { break };
            self.passes
                .spawn(carry_out(Arc::clone(&self.api), Arc::clone(&self.listener), pass));
        }
        self.listener.told(&Told::Load {
            queued: self.yard.queued(),
            active: self.passes.len(),
        });
    }

    fn hear(&mut self, news: News) {
        use watcher::Event::{Apply, Delete, Init, InitApply, InitDone};
        match news {
            News::Job(Init) => self.yard.jobs_begin(),
            News::Job(InitApply(job) | Apply(job)) => self.yard.job_seen(job),
            News::Job(Delete(job)) => self.yard.job_gone(&job),
            News::Job(InitDone) => {
                self.yard.jobs_end();
                self.seen(|unseen| unseen.jobs = false);
            }
            News::Pod(Init) => self.yard.pods_begin(),
            News::Pod(InitApply(pod) | Apply(pod)) => self.yard.pod_seen(pod.seen),
            News::Pod(Delete(pod)) => self.yard.pod_gone(&pod.seen),
            News::Pod(InitDone) => {
                self.yard.pods_end();
                self.seen(|unseen| unseen.pods = false);
            }
            News::Service(Init) => self.yard.services_begin(),
            News::Service(InitApply(service) | Apply(service)) => self.yard.service_seen(service.seen),
            News::Service(Delete(service)) => self.yard.service_gone(&service.seen),
            News::Service(InitDone) => {
                self.yard.services_end();
                self.seen(|unseen| unseen.services = false);
            }
        }
    }

    fn seen(&mut self, note: impl FnOnce(&mut Unseen)) {
        let before = self.unseen;
        note(&mut self.unseen);
        if before != self.unseen && self.unseen == Unseen::NONE {
            let (jobs, pods) = self.yard.counts();
            self.listener.told(&Told::Ready { jobs, pods });
        }
    }
}

fn scoped<K>(client: Client, namespace: Option<&str>) -> Watched<K>
where
    K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
{
    match namespace {
        Some(namespace) => Watched::namespaced(client, namespace),
        None => Watched::all(client),
    }
}

/// Passes on what a watch shows, for as long as somebody listens. A watch that is cut begins again.
async fn follow<K>(
    what: &'static str,
    objects: Watched<K>,
    config: watcher::Config,
    listener: Arc<dyn Listener>,
    sender: Sender<News>,
    wrap: fn(watcher::Event<K>) -> News,
) where
    K: kube::Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut stream = std::pin::pin!(watcher(objects, config).default_backoff());
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => {
                if sender.send(wrap(event)).await.is_err() {
                    return;
                }
            }
            Err(error) => listener.told(&Told::WatchCut {
                what,
                why: unwatched(what, &error),
            }),
        }
    }
}

/// Why a watch does not go on, for people.
fn unwatched(what: &str, error: &watcher::Error) -> String {
    use watcher::Error::{InitialListFailed, WatchFailed, WatchStartFailed};
    match error {
        InitialListFailed(kube::Error::Api(status)) if status.code == 404 && what == "jobs" => {
            "the cluster knows no TFJobs: `trainyard crd | kubectl apply --server-side --force-conflicts -f -` tells it".into()
        }
        InitialListFailed(error) | WatchStartFailed(error) | WatchFailed(error) => match error {
            kube::Error::Api(status) => status.message.clone(),
            other => whole(other),
        },
        other => whole(other),
    }
}

/// An error with everything that led to it.
fn whole(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        cause = error.source();
    }
    words
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
    let moment = UNIX_EPOCH + Duration::from_secs(at.0);
    let left = moment.duration_since(SystemTime::now()).unwrap_or_default();
    tokio::time::sleep(left).await;
}
