//! What a job's tasks are placed as: made before the first pod, corrected when its job changes, removed when it ends or is held.

use serde_json::json;

use super::{ApplyError, Report, Writes, creating, doing, owner, unless_gone};
use crate::api::Api;
use crate::job::Compiled;
use crate::store::Ensure;

/// What is told to be refused where a group is.
pub const WRITING: &str = "write its PodGroup";

/// Makes or corrects it. One of that name that is not ours is in the way until the watch has shown whose it is.
pub async fn ensure(
    api: &Api,
    writes: &Writes,
    compiled: &Compiled,
    report: &mut Report,
) -> Result<(), ApplyError> {
    let (Some(groups), Some(wanted), Some(ensure)) = (&compiled.groups, &compiled.group, &writes.ensure)
    else {
        return Ok(());
    };
    let written = match ensure {
        Ensure::Make => {
            let mut object = wanted.clone();
            object["metadata"]["ownerReferences"] = json!([owner(writes).reference()]);
            api.create_group(groups, &writes.key, &object).await
        }
        Ensure::Correct(uid, spec) => api.correct_group(groups, &writes.key, uid, spec).await,
    };
    report.group = Some(written.map_err(creating(WRITING))?);
    Ok(())
}

/// Nothing is to be placed any more.
pub async fn remove(
    api: &Api,
    writes: &Writes,
    compiled: &Compiled,
    report: &mut Report,
) -> Result<(), ApplyError> {
    let (Some(groups), Some(uid)) = (&compiled.groups, &writes.ungroup) else {
        return Ok(());
    };
    let deleted = api.delete_group(groups, &writes.key, uid).await;
    unless_gone(deleted).map_err(doing("delete its PodGroup"))?;
    report.ungrouped = Some(uid.clone());
    Ok(())
}
