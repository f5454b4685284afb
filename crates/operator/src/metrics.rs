//! Numbers for dashboards: Kubeflow's five counters under their own names, and what its operators wished they had.

use std::fmt;
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry, Unit};

use crate::job::JobKey;
use crate::notice::{Notice, Observer, Phase};
use crate::reconcile::events::Milestone;

/// From a millisecond to about half a minute.
const FAST: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5, 10.0, 30.0];
/// From half a second to an hour: a pod may wait for its image or for its node.
const SLOW: [f64; 11] = [0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0];

/// The class of failures whose cause is not known.
const UNKNOWN: &str = "unknown";

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfNamespace {
    job_namespace: String,
    framework: &'static str,
}

impl OfNamespace {
    fn new(job: &JobKey) -> Self {
        Self {
            job_namespace: job.namespace.to_string(),
            framework: job.kind.framework,
        }
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfRequest {
    verb: &'static str,
    resource: &'static str,
    code: u16,
}

/// Labels whose values are few, each with its name.
type Labels<const N: usize> = [(&'static str, &'static str); N];
type Jobs = Family<OfNamespace, Counter>;
type Times<L> = Family<L, Histogram, fn() -> Histogram>;

fn fast() -> Histogram {
    Histogram::new(FAST)
}

fn slow() -> Histogram {
    Histogram::new(SLOW)
}

/// A counter or gauge, registered under its name.
fn counted<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

/// Durations, registered under their name.
fn timed<L>(registry: &mut Registry, name: &str, help: &str, buckets: fn() -> Histogram) -> Times<L>
where
    L: Clone + fmt::Debug + Hash + Eq + EncodeLabelSet + Send + Sync + 'static,
{
    let metric = Times::new_with_constructor(buckets);
    registry.register_with_unit(name, help, Unit::Seconds, metric.clone());
    metric
}

/// Everything that is counted. It hears what the operator tells.
pub struct Metrics {
    registry: Registry,
    created: Jobs,
    deleted: Jobs,
    successful: Jobs,
    failed: Jobs,
    restarted: Jobs,
    causes: Family<Labels<1>, Counter>,
    passes: Times<Labels<1>>,
    requests: Family<OfRequest, Counter>,
    request_times: Times<Labels<2>>,
    starts: Times<Labels<1>>,
    cuts: Family<Labels<1>, Counter>,
    unreadable: Family<Labels<1>, Counter>,
    panics: Counter,
    queued: Gauge<i64, AtomicI64>,
    active: Gauge<i64, AtomicI64>,
    known: Family<Labels<1>, Gauge<i64, AtomicI64>>,
    leads: Gauge<i64, AtomicI64>,
    ready: AtomicBool,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    /// All at nought.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::default();
        // The names and labels that dashboards made for Kubeflow's operator look for.
        let jobs = registry.sub_registry_with_prefix("training_operator_jobs");
        let created = counted(jobs, "created", "Jobs that were created");
        let deleted = counted(
            jobs,
            "deleted",
            "Jobs that were deleted since their time was over",
        );
        let successful = counted(jobs, "successful", "Jobs that succeeded");
        let failed = counted(jobs, "failed", "Jobs that failed");
        let restarted = counted(jobs, "restarted", "Restarts of jobs or of their replicas");
        let ours = registry.sub_registry_with_prefix("trainyard");
        let help = "From a job's creation until it was accepted, its pods were created, it ran";
        let panics = "Decisions about jobs, or their requests, that panicked: bugs of the operator";
        Self {
            created,
            deleted,
            successful,
            failed,
            restarted,
            causes: counted(
                ours,
                "job_failures",
                "Jobs that failed, by the class of their first failure",
            ),
            passes: timed(
                ours,
                "pass_duration",
                "From a decision to the last of its writes",
                fast,
            ),
            requests: counted(ours, "api_requests", "Requests to the API server"),
            request_times: timed(ours, "api_request_duration", "How long the API server took", fast),
            starts: timed(ours, "job_start", help, slow),
            cuts: counted(ours, "watch_cuts", "Watches that were cut and begun again"),
            unreadable: counted(
                ours,
                "unreadable_objects",
                "Objects shown by a watch that could not be read",
            ),
            panics: counted(ours, "panics", panics),
            queued: counted(ours, "queue_depth", "Jobs that wait to be looked at"),
            active: counted(ours, "passes_active", "Decisions that are being carried out"),
            known: counted(ours, "known", "Objects that are known"),
            leads: counted(ours, "leader", "1 if this operator acts"),
            ready: AtomicBool::new(false),
            registry,
        }
    }

    /// Whether every job and pod has been seen once.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    /// Whether this operator acts.
    #[must_use]
    pub fn leads(&self) -> bool {
        self.leads.get() == 1
    }

    /// Everything, as Prometheus reads it.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    fn milestone(&self, job: &JobKey, milestone: Milestone, class: Option<&'static str>) {
        if milestone == Milestone::Failed {
            let class = class.unwrap_or(UNKNOWN);
            self.causes.get_or_create(&[("class", class)]).inc();
        }
        let counted = match milestone {
            Milestone::Created => &self.created,
            Milestone::Succeeded => &self.successful,
            Milestone::Failed => &self.failed,
            Milestone::Restarted => &self.restarted,
            Milestone::Running => return,
        };
        counted.get_or_create(&OfNamespace::new(job)).inc();
    }

    fn request(&self, verb: &'static str, resource: &'static str, code: u16, took: Duration) {
        self.requests
            .get_or_create(&OfRequest { verb, resource, code })
            .inc();
        self.request_times
            .get_or_create(&[("verb", verb), ("resource", resource)])
            .observe(took.as_secs_f64());
    }

    fn started(&self, phase: Phase, created: trainyard_core::Time) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let took = now.saturating_sub(Duration::from_secs(created.0));
        let phase = phase.name();
        self.starts
            .get_or_create(&[("phase", phase)])
            .observe(took.as_secs_f64());
    }

    fn known(&self, jobs: usize, pods: usize) {
        for (kind, count) in [("jobs", jobs), ("pods", pods)] {
            self.known.get_or_create(&[("kind", kind)]).set(whole(count));
        }
    }
}

fn whole(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Observer for Metrics {
    fn notice(&self, notice: &Notice<'_>) {
        match notice {
            Notice::Ready { jobs, pods } => {
                self.known(*jobs, *pods);
                self.ready.store(true, Ordering::Relaxed);
            }
            Notice::Leading => {
                self.leads.set(1);
            }
            Notice::Standby { .. } => {
                self.leads.set(0);
            }
            Notice::WatchCut { what, .. } => {
                self.cuts.get_or_create(&[("kind", *what)]).inc();
            }
            Notice::Unreadable { what, .. } => {
                self.unreadable.get_or_create(&[("kind", *what)]).inc();
            }
            Notice::Panicked { .. } => {
                self.panics.inc();
            }
            Notice::Condition {
                job,
                milestone: Some(milestone),
                class,
                ..
            } => self.milestone(job, *milestone, *class),
            Notice::Started { phase, created, .. } => self.started(*phase, *created),
            Notice::Expired { job } => {
                self.deleted.get_or_create(&OfNamespace::new(job)).inc();
            }
            Notice::Request {
                verb,
                resource,
                code,
                took,
            } => self.request(verb, resource, *code, *took),
            Notice::Applied { took, refused } => {
                let result = if *refused { "refused" } else { "done" };
                self.passes
                    .get_or_create(&[("result", result)])
                    .observe(took.as_secs_f64());
            }
            Notice::Load { queued, active } => {
                self.queued.set(whole(*queued));
                self.active.set(whole(*active));
            }
            Notice::Known { jobs, pods } => self.known(*jobs, *pods),
            Notice::LeaseRefused { .. }
            | Notice::Condition { .. }
            | Notice::Refused { .. }
            | Notice::Waits { .. }
            | Notice::Warned { .. }
            | Notice::Starting { .. }
            | Notice::Stopping { .. }
            | Notice::Listening { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubeflows_counters_have_its_names_and_labels() {
        let metrics = Metrics::new();
        let job = JobKey {
            kind: &crate::kinds::tfjob::KIND,
            namespace: "research".into(),
            name: "mnist".into(),
        };
        for (milestone, times) in [
            (Milestone::Created, 2),
            (Milestone::Running, 1),
            (Milestone::Failed, 1),
        ] {
            for _ in 0..times {
                metrics.notice(&Notice::Condition {
                    job: &job,
                    reason: "",
                    message: "",
                    milestone: Some(milestone),
                    class: None,
                });
            }
        }
        let text = metrics.text();
        let labels = r#"{job_namespace="research",framework="tensorflow"}"#;
        assert!(
            text.contains(&format!("training_operator_jobs_created_total{labels} 2")),
            "{text}"
        );
        assert!(
            text.contains(&format!("training_operator_jobs_failed_total{labels} 1")),
            "{text}"
        );
        assert!(!text.contains("restarted_total{"), "{text}");
    }

    #[test]
    fn failures_are_counted_by_the_class_of_their_cause() {
        let metrics = Metrics::new();
        let job = JobKey {
            kind: &crate::kinds::tfjob::KIND,
            namespace: "research".into(),
            name: "mnist".into(),
        };
        for class in [Some("module-missing"), Some("module-missing"), None] {
            metrics.notice(&Notice::Condition {
                job: &job,
                reason: "",
                message: "",
                milestone: Some(Milestone::Failed),
                class,
            });
        }
        let text = metrics.text();
        for line in [
            r#"trainyard_job_failures_total{class="module-missing"} 2"#,
            r#"trainyard_job_failures_total{class="unknown"} 1"#,
        ] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_and_panics_are_counted() {
        let metrics = Metrics::new();
        let job = JobKey {
            kind: &crate::kinds::tfjob::KIND,
            namespace: "research".into(),
            name: "mnist".into(),
        };
        for news in [true, false] {
            metrics.notice(&Notice::Unreadable {
                what: "pods",
                which: "research/strange",
                why: "",
                news,
            });
        }
        metrics.notice(&Notice::Panicked {
            job: &job,
            words: "",
            wait: 1,
        });
        let text = metrics.text();
        for line in [
            r#"trainyard_unreadable_objects_total{kind="pods"} 2"#,
            "trainyard_panics_total 1",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}
