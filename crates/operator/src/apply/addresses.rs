//! What tasks find each other by: made before the first pod, removed after the last.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::Value;
use trainyard_manifest::task_pod::fixtures;

use super::{ApplyError, Created, Report, Writes, creating, doing, name_of, owner, unless_gone};
use crate::api::{Api, ApiError};
use crate::job::Compiled;
use crate::store::NeededObject;
use crate::watched::ServiceSeen;

/// Makes what is missing. The map of addresses, where there is one, comes first: that the Services are there then means that
/// everything is.
pub async fn ensure(
    api: &Api,
    writes: &Writes,
    compiled: &Compiled,
    report: &mut Report,
) -> Result<(), ApplyError> {
    let missing: BTreeSet<&NeededObject> = writes.missing.iter().collect();
    let mut objects = fixtures(&compiled.subject, &compiled.map, &owner(writes));
    objects.retain(|(plural, object)| missing.contains(&NeededObject::of(plural, name_of(object))));
    let (maps, services): (Vec<_>, Vec<_>) = objects.iter().partition(|(plural, _)| *plural == "configmaps");
    for (plural, object) in maps {
        if let Err(refused) = make(api, writes, plural, object).await {
            return Err(creating(Created::ConfigMap)(refused));
        }
        report.maps.push(name_of(object).into());
    }
    let made = join_all(services.iter().map(|(_, object)| service(api, writes, object))).await;
    let (made, mut refused): (Vec<_>, Vec<_>) = made.into_iter().partition(Result::is_ok);
    report.services.extend(made.into_iter().flatten());
    match refused.pop() {
        Some(Err(refused)) => Err(creating(Created::Service)(refused)),
        _ => Ok(()),
    }
}

async fn service(api: &Api, writes: &Writes, object: &Value) -> Result<ServiceSeen, ApiError> {
    Ok(ServiceSeen {
        uid: make(api, writes, "services", object).await?,
        name: name_of(object).into(),
        namespace: Arc::clone(&writes.key.namespace),
        job: Arc::clone(&writes.key.name),
        owner: Some(Arc::clone(&writes.uid)),
    })
}

/// Makes a shared object, or finds that it is ours already; gives its UID.
async fn make(
    api: &Api,
    writes: &Writes,
    plural: &'static str,
    object: &Value,
) -> Result<Arc<str>, ApiError> {
    match api.create(plural, object).await {
        Ok(made) => Ok(made.uid),
        Err(refused) if refused.exists() => {
            // Services and maps are objects of the core group.
            let there = api
                .owned(("v1", plural), &writes.key.namespace, name_of(object))
                .await?;
            if there.owner.as_deref() == Some(&*writes.uid) {
                Ok(there.uid)
            } else {
                let kind = plural.trim_end_matches('s');
                Err(refused.in_the_way(kind, &writes.key.namespace, name_of(object)))
            }
        }
        Err(refused) => Err(refused),
    }
}

/// Nothing needs its Services any more; the map of addresses goes with the job.
pub async fn remove(api: &Api, writes: &Writes, report: &mut Report) -> Result<(), ApplyError> {
    let one = |(name, uid): &(Arc<str>, Arc<str>)| {
        let (name, uid) = (Arc::clone(name), Arc::clone(uid));
        async move {
            let what = ("v1", "services");
            let deleted = api.delete_object(what, &writes.key.namespace, &name, &uid).await;
            unless_gone(deleted).map(|()| uid)
        }
    };
    let mut first = Ok(());
    for removed in join_all(writes.services.iter().map(one)).await {
        match removed {
            Ok(uid) => report.removed.push(uid),
            Err(refused) if first.is_ok() => first = Err(doing("delete a Service of its")(refused)),
            Err(_) => {}
        }
    }
    first
}
