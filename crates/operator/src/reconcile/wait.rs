//! One entry of `status.waiting`: what a job waits for, and why.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trainyard_causes::of_pod;
use trainyard_core::FailureCause;
use trainyard_manifest::observe::UNREADABLE;

use super::waiting::WAITING_FIELD;
use crate::apply::Created;

/// Before the kind of the object that the API server refused.
const FAILED_CREATE: &str = "FailedCreate";

/// Something that a job waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// In one word.
    pub reason: Reason,
    /// For the job's author, in the cluster's words where it has any.
    #[serde(default)]
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The code of the cause, which `trainyard explain` knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// How many of the job's pods wait for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<usize>,
    /// The first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    /// The container of that pod that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The first node that does not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

impl Wait {
    /// A wait that concerns no single pod.
    #[must_use]
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            help: None,
            code: None,
            pods: None,
            pod: None,
            container: None,
            node: None,
        }
    }

    /// The same, with the remedy that the catalogue of causes knows for it.
    #[must_use]
    pub fn with_help(mut self) -> Self {
        if let Some(cause) = self.known_cause().filter(|_| self.help.is_none()) {
            self.help = cause.help.as_deref().map(str::to_owned);
            self.code = cause.code.as_deref().map(str::to_owned);
        }
        self
    }

    /// What it is in a sentence: by the catalogue of causes, else in the cluster's words.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self.known_cause() {
            Some(cause) => cause.sentence.to_string(),
            None => self.message.clone(),
        }
    }

    fn known_cause(&self) -> Option<FailureCause> {
        of_pod(&self.reason.to_string(), &self.message)
    }

    /// What a status says that its job waits for. Entries that are none of ours are left out.
    #[must_use]
    pub fn of_status(status: Option<&Value>) -> Vec<Self> {
        let entries = status.and_then(|status| status[WAITING_FIELD].as_array());
        let entries = entries.into_iter().flatten();
        entries
            .filter_map(|entry| Self::deserialize(entry).ok())
            .collect()
    }
}

/// Why a job waits. A status holds it as one word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Reason {
    /// A quota of the namespace is used up.
    ExceededQuota,
    /// The API server refused an object.
    FailedCreate(Created),
    /// No task is wanted of the job.
    NoReplicas,
    /// A node prepares a pod, in the kubelet's word.
    ContainerCreating,
    /// A node waits for the volumes of a pod.
    VolumesNotReady,
    /// No scheduler has said a word about a pod.
    NotScheduled,
    /// A node does not answer.
    NodeLost,
    /// A job of another kind has the job's name.
    NameTaken,
    /// Another controller writes the job's status.
    OtherManager,
    /// A pod carries a later life than any that was begun.
    UnknownLife,
    /// A pod of the job cannot be read.
    UnreadablePod,
    /// The job's memory cannot be read.
    UnreadableMemory,
    /// The job asks for a gang scheduler that the operator was not told of.
    GangSchedulerNotChosen,
    /// The cluster does not know the groups of its gang scheduler.
    GangSchedulerNotInstalled,
    /// The job asks to be isolated, and the operator may create no NetworkPolicies.
    NetworkPoliciesNotEnabled,
    /// Kueue has not admitted the job.
    Queued,
    /// The job's Workload cannot be written.
    WorkloadRefused,
    /// The cluster does not know Kueue's Workloads.
    KueueNotInstalled,
    /// Members of a group are placed one by one, by a scheduler that does not look at groups.
    GangIgnored,
    /// It is not the turn of its gang, or there is no room for it.
    GangQueued,
    /// The word of a scheduler, a kubelet, a group or the job's kind.
    Other(String),
}

static WORDS: &[(&str, Reason)] = &[
    ("ExceededQuota", Reason::ExceededQuota),
    ("NoReplicas", Reason::NoReplicas),
    ("ContainerCreating", Reason::ContainerCreating),
    ("VolumesNotReady", Reason::VolumesNotReady),
    ("NotScheduled", Reason::NotScheduled),
    ("NodeLost", Reason::NodeLost),
    ("NameTaken", Reason::NameTaken),
    ("OtherManager", Reason::OtherManager),
    ("UnknownLife", Reason::UnknownLife),
    (UNREADABLE, Reason::UnreadablePod),
    ("UnreadableMemory", Reason::UnreadableMemory),
    ("GangSchedulerNotChosen", Reason::GangSchedulerNotChosen),
    ("GangSchedulerNotInstalled", Reason::GangSchedulerNotInstalled),
    ("NetworkPoliciesNotEnabled", Reason::NetworkPoliciesNotEnabled),
    ("Queued", Reason::Queued),
    ("WorkloadRefused", Reason::WorkloadRefused),
    ("KueueNotInstalled", Reason::KueueNotInstalled),
    ("GangIgnored", Reason::GangIgnored),
    ("GangQueued", Reason::GangQueued),
];

impl Reason {
    /// Whether it may be intended, or pass by itself.
    #[must_use]
    pub const fn is_ordinary(&self) -> bool {
        matches!(
            self,
            Self::NoReplicas | Self::ContainerCreating | Self::NotScheduled | Self::Queued
        )
    }

    /// Whether it is about a queue of Kueue's.
    #[must_use]
    pub const fn is_of_queue(&self) -> bool {
        matches!(self, Self::Queued | Self::WorkloadRefused)
    }

    /// Whether the API server refused something.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        matches!(self, Self::ExceededQuota | Self::FailedCreate(_))
    }
}

impl From<String> for Reason {
    fn from(word: String) -> Self {
        let fixed = WORDS.iter().find(|(known, _)| *known == word);
        let refused = word.strip_prefix(FAILED_CREATE).and_then(Created::named);
        let known = fixed.map(|(_, reason)| reason.clone());
        let known = known.or_else(|| refused.map(Self::FailedCreate));
        known.unwrap_or(Self::Other(word))
    }
}

impl From<Reason> for String {
    fn from(reason: Reason) -> Self {
        reason.to_string()
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fixed = WORDS.iter().find(|(_, reason)| reason == self);
        match self {
            Self::FailedCreate(what) => write!(formatter, "{FAILED_CREATE}{}", what.object()),
            Self::Other(word) => formatter.write_str(word),
            _ => formatter.write_str(fixed.map_or("", |(word, _)| word)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_reason_is_one_word_that_is_read_back() {
        let refused = |object: &str| format!("{FAILED_CREATE}{object}");
        let objects = ["Pod", "Service", "ConfigMap", "Object", "PodGroup"].map(refused);
        let words = WORDS.iter().map(|(word, _)| (*word).to_owned());
        for word in words.chain(objects).chain(["Unschedulable".to_owned()]) {
            let reason = Reason::from(word.clone());
            assert_eq!(reason.to_string(), word);
            assert_eq!(
                matches!(reason, Reason::Other(_)),
                word == "Unschedulable",
                "{word}"
            );
            let refusal = word.starts_with(FAILED_CREATE) || word == "ExceededQuota";
            assert_eq!(reason.is_refusal(), refusal, "{word}");
        }
        assert!(matches!(Reason::from(refused("PodSandBox")), Reason::Other(_)));
    }

    #[test]
    fn a_status_with_strange_entries_is_read() {
        let status = json!({ "waiting": [
            7, { "reason": 1 }, { "message": "none" }, { "reason": "NodeLost", "pods": 2, "pod": "a", "node": "n" },
        ] });
        let waits = Wait::of_status(Some(&status));
        assert_eq!(
            json!(waits),
            json!([{ "reason": "NodeLost", "message": "", "pods": 2, "pod": "a", "node": "n" }])
        );
        assert_eq!(Wait::of_status(Some(&json!({ "waiting": "x" }))), []);
        assert_eq!(Wait::of_status(None), []);
    }
}
