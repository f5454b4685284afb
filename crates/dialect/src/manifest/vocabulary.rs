//! How each kind of manifest spells what the hints of `plan` name.

use trainyard_core::explain::Vocabulary;

use super::ReadJob;
use crate::dialect::Dialect;

impl ReadJob {
    /// The field names for hints about the job, in the version that it is written in.
    #[must_use]
    pub fn vocabulary(&self) -> Vocabulary {
        match self.dialect {
            Dialect::TfJob if self.is_first_version() => Vocabulary {
                restarts: None,
                restart_all: Some("trainyard.dev/restart-scope: Job"),
                clean_none: Some("cleanupPodPolicy: None"),
                on_failure: None,
                suspend: None,
            },
            Dialect::TfJob if self.version() != "v1" => Vocabulary {
                restarts: Some("backoffLimit"),
                restart_all: Some("trainyard.dev/restart-scope: Job"),
                clean_none: Some("cleanPodPolicy: None"),
                on_failure: None,
                suspend: Some("runPolicy.suspend"),
            },
            Dialect::TfJob => Vocabulary {
                restarts: Some("runPolicy.backoffLimit"),
                restart_all: Some("runPolicy.restartScope: Job"),
                clean_none: Some("cleanPodPolicy: None"),
                on_failure: None,
                suspend: Some("runPolicy.suspend"),
            },
            Dialect::TensorFlowTrainingJob => Vocabulary {
                restarts: Some("runPolicy.backoffLimit"),
                restart_all: None,
                clean_none: Some("runPolicy.cleanUpPolicy: None"),
                on_failure: None,
                suspend: Some("runMode.pause.enabled"),
            },
            Dialect::Volcano => Vocabulary {
                restarts: Some("maxRetry"),
                restart_all: Some("action: RestartJob"),
                clean_none: None,
                on_failure: Some("event: PodFailed"),
                suspend: None,
            },
        }
    }
}
