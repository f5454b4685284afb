//! Orders from outside, obeyed: what comes over the socket changes the job or its processes, and `step` does the rest.

use trainyard_core::{Hold, Ordered, RoleName, TaskId};
use trainyard_document::problem::did_you_mean;

use super::finish::ENDING;
use super::runner::Runner;
use crate::run::control::order::{Order, OrderReply};
use crate::run::event::What;

/// More tasks of a role than this are a slip of the pen on one machine.
const MOST_TASKS: u32 = 4096;

/// `trainyard stop` ends a run as this signal does.
const TERMINATE: i32 = 15;

impl Runner {
    /// Does what was ordered, or says why not.
    pub(crate) fn obey(&mut self, order: &Order) -> OrderReply {
        if self.has_verdict() && !matches!(order, Order::Stop { .. }) {
            return OrderReply::Refused(ENDING.to_owned());
        }
        match order {
            Order::Stop { now } => {
                self.end(Some(TERMINATE), *now);
                OrderReply::Done
            }
            Order::Kill { task } => self.on_task(task, "killed", |runner| runner.world.crash(task)),
            Order::Drain { task } => self.on_task(task, "drained", |runner| runner.world.drain(task)),
            Order::Suspend => self.suspend(),
            Order::Resume => self.resume(),
            Order::Scale { role, replicas } => self.scale(role, *replicas),
        }
    }

    fn on_task(&mut self, task: &TaskId, word: &str, act: impl FnOnce(&mut Self) -> bool) -> OrderReply {
        if self.world.table.get(task).is_none() {
            let names: Vec<String> = self.world.job().tasks().map(|task| task.to_string()).collect();
            let hint = did_you_mean(&task.to_string(), names.iter().map(String::as_str));
            let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            return OrderReply::Refused(format!("the job has no task `{task}`{hint}"));
        }
        if act(self) {
            self.tell(What::Note {
                text: format!("{task} is {word}, as was ordered"),
            });
            OrderReply::Done
        } else {
            OrderReply::Refused(format!("{task} does not run now"))
        }
    }

    fn suspend(&mut self) -> OrderReply {
        if self.world.job().suspend {
            return OrderReply::Refused("it is suspended already".to_owned());
        }
        self.edit(|job| job.suspend = true)
    }

    fn resume(&mut self) -> OrderReply {
        let held = self.memory.as_ref().and_then(|memory| memory.held);
        if self.world.job().suspend {
            self.edit(|job| job.suspend = false)
        } else if held == Some(Hold::Aborted) {
            self.world.order(Ordered::Resume { paid: false });
            OrderReply::Done
        } else {
            OrderReply::Refused("it is not suspended".to_owned())
        }
    }

    fn scale(&mut self, role: &RoleName, replicas: u32) -> OrderReply {
        let job = self.world.job();
        let Some((_, found)) = job.role(role) else {
            let names: Vec<&str> = job.roles.iter().map(|role| role.name.as_str()).collect();
            return OrderReply::Refused(format!(
                "the job has no role `{role}`; its roles are {}",
                names.join(", ")
            ));
        };
        if replicas > found.replicas && replicas > MOST_TASKS {
            return OrderReply::Refused(format!(
                "`{role}` cannot have {replicas} tasks here: {MOST_TASKS} at most"
            ));
        }
        if replicas > found.replicas && !self.world.shares_network() {
            let why =
                "its tasks have a network each, and another one cannot be joined to them while they run";
            return OrderReply::Refused(format!("`{role}` cannot grow: {why}"));
        }
        let role = role.clone();
        self.edit(move |job| {
            let found = job.roles.iter_mut().find(|found| found.name == role);
            if let Some(found) = found {
                found.replicas = replicas;
            }
        })
    }

    fn edit(&mut self, change: impl FnOnce(&mut trainyard_core::Job)) -> OrderReply {
        match self.world.edit(change) {
            Ok(()) => OrderReply::Done,
            Err(error) => OrderReply::Refused(error.to_string()),
        }
    }
}
