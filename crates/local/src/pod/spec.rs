//! A pod template's JSON as typed fields: those that a process can honour.
//!
//! Everything else stays in the JSON, and [`ignored`](super::ignored) says so.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

/// A map of words: labels, annotations, data.
pub(super) type Words = BTreeMap<Arc<str>, Arc<str>>;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Pod {
    pub metadata: Option<Metadata>,
    pub spec: Spec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Metadata {
    pub labels: Option<Words>,
    pub annotations: Option<Words>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Spec {
    pub containers: Vec<Container>,
    pub init_containers: Option<Vec<Container>>,
    pub volumes: Option<Vec<Volume>>,
    pub termination_grace_period_seconds: Option<u32>,
    pub service_account_name: Option<Arc<str>>,
    pub host_aliases: Option<Vec<HostAlias>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct HostAlias {
    pub ip: String,
    pub hostnames: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Container {
    pub name: Arc<str>,
    pub image: Option<Arc<str>>,
    pub command: Option<Vec<String>>,
    pub args: Option<Vec<String>>,
    pub working_dir: Option<String>,
    pub env: Option<Vec<Variable>>,
    pub env_from: Option<Vec<VariablesFrom>>,
    /// `limits` and `requests`, each a map of quantities.
    pub resources: Value,
    pub volume_mounts: Option<Vec<VolumeMount>>,
    pub restart_policy: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Variable {
    pub name: String,
    pub value: Option<String>,
    pub value_from: Option<ValueFrom>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(clippy::struct_field_names, reason = "the names are Kubernetes'")]
pub(super) struct ValueFrom {
    pub field_ref: Option<FieldRef>,
    pub resource_field_ref: Option<ResourceFieldRef>,
    pub config_map_key_ref: Option<ObjectRef>,
    pub secret_key_ref: Option<ObjectRef>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FieldRef {
    pub field_path: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ResourceFieldRef {
    pub container_name: Option<Arc<str>>,
    pub resource: String,
    pub divisor: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct VariablesFrom {
    pub prefix: Option<String>,
    pub config_map_ref: Option<ObjectRef>,
    pub secret_ref: Option<ObjectRef>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ObjectRef {
    pub name: Arc<str>,
    /// Empty where all keys are meant.
    pub key: String,
    pub optional: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct VolumeMount {
    pub name: Arc<str>,
    pub mount_path: String,
    pub sub_path: Option<String>,
    pub sub_path_expr: Option<String>,
    pub read_only: Option<bool>,
}

/// A volume; what kind it is, is the name of its second field.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Volume {
    pub name: Arc<str>,
    pub empty_dir: Option<Value>,
    pub host_path: Option<HostPath>,
    pub config_map: Option<Projection>,
    pub secret: Option<Projection>,
    #[serde(rename = "downwardAPI")]
    pub downward_api: Option<DownwardApi>,
    pub projected: Option<Projected>,
    pub persistent_volume_claim: Option<Claim>,
    pub nfs: Option<Nfs>,
    pub ephemeral: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct HostPath {
    pub path: String,
    #[serde(rename = "type")]
    pub kind: Option<String>,
}

/// The contents of a ConfigMap or a Secret as files.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Projection {
    /// A ConfigMap's, and a Secret's within `projected`.
    pub name: Option<Arc<str>>,
    /// A Secret's.
    pub secret_name: Option<Arc<str>>,
    pub items: Option<Vec<Item>>,
    pub default_mode: Option<u32>,
    pub optional: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Item {
    pub key: String,
    pub path: String,
    pub mode: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct DownwardApi {
    pub items: Option<Vec<DownwardItem>>,
    pub default_mode: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct DownwardItem {
    pub path: String,
    pub mode: Option<u32>,
    pub field_ref: Option<FieldRef>,
    pub resource_field_ref: Option<ResourceFieldRef>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Projected {
    pub sources: Option<Vec<Projectable>>,
    pub default_mode: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Projectable {
    pub config_map: Option<Projection>,
    pub secret: Option<Projection>,
    #[serde(rename = "downwardAPI")]
    pub downward_api: Option<DownwardApi>,
    pub service_account_token: Option<Value>,
    pub cluster_trust_bundle: Option<Value>,
    pub pod_certificate: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Claim {
    pub claim_name: Arc<str>,
    pub read_only: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Nfs {
    pub server: String,
    pub path: String,
    pub read_only: Option<bool>,
}

/// The container that is the task: the one named `tensorflow`, else the first.
pub(super) const MAIN: &str = "tensorflow";

impl Pod {
    /// Reads a template's JSON; the sentence says what is wrong with it.
    pub fn read(json: &Value) -> Result<Self, String> {
        Self::deserialize(json).map_err(|error| error.to_string())
    }

    /// Which of `spec.containers` is the task.
    pub fn main(&self) -> Option<usize> {
        let containers = &self.spec.containers;
        let named = containers.iter().position(|container| &*container.name == MAIN);
        named.or_else(|| (!containers.is_empty()).then_some(0))
    }

    pub fn init_containers(&self) -> &[Container] {
        self.spec.init_containers.as_deref().unwrap_or_default()
    }

    pub fn volumes(&self) -> &[Volume] {
        self.spec.volumes.as_deref().unwrap_or_default()
    }

    pub fn labels(&self) -> Option<&Words> {
        self.metadata.as_ref()?.labels.as_ref()
    }

    pub fn annotations(&self) -> Option<&Words> {
        self.metadata.as_ref()?.annotations.as_ref()
    }

    /// The container with that name, init containers too.
    pub fn container(&self, name: &str) -> Option<&Container> {
        let all = self.spec.containers.iter().chain(self.init_containers());
        all.into_iter().find(|container| &*container.name == name)
    }
}

impl Container {
    /// An init container that stays beside the others.
    pub fn stays(&self) -> bool {
        self.restart_policy.as_deref() == Some("Always")
    }
}
