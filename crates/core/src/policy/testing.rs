//! A bench for the tables of the policies: a small job, instances in any state, one call of `step`.

use std::collections::BTreeMap;

use crate::{
    Addresses, Clean, ClusterForm, Count, Exit, Fixture, FixtureSeen, Gang, GangScheduler, How, InPlace, Job,
    Limits, Memory, Observed, Outcome, Placement, Role, RoleKind, RoleName, Rule, Seen, Settled, Stamp, Step,
    TaskId, TaskSeen, Template, Test, Then, Time, When, Who, Why, step,
};

/// A fixture that is there and as it should be.
pub const OURS: FixtureSeen = FixtureSeen::Ours { right: true };

pub struct Bench {
    pub job: Job,
}

pub fn worker(index: u32) -> TaskId {
    TaskId::new("worker", index)
}

pub fn ps(index: u32) -> TaskId {
    TaskId::new("ps", index)
}

fn seen(id: TaskId, stamp: Stamp, state: Seen) -> TaskSeen {
    let instance = format!("{id}/{}.{}", stamp.epoch, stamp.attempt).into();
    TaskSeen {
        id,
        stamp,
        instance,
        state,
        created: Time(1),
        in_place: 0,
        last: None,
        stopping: None,
        lingers: false,
        placement: Placement::default(),
    }
}

pub fn waiting(id: TaskId, stamp: Stamp) -> TaskSeen {
    seen(id, stamp, Seen::Waiting)
}

pub fn running(id: TaskId, stamp: Stamp) -> TaskSeen {
    seen(id, stamp, Seen::Running { ready: true })
}

pub fn ended(id: TaskId, stamp: Stamp, code: i32, at: u64) -> TaskSeen {
    let exit = Exit {
        code: Some(code),
        why: Why::Itself,
        asked: false,
        at: Time(at),
        ran: 3,
        ..Exit::default()
    };
    seen(id, stamp, Seen::Ended(exit))
}

pub fn rule(when: When, then: Then) -> Rule {
    Rule {
        when,
        held: 0,
        then,
        from: "test".into(),
    }
}

pub fn on_end(who: Who, how: How, then: Then) -> Rule {
    rule(When::Ended { who, how: vec![how] }, then)
}

pub fn count(who: Who, what: Settled, test: Test, then: Then) -> Rule {
    rule(When::Count(vec![Count { who, what, test }]), then)
}

pub fn role(name: &str, kind: RoleKind, replicas: u32) -> Role {
    Role {
        name: RoleName::new(name),
        kind,
        tf_type: name.into(),
        replicas,
        template: Template("{}".into()),
        resume_template: None,
        in_place: InPlace::Never,
        port: 2222,
        ask: BTreeMap::new(),
        after: None,
    }
}

/// A group of Volcano's that the operator makes.
pub fn gang() -> Gang {
    Gang {
        scheduler: GangScheduler::Volcano,
        existing: None,
        members: 2,
        per_role: BTreeMap::new(),
        queue: None,
        priority: None,
        resources: BTreeMap::new(),
        timeout: None,
        hold: false,
    }
}

/// Instances, with every shared object in place.
pub fn observed(tasks: &[TaskSeen]) -> Observed {
    Observed {
        tasks: tasks.to_vec(),
        fixtures: vec![(Fixture::Addresses, OURS)],
        ..Observed::default()
    }
}

impl Bench {
    /// Workers that succeed with worker 0; whatever fails is kept.
    pub fn workers(replicas: u32) -> Self {
        Self::of(vec![role("worker", RoleKind::Worker, replicas)])
    }

    pub fn ps_and_workers(ps: u32, workers: u32) -> Self {
        Self::of(vec![
            role("ps", RoleKind::Ps, ps),
            role("worker", RoleKind::Worker, workers),
        ])
    }

    fn of(roles: Vec<Role>) -> Self {
        let worker = RoleName::new("worker");
        let rules = vec![
            count(
                Who::task(&worker, 0),
                Settled::Succeeded,
                Test::AtLeast(1),
                Then::Finish(Outcome::Succeeded),
            ),
            on_end(Who::any(), How::Succeeded, Then::Keep),
        ];
        let job = Job {
            name: "bench".into(),
            namespace: "default".into(),
            uid: "uid".into(),
            roles,
            rules,
            limits: Limits::default(),
            clean: Clean::Unfinished,
            suspend: false,
            gang: None,
            addresses: Addresses::PerJob,
            cluster: ClusterForm::None,
        };
        Self { job }
    }

    /// Every worker must succeed.
    pub fn all_workers(mut self) -> Self {
        let all = count(
            Who::any(),
            Settled::Succeeded,
            Test::All,
            Then::Finish(Outcome::Succeeded),
        );
        self.job.rules[0] = all;
        self
    }

    /// Adds a rule for ends of any task.
    pub fn failing_then(mut self, how: How, then: Then) -> Self {
        self.job.rules.push(on_end(Who::any(), how, then));
        self
    }

    pub fn memory(&self) -> Memory {
        Memory::new(&self.job)
    }

    pub fn look(&self, memory: Option<&Memory>, observed: &Observed, now: u64) -> Step {
        step(&self.job, memory, observed, Time(now))
    }

    pub fn step_with(&self, memory: Option<&Memory>, tasks: &[TaskSeen], now: u64) -> Step {
        self.look(memory, &observed(tasks), now)
    }

    pub fn step(&self, tasks: &[TaskSeen], now: u64) -> Step {
        self.step_with(None, tasks, now)
    }
}
