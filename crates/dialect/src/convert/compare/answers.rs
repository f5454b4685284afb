//! What is done about each end of a task, here and there.

use trainyard_core::{Ending, InPlace, Job, Outcome, Ranges, Role, Scope, Then};
use trainyard_document::codes::Code;
use trainyard_document::problem::Problems;

use super::kind_name;
use crate::convert::outline::Outline;

/// Every end that some dialect may tell apart: all exit codes, and the ends that have none.
fn endings() -> impl Iterator<Item = Ending> {
    let codes = (1..=255).map(|code| Ending::Failed(Some(code)));
    let others = [
        Ending::Succeeded,
        Ending::NotStarted,
        Ending::Disrupted,
        Ending::Vanished,
    ];
    codes.chain(others)
}

/// A change, and everything it happens to.
struct Change {
    path: String,
    ours: String,
    theirs: String,
    can_pay: bool,
    roles: Vec<String>,
    codes: Ranges,
    others: Vec<&'static str>,
}

/// What is done about each end of the tasks, with and without a restart left. The same change for several roles and
/// several ends is told once.
pub(super) fn answers(outline: &Outline<'_>, pairs: &[(&Role, &Role)], to: &Job, problems: &Problems) {
    let mut changes: Vec<Change> = Vec::new();
    for (ours, theirs) in pairs {
        for ending in endings() {
            for can_pay in [true, false] {
                if let Some(change) = changed(outline.job, ours, to, theirs, ending, can_pay) {
                    add(&mut changes, change, &ours.name.to_string(), ending);
                }
            }
        }
    }
    for change in changes {
        let spent = if change.can_pay {
            ""
        } else {
            ", once no restart is left,"
        };
        let (roles, ends) = (change.roles.join(", "), ends(&change));
        let Change {
            path, ours, theirs, ..
        } = &change;
        let message = format!("{roles}: a task {ends}{spent} {ours} now; converted, it {theirs}");
        outline.report(problems, Code::LostAnswer, path, message);
    }
}

/// Notes a change, with those that are the same.
fn add(changes: &mut Vec<Change>, change: Change, role: &str, ending: Ending) {
    let same = |known: &Change| {
        (&known.path, &known.ours, &known.theirs, known.can_pay)
            == (&change.path, &change.ours, &change.theirs, change.can_pay)
    };
    let at = changes.iter().position(same).unwrap_or(changes.len());
    if at == changes.len() {
        changes.push(change);
    }
    let known = &mut changes[at];
    if !known.roles.iter().any(|name| name == role) {
        known.roles.push(role.to_owned());
    }
    let other = match ending {
        Ending::Failed(Some(code)) => {
            known.codes.insert(u32::try_from(code).unwrap_or(0));
            return;
        }
        Ending::Failed(None) => "that fails",
        Ending::Succeeded => "that exits 0",
        Ending::NotStarted => "that cannot be started",
        Ending::Disrupted => "that is evicted, drained or preempted",
        Ending::Vanished => "that is deleted unseen",
    };
    if !known.others.contains(&other) {
        known.others.push(other);
    }
}

/// The ends in words: `that exits with code 1-41,43-127 or that is evicted`.
fn ends(change: &Change) -> String {
    let mut parts = Vec::new();
    if !change.codes.is_empty() {
        parts.push(format!("that exits with code {}", change.codes));
    }
    parts.extend(change.others.iter().map(|other| (*other).to_owned()));
    parts.join(" or ")
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
    (one != other).then(|| Change {
        path,
        ours: one,
        theirs: other,
        can_pay,
        roles: Vec::new(),
        codes: Ranges::default(),
        others: Vec::new(),
    })
}

/// What is done about an end, in words that are equal when the meaning is; and the field that says so.
fn acts(job: &Job, role: &Role, index: u32, ending: Ending, can_pay: bool) -> (String, String) {
    let in_place = matches!(
        (role.in_place, ending),
        (InPlace::Always, Ending::Succeeded | Ending::Failed(_)) | (InPlace::OnFailure, Ending::Failed(_))
    );
    let rule = job.answer(&role.name, index, ending, can_pay);
    let from = rule.map_or_else(String::new, |rule| rule.from.to_string());
    let act = match rule.map(|rule| &rule.then) {
        // In place or as a new pod: the task runs again and it costs one.
        _ if in_place && (can_pay || ending == Ending::Succeeded) => restarts(job, &Scope::Task, true),
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
            let roles = names.iter().filter_map(|name| job.role(name));
            let kinds: Vec<String> = roles.map(|(_, role)| kind_name(role)).collect();
            format!("restarts every {}", kinds.join(" and "))
        }
    };
    let costs = if paid { "a restart" } else { "nothing" };
    format!("{what} and it costs {costs}")
}
