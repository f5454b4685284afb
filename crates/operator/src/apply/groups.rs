//! The objects by which a gang scheduler places a job: created before the first pod, corrected when the job changes, deleted when
//! it ends or is held.

use serde_json::json;

use super::{ApplyError, Created, Report, Writes, creating, doing, owner, unless_gone};
use crate::api::Api;
use crate::store::GroupChange;

/// Sends them in order. An object of that name that is not ours is a conflict until the watch has shown whose it is.
pub async fn write(api: &Api, writes: &Writes, report: &mut Report) -> Result<(), ApplyError> {
    let namespace = &writes.key.namespace;
    for write in &writes.groups {
        let written = match &write.change {
            GroupChange::Create(object) => {
                let mut object = object.clone();
                object["metadata"]["ownerReferences"] = json!([owner(writes).reference()]);
                api.create_group(write.api, namespace, &object).await
            }
            GroupChange::Correct(uid, spec) => {
                api.correct_group(write.api, namespace, &write.name, uid, spec)
                    .await
            }
            GroupChange::Delete(uid) => {
                let what = (&*write.api.api_version(), write.api.plural);
                let deleted = api.delete_object(what, namespace, &write.name, uid).await;
                unless_gone(deleted).map_err(doing("delete a group of its gang scheduler"))?;
                report.ungrouped.push(uid.clone());
                continue;
            }
        };
        report
            .groups
            .push(written.map_err(creating(Created::Group(write.api.kind)))?);
    }
    Ok(())
}
