//! The roles of a `TFJob`, and what each replica spec says.

use std::sync::Arc;

use trainyard_core::{RoleKind, RoleName};
use trainyard_document::codes::Code;
use trainyard_document::fields::{Field, Fields};
use trainyard_document::problem::{Problem, Span, closest, did_you_mean, shown};

use super::MAIN_CONTAINER;
use crate::pod_template::{self, PodTemplate, RestartPolicy};

/// The roles, in the order in which their tasks are created.
pub(crate) const ROLES: [(&str, RoleKind); 5] = [
    ("Chief", RoleKind::Chief),
    ("Master", RoleKind::Master),
    ("PS", RoleKind::Ps),
    ("Worker", RoleKind::Worker),
    ("Evaluator", RoleKind::Evaluator),
];

/// The role as it stands in names.
pub(crate) fn lower(kind: RoleKind) -> &'static str {
    match kind {
        RoleKind::Chief => "chief",
        RoleKind::Master => "master",
        RoleKind::Ps => "ps",
        RoleKind::Worker => "worker",
        RoleKind::Evaluator => "evaluator",
        RoleKind::Other => "other",
    }
}

/// The name of the role in the job.
pub(crate) fn name(kind: RoleKind) -> RoleName {
    RoleName::new(lower(kind))
}

/// The role that a word means, in any letter case.
pub(crate) fn find(word: &str) -> Option<RoleKind> {
    ROLES
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(word))
        .map(|(_, kind)| *kind)
}

/// The role that a word means; a word that means none is reported.
pub(crate) fn find_or_report(word: &str, field: &Field<'_>) -> Option<RoleKind> {
    let found = find(word);
    if found.is_none() {
        let message = format!("there is no role `{}`", shown(word));
        let problem = field
            .key_problem(Code::UnknownRole, message)
            .found(word)
            .allowed("`Chief`, `Master`, `PS`, `Worker` or `Evaluator`, in any letter case")
            .maybe_hint(did_you_mean(word, ROLES.iter().map(|(name, _)| *name)));
        field.tell(problem);
    }
    found
}

/// When a replica is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restart {
    /// Never after a failure of its own.
    Never,
    /// After every failure, in place.
    OnFailure,
    /// After every exit, in place.
    Always,
    /// After the exit codes that promise something, as a new pod.
    ExitCode,
}

impl Restart {
    pub(crate) const WORDS: [(&'static str, Self); 4] = [
        ("Never", Self::Never),
        ("OnFailure", Self::OnFailure),
        ("Always", Self::Always),
        ("ExitCode", Self::ExitCode),
    ];

    /// The value of `restartPolicy` that means it.
    pub(crate) fn word(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(_, restart)| *restart == self);
        found.map_or("", |(word, _)| word)
    }

    /// What the pods get.
    fn of_pods(self) -> RestartPolicy {
        match self {
            Self::Never | Self::ExitCode => RestartPolicy::Never,
            Self::OnFailure => RestartPolicy::OnFailure,
            Self::Always => RestartPolicy::Always,
        }
    }
}

/// One role as the manifest gives it.
pub(crate) struct Replica<'a> {
    pub kind: RoleKind,
    pub replicas: u32,
    pub restart: Restart,
    /// The field that says so, for rules.
    pub from: Arc<str>,
    pub template: PodTemplate,
    /// `tfPort` of the first version; a named port in the template comes before it.
    pub port: Option<u16>,
    /// Where it is written.
    pub field: Field<'a>,
}

impl<'a> Replica<'a> {
    /// Reads the fields that every version has; the caller asks for its own and finishes. Whatever is wrong, all of
    /// it is read, for its problems.
    pub(crate) fn read(
        kind: RoleKind,
        field: &Field<'a>,
        from: Arc<str>,
        fields: &mut Fields<'a>,
    ) -> Option<Self> {
        let count = fields.get("replicas");
        let template = fields.require("template").and_then(|place| {
            let template = pod_template::read(&place)?;
            check_main_container(&template, &place);
            Some(template)
        });
        let replicas = match &count {
            None => 1,
            Some(field) => field.count()?,
        };
        if let (Some(count), 0) = (count, replicas) {
            let message = format!("`{}` has no replicas and is left out", kind.tfjob_name());
            count.report(Code::ZeroReplicas, message);
        }
        Some(Self {
            kind,
            replicas,
            restart: Restart::Never,
            from,
            template: template?,
            port: None,
            field: field.clone(),
        })
    }

    /// Takes the role's own policy, and says so if the template has another one.
    pub(crate) fn restarts(&mut self, said: Option<Restart>) {
        self.restart = said.unwrap_or(Restart::Never);
        let Some((written, span)) = self.template.restart_policy else {
            return;
        };
        if written == self.restart.of_pods() {
            return;
        }
        let role = &self.field.path;
        let (message, hint) = match said {
            Some(said) => (
                format!("`{}` of the role replaces this one", said.word()),
                "remove it from the template".to_owned(),
            ),
            None => (
                "the role has no `restartPolicy`, so its default `Never` replaces this one".to_owned(),
                format!("move it to `{role}.restartPolicy`, beside `template`"),
            ),
        };
        let problem = self.policy_problem(span, message);
        self.field.tell(problem.hint(hint));
    }

    /// A problem at the template's own `restartPolicy`.
    pub(crate) fn policy_problem(&self, span: Span, message: impl Into<String>) -> Problem {
        let path = self
            .field
            .path
            .field("template")
            .field("spec")
            .field("restartPolicy");
        let place = self.field.problems.place(Some(span), &path);
        Problem::new(Code::RestartPolicyOverwritten, place, message)
    }
}

/// The roles of a job while they are read.
#[derive(Default)]
pub(crate) struct Roles<'a> {
    /// Those that could be read, each kind once.
    pub replicas: Vec<Replica<'a>>,
    /// Kinds that were given, and where.
    given: Vec<(RoleKind, Field<'a>)>,
    /// Some role could not be read, or was given twice.
    incomplete: bool,
}

impl<'a> Roles<'a> {
    /// Takes what could be read of a role: its kind, which the dialect spells so, and the rest.
    pub(crate) fn take(
        &mut self,
        field: &Field<'a>,
        kind: Option<(RoleKind, &str)>,
        replica: Option<Replica<'a>>,
    ) {
        let mut given = self.given.iter();
        let twice = kind.and_then(|(kind, spelt)| Some((spelt, given.find(|(other, _)| *other == kind)?)));
        match (twice, kind, replica) {
            (None, Some(_), Some(replica)) => self.replicas.push(replica),
            (Some((role, (_, first))), ..) => {
                self.incomplete = true;
                let message = format!("the role `{role}` is given twice");
                let problem = field.key_problem(Code::DuplicateRole, message);
                let problem = problem.related(first.at, "first given here");
                field.tell(problem.hint("join the two into one"));
            }
            _ => self.incomplete = true,
        }
        self.given.extend(kind.map(|(kind, _)| (kind, field.clone())));
    }

    /// Whether there is a role, and all of them could be read.
    pub(crate) fn complete(&self) -> bool {
        !self.incomplete && !self.replicas.is_empty()
    }

    /// In the order in which their tasks are created.
    pub(crate) fn in_order(mut self) -> Self {
        let order = |kind: RoleKind| ROLES.iter().position(|(_, role)| *role == kind);
        self.replicas.sort_by_key(|replica| order(replica.kind));
        self
    }
}

/// The container `tensorflow` is the task; without it there is nothing to judge.
fn check_main_container(template: &PodTemplate, field: &Field<'_>) {
    if template.containers.is_empty() || template.container(MAIN_CONTAINER).is_some() {
        return;
    }
    let names = || template.containers.iter().map(|container| &*container.name);
    let mut listed: Vec<String> = names().take(5).map(|name| format!("`{}`", shown(name))).collect();
    if template.containers.len() > listed.len() {
        listed.push("…".to_owned());
    }
    let path = field.path.field("spec").field("containers");
    let hint = match (closest(MAIN_CONTAINER, names()), &template.containers[..]) {
        (Some(near), _) => format!("rename `{}` to `{MAIN_CONTAINER}`", shown(near)),
        (None, [only]) => format!("rename `{}` to `{MAIN_CONTAINER}`", shown(&only.name)),
        (None, _) => format!("rename the container that trains to `{MAIN_CONTAINER}`"),
    };
    let at = template.containers.first().map(|container| container.at);
    let place = field.problems.place(at, &path);
    let listed = listed.join(", ");
    let message = format!("no container is named `{MAIN_CONTAINER}`, found {listed}");
    field.tell(Problem::new(Code::NoMainContainer, place, message).hint(hint));
}
