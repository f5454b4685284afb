//! How each kind of manifest spells what the hints of `plan` name.

use trainyard_core::explain::Vocabulary;
use trainyard_dialect::{Dialect, ReadJob};

/// The field names for hints about a job of this kind, in the version that it is written in.
pub fn of(read: &ReadJob) -> Vocabulary {
    match read.dialect {
        Dialect::TfJob if read.is_first_version() => Vocabulary {
            restarts: None,
            restart_all: Some("trainyard.dev/restart-scope: Job"),
            clean_none: Some("cleanupPodPolicy: None"),
            on_failure: None,
            suspend: None,
        },
        Dialect::TfJob if read.version() != "v1" => Vocabulary {
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
