//! Arbitrary inputs of `step`, the nonsensical ones too: small, so that coincidences are frequent.

use std::sync::Arc;

use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use trainyard_core::{
    Addresses, After, Cause, Clean, ClusterForm, Count, Down, Exit, FORMAT, Failure, Fixture, Gang,
    GangScheduler, GangSeen, Hold, How, InPlace, Job, Limits, Memory, Observed, Order, Ordered, Outcome,
    Ranges, Role, RoleKind, RoleMemory, RoleName, Rule, Runs, Scope, Seen, Settled, Stamp, TaskId, TaskSeen,
    Template, Test, Then, Time, Verdict, Wait, When, Who, Why,
};

/// Everything that `step` is given.
#[derive(Clone, Debug)]
pub struct Input {
    pub job: Job,
    pub memory: Option<Memory>,
    pub observed: Observed,
    pub now: Time,
}

/// The last one is a role that no job has.
const ROLES: [&str; 4] = ["chief", "ps", "worker", "nobody"];
const MOST_REPLICAS: u32 = 4;
const MOST_TIME: u64 = 60;

pub fn input() -> impl Strategy<Value = Input> {
    let parts = (job(), of(memory()), observed(), time());
    parts.prop_map(|(job, memory, observed, now)| Input {
        job,
        memory,
        observed,
        now,
    })
}

fn time() -> impl Strategy<Value = Time> {
    (0..=MOST_TIME).prop_map(Time)
}

fn role_name() -> impl Strategy<Value = RoleName> {
    (0..ROLES.len()).prop_map(|at| RoleName::new(ROLES[at]))
}

fn task() -> impl Strategy<Value = TaskId> {
    (role_name(), 0..=MOST_REPLICAS).prop_map(|(role, index)| TaskId { role, index })
}

fn stamp() -> impl Strategy<Value = Stamp> {
    (0..3u32, 0..3u32).prop_map(|(epoch, attempt)| Stamp { epoch, attempt })
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        Just(Outcome::Succeeded),
        Just(Outcome::Failed),
        Just(Outcome::Terminated)
    ]
}

fn clean() -> impl Strategy<Value = Clean> {
    prop_oneof![Just(Clean::None), Just(Clean::Unfinished), Just(Clean::All)]
}

fn job() -> impl Strategy<Value = Job> {
    let parts = (
        vec((0..=MOST_REPLICAS, in_place(), of(after())), 0..=3),
        vec(rule(), 0..=7),
        limits(),
        clean(),
        any::<bool>(),
        of(gang()),
    );
    parts.prop_map(|(roles, rules, limits, clean, suspend, gang)| Job {
        name: "any".into(),
        namespace: "default".into(),
        uid: "uid".into(),
        roles: roles
            .into_iter()
            .zip(ROLES)
            .map(|((replicas, in_place, after), name)| role(name, replicas, in_place, after))
            .collect(),
        rules,
        limits,
        clean,
        suspend,
        gang,
        addresses: Addresses::PerJob,
        cluster: ClusterForm::None,
    })
}

fn role(name: &str, replicas: u32, in_place: InPlace, after: Option<After>) -> Role {
    Role {
        name: RoleName::new(name),
        kind: RoleKind::Other,
        tf_type: name.into(),
        replicas,
        template: Template("{}".into()),
        resume_template: None,
        in_place,
        port: 1,
        ask: std::collections::BTreeMap::new(),
        after,
    }
}

fn in_place() -> impl Strategy<Value = InPlace> {
    prop_oneof![
        Just(InPlace::Never),
        Just(InPlace::OnFailure),
        Just(InPlace::Always)
    ]
}

fn after() -> impl Strategy<Value = After> {
    (vec((role_name(), 0..3u32), 0..3), any::<bool>()).prop_map(|(roles, any)| After { roles, any })
}

fn gang() -> impl Strategy<Value = Gang> {
    (any::<bool>(), any::<bool>()).prop_map(|(hold, existing)| Gang {
        scheduler: GangScheduler::Default,
        existing: existing.then(|| "theirs".into()),
        members: 1,
        per_role: std::collections::BTreeMap::new(),
        queue: None,
        priority: None,
        resources: std::collections::BTreeMap::new(),
        timeout: None,
        hold,
    })
}

fn limits() -> impl Strategy<Value = Limits> {
    let wait =
        (0..10u32, 0..20u32, 0..30u32).prop_map(|(first, most, healthy)| Wait { first, most, healthy });
    let parts = (
        of(0..4u32),
        any::<bool>(),
        of(0..40u32),
        of(0..40u32),
        0..6u32,
        wait,
        of(0..20u32),
    );
    parts.prop_map(
        |(restarts, count_in_place, deadline, ttl, settle, wait, lost_node)| Limits {
            restarts,
            count_in_place,
            deadline,
            ttl,
            settle,
            wait,
            lost_node,
        },
    )
}

fn who() -> impl Strategy<Value = Who> {
    (of(role_name()), of(0..=MOST_REPLICAS)).prop_map(|(role, index)| Who { role, index })
}

fn how() -> impl Strategy<Value = How> {
    prop_oneof![
        Just(How::Succeeded),
        Just(How::Failed),
        Just(How::Codes(128, 255)),
        Just(How::NotStarted),
        Just(How::Disrupted),
        Just(How::Vanished),
    ]
}

fn rule() -> impl Strategy<Value = Rule> {
    (when(), 0..4u32, then(), 0..3u32).prop_map(|(when, held, then, from)| Rule {
        when,
        held,
        then,
        from: format!("field {from}").into(),
    })
}

fn when() -> impl Strategy<Value = When> {
    let down = prop_oneof![Just(Down::FirstStart), Just(Down::Again), Just(Down::Failed)];
    prop_oneof![
        4 => (who(), vec(how(), 0..4)).prop_map(|(who, how)| When::Ended { who, how }),
        3 => vec(count(), 0..3).prop_map(When::Count),
        2 => (who(), vec(down, 0..3)).prop_map(|(who, why)| When::Down { who, why }),
        1 => (who(), 0..4u32).prop_map(|(who, at_least)| When::InPlace { who, at_least }),
        1 => Just(When::GangBroken),
    ]
}

fn count() -> impl Strategy<Value = Count> {
    let what = prop_oneof![Just(Settled::Succeeded), Just(Settled::Ended)];
    let test = prop_oneof![
        Just(Test::All),
        (0..4u32).prop_map(Test::AtLeast),
        (0..4u32).prop_map(Test::Below),
    ];
    (who(), what, test).prop_map(|(who, what, test)| Count { who, what, test })
}

fn then() -> impl Strategy<Value = Then> {
    let scope = prop_oneof![
        Just(Scope::Task),
        vec(role_name(), 0..3).prop_map(Scope::Roles),
        Just(Scope::Job),
    ];
    prop_oneof![
        2 => Just(Then::Keep),
        4 => (scope, any::<bool>()).prop_map(|(scope, paid)| Then::Restart { scope, paid }),
        1 => Just(Then::Abort),
        2 => outcome().prop_map(Then::Finish),
    ]
}

fn exit() -> impl Strategy<Value = Exit> {
    let code = of(prop_oneof![Just(0), Just(1), Just(137), Just(143)]);
    let why = prop_oneof![
        4 => Just(Why::Itself),
        1 => Just(Why::OutOfMemory),
        1 => Just(Why::NotStarted),
        1 => Just(Why::Disrupted),
    ];
    let parts = (code, why, any::<bool>(), time(), 0..90u32);
    parts.prop_map(|(code, why, asked, at, ran)| Exit {
        code,
        why,
        asked,
        at,
        ran,
    })
}

fn seen() -> impl Strategy<Value = TaskSeen> {
    let state = prop_oneof![
        Just(Seen::Waiting),
        any::<bool>().prop_map(|ready| Seen::Running { ready }),
        exit().prop_map(Seen::Ended),
        of(exit()).prop_map(Seen::Gone),
    ];
    let parts = (
        task(),
        stamp(),
        0..6u32,
        state,
        time(),
        0..3u32,
        of(exit()),
        of(time()),
        any::<bool>(),
    );
    parts.prop_map(
        |(id, stamp, instance, state, created, in_place, last, stopping, lingers)| TaskSeen {
            id,
            stamp,
            instance: format!("i{instance}").into(),
            state,
            created,
            in_place,
            last,
            stopping,
            lingers,
        },
    )
}

fn observed() -> impl Strategy<Value = Observed> {
    let gang = prop_oneof![
        Just(GangSeen::NotNeeded),
        Just(GangSeen::Absent),
        Just(GangSeen::Held),
        Just(GangSeen::Open),
        (0..3u32).prop_map(|epoch| GangSeen::Broken { epoch }),
    ];
    let fixture = prop_oneof![Just(Fixture::Addresses), Just(Fixture::Gang)];
    let parts = (
        vec(seen(), 0..9),
        gang,
        vec(order(), 0..3),
        vec(fixture, 0..3),
        prop::bool::weighted(0.1),
    );
    parts.prop_map(|(tasks, gang, orders, ready, deleting)| Observed {
        tasks,
        gang,
        orders,
        ready,
        deleting,
    })
}

fn order_id() -> impl Strategy<Value = Arc<str>> {
    (0..3u32).prop_map(|id| format!("order {id}").into())
}

fn order() -> impl Strategy<Value = Order> {
    let what = prop_oneof![
        any::<bool>().prop_map(|paid| Ordered::RestartJob { paid }),
        outcome().prop_map(Ordered::Finish),
        Just(Ordered::Abort),
        any::<bool>().prop_map(|paid| Ordered::Resume { paid }),
    ];
    (order_id(), what).prop_map(|(id, what)| Order { id, what })
}

fn role_memory() -> impl Strategy<Value = RoleMemory> {
    let indexes =
        || vec(0..=MOST_REPLICAS + 1, 0..4).prop_map(|indexes| indexes.into_iter().collect::<Ranges>());
    let attempts = vec((0..=MOST_REPLICAS + 1, 0..3u32), 0..4);
    let parts = (attempts, indexes(), indexes(), 0..=MOST_REPLICAS + 1, 0..5u32);
    parts.prop_map(|(attempts, done, failed, born, restarts)| {
        let mut runs = Runs::default();
        for (index, attempt) in attempts {
            runs.set(index, attempt);
        }
        RoleMemory {
            attempts: runs,
            done,
            failed,
            born,
            restarts,
        }
    })
}

fn verdict() -> impl Strategy<Value = Verdict> {
    let cause = prop_oneof![
        of(task()).prop_map(|task| Cause::Rule {
            from: "field 0".into(),
            task,
        }),
        of(task()).prop_map(|task| Cause::Restarts { task }),
        Just(Cause::Deadline),
        Just(Cause::Order),
    ];
    (outcome(), cause, time()).prop_map(|(outcome, cause, at)| Verdict { outcome, cause, at })
}

fn memory() -> impl Strategy<Value = Memory> {
    let identity = (
        prop_oneof![9 => Just(FORMAT), 1 => Just(FORMAT + 1)],
        prop_oneof![9 => Just("uid"), 1 => Just("another")],
    );
    let hold = prop_oneof![Just(Hold::Suspended), Just(Hold::Aborted)];
    let state = (
        0..3u32,
        of(time()),
        of(hold),
        any::<bool>(),
        time(),
        of(failure()),
        vec(order_id(), 0..3),
        prop::option::weighted(0.2, verdict()),
    );
    let counts = (0..4u32, 0..3u32, 0..4u32, 0..4u32);
    let roles = btree_map(role_name(), role_memory(), 0..4);
    (identity, state, counts, roles).prop_map(|(identity, state, counts, roles)| {
        let (epoch, started, held, resumed, not_before, first_failure, orders, verdict) = state;
        let (paid, rounds, in_place_gone, in_place_most) = counts;
        Memory {
            format: identity.0,
            job: identity.1.into(),
            epoch,
            started,
            held,
            resumed,
            not_before,
            paid,
            rounds,
            in_place_gone,
            in_place_most,
            roles,
            first_failure,
            orders,
            verdict,
        }
    })
}

fn failure() -> impl Strategy<Value = Failure> {
    (task(), stamp(), exit()).prop_map(|(task, stamp, exit)| Failure { task, stamp, exit })
}
