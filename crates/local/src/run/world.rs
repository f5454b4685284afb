//! The processes of a run as a world: instances in, [`Observed`] out, actions carried out.
//!
//! It keeps the worlds' contract (docs/architecture.md, W1 to W7): one instance per task at a time, nothing goes back in
//! time, and an instance that is gone stays visible until a memory knows of it, which lives as long as the instances do. What a cluster
//! leaves to others is played here: programs are restarted in place, and gangs and addresses are always there.

pub(crate) mod addresses;
pub(crate) mod causes;
pub(crate) mod failures;
mod instance;
mod lives;
mod memory;
mod scripts;
pub(crate) mod task_table;
pub(crate) mod tmpfs;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use trainyard_core::{
    Action, Cluster, Fixture, FixtureSeen, GangSeen, Job, Observed, Order, Ordered, Stamp, Task, TaskId,
    TaskSeen, Time,
};

use self::addresses::Addresses;
use self::failures::{Failures, Root};
use self::instance::{Instance, Phase};
use self::memory::OomKills;
use self::task_table::TaskTable;
use super::event::{Life, What};
use super::store::run_file::RunFile;
use super::store::status::TaskState;
use super::supervise::clock::Clock;
use super::timestamp::Timestamp;
use crate::error_chain;
use crate::pod::{self, Network, Setting};
use crate::process::launch::Ended;
use crate::process::task::{Running, SpawnContext, spawn};
use crate::sandbox::ports::PortError;

/// The processes of a run.
pub(super) struct World {
    pub setting: Setting,
    pub addresses: Addresses,
    pub table: TaskTable,
    context: Arc<SpawnContext>,
    cluster: Cluster,
    clock: Clock,
    instances: BTreeMap<TaskId, Instance>,
    gone: Vec<TaskSeen>,
    fixtures: BTreeSet<Fixture>,
    /// The task that the user starts: `--debug`.
    debug_task: Option<TaskId>,
    /// Ports have been looked at since the last look at the job.
    ports_looked_at: bool,
    /// What happened since the loop last asked.
    told: Vec<What>,
    /// Orders that `step` has not answered yet.
    orders: Vec<Order>,
    /// What failed by its own doing.
    failures: Failures,
    /// The kernel's counts of kills for want of memory, as last looked at.
    oom_kills: OomKills,
    /// The directory of the manifest; none for a job made of flags.
    manifest: Option<PathBuf>,
}

impl World {
    pub fn new(
        setting: Setting,
        addresses: Addresses,
        context: Arc<SpawnContext>,
        clock: Clock,
        file: &RunFile,
    ) -> Self {
        let debug_task = file.debug.clone();
        let manifest = file.source.as_ref().filter(|source| *source != "-");
        let manifest = manifest.and_then(|source| {
            let path = file.directory.join(source).canonicalize().ok()?;
            Some(path.parent()?.to_owned())
        });
        Self {
            cluster: Cluster::of(&setting.job, &setting.book),
            table: TaskTable::new(&setting.job, |task| addresses.port(task)),
            setting,
            addresses,
            context,
            clock,
            instances: BTreeMap::new(),
            gone: Vec::new(),
            fixtures: BTreeSet::new(),
            debug_task,
            ports_looked_at: false,
            told: Vec::new(),
            orders: Vec::new(),
            failures: Failures::default(),
            oom_kills: OomKills::now(),
            manifest,
        }
    }

    /// The job as it is now: suspending and scaling change it.
    pub fn job(&self) -> &Job {
        &self.setting.job
    }

    /// Changes the job as an edited manifest would.
    pub fn edit(&mut self, change: impl FnOnce(&mut Job)) -> Result<(), PortError> {
        let mut changed = Job::clone(&self.setting.job);
        change(&mut changed);
        self.addresses.extend(&changed)?;
        self.setting.job = Arc::new(changed);
        self.readdress();
        Ok(())
    }

    fn readdress(&mut self) {
        self.setting.book = self.addresses.book(&self.setting.job);
        self.cluster = Cluster::of(&self.setting.job, &self.setting.book);
        let addresses = &self.addresses;
        self.table.extend(&self.setting.job, |task| addresses.port(task));
    }

    /// Everything there is to see.
    pub fn observe(&self) -> Observed {
        let here = self.instances.values().map(Instance::seen);
        let ours = FixtureSeen::Ours { right: true };
        Observed {
            tasks: here.chain(self.gone.iter().cloned()).collect(),
            gang: match &self.setting.job.gang {
                None => GangSeen::NotNeeded,
                Some(_) => GangSeen::Open,
            },
            orders: self.orders.clone(),
            fixtures: self.fixtures.iter().map(|fixture| (*fixture, ours)).collect(),
            ..Observed::default()
        }
    }

    /// Memory knows of everything observed.
    pub fn absorbed(&mut self) {
        self.ports_looked_at = false;
        self.gone.clear();
    }

    /// Gives `step` an order.
    pub fn order(&mut self, what: Ordered) {
        let id = format!("order-{}", Timestamp::now().0).into();
        self.orders.push(Order { id, what });
    }

    /// The failure with which the trouble began.
    pub fn root_cause(&self) -> Option<&Root> {
        self.failures.root()
    }

    /// What happened since this was last asked.
    pub fn take_told(&mut self) -> Vec<What> {
        std::mem::take(&mut self.told)
    }

    /// Carries out one action. `resumed` is whether the job has been paused after it had started.
    pub fn act(&mut self, action: &Action, resumed: bool) {
        match action {
            Action::Ensure(fixture) => drop(self.fixtures.insert(*fixture)),
            Action::Remove(fixture) => drop(self.fixtures.remove(fixture)),
            Action::Create { task, stamp } => self.create(task, *stamp, resumed),
            Action::Stop {
                task,
                instance,
                force,
            } => {
                let held = self.instances.get(task);
                if held.is_some_and(|held| held.name == *instance) {
                    self.stop(task, *force);
                }
            }
            Action::Answered(id) => self.orders.retain(|order| order.id != *id),
            // A job ends with its run, and nothing on one machine has a gate.
            Action::DeleteJob | Action::Ungate { .. } => {}
        }
    }

    fn create(&mut self, task: &TaskId, stamp: Stamp, resumed: bool) {
        if self.instances.contains_key(task) {
            return;
        }
        // Looking at every port for every task would take a thousand tasks a million looks.
        if !std::mem::replace(&mut self.ports_looked_at, true) && self.alive().is_empty() {
            self.refresh_ports();
        }
        let instance = Instance::new(task, stamp, self.clock.now());
        self.instances.insert(task.clone(), instance);
        self.start(task, resumed);
    }

    /// While no task runs, ports can be changed, and another program may listen on one by now.
    fn refresh_ports(&mut self) {
        match self.addresses.refresh() {
            Ok(moved) if moved.is_empty() => {}
            Ok(moved) => {
                for moved in moved {
                    let text = format!(
                        "another program listens on port {}: {} is given port {}",
                        moved.from, moved.task, moved.to
                    );
                    self.told.push(What::Note { text });
                }
                self.readdress();
            }
            Err(error) => self.told.push(What::Note {
                text: format!("ports that are taken cannot be changed: {error}"),
            }),
        }
    }

    /// Starts the programs of an instance, the first time or again in place.
    fn start(&mut self, id: &TaskId, resumed: bool) {
        let Some(instance) = self.instances.get_mut(id) else {
            return;
        };
        let (stamp, in_place) = (instance.stamp, instance.in_place);
        instance.phase = Phase::Starting;
        let life = Life::new(id, stamp, in_place);
        self.table.begins(&life, &self.context.logs);
        if self.debug_task.as_ref() == Some(id) {
            instance.phase = Phase::Running {
                since: self.clock.now(),
                pid: None,
            };
            self.table.is(id, TaskState::LeftOut);
            return;
        }
        let started = match Task::of(&self.setting.job, &self.cluster, id, stamp, resumed) {
            Some(task) => launch(&self.setting, &task, in_place, &self.context),
            None => Err("the job has no such task any more".to_owned()),
        };
        match started {
            Ok(running) => instance.running = Some(running),
            Err(why) => self.ended(id, &Ended::NotStarted(why), None, false),
        }
    }

    /// What must be done to start a task by hand; none if it cannot be prepared.
    pub fn debug_task(&self) -> Option<pod::Prepared> {
        let id = self.debug_task.as_ref()?;
        let task = Task::of(&self.setting.job, &self.cluster, id, Stamp::default(), false)?;
        pod::prepare(&self.setting, &task, 0).ok()
    }

    /// Asks an instance to stop; what has ended is taken away.
    pub fn stop(&mut self, task: &TaskId, force: bool) {
        let now = self.clock.now();
        let Some(instance) = self.instances.get_mut(task) else {
            return;
        };
        let grace = instance.running.as_ref().map(Running::grace).unwrap_or_default();
        let grace = u32::try_from(grace.as_secs()).unwrap_or(u32::MAX);
        instance.stopping.get_or_insert(now + grace);
        // What has ended stays what it was, also between two lives in place.
        let ended = matches!(instance.phase, Phase::Ended { .. } | Phase::Resting { .. });
        if matches!(instance.phase, Phase::Resting { .. }) {
            self.table.stays_down(task);
        }
        let Some(running) = &instance.running else {
            let debug_task = self.debug_task.as_ref() == Some(task);
            if !ended && !debug_task {
                self.table.is(task, TaskState::Stopped);
            }
            self.remove(task);
            return;
        };
        if force {
            running.kill();
        } else {
            running.terminate_within(self.clock.shortened(running.grace()));
        }
        if !ended {
            self.table.is(task, TaskState::Stopping);
        }
    }

    /// Asks everything to stop, or kills it.
    pub fn stop_all(&mut self, force: bool) {
        let tasks: Vec<TaskId> = self.instances.keys().cloned().collect();
        for task in tasks {
            self.stop(&task, force);
        }
    }

    /// Kills a task's processes as a crash would; false if its program does not run. One that is only being started
    /// could not be told from one that cannot be started.
    pub fn crash(&mut self, task: &TaskId) -> bool {
        let runs = |instance: &&mut Instance| matches!(instance.phase, Phase::Running { .. });
        let Some(instance) = self.instances.get_mut(task).filter(runs) else {
            return false;
        };
        let killed = instance
            .running
            .as_ref()
            .inspect(|running| running.kill())
            .is_some();
        instance.killed_by_order |= killed;
        killed
    }

    /// Takes a task away as a drained node would; false if there is nothing to take away.
    pub fn drain(&mut self, task: &TaskId) -> bool {
        let alive = self
            .instances
            .get(task)
            .is_some_and(|instance| !matches!(instance.phase, Phase::Ended { .. }));
        if alive {
            self.stop(task, false);
        }
        alive
    }

    fn remove(&mut self, task: &TaskId) {
        if let Some(instance) = self.instances.remove(task) {
            pod::forget(&self.setting.life(task, instance.stamp));
            pod::forget(&self.setting.files(task, instance.stamp));
            self.gone.push(instance.gone());
        }
    }

    /// Tasks of which something runs, or may start to.
    pub fn alive(&self) -> Vec<TaskId> {
        let alive = self.instances.values().filter(|instance| instance.seen().alive());
        alive.map(|instance| instance.task.clone()).collect()
    }

    /// Whether something that was told to stop has not yet.
    pub fn is_stopping(&self) -> bool {
        self.instances
            .values()
            .any(|instance| instance.stopping.is_some())
    }

    /// Tasks that were told to stop and still have processes.
    pub fn awaited(&self) -> Vec<TaskId> {
        let told = |instance: &&Instance| instance.stopping.is_some() && instance.running.is_some();
        let ended = |instance: &&Instance| matches!(instance.phase, Phase::Ended { lingers: false, .. });
        let awaited = self.instances.values().filter(told);
        let awaited = awaited.filter(|instance| !ended(instance));
        awaited.map(|instance| instance.task.clone()).collect()
    }

    /// How many tasks have processes. Of one that waits for its restart in place the last may just be going.
    pub fn with_processes(&self) -> usize {
        let waits = |instance: &&Instance| matches!(instance.phase, Phase::Resting { .. });
        let all = self.instances.values().filter(|instance| !waits(instance));
        all.filter(|instance| instance.running.is_some()).count()
    }

    /// The longest grace of what still runs.
    pub fn longest_grace(&self) -> Duration {
        let running = self
            .instances
            .values()
            .filter_map(|instance| instance.running.as_ref());
        let graces = running.map(|running| self.clock.shortened(running.grace()));
        graces.max().unwrap_or_default()
    }

    /// Whether any process is left.
    pub fn is_empty(&self) -> bool {
        self.instances.values().all(|instance| instance.running.is_none())
    }

    /// Removes what the tasks found at their mounts. To be called when nothing runs any more.
    pub fn clean_up(&mut self) {
        let tasks: Vec<TaskId> = self.instances.keys().cloned().collect();
        for task in tasks {
            self.remove(&task);
        }
        self.context.tree.remove_mount_points();
        // What is left of these is empty, or not ours to remove.
        if self.setting.files != self.setting.lives {
            tmpfs::remove(&self.setting.files);
        }
        let _ = std::fs::remove_dir(&self.setting.lives);
        let _ = std::fs::remove_dir(self.setting.lives.with_file_name("root"));
    }

    /// Tasks whose main programs run.
    pub fn running(&self) -> impl Iterator<Item = RunningTask<'_>> {
        self.instances
            .values()
            .filter_map(|instance| match instance.phase {
                Phase::Running { since, pid } => Some(RunningTask {
                    task: &instance.task,
                    stamp: instance.stamp,
                    since,
                    pid,
                    port: self.addresses.port(&instance.task),
                }),
                _ => None,
            })
    }

    /// Whether all tasks share this machine's network.
    pub fn shares_network(&self) -> bool {
        self.setting.network == Network::Shared
    }
}

/// A task whose main program runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunningTask<'a> {
    pub task: &'a TaskId,
    pub stamp: Stamp,
    pub since: Time,
    pub pid: Option<u32>,
    /// The port that it should listen on, if it has one of its own.
    pub port: Option<u16>,
}

fn launch(
    setting: &Setting,
    task: &Task,
    in_place: u32,
    context: &Arc<SpawnContext>,
) -> Result<Running, String> {
    let refused = |refusals: Vec<pod::Refusal>| {
        let lines: Vec<String> = refusals
            .into_iter()
            .map(|refusal| format!("{}: {}", refusal.path, refusal.message))
            .collect();
        lines.join("; ")
    };
    let prepared = pod::prepare(setting, task, in_place).map_err(refused)?;
    pod::make(&prepared.make).map_err(|error| error_chain(&error))?;
    spawn(prepared.launch, context)
        .map_err(|error| format!("there is no thread left for it ({error}): raise `ulimit -u`"))
}
