//! A pod on the wire, as far as it is read. Every field may be missing, and every number may be any number: clients that may write a
//! pod's status write negative counts too, and the API server keeps them.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::{Number, Value};
use trainyard_core::Time;
use trainyard_status::read_rfc3339;

use crate::kinds::JobApi;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodWire {
    pub metadata: MetaWire,
    pub spec: SpecWire,
    pub status: StatusWire,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MetaWire {
    pub name: Option<String>,
    pub namespace: Option<String>,
    pub uid: Option<String>,
    pub resource_version: Option<String>,
    #[serde(deserialize_with = "instant")]
    pub creation_timestamp: Option<Time>,
    pub deletion_timestamp: Option<String>,
    #[serde(deserialize_with = "seconds")]
    pub deletion_grace_period_seconds: Option<u64>,
    #[serde(deserialize_with = "or_default")]
    pub labels: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_default")]
    pub annotations: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_default")]
    pub owner_references: Vec<OwnerWire>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerWire {
    pub api_version: String,
    pub kind: String,
    pub uid: String,
    pub controller: bool,
}

impl OwnerWire {
    /// The kind of job it is, of whatever version, if it is one and controls the pod. UIDs alone do not say: the API server
    /// accepts a reference to an object of another kind with a job's UID.
    pub fn job_kind(&self) -> Option<&'static JobApi> {
        JobApi::find(&self.api_version, &self.kind).filter(|_| self.controller)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SpecWire {
    pub restart_policy: Option<String>,
    pub scheduler_name: Option<String>,
    pub node_name: Option<String>,
    #[serde(deserialize_with = "code")]
    pub priority: Option<i32>,
    #[serde(deserialize_with = "or_default")]
    pub scheduling_gates: Vec<NameWire>,
    #[serde(deserialize_with = "or_default")]
    pub containers: Vec<NameWire>,
    #[serde(deserialize_with = "or_default")]
    pub init_containers: Vec<NameWire>,
    /// What follows is advice for gangs by gates, whatever its type: no pod is unreadable because of it.
    pub node_selector: Value,
    pub tolerations: Value,
    pub resources: Value,
    pub overhead: Value,
    #[serde(deserialize_with = "or_default")]
    pub volumes: Vec<VolumeWire>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NameWire {
    pub name: String,
    /// Of init containers alone: `Always` makes one a sidecar, which may end as it likes.
    pub restart_policy: Option<String>,
    pub resources: Value,
    pub liveness_probe: Option<IgnoredAny>,
    pub startup_probe: Option<IgnoredAny>,
}

impl NameWire {
    /// Whether it is an init container that runs beside the others.
    pub fn is_sidecar(&self) -> bool {
        self.restart_policy.as_deref() == Some("Always")
    }

    /// Whether it has a probe for which the kubelet kills.
    pub const fn has_killing_probe(&self) -> bool {
        self.liveness_probe.is_some() || self.startup_probe.is_some()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeWire {
    pub secret: Option<ReferenceWire>,
    pub config_map: Option<ReferenceWire>,
    pub persistent_volume_claim: Option<ClaimWire>,
    pub projected: Option<ProjectedWire>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProjectedWire {
    #[serde(deserialize_with = "or_default")]
    pub sources: Vec<SourceWire>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SourceWire {
    pub secret: Option<ReferenceWire>,
    pub config_map: Option<ReferenceWire>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ReferenceWire {
    /// A volume of a Secret calls it `secretName`, everything else `name`.
    #[serde(alias = "secretName")]
    pub name: String,
    pub optional: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimWire {
    pub claim_name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusWire {
    pub phase: Option<String>,
    pub reason: Option<String>,
    pub message: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub conditions: Vec<ConditionWire>,
    #[serde(deserialize_with = "or_default")]
    pub container_statuses: Vec<ContainerWire>,
    #[serde(deserialize_with = "or_default")]
    pub init_container_statuses: Vec<ContainerWire>,
}

impl StatusWire {
    /// How often the kubelet has started containers of the pod again.
    pub fn restarts(&self) -> u32 {
        let all = self
            .container_statuses
            .iter()
            .chain(&self.init_container_statuses);
        all.fold(0, |sum, container| sum.saturating_add(container.restart_count))
    }

    pub fn condition(&self, kind: &str) -> Option<&ConditionWire> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConditionWire {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    pub reason: Option<String>,
    pub message: Option<String>,
    #[serde(deserialize_with = "instant")]
    pub last_transition_time: Option<Time>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerWire {
    pub name: String,
    #[serde(deserialize_with = "count")]
    pub restart_count: u32,
    #[serde(deserialize_with = "or_default")]
    pub state: StateWire,
    #[serde(deserialize_with = "or_default")]
    pub last_state: StateWire,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct StateWire {
    pub running: Option<RunningWire>,
    pub waiting: Option<WaitingWire>,
    pub terminated: Option<TerminatedWire>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunningWire {
    #[serde(deserialize_with = "instant")]
    pub started_at: Option<Time>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct WaitingWire {
    pub reason: Option<String>,
    pub message: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminatedWire {
    #[serde(deserialize_with = "code")]
    pub exit_code: Option<i32>,
    pub reason: Option<String>,
    pub message: Option<String>,
    #[serde(deserialize_with = "instant")]
    pub started_at: Option<Time>,
    #[serde(deserialize_with = "instant")]
    pub finished_at: Option<Time>,
}

/// `null` means the same as nothing.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// A whole number, or the nearest one that there is.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let number = Option::<Number>::deserialize(deserializer)?;
    Ok(number.map(|number| {
        let negative = number.as_f64().is_some_and(|number| number < 0.0);
        let nearest = if negative { i64::MIN } else { i64::MAX };
        number.as_i64().unwrap_or(nearest)
    }))
}

/// How often something happened: never less than never.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let number = number(deserializer)?.unwrap_or_default();
    Ok(u32::try_from(number.max(0)).unwrap_or(u32::MAX))
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = number(deserializer)?;
    Ok(number.map(|number| u64::try_from(number).unwrap_or_default()))
}

fn code<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i32>, D::Error> {
    let number = number(deserializer)?;
    Ok(number.map(|number| i32::try_from(number).unwrap_or(if number < 0 { i32::MIN } else { i32::MAX })))
}

/// A time, if it is one: clients that may write a status write any text.
fn instant<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Time>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.as_deref().and_then(time))
}

/// A time of the API server's. Fractions of a second are dropped.
pub fn time(text: &str) -> Option<Time> {
    match text.split_once('.') {
        Some((seconds, _)) => read_rfc3339(&format!("{seconds}Z")),
        None => read_rfc3339(text),
    }
}
