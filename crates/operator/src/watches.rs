//! The watches: one per kind of object, each on a task of its own, with the updates of all in one channel.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::core::{ApiResource, DynamicObject, DynamicResourceScope};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, watcher};
use kube::{Api as Watched, Client};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinSet;
use trainyard_cluster::told;
use trainyard_manifest::gang::{GroupApi, QueueApi};
use trainyard_manifest::isolation;
use trainyard_manifest::tensorboard::{KIND_LABEL, PART, PART_LABEL};

use crate::guarded::{Guarded, MaybeReadable};
use crate::job::JobWire;
use crate::kinds::Kind;
use crate::notice::{Notice, Observer};
use crate::operate::Options;
use crate::order::OrderApi;
use crate::store::Source;
use crate::watched::{
    WatchedNode, WatchedPod, WatchedService, group_resource, job_resource, order_resource, queue_resource,
};
use crate::workload::workload_resource;

/// Jobs per page of a list, so that the first jobs are reconciled before the last are listed.
const JOBS_PER_PAGE: u32 = 100;
/// Nodes per page of a list.
const NODES_PER_PAGE: u32 = 100;
/// What is the same as before is told again after this.
const SAME_WORDS: Duration = Duration::from_secs(30);
/// News that wait to be heard.
const LINE: usize = 1024;

/// News from the watches.
#[expect(
    clippy::large_enum_variant,
    reason = "most updates are pods: a box would cost an allocation for each"
)]
pub enum WatchUpdate {
    /// A job of a kind.
    Job(&'static Kind, watcher::Event<JobWire>),
    /// A pod with the label of a kind.
    Pod(&'static Kind, watcher::Event<WatchedPod>),
    /// A Service with the label of a kind.
    Service(&'static Kind, watcher::Event<Guarded<WatchedService>>),
    /// An object that gives an order to a job of a kind.
    Order(&'static Kind, watcher::Event<Guarded<DynamicObject>>),
    /// The Deployment of a TensorBoard, with the label of a kind.
    Board(&'static Kind, watcher::Event<Guarded<DynamicObject>>),
    /// The NetworkPolicy of an isolated job.
    Policy(watcher::Event<Guarded<DynamicObject>>),
    /// The pod of a TensorBoard of a job of a kind.
    BoardPod(&'static Kind, watcher::Event<Guarded<DynamicObject>>),
    /// A group object of this API.
    Group(&'static GroupApi, watcher::Event<Guarded<DynamicObject>>),
    /// A queue of this API, in which groups are.
    Queue(&'static QueueApi, watcher::Event<Guarded<DynamicObject>>),
    /// What stands for a job in a queue of Kueue's.
    Workload(watcher::Event<Guarded<DynamicObject>>),
    /// A node.
    Node(watcher::Event<WatchedNode>),
    /// The cluster has no API for these objects. The watch is begun again by itself.
    Unknown(Source),
}

/// Begins to watch what there is to operate.
pub fn begin(
    client: &Client,
    options: &Options,
    observer: &Arc<dyn Observer>,
) -> (JoinSet<()>, Receiver<WatchUpdate>) {
    let (sender, news) = mpsc::channel(LINE);
    let mut watches = JoinSet::new();
    let scope = options.namespace.as_deref();
    let ears = || (Arc::clone(observer), sender.clone());
    let all = watcher::Config::default();
    for kind in options.reading.kinds.iter().copied() {
        let (key, value) = kind.api.labels.selector;
        let ours = all.clone().labels(&format!("{key}={value}"));
        let paged = all.clone().page_size(JOBS_PER_PAGE);
        let jobs = scoped_with(client.clone(), scope, &job_resource(kind.api));
        let wrap = move |event| WatchUpdate::Job(kind, event);
        let what = (Source::Jobs(kind), no_jobs(kind));
        watches.spawn(follow(what, jobs, paged, ears(), wrap));
        let pods = scoped_with(client.clone(), scope, &ApiResource::erase::<Pod>(&()));
        let wrap = move |event| WatchUpdate::Pod(kind, event);
        let what = (Source::Pods(kind), String::new());
        watches.spawn(follow(what, pods, ours.clone(), ears(), wrap));
        let services = match scope {
            Some(namespace) => Watched::namespaced(client.clone(), namespace),
            None => Watched::all(client.clone()),
        };
        let wrap = move |event| WatchUpdate::Service(kind, event);
        let what = (Source::Services(kind), String::new());
        watches.spawn(follow(what, services, ours, ears(), wrap));
        if options.reading.tensorboard {
            begin_boards(&mut watches, (client, scope), kind, &ears);
        }
        if let Some(orders) = kind.orders {
            let objects = scoped_with(client.clone(), scope, &order_resource(orders));
            let wrap = move |event| WatchUpdate::Order(kind, event);
            let what = (Source::Orders(kind), no_orders(kind, orders));
            watches.spawn(follow(what, objects, all.clone(), ears(), wrap));
        }
    }
    if options.reading.network_policies {
        let policies = all.clone().labels(&format!("{PART_LABEL}={}", isolation::PART));
        let objects = scoped_with(client.clone(), scope, &ApiResource::erase::<NetworkPolicy>(&()));
        let what = (Source::Policies, String::new());
        watches.spawn(follow(what, objects, policies, ears(), WatchUpdate::Policy));
    }
    for api in options.reading.gang.apis() {
        // Without a selector: a group that a user has made for a job is respected.
        let groups = scoped_with(client.clone(), scope, &group_resource(api));
        let wrap = |event| WatchUpdate::Group(api, event);
        let what = (Source::groups(api), no_groups(api));
        watches.spawn(follow(what, groups, all.clone(), ears(), wrap));
    }
    for api in options.reading.gang.queues() {
        let queues = Watched::all_with(client.clone(), &queue_resource(api));
        let wrap = |event| WatchUpdate::Queue(api, event);
        let what = (Source::queues(api), no_queues(api));
        watches.spawn(follow(what, queues, all.clone(), ears(), wrap));
    }
    if options.reading.kueue {
        // Without a selector: one that Kueue's own integration has made for a job is respected.
        let workloads = scoped_with(client.clone(), scope, &workload_resource());
        let what = (Source::Workloads, NO_WORKLOADS.to_owned());
        watches.spawn(follow(
            what,
            workloads,
            all.clone(),
            ears(),
            WatchUpdate::Workload,
        ));
    }
    if options.reading.gang.have_gates() {
        // A node with its images is some ten kilobytes.
        let paged = all.page_size(NODES_PER_PAGE);
        let nodes = Watched::all_with(client.clone(), &ApiResource::erase::<Node>(&()));
        let what = (Source::Nodes, String::new());
        watches.spawn(follow(what, nodes, paged, ears(), WatchUpdate::Node));
    }
    (watches, news)
}

/// Begins to watch the `TensorBoard`s of a kind's jobs: their Deployments, and their pods, which say why one is not ready.
fn begin_boards(
    watches: &mut JoinSet<()>,
    (client, scope): (&Client, Option<&str>),
    kind: &'static Kind,
    ears: &impl Fn() -> (Arc<dyn Observer>, Sender<WatchUpdate>),
) {
    let of_boards = |label: &str, value: &str| {
        watcher::Config::default().labels(&format!("{label}={value},{PART_LABEL}={PART}"))
    };
    let (key, value) = kind.api.labels.selector;
    let deployments = scoped_with(client.clone(), scope, &ApiResource::erase::<Deployment>(&()));
    let wrap = move |event| WatchUpdate::Board(kind, event);
    let what = (Source::Boards(kind), String::new());
    watches.spawn(follow(what, deployments, of_boards(key, value), ears(), wrap));
    let pods = scoped_with(client.clone(), scope, &ApiResource::erase::<Pod>(&()));
    let wrap = move |event| WatchUpdate::BoardPod(kind, event);
    let what = (Source::BoardPods(kind), String::new());
    watches.spawn(follow(
        what,
        pods,
        of_boards(KIND_LABEL, kind.api.word),
        ears(),
        wrap,
    ));
}

fn scoped_with<K>(client: Client, namespace: Option<&str>, resource: &K::DynamicType) -> Watched<K>
where
    K: kube::Resource<Scope = DynamicResourceScope>,
{
    match namespace {
        Some(namespace) => Watched::namespaced_with(client, namespace, resource),
        None => Watched::all_with(client, resource),
    }
}

/// Forwards what a watch shows until the receiver is dropped. A watch that is cut begins again. `unknown` is what is said where the cluster
/// has no API for its objects.
async fn follow<K>(
    (source, unknown): (Source, String),
    objects: Watched<K>,
    config: watcher::Config,
    (observer, sender): (Arc<dyn Observer>, Sender<WatchUpdate>),
    wrap: impl Fn(watcher::Event<K>) -> WatchUpdate,
) where
    K: kube::Resource + MaybeReadable + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let what = source.objects();
    let mut stream = std::pin::pin!(watcher(objects, config).default_backoff());
    let mut complaints = Complaints::default();
    let mut unreadable = Complaints::default();
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => {
                tell_unreadable(what, &event, &mut unreadable, &*observer);
                if sender.send(wrap(event)).await.is_err() {
                    return;
                }
            }
            Err(error) => {
                let is_unknown = is_refused(&error, 404) && !unknown.is_empty();
                let why = if is_unknown {
                    unknown.clone()
                } else if source == Source::Nodes {
                    format!("{}; {NO_NODES}", unwatched(&error))
                } else {
                    unwatched(&error)
                };
                let is_unknown = is_unknown || may_be_missing(source) && is_refused(&error, 403);
                // Jobs without gangs go on where groups are unknown, or may not be listed: that is told once.
                let once = is_unknown && source.is_optional();
                let again = if once { Duration::MAX } else { SAME_WORDS };
                let news = complaints.is_news(&why, Instant::now(), again);
                if is_unknown && sender.send(WatchUpdate::Unknown(source)).await.is_err() {
                    return;
                }
                observer.notice(&Notice::WatchCut {
                    what,
                    why: &why,
                    news,
                });
            }
        }
    }
}

/// Tells of an object that cannot be read.
fn tell_unreadable<K: kube::Resource + MaybeReadable>(
    what: &'static str,
    event: &watcher::Event<K>,
    complaints: &mut Complaints,
    observer: &dyn Observer,
) {
    let (watcher::Event::Apply(object) | watcher::Event::InitApply(object)) = event else {
        return;
    };
    let Some(why) = object.unreadable() else { return };
    let metadata = object.meta();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let which = format!("{}/{}", text(&metadata.namespace), text(&metadata.name));
    let news = complaints.is_news(&which, Instant::now(), SAME_WORDS);
    observer.notice(&Notice::Unreadable {
        what,
        which: &which,
        why,
        news,
    });
}

/// What was last complained about, and when.
#[derive(Default)]
struct Complaints(Option<(String, Instant)>);

impl Complaints {
    /// Whether this is worth a line, since a watch is tried again every second: the same words are so again only after `again`.
    fn is_news(&mut self, why: &str, now: Instant, again: Duration) -> bool {
        let known = self.0.as_ref();
        let news = known.is_none_or(|(told, when)| told != why || now - *when >= again);
        if news {
            self.0 = Some((why.to_owned(), now));
        }
        news
    }
}

/// What is said where the cluster does not know Workloads.
const NO_WORKLOADS: &str = "the cluster knows no workloads.kueue.x-k8s.io (v1beta2), which `--kueue` asks for, and jobs with a queue \
     wait: install Kueue 0.15 or later, since older ones serve v1beta1 alone, or leave the flag out";

/// What follows where nodes cannot be watched.
const NO_NODES: &str = "until nodes can be listed, gangs by gates take turns as if all of them competed for the same nodes, and none is told \
     whether it would fit: `trainyard install` with `--gang gates` gives the right to list and watch nodes";

/// What is said where the cluster does not know a kind.
fn no_jobs(kind: &Kind) -> String {
    format!(
        "the cluster knows no {}: `{}` tells it",
        kind.api.definition_name(),
        kind.api.install_command()
    )
}

/// What is said where the cluster does not know the objects that give orders.
fn no_orders(kind: &Kind, orders: &OrderApi) -> String {
    format!(
        "the cluster knows no {}.{}, by which jobs are given orders: `{}` tells it",
        orders.plural,
        orders.group,
        kind.api.install_command()
    )
}

/// What is said where the cluster does not know the groups of a chosen scheduler.
fn no_groups(api: &GroupApi) -> String {
    format!(
        "the cluster knows no {} ({}), which `--gang-scheduler-name` asks for, and jobs that are placed by that scheduler wait: {}; or take \
         it out of the flag",
        api.resource(),
        api.version,
        api.help
    )
}

/// What is said where the cluster does not know the queues of a chosen scheduler.
fn no_queues(api: &QueueApi) -> String {
    format!(
        "the cluster knows no {} ({}): `status.waiting` does not tell which queue a job's group waits for",
        api.resource(),
        api.version
    )
}

/// Whether the first list was answered with this code: 404 where the cluster has no API for what is watched.
fn is_refused(error: &watcher::Error, code: u16) -> bool {
    matches!(error, watcher::Error::InitialListFailed(kube::Error::Api(status)) if status.code == code)
}

/// Whether other jobs can be run while objects of this source may not be listed: those of other kinds, and those without a group.
fn may_be_missing(source: Source) -> bool {
    !matches!(source, Source::Pods(_) | Source::Services(_))
}

/// Why a watch does not go on, for people.
fn unwatched(error: &watcher::Error) -> String {
    use watcher::Error::{InitialListFailed, WatchFailed, WatchStartFailed};
    match error {
        InitialListFailed(error) | WatchStartFailed(error) | WatchFailed(error) => match error {
            kube::Error::Api(status) => status.message.clone(),
            other => told(other),
        },
        other => told(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_complaint_is_told_now_and_then() {
        let begun = Instant::now();
        let mut complaints = Complaints::default();
        let rows = [
            ("a", 0, true),
            ("a", 1, false),
            ("a", 29, false),
            ("a", 30, true),
            ("a", 31, false),
            ("b", 32, true),
            ("a", 33, true),
        ];
        for (why, second, expected) in rows {
            let now = begun + Duration::from_secs(second);
            assert_eq!(
                complaints.is_news(why, now, SAME_WORDS),
                expected,
                "{why} at {second}"
            );
        }
        let much_later = begun + Duration::from_secs(1_000_000);
        assert!(!complaints.is_news("a", much_later, Duration::MAX), "told once");
    }
}
