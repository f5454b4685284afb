//! What a pod may ask about itself: `fieldRef` and `resourceFieldRef`, in variables and in files.

use std::fmt::Write;
use std::net::Ipv4Addr;

use serde_json::Value;
use trainyard_core::{Job, Stamp, TASK_INDEX_LABEL, TaskId, task_name};
use trainyard_document::problem::did_you_mean;
use trainyard_document::quantity::Quantity;

use super::machine::Machine;
use super::spec::{Container, FieldRef, Pod, ResourceFieldRef, Words};

/// One life of a task as the pod it stands for.
pub(crate) struct Identity<'a> {
    pub job: &'a Job,
    pub task: &'a TaskId,
    pub stamp: Stamp,
    pub pod: &'a Pod,
    pub machine: &'a Machine,
    /// Its own address.
    pub address: Ipv4Addr,
}

/// Fields that a variable may name; labels and annotations also with a key.
const FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "metadata.labels",
    "metadata.annotations",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

impl Identity<'_> {
    /// The value of a field of the pod. `whole` allows all labels and all annotations at once, as files may have them.
    pub fn field(&self, field: &FieldRef, whole: bool) -> Result<String, String> {
        let path = field.field_path.as_str();
        if let Some((list, key)) = subscript(path) {
            return match list {
                "metadata.labels" => Ok(self.label(key)),
                "metadata.annotations" => Ok(self.annotation(key)),
                _ => Err(unknown(path)),
            };
        }
        Ok(match path {
            "metadata.name" => task_name(self.job, self.task),
            "metadata.namespace" => self.job.namespace.to_string(),
            "metadata.uid" => self.uid(),
            "metadata.labels" if whole => listed(self.pod.labels()),
            "metadata.annotations" if whole => listed(self.pod.annotations()),
            "metadata.labels" | "metadata.annotations" => {
                let hint = format!("`{path}['key']` is one of them; all at once only a file can hold");
                return Err(format!("a variable cannot hold all of `{path}`: {hint}"));
            }
            "spec.nodeName" => self.machine.name.clone(),
            "spec.serviceAccountName" => {
                let name = self.pod.spec.service_account_name.as_deref();
                name.filter(|name| !name.is_empty())
                    .unwrap_or("default")
                    .to_owned()
            }
            "status.podIP" | "status.podIPs" => self.address.to_string(),
            "status.hostIP" | "status.hostIPs" => Ipv4Addr::LOCALHOST.to_string(),
            _ => return Err(unknown(path)),
        })
    }

    /// A label: the template's, or one of those that operators put on pods, computed on demand.
    fn label(&self, key: &str) -> String {
        if let Some(own) = self.pod.labels().and_then(|labels| labels.get(key)) {
            return own.to_string();
        }
        let (job, task) = (self.job, self.task);
        match key {
            TASK_INDEX_LABEL
            | "training.kubeflow.org/replica-index"
            | "tf-replica-index"
            | "replica-index"
            | "volcano.sh/task-index" => task.index.to_string(),
            "training.kubeflow.org/job-name"
            | "tf-job-name"
            | "job-name"
            | "volcano.sh/job-name"
            | "tensorstack.dev/owner-name" => job.name.to_string(),
            "training.kubeflow.org/replica-type"
            | "tf-replica-type"
            | "replica-type"
            | "volcano.sh/task-spec" => task.role.to_string(),
            "volcano.sh/job-namespace" => job.namespace.to_string(),
            _ => String::new(),
        }
    }

    fn annotation(&self, key: &str) -> String {
        let own = self
            .pod
            .annotations()
            .and_then(|annotations| annotations.get(key));
        own.map_or_else(|| self.label(key), ToString::to_string)
    }

    /// A name for this life that no other has: the same whenever it is asked for, and in the form of a UUID.
    fn uid(&self) -> String {
        let Stamp { epoch, attempt } = self.stamp;
        let Job {
            uid, namespace, name, ..
        } = self.job;
        let text = format!("{uid}/{namespace}/{name}/{}/{epoch}/{attempt}", self.task);
        let high = hash(&text, 0);
        let low = hash(&text, 1);
        format!(
            "{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            0x8000 | ((low >> 48) & 0x3fff),
            low & 0xffff_ffff_ffff,
        )
    }

    /// What a container asks for or is limited to.
    pub fn resource(&self, asked: &ResourceFieldRef, own: &Container) -> Result<String, String> {
        let container = match asked.container_name.as_deref().filter(|name| !name.is_empty()) {
            None => own,
            Some(name) => self
                .pod
                .container(name)
                .ok_or_else(|| format!("there is no container `{name}`"))?,
        };
        let (list, name) = asked.resource.split_once('.').unwrap_or_default();
        let known = matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
        if !known || !matches!(list, "limits" | "requests") {
            let allowed = "`limits.cpu`, `limits.memory`, `requests.cpu`, `requests.memory` …";
            return Err(format!("there is no resource `{}`: {allowed}", asked.resource));
        }
        let amount = |list: &str| container.resources[list].get(name).map(quantity).transpose();
        let limit = amount("limits")?;
        let amount = match list {
            "limits" => limit.unwrap_or_else(|| self.machine.capacity(name)),
            // What has a limit and no request asks for its limit.
            _ => amount("requests")?.or(limit).unwrap_or_default(),
        };
        let divisor = asked.divisor.as_ref().map(quantity).transpose()?;
        Ok(divided(amount, divisor.unwrap_or_default(), name == "cpu").to_string())
    }
}

/// A quantity as JSON has it: text or a number.
pub(crate) fn quantity(value: &Value) -> Result<Quantity, String> {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Quantity::parse(&text).map_err(|_| format!("`{text}` is not a quantity"))
}

/// How many divisors the amount is, rounded up: CPUs by the thousandth, everything else by the whole.
fn divided(amount: Quantity, divisor: Quantity, by_thousandth: bool) -> i64 {
    let divisor = if divisor.milli == 0 {
        Quantity::from_milli(1000)
    } else {
        divisor
    };
    let (amount, divisor) = if by_thousandth {
        (amount.milli, divisor.milli)
    } else {
        (amount.whole(), divisor.whole())
    };
    let (whole, rest) = (amount.div_euclid(divisor), amount.rem_euclid(divisor));
    whole.saturating_add(i64::from(rest != 0))
}

/// `metadata.labels['key']` in two parts.
fn subscript(path: &str) -> Option<(&str, &str)> {
    let (list, rest) = path.split_once("['")?;
    Some((list, rest.strip_suffix("']")?))
}

fn unknown(path: &str) -> String {
    let plain = path.split_once('[').map_or(path, |(list, _)| list);
    let hint = did_you_mean(plain, FIELDS.iter().copied());
    let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("a pod has no field `{path}` that a container could ask for{hint}")
}

/// All labels or annotations as a file shows them: `key="value"`, one per line.
fn listed(words: Option<&Words>) -> String {
    let mut out = String::new();
    for (key, value) in words.into_iter().flatten() {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(key);
        out.push('=');
        quote(&mut out, value);
    }
    out
}

/// Text in double quotes, with Go's escapes.
fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            // Writing to a String cannot fail.
            c if c < ' ' || c == '\u{7f}' => drop(write!(out, "\\x{:02x}", u32::from(c))),
            c if c.is_control() => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// FNV-1a over the text, with a number mixed in first.
pub(crate) fn hash(text: &str, salt: u8) -> u64 {
    let bytes = std::iter::once(salt).chain(text.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
