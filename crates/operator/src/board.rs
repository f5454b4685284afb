//! The TensorBoard that a job asks for, as the operator creates it: a Service and a Deployment, owned by the job.
//!
//! No task needs it and `step` knows nothing of it: nothing waits for it, and what goes wrong with it changes nothing about the job. It
//! stays until the job is deleted, also while the job is suspended and after it has ended.

use std::sync::Arc;

use serde_json::Value;
use trainyard_core::{Subject, Time, board_is_suspended};
use trainyard_manifest::fingerprint;
use trainyard_manifest::names::{Labelled, tensorboard};
use trainyard_manifest::tensorboard::{Board, KIND_LABEL, PORT, board};

use crate::job::{JobSeen, Reading, stored_memory};
use crate::kinds::Kind;

/// The annotation of the Deployment that tells what it was created from.
pub const CONTENT: &str = "trainyard.dev/content";
/// A `tensorboardSpec` with more bytes is not kept: users decide how many finished jobs there are.
const LONGEST: usize = 16 * 1024;
/// So many characters of what is wrong with the settings are told.
const LONGEST_FLAW: usize = 1000;

/// A TensorBoard that a job asks for.
#[derive(Debug, PartialEq)]
pub struct WantedBoard {
    /// The name of its Service and of its Deployment.
    pub name: Arc<str>,
    /// What is created for it, or why nothing is.
    pub objects: Result<BoardObjects, Unmade>,
}

/// What is created.
#[derive(Debug, PartialEq)]
pub struct BoardObjects {
    /// The Service.
    pub service: Value,
    /// The Deployment.
    pub deployment: Value,
    /// The Deployment's spec in short: one that was created from another spec is replaced.
    pub content: Arc<str>,
    /// Where it is found in the cluster.
    pub url: String,
    /// It is not to run for now.
    pub is_suspended: bool,
    /// It is deleted so many seconds after the job's end.
    pub ttl: Option<u32>,
    /// An address of logs that cannot be mounted, and how many there are.
    pub left_out: Option<(String, usize)>,
}

impl BoardObjects {
    /// When it is deleted though the job stays: known once the job has ended.
    #[must_use]
    pub fn expires(&self, job: &JobSeen) -> Option<Time> {
        let ttl = self.ttl?;
        let memory = stored_memory(job.status.as_ref())?;
        Some(memory.verdict?.at + ttl)
    }
}

/// Why nothing is created.
#[derive(Debug, PartialEq, Eq)]
pub struct Unmade {
    /// In one word.
    pub reason: &'static str,
    /// In a sentence.
    pub message: String,
    /// One that exists stays: what is asked for is not known.
    pub leaves: bool,
}

/// The TensorBoard that a job asks for; `flaw` is what is wrong with its settings.
#[must_use]
pub fn wanted(
    kind: &Kind,
    subject: &Subject,
    reading: &Reading,
    flaw: Option<&str>,
) -> Option<Arc<WantedBoard>> {
    let objects = match (&subject.tensorboard, flaw) {
        (_, Some(flaw)) if reading.tensorboard => Err(invalid(flaw)),
        (None, None) => return None,
        (object, _) => objects(kind, subject, object.as_ref().unwrap_or(&Value::Null), reading),
    };
    Some(Arc::new(WantedBoard {
        name: tensorboard(&subject.job.name).into(),
        objects,
    }))
}

/// The settings cannot be read.
fn invalid(flaw: &str) -> Unmade {
    let flaw: String = flaw.chars().take(LONGEST_FLAW).collect();
    Unmade {
        reason: "Invalid",
        message: format!(
            "the settings of the TensorBoard cannot be read: {flaw}; the job runs, and a TensorBoard that exists stays as it is"
        ),
        leaves: true,
    }
}

fn objects(
    kind: &Kind,
    subject: &Subject,
    object: &Value,
    reading: &Reading,
) -> Result<BoardObjects, Unmade> {
    let unmade = |reason, message: &str| {
        Err(Unmade {
            reason,
            message: message.to_owned(),
            leaves: false,
        })
    };
    if !reading.tensorboard {
        return unmade(
            "NotEnabled",
            "the operator creates no TensorBoards: install it again with `--tensorboard` beside the flags that it has",
        );
    }
    if object.to_string().len() > LONGEST {
        return unmade("TooLong", "the settings of the TensorBoard take more than 16 KiB");
    }
    let Board {
        objects,
        elsewhere,
        ttl,
    } = board(&subject.job, object, &reading.tensorboard_image);
    let Ok([service, mut deployment]) = <[Value; 2]>::try_from(objects) else {
        return unmade(
            "NothingToMount",
            "no address of logs can be mounted: give one in a volume claim, as `pvc://<claim>/<path>`",
        );
    };
    let labelled = Labelled {
        subject,
        role: None,
        index: None,
        is_pod: false,
        life: None,
    };
    // The watch of its pods finds them by this.
    deployment["spec"]["template"]["metadata"]["labels"][KIND_LABEL] = kind.api.word.into();
    // The watch finds it by these. The Service has none of them: it is not one by which tasks find each other.
    labelled.mark(&mut deployment["metadata"]);
    let content = content(&deployment["spec"]);
    deployment["metadata"]["annotations"][CONTENT] = (*content).into();
    let domain = reading
        .domain
        .as_ref()
        .map(|domain| format!(".{domain}"))
        .unwrap_or_default();
    let (name, namespace) = (tensorboard(&subject.job.name), &subject.job.namespace);
    Ok(BoardObjects {
        url: format!("http://{name}.{namespace}.svc{domain}:{PORT}/"),
        is_suspended: board_is_suspended(&object["spec"]),
        ttl,
        left_out: elsewhere.first().map(|first| (first.clone(), elsewhere.len())),
        service,
        deployment,
        content,
    })
}

/// A value in short, for an annotation: the same in every version, so that an upgrade rewrites nothing.
#[must_use]
pub fn content(value: &Value) -> Arc<str> {
    format!("{:016x}", fingerprint(&value.to_string())).into()
}
