//! `trainyard operator`: runs the operator, with its log on standard error.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};
use trainyard_core::Time;
use trainyard_document::problem::escaped;
use trainyard_operator::job::{JobKey, Reading};
use trainyard_operator::kinds::chosen;
use trainyard_operator::lease::LeaseId;
use trainyard_operator::notice::{Notice, Observer};
use trainyard_operator::reconcile::events::Milestone;
use trainyard_operator::{CannotOperate, Endpoints, Options, run as operate};
use trainyard_status::rfc3339;

use crate::args::{LogFormat, Operator};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::tell;
use crate::visible;

/// Runs the operator until it is stopped.
pub fn run(typed: Operator) -> Result<Exit, Failure> {
    let namespace = typed.namespace.filter(|namespace| !namespace.is_empty());
    let lease_id = typed.leader_elect.then(|| LeaseId {
        namespace: typed.leader_election_namespace.or_else(|| namespace.clone()),
        name: typed.leader_election_id,
        identity: identity(),
    });
    let options = Options {
        namespace,
        reading: Reading {
            kinds: chosen(&typed.kinds),
            domain: typed.cluster_domain.filter(|domain| !domain.is_empty()),
            per_replica: typed.per_replica_addresses,
            legacy_labels: typed.legacy_labels,
            tensorboard: typed.tensorboard,
            network_policies: typed.network_policies,
            tensorboard_image: typed.tensorboard_image,
            kueue: typed.kueue,
            gang: typed.gangs.schedulers(),
        },
        requests: typed.requests,
        jobs: typed.controller_threads,
        limit: Some((typed.kube_api_qps, typed.kube_api_burst)),
        lease_id,
    };
    let endpoints = Endpoints {
        health: typed.health_probe_bind_address.0,
        metrics: typed.metrics_bind_address.0,
    };
    let log = Arc::new(Log(typed.log_format));
    operate(typed.context.as_deref(), options, &endpoints, log)
        .map(|()| Exit::Success)
        .map_err(|error| failure(&error))
}

fn failure(error: &CannotOperate) -> Failure {
    let words = error.to_string();
    match error {
        CannotOperate::NoCluster(error) => Failure::usage(words, error.hint.clone()),
        CannotOperate::System(..) => Failure::usage(words, None),
        CannotOperate::LeaseLost(_) => {
            Failure::refused(words, "start it again: it stands by until it gets the Lease")
        }
    }
}

/// The unique identity of this operator for leader election, starting with the name of its machine or pod.
fn identity() -> String {
    let uname = rustix::system::uname();
    let host = uname.nodename().to_string_lossy();
    let random = std::fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap_or_default();
    let random = random.trim().split('-').next().unwrap_or_default();
    format!("{host}_{}_{random}", std::process::id())
}

/// The log.
struct Log(LogFormat);

impl Observer for Log {
    fn notice(&self, notice: &Notice<'_>) {
        let Some(fields) = fields(notice) else {
            return;
        };
        let time = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        tell(&line(self.0, rfc3339(Time(time.as_secs())), fields));
    }
}

/// One line. The whole line is escaped, so that no field can be forgotten.
fn line(format: LogFormat, time: String, mut fields: Value) -> String {
    match format {
        LogFormat::Json => {
            fields["time"] = time.into();
            visible::json(fields.to_string())
        }
        LogFormat::Text => escaped(&text(&time, &fields)),
    }
}

fn named(job: &JobKey) -> String {
    format!("{}/{}", job.namespace, job.name)
}

/// The fields of a log line; `None` for notices that only metrics use.
fn fields(notice: &Notice<'_>) -> Option<Value> {
    Some(match notice {
        Notice::Ready { jobs, pods } => {
            json!({ "level": "info", "message": "ready", "jobs": jobs, "pods": pods })
        }
        Notice::WatchCut { what, why, news } if *news => {
            json!({ "level": "warn", "message": format!("cannot watch {what}; retrying"), "cause": why })
        }
        Notice::Unreadable {
            what,
            which,
            why,
            news,
        } if *news => {
            json!({ "level": "warn", "message": format!("cannot read one of the {what}"), "object": which, "cause": why })
        }
        Notice::Panicked { job, words, wait } => {
            let message = format!("bug: the operator panicked on a job; retrying in {wait} s");
            json!({ "level": "error", "message": message, "job": named(job), "cause": words })
        }
        Notice::LeaseRefused { why } => {
            json!({ "level": "warn", "message": "cannot acquire the Lease; retrying", "cause": why })
        }
        Notice::Listening { what, address } => {
            json!({ "level": "info", "message": "listening", "for": what, "address": address.to_string() })
        }
        Notice::Starting { server } => {
            let version = env!("CARGO_PKG_VERSION");
            json!({ "level": "info", "message": "starting", "version": version, "cluster": server })
        }
        Notice::Leading => json!({ "level": "info", "message": "leading" }),
        Notice::Stopping { passes } => json!({ "level": "info", "message": "stopping", "applying": passes }),
        Notice::Standby { leader: Some(leader) } => {
            json!({ "level": "info", "message": "standing by", "leader": leader })
        }
        other => return job_fields(other),
    })
}

/// The fields of a log line about one job.
fn job_fields(notice: &Notice<'_>) -> Option<Value> {
    Some(match notice {
        Notice::Expired { job } => {
            json!({ "level": "info", "message": "deleted after its time to live", "job": named(job) })
        }
        Notice::Waits { job, reason, message } => {
            json!({ "level": "warn", "message": message, "job": named(job), "waits": reason })
        }
        Notice::Warned { job, reason, message } => {
            json!({ "level": "warn", "message": message, "job": named(job), "reason": reason })
        }
        Notice::Condition {
            job,
            reason,
            message,
            milestone,
            ..
        } => {
            let level = match milestone {
                Some(Milestone::Failed | Milestone::Restarted) => "warn",
                _ => "info",
            };
            json!({ "level": level, "message": message, "job": named(job), "condition": reason })
        }
        Notice::Refused { job, doing, refused } => {
            let message = format!("cannot {doing}; retrying");
            json!({ "level": "warn", "message": message, "job": named(job), "code": refused.code, "cause": refused.message })
        }
        _ => return None,
    })
}

fn text(time: &str, fields: &Value) -> String {
    let shown = |key: &str| fields[key].as_str().unwrap_or_default();
    let mut line = format!("{time} {:4} {}", shown("level"), shown("message"));
    for (key, value) in fields.as_object().into_iter().flatten() {
        if !matches!(key.as_str(), "level" | "message") {
            // Writing to a String cannot fail.
            let _ = write!(line, " {key}={value}");
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use trainyard_document::problem::is_hidden;

    use super::*;

    const HOSTILE: &str = "a\nforged\r\x1b[2J\u{9b}31m\u{2028}\u{202e}\u{85}";

    #[test]
    fn whatever_a_cluster_says_is_one_line_that_shows_it() {
        let told = [
            Notice::WatchCut {
                what: "pods",
                why: HOSTILE,
                news: true,
            },
            Notice::LeaseRefused { why: HOSTILE },
            Notice::Standby {
                leader: Some(HOSTILE),
            },
        ];
        for told in told {
            let fields = fields(&told).unwrap();
            let plain = line(LogFormat::Text, "now".into(), fields.clone());
            let json = line(LogFormat::Json, "now".into(), fields.clone());
            for line in [&plain, &json] {
                assert!(!line.contains(is_hidden), "{line:?}");
                assert!(line.contains("forged"), "{line:?}");
            }
            let read: Value = serde_json::from_str(&json).unwrap();
            assert_eq!(read["cause"], fields["cause"], "programs read what was said");
        }
        let fields = json!({ "level": "warn", "message": HOSTILE, "job": HOSTILE });
        let plain = line(LogFormat::Text, "now".into(), fields);
        assert!(
            plain.starts_with("now warn a\\nforged\\r\\u{1b}[2J\\u{9b}31m\\u{2028}\\u{202e}\\u{85} job="),
            "{plain}"
        );
    }
}
