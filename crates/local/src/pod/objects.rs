//! ConfigMaps and Secrets that pod templates refer to: found in the manifest's file, or in files given beside it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use trainyard_dialect::{Item, ReadJob, Reading};
use trainyard_document::names::wrong_key;
use trainyard_document::problem::shown;
use trainyard_document::scalar::base64;

use super::report::Refusal;

/// What one ConfigMap or Secret holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// Each key's bytes: a ConfigMap's `data` and `binaryData`, a Secret's `data` and `stringData`.
    pub keys: Keys,
    /// The keys that variables may come from: a ConfigMap's `binaryData` are files only.
    pub words: Keys,
}

/// The objects beside a job, by kind, namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objects(BTreeMap<(Kind, Arc<str>, Arc<str>), Data>);

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
    pub fn word(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
        }
    }
}

impl Objects {
    /// Everything that stands beside a job: in its own file, in those given with it, and what its dialect brings.
    pub fn beside<'r>(
        job: &ReadJob,
        readings: impl IntoIterator<Item = &'r Reading>,
    ) -> Result<Self, Vec<Refusal>> {
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
    pub fn add(&mut self, object: &Value, namespace: &str) -> Result<(), Refusal> {
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
        let data = match kind {
            Kind::ConfigMap => config_map(object),
            Kind::Secret => secret(object),
        };
        let bad = |what| Refusal::new(&*name, format!("{} `{name}`: {what}", kind.word()), None);
        let data = data.map_err(bad)?;
        self.0.insert((kind, namespace.into(), name), data);
        Ok(())
    }

    /// What an object holds, if there is one.
    pub fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<&Data> {
        self.0.get(&(kind, namespace.into(), name.into()))
    }

    /// The names there are in a namespace.
    pub fn names(&self, kind: Kind, namespace: &str) -> impl Iterator<Item = &str> {
        let there = move |key: &&(Kind, Arc<str>, Arc<str>)| key.0 == kind && *key.1 == *namespace;
        self.0.keys().filter(there).map(|(_, _, name)| &**name)
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

/// Each key's bytes.
pub(super) type Keys = BTreeMap<Arc<str>, Arc<[u8]>>;

fn plain(object: &Value, field: &str) -> Result<Keys, String> {
    let bytes = |text: &str| Some(text.as_bytes().to_vec());
    keys(object, field, bytes, "text; put quotes around it")
}

fn decoded(object: &Value, field: &str) -> Result<Keys, String> {
    keys(object, field, base64, "base64")
}

/// The bytes of each key of a map; `form` names what a value must be.
fn keys(
    object: &Value,
    field: &str,
    bytes: impl Fn(&str) -> Option<Vec<u8>>,
    form: &str,
) -> Result<Keys, String> {
    let map = match &object[field] {
        Value::Null => return Ok(Keys::new()),
        Value::Object(map) => map,
        _ => return Err(format!("`{field}` is not a map")),
    };
    let mut keys = Keys::new();
    for (key, value) in map {
        let bytes = value.as_str().and_then(&bytes);
        let bytes = bytes.ok_or_else(|| format!("`{field}.{key}` is not {form}"))?;
        // It may become the name of a file.
        if let Some(wrong) = wrong_key(key) {
            return Err(format!("`{}` cannot be a key of `{field}`: {wrong}", shown(key)));
        }
        keys.insert(key.as_str().into(), bytes.into());
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
            assert_eq!(error.message, message);
        }
    }
}
