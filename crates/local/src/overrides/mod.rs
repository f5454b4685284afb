//! What the command line changes in a manifest before it is read.
//!
//! ```text
//! file ─▶ objects as JSON ─▶ Overrides::apply ─▶ YAML again ─▶ the dialect's reader
//! flags, no file ─▶ Quick ─────────────────────▶ YAML ───────▶ the dialect's reader
//! ```
//!
//! So whatever a flag says is checked like everything else in the manifest, and the effective manifest can be kept,
//! printed and applied to a cluster.

mod path;
mod quick;
mod words;

use std::collections::BTreeSet;
use std::str::FromStr;

use serde_json::{Value, json};
use trainyard_dialect::RoleList;
use trainyard_document::problem::{did_you_mean, has_errors};
use trainyard_document::yaml::write as to_yaml;
use trainyard_document::{Source, parse};

use self::path::{Step, assignment, put};
pub use self::quick::Quick;
pub use self::words::words;
use crate::pod::Refusal;

/// Changes to a job's manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--set PATH=VALUE`.
    pub set: Vec<Assignment>,
    /// `--replicas ROLE=N`.
    pub replicas: Vec<Replicas>,
    /// `--env NAME=VALUE`, in every container.
    pub env: Vec<Variable>,
    /// `--command`, in the main container of every role; its arguments go.
    pub command: Option<Vec<String>>,
    /// `--workdir`, in the main container of every role.
    pub workdir: Option<String>,
}

/// `PATH=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    text: String,
    path: Vec<Step>,
    value: Value,
}

/// `ROLE=N`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replicas {
    /// The role's name, in any case.
    pub role: String,
    /// How many; with 0 the role goes.
    pub count: u32,
}

/// `NAME=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The name.
    pub name: String,
    /// The value, taken as it is but for `$(NAME)`.
    pub value: String,
}

/// Options that make no sense: a sentence that says why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadOption(String);

impl BadOption {
    fn new(why: &str) -> Self {
        Self(why.to_owned())
    }
}

impl FromStr for Assignment {
    type Err = BadOption;

    fn from_str(text: &str) -> Result<Self, BadOption> {
        let usage = "as in `spec.tfReplicaSpecs.Worker.replicas=2`";
        let (path, value) = assignment(text).map_err(|what| BadOption(format!("{what}, {usage}")))?;
        let bad = |what: &str| BadOption(format!("`{value}` is not a value: {what}"));
        let source =
            Source::from_bytes("--set", value.as_bytes()).map_err(|problem| bad(&problem.message))?;
        let (documents, problems) = parse(&source);
        if let Some(problem) = problems
            .iter()
            .find(|problem| has_errors(std::slice::from_ref(problem)))
        {
            return Err(bad(&problem.message));
        }
        let value = match documents.as_slice() {
            [] if value.trim() == "null" || value.trim() == "~" => Value::Null,
            [] => Value::String(value.to_owned()),
            [one] => one.root.to_json(),
            _ => return Err(bad("it is more than one document")),
        };
        Ok(Self {
            text: text.to_owned(),
            path,
            value,
        })
    }
}

impl FromStr for Replicas {
    type Err = BadOption;

    fn from_str(text: &str) -> Result<Self, BadOption> {
        let bad = || BadOption(format!("`{text}` is not a role and a number, as in `worker=2`"));
        let (role, count) = text.split_once('=').ok_or_else(bad)?;
        let count = count.trim().parse().map_err(|_| bad())?;
        let role = role.trim().to_owned();
        if role.is_empty() {
            Err(bad())
        } else {
            Ok(Self { role, count })
        }
    }
}

impl FromStr for Variable {
    type Err = BadOption;

    fn from_str(text: &str) -> Result<Self, BadOption> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok(Self {
                name: name.to_owned(),
                value: value.to_owned(),
            }),
            _ => Err(BadOption(format!(
                "`{text}` is not a variable, as in `NAME=value`"
            ))),
        }
    }
}

impl Overrides {
    /// Whether they change nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// A source with the changes made to its jobs, or to the one named. Objects that are no jobs stay as they are. A
    /// source that cannot be read is returned as it is: reading it says what is wrong.
    pub fn rewrite(&self, source: &Source, job: Option<&str>) -> Result<Source, Vec<Refusal>> {
        if self.is_empty() {
            return Ok(source.clone());
        }
        let (documents, problems) = parse(source);
        if has_errors(&problems) {
            return Ok(source.clone());
        }
        let mut bad = Vec::new();
        let mut texts = Vec::new();
        for (_, node) in documents.iter().flat_map(trainyard_document::Document::objects) {
            let mut object = node.to_json();
            let named = job.is_none_or(|job| object["metadata"]["name"] == job);
            if let Some(list) = RoleList::of(&object).filter(|_| named) {
                bad.extend(self.apply(&mut object, list));
            }
            texts.push(to_yaml(&object));
        }
        if !bad.is_empty() {
            return Err(bad);
        }
        Ok(Source {
            // Its lines are not those of the file, and messages must say so.
            name: format!("{} with {}", source.name, self.options()).into(),
            text: texts.join("---\n").into(),
        })
    }

    /// The options that were given, as they are typed.
    fn options(&self) -> String {
        let given = [
            (!self.set.is_empty(), "--set"),
            (!self.replicas.is_empty(), "--replicas"),
            (!self.env.is_empty(), "--env"),
            (self.command.is_some(), "--command"),
            (self.workdir.is_some(), "--workdir"),
        ];
        let given = given.iter().filter(|(given, _)| *given);
        given.map(|(_, option)| *option).collect::<Vec<_>>().join(" ")
    }

    fn apply(&self, object: &mut Value, list: &RoleList) -> Vec<Refusal> {
        let mut bad = Vec::new();
        for assignment in &self.set {
            if let Err(astray) = put(object, &assignment.path, assignment.value.clone()) {
                let option = format!("--set {}", assignment.text);
                bad.push(Refusal::new(option, astray.message, astray.hint));
            }
        }
        for Replicas { role, count } in &self.replicas {
            if let Err(hint) = set_replicas(list, object, role, *count) {
                let message = format!("the job has no role `{role}`");
                bad.push(Refusal::new(format!("--replicas {role}={count}"), message, hint));
            }
        }
        if !self.replicas.is_empty() {
            lower_minimums(list, object);
        }
        for (_, role) in roles(list, object) {
            if let Some(template) = role.get_mut("template") {
                self.change_template(template);
            }
        }
        bad
    }

    fn change_template(&self, template: &mut Value) {
        for list in ["containers", "initContainers"] {
            for container in template["spec"][list].as_array_mut().into_iter().flatten() {
                for variable in &self.env {
                    set_variable(container, variable);
                }
            }
        }
        let containers = template["spec"]["containers"].as_array_mut();
        let Some(containers) = containers.filter(|list| !list.is_empty()) else {
            return;
        };
        let main = containers
            .iter()
            .position(|one| one["name"] == "tensorflow")
            .unwrap_or(0);
        let Some(main) = containers.get_mut(main).and_then(Value::as_object_mut) else {
            return;
        };
        if let Some(command) = &self.command {
            main.insert("command".into(), json!(command));
            main.shift_remove("args");
        }
        if let Some(workdir) = &self.workdir {
            main.insert("workingDir".into(), json!(workdir));
        }
    }
}

fn set_variable(container: &mut Value, variable: &Variable) {
    let Some(container) = container.as_object_mut() else {
        return;
    };
    let list = container.entry("env").or_insert_with(|| json!([]));
    if list.is_null() {
        *list = json!([]);
    }
    let Some(list) = list.as_array_mut() else { return };
    list.retain(|item| item["name"] != variable.name.as_str());
    list.push(json!({"name": variable.name, "value": variable.value}));
}

/// The roles of a job's object: each with its name, and what is said of it.
fn roles<'v>(list: &RoleList, object: &'v mut Value) -> Vec<(String, &'v mut Value)> {
    let roles = &mut object["spec"][list.field];
    match list.name {
        None => {
            let map = roles.as_object_mut().into_iter().flatten();
            map.map(|(name, role)| (name.clone(), role)).collect()
        }
        Some(key) => {
            let items = roles.as_array_mut().into_iter().flatten();
            items.map(|role| (text(&role[key]), role)).collect()
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Sets how many tasks a role has; the error is a hint at the roles there are.
fn set_replicas(list: &RoleList, object: &mut Value, asked: &str, count: u32) -> Result<(), Option<String>> {
    let mut names = BTreeSet::new();
    let mut found = false;
    for (name, role) in roles(list, object) {
        if name.eq_ignore_ascii_case(asked) {
            found = true;
            role["replicas"] = count.into();
        }
        names.insert(name);
    }
    if !found {
        let near = did_you_mean(asked, names.iter().map(String::as_str));
        let shown: Vec<&str> = names.iter().map(String::as_str).collect();
        return Err(near.or_else(|| (!shown.is_empty()).then(|| format!("it has `{}`", shown.join("`, `")))));
    }
    if count == 0 {
        remove(list, object, asked);
    }
    Ok(())
}

fn remove(list: &RoleList, object: &mut Value, asked: &str) {
    match (&mut object["spec"][list.field], list.name) {
        (Value::Object(map), None) => map.retain(|name, _| !name.eq_ignore_ascii_case(asked)),
        (Value::Array(items), Some(key)) => {
            items.retain(|role| !text(&role[key]).eq_ignore_ascii_case(asked));
        }
        _ => {}
    }
}

/// A job with fewer tasks cannot wait for as many as before.
fn lower_minimums(list: &RoleList, object: &mut Value) {
    let mut total: u64 = 0;
    for (_, role) in roles(list, object) {
        let replicas = role["replicas"].as_u64().unwrap_or(1);
        total += replicas;
        lower(role.get_mut("minAvailable"), replicas);
    }
    for pointer in list.minimums {
        lower(object["spec"].pointer_mut(pointer), total);
    }
}

fn lower(number: Option<&mut Value>, most: u64) {
    if let Some(found) = number
        && found.as_u64().is_some_and(|found| found > most)
    {
        *found = most.into();
    }
}

#[cfg(test)]
mod tests;
