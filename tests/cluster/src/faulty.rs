//! A proxy to the API server that injects faults: it counts writes by kind and disturbs them as the test says.
//!
//! ```text
//! a program ─▶ http://127.0.0.1:port ─▶ FaultyProxy ─▶ the real API server
//!                                            │ refuses, answers falsely, hangs up, kills the program, cuts watches
//! ```
//!
//! A write goes to the real server or does not; only the answer is ever made up.

mod serve;

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::sync::watch;

use crate::api::Api;

/// What an operator writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Write {
    /// PUT of a job's status.
    Status,
    /// POST of a Service.
    Service,
    /// POST of a pod.
    Pod,
    /// DELETE of a pod.
    PodDelete,
    /// DELETE of a job.
    JobDelete,
    /// POST of an event.
    Event,
    /// POST of an object that pods need besides Services.
    Object,
    /// PATCH of such an object.
    Rewrite,
    /// DELETE of such an object.
    ObjectDelete,
    /// DELETE of an object that gave an order.
    OrderDelete,
    /// PATCH of a pod.
    Ungate,
}

impl Write {
    /// What is written for every kind of job.
    pub const ALL: [Self; 6] = [
        Self::Status,
        Self::Service,
        Self::Pod,
        Self::PodDelete,
        Self::JobDelete,
        Self::Event,
    ];

    /// What is written besides for a kind whose pods need other objects, and whose users give orders by objects.
    pub const MORE: [Self; 4] = [Self::Object, Self::Rewrite, Self::ObjectDelete, Self::OrderDelete];

    /// What a request writes, if it writes something of these.
    fn of(method: &str, path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let after = parts.iter().position(|part| *part == "namespaces")?;
        match (method, parts.get(after + 2..)?) {
            ("PUT", ["tfjobs" | "jobs" | "tensorflowtrainingjobs", _, "status"]) => Some(Self::Status),
            ("POST", ["services"]) => Some(Self::Service),
            ("POST", ["pods"]) => Some(Self::Pod),
            ("DELETE", ["pods", _]) => Some(Self::PodDelete),
            ("DELETE", ["tfjobs" | "jobs" | "tensorflowtrainingjobs", _]) => Some(Self::JobDelete),
            ("POST", ["configmaps" | "networkpolicies"]) => Some(Self::Object),
            ("PATCH", ["configmaps", _]) => Some(Self::Rewrite),
            ("DELETE", ["configmaps" | "networkpolicies", _]) => Some(Self::ObjectDelete),
            ("DELETE", ["commands", _]) => Some(Self::OrderDelete),
            ("POST", ["events"]) => Some(Self::Event),
            ("PATCH", ["pods", _]) => Some(Self::Ungate),
            _ => None,
        }
    }
}

/// A fault to inject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Every second write is not passed on; this code is the answer.
    Refuse(u16),
    /// Every second write is passed on, and this code is the answer, whatever the server said.
    Deny(u16),
    /// Every second write is passed on, and there is no answer.
    HangUp,
    /// The program is killed with 9 after a write was done, before it hears of it.
    KillUnanswered,
    /// The program is killed with 9 after it was told of a write, before it writes anything else.
    KillAnswered,
    /// Watches end in the middle, whenever so many writes have been seen.
    CutWatches,
    /// Watches end in the middle, and where they are to go on the history is gone: 410 as an answer.
    Gone,
    /// The same, as the last event of a watch.
    GoneInside,
}

/// A write that the server has carried out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Done {
    /// Of which kind.
    pub write: Write,
    /// The name of the object.
    pub name: String,
    /// Its UID, where it was deleted.
    pub uid: String,
    /// Whether it was to be deleted in one version only.
    pub versioned: bool,
}

/// An API that the server does not have any more.
#[derive(Debug)]
pub struct GoneApi {
    /// `group/version`.
    pub api_version: &'static str,
    /// The plural of its objects.
    pub plural: &'static str,
    /// The kind of a list of them.
    pub list: &'static str,
}

/// The most kills in one run.
const MOST_KILLS: u32 = 6;

/// A proxy that injects one kind of fault.
pub struct FaultyProxy {
    shared: Arc<Shared>,
    address: SocketAddr,
    kubeconfig: PathBuf,
    thread: Option<JoinHandle<()>>,
    stop: Option<watch::Sender<bool>>,
}

/// What the test and the server share.
struct Shared {
    plan: Option<(Option<Write>, Fault)>,
    /// APIs that the server has no longer: lists of their objects are empty, and watches show nothing.
    gone: &'static [GoneApi],
    /// The program, while it lives.
    program: AtomicI32,
    /// It is to be killed before it writes again.
    armed: AtomicBool,
    /// Writes that came, in order.
    writes: Mutex<Vec<Write>>,
    /// Writes that the server has carried out.
    done: Mutex<Vec<Done>>,
    kills: Mutex<u32>,
    disturbed: Mutex<u32>,
    /// Grows whenever watches are to be cut.
    cut: watch::Sender<u32>,
    /// The next watch that wants to go on is told that the history is gone.
    forgotten: AtomicBool,
}

impl FaultyProxy {
    /// A proxy to the cluster of `kubeconfig`, with a kubeconfig for its clients at `place`. Without a write, the fault is about watches.
    #[must_use]
    pub fn open(kubeconfig: &Path, place: PathBuf, plan: Option<(Option<Write>, Fault)>) -> Self {
        Self::start(kubeconfig, place, plan, &[])
    }

    /// A proxy without faults for an old program, which lists objects of these APIs.
    #[must_use]
    pub fn for_old_program(kubeconfig: &Path, place: PathBuf, gone: &'static [GoneApi]) -> Self {
        Self::start(kubeconfig, place, None, gone)
    }

    fn start(
        kubeconfig: &Path,
        place: PathBuf,
        plan: Option<(Option<Write>, Fault)>,
        gone: &'static [GoneApi],
    ) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap_or_else(|error| panic!("no port: {error}"));
        let address = socket
            .local_addr()
            .unwrap_or_else(|error| panic!("no address: {error}"));
        let shared = Arc::new(Shared {
            plan,
            gone,
            program: AtomicI32::new(0),
            armed: AtomicBool::new(false),
            writes: Mutex::default(),
            done: Mutex::default(),
            kills: Mutex::default(),
            disturbed: Mutex::default(),
            cut: watch::channel(0).0,
            forgotten: AtomicBool::new(false),
        });
        let (stop, stopped) = watch::channel(false);
        let (theirs, real) = (Arc::clone(&shared), kubeconfig.to_owned());
        let thread = thread::spawn(move || {
            let api =
                Api::of(&real).unwrap_or_else(|trouble| panic!("no client for the API server: {trouble}"));
            serve::run(&api, socket, &theirs, stopped);
        });
        let way = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "faulty",
            "clusters": [{"name": "faulty", "cluster": {"server": format!("http://{address}")}}],
            "users": [{"name": "anonymous", "user": {}}],
            "contexts": [{"name": "faulty", "context": {"cluster": "faulty", "user": "anonymous"}}],
        });
        fs::write(&place, way.to_string()).unwrap_or_else(|error| panic!("{}: {error}", place.display()));
        Self {
            shared,
            address,
            kubeconfig: place,
            thread: Some(thread),
            stop: Some(stop),
        }
    }

    /// For the client of this proxy.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The program that may be killed; each is killed once.
    pub fn program(&self, pid: u32) {
        self.shared.armed.store(false, Ordering::SeqCst);
        let pid = i32::try_from(pid).unwrap_or_default();
        self.shared.program.store(pid, Ordering::SeqCst);
    }

    /// The writes that came, in order, those that were refused too.
    #[must_use]
    pub fn writes(&self) -> Vec<Write> {
        locked(&self.shared.writes).clone()
    }

    /// The writes that the server has carried out, whatever the client was told.
    #[must_use]
    pub fn done(&self) -> Vec<Done> {
        locked(&self.shared.done).clone()
    }

    /// Kills the program, if one is known.
    pub fn kill(&self) {
        self.shared.kill();
    }

    /// How often something was made to go wrong.
    #[must_use]
    pub fn disturbed(&self) -> u32 {
        *locked(&self.shared.disturbed)
    }
}

impl Drop for FaultyProxy {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = fs::remove_file(&self.kubeconfig);
    }
}

impl Shared {
    /// Notes a write; what is to go wrong with it.
    fn judge(&self, write: Write) -> Option<Fault> {
        let mut writes = locked(&self.writes);
        writes.push(write);
        let (kind, fault) = self.plan?;
        let Some(kind) = kind else {
            // Between any two writes something has happened that a watch tells of.
            if writes.len().is_multiple_of(2) {
                self.cut_watches(fault);
            }
            return None;
        };
        let number = writes.iter().filter(|one| **one == kind).count();
        drop(writes);
        let odd = number % 2 == 1;
        let kills = matches!(fault, Fault::KillUnanswered | Fault::KillAnswered);
        let due = kind == write && if kills { self.may_kill() } else { odd };
        if due {
            self.note();
        }
        due.then_some(fault)
    }

    fn note(&self) {
        *locked(&self.disturbed) += 1;
    }

    fn may_kill(&self) -> bool {
        let mut kills = locked(&self.kills);
        let may = *kills < MOST_KILLS && self.program.load(Ordering::SeqCst) > 0;
        if may {
            *kills += 1;
        }
        may
    }

    fn cut_watches(&self, fault: Fault) {
        self.note();
        if fault != Fault::CutWatches {
            self.forgotten.store(true, Ordering::SeqCst);
        }
        self.cut.send_modify(|times| *times += 1);
    }

    /// Kills the program, if it is the one that is known and lives.
    fn kill(&self) {
        self.armed.store(false, Ordering::SeqCst);
        let pid = self.program.swap(0, Ordering::SeqCst);
        if let Some(pid) = Pid::from_raw(pid) {
            // Gone by itself, then.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_told_apart_by_verb_and_path() {
        let table = [
            (
                "PUT",
                "/apis/kubeflow.org/v1/namespaces/a/tfjobs/b/status",
                Some(Write::Status),
            ),
            ("POST", "/api/v1/namespaces/a/services", Some(Write::Service)),
            (
                "POST",
                "/api/v1/namespaces/a/pods?fieldManager=x",
                Some(Write::Pod),
            ),
            ("DELETE", "/api/v1/namespaces/a/pods/b", Some(Write::PodDelete)),
            (
                "DELETE",
                "/apis/kubeflow.org/v1/namespaces/a/tfjobs/b",
                Some(Write::JobDelete),
            ),
            (
                "POST",
                "/apis/events.k8s.io/v1/namespaces/a/events",
                Some(Write::Event),
            ),
            ("GET", "/api/v1/namespaces/a/pods", None),
            ("GET", "/api/v1/pods", None),
        ];
        for (method, path, write) in table {
            assert_eq!(Write::of(method, path), write, "{method} {path}");
        }
    }
}
