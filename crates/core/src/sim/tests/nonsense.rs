//! Arbitrary inputs of `step`, the nonsensical ones too: mostly small, so that coincidences are frequent, and now and then
//! from the whole range of their type. What a pod or a status may hold is drawn so, hostile values first; what a dialect
//! has checked before (numbers of replicas) is not.

use std::sync::Arc;

use crate::{
    AddressForm, Addresses, After, Cause, Clean, ClusterForm, Count, Down, Exit, FORMAT, Failure, Fixture,
    FixtureSeen, Gang, GangScheduler, GangSeen, GateMemory, Hold, How, InPlace, Job, Limits, Memory,
    Observed, Order, Ordered, Outcome, Placement, Ranges, Refusal, Role, RoleKind, RoleMemory, RoleName,
    Rule, Runs, Scope, Seen, Settled, Stamp, Storage, TaskId, TaskSeen, Template, Test, Then, Time, Verdict,
    Wait, When, Who, Why,
};
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;

/// Everything that `step` is given.
#[derive(Clone, Debug)]
pub struct Input {
    pub job: Job,
    pub memory: Option<Memory>,
    pub observed: Observed,
    pub now: Time,
}

/// The last one is a role that no job has.
const ROLES: [&str; 4] = ["chief", "ps", "worker", "absent"];
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

/// Mostly below `end`; else any number, the last of its type and the last stamp of ours among them.
fn number(end: u32) -> impl Strategy<Value = u32> {
    let edge = prop_oneof![
        Just(u32::MAX),
        Just(u32::MAX - 1),
        Just(Stamp::MOST),
        Just(Stamp::MOST - 1),
        Just(Stamp::MOST + 1),
    ];
    prop_oneof![24 => 0..end, 1 => edge, 1 => any::<u32>()]
}

fn time() -> impl Strategy<Value = Time> {
    let edge = prop_oneof![Just(u64::MAX), Just(u64::from(u32::MAX)), any::<u64>()];
    prop_oneof![30 => 0..=MOST_TIME, 1 => edge].prop_map(Time)
}

/// The exit code of a program, or whatever a status says.
fn code() -> impl Strategy<Value = i32> {
    prop_oneof![
        8 => prop_oneof![Just(0), Just(1), Just(137), Just(143)],
        1 => any::<i32>(),
    ]
}

/// Words of a program or of a cluster.
fn words() -> impl Strategy<Value = Option<Arc<str>>> {
    prop_oneof![6 => Just(None), 1 => "\\PC{0,8}|[\\x00-\\x1f]{1,3}".prop_map(|text| Some(text.into()))]
}

fn role_name() -> impl Strategy<Value = RoleName> {
    (0..ROLES.len()).prop_map(|at| RoleName::new(ROLES[at]))
}

fn task() -> impl Strategy<Value = TaskId> {
    (role_name(), number(MOST_REPLICAS + 1)).prop_map(|(role, index)| TaskId { role, index })
}

fn stamp() -> impl Strategy<Value = Stamp> {
    (number(3), number(3)).prop_map(|(epoch, attempt)| Stamp { epoch, attempt })
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
    (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(hold, existing, gates)| Gang {
        scheduler: if gates {
            GangScheduler::Gates
        } else {
            GangScheduler::Default
        },
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
        (number(10), number(20), number(30)).prop_map(|(first, most, healthy)| Wait { first, most, healthy });
    let parts = (
        of(number(4)),
        any::<bool>(),
        of(number(40)),
        of(number(40)),
        number(6),
        wait,
        of(number(20)),
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
    let never = (
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.3),
        words(),
        words(),
    );
    let why = prop_oneof![
        4 => Just(Why::Itself),
        1 => Just(Why::OutOfMemory),
        1 => Just(Why::NotStarted),
        1 => Just(Why::Disrupted),
    ];
    let parts = (of(code()), why, any::<bool>(), time(), number(90), never);
    parts.prop_map(|(code, why, asked, at, ran, never)| Exit {
        code,
        why,
        asked,
        at,
        ran,
        never_ran: never.0,
        rejected: never.0 && never.1,
        container: never.2,
        message: never.3,
        cause: None,
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
        number(3),
        of(exit()),
        of(time()),
        (any::<bool>(), placement()),
    );
    parts.prop_map(
        |(id, stamp, instance, state, created, in_place, last, stopping, (lingers, placement))| TaskSeen {
            id,
            stamp,
            instance: format!("i{instance}").into(),
            state,
            created,
            in_place,
            last,
            stopping,
            lingers,
            placement,
        },
    )
}

fn placement() -> impl Strategy<Value = Placement> {
    prop_oneof![
        2 => of(time()).prop_map(Placement::Placed),
        1 => Just(Placement::Gated),
        1 => Just(Placement::Blocked),
        1 => Just(Placement::Unplaced),
    ]
}

fn observed() -> impl Strategy<Value = Observed> {
    let gang = prop_oneof![
        Just(GangSeen::NotNeeded),
        Just(GangSeen::Absent),
        Just(GangSeen::Held),
        Just(GangSeen::Open),
        number(3).prop_map(|epoch| GangSeen::Broken { epoch }),
        number(3).prop_map(|epoch| GangSeen::Expired { epoch }),
    ];
    let fixture = prop::sample::select(Fixture::ALL.to_vec());
    let found = prop_oneof![
        any::<bool>().prop_map(|right| FixtureSeen::Ours { right }),
        Just(FixtureSeen::Foreign),
        Just(FixtureSeen::Missing),
    ];
    let storage =
        prop_oneof![6 => Just(Storage::Keeps), 1 => Just(Storage::Unknown), 1 => Just(Storage::Drops)];
    let parts = (
        vec(seen(), 0..9),
        gang,
        vec(order(), 0..3),
        vec((fixture, found), 0..4),
        prop::option::weighted(0.2, time().prop_map(|until| Refusal { until })),
        storage,
        prop::bool::weighted(0.1),
    );
    parts.prop_map(
        |(tasks, gang, orders, fixtures, refused, storage, deleting)| Observed {
            tasks,
            gang,
            orders,
            fixtures,
            refused,
            storage,
            deleting,
        },
    )
}

fn order_id() -> impl Strategy<Value = Arc<str>> {
    (0..3u32).prop_map(|id| format!("order {id}").into())
}

fn order() -> impl Strategy<Value = Order> {
    let what = prop_oneof![
        any::<bool>().prop_map(|paid| Ordered::RestartJob { paid }),
        outcome().prop_map(Ordered::Finish),
        Just(Ordered::Abort),
        Just(Ordered::Nothing),
        any::<bool>().prop_map(|paid| Ordered::Resume { paid }),
    ];
    (order_id(), what).prop_map(|(id, what)| Order { id, what })
}

fn role_memory() -> impl Strategy<Value = RoleMemory> {
    let parts = (runs(), indexes(), indexes(), number(MOST_REPLICAS + 2), number(5));
    (parts, runs(), runs(), runs()).prop_map(
        |((attempts, done, failed, born, restarts), rejections, starting_since, not_before)| RoleMemory {
            attempts,
            done,
            failed,
            born,
            restarts,
            rejections,
            not_before,
            starting_since,
        },
    )
}

/// A set of tasks; now and then of four billion.
fn indexes() -> impl Strategy<Value = Ranges> {
    let few = vec(number(MOST_REPLICAS + 2), 0..4).prop_map(|indexes| indexes.into_iter().collect());
    let range = (any::<u32>(), any::<u32>()).prop_map(|(one, other)| {
        let text = format!("{}-{}", one.min(other), one.max(other));
        text.parse().unwrap_or_default()
    });
    let all = Just("0-4294967295".parse().unwrap_or_default());
    prop_oneof![20 => few, 1 => range, 1 => all]
}

/// A number for each task; now and then for four billion.
fn runs() -> impl Strategy<Value = Runs> {
    let few = vec((number(MOST_REPLICAS + 2), number(3)), 0..4).prop_map(|numbers| {
        let mut runs = Runs::default();
        for (index, number) in numbers {
            runs.set(index, number);
        }
        runs
    });
    let range = (any::<u32>(), any::<u32>(), number(7)).prop_map(|(one, other, number)| {
        let text = format!("{}-{}:{}", one.min(other), one.max(other), number.max(1));
        text.parse().unwrap_or_default()
    });
    prop_oneof![20 => few, 1 => range]
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
        number(3),
        of(time()),
        of(hold),
        any::<bool>(),
        time(),
        of(failure()),
        vec(order_id(), 0..3),
        prop::option::weighted(0.2, verdict()),
    );
    let counts = (number(4), number(3), number(4), number(4), number(3));
    let roles = btree_map(role_name(), role_memory(), 0..4);
    let began = (
        of(prop_oneof![
            Just(AddressForm::PerReplica),
            Just(AddressForm::Kubeflow)
        ]),
        of("volcano|another"),
        (of(number(3)), of(time()), number(3)).prop_map(|(placed, rolled_back, times)| GateMemory {
            placed,
            rolled_back,
            times,
        }),
    );
    (identity, state, counts, began, roles).prop_map(
        |(identity, state, counts, (form, gang, gates), roles)| {
            let (epoch, started, held, resumed, not_before, first_failure, orders, verdict) = state;
            let (paid, rounds, in_place_gone, in_place_most, attempts_before) = counts;
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
                attempts_before,
                in_place_gone,
                in_place_most,
                form,
                gang: gang.map(Into::into),
                gates,
                roles,
                first_failure,
                orders,
                verdict,
            }
        },
    )
}

fn failure() -> impl Strategy<Value = Failure> {
    (task(), stamp(), exit()).prop_map(|(task, stamp, exit)| Failure { task, stamp, exit })
}
