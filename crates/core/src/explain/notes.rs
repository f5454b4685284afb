//! What a user should know before starting the job: things that will run and may surprise.

use super::Vocabulary;
use super::conditions::needs;
use super::responses::{Act, Responses};
use super::story::success_rules;
use crate::job::{ClusterForm, InPlace, Job, RoleKind};
use crate::rule::{Count, Rule, Scope, Settled, Then, When};

/// Warnings, one line each without a full stop.
#[must_use]
pub fn notes(job: &Job, vocabulary: &Vocabulary) -> Vec<String> {
    let responses = Responses::of(job);
    let mut notes = Vec::new();
    if job.size() == 0 {
        notes.push("it has no tasks".into());
        return notes;
    }
    if !succeeds(job, &responses) {
        notes.push(format!("it can never succeed: {}", why_never(job)));
    }
    let unlimited = job.limits.restarts.is_none()
        && responses.cases.iter().any(|case| match case.answer.act {
            Act::Again { paid, .. } => paid,
            Act::InPlace => true,
            Act::Keep | Act::Hold | Act::End(_) => false,
        });
    if unlimited {
        let hint = hint(vocabulary.restarts, "set");
        notes.push(format!("restarts have no limit{hint}"));
    }
    if restarts_alone(job, &responses)
        && let Some(field) = vocabulary.restart_all
    {
        notes.push(format!(
            "nothing restarts the other tasks: for a mirrored strategy set `{field}`"
        ));
    }
    if job.suspend {
        let hint = hint(vocabulary.suspend, "see");
        notes.push(format!("it is suspended and starts nothing{hint}"));
    }
    notes
}

fn hint(field: Option<&str>, verb: &str) -> String {
    field
        .map(|field| format!(": {verb} `{field}`"))
        .unwrap_or_default()
}

/// Whether some way of ending completes the job.
#[must_use]
pub fn can_succeed(job: &Job) -> bool {
    succeeds(job, &Responses::of(job))
}

fn succeeds(job: &Job, responses: &Responses) -> bool {
    let by_level = |rule: &&Rule| match &rule.when {
        When::Count(counts) => counts.iter().all(|count| reachable(job, responses, count)),
        When::Down { .. } | When::InPlace { .. } | When::GangBroken => true,
        When::Ended { .. } => false,
    };
    let completes = Act::End(crate::Outcome::Succeeded);
    let by_end = |case: &super::responses::Case| {
        case.answer.act == completes || case.answer.out_of_restarts.as_ref() == Some(&completes)
    };
    success_rules(job).iter().any(by_level) || responses.cases.iter().any(by_end)
}

/// Whether enough tasks can get to where a count wants them.
fn reachable(job: &Job, responses: &Responses, count: &Count) -> bool {
    let stays = |task_class: usize, class: usize| {
        responses
            .get(task_class, class)
            .is_some_and(|answer| answer.act == Act::Keep || answer.out_of_restarts == Some(Act::Keep))
    };
    let mut possible = 0u64;
    for (position, task_class) in responses.task_classes.iter().enumerate() {
        let role = &job.roles[task_class.role];
        if count.who.role.as_ref().is_some_and(|name| *name != role.name) {
            continue;
        }
        let succeeds = responses.success().is_some_and(|class| stays(position, class));
        let ends = (0..responses.classes.len()).any(|class| stays(position, class));
        if !(succeeds || count.what == Settled::Ended && ends) {
            continue;
        }
        let alone = responses
            .task_classes
            .iter()
            .filter(|other| other.role == task_class.role)
            .count() as u64
            - 1;
        possible += match (count.who.index, task_class.rest) {
            (Some(index), false) => u64::from(index == task_class.index),
            (Some(index), true) => {
                u64::from(index < role.replicas && !singled(responses, task_class.role, index))
            }
            (None, false) => 1,
            (None, true) => u64::from(role.replicas).saturating_sub(alone),
        };
    }
    possible >= needs(job, count)
}

fn singled(responses: &Responses, role: usize, index: u32) -> bool {
    responses
        .task_classes
        .iter()
        .any(|task_class| task_class.role == role && !task_class.rest && task_class.index == index)
}

fn why_never(job: &Job) -> &'static str {
    let always = job.roles.iter().any(|role| role.in_place == InPlace::Always);
    if success_rules(job).is_empty() {
        "no rule completes it"
    } else if always {
        "the task that decides is restarted whenever it exits, also with 0"
    } else {
        "the tasks that decide never stay ended with exit code 0"
    }
}

/// Whether tasks are restarted one by one although there are several workers.
fn restarts_alone(job: &Job, responses: &Responses) -> bool {
    let several = job
        .roles
        .iter()
        .any(|role| role.kind == RoleKind::Worker && role.replicas > 1);
    let whole = job.rules.iter().any(|rule| {
        matches!(
            rule.then,
            Then::Restart {
                scope: Scope::Job | Scope::Roles(_),
                ..
            }
        )
    });
    let alone = responses.cases.iter().any(|case| {
        let failed = responses.classes[case.class].is_failure();
        failed
            && matches!(
                case.answer.act,
                Act::InPlace
                    | Act::Again {
                        scope: Scope::Task,
                        ..
                    }
            )
    });
    // A mirrored strategy has no parameter servers, and a job without TF_CONFIG no strategy; dynamic workers do not know each other.
    let servers = job
        .roles
        .iter()
        .any(|role| role.kind == RoleKind::Ps && role.replicas > 0);
    several && alone && !whole && !servers && matches!(job.cluster, ClusterForm::Full { .. })
}
