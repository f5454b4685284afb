//! The Workload of a job in one of Kueue's queues: created, never adopted, and changed only as the one that was looked at.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use trainyard_manifest::kueue::{
    API_VERSION, Amendment, FLAVORS, PLACEMENT, Placement, PriorityClass, Queued, WORKLOADS, amended,
};
use trainyard_status::rfc3339;

use super::{Writes, owner, unless_gone};
use crate::api::{Api, ApiError};
use crate::job::Compiled;
use crate::workload::WorkloadSeen;

/// What is to be done about the Workload of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkloadWrite {
    /// Create it.
    Create {
        /// For tasks that are created after a pause.
        resumed: bool,
    },
    /// Bring the one with this UID up to date.
    Correct {
        /// Which one.
        uid: Arc<str>,
        /// For tasks that are created after a pause.
        resumed: bool,
    },
    /// Look up where the pods may run, and keep that.
    Place {
        /// Of which one.
        uid: Arc<str>,
    },
    /// Change its status.
    Amend {
        /// Its name.
        name: Arc<str>,
        /// Which one.
        uid: Arc<str>,
        /// What changes.
        change: Amendment,
    },
    /// Delete the one with this name and UID.
    Delete {
        /// Its name.
        name: Arc<str>,
        /// Which one.
        uid: Arc<str>,
    },
}

/// What was done about a Workload.
#[derive(Debug, Default)]
pub struct WorkloadReport {
    /// It is this now.
    pub written: Option<Box<WorkloadSeen>>,
    /// The UID of the one that was deleted.
    pub removed: Option<Arc<str>>,
    /// What was refused: the rest was left undone.
    pub refused: Option<ApiError>,
}

/// Does what is to be done.
pub async fn write(api: &Api, writes: &Writes, compiled: &Compiled, write: &WorkloadWrite) -> WorkloadReport {
    let mut report = WorkloadReport::default();
    report.refused = act(api, writes, compiled, write, &mut report).await.err();
    report
}

async fn act(
    api: &Api,
    writes: &Writes,
    compiled: &Compiled,
    write: &WorkloadWrite,
    report: &mut WorkloadReport,
) -> Result<(), ApiError> {
    let namespace = &writes.key.namespace;
    if let WorkloadWrite::Delete { name, uid } = write {
        let deleted = api
            .delete_object((API_VERSION, WORKLOADS), namespace, name, uid)
            .await;
        unless_gone(deleted)?;
        report.removed = Some(Arc::clone(uid));
        return Ok(());
    }
    if let WorkloadWrite::Amend { name, uid, change } = write {
        let found = found(api, namespace, name, uid).await?;
        if let Some(status) = amended(&found, change, &rfc3339(writes.now)) {
            report.written = api.write_workload_status(namespace, &found, &status).await?;
        }
        return Ok(());
    }
    let Some(queued) = compiled.queued.as_deref() else {
        return Ok(());
    };
    report.written = match write {
        WorkloadWrite::Create { resumed } => create(api, writes, compiled, queued, *resumed).await?,
        WorkloadWrite::Correct { uid, resumed } => {
            let priority = priority(api, queued.priority.as_ref()).await?;
            let mut change = queued.correction(*resumed, priority);
            change["metadata"]["uid"] = (&**uid).into();
            api.correct_workload(namespace, &queued.name, &change).await?
        }
        WorkloadWrite::Place { uid } => place(api, namespace, &queued.name, uid).await?,
        WorkloadWrite::Amend { .. } | WorkloadWrite::Delete { .. } => None,
    };
    Ok(())
}

async fn create(
    api: &Api,
    writes: &Writes,
    compiled: &Compiled,
    queued: &Queued,
    resumed: bool,
) -> Result<Option<Box<WorkloadSeen>>, ApiError> {
    let priority = priority(api, queued.priority.as_ref()).await?;
    let mut object = queued.object(compiled.job(), resumed, priority);
    object["metadata"]["ownerReferences"] = json!([owner(writes).reference()]);
    let namespace = &writes.key.namespace;
    let created = api.create_workload(namespace, &object).await;
    created.map_err(|refused| {
        if refused.exists() {
            refused.in_the_way("workload", namespace, &queued.name)
        } else {
            refused
        }
    })
}

/// The number behind a priority class. Kueue wants it beside the name.
async fn priority(api: &Api, class: Option<&PriorityClass>) -> Result<i32, ApiError> {
    let Some(class) = class else { return Ok(0) };
    let found = api.cluster_object(class.resource(), class.name()).await?;
    let value = found["value"]
        .as_i64()
        .and_then(|value| i32::try_from(value).ok());
    Ok(value.unwrap_or_default())
}

/// The Workload as it is now, if it is still the one that was decided about.
async fn found(api: &Api, namespace: &str, name: &str, uid: &str) -> Result<Value, ApiError> {
    let found = api.workload(namespace, name).await?;
    if found["metadata"]["uid"] != uid {
        return Err(ApiError::unsent(format!("the Workload {name} was replaced")));
    }
    Ok(found)
}

/// Looks up where the pods of an admitted Workload may run, and writes it into an annotation before there is a pod.
async fn place(
    api: &Api,
    namespace: &str,
    name: &str,
    uid: &str,
) -> Result<Option<Box<WorkloadSeen>>, ApiError> {
    let found = found(api, namespace, name, uid).await?;
    let mut flavors = BTreeMap::new();
    for flavor in Placement::flavors(&found) {
        let object = api.cluster_object((API_VERSION, FLAVORS), &flavor).await?;
        flavors.insert(flavor, object);
    }
    let placement = Placement::of(&found, &flavors).map_err(ApiError::unsent)?;
    let change = json!({
        // Another admission may have followed.
        "metadata": {
            "uid": uid, "resourceVersion": found["metadata"]["resourceVersion"],
            "annotations": { PLACEMENT: placement.text() },
        },
    });
    api.correct_workload(namespace, name, &change).await
}
