//! Taking the gates of a gang's pods away: one request per pod. What a crash in between leaves is seen, and the rest follows.

use std::sync::Arc;

use futures_util::future::join_all;
use trainyard_core::{Placement, TaskId, task_name};
use trainyard_manifest::observe::PodSeen;

use super::{ApplyError, Report, Writes, doing};
use crate::api::{Api, ApiError};
use crate::job::Compiled;

/// Ungates these pods, as many at a time as requests are allowed.
pub async fn ungate(
    api: &Api,
    writes: &Writes,
    compiled: &Compiled,
    pods: &[(&TaskId, &Arc<str>)],
    report: &mut Report,
) -> Result<(), ApplyError> {
    let all = pods.iter().map(|(task, uid)| {
        let name = task_name(compiled.job(), task);
        async move { one(api, writes, &name, uid).await }
    });
    let mut first = Ok(());
    for ungated in join_all(all).await {
        match ungated {
            Ok(pod) => report.ungated.extend(pod),
            Err(refused) if first.is_ok() => first = Err(doing("take the gate of a pod away")(refused)),
            Err(_) => {}
        }
    }
    first
}

/// The pod as it is then; none if it is gone.
async fn one(api: &Api, writes: &Writes, name: &str, uid: &Arc<str>) -> Result<Option<PodSeen>, ApiError> {
    let namespace = &writes.key.namespace;
    let pod = match api.ungate_pod(namespace, name, uid).await {
        Err(refused) if refused.not_found() => return Ok(None),
        // Its gates are not what they were, or it is another pod of that name.
        Err(refused) if matches!(refused.code, 409 | 422) => match api.pod(namespace, name).await {
            Err(gone) if gone.not_found() => return Ok(None),
            Ok(pod) if is_gated(&pod) && pod.uid == *uid => return Err(refused),
            looked => looked?,
        },
        answer => answer?,
    };
    Ok(Some(pod.for_kind(writes.key.kind.api)).filter(|pod| pod.uid == *uid))
}

fn is_gated(pod: &PodSeen) -> bool {
    let task = pod.task.as_ref();
    task.is_some_and(|task| task.placement == Placement::Gated)
}
