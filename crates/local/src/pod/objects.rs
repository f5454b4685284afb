//! ConfigMaps and Secrets that pod templates refer to: found in the manifest's file, or in files given beside it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use trainyard_dialect::{Item, ReadJob, Reading};
use trainyard_document::names::wrong_key;
use trainyard_document::problem::shown;
use trainyard_document::scalar::base64;

/// What one ConfigMap or Secret holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// Each key's bytes: a ConfigMap's `data` and `binaryData`, a Secret's `data` and `stringData`.
    pub keys: BTreeMap<Arc<str>, Arc<[u8]>>,
    /// The keys that variables may come from: a ConfigMap's `binaryData` are files only.
    pub words: BTreeMap<Arc<str>, Arc<[u8]>>,
}

/// The objects beside a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objects {
    config_maps: BTreeMap<Name, Data>,
    secrets: BTreeMap<Name, Data>,
}

/// Namespace and name.
type Name = (Arc<str>, Arc<str>);

/// What templates refer to by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A ConfigMap.
    ConfigMap,
    /// A Secret.
    Secret,
}

impl Kind {
    /// The `kind` in manifests.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
        }
    }
}

/// An object that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} `{name}`: {what}", kind = kind.word())]
pub struct BadObject {
    /// What it is.
    pub kind: Kind,
    /// Its name.
    pub name: Arc<str>,
    /// What is wrong.
    pub what: String,
}

impl Objects {
    /// Everything that stands beside a job: in its own file, in those given with it, and what its dialect brings.
    pub fn beside<'r>(
        job: &ReadJob,
        readings: impl IntoIterator<Item = &'r Reading>,
    ) -> Result<Self, Vec<BadObject>> {
        let mut objects = Self::default();
        let mut bad = Vec::new();
        let namespace = &*job.job.namespace;
        for item in readings.into_iter().flat_map(|reading| &reading.items) {
            if let Item::Other(other) = item {
                bad.extend(objects.add(&other.node.to_json(), namespace).err());
            }
        }
        for object in &job.objects {
            bad.extend(objects.add(object, namespace).err());
        }
        if bad.is_empty() { Ok(objects) } else { Err(bad) }
    }

    /// Takes an object in, if it is one that templates refer to; a later one of the same name takes the place of an
    /// earlier one, as applying them in order would. `namespace` is for objects that say none.
    pub fn add(&mut self, object: &Value, namespace: &str) -> Result<(), BadObject> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if text(&object["apiVersion"]) != "v1" {
            return Ok(());
        }
        let kind = match object["kind"].as_str() {
            Some("ConfigMap") => Kind::ConfigMap,
            Some("Secret") => Kind::Secret,
            _ => return Ok(()),
        };
        let metadata = &object["metadata"];
        let name: Arc<str> = text(&metadata["name"]).into();
        let namespace = metadata["namespace"].as_str().unwrap_or(namespace);
        let bad = |what| BadObject {
            kind,
            name: name.clone(),
            what,
        };
        let data = match kind {
            Kind::ConfigMap => config_map(object),
            Kind::Secret => secret(object),
        }
        .map_err(bad)?;
        self.all_mut(kind).insert((namespace.into(), name), data);
        Ok(())
    }

    /// What an object holds, if there is one.
    #[must_use]
    pub fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<&Data> {
        self.all(kind).get(&(namespace.into(), name.into()))
    }

    /// The names there are in a namespace.
    pub fn names(&self, kind: Kind, namespace: &str) -> impl Iterator<Item = &str> {
        let there = move |(place, _): &&Name| **place == *namespace;
        self.all(kind).keys().filter(there).map(|(_, name)| &**name)
    }

    fn all(&self, kind: Kind) -> &BTreeMap<Name, Data> {
        match kind {
            Kind::ConfigMap => &self.config_maps,
            Kind::Secret => &self.secrets,
        }
    }

    fn all_mut(&mut self, kind: Kind) -> &mut BTreeMap<Name, Data> {
        match kind {
            Kind::ConfigMap => &mut self.config_maps,
            Kind::Secret => &mut self.secrets,
        }
    }
}

fn config_map(object: &Value) -> Result<Data, String> {
    let words = plain(object, "data")?;
    let mut keys = decoded(object, "binaryData")?;
    keys.extend(words.clone());
    Ok(Data { keys, words })
}

fn secret(object: &Value) -> Result<Data, String> {
    let mut keys = decoded(object, "data")?;
    keys.extend(plain(object, "stringData")?);
    Ok(Data {
        words: keys.clone(),
        keys,
    })
}

fn entries<'v>(object: &'v Value, field: &str) -> Result<Option<&'v Map<String, Value>>, String> {
    match &object[field] {
        Value::Null => Ok(None),
        Value::Object(map) => Ok(Some(map)),
        _ => Err(format!("`{field}` is not a map")),
    }
}

type Keys = BTreeMap<Arc<str>, Arc<[u8]>>;

/// A key as Kubernetes takes it: it may become the name of a file.
fn checked(field: &str, key: &str) -> Result<Arc<str>, String> {
    match wrong_key(key) {
        Some(wrong) => Err(format!("`{}` cannot be a key of `{field}`: {wrong}", shown(key))),
        None => Ok(key.into()),
    }
}

fn plain(object: &Value, field: &str) -> Result<Keys, String> {
    let mut keys = Keys::new();
    for (key, value) in entries(object, field)?.into_iter().flatten() {
        let Some(text) = value.as_str() else {
            return Err(format!("`{field}.{key}` is not text; put quotes around it"));
        };
        keys.insert(checked(field, key)?, text.as_bytes().into());
    }
    Ok(keys)
}

fn decoded(object: &Value, field: &str) -> Result<Keys, String> {
    let mut keys = Keys::new();
    for (key, value) in entries(object, field)?.into_iter().flatten() {
        let Some(bytes) = value.as_str().and_then(base64) else {
            return Err(format!("`{field}.{key}` is not base64"));
        };
        keys.insert(checked(field, key)?, bytes.into());
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn config_maps_and_secrets_are_found_by_kind_namespace_and_name() {
        let mut objects = Objects::default();
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"},
            "data": {"a": "1"}, "binaryData": {"b": "aGk="}});
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "m", "namespace": "other"},
            "data": {"a": "aGk=", "c": "/w=="}, "stringData": {"a": "wins"}});
        let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "m"}});
        for object in [&map, &secret, &claim] {
            objects.add(object, "default").unwrap();
        }
        let found = objects.get(Kind::ConfigMap, "default", "m").unwrap();
        assert_eq!(&*found.keys["a"], b"1");
        assert_eq!(&*found.keys["b"], b"hi");
        assert!(!found.words.contains_key("b"), "binary data is for files only");
        let found = objects.get(Kind::Secret, "other", "m").unwrap();
        assert_eq!(&*found.words["a"], b"wins");
        assert_eq!(&*found.words["c"], &[0xff]);
        assert_eq!(objects.get(Kind::Secret, "default", "m"), None);
        assert_eq!(
            objects.names(Kind::ConfigMap, "default").collect::<Vec<_>>(),
            ["m"]
        );
    }

    #[test]
    fn what_cannot_be_read_is_said_with_its_name() {
        let mut objects = Objects::default();
        let table = [
            (
                "Secret",
                json!({"k": "no base64!"}),
                "Secret `x`: `data.k` is not base64",
            ),
            (
                "ConfigMap",
                json!({"k": 1}),
                "ConfigMap `x`: `data.k` is not text; put quotes around it",
            ),
            ("ConfigMap", json!("text"), "ConfigMap `x`: `data` is not a map"),
            (
                "ConfigMap",
                json!({"../k": "v"}),
                "ConfigMap `x`: `../k` cannot be a key of `data`: only letters, digits, `-`, `_` and `.` are allowed",
            ),
            (
                "Secret",
                json!({"..": "aGk="}),
                "Secret `x`: `..` cannot be a key of `data`: it must not begin with `..`",
            ),
        ];
        for (kind, data, message) in table {
            let object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}, "data": data});
            let error = objects.add(&object, "default").unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }
}
