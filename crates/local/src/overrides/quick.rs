//! A job without a manifest: `trainyard run --workers 2 --ps 1 -- python train.py` as the TFJob it stands for.

use std::path::Path;

use serde_json::{Map, Value, json};
use trainyard_document::yaml::write as to_yaml;

use super::{BadOption, Variable};

/// The image where none was named: what a cluster needs to run the job.
const IMAGE: &str = "tensorflow/tensorflow:latest";
/// The longest name that is made from a program's.
const MOST_CHARACTERS: usize = 40;
/// Restarts where a scope was named and no count.
const RESTARTS: u32 = 3;

/// What the flags say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quick {
    /// `--name`; none is made from the program's.
    pub name: Option<String>,
    /// `--workers`.
    pub workers: u32,
    /// `--ps`.
    pub ps: u32,
    /// `--chief`.
    pub chief: bool,
    /// `--evaluator`.
    pub evaluator: bool,
    /// `--gpus`: for each worker and the chief.
    pub gpus: u32,
    /// `--restart-scope`: `job`, `replica`, or roles with commas.
    pub restart_scope: Option<String>,
    /// `--restarts`.
    pub restarts: Option<u32>,
    /// `--image`.
    pub image: Option<String>,
    /// `--env`.
    pub env: Vec<Variable>,
    /// `--workdir`.
    pub workdir: Option<String>,
    /// What stands behind `--`.
    pub command: Vec<String>,
}

const NO_COMMAND: &str =
    "no command: give it after `--`, as in `trainyard run --workers 2 -- python train.py`";
const NO_TASK: &str = "no task: give at least `--workers 1` or `--chief`";

impl Quick {
    /// The TFJob, ready for a cluster.
    pub fn to_yaml(&self) -> Result<String, BadOption> {
        self.to_json().map(|job| to_yaml(&job))
    }

    /// The TFJob.
    pub fn to_json(&self) -> Result<Value, BadOption> {
        if self.command.is_empty() {
            return Err(BadOption::new(NO_COMMAND));
        }
        let roles = [
            ("Chief", u32::from(self.chief), true),
            ("PS", self.ps, false),
            ("Worker", self.workers, true),
            ("Evaluator", u32::from(self.evaluator), false),
        ];
        if !self.chief && self.workers == 0 {
            return Err(BadOption::new(NO_TASK));
        }
        let roles = roles.into_iter().filter(|(_, count, _)| *count > 0);
        let specs: Map<String, Value> = roles
            .map(|(name, count, trains)| (name.to_owned(), self.role(count, trains)))
            .collect();
        Ok(json!({
            "apiVersion": "kubeflow.org/v1",
            "kind": "TFJob",
            "metadata": {"name": self.name()},
            "spec": {"runPolicy": self.run_policy()?, "tfReplicaSpecs": specs},
        }))
    }

    fn restarts(&self) -> Option<u32> {
        let by_scope = self.restart_scope.as_ref().map(|_| RESTARTS);
        self.restarts.or(by_scope)
    }

    fn run_policy(&self) -> Result<Value, BadOption> {
        // On a cluster, workers and parameter servers that are still there when the job has ended cost money.
        let mut policy = json!({"cleanPodPolicy": "Running"});
        if let Some(count) = self.restarts() {
            policy["backoffLimit"] = count.into();
        }
        if let Some(scope) = &self.restart_scope {
            policy["restartScope"] = restart_scope(scope)?;
        }
        Ok(policy)
    }

    fn role(&self, count: u32, trains: bool) -> Value {
        let mut container = json!({
            "name": "tensorflow",
            "image": self.image.as_deref().unwrap_or(IMAGE),
            "command": self.command.iter().map(|word| literal(word)).collect::<Vec<String>>(),
        });
        if let Some(workdir) = &self.workdir {
            container["workingDir"] = json!(workdir);
        }
        if !self.env.is_empty() {
            let variable = |one: &Variable| json!({"name": one.name, "value": one.value});
            container["env"] = self.env.iter().map(variable).collect();
        }
        if trains && self.gpus > 0 {
            container["resources"] = json!({"limits": {"nvidia.com/gpu": self.gpus}});
        }
        let restarts = self.restarts().is_some_and(|count| count > 0);
        json!({
            "replicas": count,
            "restartPolicy": if restarts { "OnFailure" } else { "Never" },
            "template": {"spec": {"containers": [container]}},
        })
    }

    /// `--name`, else the script's: `train` of `python path/train.py`.
    fn name(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        let is_script = |word: &&String| {
            let extension = Path::new(word).extension();
            extension.is_some_and(|extension| extension == "py" || extension == "sh")
        };
        let script = self.command.iter().find(is_script);
        let word = script.or_else(|| self.command.first());
        let stem = word.and_then(|word| Path::new(word).file_stem()?.to_str());
        let name = stem.unwrap_or_default().to_ascii_lowercase();
        let name = name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let name: String = name.chars().take(MOST_CHARACTERS).collect();
        let name = name.trim_matches('-');
        match name.chars().next() {
            None => "job".to_owned(),
            // Names of services begin with a letter.
            Some(first) if first.is_ascii_digit() => format!("job-{name}"),
            Some(_) => name.to_owned(),
        }
    }
}

/// A word of the command as a manifest writes it: there `$$` means `$`. A user who types `$$` means the shell's, but
/// `$(NAME)` and its escape `$$(NAME)` are a manifest's own, and have no other use in a command line without a shell.
fn literal(word: &str) -> String {
    let mut text = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(at) = rest.find("$$") {
        let (before, after) = rest.split_at(at);
        let after = &after[2..];
        text.push_str(before);
        text.push_str(if after.starts_with('(') { "$$" } else { "$$$$" });
        rest = after;
    }
    text + rest
}

/// `Job`, `Replica`, or a list of roles, as the manifest spells them.
fn restart_scope(text: &str) -> Result<Value, BadOption> {
    let spelt = |known: &[&'static str], word: &str| {
        let word = word.trim();
        known
            .iter()
            .find(|known| known.eq_ignore_ascii_case(word))
            .copied()
    };
    if let Some(scope) = spelt(&["Job", "Replica"], text) {
        return Ok(json!(scope));
    }
    let roles = text
        .split(',')
        .map(|word| spelt(&["Chief", "PS", "Worker", "Evaluator"], word));
    let roles: Option<Vec<&str>> = roles.collect();
    let bad =
        || format!("`{text}` is not a restart scope: expected `job`, `replica`, or roles such as `chief,ps`");
    roles.map(Value::from).ok_or_else(|| BadOption(bad()))
}
