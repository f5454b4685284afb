//! What the API server shows: one watch a kind of object, each on a task of its own, and news of all of them in one line.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use kube::core::DynamicObject;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, watcher};
use kube::{Api as Watched, Client};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinSet;

use crate::job::JobWire;
use crate::operate::Options;
use crate::tell::{Listener, Told};
use crate::watched::{OURS, WatchedPod, WatchedService, group_resource};

/// Jobs that are listed at a time. Whoever is listed first need not wait for the others.
const JOBS_A_PAGE: u32 = 100;
/// What is the same as before is told again after this.
const SAME_WORDS: Duration = Duration::from_secs(30);
/// News that wait to be heard.
const LINE: usize = 1024;

/// News from the watches.
pub enum News {
    /// About a job.
    Job(watcher::Event<JobWire>),
    /// About a pod.
    Pod(watcher::Event<WatchedPod>),
    /// About a Service.
    Service(watcher::Event<WatchedService>),
    /// About a group.
    Group(watcher::Event<DynamicObject>),
}

/// Begins to watch what there is to operate.
pub fn begin(
    client: &Client,
    options: &Options,
    listener: &Arc<dyn Listener>,
) -> (JoinSet<()>, Receiver<News>) {
    let (sender, news) = mpsc::channel(LINE);
    let mut watches = JoinSet::new();
    let scope = options.namespace.as_deref();
    let told = || (Arc::clone(listener), sender.clone());
    let all = watcher::Config::default();
    let ours = all.clone().labels(OURS);
    let paged = all.clone().page_size(JOBS_A_PAGE);
    let jobs = scoped(client.clone(), scope);
    watches.spawn(follow("jobs", jobs, paged, told(), News::Job));
    let pods = scoped(client.clone(), scope);
    watches.spawn(follow("pods", pods, ours.clone(), told(), News::Pod));
    let services = scoped(client.clone(), scope);
    watches.spawn(follow("services", services, ours, told(), News::Service));
    if let Some(groups) = &options.reading.groups {
        // Theirs too: one that somebody else has made for a job is respected.
        let resource = group_resource(groups);
        let groups = match scope {
            Some(namespace) => Watched::namespaced_with(client.clone(), namespace, &resource),
            None => Watched::all_with(client.clone(), &resource),
        };
        watches.spawn(follow("groups", groups, all, told(), News::Group));
    }
    (watches, news)
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
    (listener, sender): (Arc<dyn Listener>, Sender<News>),
    wrap: fn(watcher::Event<K>) -> News,
) where
    K: kube::Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut stream = std::pin::pin!(watcher(objects, config).default_backoff());
    let mut last: Option<(String, Instant)> = None;
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => {
                if sender.send(wrap(event)).await.is_err() {
                    return;
                }
            }
            Err(error) => {
                let why = unwatched(what, &error);
                let news = last
                    .as_ref()
                    .is_none_or(|(told, when)| *told != why || when.elapsed() >= SAME_WORDS);
                listener.told(&Told::WatchCut {
                    what,
                    why: &why,
                    news,
                });
                if news {
                    last = Some((why, Instant::now()));
                }
            }
        }
    }
}

/// Why a watch does not go on, for people.
fn unwatched(what: &str, error: &watcher::Error) -> String {
    use watcher::Error::{InitialListFailed, WatchFailed, WatchStartFailed};
    match error {
        InitialListFailed(kube::Error::Api(status)) if status.code == 404 && what == "groups" => {
            "the cluster knows no PodGroups of the scheduler that `--gang-scheduler-name` names (volcano: \
             podgroups.scheduling.volcano.sh, others: podgroups.scheduling.x-k8s.io), and nothing is done about jobs: install \
             it, or take the flag away"
                .into()
        }
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
