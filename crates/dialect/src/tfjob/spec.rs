//! `spec` of a `TFJob` from v1alpha2 on: a map of replicas, and limits that moved into `runPolicy` in v1.

use std::sync::Arc;

use trainyard_core::{RoleKind, Who};
use trainyard_document::codes::Code;
use trainyard_document::fields::{Field, Fields};
use trainyard_document::problem::{Problem, quoted, shown};

use super::annotations::Wishes;
use super::roles::{self, Replica, Restart, Roles, name};
use super::run_policy::RunPolicy;
use crate::compile::BUILT_IN;
use crate::tensorboard::TensorBoard;

/// What a `TFJob` of any version says.
pub(crate) struct Spec<'a> {
    /// In the order of [`ROLES`], each at most once.
    pub replicas: Vec<Replica<'a>>,
    /// Whether every role could be read; if not, nothing can be said about what is missing.
    pub complete: bool,
    /// The field of all roles that says when they restart, for rules.
    pub restart_path: &'static str,
    pub run: RunPolicy<'a>,
    pub success: Success,
    pub dynamic_workers: bool,
    /// Where problems of the whole are shown.
    pub place: Field<'a>,
    /// How the dialect spells a role: another one has the same roles in other letters.
    pub spelt: fn(RoleKind) -> &'static str,
    /// Where the number of restarts is limited; the first version has no such field.
    pub limit_path: Option<&'static str>,
    /// Where it is said who decides, if the manifest does not: the versions before v1 have no such field.
    pub success_path: &'static str,
    /// A TensorBoard beside the job.
    pub tensorboard: Option<TensorBoard>,
}

/// Whose success is the job's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Success {
    /// The chief's or master's, else worker 0's.
    Default,
    /// The chief's or master's, else every worker's.
    AllWorkers,
    /// This one's, as v1alpha1 can say.
    Task(RoleKind, u32),
}

/// Reads `spec` of any version but the first.
pub(crate) fn read<'a>(mut fields: Fields<'a>, version: &str, wishes: &Wishes<'a>) -> Option<Spec<'a>> {
    let place = fields.require("tfReplicaSpecs");
    let run = RunPolicy::read(&mut fields, version, wishes);
    let success_at = fields
        .get("successPolicy")
        .filter(|field| field.node.as_text() != Some(""));
    let success = success_at
        .as_ref()
        .and_then(|field| field.choice(&[("AllWorkers", Success::AllWorkers)]));
    let dynamic_workers = fields.bool("enableDynamicWorker").unwrap_or(false);
    let tensorboard = TensorBoard::read(&mut fields, wishes.tensorboard.as_ref());
    only_in_the_first_version(&mut fields, version);
    fields.finish();
    let place = place?;
    let roles = replicas(&place)?;
    let (limit_path, success_path) = match version {
        "v1" => ("spec.runPolicy.backoffLimit", "spec.successPolicy"),
        _ => ("spec.backoffLimit", BUILT_IN),
    };
    let spec = Spec {
        complete: roles.complete(),
        replicas: roles.replicas,
        restart_path: "spec.tfReplicaSpecs.*.restartPolicy",
        run,
        success: success.unwrap_or(Success::Default),
        dynamic_workers,
        place,
        spelt: RoleKind::tfjob_name,
        limit_path: Some(limit_path),
        success_path,
        tensorboard,
    };
    if let (Some(field), Success::AllWorkers) = (success_at, spec.success)
        && let Some(decider) = spec.coordinator()
    {
        let decider = decider.kind.tfjob_name();
        let message = format!("`successPolicy` has no effect: the job has a `{decider}`, which decides");
        field.report(Code::FieldIgnored, message);
    }
    Some(spec)
}

/// A v1alpha1 body under a later heading is a common slip.
fn only_in_the_first_version(fields: &mut Fields<'_>, version: &str) {
    let clean = super::clean_up(version).1;
    for (name, hint) in [
        (
            "tfImage",
            "remove it: each template names its own image".to_owned(),
        ),
        (
            "terminationPolicy",
            "remove it: the `Chief` or `Master` decides, or else the first `Worker`".to_owned(),
        ),
        ("cleanupPodPolicy", format!("move it to `{clean}`")),
        ("RuntimeId", "remove it: only `v1alpha1` had it".to_owned()),
        (
            "replicaSpecs",
            "make it a map, `tfReplicaSpecs`, with each `tfReplicaType` as a key: `Master:`, `Worker:`"
                .to_owned(),
        ),
    ] {
        // As a map it is only misspelt.
        if name == "replicaSpecs" && fields.peek(name).is_none_or(|node| node.as_list().is_none()) {
            continue;
        }
        if let Some(found) = fields.refused(name) {
            let message = format!("unknown field `{name}`");
            let problem = found.key_problem(Code::UnknownField, message).found(name);
            found.tell(problem.hint(hint));
        }
    }
}

fn replicas<'a>(place: &Field<'a>) -> Option<Roles<'a>> {
    let mut map = place.fields()?;
    let entries = map.entries();
    if entries.is_empty() {
        let message = "`tfReplicaSpecs` is empty: the job has no tasks";
        let problem = place.problem(Code::MissingField, message);
        place.tell(problem.hint("add a `Worker`"));
    }
    let mut roles = Roles::default();
    for (key, field) in entries {
        let kind = roles::find_or_report(key, &field);
        // Without a role the rest is read all the same, for its problems.
        let replica = replica(kind.unwrap_or(RoleKind::Other), key, &field);
        roles.take(&field, kind.map(|kind| (kind, kind.tfjob_name())), replica);
    }
    Some(roles.in_order())
}

fn replica<'a>(kind: RoleKind, key: &str, field: &Field<'a>) -> Option<Replica<'a>> {
    if field.node.is_null() {
        let message = format!("`{}` says nothing", kind.tfjob_name());
        let problem = field.problem(Code::MissingField, message);
        field.tell(problem.hint("add `template`"));
        return None;
    }
    let mut fields = field.fields()?;
    let from: Arc<str> = format!("spec.tfReplicaSpecs.{}.restartPolicy", shown(key)).into();
    let replica = Replica::read(kind, field, from, &mut fields);
    let restart = fields
        .get("restartPolicy")
        .filter(|field| field.node.as_text() != Some(""));
    let restart = restart.map(|field| field.choice(&Restart::WORDS));
    fields.elsewhere("containers", "template.spec.containers");
    fields.elsewhere("spec", "template.spec");
    fields.finish();
    let mut replica = replica?;
    if restart == Some(None) {
        return None;
    }
    replica.restarts(restart.flatten());
    Some(replica)
}

impl<'a> Spec<'a> {
    /// The role of this kind, if it has tasks.
    pub(crate) fn replica(&self, kind: RoleKind) -> Option<&Replica<'a>> {
        self.replicas
            .iter()
            .find(|replica| replica.kind == kind && replica.replicas > 0)
    }

    /// The chief or the master, if it has tasks: then it alone decides the job's success.
    pub(crate) fn coordinator(&self) -> Option<&Replica<'a>> {
        self.replica(RoleKind::Chief)
            .or_else(|| self.replica(RoleKind::Master))
    }

    /// The tasks whose success is the job's.
    pub(crate) fn deciders(&self) -> Who {
        match (self.coordinator(), self.success) {
            (_, Success::Task(kind, index)) => Who::task(&name(kind), index),
            (Some(coordinator), _) => Who::role(&name(coordinator.kind)),
            (None, Success::AllWorkers) => Who::role(&name(RoleKind::Worker)),
            (None, Success::Default) => Who::task(&name(RoleKind::Worker), 0),
        }
    }

    /// Checks that only the manifest's own roles can answer.
    pub(crate) fn check(&self) {
        self.check_coordinators();
        if !self.complete {
            return;
        }
        let declared = |kind| self.replicas.iter().any(|replica| replica.kind == kind);
        let can_finish = [RoleKind::Chief, RoleKind::Master, RoleKind::Worker];
        if !can_finish.into_iter().any(declared) {
            let roles = self.roles();
            let message = format!("a job of `{}` alone never ends", roles.join("` and `"));
            let problem = self.place.problem(Code::OnlyParameterServers, message);
            self.place.tell(problem.hint(self.add_a_decider()));
        }
        self.check_mirrored();
        self.check_named();
        self.check_scope();
    }

    /// The roles there are, as the dialect spells them.
    pub(super) fn roles(&self) -> Vec<&'static str> {
        let spelt = |replica: &Replica<'_>| (self.spelt)(replica.kind);
        self.replicas.iter().map(spelt).collect()
    }

    fn add_a_decider(&self) -> String {
        let (worker, chief) = ((self.spelt)(RoleKind::Worker), (self.spelt)(RoleKind::Chief));
        format!("add a `{worker}` or a `{chief}`")
    }

    /// `restartScope` and `startOrder` name roles of this job.
    fn check_named(&self) {
        for (kind, field) in &self.run.named {
            if self.replicas.iter().any(|replica| replica.kind == *kind) {
                continue;
            }
            let role = (self.spelt)(*kind);
            let problem = field.problem(Code::RoleNotInJob, format!("this job has no `{role}`"));
            field.tell(problem.found(role).allowed(quoted(self.roles())));
        }
    }

    fn check_coordinators(&self) {
        let of_kind = |kind| self.replicas.iter().find(|replica| replica.kind == kind);
        let coordinators = [of_kind(RoleKind::Chief), of_kind(RoleKind::Master)];
        if let [Some(chief), Some(master)] = coordinators {
            let (first, second) = if chief.field.at.start < master.field.at.start {
                (chief, master)
            } else {
                (master, chief)
            };
            let message = "a `Chief` and a `Master`: only one may decide";
            let problem = second.field.key_problem(Code::ManyChiefs, message);
            let problem = problem.related(first.field.at, "the other one");
            self.place.tell(problem.hint("keep `Chief`"));
        }
        for replica in coordinators.into_iter().flatten() {
            let (word, count) = ((self.spelt)(replica.kind), replica.replicas);
            if count > 1 {
                let message = format!("`{word}` has {count} replicas; TensorFlow knows one");
                let problem = replica.field.problem_in("replicas", Code::ManyChiefs, message);
                let problem = problem.found(count.to_string());
                self.place.tell(problem.hint("set `replicas: 1`"));
            }
        }
    }

    /// A script that says "mirrored" makes no use of parameter servers.
    fn check_mirrored(&self) {
        let Some(servers) = self.replica(RoleKind::Ps) else {
            return;
        };
        let mirrored = |replica: &Replica<'_>| {
            let main = replica.template.container(super::MAIN_CONTAINER);
            main.is_some_and(|main| {
                let mut words = main.command.iter().chain(&main.args);
                words.any(|word| word.to_ascii_lowercase().contains("mirrored"))
            })
        };
        if self.replicas.iter().any(mirrored) {
            let message = "the command says `mirrored`, and that strategy makes no use of parameter servers";
            let problem = servers.field.key_problem(Code::ServersBesideMirrored, message);
            let servers = (self.spelt)(RoleKind::Ps);
            let hint = format!("remove `{servers}`, or use ParameterServerStrategy");
            self.place.tell(problem.hint(hint));
        }
    }

    /// A `TF_CONFIG` of the user's own is replaced.
    pub(crate) fn check_tf_config(&self) {
        for replica in &self.replicas {
            let main = replica.template.container(super::MAIN_CONTAINER);
            let set = main.and_then(|main| main.env.iter().find(|variable| &*variable.name == "TF_CONFIG"));
            if let Some(set) = set {
                let problems = replica.field.problems;
                let path = replica.field.path.field("template").field("spec");
                let message = "this `TF_CONFIG` is replaced by the one that is made for the task";
                let problem = Problem::new(Code::TfConfigSet, problems.place(Some(set.at), &path), message);
                problems.report(problem.hint("remove it from `env`"));
            }
        }
    }

    /// A scope says what a restart takes with it; where nothing restarts, it says nothing.
    fn check_scope(&self) {
        let Some(field) = &self.run.scope_at else {
            return;
        };
        let scope = &self.run.scope;
        let inside = |replica: &&Replica<'_>| scope.of(replica.kind) != super::RestartScope::Replica;
        let mut restarted = self.replicas.iter().filter(inside).peekable();
        if restarted.peek().is_none() {
            return;
        }
        if restarted.clone().all(|replica| replica.restart == Restart::Never) {
            let message = "no role it names is restarted after a failure: their `restartPolicy` is `Never`";
            let problem = field.problem(Code::ScopeWithoutRestarts, message);
            let hint = match self.limit_path {
                Some(limit) => format!("set `restartPolicy: ExitCode` for them, and `{limit}`"),
                None => "set `template.spec.restartPolicy: OnFailure` for them".to_owned(),
            };
            field.tell(problem.hint(hint));
        } else if self.run.backoff_limit.is_none()
            && restarted.any(|replica| replica.restart == Restart::ExitCode)
            && let Some(limit) = self.limit_path
        {
            let message = "without `backoffLimit`, exit codes 1 to 127 fail the job although a peer's death may be their cause";
            let problem = field.problem(Code::ScopeWithoutLimit, message);
            field.tell(problem.hint(format!("set `{limit}`")));
        }
    }
}
