//! Objects that a kind needs besides pods, Services and groups: created before the first pod, owned by the job, never adopted;
//! rewritten when the job changes, and deleted when it ends.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{ApplyError, Created, Report, Writes, creating, doing, name_of, owner};
use crate::api::{Api, ApiError, Owned};
use crate::board::CONTENT;
use crate::job::Compiled;
use crate::store::{ExtraSeen, Sort};

/// Creates what is missing, or finds that it is ours already, and rewrites what has changed.
pub async fn ensure(
    api: &Api,
    writes: &Writes,
    compiled: &Compiled,
    report: &mut Report,
) -> Result<(), ApplyError> {
    for object in &compiled.subject.objects {
        if writes.extras.iter().any(|extra| extra.is_right(object)) {
            continue;
        }
        let seen = one(api, writes, object).await.map_err(creating(Created::Extra))?;
        report.extras.push(seen);
    }
    report.looked_for_extras = true;
    Ok(())
}

/// The object as it should be.
async fn one(api: &Api, writes: &Writes, object: &Value) -> Result<ExtraSeen, ApiError> {
    let kind = object["kind"].as_str().unwrap_or_default();
    let sort = Sort::find(kind).ok_or_else(|| {
        ApiError::unsent(format!("the operator cannot create objects of the kind `{kind}`"))
    })?;
    let name = name_of(object);
    let content = sort.content(object);
    let seen = |uid: Arc<str>| ExtraSeen {
        sort,
        name: name.into(),
        uid,
        content: Arc::clone(&content),
    };
    let known = writes.extras.iter().find(|extra| extra.is(object));
    let may_exist = writes
        .listed_extras
        .iter()
        .any(|(one, of)| *one == sort && **of == *name);
    let there = match known {
        Some(known) => Some((Arc::clone(&known.uid), Some(Arc::clone(&known.content)))),
        None if may_exist => find(api, writes, sort, name).await?,
        None => None,
    };
    if let Some(there) = there {
        let uid = Arc::clone(&there.0);
        match rewrite(api, writes, (sort, object), there).await {
            Ok(()) => return Ok(seen(uid)),
            // It has been deleted, or replaced by another.
            Err(refused) if [404, 409].contains(&refused.code) => {}
            Err(refused) => return Err(refused),
        }
    }
    match create(api, writes, sort, object).await {
        Ok(uid) => Ok(seen(uid)),
        Err(refused) if refused.exists() => {
            let found = find(api, writes, sort, name).await?;
            let there = found.ok_or_else(|| refused.in_the_way(kind, &writes.key.namespace, name))?;
            let uid = Arc::clone(&there.0);
            rewrite(api, writes, (sort, object), there).await?;
            Ok(seen(uid))
        }
        Err(refused) => Err(refused),
    }
}

/// An object that is the job's: its UID, and what was last written into it.
type Found = (Arc<str>, Option<Arc<str>>);

/// Rewrites what follows the job, unless it is right.
async fn rewrite(
    api: &Api,
    writes: &Writes,
    (sort, object): (&Sort, &Value),
    (uid, written): Found,
) -> Result<(), ApiError> {
    let content = sort.content(object);
    let Some(field) = sort.follows.filter(|_| written.as_ref() != Some(&content)) else {
        return Ok(());
    };
    let change = json!({
        "metadata": { "uid": uid, "annotations": { CONTENT: content } }, field: object[field],
    });
    let what = (sort.api_version, sort.plural);
    api.correct(what, &writes.key.namespace, name_of(object), &change)
        .await
}

async fn create(api: &Api, writes: &Writes, sort: &Sort, object: &Value) -> Result<Arc<str>, ApiError> {
    let mut owned = object.clone();
    owned["metadata"]["ownerReferences"] = json!([owner(writes).reference()]);
    if sort.follows.is_some() {
        owned["metadata"]["annotations"][CONTENT] = (*sort.content(object)).into();
    }
    Ok(api.create(sort.plural, &owned).await?.uid)
}

/// The object of that name, if it exists and is the job's.
async fn find(api: &Api, writes: &Writes, sort: &Sort, name: &str) -> Result<Option<Found>, ApiError> {
    let what = (sort.api_version, sort.plural);
    match api.owned(what, &writes.key.namespace, name).await {
        Ok(Owned {
            uid,
            owner,
            annotations,
        }) => {
            let ours = owner.as_deref() == Some(&*writes.uid);
            Ok(ours.then(|| (uid, annotations[CONTENT].as_str().map(Arc::from))))
        }
        Err(refused) if refused.not_found() => Ok(None),
        Err(refused) => Err(refused),
    }
}

/// Deletes those that are the job's, and do not go with it.
pub async fn remove(api: &Api, writes: &Writes, report: &mut Report) -> Result<(), ApplyError> {
    let doing = || doing("delete an object that it needed");
    for extra in writes.extras.iter().filter(|extra| extra.sort.goes) {
        delete(api, writes, extra.sort, &extra.name, &extra.uid)
            .await
            .map_err(doing())?;
        report.removed_extras.push(extra.uid.clone());
    }
    for (sort, name) in &writes.listed_extras {
        let found = find(api, writes, sort, name).await.map_err(doing())?;
        if let Some((uid, _)) = found {
            delete(api, writes, sort, name, &uid).await.map_err(doing())?;
        }
    }
    report.looked_for_extras = true;
    Ok(())
}

async fn delete(api: &Api, writes: &Writes, sort: &Sort, name: &str, uid: &str) -> Result<(), ApiError> {
    let what = (sort.api_version, sort.plural);
    let deleted = api.delete_object(what, &writes.key.namespace, name, uid).await;
    let conflicts = deleted.as_ref().is_err_and(|refused| refused.code == 409);
    let remains = conflicts && find(api, writes, sort, name).await?.is_some();
    unless_replaced(deleted, remains)
}

/// The object does not exist any more. No watch shows these objects, so one that was replaced (409) would be deleted by its old UID for
/// ever: then it is looked at, and `remains` says that it is the job's still.
fn unless_replaced(deleted: Result<(), ApiError>, remains: bool) -> Result<(), ApiError> {
    deleted.or_else(|refused| {
        if refused.not_found() || refused.code == 409 && !remains {
            Ok(())
        } else {
            Err(refused)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_was_replaced_or_is_gone_is_deleted() {
        for (code, remains, deleted) in [
            (404, false, true),
            (409, false, true),
            (409, true, false),
            (403, false, false),
            (0, false, false),
            (500, false, false),
        ] {
            let refused = ApiError {
                code,
                ..ApiError::unsent(String::new())
            };
            assert_eq!(unless_replaced(Err(refused), remains).is_ok(), deleted, "{code}");
        }
        assert!(unless_replaced(Ok(()), false).is_ok());
    }
}
