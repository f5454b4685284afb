//! What is done about each end of a task, here and there.

use trainyard_core::{Ending, InPlace, Job, Outcome, Role, Scope, Then};

use super::kind_name;
use crate::codes::Code;
use crate::convert::outline::{Outline, answer};
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

/// A change: the field it comes from, what was done, what is done.
type Change = (String, String, String);

/// What is done about each end of the tasks, with and without a restart left. The same change for several roles and
/// several ends is told once, with the first end.
pub(super) fn answers(outline: &Outline<'_>, pairs: &[(&Role, &Role)], to: &Job, problems: &Problems) {
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
    let in_place = matches!(
        (role.in_place, ending),
        (InPlace::Always, Ending::Succeeded | Ending::Failed(_)) | (InPlace::OnFailure, Ending::Failed(_))
    );
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
