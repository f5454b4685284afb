//! What a manifest wants, in words that all dialects share: found by asking the job's own rules.

use serde_json::{Map, Value, json};
use trainyard_core::{
    Count, Ending, InPlace, Job, Outcome, Role, RoleKind, Rule, Scope, Settled, Test, Then, When,
};
use trainyard_document::Node;
use trainyard_document::codes::Code;
use trainyard_document::problem::{FieldPath, Place, Problem, Problems, Span};

use crate::compile::BUILT_IN;
use crate::dialect::{Dialect, RoleList};
use crate::isolation;
use crate::manifest::{OUR_PREFIX, ReadJob};
use crate::tensorboard;
use crate::tfjob::annotations::{RESTART_SCOPE, START_ORDER, START_TIMEOUT};
use crate::tfjob::roles::Restart;

/// One manifest, outlined.
pub(crate) struct Outline<'a> {
    pub read: &'a ReadJob,
    pub job: &'a Job,
    pub roles: Vec<RoleOutline<'a>>,
    pub success: Success,
    /// What restarts with a task that failed.
    pub scope: Option<&'a Scope>,
    /// Seconds after which a task that does not start fails the job.
    pub start_timeout: Option<u32>,
}

/// One role, outlined.
pub(crate) struct RoleOutline<'a> {
    pub role: &'a Role,
    /// The pod template as the manifest has it, without what a dialect adds.
    pub template: Value,
    pub restart: Restart,
}

/// What the job needs to succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Success {
    /// The chief, else worker 0.
    Primary,
    /// Every worker.
    AllWorkers,
    /// So many tasks, whichever.
    AtLeast(u32),
    /// Something else.
    Other,
}

impl<'a> Outline<'a> {
    pub fn of(read: &'a ReadJob) -> Self {
        let job = &read.job;
        let roles = job.roles.iter().enumerate().map(|(position, role)| RoleOutline {
            role,
            template: template(read, position, role),
            restart: restart(job, role),
        });
        Self {
            read,
            job,
            roles: roles.collect(),
            success: success(job),
            scope: scope(job),
            start_timeout: job.rules.iter().find_map(start_timeout),
        }
    }

    /// Name, namespace, labels and annotations. Our own annotations mean something in their own dialect only, but for those of
    /// every kind and our additions, which two of them read.
    pub fn metadata(&self, to: Dialect) -> Value {
        let mut metadata = Map::new();
        let written = self.read.node.get("metadata");
        for key in ["name", "generateName", "namespace", "labels", "annotations"] {
            if let Some(node) = written.and_then(|written| written.get(key)) {
                metadata.insert(key.into(), node.to_json());
            }
        }
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            // What is both an annotation and a field is written anew, from what the job means.
            let written_anew = [RESTART_SCOPE, START_ORDER, START_TIMEOUT, tensorboard::ANNOTATION];
            let of_every_kind = [isolation::ANNOTATION, isolation::FROM];
            let stays = |key: &String| {
                let key = key.as_str();
                of_every_kind.contains(&key) || to == self.read.dialect && !written_anew.contains(&key)
            };
            annotations.retain(|key, _| !key.starts_with(OUR_PREFIX) || stays(key));
            if annotations.is_empty() {
                metadata.shift_remove("annotations");
            }
        }
        let mut metadata = Value::Object(metadata);
        if let Some(board) = self.board().filter(|_| self.board_field(to).is_none()) {
            metadata["annotations"][tensorboard::ANNOTATION] = board.to_string().into();
        }
        if to != Dialect::Volcano {
            for (key, said) in self.additions() {
                metadata["annotations"][key] = said.into();
            }
        }
        metadata
    }

    /// The settings of the TensorBoard.
    fn board(&self) -> Option<&Value> {
        let mut objects = self.read.objects.iter();
        let board = objects.find(|object| object["kind"] == "TensorBoard")?;
        Some(&board["spec"])
    }

    /// The settings of the TensorBoard where they are a field of `spec`: always in T9k's kind, and as written in a `TFJob`. Kubeflow's
    /// definition and Volcano's do not know the field: there they are an annotation.
    pub fn board_field(&self, to: Dialect) -> Option<&Value> {
        let is_written = || self.read.node.at(["spec", tensorboard::FIELD]).is_some();
        let is_field = match to {
            Dialect::TensorFlowTrainingJob => true,
            Dialect::TfJob => self.read.dialect == to && is_written(),
            Dialect::Volcano => false,
        };
        self.board().filter(|_| is_field)
    }

    /// Our own additions as annotations, not as fields: where another project's definition is installed, the API server
    /// drops fields that the definition does not know.
    fn additions(&self) -> impl Iterator<Item = (&'static str, String)> {
        let first = self.first_to_start().into_iter();
        let first: Vec<&str> = first.map(RoleKind::tfjob_name).collect();
        let timeout = self.start_timeout.map(|seconds| seconds.to_string());
        let said = [
            (RESTART_SCOPE, self.restart_scope()),
            (START_TIMEOUT, timeout),
            (START_ORDER, (!first.is_empty()).then(|| first.join(","))),
        ];
        said.into_iter().filter_map(|(key, said)| Some((key, said?)))
    }

    /// What a restart takes with it; restarting one task is what every dialect does anyway.
    fn restart_scope(&self) -> Option<String> {
        match self.scope? {
            Scope::Task => None,
            Scope::Job => Some("Job".into()),
            Scope::Roles(names) => {
                let kinds = names.iter().filter_map(|name| self.job.role(name));
                let kinds: Vec<&str> = kinds.map(|(_, role)| role.kind.tfjob_name()).collect();
                Some(kinds.join(","))
            }
        }
    }

    /// The roles that others wait for, where every other role waits for the same ones.
    fn first_to_start(&self) -> Vec<RoleKind> {
        let mut first: Vec<RoleKind> = Vec::new();
        let waited_for = self.job.roles.iter().filter_map(|role| role.after.as_ref());
        for (name, _) in waited_for.flat_map(|after| &after.roles) {
            let kind = self.job.role(name).map(|(_, role)| role.kind);
            first.extend(kind.filter(|kind| !first.contains(kind)));
        }
        first
    }

    /// Tells a loss at a field of the source; a path that names no field is told without a place.
    pub fn report(&self, problems: &Problems, code: Code, path: &str, message: String) {
        let path = if path == BUILT_IN { "" } else { path };
        let place = Place {
            path: path.to_owned(),
            ..problems.place(self.span(path), &FieldPath::root())
        };
        problems.report(Problem::new(code, place, message));
    }

    /// Where a field is written, or the nearest one around it.
    fn span(&self, path: &str) -> Option<Span> {
        let mut node = &self.read.node;
        let mut found = None;
        for name in path.split(['.', '[', ']']).filter(|part| !part.is_empty()) {
            let Some(next) = node.at([name]) else { break };
            (node, found) = (next, Some(next.span));
        }
        found.filter(|_| path != "spec")
    }

    /// Which item of the list of roles is the role's.
    pub fn entry(&self, role: &Role) -> usize {
        let list = RoleList::of_job(self.read);
        let items = self.read.node.at(["spec", list.field]);
        let found = items.and_then(|items| entry(items.as_list()?, list.name?, role));
        found.unwrap_or(0)
    }

    pub fn coordinator(&self) -> Option<&RoleOutline<'a>> {
        self.roles.iter().find(|role| coordinates(role.role))
    }
}

/// Whether the role is a chief's or master's, and has tasks.
fn coordinates(role: &Role) -> bool {
    matches!(role.kind, RoleKind::Chief | RoleKind::Master) && role.replicas > 0
}

/// The last task of a role stands for the others: the first may be the one that decides.
fn restart(job: &Job, role: &Role) -> Restart {
    let last = role.replicas.saturating_sub(1);
    let again = |ending| {
        let then = job.answer(&role.name, last, ending, true).map(|rule| &rule.then);
        matches!(then, Some(Then::Restart { .. }))
    };
    match role.in_place {
        InPlace::Always => Restart::Always,
        InPlace::OnFailure => Restart::OnFailure,
        InPlace::Never if again(Ending::Succeeded) => Restart::Always,
        InPlace::Never if again(Ending::Failed(Some(1))) && again(Ending::Failed(None)) => Restart::OnFailure,
        InPlace::Never if again(Ending::Failed(Some(137))) => Restart::ExitCode,
        InPlace::Never => Restart::Never,
    }
}

fn success(job: &Job) -> Success {
    let completes = |rule: &&Rule| rule.then == Then::Finish(Outcome::Succeeded);
    let Some(When::Count(counts)) = job.rules.iter().find(completes).map(|rule| &rule.when) else {
        return Success::Other;
    };
    let [Count { who, what, test }] = counts.as_slice() else {
        return Success::Other;
    };
    if *what != Settled::Succeeded {
        return Success::Other;
    }
    let role = who.role.as_ref().and_then(|name| job.role(name));
    let kind = role.map(|(_, role)| role.kind);
    let has_chief = job.roles.iter().any(coordinates);
    match (kind, who.index, test) {
        (Some(RoleKind::Chief | RoleKind::Master), None, Test::All)
        | (Some(RoleKind::Chief | RoleKind::Master), Some(0), Test::AtLeast(1)) => Success::Primary,
        (Some(RoleKind::Worker), Some(0), Test::AtLeast(1)) if !has_chief => Success::Primary,
        (Some(RoleKind::Worker), None, Test::All) if !has_chief => Success::AllWorkers,
        (None, None, Test::AtLeast(least)) => Success::AtLeast(*least),
        _ => Success::Other,
    }
}

/// The widest scope that some end of a task restarts.
fn scope(job: &Job) -> Option<&Scope> {
    let scopes = job
        .rules
        .iter()
        .filter_map(|rule| match (&rule.when, &rule.then) {
            (When::Ended { .. }, Then::Restart { scope, .. }) => Some(scope),
            _ => None,
        });
    scopes.max()
}

fn start_timeout(rule: &Rule) -> Option<u32> {
    let fails = matches!(rule.when, When::Down { .. }) && rule.then == Then::Finish(Outcome::Failed);
    fails.then_some(rule.held)
}

/// The template as it is written; what a dialect adds to it belongs to that dialect.
fn template(read: &ReadJob, position: usize, role: &Role) -> Value {
    let list = RoleList::of_job(read);
    let roles = read.node.at(["spec", list.field]);
    let place = roles.and_then(|roles| {
        if let Some(key) = list.name {
            let items = roles.as_list()?;
            return items.get(entry(items, key, role).unwrap_or(position));
        }
        let mut entries = roles.as_map()?.entries().iter();
        let entry = entries.find(|entry| entry.key.eq_ignore_ascii_case(role.name.as_str()));
        entry.map(|entry| &entry.value)
    });
    let written = place.and_then(|place| place.get("template")).map(Node::to_json);
    let mut template = written.unwrap_or_else(|| json!({}));
    // Whose it is, is for the job to say: each dialect sets it anew.
    if let Some(Value::Object(spec)) = template.get_mut("spec") {
        spec.shift_remove("restartPolicy");
    }
    template
}

/// Which entry of a list is the role's.
fn entry(items: &[Node], key: &str, role: &Role) -> Option<usize> {
    items.iter().position(|item| match item.get(key) {
        Some(name) if !name.is_null() => {
            let name = name.as_text();
            name.is_some_and(|name| name.eq_ignore_ascii_case(role.name.as_str()))
        }
        // The first version of TFJob takes an entry without a type for the master's.
        _ => key == "tfReplicaType" && role.kind == RoleKind::Master,
    })
}
