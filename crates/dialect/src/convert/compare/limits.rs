//! Budgets, time limits, policies and the gang, here and there.

use trainyard_core::{ClusterForm, Gang, Job, Limits};
use trainyard_document::codes::Code;
use trainyard_document::problem::Problems;

use crate::convert::outline::Outline;
use crate::dialect::Dialect;
use crate::manifest::ReadJob;

/// Tells every limit and policy that changes.
pub(super) fn limits(outline: &Outline<'_>, to: &Job, problems: &Problems) {
    let from = outline.job;
    let paths = paths(outline.read);
    let number = |value: Option<u32>| value.map_or_else(|| "unlimited".into(), |value| value.to_string());
    let compare = |path: &str, what: &str, value: &dyn Fn(&Job) -> String| {
        let (ours, theirs) = (value(from), value(to));
        if ours != theirs {
            let message = format!("{what} is {ours} here and {theirs} there");
            outline.report(problems, Code::LostLimit, path, message);
        }
    };
    let of_limit = |path: &str, what: &str, limit: fn(&Limits) -> Option<u32>| {
        compare(path, what, &|job| number(limit(&job.limits)));
    };
    of_limit(paths.restarts, "the number of restarts allowed", |limits| {
        limits.restarts
    });
    of_limit(paths.deadline, "the deadline in seconds", |limits| {
        limits.deadline
    });
    of_limit(paths.ttl, "the time to live after the end", |limits| limits.ttl);
    let silent = "the time after which a task on a silent node is given up";
    of_limit("spec.runPolicy.lostNodeSeconds", silent, |limits| {
        limits.lost_node
    });
    compare(paths.clean, "the clean-up at the end", &|job| {
        format!("{:?}", job.clean)
    });
    compare(paths.suspend, "being suspended", &|job| job.suspend.to_string());
    let dynamic = |job: &Job| (job.cluster == ClusterForm::Sparse).to_string();
    compare(
        "spec.enableDynamicWorker",
        "letting workers come and go",
        &dynamic,
    );
    let config = |job: &Job| (job.cluster != ClusterForm::None).to_string();
    let config_path = match outline.read.dialect {
        Dialect::Volcano => "spec.plugins",
        _ => "spec",
    };
    compare(config_path, "writing TF_CONFIG", &config);
}

/// How a dialect calls its limits.
struct Paths {
    restarts: &'static str,
    deadline: &'static str,
    ttl: &'static str,
    clean: &'static str,
    suspend: &'static str,
}

fn paths(read: &ReadJob) -> Paths {
    match read.dialect {
        // A version is cited by the fields that it has.
        Dialect::TfJob if read.is_first_version() => Paths {
            restarts: "spec",
            deadline: "spec",
            ttl: "spec",
            clean: "spec.cleanupPodPolicy",
            suspend: "spec",
        },
        Dialect::TfJob if read.version() != "v1" => Paths {
            restarts: "spec.backoffLimit",
            deadline: "spec.activeDeadlineSeconds",
            ttl: "spec.ttlSecondsAfterFinished",
            clean: "spec.cleanPodPolicy",
            suspend: "spec.runPolicy.suspend",
        },
        Dialect::TfJob => Paths {
            restarts: "spec.runPolicy.backoffLimit",
            deadline: "spec.runPolicy.activeDeadlineSeconds",
            ttl: "spec.runPolicy.ttlSecondsAfterFinished",
            clean: "spec.runPolicy.cleanPodPolicy",
            suspend: "spec.runPolicy.suspend",
        },
        Dialect::TensorFlowTrainingJob => Paths {
            restarts: "spec.runPolicy.backoffLimit",
            deadline: "spec.runPolicy.activeDeadlineSeconds",
            ttl: "spec.runPolicy",
            clean: "spec.runPolicy.cleanUpPolicy",
            suspend: "spec.runMode.pause.enabled",
        },
        Dialect::Volcano => Paths {
            restarts: "spec.maxRetry",
            deadline: "spec",
            ttl: "spec.ttlSecondsAfterFinished",
            clean: "spec",
            suspend: "spec",
        },
    }
}

/// Tells whether the scheduler sees another gang.
pub(super) fn gang(outline: &Outline<'_>, to: &Job, problems: &Problems) {
    let from = outline.job;
    let shown = |gang: &Option<Gang>| match gang {
        None => "no gang".to_owned(),
        Some(gang) => {
            let queue = gang.queue.as_deref().unwrap_or("default");
            let priority = gang.priority.as_deref().unwrap_or("none");
            let members = gang.members;
            format!("a gang of {members} in queue {queue} with priority {priority}")
        }
    };
    let (ours, theirs) = (shown(&from.gang), shown(&to.gang));
    if ours != theirs {
        let message = format!("the scheduler sees {ours} here and {theirs} there");
        outline.report(problems, Code::LostGang, "spec", message);
    }
}
