//! A container's environment, built in the kubelet's order: what we give, `envFrom`, `env`; later ones win.
//!
//! A variable's text may refer to those before it and to those of `envFrom`; a name defined further down stays as it
//! is written.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use trainyard_document::problem::did_you_mean;

use super::downward::Identity;
use super::expand::expand;
use super::objects::{Data, Kind, Objects};
use super::report::Report;
use super::spec::{Container, ObjectRef, ValueFrom, Variable, VariablesFrom};

/// A container's variables while they are gathered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Variables(BTreeMap<String, Vec<u8>>);

impl Variables {
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name).map(Vec::as_slice)
    }

    pub fn set(&mut self, name: &str, value: impl Into<Vec<u8>>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Sets a variable unless it is set.
    pub fn default_to(&mut self, name: &str, value: impl Into<Vec<u8>>) {
        if !self.has(name) {
            self.set(name, value);
        }
    }

    /// Text with its references replaced.
    pub fn expand(&self, text: &str) -> OsString {
        OsString::from_vec(expand(text, |name| self.get(name)))
    }

    pub fn into_environment(self) -> BTreeMap<OsString, OsString> {
        let pair = |(name, value): (String, Vec<u8>)| (name.into(), OsString::from_vec(value));
        self.0.into_iter().map(pair).collect()
    }

    /// Adds what the container says, on top of what is there.
    pub fn read(&mut self, container: &Container, sources: &Sources<'_>, report: &Report<'_>) {
        for (position, from) in container.env_from.iter().flatten().enumerate() {
            self.take_all(from, sources, &report.at(&format!("envFrom[{position}]")));
        }
        for variable in container.env.iter().flatten() {
            let report = report.at(&format!("env[{}]", variable.name));
            self.take(variable, container, sources, &report);
        }
    }

    fn take_all(&mut self, from: &VariablesFrom, sources: &Sources<'_>, report: &Report<'_>) {
        let asked = [
            (Kind::ConfigMap, &from.config_map_ref),
            (Kind::Secret, &from.secret_ref),
        ];
        let prefix = from.prefix.as_deref().unwrap_or_default();
        for (kind, reference) in asked {
            let Some(reference) = reference else { continue };
            let optional = reference.optional.unwrap_or(false);
            let Some(data) = sources.object(kind, &reference.name, optional, report) else {
                continue;
            };
            for (key, value) in &data.words {
                let name = format!("{prefix}{key}");
                if is_name(&name) {
                    self.put(&name, value, report);
                } else {
                    report.ignore(format!(
                        "`{name}` is not a valid name of a variable, and is left out as on a cluster"
                    ));
                }
            }
        }
    }

    fn take(&mut self, variable: &Variable, own: &Container, sources: &Sources<'_>, report: &Report<'_>) {
        if !is_name(&variable.name) {
            let message = format!("`{}` is not a valid name of a variable", variable.name);
            return report.refuse(message, Some("letters, digits, `_`, `-` and `.`".to_owned()));
        }
        let value = match (&variable.value, &variable.value_from) {
            (Some(text), _) if !text.is_empty() => expand(text, |name| self.get(name)),
            (_, Some(_)) => match sources.value(variable, own, report) {
                Some(value) => value,
                None => return,
            },
            _ => Vec::new(),
        };
        self.put(&variable.name, &value, report);
    }

    fn put(&mut self, name: &str, value: &[u8], report: &Report<'_>) {
        if value.contains(&0) {
            let message = format!("the value of `{name}` holds a zero byte, which no variable can");
            report.refuse(message, Some("mount it as a file instead".to_owned()));
        } else {
            self.set(name, value);
        }
    }
}

/// The sources of values that the template only refers to: the pod itself, ConfigMaps and Secrets.
pub(super) struct Sources<'a> {
    pub identity: Identity<'a>,
    pub objects: &'a Objects,
}

impl Sources<'_> {
    /// The value of a variable with `valueFrom`; none if it may be missing and is, or if that has been reported.
    fn value(&self, variable: &Variable, own: &Container, report: &Report<'_>) -> Option<Vec<u8>> {
        let from = variable.value_from.as_ref()?;
        let found = match from {
            ValueFrom {
                field_ref: Some(field),
                ..
            } => self.identity.field(field, false),
            ValueFrom {
                resource_field_ref: Some(resource),
                ..
            } => self.identity.resource(resource, own),
            ValueFrom {
                config_map_key_ref: Some(key),
                ..
            } => return self.key(Kind::ConfigMap, key, report),
            ValueFrom {
                secret_key_ref: Some(key),
                ..
            } => return self.key(Kind::Secret, key, report),
            _ => {
                let name = &variable.name;
                let message = format!("`{name}` takes its value from a source that is not known here");
                let known = "known are `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`";
                report.refuse(message, Some(known.to_owned()));
                return None;
            }
        };
        let refused = |message| report.refuse(message, None);
        found.map(String::into_bytes).map_err(refused).ok()
    }

    /// The value of one key of a ConfigMap or Secret.
    fn key(&self, kind: Kind, reference: &ObjectRef, report: &Report<'_>) -> Option<Vec<u8>> {
        let ObjectRef { name, key, optional } = reference;
        let optional = optional.unwrap_or(false);
        let data = self.object(kind, name, optional, report)?;
        let value = data.words.get(key.as_str());
        if value.is_none() && !optional {
            report.refuse_key(kind, name, key, &data.words);
        }
        value.map(|value| value.to_vec())
    }

    /// A ConfigMap or Secret by name; a missing one is reported, unless it may be missing.
    pub fn object(&self, kind: Kind, name: &str, optional: bool, report: &Report<'_>) -> Option<&Data> {
        let namespace = &*self.identity.job.namespace;
        let found = self.objects.get(kind, namespace, name);
        if found.is_none() && !optional {
            let word = kind.word();
            let near = did_you_mean(name, self.objects.names(kind, namespace));
            let hint = near.unwrap_or_else(|| {
                "put it into the manifest's file, or give its file with `--with FILE`".into()
            });
            report.refuse(
                format!("there is no {word} `{name}` in namespace `{namespace}`"),
                Some(hint),
            );
        }
        found
    }
}

/// Whether a name can be a variable's: printable ASCII without `=`, as Kubernetes has it since 1.34.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=')
}
