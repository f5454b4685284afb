//! What happened, for logs and metrics. Nothing here prints.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use trainyard_core::Time;

use crate::api::ApiError;
use crate::job::JobKey;
use crate::reconcile::events::Milestone;

/// Hears what the operator has to say.
pub trait Observer: Send + Sync {
    /// Something happened.
    fn notice(&self, notice: &Notice<'_>);
}

/// Something that happened.
#[derive(Debug)]
pub enum Notice<'a> {
    /// Every job and every pod has been seen once.
    Ready {
        /// So many jobs.
        jobs: usize,
        /// So many pods.
        pods: usize,
    },
    /// The Lease could be neither read nor written; it is tried again.
    LeaseRefused {
        /// What the API server said, or what happened to the request.
        why: &'a str,
    },
    /// A watch was cut or could not be begun; it begins again by itself.
    WatchCut {
        /// The objects that it shows, in the plural.
        what: &'static str,
        /// The error, for people.
        why: &'a str,
        /// Whether that is news: the same was not told a moment ago.
        news: bool,
    },
    /// An object cannot be read; the others are.
    Unreadable {
        /// Of what kind it is.
        what: &'static str,
        /// Its namespace and its name.
        which: &'a str,
        /// What is wrong with it.
        why: &'a str,
        /// Whether that is news: the same was not told a moment ago.
        news: bool,
    },
    /// A decision about a job, or its requests, panicked: a bug of ours. The other jobs go on.
    Panicked {
        /// The job that is read again.
        job: &'a JobKey,
        /// What the panic said.
        words: &'a str,
        /// The job is read again after so many seconds.
        wait: u32,
    },
    /// A condition of a job has changed.
    Condition {
        /// The job with the condition.
        job: &'a JobKey,
        /// Why, in one word.
        reason: &'a str,
        /// One sentence.
        message: &'a str,
        /// The point that the job has come to.
        milestone: Option<Milestone>,
        /// The class of the cause of its first failure, of those that there are.
        class: Option<&'static str>,
    },
    /// A request about a job was refused.
    Refused {
        /// The job that waits for the retry.
        job: &'a JobKey,
        /// What was being done.
        doing: &'static str,
        /// What the API server said.
        refused: &'a ApiError,
    },
    /// An endpoint listens.
    Listening {
        /// What it serves.
        what: &'static str,
        /// The address that it is bound to.
        address: SocketAddr,
    },
    /// It begins; nothing has been asked yet.
    Starting {
        /// The URL of the API server.
        server: &'a str,
    },
    /// This operator acts.
    Leading,
    /// It was told to end, and finishes so many applies.
    Stopping {
        /// How many are in flight.
        passes: usize,
    },
    /// Another operator acts, or none does yet.
    Standby {
        /// Who acts, as far as is known.
        leader: Option<&'a str>,
    },
    /// A job has come so far for the first time.
    Started {
        /// The point that it has come to.
        phase: Phase,
        /// When the job was created.
        created: Time,
    },
    /// A job waits for something that it did not wait for before.
    Waits {
        /// The job that waits.
        job: &'a JobKey,
        /// For what, in one word.
        reason: &'a str,
        /// One sentence.
        message: &'a str,
    },
    /// Something is wrong about a job that its status does not say.
    Warned {
        /// The job that its author should look at.
        job: &'a JobKey,
        /// What, in one word.
        reason: &'a str,
        /// One sentence.
        message: &'a str,
    },
    /// A job was deleted since its time was over.
    Expired {
        /// The job that was deleted.
        job: &'a JobKey,
    },
    /// The API server has answered, or has not.
    Request {
        /// What was asked.
        verb: &'static str,
        /// The plural of the objects.
        resource: &'static str,
        /// The HTTP code; 0 where there was no answer.
        code: u16,
        /// How long it took.
        took: Duration,
    },
    /// Writes have been applied, or some were refused.
    Applied {
        /// How long that took.
        took: Duration,
        /// Something of it was refused.
        refused: bool,
    },
    /// How much there is to do.
    Load {
        /// Jobs that wait to be reconciled.
        queued: usize,
        /// Decisions that are being carried out.
        active: usize,
    },
    /// How much is known; told now and then.
    Known {
        /// So many jobs.
        jobs: usize,
        /// So many pods.
        pods: usize,
    },
}

/// How far a job has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It has been taken up.
    Accepted,
    /// Its pods have been created.
    Created,
    /// It runs.
    Running,
}

impl Phase {
    /// Its name in numbers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Created => "created",
            Self::Running => "running",
        }
    }
}

/// Two that hear the same.
pub struct Tee(pub Arc<dyn Observer>, pub Arc<dyn Observer>);

impl Observer for Tee {
    fn notice(&self, notice: &Notice<'_>) {
        self.0.notice(notice);
        self.1.notice(notice);
    }
}
