//! `trainyard drain`, `kill`, `suspend`, `resume` and `scale`: sends one order to an active run, and prints the reply.

use trainyard_core::RoleName;
use trainyard_document::problem::shown;
use trainyard_local::run::control;
use trainyard_local::run::control::order::{Order, OrderReply};

use super::lookup;
use crate::args::runs::{OneJob, OneTask, Scale};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::{count, suggest};
use trainyard_local::run::store::state::StoredRun;

/// Stops a task as a drained node would.
pub fn drain(typed: &OneTask, printer: &mut Printer) -> Result<Exit, Failure> {
    let run = newest(&typed.job)?;
    let task = lookup::task(&run, &typed.task)?;
    let done = format!("{task} is asked to stop, as on a node that is drained");
    give(&run, &Order::Drain { task }, &done, printer)
}

/// Kills a task as a crash would.
pub fn kill(typed: &OneTask, printer: &mut Printer) -> Result<Exit, Failure> {
    let run = newest(&typed.job)?;
    let task = lookup::task(&run, &typed.task)?;
    let done = format!("{task} is killed, as by a crash");
    give(&run, &Order::Kill { task }, &done, printer)
}

/// Stops every task, to resume the run later.
pub fn suspend(typed: &OneJob, printer: &mut Printer) -> Result<Exit, Failure> {
    let run = newest(&typed.job)?;
    let done = format!(
        "every task is asked to stop; `trainyard resume {}` resumes it",
        shown(&typed.job)
    );
    give(&run, &Order::Suspend, &done, printer)
}

/// Resumes a suspended run.
pub fn resume(typed: &OneJob, printer: &mut Printer) -> Result<Exit, Failure> {
    give(&newest(&typed.job)?, &Order::Resume, "resumed", printer)
}

/// Changes how many tasks a role has.
pub fn scale(typed: &Scale, printer: &mut Printer) -> Result<Exit, Failure> {
    let run = newest(&typed.job)?;
    let (role, replicas) = typed.replicas.clone();
    let roles = roles(&run);
    // Where the manifest was not kept, only the run itself knows a role without tasks: it is asked.
    if !roles.contains(&role) && !run.file.manifest_not_kept {
        let names: Vec<&str> = roles.iter().map(RoleName::as_str).collect();
        let message = format!("`{}` has no role `{}`", shown(&typed.job), shown(role.as_str()));
        return Err(Failure::usage(message, suggest("roles", role.as_str(), &names)));
    }
    let done = format!("{role} scaled to {}", count(replicas, "task"));
    give(&run, &Order::Scale { role, replicas }, &done, printer)
}

fn newest(job: &str) -> Result<StoredRun, Failure> {
    lookup::read_run(&lookup::job(&lookup::home()?, job)?, None)
}

/// Every role, also one that has no tasks for now.
fn roles(run: &StoredRun) -> Vec<RoleName> {
    let job = run.job();
    let declared = job.iter().flat_map(|job| &job.roles).map(|role| &role.name);
    let mut roles: Vec<RoleName> = Vec::new();
    for role in declared.chain(run.tasks().iter().map(|task| &task.task.role)) {
        if !roles.contains(role) {
            roles.push(role.clone());
        }
    }
    roles
}

/// Sends the order and prints the reply.
fn give(run: &StoredRun, order: &Order, done: &str, printer: &mut Printer) -> Result<Exit, Failure> {
    let job = shown(&run.file.job);
    if !run.state.is_running() {
        let message = format!(
            "`{job}` is not running: its newest run has ended ({})",
            run.state.word()
        );
        let source = run.file.source.as_deref().map(shown);
        let hint = source.map(|source| format!("`trainyard run {source}` starts another"));
        return Err(Failure::refused(message, hint));
    }
    let why = match control::send(&run.directory, order) {
        Ok(OrderReply::Done) => {
            printer.say(&format!("`{job}`: {done}"))?;
            return Ok(Exit::Success);
        }
        Ok(OrderReply::Refused(why)) => why,
        Err(error) => error.to_string(),
    };
    Err(Failure::refused(format!("`{job}`: {why}"), None))
}
