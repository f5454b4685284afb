//! What programs do, as the world takes note of it: they start, end, are started again in place, and are gone.

use std::sync::Arc;
use std::time::Instant;

use trainyard_core::{Ending, Exit, InPlace, RoleKind, TaskId};

use trainyard_causes::MemoryEvidence;

use super::World;
use super::causes::{self, Circumstances};
use super::scripts::Surroundings;
use crate::pod;
use crate::process::launch::{Ended, TaskChange, TaskEvent};
use crate::run::event::{Life, ProgramEnd, What};
use crate::run::store::status::TaskState;
use crate::run::world::instance::Phase;

/// Seconds after an end by which the job has ended too, if it ends because of it.
const SETTLED: u32 = 2;

impl World {
    /// Takes note of what happened to a task.
    pub fn happened(&mut self, TaskEvent { life, change }: TaskEvent) {
        let task = life.task.clone();
        let Some(instance) = self.instances.get_mut(&task) else {
            return;
        };
        if instance.stamp != life.stamp() || instance.in_place < life.in_place {
            return;
        }
        match change {
            TaskChange::MountMissing {
                container,
                mount,
                why,
            } => self.told.push(What::Note {
                text: format!(
                    "{task}: container `{container}` runs without `{}`: {why}",
                    mount.target.display()
                ),
            }),
            TaskChange::Initialising { container, pid } => self.told.push(What::TaskStarted {
                life,
                init: Some(container),
                pid,
                port: None,
            }),
            TaskChange::Started { pid } => {
                instance.phase = Phase::Running {
                    since: self.clock.now(),
                    pid: Some(pid),
                };
                let port = self.addresses.port(&task);
                self.table.is(&task, TaskState::Running);
                if instance.stopping.is_some() {
                    self.table.is(&task, TaskState::Stopping);
                }
                self.told.push(What::TaskStarted {
                    life,
                    init: None,
                    pid,
                    port,
                });
            }
            TaskChange::BesideEnded { container, ended } => self.told.push(What::Note {
                text: format!("{task}: container `{container}` has ended: {ended}"),
            }),
            TaskChange::Ended {
                container,
                main,
                ended,
                lingers,
            } => {
                let init = Some(container).filter(|_| !main);
                self.ended(&task, &ended, init, lingers);
            }
            TaskChange::Gone => self.left(&task),
        }
    }

    /// The task's main program has ended, or the one of an init container.
    pub(super) fn ended(&mut self, task: &TaskId, ended: &Ended, init: Option<Arc<str>>, lingers: bool) {
        let now = self.clock.now();
        let role = self.setting.job.role(&task.role).map(|(_, role)| role);
        let policy = role.map_or(InPlace::Never, |role| role.in_place);
        let kind = role.map_or(RoleKind::Other, |role| role.kind);
        let manifest = self.manifest.as_deref();
        let Some(instance) = self.instances.get_mut(task) else {
            return;
        };
        let mut exit = instance.exit(ended, init.as_ref(), now);
        let life = Life::new(task, instance.stamp, instance.in_place);
        let mut end = ProgramEnd {
            container: init,
            ..ProgramEnd::from(ended)
        };
        let failed = Ending::of(Some(&exit)).is_failure();
        if failed || died_while_stopping(kind, &exit) {
            let image = role.filter(|_| manifest.is_some()).and_then(pod::image_of);
            let circumstances = Circumstances {
                task,
                ports: self.addresses.ports(),
                killed_by_order: std::mem::take(&mut instance.killed_by_order),
                memory: if exit.code == Some(137) {
                    self.oom_kills.since_then()
                } else {
                    MemoryEvidence::Unknown
                },
                around: Surroundings {
                    workdir: &self.context.workdir,
                    manifest,
                    image: image.as_deref(),
                },
            };
            let log = self.context.logs.join(life.log_name(end.container.as_deref()));
            end.cause = causes::cause(&log, &end, &circumstances).map(Arc::new);
        }
        if failed {
            exit.cause.clone_from(&end.cause);
            self.failures.note(&life, &end, &exit);
        }
        self.told.push(What::TaskEnded {
            life: life.clone(),
            end: end.clone(),
            stopped: Ending::of(Some(&exit)) == Ending::Disrupted,
        });
        self.table.ended(&life, &exit, end, &self.context.logs);
        if let Some(seconds) = instance.comes_back(policy, &exit) {
            instance.phase = Phase::Resting {
                until: self.clock.after(seconds),
            };
            self.table.is(task, TaskState::Restarting);
            let in_place = instance.in_place;
            let restart = What::RestartsInPlace {
                life: Life { in_place, ..life },
                seconds,
            };
            instance.untold_restart = Some((self.clock.after(SETTLED), restart));
        } else {
            instance.phase = Phase::Ended { exit, lingers };
        }
    }

    /// Nothing of the task's programs is left.
    fn left(&mut self, task: &TaskId) {
        let Some(instance) = self.instances.get_mut(task) else {
            return;
        };
        // That was the last thing its thread did.
        instance.running = None;
        let stopping = instance.stopping.is_some();
        let failed = match &mut instance.phase {
            Phase::Ended { lingers, exit } => {
                *lingers = false;
                Ending::of(Some(exit)).is_failure()
            }
            Phase::Resting { .. } => true,
            _ => false,
        };
        if failed {
            self.told.extend(self.addresses.lost(task).map(|port| What::Note {
                text: format!(
                    "another program listens on port {port}, which is that of {task}: it cannot serve there"
                ),
            }));
        }
        if stopping {
            self.remove(task);
        }
    }

    /// When something is to be done here by itself.
    pub fn due(&self) -> Option<Instant> {
        let resting = self
            .instances
            .values()
            .filter_map(|instance| match instance.phase {
                Phase::Resting { until } if instance.running.is_none() => Some(until),
                _ => None,
            });
        let untold = self.instances.values();
        let untold = untold.filter_map(|instance| Some(instance.untold_restart.as_ref()?.0));
        resting.chain(untold).min()
    }

    /// Tells of restarts that will come: the job has had the time to end instead.
    pub fn tell_of_restarts(&mut self) {
        let now = Instant::now();
        for instance in self.instances.values_mut() {
            let rests = matches!(instance.phase, Phase::Resting { .. }) && instance.stopping.is_none();
            let over = matches!(instance.phase, Phase::Resting { until } if until <= now);
            if !rests {
                instance.untold_restart = None;
            } else if let Some((_, restart)) = instance
                .untold_restart
                .take_if(|(settled, _)| *settled <= now || over)
            {
                self.told.push(restart);
            }
        }
    }

    /// Starts what has rested long enough.
    pub fn start_rested(&mut self, resumed: bool) {
        let now = Instant::now();
        let rested = self.instances.values().filter(|instance| {
            let over = matches!(instance.phase, Phase::Resting { until } if until <= now);
            over && instance.running.is_none() && instance.stopping.is_none()
        });
        let rested: Vec<TaskId> = rested.map(|instance| instance.task.clone()).collect();
        for task in rested {
            self.start(&task, resumed);
        }
    }
}

/// Whether an evaluator failed by itself while it was being stopped, as one does that reads what its chief takes away: its last
/// evaluation is missing. Other tasks say little when their peers go, and a program that a signal ended was stopped as asked.
fn died_while_stopping(kind: RoleKind, exit: &Exit) -> bool {
    let by_signal = matches!(exit.code, None | Some(0 | 130 | 137 | 143));
    kind == RoleKind::Evaluator && exit.asked && !by_signal
}
