//! The containers of a pod, for the statuses that show them.

use trainyard_status::{ContainerSeen, ContainerState};

use super::Containers;
use super::exit::{main_name, short};
use super::wire::{ContainerWire, NameWire, PodWire};

/// More containers than these are not kept.
const MOST: usize = 32;

/// The containers of a pod, the main one first and the sidecars among its init containers last; none where it has the main one alone.
pub fn beside_main(wire: &PodWire) -> Option<Containers> {
    let (spec, status) = (&wire.spec, &wire.status);
    let sidecars = spec.init_containers.iter().filter(|init| init.is_sidecar());
    let (ordinary, sidecars) = (
        seen(spec.containers.iter(), &status.container_statuses),
        seen(sidecars, &status.init_container_statuses),
    );
    let mut all: Vec<ContainerSeen> = ordinary.chain(sidecars).take(MOST).collect();
    let main = main_name(wire).and_then(|main| all.iter().position(|one| *one.name == *short(main)));
    if let Some(main) = main {
        all[..=main].rotate_right(1);
    }
    (all.len() > 1).then(|| Containers(all.into()))
}

fn seen<'a>(
    named: impl Iterator<Item = &'a NameWire>,
    statuses: &'a [ContainerWire],
) -> impl Iterator<Item = ContainerSeen> {
    named.map(|container| ContainerSeen {
        name: short(&container.name).into(),
        state: statuses
            .iter()
            .find(|status| status.name == container.name)
            .map_or(ContainerState::Waiting, state),
    })
}

fn state(status: &ContainerWire) -> ContainerState {
    match &status.state {
        state if let Some(terminated) = &state.terminated => ContainerState::Terminated(terminated.exit_code),
        state if state.running.is_some() => ContainerState::Running,
        _ => ContainerState::Waiting,
    }
}
