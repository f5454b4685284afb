//! What a pod says about its task: the cluster's half of what `step` observes.
//!
//! A pod is read straight into the few fields that matter; everything else is dropped on the way in, so that a cache
//! of pods holds little. A pod is a task's if its name is: a user who may create pods can copy labels, owner and stamp to
//! any number of them, but of one name there is one pod. Ends are normalised here (W7): whether a stop was asked for,
//! whether the program ran at all, times that are not later than now.

mod cause;
mod containers;
mod exit;
mod needs;
mod node;
mod unreadable;
mod volumes;
mod wire;

use std::sync::Arc;

use trainyard_core::{Exit, MOST_TASKS, Placement, Seen, Stamp, TaskId, TaskSeen, Time, Why};
use trainyard_status::{ContainerSeen, InstanceDetails};

pub use self::needs::PodNeeds;
pub use self::node::NodeSeen;
pub use self::unreadable::UNREADABLE;
pub use self::volumes::VolumeNeeds;
use self::wire::{PodWire, time};
use crate::gang::GATE;
use crate::kinds::{ALL, JobApi, PodLabels};
use crate::names::STAMP;

/// A pod of ours, as far as it is kept.
///
/// Reading one never fails, so that one pod cannot keep the others from being read: a pod with a field of a wrong type is no task, and
/// waits for [`UNREADABLE`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodSeen {
    /// Its name.
    pub name: Arc<str>,
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Which pod of that name.
    pub uid: Arc<str>,
    /// Its version.
    pub version: Arc<str>,
    /// The name of the job it says it belongs to.
    pub job: Arc<str>,
    /// The UID of the job that owns it; none where its controller is none, or no job.
    pub owner: Option<Arc<str>>,
    /// The kind of that job.
    pub owner_kind: Option<&'static JobApi>,
    /// The task it is a life of, and how that is; none where its labels do not say, or its name is not that task's.
    pub task: Option<TaskSeen>,
    /// What it waits for, in the cluster's words.
    pub waits: Option<Waits>,
    /// Its priority.
    pub priority: i32,
    /// Its containers, the main one first, where it has more than that one and the status of its job's kind shows them.
    pub containers: Option<Box<Containers>>,
    /// The node that it is on.
    pub node: Option<Arc<str>>,
    /// What it needs of a node; none where that is not asked for.
    pub needs: Option<Arc<PodNeeds>>,
}

/// The containers of a pod, the main one first. In a box of its own, since most pods need none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Containers(Box<[ContainerSeen]>);

/// What a pod waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waits {
    /// The scheduler or the kubelet says why.
    Said {
        /// In one word: `Unschedulable`, `ErrImagePull`.
        reason: Arc<str>,
        /// In the cluster's own words.
        message: Arc<str>,
        /// Which container waits; none where the pod has no node yet.
        container: Option<Arc<str>>,
    },
    /// Its node prepares it: images, volumes, a network. That is ordinary for a while.
    Preparing {
        /// Since then; none is since it was made.
        since: Option<Time>,
        /// Its volumes are mounted and its network is set up, so it waits for images.
        has_sandbox: bool,
        /// What its volumes refer to, while they are not mounted.
        needs: Option<Box<VolumeNeeds>>,
    },
    /// A container has failed in place more than once, and runs again or is about to.
    Recovering {
        /// Its name.
        container: Arc<str>,
        /// When it was started last, or ended.
        since: Time,
    },
    /// The scheduler of that name has said nothing about it. That is ordinary for a moment.
    Unplaced {
        /// Its name.
        scheduler: Arc<str>,
    },
    /// Its node does not answer for it: the node lifecycle controller says that it is not ready, or it was told to stop and is
    /// still there.
    Silent {
        /// The node's name.
        node: Arc<str>,
        /// From then on; in the future for a pod whose grace lasts.
        since: Time,
    },
}

impl PodSeen {
    /// The pod as jobs of one kind see it: an owner of another kind is none, whatever its UID.
    #[must_use]
    pub fn for_kind(mut self, kind: &JobApi) -> Self {
        self.owner = self.owner.filter(|_| self.owner_kind == Some(kind));
        self
    }

    /// What is known of it besides its task.
    #[must_use]
    pub fn details(&self, now: Time) -> InstanceDetails<'_> {
        let silent_since = match &self.waits {
            Some(Waits::Silent { since, .. }) => Some(*since),
            _ => None,
        };
        InstanceDetails {
            containers: self.containers.as_deref().map_or(&[], |containers| &containers.0),
            is_silent: silent_since.is_some_and(|since| since <= now),
        }
    }

    /// The same pod, gone: how its task ended, if that was seen.
    #[must_use]
    pub fn gone(&self) -> Option<TaskSeen> {
        let mut task = self.task.clone()?;
        let exit = match &task.state {
            // It was taken away before it ran, when that is seen for the first time.
            Seen::Waiting => Some(Exit {
                why: Why::Disrupted,
                asked: true,
                at: Time(u64::MAX),
                never_ran: true,
                ..Exit::default()
            }),
            _ => task.exit().cloned(),
        };
        task.state = Seen::Gone(exit);
        task.lingers = false;
        Some(task)
    }
}

impl From<PodWire> for PodSeen {
    fn from(wire: PodWire) -> Self {
        let text = |text: &Option<String>| Arc::from(text.as_deref().unwrap_or_default());
        let meta = &wire.metadata;
        let mut owners = meta.owner_references.iter();
        let owner = owners.find_map(|owner| Some((owner.job_kind()?, &owner.uid)));
        let owner_kind = owner.map(|(kind, _)| kind);
        Self {
            name: text(&meta.name),
            namespace: text(&meta.namespace),
            uid: text(&meta.uid),
            version: text(&meta.resource_version),
            job: text(&label(&wire, owner_kind, |labels| labels.job).cloned()),
            owner: owner.map(|(_, uid)| uid.as_str().into()),
            task: task(&wire, owner_kind),
            containers: owner_kind
                .filter(|kind| kind.shows_containers)
                .and_then(|_| containers::beside_main(&wire).map(Box::new)),
            owner_kind,
            priority: wire.spec.priority.unwrap_or_default(),
            waits: exit::waits(&wire),
            node: node(&wire).map(Arc::from),
            needs: Some(Arc::new(PodNeeds::of(&wire.spec))),
        }
    }
}

/// The owner's kind, or every kind where the owner is no job.
fn kinds(owner: Option<&'static JobApi>) -> impl Iterator<Item = &'static JobApi> {
    let all = ALL.iter().copied();
    all.filter(move |api| owner.is_none_or(|owner| owner == *api))
}

/// A label by the keys of the owner's kind, or of every kind where the owner is no job.
fn label<'a>(
    wire: &'a PodWire,
    kind: Option<&'static JobApi>,
    keys: fn(&'static PodLabels) -> &'static [&'static str],
) -> Option<&'a String> {
    let mut keys = kinds(kind).flat_map(|api| keys(&api.labels));
    keys.find_map(|key| wire.metadata.labels.get(*key))
}

/// The task whose labels and whose name a pod has.
fn task_id(wire: &PodWire, kind: Option<&'static JobApi>) -> Option<TaskId> {
    let job = label(wire, kind, |labels| labels.job)?;
    let role = label(wire, kind, |labels| labels.role)?;
    let number = label(wire, kind, |labels| labels.index)?;
    let index: u32 = number.parse().ok()?;
    let id = TaskId::new(role, index);
    // As `task_name` makes it, so `01` and `+1` are no numbers here.
    let named = wire.metadata.name.as_deref() == Some(&format!("{job}-{id}"));
    let written = index.to_string() == *number;
    // A job may have, or may have had, a task of this role with this number.
    let known = kinds(kind).any(|api| api.roles.allow(role)) && u64::from(index) < MOST_TASKS;
    (named && written && known).then_some(id)
}

/// The task that a pod is a life of.
fn task(wire: &PodWire, kind: Option<&'static JobApi>) -> Option<TaskSeen> {
    let meta = &wire.metadata;
    let id = task_id(wire, kind)?;
    // Another operator of the kind writes no stamp. The owner's UID is checked elsewhere, so such a pod is the job's own and
    // the first life of its task: what runs is taken over, not killed.
    let stamp = match meta.annotations.get(STAMP) {
        Some(written) => read_stamp(written)?,
        None => Stamp::default(),
    };
    let created = meta.creation_timestamp;
    let (state, lingers) = exit::state(wire, asked(wire));
    Some(TaskSeen {
        id,
        stamp,
        instance: meta.uid.as_deref().unwrap_or_default().into(),
        state,
        created: created.unwrap_or_default(),
        in_place: wire.status.restarts(),
        last: exit::last(wire),
        stopping: grace_over(wire),
        lingers,
        placement: placement(wire),
    })
}

fn node(wire: &PodWire) -> Option<&str> {
    wire.spec.node_name.as_deref().filter(|node| !node.is_empty())
}

/// How far a pod is on its way to a node.
fn placement(wire: &PodWire) -> Placement {
    let gates = &wire.spec.scheduling_gates;
    if node(wire).is_some() {
        let placed = wire.status.condition("PodScheduled");
        let placed = placed.filter(|condition| condition.status == "True");
        Placement::Placed(placed.and_then(|condition| condition.last_transition_time))
    } else if gates.iter().any(|gate| gate.name != GATE) {
        Placement::Blocked
    } else if gates.is_empty() {
        Placement::Unplaced
    } else {
        Placement::Gated
    }
}

/// When the grace of a pod that is being deleted is over: that is the time in its metadata.
fn grace_over(wire: &PodWire) -> Option<Time> {
    time(wire.metadata.deletion_timestamp.as_deref()?)
}

/// When a user or a controller asked for the pod to be deleted.
fn asked(wire: &PodWire) -> Option<Time> {
    let grace = wire.metadata.deletion_grace_period_seconds.unwrap_or_default();
    Some(Time(grace_over(wire)?.0.saturating_sub(grace)))
}

/// A stamp as it is written on a pod: `<epoch>.<attempt>`.
#[must_use]
pub fn write_stamp(stamp: Stamp) -> String {
    format!("{}.{}", stamp.epoch, stamp.attempt)
}

/// A number that is too large is one that we did not write, and stays too large: `step` leaves such a pod alone.
fn read_stamp(text: &str) -> Option<Stamp> {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().unwrap_or(u32::MAX))
    };
    let (epoch, attempt) = text.split_once('.')?;
    Some(Stamp {
        epoch: number(epoch)?,
        attempt: number(attempt)?,
    })
}

#[cfg(test)]
mod tests;
