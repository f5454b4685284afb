//! Random small jobs, with rule lists as the three dialects compile them.

use std::collections::BTreeMap;

use crate::sim::{Fault, ProgramEnd, Random};
use crate::{
    Addresses, After, Clean, ClusterForm, Count, Down, Gang, GangScheduler, How, InPlace, Job, Limits,
    Outcome, Role, RoleKind, RoleName, Rule, Scope, Settled, Template, Test, Then, Wait, When, Who,
};

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

pub fn job(roles: Vec<Role>, rules: Vec<Rule>) -> Job {
    let names = roles.iter().map(|role| role.name.clone()).collect();
    Job {
        name: "sim".into(),
        namespace: "default".into(),
        uid: "uid".into(),
        roles,
        rules,
        limits: Limits::default(),
        clean: Clean::Unfinished,
        suspend: false,
        gang: None,
        addresses: Addresses::PerJob,
        cluster: ClusterForm::Full {
            roles: names,
            environment: true,
        },
    }
}

pub fn ended(who: Who, how: &[How], then: Then) -> Rule {
    Rule {
        when: When::Ended {
            who,
            how: how.to_vec(),
        },
        held: 0,
        then,
        from: "edge".into(),
    }
}

fn counts(counts: Vec<Count>, then: Then) -> Rule {
    Rule {
        when: When::Count(counts),
        held: 0,
        then,
        from: "count".into(),
    }
}

fn counted(who: Who, what: Settled, test: Test) -> Count {
    Count { who, what, test }
}

pub fn succeeded(who: Who, test: Test, then: Then) -> Rule {
    counts(vec![counted(who, Settled::Succeeded, test)], then)
}

pub fn all_ended(then: Then) -> Rule {
    counts(vec![counted(Who::any(), Settled::Ended, Test::All)], then)
}

pub fn again(scope: Scope, paid: bool) -> Then {
    Then::Restart { scope, paid }
}

pub const COMPLETE: Then = Then::Finish(Outcome::Succeeded);
pub const FAIL: Then = Then::Finish(Outcome::Failed);
pub const GONE: [How; 2] = [How::Disrupted, How::Vanished];

/// A job of any dialect.
pub fn random(random: &mut Random) -> Job {
    let mut job = match random.between(0, 2) {
        0 => tfjob(random),
        1 => t9k(random),
        _ => volcano(random),
    };
    let limits = &mut job.limits;
    limits.wait = Wait {
        first: random.between(1, 8),
        most: random.between(4, 40),
        healthy: random.between(10, 60),
    };
    limits.settle = *random.pick(&[0, 1, 1, 5]);
    limits.deadline = random.chance(20).then(|| random.between(5, 120));
    limits.ttl = random.chance(10).then(|| random.between(0, 60));
    limits.lost_node = random.chance(40).then(|| random.between(1, 60));
    job.clean = *random.pick(&[Clean::None, Clean::Unfinished, Clean::All]);
    job.suspend = random.chance(5);
    if random.chance(20) {
        job.rules.insert(1, start_timeout(random));
    }
    job
}

fn start_timeout(random: &mut Random) -> Rule {
    let then = [FAIL, again(Scope::Task, true), again(Scope::Job, true)];
    Rule {
        when: When::Down {
            who: Who::any(),
            why: vec![Down::FirstStart, Down::Again],
        },
        held: random.between(5, 30),
        then: random.pick(&then).clone(),
        from: "start".into(),
    }
}

/// A job in which it does not matter what is seen first: either every task restarts alone and all must succeed, or
/// one task decides alone and takes all others with it.
pub fn steady(random: &mut Random) -> Job {
    let whole = random.chance(40);
    let (roles, scope) = if whole {
        let helpers = role("ps", RoleKind::Ps, random.between(0, 3));
        (vec![role("chief", RoleKind::Chief, 1), helpers], Scope::Job)
    } else {
        let workers = role("worker", RoleKind::Worker, random.between(1, 4));
        (vec![workers], Scope::Task)
    };
    let decides = Who::role(&roles[0].name);
    let rules = vec![
        succeeded(decides, Test::All, COMPLETE),
        ended(Who::any(), &GONE, again(scope.clone(), false)),
        ended(Who::any(), &[How::Failed], again(scope, true)),
        ended(Who::any(), &[How::Failed], FAIL),
        ended(Who::any(), &[How::Succeeded], Then::Keep),
        all_ended(FAIL),
    ];
    let mut job = job(roles, rules);
    job.limits.restarts = random.chance(80).then(|| random.between(0, 5));
    job.limits.settle = *random.pick(&[0, 1, 5]);
    job.limits.wait.first = random.between(1, 10);
    job.limits.wait.most = random.between(10, 60);
    job
}

/// How the first lives of those tasks end that decide such a job.
pub fn ends(job: &Job, random: &mut Random) -> Vec<Fault> {
    let mut faults = Vec::new();
    for task in job.roles[0].tasks() {
        for life in 0..random.between(0, 4) {
            let ends = [
                ProgramEnd::Code(1),
                ProgramEnd::Code(137),
                ProgramEnd::OutOfMemory,
                ProgramEnd::NotStarted,
                ProgramEnd::Evicted,
            ];
            faults.push(Fault::Ends {
                task: task.clone(),
                life,
                after: random.between(0, 60),
                end: *random.pick(&ends),
            });
        }
    }
    faults
}

/// Chief or not, parameter servers, workers, an evaluator; every restart policy and scope.
fn tfjob(random: &mut Random) -> Job {
    let mut roles = Vec::new();
    let chief = random.chance(40);
    if chief {
        roles.push(role("chief", RoleKind::Chief, 1));
    }
    if random.chance(50) {
        roles.push(role("ps", RoleKind::Ps, random.between(1, 2)));
    }
    roles.push(role("worker", RoleKind::Worker, random.between(1, 3)));
    if roles.len() < 3 && random.chance(20) {
        roles.push(role("evaluator", RoleKind::Evaluator, 1));
    }
    let scope = scope(&roles, random);
    let whole = scope == Scope::Job;
    let worker = RoleName::new("worker");
    let success = match (chief, random.chance(50)) {
        (true, _) => succeeded(Who::role(&RoleName::new("chief")), Test::All, COMPLETE),
        (false, true) => succeeded(Who::role(&worker), Test::All, COMPLETE),
        (false, false) => succeeded(Who::task(&worker, 0), Test::AtLeast(1), COMPLETE),
    };
    let mut rules = vec![success, ended(Who::any(), &GONE, again(scope.clone(), false))];
    let policy = random.between(0, 3);
    match policy {
        0 => {}
        1 | 2 => {
            let in_place = [InPlace::OnFailure, InPlace::Always][policy as usize - 1];
            if scope == Scope::Task {
                for role in &mut roles {
                    role.in_place = in_place;
                }
            }
            rules.push(ended(Who::any(), &[How::Failed], again(scope, true)));
        }
        _ => {
            rules.push(ended(Who::any(), &[How::NotStarted], FAIL));
            let codes = [How::Codes(42, 42), How::Codes(128, 255)];
            let codes = if whole { &[How::Failed][..] } else { &codes[..] };
            rules.push(ended(Who::any(), codes, again(scope, true)));
        }
    }
    rules.push(ended(Who::any(), &[How::Failed], FAIL));
    rules.push(ended(Who::any(), &[How::Succeeded], Then::Keep));
    rules.push(all_ended(FAIL));
    if random.chance(20) {
        order_of_start(&mut roles);
    }
    let mut job = job(roles, rules);
    job.limits.restarts = random.chance(70).then(|| random.between(0, 4));
    job.limits.count_in_place = true;
    job
}

fn scope(roles: &[Role], random: &mut Random) -> Scope {
    match random.between(0, 3) {
        0 => Scope::Job,
        1 => {
            let mut names: Vec<RoleName> = roles.iter().map(|role| role.name.clone()).collect();
            if names.len() > 1 && random.chance(50) {
                names.remove(0);
            }
            Scope::Roles(names)
        }
        _ => Scope::Task,
    }
}

/// Parameter servers first.
fn order_of_start(roles: &mut [Role]) {
    let ps = roles.iter().find(|role| role.kind == RoleKind::Ps);
    let Some(first) = ps.map(|role| (role.name.clone(), role.replicas)) else {
        return;
    };
    for role in roles.iter_mut().filter(|role| role.kind != RoleKind::Ps) {
        role.after = Some(After {
            roles: vec![first.clone()],
            any: false,
        });
    }
}

/// A primary, a shared budget, and failures that are kept once it is used up.
fn t9k(random: &mut Random) -> Job {
    let mut roles = vec![role("worker", RoleKind::Worker, random.between(1, 4))];
    if random.chance(30) {
        roles.push(role("ps", RoleKind::Ps, 1));
    }
    let worker = RoleName::new("worker");
    let primary = Who::task(&worker, 0);
    let mut rules = vec![
        succeeded(primary.clone(), Test::AtLeast(1), COMPLETE),
        ended(Who::any(), &GONE, again(Scope::Task, false)),
    ];
    let policy = random.between(0, 2);
    match policy {
        0 => {}
        1 => rules.push(ended(
            Who::role(&worker),
            &[How::Failed],
            again(Scope::Task, true),
        )),
        _ => {
            rules.push(ended(primary.clone(), &[How::Succeeded], Then::Keep));
            rules.push(ended(
                Who::role(&worker),
                &[How::Succeeded, How::Failed],
                again(Scope::Task, true),
            ));
        }
    }
    rules.push(ended(primary, &[How::Failed], FAIL));
    rules.push(ended(Who::role(&worker), &[How::Failed], Then::Keep));
    rules.push(ended(Who::any(), &[How::Succeeded], Then::Keep));
    rules.push(all_ended(FAIL));
    let mut job = job(roles, rules);
    // What is restarted although it succeeded would never come to rest without a limit.
    let limited = policy == 2 || random.chance(80);
    job.limits.restarts = limited.then(|| random.between(0, 4));
    job
}

/// Policies by event, a gang, minimum numbers.
fn volcano(random: &mut Random) -> Job {
    let workers = random.between(1, 3);
    let mut roles = vec![
        role("ps", RoleKind::Ps, 1),
        role("worker", RoleKind::Worker, workers),
    ];
    let [ps, worker] = [RoleName::new("ps"), RoleName::new("worker")];
    let mut rules = Vec::new();
    if random.chance(60) {
        rules.push(succeeded(Who::role(&worker), Test::All, COMPLETE));
    }
    for _ in 0..random.between(0, 3) {
        policy(&worker, random, &mut rules);
    }
    let all = || counted(Who::any(), Settled::Ended, Test::All);
    let below = |name: &RoleName, least| counted(Who::role(name), Settled::Succeeded, Test::Below(least));
    let enough = counted(
        Who::any(),
        Settled::Succeeded,
        Test::AtLeast(random.between(1, workers + 1)),
    );
    rules.extend([
        ended(Who::any(), &[How::Failed], Then::Keep),
        ended(Who::any(), &[How::Succeeded], Then::Keep),
        ended(Who::any(), &GONE, again(Scope::Task, false)),
        counts(vec![all(), below(&ps, random.between(0, 1))], FAIL),
        counts(vec![all(), below(&worker, random.between(1, workers))], FAIL),
        counts(vec![all(), enough], COMPLETE),
        all_ended(FAIL),
    ]);
    if random.chance(40) {
        roles[1].in_place = InPlace::OnFailure;
    }
    let mut job = job(roles, rules);
    job.limits.restarts = Some(random.between(0, 3));
    if random.chance(60) {
        job.gang = Some(gang(workers + 1, random.chance(70)));
    }
    job
}

fn policy(worker: &RoleName, random: &mut Random, rules: &mut Vec<Rule>) {
    let then = [
        again(Scope::Job, true),
        again(Scope::Job, true),
        again(Scope::Roles(vec![worker.clone()]), true),
        again(Scope::Task, true),
        Then::Abort,
        FAIL,
        Then::Finish(Outcome::Terminated),
    ];
    let then = random.pick(&then).clone();
    let rule = match random.between(0, 6) {
        0 | 1 => ended(Who::any(), &GONE, then),
        2 => ended(Who::any(), &[How::Failed, How::Disrupted], then),
        3 => ended(Who::role(worker), &[How::Codes(137, 143)], then),
        4 => Rule {
            when: When::InPlace {
                who: Who::role(worker),
                at_least: random.between(1, 3),
            },
            held: 0,
            then,
            from: "task failed".into(),
        },
        5 => Rule {
            when: When::Down {
                who: Who::any(),
                why: vec![*random.pick(&[Down::Again, Down::Failed])],
            },
            held: random.between(1, 30),
            then,
            from: "timeout".into(),
        },
        _ => Rule {
            when: When::GangBroken,
            held: 0,
            then: again(Scope::Job, true),
            from: "unknown".into(),
        },
    };
    // Volcano ends a job that has used up its retries.
    let paid = matches!(rule.then, Then::Restart { paid: true, .. });
    let last = Rule {
        then: FAIL,
        ..rule.clone()
    };
    rules.push(rule);
    if paid {
        rules.push(last);
    }
}

fn gang(members: u32, hold: bool) -> Gang {
    Gang {
        scheduler: GangScheduler::Volcano,
        existing: None,
        members,
        per_role: BTreeMap::new(),
        queue: None,
        priority: None,
        resources: BTreeMap::new(),
        timeout: None,
        hold,
    }
}
