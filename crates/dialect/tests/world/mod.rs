//! The smallest world: it obeys every action at once, and otherwise does only what a test says.

use serde_json::Value;
use trainyard_core::{
    Action, Exit, Fixture, FixtureSeen, GangSeen, Job, Memory, Observed, Order, Ordered, Outcome, Seen,
    Stamp, Step, TaskId, TaskSeen, Time, Why, step,
};

const OURS: FixtureSeen = FixtureSeen::Ours { right: true };

/// A dialect's status function.
pub type Status = fn(Option<&Value>, &Job, &Step, &Observed, Time) -> Value;

/// One job in the world.
pub struct World {
    pub job: Job,
    pub memory: Option<Memory>,
    pub status: Option<Value>,
    pub tasks: Vec<TaskSeen>,
    pub orders: Vec<Order>,
    pub gang: GangSeen,
    pub now: u64,
    pub creates: u32,
    project: Status,
}

impl World {
    /// A job before its first step.
    pub fn new(job: Job, project: Status) -> Self {
        Self {
            job,
            memory: None,
            status: None,
            tasks: Vec::new(),
            orders: Vec::new(),
            gang: GangSeen::Open,
            now: 1_000,
            creates: 0,
            project,
        }
    }

    /// A job whose tasks all run.
    pub fn running(job: Job, project: Status) -> Self {
        let mut world = Self::new(job, project);
        world.look();
        world.run_all();
        world.look();
        world
    }

    /// One step: memory and status are written, actions carried out. What was told to stop is still there.
    pub fn look(&mut self) -> Step {
        self.now += 1;
        let observed = Observed {
            tasks: self.tasks.clone(),
            gang: self.gang,
            orders: self.orders.clone(),
            fixtures: vec![(Fixture::Addresses, OURS), (Fixture::Gang, OURS)],
            ..Observed::default()
        };
        let now = Time(self.now);
        let step = step(&self.job, self.memory.as_ref(), &observed, now);
        self.status = Some((self.project)(
            self.status.as_ref(),
            &self.job,
            &step,
            &observed,
            now,
        ));
        self.memory = Some(step.memory.clone());
        self.tasks.retain(|seen| !matches!(seen.state, Seen::Gone(_)));
        for action in &step.actions {
            self.carry_out(action);
        }
        step
    }

    /// Looks again and again, an hour in all, with everything that was told to stop gone and everything new running.
    pub fn settle(&mut self) {
        for _ in 0..12 {
            self.look();
            self.let_go();
            self.run_all();
            self.now += 300;
        }
        self.look();
    }

    fn carry_out(&mut self, action: &Action) {
        match action {
            Action::Stop { instance, .. } => {
                let now = Time(self.now);
                self.tasks
                    .retain(|seen| seen.instance != *instance || seen.alive());
                for seen in self.tasks.iter_mut().filter(|seen| seen.instance == *instance) {
                    seen.stopping = Some(now);
                }
            }
            Action::Create { task, stamp } => {
                self.creates += 1;
                self.tasks.retain(|seen| seen.id != *task);
                self.tasks.push(waiting(task, *stamp, self.now));
            }
            Action::Answered(id) => self.orders.retain(|order| order.id != *id),
            Action::Ensure(_) | Action::Remove(_) | Action::Ungate { .. } | Action::DeleteJob => {}
        }
    }

    /// Everything that was told to stop has gone.
    pub fn let_go(&mut self) {
        self.tasks.retain(|seen| seen.stopping.is_none());
    }

    /// Everything that waits runs now.
    pub fn run_all(&mut self) {
        for seen in &mut self.tasks {
            if seen.state == Seen::Waiting {
                seen.state = Seen::Running { ready: true };
            }
        }
    }

    /// A task exits by itself.
    pub fn exit(&mut self, task: &str, code: i32) {
        self.end(task, Some(code), Why::Itself, false);
    }

    /// A task is drained and exits so.
    pub fn drain(&mut self, task: &str, code: i32) {
        self.end(task, Some(code), Why::Disrupted, true);
    }

    /// A task's instance is gone, and how it ended was not observed.
    pub fn vanish(&mut self, task: &str) {
        self.seen(task).state = Seen::Gone(None);
    }

    fn end(&mut self, task: &str, code: Option<i32>, why: Why, asked: bool) {
        let at = Time(self.now);
        let exit = Exit {
            code,
            why,
            asked,
            at,
            ran: 700,
            ..Exit::default()
        };
        self.seen(task).state = Seen::Ended(exit);
        // Whatever wants to wait for the cause of an end has waited.
        self.now += 10;
    }

    fn seen(&mut self, task: &str) -> &mut TaskSeen {
        let id: TaskId = task.parse().unwrap();
        self.tasks
            .iter_mut()
            .find(|seen| seen.id == id)
            .unwrap_or_else(|| panic!("{id} is not there"))
    }

    /// A user gives an order.
    pub fn order(&mut self, what: Option<Ordered>) {
        let id = format!("order-{}", self.now).into();
        self.orders.extend(what.map(|what| Order { id, what }));
    }

    /// The verdict's outcome.
    pub fn outcome(&self) -> Option<Outcome> {
        Some(self.memory.as_ref()?.verdict.as_ref()?.outcome)
    }

    /// Something in the status, by JSON pointer.
    pub fn says(&self, pointer: &str) -> Value {
        self.status
            .as_ref()
            .and_then(|status| status.pointer(pointer))
            .cloned()
            .unwrap_or(Value::Null)
    }
}

fn waiting(task: &TaskId, stamp: Stamp, now: u64) -> TaskSeen {
    TaskSeen {
        id: task.clone(),
        stamp,
        instance: format!("{task}/{}.{}", stamp.epoch, stamp.attempt).into(),
        state: Seen::Waiting,
        created: Time(now),
        in_place: 0,
        last: None,
        stopping: None,
        lingers: false,
        placement: trainyard_core::Placement::default(),
    }
}
