//! The pods of a job, made with a growing number of requests at a time.

use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use trainyard_core::{Placement, RoleName, Seen, Stamp, TaskId, TaskSeen};
use trainyard_manifest::gang::largest_first;
use trainyard_manifest::names::Life;
use trainyard_manifest::observe::PodSeen;
use trainyard_manifest::task_pod::TaskPods;

use super::{ApplyError, Created, Report, Writes, creating, name_of, owner};
use crate::api::{Api, ApiError};
use crate::job::Compiled;

/// So many pods are asked for at first, and one more at a time for each that was made: a quota that is used up costs few
/// requests, and no create waits for the slowest of many.
const FIRST_PODS: usize = 8;
/// Never more than this at a time: pods that wait for their turn are memory.
const MOST_PODS: usize = 64;

/// What is created together, one after the other: the largest pods of a gang first.
pub fn in_order<'a>(compiled: &Compiled, creates: Vec<(&'a TaskId, Stamp)>) -> Vec<Vec<(&'a TaskId, Stamp)>> {
    if compiled.job().gang.is_none() {
        return vec![creates];
    }
    let mut order = Vec::new();
    for roles in largest_first(compiled.job()) {
        let of = |(task, _): &&(&TaskId, Stamp)| roles.contains(&task.role);
        order.push(creates.iter().filter(of).copied().collect());
    }
    order
}

/// Makes them in order. What was in flight when one is refused is waited for, and nothing else is begun.
pub async fn create(
    api: &Api,
    writes: &Writes,
    compiled: &Compiled,
    creates: &[(&TaskId, Stamp)],
    report: &mut Report,
) -> Result<(), ApplyError> {
    if creates.is_empty() {
        return Ok(());
    }
    let owner = owner(writes);
    let pods = compiled.pods(&owner);
    let mut rest = creates.iter();
    let mut making = FuturesUnordered::new();
    let (mut room, mut first) = (FIRST_PODS, Ok(()));
    loop {
        while first.is_ok()
            && making.len() < room
            && let Some((task, stamp)) = rest.next()
        {
            making.push(one(api, writes, (compiled, &pods), task, *stamp));
        }
        match making.next().await {
            None => return first,
            Some(Ok(pod)) => {
                report.made.push(pod);
                room = MOST_PODS.min(room + 1);
            }
            Some(Err(refused)) if first.is_ok() => first = Err(creating(Created::Pod)(refused)),
            Some(Err(_)) => {}
        }
    }
}

async fn one(
    api: &Api,
    writes: &Writes,
    (compiled, pods): (&Compiled, &TaskPods<'_>),
    task: &TaskId,
    stamp: Stamp,
) -> Result<PodSeen, ApiError> {
    let life = Life {
        stamp,
        resumed: writes.resumed,
        paid: writes.paid,
    };
    let mut object = pods.pod(task, life);
    if let Some((workload, placement)) = &writes.placement
        && let Some((_, role)) = compiled.job().role(&task.role)
    {
        placement.mark(&mut object, role, workload);
    }
    let gated = object["spec"]["schedulingGates"].is_array();
    let name = name_of(&object).to_owned();
    match api.create("pods", &object).await {
        Ok(made) => {
            let mut pod = born(writes, &name, made.uid, made.version, task, stamp);
            if let Some(task) = pod.task.as_mut().filter(|_| gated) {
                // Admission may have given it a priority, tolerations and requests: its gang has no turn before the watch shows it.
                task.placement = Placement::Blocked;
            }
            Ok(pod)
        }
        Err(refused) if refused.exists() => {
            // Ours from before a crash or a repeated request; another life of the same task, which goes; or none of the job's
            // tasks, and then it is in the way.
            let there = api
                .pod(&writes.key.namespace, &name)
                .await?
                .for_kind(writes.key.kind.api);
            let owned = there.owner.as_ref() == Some(&writes.uid);
            match there.task.as_ref().filter(|seen| owned && seen.id == *task) {
                Some(seen) if seen.stamp == stamp => Ok(there),
                Some(_) => Err(refused),
                None => Err(refused.in_the_way("pod", &writes.key.namespace, &name)),
            }
        }
        Err(refused) => Err(refused),
    }
}

/// A pod as it is right after we made it.
fn born(writes: &Writes, name: &str, uid: Arc<str>, version: u64, task: &TaskId, stamp: Stamp) -> PodSeen {
    PodSeen {
        name: name.into(),
        namespace: Arc::clone(&writes.key.namespace),
        version: version.to_string().into(),
        job: Arc::clone(&writes.key.name),
        owner: Some(Arc::clone(&writes.uid)),
        owner_kind: Some(writes.key.kind.api),
        task: Some(TaskSeen {
            id: TaskId {
                role: RoleName(Arc::clone(&task.role.0)),
                index: task.index,
            },
            stamp,
            instance: Arc::clone(&uid),
            state: Seen::Waiting,
            created: writes.now,
            in_place: 0,
            last: None,
            stopping: None,
            lingers: false,
            placement: Placement::Unplaced,
        }),
        uid,
        waits: None,
        priority: 0,
        containers: None,
        node: None,
        needs: None,
    }
}
