//! Where the logs are that a manifest's TensorBoard shows, on this machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use trainyard_core::board_is_suspended;
use trainyard_dialect::ReadJob;

use crate::pod::{claim_path, items};

/// The directories that a manifest's settings of a TensorBoard mean: those of claims, as tasks find them. None if it is suspended.
pub fn log_directories(read_job: &ReadJob, volumes: &BTreeMap<String, PathBuf>, kept: &Path) -> Vec<PathBuf> {
    let board = read_job
        .objects
        .iter()
        .find(|object| object["kind"] == "TensorBoard");
    let spec = board.map(|object| &object["spec"]);
    let Some(spec) = spec.filter(|spec| !board_is_suspended(spec)) else {
        return Vec::new();
    };
    let namespace = &*read_job.job.namespace;
    let claim = |name: &str, path: &str| {
        let root = volumes.get(name).cloned();
        let root = root.unwrap_or_else(|| claim_path(kept, namespace, name));
        // A path that leads out of its claim leads nowhere.
        let inside = Path::new(path).components().filter_map(|part| match part {
            std::path::Component::Normal(part) => Some(part),
            _ => None,
        });
        root.join(inside.collect::<PathBuf>())
    };
    let filesets = items(&spec["trainingLogFilesets"])
        .filter_map(Value::as_str)
        .filter_map(|text| {
            if let Some(path) = text.strip_prefix("hostPath://") {
                return Some(PathBuf::from(path));
            }
            let rest = text
                .strip_prefix("t9k://pvc/")
                .or_else(|| text.strip_prefix("pvc://"))?;
            let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
            Some(claim(name, path))
        });
    let claims = items(&spec["logDir"]["pvc"]).flat_map(|entry| {
        let name = entry["name"].as_str().unwrap_or_default();
        let mut paths: Vec<&str> = items(&entry["subPath"]).filter_map(Value::as_str).collect();
        if paths.is_empty() {
            paths.push("");
        }
        paths
            .into_iter()
            .map(|path| claim(name, path))
            .collect::<Vec<_>>()
    });
    filesets.chain(claims).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trainyard_dialect::read_value;

    use super::*;

    /// The directories of a TFJob with that annotation.
    fn of(settings: &Value) -> Vec<PathBuf> {
        let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "i" }] } });
        let annotations = json!({ "trainyard.dev/tensorboard": settings.to_string() });
        let job = json!({
            "apiVersion": "kubeflow.org/v1", "kind": "TFJob",
            "metadata": { "name": "mnist", "namespace": "ml", "annotations": annotations },
            "spec": { "tfReplicaSpecs": { "Worker": { "template": template } } },
        });
        let reading = read_value("job", &job);
        let volumes = BTreeMap::from([("own".to_owned(), PathBuf::from("/own"))]);
        log_directories(reading.jobs().next().unwrap(), &volumes, Path::new("/kept"))
    }

    #[test]
    fn an_annotation_of_any_job_names_directories_of_its_claims() {
        let filesets = [
            "pvc://own/run-1",
            "t9k://pvc/logs/run-2",
            "hostPath:///data",
            "t9k://minio/s/b",
        ];
        let claims = json!([{ "name": "logs", "subPath": ["a", "b"] }]);
        let found = of(&json!({ "trainingLogFilesets": filesets, "logDir": { "pvc": claims } }));
        let expected = [
            "/own/run-1",
            "/kept/ml/logs/run-2",
            "/data",
            "/kept/ml/logs/a",
            "/kept/ml/logs/b",
        ];
        assert_eq!(found, expected.map(PathBuf::from));
    }

    #[test]
    fn one_that_is_suspended_is_not_started() {
        let settings = json!({ "trainingLogFilesets": ["pvc://own"], "suspend": true });
        assert_eq!(of(&settings), Vec::<PathBuf>::new());
    }
}
