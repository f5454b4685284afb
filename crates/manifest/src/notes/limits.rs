//! Notes about restarts, times, start order and placement, which the tasks of a job share and its Jobs do not.

use trainyard_core::explain::{duration, gang, start_order};
use trainyard_core::{Addresses, Clean, ClusterForm, Role, RoleKind};

use super::{About, list_of};
use crate::jobset::{restarts_together, waits_for};
use crate::names::JOB_LABEL;
use crate::render::Form;
use crate::replies::Replies;

const KUEUE_QUEUE: &str = "kueue.x-k8s.io/queue-name";

pub(super) fn tell(about: &mut About<'_>) {
    budget(about);
    times(about);
    suspended(about);
    order(about);
    placement(about);
    dynamic(about);
    if about.form == Form::JobSet && about.job.addresses == Addresses::PerReplica {
        about.say("Addresses are not `per-replica`: a JobSet makes one Service for all its pods, and names them itself.");
    }
    if let (Form::Jobs, Some(who)) = (about.form, about.subject.managed_by.clone()) {
        about.say(format!(
            "`managedBy: {who}` is left out: that controller would see several Jobs and no job."
        ));
    }
}

/// One budget of restarts for all tasks becomes one per Job.
fn budget(about: &mut About<'_>) {
    let job = about.job;
    let Some(limit) = job.limits.restarts.filter(|limit| *limit > 0) else {
        return;
    };
    let pays = |role: &&Role| {
        let shared = about.form == Form::JobSet && restarts_together(job, role);
        !shared && Replies::of(job, role).restarts()
    };
    let paying: Vec<&Role> = about.peopled().filter(pays).collect();
    let per_index = paying.iter().any(|role| Replies::of(job, role).per_index);
    let jobs = paying.len();
    if jobs > 1 || per_index || about.per_task && jobs > 0 {
        let each = if per_index { "each task" } else { "each Job" };
        let unbounded = paying.iter().any(|role| Replies::of(job, role).limit > limit);
        let own = if unbounded {
            "as many as it needs".to_owned()
        } else {
            format!("{limit} of its own")
        };
        about.say(format!(
            "The job has {limit} restarts, shared by all its tasks; here {each} has {own}."
        ));
    }
}

fn times(about: &mut About<'_>) {
    let (limits, several) = (&about.job.limits, about.peopled().count() > 1 || about.per_task);
    if let (Form::JobSet, Some(seconds)) = (about.form, limits.deadline)
        && about.peopled().any(|role| restarts_together(about.job, role))
    {
        about.say(format!(
            "The deadline of {} begins anew whenever the JobSet starts everything again.",
            duration(seconds)
        ));
    }
    if let (Form::Jobs, Some(seconds), true) = (about.form, about.job.limits.ttl, several) {
        about.say(format!(
            "Each Job is deleted {} after its own end, not after that of the whole job.",
            duration(seconds)
        ));
    }
    if let Some(seconds) = limits.lost_node {
        about.say(format!(
            "`lostNodeSeconds: {seconds}` is left out: a pod on a node that does not answer stays until the Node object or the pod is deleted."
        ));
    }
    if about.job.clean == Clean::All {
        about.say("The manifest removes every pod at the end; here those that have ended stay, with their logs, until their Job is deleted.");
    }
    let paused = about.job.roles.iter().any(|role| role.resume_template.is_some());
    if paused {
        about.say(
            "What runs after a pause (`resumeSpecs`) is left out: resumed, tasks run what they ran before.",
        );
    }
}

/// Jobs are resumed one by one.
fn suspended(about: &mut About<'_>) {
    if !about.job.suspend || about.form == Form::JobSet {
        return;
    }
    let patch = "--type=merge -p '{\"spec\":{\"suspend\":false}}'";
    let commands: Vec<String> = if about.per_task {
        // `kubectl patch` takes no label.
        let all = about.kubectl(&format!("get job -l {JOB_LABEL}={} -o name", about.job.name));
        vec![format!(
            "{all} | xargs -n 1 {}",
            about.kubectl(&format!("patch {patch}"))
        )]
    } else {
        let one = |role: &Role| {
            let job = about.jobs_of(&[&role.name]);
            about.kubectl(&format!("patch {job} {patch}"))
        };
        about.peopled().map(one).collect()
    };
    if commands.len() > 1 || about.per_task && about.job.size() > 1 {
        about.say_with(
            "The job is suspended, which each Job is by itself. To let them go on:",
            commands,
        );
    }
}

fn order(about: &mut About<'_>) {
    let job = about.job;
    for role in about.peopled() {
        let can = about.form == Form::JobSet && waits_for(job, role).is_some();
        let Some(words) = start_order(job, role).filter(|_| !can) else {
            continue;
        };
        about.say(format!(
            "`{}` should start {words}; {} starts everything at once.",
            role.name,
            match about.form {
                Form::Jobs => "applying the Jobs",
                Form::JobSet => "the JobSet",
            }
        ));
    }
}

/// Gangs and queues.
fn placement(about: &mut About<'_>) {
    let sentences = gang(about.job);
    if !sentences.is_empty() {
        let mut what = format!(
            "Gang scheduling is left out. The manifest says: {}",
            sentences.join(" ")
        );
        if about.subject.conventions.own_scheduler.is_some() {
            what.push_str(" Here pods are placed one by one, by the cluster's own scheduler.");
        }
        about.say(what);
    }
    if about.form == Form::Jobs
        && about.subject.labels.contains_key(KUEUE_QUEUE)
        && about.peopled().count() > 1
    {
        about.say("Kueue lets each Job in by itself, so some roles may wait for others; it takes a JobSet as a whole (`--to jobset`).");
    }
}

/// Workers whose number may change.
fn dynamic(about: &mut About<'_>) {
    if about.job.cluster != ClusterForm::Sparse || about.per_task {
        return;
    }
    let workers = about.peopled().filter(|role| role.kind == RoleKind::Worker);
    let workers: Vec<&Role> = workers.collect();
    let [workers] = workers.as_slice() else { return };
    let names = list_of([&workers.name]);
    if about.form == Form::JobSet {
        about.say(format!(
            "The number of {names} cannot be changed while a JobSet runs."
        ));
        return;
    }
    let patch = format!(
        "patch {} --type=merge -p '{{\"spec\":{{\"completions\":N,\"parallelism\":N}}}}'",
        about.jobs_of(&[&workers.name])
    );
    let commands = vec![about.kubectl(&patch)];
    about.say_with(
        format!("To have N tasks of {names}, change both numbers of their Job:"),
        commands,
    );
}
