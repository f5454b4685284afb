//! Notes about how the job ends: what decides, what is stopped then, what is started again with what.

use trainyard_core::explain::{then_words, when_words};
use trainyard_core::{Clean, Ending, InPlace, Outcome, Role, RoleName, Rule, Scope, Then, When};

use super::{About, join, list_of};
use crate::jobset::restarts_together;
use crate::names::{JOB_LABEL, role_job};
use crate::render::Form;
use crate::replies::{Replies, Reply};
use crate::success::Decider;

pub(super) fn tell(about: &mut About<'_>) {
    success(about);
    match about.form {
        Form::Jobs => {
            stopped_at_the_end(about);
            failures_end_everything(about);
        }
        Form::JobSet => left_at_the_end(about),
    }
    starts_others(about);
    drained(about);
    always(about);
    differs_by_index(about);
    if about.form == Form::JobSet {
        stays_failed(about);
    }
}

/// A decider in words.
fn words(decider: &Decider) -> String {
    match decider {
        Decider::Role(role) => format!("all tasks of `{role}`"),
        Decider::Task(role, index) => format!("`{role}-{index}`"),
        Decider::Some(role, count) => format!("{count} tasks of `{role}`"),
    }
}

/// Whether only some tasks of the role decide.
fn is_part(decider: &Decider) -> bool {
    !matches!(decider, Decider::Role(_))
}

/// Ways of succeeding that no Job can express.
fn success(about: &mut About<'_>) {
    for rule in about.success.unsaid.clone() {
        about.say(format!(
            "The job also succeeds when {} ({}); nothing here looks at that.",
            when_words(about.job, rule),
            rule.from
        ));
    }
    if about.success.deciders.is_empty() {
        about.say("Nothing here says when the job has succeeded: look at its Jobs one by one.");
    }
    if about.form == Form::JobSet || about.job.clean != Clean::None || about.per_task {
        return;
    }
    for decider in about.success.deciders.clone().iter().filter(|one| is_part(one)) {
        let (role, who) = (decider.role(), words(decider));
        let alone = if matches!(decider, Decider::Task(..)) {
            " alone"
        } else {
            ""
        };
        let replicas = about.job.role(role).map_or(0, |(_, role)| role.replicas);
        if replicas > 1 {
            about.say(format!(
                "The job succeeds with {who}{alone}, and the others go on; the Job of `{role}` is complete only when all {replicas} are."
            ));
        }
    }
}

/// Roles that go on when the job has succeeded, although the manifest stops them.
fn stopped_at_the_end(about: &mut About<'_>) {
    if about.job.clean == Clean::None || about.success.deciders.is_empty() {
        return;
    }
    if about.per_task && about.success.deciders.iter().any(is_part) {
        stopped_among_tasks(about);
        return;
    }
    let others = about.roles(|role| !about.success.is_decided_by(&role.name));
    if others.is_empty() {
        return;
    }
    let deciding: Vec<&RoleName> = about.success.deciders.iter().map(Decider::role).collect();
    let what = format!(
        "When {} has succeeded, {} should stop. Plain Jobs do not know of each other, so {} on until deleted. Wait for the end and stop:",
        list_of(deciding.iter().copied()),
        list_of(others.iter().copied()),
        if others.len() == 1 { "it goes" } else { "they go" },
    );
    let wait = about.jobs_of(&deciding);
    let commands = vec![
        about.kubectl(&format!("wait --for=condition=complete --timeout=168h {wait}")),
        about.kubectl(&format!("delete {}", about.jobs_of(&others))),
    ];
    about.say_with(what, commands);
}

/// The same where every task has a Job of its own, so that tasks of the role that decides go on too.
fn stopped_among_tasks(about: &mut About<'_>) {
    let all = format!("job -l {JOB_LABEL}={}", about.job.name);
    let (what, first, then) = match about.success.deciders.as_slice() {
        [Decider::Task(role, index)] => {
            let own = about.job.role(role).map(|(_, role)| role_job(about.job, role));
            let own = format!("{}-{index}", own.unwrap_or_default());
            let what = format!(
                "When `{role}-{index}` has succeeded, all others should stop. Plain Jobs do not know of each other, so they go on until deleted. Wait for the end and stop:"
            );
            let wait = format!("wait --for=condition=complete --timeout=168h job/{own}");
            let delete = format!("delete {all} --field-selector metadata.name!={own}");
            (what, wait, delete)
        }
        deciders => {
            let parts: Vec<String> = deciders.iter().map(words).collect();
            let what = format!(
                "When {} have succeeded, all others should stop. Nothing counts Jobs here, and they go on until deleted. Look, and stop:",
                join(&parts)
            );
            (what, format!("get {all}"), format!("delete {all}"))
        }
    };
    let commands = vec![about.kubectl(&first), about.kubectl(&then)];
    about.say_with(what, commands);
}

/// A policy about failures does not see a task that was drained and exited 0.
fn drained(about: &mut About<'_>) {
    let again = |role: &Role| matches!(about.answer(role, Ending::Disrupted), Some(Then::Restart { .. }));
    if about.roles(again).is_empty() {
        return;
    }
    let deciding = about.success.deciders.iter().map(|decider| match decider {
        Decider::Task(..) => words(decider),
        Decider::Role(role) | Decider::Some(role, _) => format!("`{role}`"),
    });
    let deciding: Vec<String> = deciding.collect();
    let success = match join(&deciding).as_str() {
        "" => String::new(),
        deciding => format!(", and where it decides ({deciding}) its success is the job's"),
    };
    about.say(format!(
        "A task that is drained or evicted and exits 0 counts as done: it is not started again{success}. Let the program exit with another code on SIGTERM (143, say), or use `trainyard operator`."
    ));
}

/// One role's failure is the job's, but not the other Jobs'.
fn failures_end_everything(about: &mut About<'_>) {
    let job = about.job;
    let ends = |role: &Role| {
        let replies = Replies::of(job, role);
        let spent = replies.restarts() && !replies.per_index && job.limits.restarts.is_some();
        // A Job of one task fails with it even where the job itself would go on.
        let left_alone = Replies::to(job, role, role.replicas - 1, false).per_index;
        !left_alone && (spent || replies.codes.contains(&Reply::Ends))
    };
    let several = about.peopled().count() > 1 || about.per_task;
    let ending = about.roles(ends);
    if !several || ending.is_empty() {
        return;
    }
    // A role whose failures the job goes on without must not be a reason to delete the rest.
    let whose = if ending.len() == about.peopled().count() {
        "one Job".to_owned()
    } else {
        format!("a Job of {}", list_of(ending))
    };
    let commands = vec![about.kubectl(&format!("delete job -l {JOB_LABEL}={}", job.name))];
    let what = format!("When {whose} has failed, the whole job has; the other Jobs go on until deleted:");
    about.say_with(what, commands);
}

/// A JobSet that has ended stops what still runs, whatever the manifest says.
fn left_at_the_end(about: &mut About<'_>) {
    let several = about.peopled().count() > 1 || about.success.deciders.iter().any(is_part);
    if about.job.clean == Clean::None && several {
        about.say("The manifest leaves everything running at the end; a JobSet stops what still runs.");
    }
}

/// Restarts that take other tasks with them.
fn starts_others(about: &mut About<'_>) {
    let scopes = |role: &Role| {
        let failed = (1..=255).map(|code| Ending::Failed(Some(code)));
        let answers = failed.chain([Ending::Disrupted]);
        answers
            .filter_map(|ending| match about.answer(role, ending)? {
                Then::Restart { scope, .. } if *scope != Scope::Task => Some(scope),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    let together = about.roles(|role| !scopes(role).is_empty());
    let of_roles = |role: &Role| scopes(role).iter().any(|scope| matches!(scope, Scope::Roles(_)));
    let roles_only = !about.roles(of_roles).is_empty();
    if together.is_empty() {
        return;
    }
    let names = list_of(together);
    match about.form {
        Form::Jobs => about.say(format!(
            "When a task of {names} fails or is evicted, others should start again with it; plain Jobs start only that one again. A JobSet can: `--to jobset`."
        )),
        Form::JobSet if roles_only => about.say(format!(
            "When a task of {names} fails or is evicted, some roles should start again; a JobSet starts all of them again."
        )),
        Form::JobSet => {}
    }
}

/// `Always`, and answers that a Job does not have.
fn always(about: &mut About<'_>) {
    let (job, unit) = (about.job, about.unit());
    let again = |role: &Role| {
        let then = job.answer(&role.name, role.replicas - 1, Ending::Succeeded, true);
        role.in_place == InPlace::Always || then.is_some_and(|rule| matches!(rule.then, Then::Restart { .. }))
    };
    about.say_of(again, |names| {
        format!("Tasks of {names} should be started again also when they exit 0; in {unit} they stay ended.")
    });
    let is_odd = |rule: &&Rule| {
        let odd = matches!(rule.then, Then::Abort | Then::Finish(Outcome::Succeeded));
        odd && matches!(rule.when, When::Ended { .. })
    };
    for rule in job.rules.iter().filter(is_odd) {
        let (when, then) = (when_words(job, rule), then_words(job, &rule.then));
        about.say(format!(
            "When {when}, {then} ({}): {unit} cannot do that.",
            rule.from
        ));
    }
}

/// One index of a role that is treated in another way than its others, where they share a Job.
fn differs_by_index(about: &mut About<'_>) {
    for role in about.peopled() {
        if role.replicas == 1 || about.per_task {
            continue;
        }
        let first = Replies::to(about.job, role, 0, false);
        let last = Replies::of(about.job, role);
        let name = &role.name;
        if first == last {
            continue;
        }
        about.say(if !first.per_index && last.per_index {
            format!(
                "When `{name}-0` has failed for good the job has failed; its Job is only told so when the other tasks of `{name}` have ended too."
            )
        } else {
            format!(
                "`{name}-0` is treated in another way than the other tasks of `{name}` when it fails; in one Job all are treated like the others."
            )
        });
    }
}

/// Failures that should not matter, and fail a JobSet.
fn stays_failed(about: &mut About<'_>) {
    let job = about.job;
    for role in about.peopled() {
        let keeps = Replies::to(job, role, role.replicas - 1, false).per_index;
        let when = if restarts_together(job, role) {
            "at once"
        } else if about.success.is_decided_by(&role.name) {
            continue;
        } else {
            "once all tasks of that role have ended"
        };
        if keeps {
            about.say(format!(
                "A task of `{}` that has failed for good should be left alone; a JobSet fails with it, {when}.",
                role.name
            ));
        }
    }
}
