//! `trainyard operator`: jobs on a cluster, and lines about them on standard error.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};
use trainyard_core::Time;
use trainyard_dialect::status::rfc3339;
use trainyard_manifest::pod_group::Groups;
use trainyard_operator::job::Reading;
use trainyard_operator::lease::Seat;
use trainyard_operator::tell::{Listener, Told};
use trainyard_operator::{CannotOperate, Endpoints, Options, run as operate};

use crate::args::{LogFormat, Operator};
use crate::exit::Exit;
use crate::failure::Failure;

/// Operates until it is told to stop.
pub fn run(typed: Operator) -> Result<Exit, Failure> {
    let namespace = typed.namespace.filter(|namespace| !namespace.is_empty());
    let seat = typed.leader_elect.then(|| Seat {
        namespace: typed.leader_election_namespace.or_else(|| namespace.clone()),
        name: typed.leader_election_id,
        identity: identity(),
    });
    let options = Options {
        namespace,
        reading: Reading {
            domain: typed.cluster_domain.filter(|domain| !domain.is_empty()),
            per_replica: typed.per_replica_addresses,
            groups: Groups::named(&typed.gang_scheduler_name),
        },
        requests: typed.requests.max(1),
        jobs: typed.controller_threads.max(1),
        limit: Some((typed.kube_api_qps, typed.kube_api_burst)),
        seat,
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
        CannotOperate::NoCluster(error) => Failure::usage(words, Some(error.hint.clone())),
        CannotOperate::System(..) => Failure::usage(words, None),
        CannotOperate::Lost(_) => Failure::Ended {
            message: words,
            hint: "start it again: it stands by until it may act",
        },
    }
}

/// What this operator is called among others: the name of its machine or pod, and something that no other has.
fn identity() -> String {
    let uname = rustix::system::uname();
    let host = uname.nodename().to_string_lossy();
    let random = std::fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap_or_default();
    let random = random.trim().split('-').next().unwrap_or_default();
    format!("{host}_{}_{random}", std::process::id())
}

/// Writes lines to standard error.
struct Log(LogFormat);

impl Listener for Log {
    fn told(&self, told: &Told<'_>) {
        let Some(mut fields) = fields(told) else {
            return;
        };
        let time = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let time = rfc3339(Time(time.as_secs()));
        let line = match self.0 {
            LogFormat::Json => {
                fields["time"] = time.into();
                fields.to_string()
            }
            LogFormat::Text => text(&time, &fields),
        };
        // There is nobody to tell that nobody can be told.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

/// What is worth a line; the rest is for those who count.
fn fields(told: &Told<'_>) -> Option<Value> {
    Some(match told {
        Told::Ready { jobs, pods } => {
            json!({ "level": "info", "message": "ready", "jobs": jobs, "pods": pods })
        }
        Told::WatchCut { what, why, news } if *news => {
            json!({ "level": "warn", "message": format!("{what} cannot be watched now; trying again"), "cause": why })
        }
        Told::LeaseRefused { why } => {
            json!({ "level": "warn", "message": "the Lease cannot be had; trying again", "cause": why })
        }
        Told::Listening { what, address } => {
            json!({ "level": "info", "message": "listening", "for": what, "address": address.to_string() })
        }
        Told::Starting { server } => {
            let version = env!("CARGO_PKG_VERSION");
            json!({ "level": "info", "message": "starting", "version": version, "cluster": server })
        }
        Told::Leading => json!({ "level": "info", "message": "acting" }),
        Told::Stopping { passes } => json!({ "level": "info", "message": "stopping", "passes": passes }),
        Told::StandingBy { leader: Some(leader) } => {
            json!({ "level": "info", "message": "standing by while another one acts", "leader": leader })
        }
        Told::Expired { job } => {
            let job = format!("{}/{}", job.namespace, job.name);
            json!({ "level": "info", "message": "deleted, since its time is over", "job": job })
        }
        Told::Waits { job, reason, message } => {
            let job = format!("{}/{}", job.namespace, job.name);
            json!({ "level": "warn", "message": message, "job": job, "waits": reason })
        }
        Told::Warned { job, reason, message } => {
            let job = format!("{}/{}", job.namespace, job.name);
            json!({ "level": "warn", "message": message, "job": job, "reason": reason })
        }
        Told::Condition { job, kind, message } => {
            let job = format!("{}/{}", job.namespace, job.name);
            let level = match *kind {
                "TFJobFailed" | "TFJobRestarting" | "InvalidTFJobSpec" => "warn",
                _ => "info",
            };
            json!({ "level": level, "message": message, "job": job, "condition": kind })
        }
        Told::Refused { job, doing, refused } => {
            let job = format!("{}/{}", job.namespace, job.name);
            let message = format!("cannot {doing}; it is tried again");
            json!({ "level": "warn", "message": message, "job": job, "code": refused.code, "cause": refused.message })
        }
        Told::StandingBy { leader: None }
        | Told::Started { .. }
        | Told::Request { .. }
        | Told::Passed { .. }
        | Told::Load { .. }
        | Told::WatchCut { .. }
        | Told::Known { .. } => return None,
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
