//! The jobs of the model, as the dialects compile them (the rule lists of docs/architecture.md), small.

use std::collections::BTreeMap;

use trainyard_core::{
    Addresses, Clean, ClusterForm, Count, Gang, GangScheduler, How, InPlace, Job, Limits, Outcome, Role,
    RoleKind, RoleName, Rule, Scope, Settled, Template, Test, Then, Wait, When, Who,
};

use super::machine::{Charge, Machine};

const ANYHOW: &[u8] = &[0, 137];
const SERVES: &[u8] = &[137];

/// A TFJob of a chief, a parameter server and a worker; each is started again by itself, once.
pub fn chief_worker_ps() -> Machine {
    chief_and(
        [("ps", RoleKind::Ps, SERVES), ("worker", RoleKind::Worker, ANYHOW)],
        Clean::Unfinished,
    )
}

/// The same without a parameter server, and at its end everything stays as it is.
pub fn chief_worker() -> Machine {
    chief_and([("worker", RoleKind::Worker, ANYHOW)], Clean::None)
}

fn chief_and<const N: usize>(others: [(&str, RoleKind, &'static [u8]); N], clean: Clean) -> Machine {
    let mut roles = vec![role("chief", RoleKind::Chief, 1)];
    let mut exits = vec![ANYHOW];
    for (name, kind, may_exit) in others {
        roles.push(role(name, kind, 1));
        exits.push(may_exit);
    }
    let chief = Who::role(&RoleName::new("chief"));
    let rules = vec![
        when_all(chief, Settled::Succeeded, Outcome::Succeeded),
        on_end(&[How::Disrupted, How::Vanished], again(Scope::Task, false)),
        on_end(&[How::NotStarted], Then::Finish(Outcome::Failed)),
        on_end(&[How::Codes(128, 255)], again(Scope::Task, true)),
        on_end(&[How::Failed], Then::Finish(Outcome::Failed)),
        on_end(&[How::Succeeded], Then::Keep),
        when_all(Who::any(), Settled::Ended, Outcome::Failed),
    ];
    Machine::of(job(roles, rules, clean), Charge::FailedLives, exits, vec![0])
}

/// A TFJob of two workers that start again together, once; both must succeed.
pub fn two_workers() -> Machine {
    let rules = vec![
        when_all(Who::any(), Settled::Succeeded, Outcome::Succeeded),
        on_end(&[How::Disrupted, How::Vanished], again(Scope::Job, false)),
        on_end(&[How::NotStarted], Then::Finish(Outcome::Failed)),
        on_end(&[How::Failed], again(Scope::Job, true)),
        on_end(&[How::Failed], Then::Finish(Outcome::Failed)),
        on_end(&[How::Succeeded], Then::Keep),
        when_all(Who::any(), Settled::Ended, Outcome::Failed),
    ];
    Machine::of(
        job(vec![role("worker", RoleKind::Worker, 2)], rules, Clean::All),
        Charge::FailedEpochs,
        vec![ANYHOW, ANYHOW],
        vec![0, 1],
    )
}

/// A Volcano job: a pod that is evicted or lost restarts everything, once; what fails by itself stays.
pub fn volcano(workers: u32) -> Machine {
    let roles = vec![
        role("ps", RoleKind::Ps, 1),
        role("worker", RoleKind::Worker, workers),
    ];
    let worker = || Who::role(&RoleName::new("worker"));
    let ps = || Who::role(&RoleName::new("ps"));
    let all_ended = |who: Who, fewer_than: u32| {
        let counts = vec![
            count(Who::any(), Settled::Ended, Test::All),
            count(who, Settled::Succeeded, Test::Below(fewer_than)),
        ];
        rule(When::Count(counts), Then::Finish(Outcome::Failed))
    };
    let rules = vec![
        when_all(worker(), Settled::Succeeded, Outcome::Succeeded),
        on_end(&[How::Disrupted, How::Vanished], again(Scope::Job, true)),
        on_end(&[How::Disrupted, How::Vanished], Then::Finish(Outcome::Failed)),
        on_end(&[How::Failed], Then::Keep),
        on_end(&[How::Succeeded], Then::Keep),
        all_ended(ps(), 1),
        all_ended(worker(), workers),
        when_all(Who::any(), Settled::Ended, Outcome::Failed),
    ];
    let exits = [&[SERVES][..], &vec![ANYHOW; workers as usize]].concat();
    let deciders = (1..=workers as usize).collect();
    Machine::of(
        job(roles, rules, Clean::Unfinished),
        Charge::DisruptedEpochs,
        exits,
        deciders,
    )
}

/// Places the tasks of a job as a group that the operator makes.
pub fn in_a_gang(mut model: Machine) -> Machine {
    for job in &mut model.jobs {
        job.gang = Some(Gang {
            scheduler: GangScheduler::Volcano,
            existing: None,
            members: 2,
            per_role: BTreeMap::new(),
            queue: None,
            priority: None,
            resources: BTreeMap::new(),
            timeout: None,
            hold: false,
        });
    }
    model
}

/// Lets a failure settle for a second and makes a restart wait for one.
pub fn with_waits(mut model: Machine, ticks: u8) -> Machine {
    model.ticks = ticks;
    for job in &mut model.jobs {
        job.limits.settle = 1;
        job.limits.wait = Wait {
            first: 1,
            most: 1,
            healthy: 600,
        };
    }
    model
}

fn job(roles: Vec<Role>, rules: Vec<Rule>, clean: Clean) -> Job {
    Job {
        name: "model".into(),
        namespace: "default".into(),
        uid: "uid".into(),
        roles,
        rules,
        limits: Limits {
            restarts: Some(1),
            settle: 0,
            wait: Wait {
                first: 0,
                most: 0,
                healthy: 600,
            },
            ..Limits::default()
        },
        clean,
        suspend: false,
        gang: None,
        addresses: Addresses::PerJob,
        cluster: ClusterForm::None,
    }
}

fn role(name: &str, kind: RoleKind, replicas: u32) -> Role {
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

fn rule(when: When, then: Then) -> Rule {
    Rule {
        when,
        held: 0,
        then,
        from: "model".into(),
    }
}

fn on_end(how: &[How], then: Then) -> Rule {
    let when = When::Ended {
        who: Who::any(),
        how: how.to_vec(),
    };
    rule(when, then)
}

fn again(scope: Scope, paid: bool) -> Then {
    Then::Restart { scope, paid }
}

fn count(who: Who, what: Settled, test: Test) -> Count {
    Count { who, what, test }
}

fn when_all(who: Who, what: Settled, outcome: Outcome) -> Rule {
    rule(
        When::Count(vec![count(who, what, Test::All)]),
        Then::Finish(outcome),
    )
}
