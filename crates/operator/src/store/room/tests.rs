use serde_json::{Value, json};
use trainyard_manifest::observe::PodSeen;

use super::class::MOST_CLASSES_OF_ALL;
use super::seat::MOST_RESOURCES;
use super::*;
use crate::kinds::tfjob::KIND as TFJOB;

const NOW: Time = Time(1000);

fn key(name: &str) -> JobKey {
    JobKey::of(&TFJOB, &"ml".into(), &name.into())
}

fn node(name: &str, labels: &Value, spec: &Value, allocatable: &Value) -> NodeSeen {
    NodeSeen::of(&json!({
        "metadata": { "name": name, "uid": name, "labels": labels }, "spec": spec,
        "status": { "conditions": [{ "type": "Ready", "status": "True" }], "allocatable": allocatable },
    }))
}

/// Nodes of two pools, one of them tainted, which have been listed.
fn room(nodes: &[(&str, &str, i64)]) -> Room {
    let mut room = Room::default();
    for (name, pool, cpu) in nodes {
        let taints = json!({ "taints": [{ "key": "gpu", "effect": "NoSchedule" }] });
        let spec = if *pool == "gpu" { taints } else { json!({}) };
        let offered = json!({ "cpu": cpu.to_string(), "pods": "110", "nvidia.com/gpu": if *pool == "gpu" { "8" } else { "0" } });
        room.see(node(name, &json!({ "pool": pool }), &spec, &offered));
    }
    let uids = nodes.iter().map(|(name, ..)| Arc::from(*name)).collect();
    room.listed(&uids);
    room
}

fn needs(spec: &Value) -> Arc<PodNeeds> {
    let pod: PodSeen = serde_json::from_value(json!({ "spec": spec })).unwrap();
    pod.needs.unwrap()
}

fn cpus(cpu: &str) -> Arc<PodNeeds> {
    needs(&json!({ "containers": [{ "name": "c", "resources": { "requests": { "cpu": cpu } } }] }))
}

fn gpus(gpu: &str) -> Arc<PodNeeds> {
    needs(&json!({
        "containers": [{ "name": "c", "resources": { "requests": { "nvidia.com/gpu": gpu } } }],
        "nodeSelector": { "pool": "gpu" }, "tolerations": [{ "key": "gpu", "operator": "Exists" }],
    }))
}

fn gated(classes: &[(&Arc<PodNeeds>, u32)], needed: u32) -> Demand {
    Demand {
        classes: classes
            .iter()
            .map(|(needs, count)| (Arc::clone(needs), *count))
            .collect(),
        needed,
        holds: BTreeMap::new(),
    }
}

fn holding(node: &str, needs: &Arc<PodNeeds>, count: u32) -> Demand {
    Demand {
        holds: [((node.into(), Arc::clone(needs)), count)].into_iter().collect(),
        ..Demand::default()
    }
}

#[test]
fn gangs_compete_if_a_node_may_take_pods_of_both() {
    let mut room = room(&[("a", "cpu", 8), ("b", "gpu", 8)]);
    let other = needs(&json!({ "schedulerName": "other" }));
    let all_tolerant = needs(&json!({ "tolerations": [{ "operator": "Exists" }] }));
    for (name, class) in [
        ("cpu", cpus("1")),
        ("gpu", gpus("1")),
        ("other", other),
        ("all", all_tolerant),
    ] {
        room.demand(&key(name), gated(&[(&class, 1)], 1));
    }
    let competes =
        |room: &Room, one: &str, other: &str| room.reach(&key(one)).meets(&room.reach(&key(other)));
    assert!(!competes(&room, "cpu", "gpu"), "taints keep them apart");
    for other in ["cpu", "gpu", "other"] {
        assert!(
            competes(&room, "all", other) && competes(&room, "other", other),
            "{other}"
        );
    }
    // The taint goes.
    room.see(node(
        "b",
        &json!({ "pool": "gpu" }),
        &json!({}),
        &json!({ "cpu": "8" }),
    ));
    assert!(room.take_moved() && competes(&room, "cpu", "gpu"));
    room.gone("b");
    assert!(room.take_moved() && !competes(&room, "cpu", "gpu"));
    // No node is left for either, and both would use the same ones.
    room.demand(&key("more"), gated(&[(&gpus("2"), 1)], 1));
    assert!(competes(&room, "more", "gpu"));
}

#[test]
fn gangs_compete_with_all_while_nodes_are_not_listed() {
    let mut room = Room::default();
    room.demand(&key("a"), gated(&[(&cpus("1"), 1)], 1));
    assert!(room.is_awaited() && room.reach(&key("a")).is_all());
    assert_eq!(room.fit(&key("a"), NOW), Fit::Now);
    room.refuse();
    assert!(!room.is_awaited() && room.reach(&key("a")).is_all());
    assert_eq!(room.fit(&key("a"), NOW), Fit::Now);
    room.listed(&BTreeSet::new());
    assert!(!room.reach(&key("a")).is_all() && room.fit(&key("a"), NOW) == Fit::Never);
    room.refuse();
    assert!(
        room.take_moved() && room.reach(&key("a")).is_all(),
        "the right is taken away"
    );
    assert_eq!(room.fit(&key("a"), NOW + 1), Fit::Now);
}

#[test]
fn a_heartbeat_of_a_node_changes_nothing() {
    let mut room = room(&[("a", "cpu", 8)]);
    room.take_moved();
    let offered = json!({ "cpu": "8", "pods": "110", "nvidia.com/gpu": "0" });
    let mut same = node("a", &json!({ "pool": "cpu" }), &json!({}), &offered);
    same.version = "99".into();
    assert!(!room.see(same) && !room.take_moved());
}

#[test]
fn labels_that_change_for_ever_on_a_node_that_stays_are_let_go() {
    let mut room = room(&[("a", "cpu", 8)]);
    for number in 0..1000_u32 {
        let labels = json!({ "pool": "cpu", "step": number.to_string() });
        room.see(node("a", &labels, &json!({}), &json!({ "cpu": "8" })));
        assert!(room.words.len() <= 8, "{number}: {:?}", room.words);
    }
}

#[test]
fn a_job_leaves_only_the_classes_in_which_it_was_counted() {
    let mut room = room(&[("a", "cpu", 8)]);
    let class = |number: usize| cpus(&number.to_string());
    for number in 0..MOST_CLASSES_OF_ALL {
        room.demand(&key(&format!("j{number}")), gated(&[(&class(number), 1)], 1));
    }
    let late = class(MOST_CLASSES_OF_ALL);
    room.demand(&key("late"), gated(&[(&late, 1)], 1));
    assert!(room.reach(&key("late")).is_all(), "one class too many");
    room.demand(&key("j0"), Demand::default());
    room.demand(&key("later"), gated(&[(&late, 1)], 1));
    assert!(!room.reach(&key("later")).is_all());
    room.demand(&key("late"), Demand::default());
    assert!(!room.reach(&key("later")).is_all(), "it is still counted");
    room.demand(&key("later"), Demand::default());
    assert!(!room.classes.contains_key(&late) && !room.counted.contains_key(&key("later")));
}

/// What is advised to a gang beside jobs that hold room.
fn advised(room: &mut Room, demand: Demand) -> Advice {
    room.demand(&key("gang"), demand);
    room.advice(&key("gang")).unwrap()
}

#[test]
fn a_gang_fits_now_later_or_never() {
    let mut room = room(&[("a", "cpu", 8), ("b", "cpu", 8), ("g", "gpu", 8)]);
    let (small, large) = (cpus("2"), cpus("5"));
    // Classes, needed: fit, how many on empty nodes and now, while two of `a`'s CPUs are held.
    room.demand(&key("runs"), holding("a", &cpus("1"), 2));
    let rows = [
        (vec![(&small, 7)], 7, Fit::Now, 8, 7),
        (vec![(&small, 8)], 8, Fit::Later, 8, 7),
        (vec![(&small, 9)], 9, Fit::Never, 8, 7),
        (vec![(&small, 9)], 7, Fit::Now, 9, 9),
        (vec![(&large, 2), (&small, 2)], 4, Fit::Later, 4, 3),
        (vec![(&large, 3), (&small, 2)], 5, Fit::Never, 4, 3),
        (vec![(&large, 3), (&small, 2)], 3, Fit::Now, 4, 3),
    ];
    for (classes, needed, fit, empty, now) in rows {
        let advice = advised(&mut room, gated(&classes, needed));
        let words = format!("{needed} of {classes:?}: {advice:?}");
        assert_eq!(advice.fit, fit, "{words}");
        assert!(
            advice.empty >= empty.min(needed) && advice.now >= now.min(needed),
            "{words}"
        );
    }
    room.demand(&key("runs"), Demand::default());
    assert_eq!(
        advised(&mut room, gated(&[(&small, 8)], 8)).fit,
        Fit::Now,
        "they have ended"
    );
    assert!(room.seats.iter().all(|seat| seat.used.is_empty()));
}

#[test]
fn what_a_gang_lacks_is_named() {
    let mut room = room(&[("a", "cpu", 8), ("g", "gpu", 8)]);
    let nowhere = needs(&json!({ "nodeSelector": { "zone": "x", "disk": "ssd" } }));
    let untolerated = needs(&json!({ "nodeSelector": { "pool": "gpu" } }));
    let strange =
        needs(&json!({ "containers": [{ "resources": { "requests": { "example.com/fpga": "1" } } }] }));
    let more = |more: u32, resource: &str, each: i64| Lack::Nodes {
        more,
        resource: resource.into(),
        each,
    };
    let too_large = |resource: &str, asked: i64, most: i64| Lack::TooLarge {
        resource: resource.into(),
        asked,
        most,
    };
    let tolerations = Lack::Tolerations {
        nodes: 1,
        taint: "gpu:NoSchedule".into(),
    };
    let rows = [
        (&nowhere, 1, Lack::Labels("disk=ssd,zone=x".into())),
        (&untolerated, 1, tolerations),
        (&gpus("4"), 8, more(3, "nvidia.com/gpu", 8000)),
        (&cpus("3"), 3, more(1, "cpu", 6000)),
        (&gpus("16"), 1, too_large("nvidia.com/gpu", 16_000, 8000)),
        (&strange, 1, too_large("example.com/fpga", 1000, 0)),
    ];
    for (class, count, lack) in rows {
        let advice = advised(&mut room, gated(&[(class, count)], count));
        assert_eq!((advice.fit, advice.lack), (Fit::Never, Some(lack)));
    }
    room.see(node(
        "g",
        &json!({ "pool": "gpu" }),
        &json!({ "unschedulable": true }),
        &json!({}),
    ));
    let advice = advised(&mut room, gated(&[(&gpus("1"), 1)], 1));
    assert_eq!(advice.lack, Some(Lack::Closed(1)));
}

#[test]
fn advice_that_there_is_no_room_lasts_for_a_second_and_is_then_looked_at_again() {
    let mut room = room(&[("a", "cpu", 8)]);
    let gang = key("gang");
    room.demand(&gang, gated(&[(&cpus("5"), 2)], 2));
    assert_eq!(room.fit(&gang, NOW), Fit::Never);
    let more = || node("b", &json!({}), &json!({}), &json!({ "cpu": "8", "pods": "110" }));
    room.see(more());
    assert_eq!(room.fit(&gang, NOW), Fit::Never);
    assert!(room.take_stale(), "so that it is looked at in the next second");
    assert_eq!(room.fit(&gang, NOW + 1), Fit::Now);
    room.gone("b");
    assert_eq!(
        room.fit(&gang, NOW + 1),
        Fit::Never,
        "that there is room is never kept"
    );
}

#[test]
fn numbers_of_nodes_and_classes_are_given_back() {
    let mut room = room(&[]);
    for number in 0..1000_u32 {
        let name = format!("n{number}");
        room.see(node(&name, &json!({}), &json!({}), &json!({ "cpu": "8" })));
        room.demand(&key(&name), holding(&name, &cpus("1"), 1));
        room.demand(&key("gang"), gated(&[(&cpus(&number.to_string()), 1)], 1));
        room.gone(&name);
        room.demand(&key(&name), Demand::default());
    }
    let counts = (room.seats.len(), room.classes.len(), room.numbers.len());
    assert_eq!(counts, (2, 1, 1), "one class, and its selector");
    let many: Vec<Arc<PodNeeds>> = (0..40).map(|cpu| cpus(&cpu.to_string())).collect();
    let many: Vec<(&Arc<PodNeeds>, u32)> = many.iter().map(|needs| (needs, 1)).collect();
    room.demand(&key("gang"), gated(&many, 40));
    assert!(room.reach(&key("gang")).is_all() && room.classes.is_empty());
    assert_eq!(room.fit(&key("gang"), NOW), Fit::Now, "not advised");
}

#[test]
fn resources_beyond_those_that_are_told_apart_are_no_reason_to_wait() {
    let mut room = Room::default();
    for number in 0..100 {
        let offered = json!({ format!("example.com/r{number:03}"): "1" });
        room.see(node(&format!("n{number:03}"), &json!({}), &json!({}), &offered));
    }
    room.listed(&(0..100).map(|number| format!("n{number:03}").into()).collect());
    assert!(room.resources.len() <= MOST_RESOURCES);
    let asks = |name: &str| needs(&json!({ "containers": [{ "resources": { "requests": { name: "1" } } }] }));
    room.demand(&key("known"), gated(&[(&asks("example.com/r000"), 2)], 2));
    room.demand(&key("unknown"), gated(&[(&asks("example.com/r099"), 2)], 2));
    assert_eq!(
        (room.fit(&key("known"), NOW), room.fit(&key("unknown"), NOW)),
        (Fit::Never, Fit::Now)
    );
}

#[test]
fn what_pods_hold_counts_whichever_is_seen_first_the_pod_or_its_node() {
    let mut room = Room::default();
    room.demand(&key("runs"), holding("g", &gpus("6"), 1));
    assert!(room.resources.is_empty(), "pods name resources as they like");
    let taints = json!({ "taints": [{ "key": "gpu", "effect": "NoSchedule" }] });
    let offered = json!({ "nvidia.com/gpu": "8", "pods": "110" });
    room.see(node("g", &json!({ "pool": "gpu" }), &taints, &offered));
    room.listed(&["g".into()].into_iter().collect());
    assert_eq!(advised(&mut room, gated(&[(&gpus("4"), 1)], 1)).fit, Fit::Later);
    assert_eq!(advised(&mut room, gated(&[(&gpus("2"), 1)], 1)).fit, Fit::Now);
}
