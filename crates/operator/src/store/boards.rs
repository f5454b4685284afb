//! `TensorBoard`s of jobs, as far as they are known to exist.
//!
//! Deployments are watched, so one that is deleted is created again. Services are not: that the operator has created one, or has found it,
//! is known until it ends.

use std::sync::Arc;

use trainyard_core::Time;
use trainyard_manifest::names::tensorboard;

use super::refused::Refused;
use super::tracked::{Tracked, named_by_fields};
use super::{Source, Store};
use crate::apply::board::{BoardReport, BoardWrite};
use crate::board::WantedBoard;
use crate::board_pod::BoardPodSeen;
use crate::job::{JobKey, JobSeen};
use crate::kinds::Kind;
use crate::watched::BoardSeen;

named_by_fields!(BoardSeen, BoardPodSeen);

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
    refused: Option<Refused>,
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
    pub const fn refused(&self) -> Option<&Refused> {
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
        let refused = report.refused.map(|refused| refused.message);
        self.refused = Refused::after(self.refused.take(), refused, now);
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
        let key = JobKey::of(kind, &board.namespace, &board.job);
        self.beside_seen(Source::Boards(kind), key, board, |entry| {
            &mut entry.board.deployments
        });
    }

    /// The Deployment of a TensorBoard is gone. If its job is there, it is created again.
    pub fn board_gone(&mut self, kind: &'static Kind, board: &BoardSeen) {
        let key = JobKey::of(kind, &board.namespace, &board.job);
        self.beside_gone(Source::Boards(kind), &key, board, |entry| {
            &mut entry.board.deployments
        });
    }

    /// A watch for jobs of this kind shows the pod of a TensorBoard.
    pub fn board_pod_seen(&mut self, kind: &'static Kind, pod: BoardPodSeen) {
        let key = JobKey::of(kind, &pod.namespace, &pod.job);
        self.beside_seen(Source::BoardPods(kind), key, pod, |entry| &mut entry.board.pods);
    }

    /// The pod of a TensorBoard is gone.
    pub fn board_pod_gone(&mut self, kind: &'static Kind, pod: &BoardPodSeen) {
        let key = JobKey::of(kind, &pod.namespace, &pod.job);
        self.beside_gone(Source::BoardPods(kind), &key, pod, |entry| &mut entry.board.pods);
    }
}
