//! `TensorBoard`s of jobs, as far as they are known to exist.
//!
//! Deployments are watched, so one that is deleted is created again. Services are not: that the operator has created one, or has found it,
//! is known until it ends.

use std::sync::Arc;

use trainyard_core::Time;
use trainyard_manifest::names::tensorboard;

use super::entry::backoff;
use super::tracked::{Named, Tracked};
use super::{Source, Store};
use crate::apply::board::{BoardReport, BoardWrite};
use crate::board::WantedBoard;
use crate::board_pod::BoardPodSeen;
use crate::job::{JobKey, JobSeen};
use crate::kinds::Kind;
use crate::watched::BoardSeen;

impl Named for BoardSeen {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn uid(&self) -> &Arc<str> {
        &self.uid
    }

    fn version(&self) -> u64 {
        self.version
    }
}

impl Named for BoardPodSeen {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn uid(&self) -> &Arc<str> {
        &self.uid
    }

    fn version(&self) -> u64 {
        self.version
    }
}

/// What is known of the TensorBoard of one job.
#[derive(Debug, Default)]
pub struct Boards {
    /// Deployments that name the job.
    pub deployments: Tracked<BoardSeen>,
    /// Pods that its Deployment has created.
    pub pods: Tracked<BoardPodSeen>,
    /// Its Service exists and is the job's.
    has_service: bool,
    /// What was refused.
    refused: Option<BoardRefused>,
}

/// A request about a TensorBoard that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardRefused {
    /// What the API server said.
    pub message: String,
    /// Requests refused in a row.
    failures: u32,
    /// Nothing is tried before this.
    pub until: Time,
}

impl Boards {
    /// Forgets what was known of another job.
    pub fn clear(&mut self) {
        (self.has_service, self.refused) = (false, None);
    }

    /// The Deployment of a job's TensorBoard, which the job owns.
    #[must_use]
    pub fn of(&self, job: &JobSeen) -> Option<&BoardSeen> {
        let seen = self.deployments.get(&tensorboard(&job.key.name));
        seen.filter(|seen| seen.owner.as_ref() == Some(&job.uid))
    }

    /// Its newest pod.
    #[must_use]
    pub fn pod(&self) -> Option<&BoardPodSeen> {
        let pods = self.pods.all().filter(|pod| !pod.deleting);
        pods.max_by_key(|pod| pod.version)
    }

    /// What was refused last, unless something was done since.
    #[must_use]
    pub const fn refused(&self) -> Option<&BoardRefused> {
        self.refused.as_ref()
    }

    /// What is to be done about it.
    #[must_use]
    pub fn due(&self, wanted: Option<&WantedBoard>, job: &JobSeen, now: Time) -> Option<BoardWrite> {
        let wanted = match wanted.map(|wanted| &wanted.objects) {
            Some(Err(unmade)) if unmade.leaves => return None,
            Some(Ok(objects)) if objects.expires(job).is_none_or(|time| time > now) => Some(objects),
            _ => None,
        };
        let service = !self.has_service;
        match (wanted, self.of(job)) {
            (_, Some(seen)) if seen.deleting => None,
            (Some(wanted), Some(seen)) if seen.content.as_ref() == Some(&wanted.content) => service
                .then_some(BoardWrite::Create {
                    service,
                    deployment: false,
                }),
            (Some(_), None) => Some(BoardWrite::Create {
                service,
                deployment: true,
            }),
            (wanted, Some(seen)) => Some(BoardWrite::Remove {
                uid: Arc::clone(&seen.uid),
                service: wanted.is_none(),
            }),
            (None, None) => None,
        }
    }

    /// Takes in what an apply has done for this job.
    pub fn absorb(&mut self, report: BoardReport, now: Time) {
        if let Some(made) = report.made {
            self.deployments.see(made, true);
        }
        if let Some(uid) = &report.removed {
            self.deployments.removed(uid);
        }
        self.has_service = report.has_service.unwrap_or(self.has_service);
        let failures = self.refused.take().map_or(0, |refused| refused.failures);
        self.refused = report.refused.map(|refused| BoardRefused {
            message: refused.message,
            failures: failures.saturating_add(1),
            until: now + backoff(failures),
        });
    }
}

impl Store {
    /// The Deployments of a kind's `TensorBoard`s are known, or may not be listed. Before that none is created.
    pub(super) fn boards_known(&mut self, kind: &'static Kind) {
        if self.boards_listed.insert(kind) {
            self.enqueue_all(|key| key.kind == kind);
        }
    }

    /// A watch for jobs of this kind shows the Deployment of a TensorBoard.
    pub fn board_seen(&mut self, kind: &'static Kind, board: BoardSeen) {
        let (source, key) = (Source::Boards(kind), board.key(kind));
        self.list_shows(source, &board.uid);
        if let Some(before) = self.homes.settle(source, (&board.name, &board.uid), &key) {
            self.board_leaves(&before, &board);
        }
        let entry = self.entries.entry(key.clone()).or_default();
        if entry.board.deployments.see(board, false) {
            self.enqueue(key);
        }
    }

    /// The Deployment of a TensorBoard is gone. If its job is there, it is created again.
    pub fn board_gone(&mut self, kind: &'static Kind, board: &BoardSeen) {
        let key = board.key(kind);
        self.homes.leave(Source::Boards(kind), &board.name, &key);
        self.board_leaves(&key, board);
    }

    fn board_leaves(&mut self, key: &JobKey, board: &BoardSeen) {
        if let Some(entry) = self.entries.get_mut(key) {
            let busy = entry.applying;
            entry.board.deployments.lose(&board.name, &board.uid, busy);
            self.enqueue(key.clone());
        }
        self.drop_if_empty(key);
    }

    /// A watch for jobs of this kind shows the pod of a TensorBoard.
    pub fn board_pod_seen(&mut self, kind: &'static Kind, pod: BoardPodSeen) {
        let (source, key) = (Source::BoardPods(kind), key(kind, &pod.namespace, &pod.job));
        self.list_shows(source, &pod.uid);
        if let Some(before) = self.homes.settle(source, (&pod.name, &pod.uid), &key) {
            self.board_pod_leaves(&before, &pod);
        }
        let entry = self.entries.entry(key.clone()).or_default();
        if entry.board.pods.see(pod, false) {
            self.enqueue(key);
        }
    }

    /// The pod of a TensorBoard is gone.
    pub fn board_pod_gone(&mut self, kind: &'static Kind, pod: &BoardPodSeen) {
        let key = key(kind, &pod.namespace, &pod.job);
        self.homes.leave(Source::BoardPods(kind), &pod.name, &key);
        self.board_pod_leaves(&key, pod);
    }

    fn board_pod_leaves(&mut self, key: &JobKey, pod: &BoardPodSeen) {
        if let Some(entry) = self.entries.get_mut(key)
            && entry.board.pods.lose(&pod.name, &pod.uid, false)
        {
            self.enqueue(key.clone());
        }
        self.drop_if_empty(key);
    }
}

/// The job that labels name.
fn key(kind: &'static Kind, namespace: &Arc<str>, name: &Arc<str>) -> JobKey {
    JobKey {
        kind,
        namespace: Arc::clone(namespace),
        name: Arc::clone(name),
    }
}

impl BoardSeen {
    /// The job that its labels name.
    fn key(&self, kind: &'static Kind) -> JobKey {
        key(kind, &self.namespace, &self.job)
    }
}
