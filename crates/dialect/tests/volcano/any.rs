//! Any policies, any ends: what is read answers everything, and no job is left standing.

use proptest::prelude::*;
use trainyard_core::Seen;
use trainyard_status::{VolcanoPhase, volcano_status};

use crate::notation::{assert_complete, job, read};
use crate::text;
use crate::world::World;

const EVENTS: [&str; 7] = [
    "PodFailed",
    "PodEvicted",
    "PodPending",
    "TaskCompleted",
    "TaskFailed",
    "Unknown",
    "JobUpdated",
];

const ACTIONS: [&str; 7] = [
    "AbortJob",
    "RestartJob",
    "RestartTask",
    "RestartPod",
    "TerminateJob",
    "CompleteJob",
    "ResumeJob",
];

/// Policies for some of the events and some exit codes, some with a time-out, in any order.
fn policies() -> impl Strategy<Value = String> {
    let trigger = prop_oneof![
        (0..EVENTS.len()).prop_map(|event| format!("event: {}", EVENTS[event])),
        (1..4).prop_map(|code| format!("exitCode: {code}")),
    ];
    let policy = (trigger, 0..ACTIONS.len(), prop::option::of(1..90u32));
    prop::collection::vec(policy, 0..5).prop_map(|mut policies| {
        policies.sort_by(|left, right| left.0.cmp(&right.0));
        policies.dedup_by(|left, right| left.0 == right.0);
        let one = |(trigger, action, timeout): &(String, usize, Option<u32>)| {
            let timeout = timeout.map(|seconds| format!(", timeout: {seconds}s"));
            format!(
                "{{{trigger}, action: {}{}}}",
                ACTIONS[*action],
                timeout.unwrap_or_default()
            )
        };
        policies.iter().map(one).collect::<Vec<_>>().join(", ")
    })
}

#[derive(Clone, Debug)]
enum Happening {
    Exit(usize, i32),
    Drain(usize),
    Vanish(usize),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => (0..3usize, 0..4).prop_map(|(task, code)| Happening::Exit(task, code)),
        1 => (0..3usize).prop_map(Happening::Drain),
        1 => (0..3usize).prop_map(Happening::Vanish),
    ]
}

fn play(world: &mut World, what: &Happening) {
    let (Happening::Exit(task, _) | Happening::Drain(task) | Happening::Vanish(task)) = what;
    let name = ["ps-0", "worker-0", "worker-1"][*task];
    let runs = |world: &World| {
        let mut seen = world.tasks.iter().filter(|seen| seen.id.to_string() == name);
        seen.any(|seen| matches!(seen.state, Seen::Running { .. }))
    };
    if !runs(world) {
        return;
    }
    match what {
        Happening::Exit(_, code) => world.exit(name, *code),
        Happening::Drain(_) => world.drain(name, 143),
        Happening::Vanish(_) => world.vanish(name),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_end_is_answered_and_nothing_stands_still(
        of_job in policies(),
        of_worker in policies(),
        limits in (1..4u32, prop::option::of(1..4u32), 0..5u32),
        story in prop::collection::vec(happening(), 0..8),
    ) {
        let (least, successes, retries) = limits;
        let successes = successes.map(|least| format!("\n  minSuccess: {least}")).unwrap_or_default();
        let spec = format!("minAvailable: {least}{successes}\n  maxRetry: {retries}\n  policies: [{of_job}]");
        let text = text(&spec, &format!("policies: [{of_worker}]"));
        prop_assert!(!read(&text).has_errors(), "{text}");
        let job = job(&text).job;
        assert_complete(&job, &text);
        let mut world = World::running(job, volcano_status);
        for what in &story {
            play(&mut world, what);
            world.settle();
            let phase = world.says("/state/phase");
            let phase = VolcanoPhase::find(phase.as_str().unwrap_or_default());
            let memory = world.memory.clone().unwrap();
            let alive = world.tasks.iter().any(trainyard_core::TaskSeen::alive);
            let ended = memory.verdict.is_some();
            let held = memory.held.is_some();
            prop_assert!(ended || held || alive, "nothing runs and nothing follows: {text} {story:?}");
            prop_assert_eq!(held, phase == Some(VolcanoPhase::Aborted));
            let over = [VolcanoPhase::Completed, VolcanoPhase::Terminated, VolcanoPhase::Failed];
            prop_assert_eq!(ended, phase.is_some_and(|phase| over.contains(&phase)), "{:?}", phase);
            prop_assert!(!(ended && alive), "everything is cleaned up");
        }
    }
}
