//! What programs do: they start, end, are started again in place, and obey when they are told to stop. This part of
//! the world is the kubelet.

use super::instance::{Instance, Node, State, Told};
use super::script::{Fault, ProgramEnd};
use super::trace::{Happened, StopReason};
use super::world::{Pending, World};
use crate::job::{InPlace, TaskId};
use crate::observed::{Exit, Why};

impl World {
    pub fn start_program(&mut self, at: usize) {
        let now = self.now;
        let task = self.instances[at].task.clone();
        let life = self.lives.entry(task.clone()).or_default();
        let number = *life;
        *life += 1;
        let end = self.end_of_life(&task, number);
        if let Some((_, end @ (ProgramEnd::NotStarted | ProgramEnd::Init(_) | ProgramEnd::Rejected))) = end {
            self.end_program(at, end);
            return;
        }
        let ready = now + self.options.ready;
        let instance = &mut self.instances[at];
        instance.state = State::Running {
            since: now,
            ready,
            ends: end.map(|(after, end)| (now + after, end)),
        };
        instance.show(now);
        let (stamp, in_place) = (instance.stamp, instance.in_place);
        self.note(Happened::Started {
            task,
            stamp,
            in_place,
        });
    }

    /// How and when a program ends by itself: as a fault says, or as programs do.
    fn end_of_life(&mut self, of: &TaskId, number: u32) -> Option<(u32, ProgramEnd)> {
        for pending in &mut self.faults {
            if let Fault::Ends {
                task,
                life,
                after,
                end,
            } = &pending.fault
                && task == of
                && *life == number
            {
                pending.used = true;
                return Some((*after, *end));
            }
        }
        let kind = self.job.role(&of.role).map(|(_, role)| role.kind);
        let endless = kind.is_some_and(|kind| self.options.endless.contains(&kind));
        (!endless).then_some((self.options.run, ProgramEnd::Code(0)))
    }

    /// The program of an instance ends now.
    pub fn end_program(&mut self, at: usize, end: ProgramEnd) {
        let now = self.now;
        let instance = &self.instances[at];
        if !instance.ours {
            self.give_name_back(at);
            return;
        }
        let exit = instance.exit(end, now);
        let (task, stamp) = (instance.task.clone(), instance.stamp);
        self.note(Happened::Ended {
            task: task.clone(),
            stamp,
            exit: exit.clone(),
        });
        let policy = self
            .job
            .role(&task.role)
            .map_or(InPlace::Never, |(_, role)| role.in_place);
        if self.instances[at].told.is_some() {
            self.instances[at].state = State::Ended(exit.clone());
            self.instances[at].show(now);
            self.remove(at, Some(exit));
        } else if Instance::comes_back(policy, &exit) {
            self.rest(at, exit);
        } else {
            let lingers = self.lingers(&task);
            let instance = &mut self.instances[at];
            instance.state = if lingers {
                State::Lingering { exit, until: None }
            } else {
                State::Ended(exit)
            };
            instance.show(now);
        }
    }

    fn give_name_back(&mut self, at: usize) {
        let instance = &mut self.instances[at];
        instance.state = State::Gone(None);
        let task = instance.task.clone();
        self.note(Happened::NameTaken { task, taken: false });
    }

    /// The world starts the program again in place, later and later.
    fn rest(&mut self, at: usize, exit: Exit) {
        let now = self.now;
        // As a kubelet does: at once, then later and later.
        let doublings = self.instances[at].in_place.checked_sub(1);
        let wait = doublings.map_or(0, |times| {
            self.options.in_place_first.saturating_mul(1 << times.min(31))
        });
        // At least a second, or a program that ends at once would be started for ever in one.
        let wait = wait.clamp(1, self.options.in_place_most.max(1));
        let instance = &mut self.instances[at];
        instance.in_place = instance.in_place.saturating_add(1);
        instance.last = Some(exit);
        instance.state = State::Resting { until: now + wait };
        instance.show(now);
        let (task, times) = (instance.task.clone(), instance.in_place);
        self.note(Happened::RestartsInPlace { task, times, wait });
    }

    fn lingers(&mut self, of: &TaskId) -> bool {
        let named = |pending: &&mut Pending| matches!(&pending.fault, Fault::Lingers { task } if task == of);
        let found = self.faults.iter_mut().find(named);
        found.map(|pending| pending.used = true).is_some()
    }

    /// The instance is deleted.
    pub fn remove(&mut self, at: usize, exit: Option<Exit>) {
        let now = self.now;
        let instance = &mut self.instances[at];
        instance.state = State::Gone(exit);
        instance.node = Node::Answers;
        instance.show(now);
        let (task, stamp) = (instance.task.clone(), instance.stamp);
        self.note(Happened::Gone { task, stamp });
    }

    /// An instance is told to stop, by the operator or others.
    pub fn tell(&mut self, at: usize, code: i32, why: StopReason) {
        let now = self.now;
        let instance = &mut self.instances[at];
        if instance.told.is_none() {
            let over = now + self.options.grace;
            instance.told = Some(Told { over, code, why });
            instance.show(now);
            let (task, stamp) = (instance.task.clone(), instance.stamp);
            self.note(Happened::Stopped { task, stamp, why });
            self.end_if_told(at);
        }
    }

    /// What was told to stop does, if its node answers.
    pub fn end_if_told(&mut self, at: usize) {
        let now = self.now;
        if self.instances[at].node != Node::Answers {
            return;
        }
        let Some(told) = self.instances[at].told else {
            return;
        };
        let task = self.instances[at].task.clone();
        let (wait, code) = self.obeys_after(&task, told.code);
        match &mut self.instances[at].state {
            State::Running { ends, .. } => {
                let due = now + wait;
                if ends.as_ref().is_none_or(|(own, _)| *own > due) {
                    *ends = Some((due, ProgramEnd::Code(code)));
                }
            }
            State::Lingering { until, .. } => *until = Some(now + wait),
            State::Waiting { .. } => {
                // Nothing of it has run, and that is known.
                let exit = Exit {
                    why: Why::Disrupted,
                    asked: true,
                    at: now,
                    never_ran: true,
                    ..Exit::default()
                };
                self.remove(at, Some(exit));
            }
            State::Resting { .. } => self.remove(at, None),
            State::Ended(exit) => {
                let exit = exit.clone();
                self.remove(at, Some(exit));
            }
            State::Gone(_) => {}
        }
    }

    /// How long a program takes to end once it is told to, and with which code it does.
    fn obeys_after(&mut self, of: &TaskId, code: i32) -> (u32, i32) {
        let (term, grace) = (self.options.term, self.options.grace);
        for pending in &mut self.faults {
            if let Fault::IgnoresTerm { task, seconds } = &pending.fault
                && task == of
            {
                pending.used = true;
                return if *seconds >= grace {
                    (grace, 137)
                } else {
                    (*seconds, code)
                };
            }
        }
        (term.min(grace), code)
    }
}
