//! `runMode`: debug, in which pods wait instead of training, and pause.

use serde_json::{Value, json};
use trainyard_core::RoleKind;
use trainyard_document::codes::Code;
use trainyard_document::fields::{Field, Fields};
use trainyard_document::problem::quoted;

use super::spec::TYPES;
use crate::pod_template::PodTemplate;
use crate::tfjob::MAIN_CONTAINER;
use crate::tfjob::roles::{Replica, lower};

/// What `runMode` says.
#[derive(Default)]
pub(super) struct Modes<'a> {
    debug: Option<Vec<Change<'a>>>,
    /// Nothing runs for now.
    pub paused: bool,
    resume: Vec<Change<'a>>,
}

/// How a role's pods differ from its template.
struct Change<'a> {
    kind: RoleKind,
    skip_init: bool,
    command: Option<Vec<Value>>,
    args: Option<Vec<Value>>,
    place: Field<'a>,
}

impl Modes<'_> {
    /// The template that pods begin with: in debug mode they wait for a user to log in. A list names the roles that do; the others run as
    /// ever, so that a parameter server serves the worker in which a user tries things out.
    pub fn first(&self, replica: &Replica<'_>) -> PodTemplate {
        let Some(changes) = &self.debug else {
            return replica.template.clone();
        };
        let change = changes.iter().find(|change| change.kind == replica.kind);
        if change.is_none() && !changes.is_empty() {
            return replica.template.clone();
        }
        let command = change.and_then(|change| change.command.clone());
        let command = command.unwrap_or_else(|| vec!["sleep".into(), "inf".into()]);
        let skip = change.is_some_and(|change| change.skip_init);
        changed(&replica.template, skip, Some(&command), Some(&[]))
    }

    /// The template of pods made after a pause, where it is another one.
    pub fn resumed(&self, replica: &Replica<'_>, first: &PodTemplate) -> Option<PodTemplate> {
        let change = self.resume.iter().find(|change| change.kind == replica.kind)?;
        let (command, args) = (change.command.as_deref(), change.args.as_deref());
        Some(changed(first, change.skip_init, command, args))
    }
}

/// A template with another command; empty arguments are taken away.
fn changed(
    template: &PodTemplate,
    skip_init: bool,
    command: Option<&[Value]>,
    args: Option<&[Value]>,
) -> PodTemplate {
    let mut out = template.clone();
    let Some(pod) = out.json.get_mut("spec").and_then(Value::as_object_mut) else {
        return out;
    };
    if skip_init {
        pod.shift_remove("initContainers");
        out.init_containers.clear();
    }
    let containers = pod.get_mut("containers").and_then(Value::as_array_mut);
    let main = containers
        .into_iter()
        .flatten()
        .find(|container| container["name"] == MAIN_CONTAINER);
    if let Some(main) = main.and_then(Value::as_object_mut) {
        for (name, words) in [("command", command), ("args", args)] {
            match words {
                Some([]) => {
                    main.shift_remove(name);
                }
                Some(words) => {
                    main.insert(name.to_owned(), json!(words));
                }
                None => {}
            }
        }
    }
    out
}

/// Reads `runMode`. `types` are the roles that the job has, if all of them are known.
pub(super) fn read<'a>(fields: Option<Fields<'a>>, types: &[RoleKind], complete: bool) -> Modes<'a> {
    let mut modes = Modes::default();
    let Some(mut fields) = fields else { return modes };
    if let Some(mut debug) = fields.map("debug") {
        let enabled = switch(&mut debug, "runMode.debug.enabled");
        let changes = changes(&mut debug, "replicaSpecs", false);
        debug.finish();
        check_types(&changes, types, complete);
        modes.debug = enabled.then_some(changes);
    }
    if let Some(mut pause) = fields.map("pause") {
        modes.paused = switch(&mut pause, "runMode.pause.enabled");
        modes.resume = changes(&mut pause, "resumeSpecs", true);
        pause.finish();
        check_types(&modes.resume, types, complete);
    }
    fields.finish();
    modes
}

/// `enabled`, or `enable` as an old page of the manual spells it.
fn switch(fields: &mut Fields<'_>, place: &str) -> bool {
    let now = fields.get("enabled");
    let value = now.as_ref().and_then(Field::bool);
    if now.is_none() {
        return fields
            .moved("enable", place)
            .and_then(|field| field.bool())
            .unwrap_or(false);
    }
    if let Some(old) = fields.get("enable") {
        let other = old.bool();
        let problem = if other == value {
            let message = "`enable` is the old spelling of `enabled`, which is given too";
            old.problem(Code::MovedField, message)
        } else {
            old.problem(Code::T9kSwitches, "`enable` says something else than `enabled`")
        };
        old.tell(problem.hint("keep `enabled` alone"));
    }
    value.unwrap_or(false)
}

fn changes<'a>(fields: &mut Fields<'a>, list: &'static str, with_args: bool) -> Vec<Change<'a>> {
    let items = fields.list(list);
    let read = |field: &Field<'a>| {
        let mut fields = field.fields()?;
        let kind = fields.require("type").and_then(|word| word.choice(&TYPES));
        let skip_init = fields.bool("skipInitContainer").unwrap_or(false);
        let command = words(&mut fields, "command");
        let args = with_args.then(|| words(&mut fields, "args")).flatten();
        fields.finish();
        Some(Change {
            kind: kind?,
            skip_init,
            command,
            args,
            place: field.clone(),
        })
    };
    items.iter().filter_map(read).collect()
}

/// A list of words; none where there is none, and an empty one says the same.
fn words(fields: &mut Fields<'_>, name: &'static str) -> Option<Vec<Value>> {
    let field = fields.get(name)?;
    let words: Vec<Value> = field
        .items()
        .iter()
        .filter_map(|item| Some(Value::from(&**item.text()?)))
        .collect();
    (!words.is_empty()).then_some(words)
}

/// Settings are for roles of the job, each role once.
fn check_types(changes: &[Change<'_>], types: &[RoleKind], complete: bool) {
    for (position, change) in changes.iter().enumerate() {
        let word = lower(change.kind);
        let twice = changes[..position]
            .iter()
            .any(|earlier| earlier.kind == change.kind);
        let message = if twice {
            format!("`{word}` is set twice, and the first one counts")
        } else if complete && !types.contains(&change.kind) {
            format!("the job has no role `{word}`")
        } else {
            continue;
        };
        let problem = change.place.problem(Code::T9kModeRole, message).found(word);
        let allowed = quoted(types.iter().map(|kind| lower(*kind)));
        change.place.tell(problem.allowed(allowed));
    }
}
