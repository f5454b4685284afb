//! Whether two manifests mean the same: every difference is a loss, told with the field it came from.

use std::collections::BTreeMap;

use trainyard_core::{
    ClusterForm, Count, Ending, Gang, InPlace, Job, Outcome, Role, RoleKind, Rule, Scope, Settled, Test,
    Then, When,
};

use super::outline::{Outline, answer};
use crate::codes::Code;
use crate::manifest::{Dialect, ReadJob};
use crate::problem::Problems;

/// Ends that stand for all others: whatever some dialect tells apart.
const ENDINGS: [(Ending, &str); 13] = [
    (Ending::Succeeded, "that exits 0"),
    (Ending::Failed(Some(1)), "that exits with code 1"),
    (Ending::Failed(Some(42)), "that exits with code 42"),
    (Ending::Failed(Some(127)), "that exits with code 127"),
    (Ending::Failed(Some(130)), "that exits with code 130"),
    (Ending::Failed(Some(137)), "that is killed (exit code 137)"),
    (Ending::Failed(Some(138)), "that exits with code 138"),
    (Ending::Failed(Some(139)), "that crashes (exit code 139)"),
    (Ending::Failed(Some(143)), "that is terminated (exit code 143)"),
    (Ending::Failed(Some(200)), "that exits with code 200"),
    (Ending::NotStarted, "that cannot be started"),
    (Ending::Disrupted, "that is evicted, drained or preempted"),
    (Ending::Vanished, "that is deleted unseen"),
];

/// The new manifest could not be read: the writer made something its own dialect refuses.
pub(super) fn unreadable(outline: &Outline<'_>, to: Dialect, problems: &Problems) {
    let message = format!(
        "this job has no form as a {}: what is written below needs mending by hand",
        to.kind()
    );
    outline.report(problems, Code::LostJob, "", message);
}

/// Tells every difference in meaning.
pub(super) fn tell(outline: &Outline<'_>, converted: &ReadJob, problems: &Problems) {
    let to = &converted.job;
    let pairs = roles(outline, to, problems);
    success(outline, to, problems);
    answers(outline, &pairs, to, problems);
    for (ours, theirs) in pairs {
        of_role(outline, ours, theirs, problems);
    }
    levels(outline, to, problems);
    limits(outline, to, problems);
    gang(outline, to, problems);
}

/// Roles by what they are for; a master may have become a chief.
fn key(role: &Role) -> (RoleKind, String) {
    match role.kind {
        RoleKind::Chief | RoleKind::Master => (RoleKind::Chief, String::new()),
        RoleKind::Other => (RoleKind::Other, role.name.to_string()),
        kind => (kind, String::new()),
    }
}

fn roles<'a>(outline: &Outline<'a>, to: &'a Job, problems: &Problems) -> Vec<(&'a Role, &'a Role)> {
    let mut theirs: BTreeMap<_, &Role> = to.roles.iter().map(|role| (key(role), role)).collect();
    let mut pairs = Vec::new();
    for ours in &outline.job.roles {
        match theirs.remove(&key(ours)) {
            Some(role) => {
                if role.name != ours.name {
                    let message = format!("the tasks of `{}` are called `{}` there", ours.name, role.name);
                    outline.report(problems, Code::LostName, &role_path(outline, ours), message);
                }
                pairs.push((ours, role));
            }
            None if ours.replicas == 0 => {}
            None => {
                let message = format!("the role `{}` has no place there and is left out", ours.name);
                outline.report(problems, Code::LostRole, &role_path(outline, ours), message);
            }
        }
    }
    pairs
}

/// Where a role is written, as far as a reader needs it.
fn role_path(outline: &Outline<'_>, role: &Role) -> String {
    match outline.read.dialect {
        Dialect::TfJob => format!("spec.tfReplicaSpecs.{}", crate::tfjob::spelt(role.kind)),
        Dialect::TensorFlowTrainingJob => format!("spec.replicaSpecs[{}]", position(outline, role)),
        Dialect::Volcano => format!("spec.tasks[{}]", position(outline, role)),
    }
}

fn position(outline: &Outline<'_>, role: &Role) -> usize {
    outline
        .job
        .roles
        .iter()
        .position(|other| other.name == role.name)
        .unwrap_or(0)
}

fn success(outline: &Outline<'_>, to: &Job, problems: &Problems) {
    let from = outline.job;
    let (ours, theirs) = (completing(from), completing(to));
    if ours != theirs {
        let path = from
            .rules
            .iter()
            .find(|rule| rule.then == Then::Finish(Outcome::Succeeded))
            .map(|rule| &*rule.from);
        let message = format!(
            "the job succeeds {} here, and {} there",
            words(&ours),
            words(&theirs)
        );
        outline.report(problems, Code::LostSuccess, path.unwrap_or(""), message);
    }
}

/// Every way to succeed: which tasks, and how many of them.
fn completing(job: &Job) -> Vec<Vec<(String, u64)>> {
    let rules = job
        .rules
        .iter()
        .filter(|rule| rule.then == Then::Finish(Outcome::Succeeded));
    let mut ways: Vec<Vec<(String, u64)>> = rules
        .filter_map(|rule| match &rule.when {
            When::Count(counts) => Some(counts.iter().filter_map(|count| needed(job, count)).collect()),
            _ => None,
        })
        .collect();
    for way in &mut ways {
        way.sort();
        way.dedup();
    }
    ways.sort();
    ways.dedup();
    // All tasks of the job: whoever needs fewer has succeeded by then.
    let everybody = vec![("task".to_owned(), job.size())];
    if ways.len() > 1 {
        ways.retain(|way| *way != everybody);
    }
    ways
}

/// So many of these tasks, with a master and a chief as the same.
fn needed(job: &Job, count: &Count) -> Option<(String, u64)> {
    if count.what == Settled::Ended {
        return None;
    }
    let role = count
        .who
        .role
        .as_ref()
        .and_then(|name| job.role(name))
        .map(|(_, role)| role);
    let name = match (role, count.who.index) {
        (None, _) => "task".to_owned(),
        (Some(role), Some(index)) if role.replicas > 1 => format!("{} {index}", kind_name(role)),
        (Some(role), _) => kind_name(role),
    };
    let all = role.map_or_else(|| job.size(), |role| u64::from(role.replicas));
    let number = match (count.test, count.who.index) {
        (Test::All, None) => all,
        (Test::All, Some(_)) => 1,
        (Test::AtLeast(least), _) => u64::from(least),
        // Conditions on what has not succeeded come with others that say the same in the positive.
        (Test::Below(_), _) => return None,
    };
    Some((name, number))
}

fn kind_name(role: &Role) -> String {
    match role.kind {
        RoleKind::Chief | RoleKind::Master => "chief".into(),
        RoleKind::Other => role.name.to_string(),
        RoleKind::Worker => "worker".into(),
        RoleKind::Ps => "ps".into(),
        RoleKind::Evaluator => "evaluator".into(),
    }
}

fn words(ways: &[Vec<(String, u64)>]) -> String {
    if ways.is_empty() {
        return "never".into();
    }
    let way = |way: &Vec<(String, u64)>| {
        let parts: Vec<String> = way
            .iter()
            .map(|(who, number)| format!("{number} × {who}"))
            .collect();
        parts.join(" and ")
    };
    let all: Vec<String> = ways.iter().map(way).collect();
    format!("with {}", all.join(", or "))
}

/// A change: the field it comes from, what was done, what is done.
type Change = (String, String, String);

/// What is done about each end of the tasks, with and without a restart left. The same change for several roles and
/// several ends is told once, with the first end.
fn answers(outline: &Outline<'_>, pairs: &[(&Role, &Role)], to: &Job, problems: &Problems) {
    let mut changes: Vec<(Change, &str, bool, Vec<String>)> = Vec::new();
    for (ours, theirs) in pairs {
        for (ending, words) in ENDINGS {
            for can_pay in [true, false] {
                let Some(change) = changed(outline.job, ours, to, theirs, ending, can_pay) else {
                    continue;
                };
                let name = ours.name.to_string();
                match changes.iter_mut().find(|(known, ..)| *known == change) {
                    Some((_, _, _, names)) if names.contains(&name) => {}
                    Some((_, _, _, names)) => names.push(name),
                    None => changes.push((change, words, can_pay, vec![name])),
                }
            }
        }
    }
    for ((path, ours, theirs), words, can_pay, names) in changes {
        let spent = if can_pay { "" } else { ", once no restart is left," };
        let message = format!(
            "{}: a task {words}{spent} {ours} here; there it {theirs}",
            names.join(", ")
        );
        outline.report(problems, Code::LostAnswer, &path, message);
    }
}

/// The change in what is done about one end, if there is one. The last task of a role stands for the others: the
/// first may be the one that decides.
fn changed(
    from: &Job,
    ours: &Role,
    to: &Job,
    theirs: &Role,
    ending: Ending,
    can_pay: bool,
) -> Option<Change> {
    if !can_pay && from.limits.restarts.is_none() && to.limits.restarts.is_none() {
        return None;
    }
    let index = ours.replicas.saturating_sub(1);
    let (one, path) = acts(from, ours, index, ending, can_pay);
    let (other, _) = acts(to, theirs, index, ending, can_pay);
    (one != other).then_some((path, one, other))
}

/// What is done about an end, in words that are equal when the meaning is; and the field that says so.
fn acts(job: &Job, role: &Role, index: u32, ending: Ending, can_pay: bool) -> (String, String) {
    let in_place = match (role.in_place, ending) {
        (InPlace::Always, Ending::Succeeded | Ending::Failed(_))
        | (InPlace::OnFailure, Ending::Failed(_)) => true,
        _ => false,
    };
    let rule = answer(job, role, index, ending, can_pay);
    let from = rule.map_or_else(String::new, |rule| rule.from.to_string());
    let act = match rule.map(|rule| &rule.then) {
        // In place or as a new pod: the task runs again and it costs one.
        _ if in_place && can_pay => "is started again and it costs a restart".into(),
        _ if in_place && ending == Ending::Succeeded => "is started again and it costs a restart".into(),
        None | Some(Then::Keep) => "stays as it is".into(),
        Some(Then::Restart { scope, paid }) => restarts(job, scope, *paid),
        Some(Then::Abort) => "aborts the job".into(),
        Some(Then::Finish(Outcome::Succeeded)) => "completes the job".into(),
        Some(Then::Finish(Outcome::Failed)) => "fails the job".into(),
        Some(Then::Finish(Outcome::Terminated)) => "terminates the job".into(),
    };
    (act, from)
}

fn restarts(job: &Job, scope: &Scope, paid: bool) -> String {
    let what = match scope {
        Scope::Task => "is started again".into(),
        Scope::Job => "restarts the whole job".into(),
        Scope::Roles(names) => {
            let kinds = names
                .iter()
                .filter_map(|name| job.role(name))
                .map(|(_, role)| kind_name(role));
            format!("restarts every {}", kinds.collect::<Vec<_>>().join(" and "))
        }
    };
    format!(
        "{what} and it costs {}",
        if paid { "a restart" } else { "nothing" }
    )
}

fn of_role(outline: &Outline<'_>, ours: &Role, theirs: &Role, problems: &Problems) {
    if ours.port != theirs.port {
        let message = format!(
            "{} listens on port {} here and {} there",
            ours.name, ours.port, theirs.port
        );
        outline.report(problems, Code::LostPort, "", message);
    }
    if ours.after.is_some() != theirs.after.is_some() {
        let message = format!(
            "{} waits for others before it starts, here or there but not in both",
            ours.name
        );
        outline.report(problems, Code::LostStartOrder, "", message);
    }
    if ours.resume_template != theirs.resume_template {
        let message = format!("what {} runs after a pause is not carried over", ours.name);
        outline.report(
            problems,
            Code::LostField,
            "spec.runMode.pause.resumeSpecs",
            message,
        );
    }
}

/// Rules about more than one end: time-outs, restarts in place, a broken gang, restarts by counts.
fn levels(outline: &Outline<'_>, to: &Job, problems: &Problems) {
    let from = outline.job;
    let is_level = |rule: &&Rule| match &rule.when {
        When::Ended { .. } => false,
        When::Count(_) => matches!(
            rule.then,
            Then::Restart { .. } | Then::Abort | Then::Finish(Outcome::Terminated)
        ),
        When::Down { .. } | When::InPlace { .. } | When::GangBroken => true,
    };
    let same =
        |one: &Rule, other: &Rule| (&one.when, one.held, &one.then) == (&other.when, other.held, &other.then);
    for rule in from.rules.iter().filter(is_level) {
        if !to.rules.iter().any(|other| same(rule, other)) && &*rule.from != crate::compile::BUILT_IN {
            let message = "this rule cannot be said there and is left out".to_owned();
            outline.report(problems, Code::LostRule, &rule.from, message);
        }
    }
}

fn limits(outline: &Outline<'_>, to: &Job, problems: &Problems) {
    let from = outline.job;
    let paths = paths(outline.read.dialect);
    let number = |value: Option<u32>| value.map_or_else(|| "none".into(), |value| value.to_string());
    let tell = |path: &str, what: &str, ours: String, theirs: String| {
        if ours != theirs {
            let message = format!("{what} is {ours} here and {theirs} there");
            outline.report(problems, Code::LostLimit, path, message);
        }
    };
    let (a, b) = (&from.limits, &to.limits);
    tell(
        paths.restarts,
        "the number of restarts allowed",
        number(a.restarts),
        number(b.restarts),
    );
    tell(
        paths.deadline,
        "the deadline in seconds",
        number(a.deadline),
        number(b.deadline),
    );
    tell(
        paths.ttl,
        "the time to live after the end",
        number(a.ttl),
        number(b.ttl),
    );
    tell(
        paths.clean,
        "the clean-up at the end",
        format!("{:?}", from.clean),
        format!("{:?}", to.clean),
    );
    tell(
        paths.suspend,
        "being suspended",
        from.suspend.to_string(),
        to.suspend.to_string(),
    );
    let dynamic = |job: &Job| (job.cluster == ClusterForm::Sparse).to_string();
    tell(
        "spec.enableDynamicWorker",
        "letting workers come and go",
        dynamic(from),
        dynamic(to),
    );
    let config = |job: &Job| (job.cluster != ClusterForm::None).to_string();
    tell("spec.plugins", "writing TF_CONFIG", config(from), config(to));
}

/// How a dialect calls its limits.
struct Paths {
    restarts: &'static str,
    deadline: &'static str,
    ttl: &'static str,
    clean: &'static str,
    suspend: &'static str,
}

fn paths(dialect: Dialect) -> Paths {
    match dialect {
        Dialect::TfJob => Paths {
            restarts: "spec.runPolicy.backoffLimit",
            deadline: "spec.runPolicy.activeDeadlineSeconds",
            ttl: "spec.runPolicy.ttlSecondsAfterFinished",
            clean: "spec.runPolicy.cleanPodPolicy",
            suspend: "spec.runPolicy.suspend",
        },
        Dialect::TensorFlowTrainingJob => Paths {
            restarts: "spec.runPolicy.backoffLimit",
            deadline: "spec.runPolicy.activeDeadlineSeconds",
            ttl: "spec.runPolicy",
            clean: "spec.runPolicy.cleanUpPolicy",
            suspend: "spec.runMode.pause.enabled",
        },
        Dialect::Volcano => Paths {
            restarts: "spec.maxRetry",
            deadline: "spec",
            ttl: "spec.ttlSecondsAfterFinished",
            clean: "spec",
            suspend: "spec",
        },
    }
}

fn gang(outline: &Outline<'_>, to: &Job, problems: &Problems) {
    let from = outline.job;
    let shown = |gang: &Option<Gang>| match gang {
        None => "no gang".to_owned(),
        Some(gang) => {
            let queue = gang.queue.as_deref().unwrap_or("default");
            let priority = gang.priority.as_deref().unwrap_or("none");
            format!(
                "a gang of {} in queue {queue} with priority {priority}",
                gang.members
            )
        }
    };
    let (ours, theirs) = (shown(&from.gang), shown(&to.gang));
    if ours != theirs {
        let message = format!("the scheduler sees {ours} here and {theirs} there");
        outline.report(problems, Code::LostGang, "spec", message);
    }
}
