//! The files of volumes that are made of files: ConfigMaps, Secrets, what a pod knows of itself, and mixtures.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use trainyard_document::names::{wrong_file_path, wrong_key};
use trainyard_document::problem::shown;

use super::objects::Kind;
use super::report::Report;
use super::spec::{DownwardApi, DownwardItem, Item, Projected, Projection};
use super::variables::Sources;

/// Permissions where the template says none.
const MODE: u32 = 0o644;

/// One file of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    /// Within the volume: only [`File::checked`] makes one, so that nothing is ever written elsewhere.
    path: Box<str>,
    pub content: Arc<[u8]>,
    pub mode: u32,
}

/// What is wrong with a name or a path, if something is.
type Rule = fn(&str) -> Option<&'static str>;

impl File {
    /// A file whose name the rule allows.
    fn checked(rule: Rule, path: &str, content: Arc<[u8]>, mode: u32, report: &Report<'_>) -> Option<Self> {
        if let Some(wrong) = rule(path) {
            let message = format!("`{}` cannot be a file of the volume: {wrong}", shown(path));
            report.refuse(message, Some("a relative path without `..`".to_owned()));
            return None;
        }
        let path = path.into();
        Some(Self { path, content, mode })
    }

    /// Where it is in a volume that is there.
    pub fn within(&self, volume: &Path) -> PathBuf {
        volume.join(&*self.path)
    }
}

/// The keys of a ConfigMap or a Secret. `mode` is what the volume says, where it is the one to say it.
pub(super) fn of_object(
    kind: Kind,
    asked: &Projection,
    mode: Option<u32>,
    sources: &Sources<'_>,
    report: &Report<'_>,
) -> Vec<File> {
    let name = asked.secret_name.as_ref().or(asked.name.as_ref());
    let name: &str = name.map_or("", |name| name);
    let optional = asked.optional.unwrap_or(false);
    let Some(data) = sources.object(kind, name, optional, report) else {
        return Vec::new();
    };
    let mode = mode.or(asked.default_mode).unwrap_or(MODE);
    let Some(items) = &asked.items else {
        let keys = data.keys.iter();
        return keys
            .filter_map(|(key, content)| File::checked(wrong_key, key, content.clone(), mode, report))
            .collect();
    };
    let mut files = Vec::new();
    for Item { key, path, mode: own } in items {
        match data.keys.get(key.as_str()) {
            Some(content) => {
                let (content, mode) = (content.clone(), own.unwrap_or(mode));
                files.extend(File::checked(wrong_file_path, path, content, mode, report));
            }
            None if optional => {}
            None => report.refuse_key(kind, name, key, &data.keys),
        }
    }
    files
}

/// What a pod knows of itself.
pub(super) fn of_pod(
    asked: &DownwardApi,
    mode: Option<u32>,
    sources: &Sources<'_>,
    report: &Report<'_>,
) -> Vec<File> {
    let mode = mode.or(asked.default_mode).unwrap_or(MODE);
    let mut files = Vec::new();
    for item in asked.items.iter().flatten() {
        match known(item, sources) {
            Ok(text) => {
                let content = text.into_bytes().into();
                let mode = item.mode.unwrap_or(mode);
                files.extend(File::checked(wrong_file_path, &item.path, content, mode, report));
            }
            Err(message) => report.refuse(message, None),
        }
    }
    files
}

fn known(item: &DownwardItem, sources: &Sources<'_>) -> Result<String, String> {
    let identity = &sources.identity;
    if let Some(field) = &item.field_ref {
        return identity.field(field, true);
    }
    let Some(asked) = &item.resource_field_ref else {
        return Err(format!(
            "`{}` says neither `fieldRef` nor `resourceFieldRef`",
            item.path
        ));
    };
    let name = asked.container_name.as_deref().unwrap_or_default();
    let own = identity.pod.container(name);
    let own = own.ok_or_else(|| format!("`{}`: there is no container `{name}`", item.path))?;
    identity.resource(asked, own)
}

/// All of them together; where two write the same file, the later one counts.
pub(super) fn of_all(asked: &Projected, sources: &Sources<'_>, report: &Report<'_>) -> Vec<File> {
    let mode = Some(asked.default_mode.unwrap_or(MODE));
    let mut files: Vec<File> = Vec::new();
    for (position, source) in asked.sources.iter().flatten().enumerate() {
        let report = &report.at(&format!("sources[{position}]"));
        let mut more = Vec::new();
        if let Some(asked) = &source.config_map {
            more.extend(of_object(Kind::ConfigMap, asked, mode, sources, report));
        }
        if let Some(asked) = &source.secret {
            more.extend(of_object(Kind::Secret, asked, mode, sources, report));
        }
        if let Some(asked) = &source.downward_api {
            more.extend(of_pod(asked, mode, sources, report));
        }
        let elsewhere = [
            ("serviceAccountToken", &source.service_account_token),
            ("clusterTrustBundle", &source.cluster_trust_bundle),
            ("podCertificate", &source.pod_certificate),
        ];
        for (name, asked) in elsewhere {
            if asked.is_some() {
                report
                    .at(name)
                    .ignore("only a cluster gives these out; the file is missing");
            }
        }
        files.retain(|file| more.iter().all(|other| other.path != file.path));
        files.extend(more);
    }
    files
}
