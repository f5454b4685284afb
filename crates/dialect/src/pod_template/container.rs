//! One container: its name, image, ports, variables and mounts are checked and taken out.
//!
//! Types and unknown fields have been reported by then, so what does not fit is passed over in silence here.

use std::collections::BTreeMap;
use std::sync::Arc;

use trainyard_document::Entry;
use trainyard_document::codes::Code;
use trainyard_document::fields::Field;
use trainyard_document::names::{mended_label, wrong_label, wrong_port_name};
use trainyard_document::problem::{Span, did_you_mean, escaped, on_lines, shown};

use super::resources::Amounts;
use super::{Container, Port, Variable, files};

/// The sources an environment variable can have, besides its own value.
const SOURCES: &[&str] = &[
    "fieldRef",
    "resourceFieldRef",
    "configMapKeyRef",
    "secretKeyRef",
    "fileKeyRef",
];

/// The items of a list, without a word if it is none.
pub(super) fn items<'a>(field: &Field<'a>, name: &str) -> Vec<Field<'a>> {
    match field.get(name) {
        Some(list) if list.node.as_list().is_some() => list.items(),
        _ => Vec::new(),
    }
}

/// The text of a field, without a word if it is none.
pub(super) fn text_of(field: &Field<'_>, name: &str) -> Option<Arc<str>> {
    field.node.get(name)?.as_text().map(Arc::from)
}

/// So many names are compared when one is looked for that was probably meant.
const MOST_HINTS: usize = 100;

/// Names that must differ, each with the place of its first use.
#[derive(Default)]
pub(super) struct Unique(BTreeMap<Arc<str>, Span>);

impl Unique {
    /// Takes a name; one that was used before is reported.
    pub(super) fn take(&mut self, name: &Arc<str>, field: &Field<'_>, what: &str) {
        match self.0.get(name) {
            None => _ = self.0.insert(Arc::clone(name), field.span()),
            Some(first) => {
                // The name is shown whole, since it may be a path.
                let (name, lines) = (escaped(name), on_lines(*first, field.span()));
                let message = format!("the {what} `{name}` is used twice{lines}");
                let problem = field.problem(Code::DuplicateName, message);
                field.tell(problem.label("again here").related(*first, "first here"));
            }
        }
    }

    /// Whether the name has been used.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The first of the names, for hints.
    pub(super) fn some(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(|name| &**name).take(MOST_HINTS)
    }
}

/// Reads a container whose shape has been checked. `None` if it is no map.
pub(super) fn read(field: &Field<'_>, names: &mut Unique, volumes: &Unique) -> Option<Container> {
    field.node.as_map()?;
    let amounts = field
        .get("resources")
        .map(|resources| Amounts::read(&resources))
        .unwrap_or_default();
    mounts(field, volumes);
    Some(Container {
        name: name(field, names),
        image: image(field),
        command: texts(field, "command"),
        args: texts(field, "args"),
        ports: ports(field),
        env: variables(field),
        requests: amounts.requests,
        limits: amounts.limits,
        stays: text_of(field, "restartPolicy").is_some_and(|policy| &*policy == "Always"),
        at: field.at,
    })
}

fn name(field: &Field<'_>, names: &mut Unique) -> Arc<str> {
    let named = named(field, "container");
    named.map_or_else(Arc::default, |(name, place)| {
        names.take(&name, &place, "container name");
        name
    })
}

/// The name of a container or volume, and its place; one that is missing or wrong is reported.
fn named<'a>(field: &Field<'a>, what: &str) -> Option<(Arc<str>, Field<'a>)> {
    let Some(place) = field.get("name") else {
        field.missing("name", Code::MissingField, format!("the {what} has no `name`"));
        return None;
    };
    let name: Arc<str> = place.node.as_text()?.into();
    if let Some(wrong) = wrong_label(&name) {
        let message = format!("`{}` is not a name for a {what}: {wrong}", shown(&name));
        let hint = mended_label(&name).map(|meant| format!("for example `{meant}`"));
        let problem = place.problem(Code::BadName, message).found(&name);
        place.tell(problem.maybe_hint(hint));
    }
    Some((name, place))
}

fn image(field: &Field<'_>) -> Arc<str> {
    let Some(place) = field.get("image") else {
        field.missing("image", Code::NoImage, "the container has no `image`");
        return Arc::default();
    };
    let image: Arc<str> = place.node.as_text().map(Arc::from).unwrap_or_default();
    if place.node.as_text().is_some_and(|image| image.trim().is_empty()) {
        place.report(Code::NoImage, "the image is empty");
    } else if image.trim() != &*image {
        let problem = place.problem(Code::BadFormat, "the image has spaces before or after its name");
        let hint = format!("write `{}`", shown(image.trim()));
        place.tell(problem.found(&image).hint(hint));
    }
    image
}

fn texts(field: &Field<'_>, name: &str) -> Vec<Arc<str>> {
    items(field, name)
        .iter()
        .filter_map(|item| item.node.as_text().map(Arc::from))
        .collect()
}

fn ports(field: &Field<'_>) -> Vec<Port> {
    let mut names = Unique::default();
    let mut out = Vec::new();
    for port in items(field, "ports") {
        if port.node.as_map().is_none() {
            continue;
        }
        let number = port.get("containerPort").and_then(|number| port_number(&number));
        if port.get("containerPort").is_none() {
            let message = "the port has no `containerPort`";
            port.missing("containerPort", Code::MissingField, message);
        }
        if let Some(host) = port.get("hostPort").filter(|host| host.node.as_int() != Some(0)) {
            port_number(&host);
        }
        let name = text_of(&port, "name");
        if let (Some(place), Some(name)) = (port.get("name"), &name) {
            if let Some(wrong) = wrong_port_name(name) {
                let message = format!("`{}` is not a name for a port: {wrong}", shown(name));
                place.tell(place.problem(Code::BadName, message).found(name));
            }
            names.take(name, &place, "port name");
        }
        out.extend(number.map(|number| Port { name, number }));
    }
    out
}

fn port_number(field: &Field<'_>) -> Option<u16> {
    let value = field.node.as_int()?;
    let number = u16::try_from(value).ok().filter(|number| *number > 0);
    if number.is_none() {
        let problem = field.problem(Code::BadPort, format!("{value} is not a port"));
        let problem = problem.found(value.to_string());
        field.tell(problem.allowed("a whole number from 1 to 65535"));
    }
    number
}

fn variables(field: &Field<'_>) -> Vec<Variable> {
    let mut out: Vec<Variable> = Vec::new();
    let mut first: BTreeMap<Arc<str>, Span> = BTreeMap::new();
    for variable in items(field, "env") {
        if variable.node.as_map().is_none() {
            continue;
        }
        let Some(name) = variable.get("name") else {
            variable.missing("name", Code::BadEnv, "the variable has no `name`");
            continue;
        };
        let Some(text) = name.node.as_text().map(Arc::<str>::from) else {
            continue;
        };
        if text.is_empty() || text.contains(['=', '\0']) || text.chars().any(char::is_control) {
            let message = format!("`{}` is not a name for a variable", shown(&text));
            name.tell(name.problem(Code::BadEnv, message).found(&text));
        }
        sources(&variable);
        if let Some(first) = first.get(&text) {
            let (shown, lines) = (shown(&text), on_lines(*first, name.span()));
            let message = format!("the variable `{shown}` is set twice{lines}; the last one counts");
            let problem = name.problem(Code::DuplicateVariable, message);
            name.tell(problem.label("again here").related(*first, "first here"));
        }
        let own = variable.get("valueFrom").is_none();
        let value = own.then(|| text_of(&variable, "value").unwrap_or_default());
        first.entry(text.clone()).or_insert_with(|| name.span());
        out.push(Variable {
            name: text,
            value,
            at: name.span(),
        });
    }
    out
}

/// A variable has a value or one source, not both.
fn sources(variable: &Field<'_>) {
    let Some(from) = variable.get("valueFrom") else {
        return;
    };
    let Some(map) = from.node.as_map() else { return };
    let given = |name: &&&str| map.get(name).is_some_and(|node| !node.is_null());
    let count = SOURCES.iter().filter(given).count();
    let value = variable
        .get("value")
        .filter(|value| value.node.as_text() != Some(""));
    if let Some(value) = value {
        let problem = value.problem(Code::BadEnv, "`value` and `valueFrom` cannot both be given");
        let problem = problem.related(from.at, "the other one");
        value.tell(problem.hint("remove one of them"));
    } else if count != 1 {
        let message = format!("`valueFrom` has {count} sources; it needs exactly one");
        let allowed = "one of `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef`";
        from.tell(from.key_problem(Code::BadEnv, message).allowed(allowed));
    }
}

fn mounts(field: &Field<'_>, volumes: &Unique) {
    let mut paths = Unique::default();
    for mount in items(field, "volumeMounts") {
        if mount.node.as_map().is_none() {
            continue;
        }
        if let Some(path) = mount.get("mountPath") {
            if let Some(text) = path.node.as_text() {
                paths.take(&text.into(), &path, "mount path");
            }
        } else {
            mount.missing("mountPath", Code::MissingField, "the mount has no `mountPath`");
        }
        files::sub_path(&mount);
        let Some(name) = mount.get("name") else {
            mount.missing("name", Code::MissingField, "the mount has no `name`");
            continue;
        };
        let Some(text) = name.node.as_text() else { continue };
        if !volumes.has(text) {
            let message = format!("there is no volume `{}` in this template", shown(text));
            let problem = name.problem(Code::MountWithoutVolume, message).found(text);
            let hint = did_you_mean(text, volumes.some());
            name.tell(problem.hint(hint.unwrap_or_else(|| "declare it under `spec.volumes`".to_owned())));
        }
    }
}

/// Reads `volumes` of a pod whose shape has been checked, for their names.
pub(super) fn volumes(spec: &Field<'_>) -> Unique {
    let mut names = Unique::default();
    for volume in items(spec, "volumes") {
        let Some(map) = volume.node.as_map() else { continue };
        files::of_volume(&volume);
        let Some((name, place)) = named(&volume, "volume") else {
            continue;
        };
        let source =
            |entry: &&Entry| &*entry.key != "name" && (!entry.value.is_null() || &*entry.key == "emptyDir");
        let sources: Vec<&Entry> = map.entries().iter().filter(source).collect();
        if sources.len() > 1 {
            let (first, second) = (shown(&sources[0].key), shown(&sources[1].key));
            let message = format!("the volume has two sources, `{first}` and `{second}`");
            place.report(Code::BadVolume, message);
        } else if sources.is_empty() {
            let shown = shown(&name);
            let message = format!("the volume `{shown}` has no source, so it is an empty directory");
            let problem = place.problem(Code::VolumeWithoutSource, message);
            place.tell(problem.hint("say so with `emptyDir: {}`, or name its source"));
        }
        names.take(&name, &place, "volume name");
    }
    names
}
