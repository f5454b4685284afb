//! A scheduler and kubelet for one namespace that run every pod by a script, and a record of everything seen there.
//!
//! ```text
//! watches ─▶ History (every object, every version)
//!    └─▶ one PodDriver per pod: bound, running, ended, restarted in place, asked to stop, gone
//! ```
//!
//! A pod without a script runs until it is told to stop and ends a second later. All of it runs on one thread with its own
//! client, so a test may wait for something else meanwhile. [`Player`](crate::Player) is for tests that write each status
//! themselves.

mod history;
mod pod;
mod requests;
mod script;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use futures_util::{TryStreamExt as _, pin_mut};
use kube::core::WatchEvent;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::LocalSet;

pub use self::history::{History, ObjectHistory};
use self::pod::PodDriver;
use self::requests::Requests;
pub use self::script::{Disruption, ProgramEnd, Script};
use crate::api::Api;
use crate::namespace::Namespace;

/// What is watched besides jobs: the path below the namespace.
const KINDS: [(&str, &str); 3] = [("api/v1", "pods"), ("api/v1", "services"), ("api/v1", "events")];

/// Runs the pods of one namespace until it is dropped.
pub struct FakeKubelet {
    shared: Arc<Shared>,
    /// Changes that users make at their time; the thread ends when this is dropped.
    changes: Option<UnboundedSender<Change>>,
    thread: Option<JoinHandle<()>>,
}

/// What the test and the drivers of pods share.
struct Shared {
    /// The node that all pods are bound to; none where a scheduler binds them.
    node: Option<String>,
    kubeconfig: PathBuf,
    namespace: String,
    /// Version and plural of the jobs that are watched.
    jobs: (&'static str, &'static str),
    /// By pod name: its script, and the time of its second 0.
    assigned: Mutex<BTreeMap<String, Assigned>>,
    history: Mutex<History>,
}

/// What a user does, and the time at which it is sent.
struct Change {
    at: Instant,
    path: String,
    what: UserRequest,
}

/// What a user does at a path.
enum UserRequest {
    /// Changes the object by a merge patch.
    Patch(Value),
    /// Creates an object.
    Create(Value),
}

/// The script for the pods of one name, and how far they have come.
#[derive(Clone, Debug)]
struct Assigned {
    script: Script,
    begin: Instant,
    /// How many programs have been started under that name.
    programs: u32,
}

impl FakeKubelet {
    /// Runs the pods of a namespace on `node`, which must exist. Its jobs are TFJobs.
    #[must_use]
    pub fn open(namespace: &Namespace<'_>, node: &str) -> Self {
        Self::of_jobs(namespace, node, ("apis/kubeflow.org/v1", "tfjobs"))
    }

    /// The same for jobs of another kind, by version and plural.
    #[must_use]
    pub fn of_jobs(namespace: &Namespace<'_>, node: &str, jobs: (&'static str, &'static str)) -> Self {
        Self::on(namespace, Some(node.to_owned()), jobs)
    }

    /// Runs the pods of a namespace on the nodes that a scheduler gives them. Its jobs are TFJobs.
    #[must_use]
    pub fn of_scheduled(namespace: &Namespace<'_>) -> Self {
        Self::on(namespace, None, ("apis/kubeflow.org/v1", "tfjobs"))
    }

    fn on(namespace: &Namespace<'_>, node: Option<String>, jobs: (&'static str, &'static str)) -> Self {
        let shared = Arc::new(Shared {
            node,
            kubeconfig: namespace.cluster().kubeconfig(),
            namespace: namespace.name().to_owned(),
            jobs,
            assigned: Mutex::default(),
            history: Mutex::default(),
        });
        let (changes, to_come) = unbounded_channel();
        let theirs = Arc::clone(&shared);
        let thread = thread::spawn(move || perform(&theirs, to_come));
        Self {
            shared,
            changes: Some(changes),
            thread: Some(thread),
        }
    }

    /// Sets the script for the pods of that name; its seconds count from now.
    pub fn script(&self, pod: &str, script: Script) {
        let assigned = Assigned {
            script,
            begin: Instant::now(),
            programs: 0,
        };
        self.shared
            .locked(&self.shared.assigned)
            .insert(pod.to_owned(), assigned);
    }

    /// Changes an object at that moment, as a user would.
    pub fn change(&self, at: Instant, path: &str, patch: Value) {
        self.send(at, path, UserRequest::Patch(patch));
    }

    /// Creates an object at that moment, as a user would.
    pub fn create(&self, at: Instant, path: &str, object: Value) {
        self.send(at, path, UserRequest::Create(object));
    }

    fn send(&self, at: Instant, path: &str, what: UserRequest) {
        let path = path.to_owned();
        if let Some(changes) = &self.changes {
            // If its thread has ended, the test fails anyway.
            let _ = changes.send(Change { at, path, what });
        }
    }

    /// Everything that was seen until now.
    #[must_use]
    pub fn history(&self) -> History {
        self.shared.locked(&self.shared.history).clone()
    }

    /// Looks at everything that was seen until now, without a copy of it.
    pub fn look<T>(&self, look: impl FnOnce(&History) -> T) -> T {
        look(&self.shared.locked(&self.shared.history))
    }
}

impl Drop for FakeKubelet {
    fn drop(&mut self) {
        drop(self.changes.take());
        if let Some(thread) = self.thread.take() {
            // Its panic has been printed already.
            let _ = thread.join();
        }
    }
}

impl Shared {
    #[expect(clippy::unused_self, reason = "what is locked is always its own")]
    fn locked<'a, T>(&self, mutex: &'a Mutex<T>) -> std::sync::MutexGuard<'a, T> {
        mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The thread of a fake kubelet: runs until the sender of changes is dropped.
fn perform(shared: &Arc<Shared>, mut to_come: UnboundedReceiver<Change>) {
    let api = client(&shared.kubeconfig);
    let requests = Requests::new(api.client());
    let tasks = LocalSet::new();
    for (version, plural) in KINDS.into_iter().chain([shared.jobs]) {
        let shared = Arc::clone(shared);
        tasks.spawn_local(keep_watching(shared, requests.clone(), version, plural));
    }
    api.block_on(tasks.run_until(async {
        while let Some(Change { at, path, what }) = to_come.recv().await {
            let requests = requests.clone();
            tokio::task::spawn_local(async move {
                tokio::time::sleep_until(at.into()).await;
                let done = match what {
                    UserRequest::Patch(patch) => requests.patch(&path, &patch).await,
                    UserRequest::Create(object) => requests.create(&path, &object).await,
                };
                if let Err(refused) = done {
                    panic!("the change of {path} was refused: {refused}");
                }
            });
        }
    }));
}

fn client(kubeconfig: &Path) -> Api {
    Api::of(kubeconfig).unwrap_or_else(|trouble| panic!("the fake kubelet has no client: {trouble}"))
}

/// Watches one kind of object, again when the watch ends.
async fn keep_watching(shared: Arc<Shared>, requests: Requests, version: &'static str, plural: &'static str) {
    let path = format!("/{version}/namespaces/{}/{plural}", shared.namespace);
    let mut drivers = BTreeMap::new();
    loop {
        if let Ok(events) = requests.watch(&path).await {
            pin_mut!(events);
            while let Ok(Some(event)) = events.try_next().await {
                let (object, gone) = match event {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
                    WatchEvent::Deleted(object) => (object, true),
                    WatchEvent::Bookmark(_) => continue,
                    WatchEvent::Error(_) => break,
                };
                shared
                    .locked(&shared.history)
                    .note(plural, &object, gone, Instant::now());
                if plural == "pods" {
                    tell(&shared, &requests, &mut drivers, object, gone);
                }
            }
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

/// Hands the newest version of a pod to its driver; a new pod gets a new driver.
fn tell(
    shared: &Arc<Shared>,
    requests: &Requests,
    drivers: &mut BTreeMap<String, watch::Sender<Option<Value>>>,
    pod: Value,
    gone: bool,
) {
    let uid = pod["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    if gone {
        if let Some(driver) = drivers.remove(&uid) {
            let _ = driver.send(None);
        }
        return;
    }
    if let Some(driver) = drivers.get(&uid) {
        let _ = driver.send(Some(pod));
        return;
    }
    let (told, hears) = watch::channel(Some(pod));
    drivers.insert(uid, told);
    let driver = PodDriver::new(Arc::clone(shared), requests.clone(), hears);
    tokio::task::spawn_local(driver.play());
}
