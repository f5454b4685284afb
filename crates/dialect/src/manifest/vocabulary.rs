//! How each kind of manifest spells what the hints of `plan` name.

use trainyard_core::explain::Vocabulary;

use trainyard_document::Node;

use super::ReadJob;
use crate::dialect::Dialect;

impl ReadJob {
    /// What the manifest asks for that its user may have forgotten, one line each without a full stop.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.dialect == Dialect::TensorFlowTrainingJob {
            let debug = ["enabled", "enable"].map(|switch| {
                let field = self.node.at(["spec", "runMode", "debug", switch]);
                field.and_then(Node::as_bool)
            });
            if debug.contains(&Some(true)) {
                remarks.push(
                    "`runMode.debug` is on: the tasks, or those of the types that its list names, do not train; they wait for a user (`sleep inf`, or the debug command) until the job is stopped"
                        .to_owned(),
                );
            }
        }
        remarks
    }

    /// Why the tasks get no `TF_CONFIG`.
    #[must_use]
    pub fn why_no_tf_config(&self) -> &'static str {
        match self.dialect {
            Dialect::Volcano if self.job.size() > 1 => {
                "the job does not use the plugin `tensorflow`; its tasks must find each other in another way"
            }
            _ => "there is only one task",
        }
    }

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
