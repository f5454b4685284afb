//! Checks over a compiled job: what only shows once every field has been read together.
//!
//! Every dialect calls [`job`] last. Nothing here loops over tasks: a count is the user's to choose.

mod names;
mod outlook;
mod tf_config;

pub(crate) use self::names::name;
use self::outlook::can_succeed;
use trainyard_core::{Clean, Job, MOST_TASKS, RoleKind};
use trainyard_document::codes::Code;
use trainyard_document::fields::Field;

/// Where problems of a compiled job are shown.
pub(crate) struct Places<'a> {
    /// The job's name, or the whole object where it has none.
    pub name: Field<'a>,
    /// Whether the name is a stand-in for one that a server will make.
    pub generate_name: bool,
    /// Each role, in the order of the job's.
    pub roles: Vec<Field<'a>>,
    /// The clean-up policy, if one is written.
    pub clean: Option<Field<'a>>,
    /// What the dialect calls the clean-up policy.
    pub clean_name: &'static str,
    /// Where it belongs, in the version of the manifest.
    pub clean_path: &'static str,
    /// What it calls stopping whatever still runs.
    pub clean_better: &'static str,
}

/// Checks everything that can be said about any job.
pub(crate) fn job(job: &Job, places: &Places<'_>) {
    names::derived(job, places);
    if !check_size(job, places) {
        return;
    }
    tf_config::check(job, places);
    check_servers(job, places);
    // After an error it is most likely a consequence.
    if !places.name.problems.has_errors() && !can_succeed(job) {
        let message = "no way of ending makes this job succeed";
        let place = places.name.problem(Code::NeverSucceeds, message);
        let hint =
            "see the rules with `trainyard plan`; the task that decides must be able to exit 0 and stay so";
        places.name.tell(place.hint(hint));
    }
}

/// Refuses counts that cannot be meant, before anything is made of them.
fn check_size(job: &Job, places: &Places<'_>) -> bool {
    let size = job.size();
    if size <= MOST_TASKS {
        return true;
    }
    let largest = job
        .roles
        .iter()
        .zip(&places.roles)
        .max_by_key(|(role, _)| role.replicas);
    let field = largest.map_or(&places.name, |(_, field)| field);
    let message = format!("the job has {size} tasks; at most {MOST_TASKS} are allowed");
    let problem = field.problem_in("replicas", Code::TooManyTasks, message);
    field.tell(problem.found(size.to_string()));
    false
}

/// Parameter servers serve until they are stopped.
fn check_servers(job: &Job, places: &Places<'_>) {
    let servers = job
        .roles
        .iter()
        .position(|role| role.kind == RoleKind::Ps && role.replicas > 0);
    let (Some(servers), Clean::None) = (servers, job.clean) else {
        return;
    };
    let name = places.clean_name;
    let written = places.clean.as_ref();
    let Some(field) = written.or_else(|| places.roles.get(servers)) else {
        return;
    };
    let how = if written.is_some() { "is" } else { "is by default" };
    let message =
        format!("nothing stops the parameter servers when the job has ended: `{name}` {how} `None`");
    let problem = field.problem(Code::ServersNeverStop, message);
    let where_to = written.map_or_else(|| places.clean_path.to_owned(), |field| field.path.to_string());
    field.tell(problem.hint(format!("set `{where_to}: {}`", places.clean_better)));
}
