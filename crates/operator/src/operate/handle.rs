//! What the watches show, on its way into the store.

use kube::core::DynamicObject;
use kube::runtime::watcher::Event;
use kube::runtime::watcher::Event::{Apply, Delete, Init, InitApply, InitDone};
use trainyard_manifest::gang::{GroupApi, QueueApi};

use super::Operator;
use crate::board_pod::BoardPodSeen;
use crate::guarded::Guarded;
use crate::job::JobWire;
use crate::kinds::Kind;
use crate::notice::Notice;
use crate::order::OrderSeen;
use crate::store::{PolicySeen, Source, Store};
use crate::watched::{BoardSeen, GroupSeen, ServiceSeen, WatchedNode};
use crate::watches::WatchUpdate;
use crate::workload::WorkloadSeen;

impl Operator {
    /// Takes in one update.
    pub(super) fn handle(&mut self, news: WatchUpdate) {
        match news {
            WatchUpdate::Job(kind, event) => self.handle_job(kind, event),
            WatchUpdate::Pod(kind, event) => self.track(
                Source::Pods(kind),
                event,
                |pod| Some(pod.seen),
                |store, pod| store.pod_seen(kind, pod),
                |store, pod| store.pod_gone(kind, pod),
            ),
            WatchUpdate::Service(kind, event) => self.track(
                Source::Services(kind),
                event,
                |service| service.0.ok().map(ServiceSeen::from),
                |store, service| store.service_seen(kind, service),
                |store, service| store.service_gone(kind, service),
            ),
            WatchUpdate::Order(kind, event) => self.track(
                Source::Orders(kind),
                event,
                |object| OrderSeen::of(kind.orders?, &object.0.ok()?),
                |store, order| store.order_seen(kind, order),
                |store, order| store.order_gone(kind, order),
            ),
            WatchUpdate::Board(kind, event) => self.track(
                Source::Boards(kind),
                event,
                |object| Some(BoardSeen::of(kind.api, &object.0.ok()?)),
                |store, board| store.board_seen(kind, board),
                |store, board| store.board_gone(kind, board),
            ),
            WatchUpdate::BoardPod(kind, event) => self.track(
                Source::BoardPods(kind),
                event,
                |object| BoardPodSeen::of(&object.0.ok()?),
                |store, pod| store.board_pod_seen(kind, pod),
                |store, pod| store.board_pod_gone(kind, pod),
            ),
            WatchUpdate::Policy(event) => {
                let kinds = self.store.kinds();
                let read = |object: Guarded<DynamicObject>| PolicySeen::of(&kinds, &object.0.ok()?);
                self.track(
                    Source::Policies,
                    event,
                    read,
                    Store::policy_seen,
                    Store::policy_gone,
                );
            }
            WatchUpdate::Workload(event) => {
                let read = |object: Guarded<DynamicObject>| WorkloadSeen::of(&object.0.ok()?);
                self.track(
                    Source::Workloads,
                    event,
                    read,
                    Store::workload_seen,
                    Store::workload_gone,
                );
            }
            WatchUpdate::Node(event) => {
                let read = |node: WatchedNode| Some(node.seen);
                self.track(Source::Nodes, event, read, Store::node_seen, Store::node_gone);
            }
            WatchUpdate::Group(api, event) => self.handle_group(api, event),
            WatchUpdate::Queue(api, event) => self.handle_queue(api, event),
            WatchUpdate::Unknown(source) => {
                self.unknown.insert(source);
                self.store.api_unknown(source);
                if source.is_optional() {
                    self.seen(source);
                }
            }
        }
    }

    /// Takes in an update about objects of one source. An object that cannot be read does not exist for us; the watch has reported it.
    fn track<K, T>(
        &mut self,
        source: Source,
        event: Event<K>,
        read: impl Fn(K) -> Option<T>,
        seen: impl FnOnce(&mut Store, T),
        gone: impl FnOnce(&mut Store, &T),
    ) {
        match event {
            Init => self.store.list_begins(source),
            InitApply(object) | Apply(object) => {
                if let Some(object) = read(object) {
                    seen(&mut self.store, object);
                }
            }
            Delete(object) => {
                if let Some(object) = read(object) {
                    gone(&mut self.store, &object);
                }
            }
            InitDone => self.listed(source),
        }
    }

    fn handle_job(&mut self, kind: &'static Kind, event: Event<JobWire>) {
        match event {
            Init => self.store.list_begins(Source::Jobs(kind)),
            // One without a name cannot be asked for, nor written.
            InitApply(job) | Apply(job) if job.metadata.name.is_none() => {}
            InitApply(job) | Apply(job) => {
                // Its definition was installed, and its list goes on.
                self.unknown.remove(&Source::Jobs(kind));
                self.store.job_seen(kind, job);
            }
            Delete(job) => self.store.job_gone(kind, &job),
            InitDone => self.listed(Source::Jobs(kind)),
        }
    }

    fn handle_group(&mut self, api: &'static GroupApi, event: Event<Guarded<DynamicObject>>) {
        match event {
            Init => self.store.groups_begin(api),
            InitApply(Guarded(Ok(group))) | Apply(Guarded(Ok(group))) => {
                self.store.group_seen(GroupSeen::of(api, group));
            }
            Delete(Guarded(Ok(group))) => self.store.group_gone(&GroupSeen::of(api, group)),
            InitDone => {
                self.store.groups_end(api);
                self.listed(Source::groups(api));
            }
            InitApply(_) | Apply(_) | Delete(_) => {}
        }
    }

    fn handle_queue(&mut self, api: &'static QueueApi, event: Event<Guarded<DynamicObject>>) {
        let name = |queue: &DynamicObject| queue.metadata.name.clone().unwrap_or_default();
        match event {
            Init => self.store.queues_begin(api),
            InitApply(Guarded(Ok(queue))) | Apply(Guarded(Ok(queue))) => {
                self.store
                    .queue_seen(api, &name(&queue), (api.state)(&queue.data));
            }
            Delete(Guarded(Ok(queue))) => self.store.queue_gone(api, &name(&queue)),
            InitDone => {
                self.store.queues_end(api);
                self.listed(Source::queues(api));
            }
            InitApply(_) | Apply(_) | Delete(_) => {}
        }
    }

    fn listed(&mut self, source: Source) {
        self.store.list_ends(source);
        self.unknown.remove(&source);
        self.seen(source);
    }

    /// As much is known of these objects as there is to know.
    fn seen(&mut self, source: Source) {
        let before = self.unseen.len();
        self.unseen.retain(|unseen| *unseen != source);
        if self.unseen.is_empty() && before > 0 {
            let (jobs, pods) = self.store.counts();
            self.observer.notice(&Notice::Ready { jobs, pods });
        }
    }
}
