//! `spec.volumes`: claims that every container of the job mounts.

use std::sync::Arc;

use serde_json::{Value, json};
use trainyard_document::codes::Code;
use trainyard_document::fields::{Field, Fields};
use trainyard_document::names::is_subdomain;
use trainyard_document::problem::{Span, escaped, shown};

/// One volume of the job.
#[derive(Clone, Debug)]
pub(super) struct JobVolume {
    /// Where containers see it.
    pub mount_path: Arc<str>,
    /// What it is.
    pub claim: Claim,
}

/// The claim behind a volume.
#[derive(Clone, Debug)]
pub(super) enum Claim {
    /// One that exists.
    Existing(Arc<str>),
    /// One made for the job, with this spec.
    Made(Value),
}

impl JobVolume {
    /// The name of the claim. Volcano makes one up for a claim of its own and writes it into the spec; the name here
    /// follows from the job and the position, so that nothing must be written back.
    pub fn claim_name(&self, job: &str, position: usize) -> String {
        match &self.claim {
            Claim::Existing(name) => name.to_string(),
            Claim::Made(_) => format!("{job}-pvc-{position}"),
        }
    }

    /// The claim itself, where it is made for the job.
    pub fn object(&self, job: &str, namespace: &str, position: usize) -> Option<Value> {
        let Claim::Made(spec) = &self.claim else {
            return None;
        };
        Some(json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": self.claim_name(job, position), "namespace": namespace},
            "spec": spec,
        }))
    }
}

/// Reads `volumes`.
pub(super) fn read(fields: &mut Fields<'_>) -> Vec<JobVolume> {
    let mut paths: Vec<(Arc<str>, Span)> = Vec::new();
    let volumes = fields.list("volumes");
    volumes
        .iter()
        .filter_map(|field| one(field, &mut paths))
        .collect()
}

fn one(field: &Field<'_>, paths: &mut Vec<(Arc<str>, Span)>) -> Option<JobVolume> {
    let mut fields = field.fields()?;
    let mount_path = fields
        .require("mountPath")
        .and_then(|path| mount_path(&path, paths));
    let name = fields.get("volumeClaimName");
    let spec = fields.get("volumeClaim");
    fields.finish();
    let claim = match (&name, &spec) {
        (Some(name), Some(_)) => {
            let message = "the volume has a claim and the name of another one";
            let problem = name.problem(Code::VolcanoVolume, message);
            let hint = "keep `volumeClaimName` for a claim that exists, or `volumeClaim` to make one";
            name.tell(problem.hint(hint));
            return None;
        }
        (None, None) => {
            let problem = field.problem(Code::VolcanoVolume, "the volume has no claim");
            let hint = "add `volumeClaimName` for a claim that exists, or `volumeClaim` to make one";
            field.tell(problem.hint(hint));
            return None;
        }
        (Some(name), None) => Claim::Existing(claim_name(name)?),
        (None, Some(spec)) => {
            // Any map will do: the API server knows best what a claim may say.
            spec.fields()?.skip(&[]);
            Claim::Made(spec.node.to_json())
        }
    };
    Some(JobVolume {
        mount_path: mount_path?,
        claim,
    })
}

fn mount_path(field: &Field<'_>, paths: &mut Vec<(Arc<str>, Span)>) -> Option<Arc<str>> {
    let path = field.text()?;
    if path.is_empty() || path.contains(':') {
        let message = format!("`{}` cannot be a mount path", escaped(path));
        let problem = field.problem(Code::VolcanoVolume, message).found(path);
        field.tell(problem.allowed("a path without `:`"));
        return None;
    }
    if let Some((_, first)) = paths.iter().find(|(earlier, _)| earlier == path) {
        let message = format!("another volume is mounted at `{}` already", escaped(path));
        let problem = field.problem(Code::VolcanoVolume, message).found(path);
        field.tell(problem.related(*first, "the first one"));
        return None;
    }
    paths.push((path.clone(), field.span()));
    Some(path.clone())
}

fn claim_name(field: &Field<'_>) -> Option<Arc<str>> {
    let name = field.text()?;
    if is_subdomain(name) {
        return Some(name.clone());
    }
    let message = format!("`{}` cannot be the name of a claim", shown(name));
    let problem = field.problem(Code::BadName, message).found(name);
    let allowed = "lower-case letters, digits, `-` and `.`, at most 253 characters";
    field.tell(problem.allowed(allowed));
    None
}
