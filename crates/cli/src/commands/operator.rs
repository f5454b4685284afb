//! `trainyard operator`: jobs on a cluster, and lines about them on standard error.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};
use trainyard_core::Time;
use trainyard_dialect::status::rfc3339;
use trainyard_operator::job::Reading;
use trainyard_operator::tell::{Listener, Told};
use trainyard_operator::{Options, run as operate};

use crate::args::{LogFormat, Operator};
use crate::exit::Exit;
use crate::failure::Failure;

/// Operates until it is told to stop.
pub fn run(typed: Operator) -> Result<Exit, Failure> {
    let options = Options {
        namespace: typed.namespace.filter(|namespace| !namespace.is_empty()),
        reading: Reading {
            domain: typed.cluster_domain.filter(|domain| !domain.is_empty()),
            per_replica: typed.per_replica_addresses,
        },
        requests: typed.requests.max(1),
        jobs: typed.controller_threads.max(1),
    };
    let log = Arc::new(Log(typed.log_format));
    operate(typed.context.as_deref(), options, log)
        .map(|()| Exit::Success)
        .map_err(|error| {
            let hint = "give a kubeconfig by KUBECONFIG or `--context`, or run it in a pod of the cluster";
            Failure::usage(error.to_string(), Some(hint.into()))
        })
}

/// Writes lines to standard error.
struct Log(LogFormat);

impl Listener for Log {
    fn told(&self, told: &Told<'_>) {
        let mut fields = fields(told);
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

fn fields(told: &Told<'_>) -> Value {
    match told {
        Told::Ready { jobs, pods } => {
            json!({ "level": "info", "message": "ready", "jobs": jobs, "pods": pods })
        }
        Told::WatchCut { what, why } => {
            json!({ "level": "warn", "message": format!("the watch of {what} was cut and begins again"), "cause": why })
        }
        Told::Condition { job, kind, message } => {
            let job = format!("{}/{}", job.namespace, job.name);
            json!({ "level": "info", "message": message, "job": job, "condition": kind })
        }
        Told::Refused { job, doing, refused } => {
            let job = format!("{}/{}", job.namespace, job.name);
            let message = format!("cannot {doing}; it is tried again");
            json!({ "level": "warn", "message": message, "job": job, "code": refused.code, "cause": refused.message })
        }
        _ => json!({ "level": "info", "message": "" }),
    }
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
