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
use tokio::task::JoinSet;
use trainyard_core::Time;

use crate::api::Api;
use crate::job::{JobWire, Reading};
use crate::pass::{Report, carry_out};
use crate::tell::{Listener, Told};
use crate::watched::{OUR_PODS, WatchedPod};
use crate::yard::Yard;

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
}

impl Default for Options {
    fn default() -> Self {
        Self {
            namespace: None,
            reading: Reading::default(),
            requests: 32,
            jobs: 32,
        }
    }
}

/// News from the watches.
enum News {
    Job(watcher::Event<JobWire>),
    Pod(watcher::Event<WatchedPod>),
}

/// Operates until `stop` is over; passes that are under way are finished.
pub async fn operate(
    client: Client,
    options: Options,
    listener: Arc<dyn Listener>,
    stop: impl Future<Output = ()>,
) {
    let (sender, news) = mpsc::channel(1024);
    let mut watches = JoinSet::new();
    let scope = options.namespace.as_deref();
    let jobs = scoped(client.clone(), scope);
    let pods = scoped(client.clone(), scope);
    let all = watcher::Config::default();
    let ours = watcher::Config::default().labels(OUR_PODS);
    let told = Arc::clone(&listener);
    watches.spawn(watch("jobs", jobs, all, told, sender.clone(), News::Job));
    let told = Arc::clone(&listener);
    watches.spawn(watch("pods", pods, ours, told, sender, News::Pod));
    let mut operator = Operator {
        api: Arc::new(Api::new(client, options.requests)),
        yard: Yard::new(options.reading),
        passes: JoinSet::new(),
        most: options.jobs,
        listener,
        unseen: (true, true),
    };
    operator.run(news, stop).await;
    watches.shutdown().await;
}

struct Operator {
    api: Arc<Api>,
    yard: Yard,
    passes: JoinSet<Report>,
    most: usize,
    listener: Arc<dyn Listener>,
    /// Whether all jobs, and all pods, have not been seen yet. Until they have, nothing is decided.
    unseen: (bool, bool),
}

impl Operator {
    async fn run(&mut self, mut news: Receiver<News>, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                Some(first) = news.recv() => {
                    self.hear(first);
                    while let Ok(more) = news.try_recv() {
                        self.hear(more);
                    }
                }
                Some(report) = self.passes.join_next() => self.absorb(report),
                () = wake_up(self.yard.wake()) => {}
            }
            self.begin();
        }
        while let Some(report) = self.passes.join_next().await {
            self.absorb(report);
        }
    }

    fn absorb(&mut self, report: Result<Report, tokio::task::JoinError>) {
        if let Ok(report) = report {
            self.yard.reported(report, now());
        }
    }

    /// Starts what is to be done, as far as there is room for it.
    fn begin(&mut self) {
        if self.unseen != (false, false) {
            return;
        }
        while self.passes.len() < self.most {
            let Some(pass) = self.yard.next(now()) else { break };
            self.passes
                .spawn(carry_out(Arc::clone(&self.api), Arc::clone(&self.listener), pass));
        }
    }

    fn hear(&mut self, news: News) {
        use watcher::Event::{Apply, Delete, Init, InitApply, InitDone};
        match news {
            News::Job(Init) => self.yard.jobs_begin(),
            News::Job(InitApply(job) | Apply(job)) => self.yard.job_seen(job),
            News::Job(Delete(job)) => self.yard.job_gone(&job),
            News::Job(InitDone) => {
                self.yard.jobs_end();
                self.seen(|unseen| unseen.0 = false);
            }
            News::Pod(Init) => self.yard.pods_begin(),
            News::Pod(InitApply(pod) | Apply(pod)) => self.yard.pod_seen(pod.seen),
            News::Pod(Delete(pod)) => self.yard.pod_gone(&pod.seen),
            News::Pod(InitDone) => {
                self.yard.pods_end();
                self.seen(|unseen| unseen.1 = false);
            }
        }
    }

    fn seen(&mut self, note: impl FnOnce(&mut (bool, bool))) {
        let before = self.unseen;
        note(&mut self.unseen);
        if before != self.unseen && self.unseen == (false, false) {
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
async fn watch<K>(
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
                why: error.to_string(),
            }),
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
    let moment = UNIX_EPOCH + Duration::from_secs(at.0);
    let left = moment.duration_since(SystemTime::now()).unwrap_or_default();
    tokio::time::sleep(left).await;
}
