//! A job's TensorBoard: created, never adopted, and deleted by its UID. What is refused concerns nothing else of the job.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Writes, name_of, owner, unless_gone};
use crate::api::{Api, ApiError, Made};
use crate::board::BoardObjects;
use crate::job::Compiled;
use crate::watched::BoardSeen;

/// The API version and plural of a Deployment.
const DEPLOYMENTS: (&str, &str) = ("apps/v1", "deployments");
/// Those of a Service.
const SERVICES: (&str, &str) = ("v1", "services");

/// What is to be done about a TensorBoard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoardWrite {
    /// Create what is missing.
    Create {
        /// The Service is not known to exist.
        service: bool,
        /// The Deployment does not exist.
        deployment: bool,
    },
    /// Delete its Deployment.
    Remove {
        /// Which one.
        uid: Arc<str>,
        /// Its Service goes too: no other Deployment takes its place.
        service: bool,
    },
}

/// What was done about a TensorBoard.
#[derive(Debug, Default)]
pub struct BoardReport {
    /// The Deployment exists now.
    pub made: Option<BoardSeen>,
    /// Whether the Service exists, where that is known now.
    pub has_service: Option<bool>,
    /// The UID of the Deployment that was deleted.
    pub removed: Option<Arc<str>>,
    /// What was refused: the rest was left undone.
    pub refused: Option<ApiError>,
}

/// Does what is to be done.
pub async fn write(api: &Api, writes: &Writes, compiled: &Compiled, write: &BoardWrite) -> BoardReport {
    let mut report = BoardReport::default();
    let done = match write {
        BoardWrite::Create { service, deployment } => {
            let wanted = compiled.board.as_deref();
            match wanted.and_then(|wanted| wanted.objects.as_ref().ok()) {
                Some(objects) => create(api, writes, objects, (*service, *deployment), &mut report).await,
                None => Ok(()),
            }
        }
        BoardWrite::Remove { uid, service } => remove(api, writes, (uid, *service), &mut report).await,
    };
    report.refused = done.err();
    report
}

async fn create(
    api: &Api,
    writes: &Writes,
    objects: &BoardObjects,
    (service, deployment): (bool, bool),
    report: &mut BoardReport,
) -> Result<(), ApiError> {
    let namespace = &writes.key.namespace;
    if service {
        let name = name_of(&objects.service);
        match api.create(SERVICES.1, &owned(writes, &objects.service)).await {
            Ok(_) => {}
            Err(refused) if refused.exists() => {
                let found = api.owned(SERVICES, namespace, name).await?;
                if found.owner.as_deref() != Some(&*writes.uid) {
                    return Err(refused.in_the_way("service", namespace, name));
                }
            }
            Err(refused) => return Err(refused),
        }
        report.has_service = Some(true);
    }
    if deployment {
        let name = name_of(&objects.deployment);
        let made = api
            .create(DEPLOYMENTS.1, &owned(writes, &objects.deployment))
            .await;
        // The watch shows one that is the job's: then it is not asked for again.
        let Made { uid, version } = made.map_err(|refused| {
            if refused.exists() {
                refused.in_the_way("deployment", namespace, name)
            } else {
                refused
            }
        })?;
        report.made = Some(BoardSeen {
            name: name.into(),
            namespace: Arc::clone(namespace),
            uid,
            version,
            job: Arc::clone(&writes.key.name),
            owner: Some(Arc::clone(&writes.uid)),
            content: Some(Arc::clone(&objects.content)),
            deleting: false,
            is_ready: false,
            trouble: None,
        });
    }
    Ok(())
}

fn owned(writes: &Writes, object: &Value) -> Value {
    let mut owned = object.clone();
    owned["metadata"]["ownerReferences"] = json!([owner(writes).reference()]);
    owned
}

/// The Service goes first: while its Deployment exists, it is known that something is left to delete.
async fn remove(
    api: &Api,
    writes: &Writes,
    (uid, service): (&Arc<str>, bool),
    report: &mut BoardReport,
) -> Result<(), ApiError> {
    let namespace = &writes.key.namespace;
    let name = trainyard_manifest::names::tensorboard(&writes.key.name);
    if service {
        match api.owned(SERVICES, namespace, &name).await {
            Ok(found) if found.owner.as_deref() == Some(&*writes.uid) => {
                let deleted = api.delete_object(SERVICES, namespace, &name, &found.uid).await;
                unless_gone(deleted)?;
            }
            Ok(_) => {}
            Err(refused) if refused.not_found() => {}
            Err(refused) => return Err(refused),
        }
        report.has_service = Some(false);
    }
    let deleted = api.delete_object(DEPLOYMENTS, namespace, &name, uid).await;
    unless_gone(deleted)?;
    report.removed = Some(Arc::clone(uid));
    Ok(())
}
