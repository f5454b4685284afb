//! What the volumes of a pod refer to and must exist before a node can run it. The kubelet does not say in a pod's status which of
//! them is missing, so all are named.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::exit::short;
use super::wire::{PodWire, ReferenceWire, VolumeWire};

/// So many are named.
const MOST: usize = 6;
/// The cluster puts it into every namespace and every pod.
const OF_EVERY_POD: &str = "kube-root-ca.crt";

/// What the volumes of a pod refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeNeeds {
    /// In words: ``Secret `token`, ConfigMap `settings` ``.
    pub words: Arc<str>,
    /// There are Secrets and ConfigMaps alone: these are there at once or not at all, while a claim may take its time.
    pub immediate: bool,
}

/// Everything that the volumes of the pod refer to, unless it is optional; none if they refer to nothing.
pub(super) fn needs(wire: &PodWire) -> Option<Box<VolumeNeeds>> {
    let mut names: BTreeSet<(&str, &str)> = BTreeSet::new();
    for volume in &wire.spec.volumes {
        names.extend(of_volume(volume));
    }
    let immediate = names.iter().all(|(kind, _)| *kind != CLAIM);
    let named = names.iter().take(MOST);
    let mut words: Vec<String> = named
        .map(|(kind, name)| format!("{kind} `{}`", short(name)))
        .collect();
    if let Some(more) = names.len().checked_sub(MOST).filter(|more| *more > 0) {
        words.push(format!("{more} more"));
    }
    (!words.is_empty()).then(|| {
        Box::new(VolumeNeeds {
            words: words.join(", ").into(),
            immediate,
        })
    })
}

const CLAIM: &str = "PersistentVolumeClaim";

fn of_volume(volume: &VolumeWire) -> Vec<(&str, &str)> {
    let projected = volume.projected.iter().flat_map(|projected| &projected.sources);
    let sources =
        projected.flat_map(|source| [("Secret", &source.secret), ("ConfigMap", &source.config_map)]);
    let direct = [("Secret", &volume.secret), ("ConfigMap", &volume.config_map)];
    let referred = direct.into_iter().chain(sources);
    let needed = referred.filter_map(|(kind, reference)| Some((kind, needed(reference.as_ref()?)?)));
    let claim = volume.persistent_volume_claim.as_ref();
    let claim = claim.map(|claim| (CLAIM, claim.claim_name.as_str()));
    needed.chain(claim).collect()
}

fn needed(reference: &ReferenceWire) -> Option<&str> {
    let name = &reference.name;
    (!reference.optional.unwrap_or(false) && name != OF_EVERY_POD && !name.is_empty()).then_some(name)
}
