//! `runPolicy`: limits, clean-up, scheduling, and our own additions to it.
//!
//! Four of its fields stood directly under `spec` in older versions; they are read in both places.

use std::collections::BTreeMap;
use std::sync::Arc;

use trainyard_core::{Clean, RoleKind};
use trainyard_document::Kind;
use trainyard_document::codes::Code;
use trainyard_document::fields::{Field, Fields};
use trainyard_document::problem::{did_you_mean, quoted, shown};
use trainyard_document::quantity::quantity;
use trainyard_document::tfjob_api::{LEAST_LOST_NODE, MANAGERS};

use super::annotations::{START_TIMEOUT, Wishes};
use super::roles;

/// How `runPolicy` is written in messages and in the origins of rules.
pub(crate) const PATH: &str = "spec.runPolicy";

const CLEAN: [(&str, Clean); 3] = [
    ("None", Clean::None),
    ("Running", Clean::Unfinished),
    ("All", Clean::All),
];

/// What `runPolicy` says, wherever it was written.
#[derive(Default)]
pub(crate) struct RunPolicy<'a> {
    pub clean: Option<Clean>,
    pub clean_at: Option<Field<'a>>,
    pub backoff_limit: Option<u32>,
    pub deadline: Option<u32>,
    pub ttl: Option<u32>,
    /// After how many seconds past its grace a pod that does not go is deleted by force.
    pub lost_node: Option<u32>,
    pub suspend: bool,
    pub managed_by: Option<Arc<str>>,
    pub scheduling: Option<Scheduling<'a>>,
    pub scope: RestartScope,
    pub scope_at: Option<Field<'a>>,
    pub start_timeout: Option<(u32, Arc<str>)>,
    pub start_order: Vec<RoleKind>,
    pub start_order_at: Option<Field<'a>>,
    /// Every role that one of the fields names, and where: each must be there.
    pub named: Vec<(RoleKind, Field<'a>)>,
}

/// What a restart takes with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum RestartScope {
    /// The replica alone.
    #[default]
    Replica,
    /// All replicas of these roles, if it is one of them.
    Roles(Vec<RoleKind>),
    /// Everything.
    Job,
}

impl RestartScope {
    /// What the restart of a replica of this role takes with it.
    pub(crate) fn of(&self, kind: RoleKind) -> Self {
        match self {
            Self::Roles(roles) if !roles.contains(&kind) => Self::Replica,
            scope => scope.clone(),
        }
    }
}

/// What `schedulingPolicy` says.
pub(crate) struct Scheduling<'a> {
    pub members: Option<u32>,
    pub members_at: Option<Field<'a>>,
    pub queue: Option<Arc<str>>,
    pub priority: Option<Arc<str>>,
    pub resources: Option<BTreeMap<Arc<str>, i64>>,
    pub timeout: Option<u32>,
}

impl<'a> RunPolicy<'a> {
    /// Reads `runPolicy`, and what older versions had directly under `spec`.
    pub(crate) fn read(spec: &mut Fields<'a>, version: &str, wishes: &Wishes<'a>) -> Self {
        let mut fields = spec.map("runPolicy");
        let mut either = |name| in_either_place(spec, fields.as_mut(), name, version);
        let clean = either("cleanPodPolicy");
        let backoff_limit = either("backoffLimit").and_then(|field| field.count());
        let ttl = either("ttlSecondsAfterFinished").and_then(|field| field.count());
        let deadline = either("activeDeadlineSeconds").and_then(|field| seconds(&field));
        let mut out = Self {
            backoff_limit,
            deadline,
            ttl,
            ..Self::default()
        };
        out.read_clean(clean);
        out.read_additions(fields.as_mut(), wishes);
        for name in [
            "suspend",
            "schedulingPolicy",
            "managedBy",
            "restartScope",
            "startTimeoutSeconds",
            "startOrder",
            "lostNodeSeconds",
        ] {
            spec.elsewhere(name, format!("{PATH}.{name}"));
        }
        if let Some(mut fields) = fields {
            out.suspend = fields.bool("suspend").unwrap_or(false);
            let lost_node = fields.get("lostNodeSeconds");
            out.lost_node = lost_node.and_then(|seconds| seconds.count_from(LEAST_LOST_NODE));
            out.managed_by = fields.get("managedBy").and_then(|field| managed_by(&field));
            out.scheduling = fields.map("schedulingPolicy").map(Scheduling::read);
            fields.finish();
        }
        out
    }

    /// Takes the clean-up policy, whatever this version calls it.
    pub(crate) fn read_clean(&mut self, field: Option<Field<'a>>) {
        self.clean_at = field.filter(|field| field.node.as_text() != Some(""));
        self.clean = self.clean_at.as_ref().and_then(|field| field.choice(&CLEAN));
    }

    /// Reads our own additions, from the fields or from the annotations that say the same.
    pub(crate) fn read_additions(&mut self, mut fields: Option<&mut Fields<'a>>, wishes: &Wishes<'a>) {
        let mut either = |name: &'static str, annotation: &Option<Field<'a>>| {
            let field = fields.as_mut().and_then(|fields| fields.get(name));
            match (field, annotation) {
                (Some(field), Some(annotation)) => {
                    let message = format!("the annotation has no effect: `{PATH}.{name}` is given too");
                    annotation.report(Code::FieldIgnored, message);
                    Some(field)
                }
                (field, annotation) => field.or_else(|| annotation.clone()),
            }
        };
        let scope_at = either("restartScope", &wishes.restart_scope);
        let timeout_at = either("startTimeoutSeconds", &wishes.start_timeout);
        let order_at = either("startOrder", &wishes.start_order);
        if let Some(field) = &scope_at {
            self.scope = self.restart_scope(field).unwrap_or_default();
        }
        self.scope_at = scope_at;
        self.start_timeout = timeout_at.and_then(|field| {
            let seconds = start_timeout(&field)?;
            let annotation = wishes.start_timeout.as_ref();
            let from = match annotation.filter(|annotation| annotation.path == field.path) {
                Some(_) => START_TIMEOUT,
                None => "spec.runPolicy.startTimeoutSeconds",
            };
            Some((seconds, from.into()))
        });
        if let Some(field) = &order_at {
            let named = named_roles(field);
            self.start_order = named.iter().map(|(kind, _)| *kind).collect();
            self.named.extend(named);
        }
        self.start_order_at = order_at;
    }

    /// `Replica`, `Job`, or roles: a list, or in an annotation their names with commas between.
    fn restart_scope(&mut self, field: &Field<'a>) -> Option<RestartScope> {
        match &field.node.kind {
            Kind::Text(text) if &**text == "Replica" => return Some(RestartScope::Replica),
            Kind::Text(text) if &**text == "Job" => return Some(RestartScope::Job),
            Kind::Text(text) if !text.split(',').any(|word| roles::find(word.trim()).is_some()) => {
                unknown_scope(field, text);
                return None;
            }
            Kind::Text(_) | Kind::List(_) => {}
            _ => {
                field.wrong_type("`Replica`, `Job` or a list of roles");
                return None;
            }
        }
        let named = named_roles(field);
        let mut scope: Vec<RoleKind> = named.iter().map(|(kind, _)| *kind).collect();
        scope.sort_unstable();
        self.named.extend(named);
        if scope.is_empty() && field.node.as_list().is_some_and(<[_]>::is_empty) {
            let problem = field.problem(Code::UnknownValue, "the list names no role");
            field.tell(problem.hint("write `Replica` for none"));
        }
        Some(RestartScope::Roles(scope))
    }
}

impl<'a> Scheduling<'a> {
    fn read(mut fields: Fields<'a>) -> Self {
        let members_at = fields.get("minAvailable");
        let resources = fields.map("minResources").map(|mut map| {
            let entries = map.entries().into_iter();
            entries
                .filter_map(|(name, field)| Some((name.clone(), quantity(&field)?.milli)))
                .collect()
        });
        let mut given = |name| fields.text(name).filter(|text| !text.is_empty()).cloned();
        let out = Self {
            members: members_at.as_ref().and_then(Field::count),
            members_at,
            queue: given("queue"),
            priority: given("priorityClass"),
            resources,
            timeout: fields.count("scheduleTimeoutSeconds"),
        };
        fields.finish();
        out
    }
}

/// A field that moved from `spec` into `runPolicy`; if it is in both places the new one counts.
fn in_either_place<'a>(
    old: &mut Fields<'a>,
    new: Option<&mut Fields<'a>>,
    name: &'static str,
    version: &str,
) -> Option<Field<'a>> {
    let new = new.and_then(|fields| fields.get(name));
    let old = old.get(name);
    if let Some(old) = &old {
        if new.is_some() {
            let message = format!("`{name}` is given in `{PATH}` too, and that one counts");
            let problem = old.key_problem(Code::MovedField, message);
            old.tell(problem.hint("remove this one"));
        } else if version == "v1" {
            let message = format!("`{name}` now belongs in `{PATH}`");
            let problem = old.key_problem(Code::MovedField, message);
            let hint = format!(
                "move it to `{PATH}.{name}`: where Kubeflow's definition is installed, the server drops it here without a word"
            );
            old.tell(problem.hint(hint));
        }
    }
    new.or(old)
}

/// A deadline of 0 would end every job at once, so it is a slip.
pub(crate) fn seconds(field: &Field<'_>) -> Option<u32> {
    let seconds = field.int(1..=i64::MAX)?;
    Some(u32::try_from(seconds).unwrap_or(u32::MAX))
}

/// A number, or in an annotation the text of one.
fn start_timeout(field: &Field<'_>) -> Option<u32> {
    let Kind::Text(text) = &field.node.kind else {
        return seconds(field);
    };
    let parsed = text.trim().parse::<u32>().ok().filter(|seconds| *seconds > 0);
    if parsed.is_none() {
        let message = format!("`{}` is not a number of seconds", shown(text));
        let problem = field.problem(Code::BadFormat, message).found(text);
        field.tell(problem.allowed("a whole number from 1"));
    }
    parsed
}

/// Roles in a list, or in one text with commas between; each once.
fn named_roles<'a>(field: &Field<'a>) -> Vec<(RoleKind, Field<'a>)> {
    let mut named: Vec<(RoleKind, Field<'a>)> = Vec::new();
    let mut take = |word: &str, at: Field<'a>| {
        if let Some(kind) = roles::find_or_report(word.trim(), &at)
            && named.iter().all(|(known, _)| *known != kind)
        {
            named.push((kind, at));
        }
    };
    if let Kind::Text(text) = &field.node.kind {
        text.split(',').for_each(|word| take(word, field.clone()));
    } else {
        for item in field.items() {
            if let Some(word) = item.text() {
                take(word, item.clone());
            }
        }
    }
    named
}

fn unknown_scope(field: &Field<'_>, text: &str) {
    let message = format!("`{}` is not a restart scope", shown(text));
    let problem = field.problem(Code::UnknownValue, message).found(text);
    // An annotation is text, so its list is too.
    let is_annotation = field.path.to_string().starts_with("metadata.");
    let example = if is_annotation { "PS,Chief" } else { "[PS, Chief]" };
    let problem = problem.allowed(format!("`Replica`, `Job` or a list of roles, as in `{example}`"));
    field.tell(problem.maybe_hint(did_you_mean(text, ["Replica", "Job"])));
}

fn managed_by(field: &Field<'_>) -> Option<Arc<str>> {
    let text = field.text()?;
    if !MANAGERS.contains(&&**text) {
        let message = format!("`{}` is not a controller that may manage a TFJob", shown(text));
        let problem = field.problem(Code::UnknownValue, message).found(text);
        let problem = problem.allowed(quoted(MANAGERS));
        field.tell(problem.hint("leave it out to have the job run here"));
    }
    Some(text.clone())
}
