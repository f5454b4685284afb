//! Objects that a kind needs besides pods, Services and groups: created before the first pod, owned by the job, never adopted;
//! rewritten when the job changes, and deleted when it ends.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{ApplyError, Created, Report, Writes, creating, doing, name_of, owner};
use crate::api::{Api, ApiError, Made, Owned};
use crate::board::CONTENT;
use crate::job::Compiled;
use crate::store::extras::surplus;
use crate::store::{ExtraSeen, Listed, Sort};

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
    remove_surplus(api, writes, &compiled.subject.objects, report).await?;
    report.looked_for_extras = true;
    Ok(())
}

/// Deletes what the job does not ask for any more, and no pod refers to.
async fn remove_surplus(
    api: &Api,
    writes: &Writes,
    wanted: &[Value],
    report: &mut Report,
) -> Result<(), ApplyError> {
    for extra in surplus(&writes.extras, wanted) {
        remove_known(api, writes, extra, report).await?;
    }
    let is_wanted = |(sort, name): &Listed| {
        wanted
            .iter()
            .any(|wanted| wanted["kind"] == sort.kind && name_of(wanted) == &**name)
    };
    for listed in &writes.listed_extras {
        if listed.0.stands_alone && !is_wanted(listed) {
            remove_listed(api, writes, listed).await?;
        }
    }
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
    let seen = |Made { uid, version }| ExtraSeen {
        sort,
        name: name.into(),
        uid,
        version,
        content: Arc::clone(&content),
    };
    let known = writes.extras.iter().find(|extra| extra.is(object));
    let may_exist = writes
        .listed_extras
        .iter()
        .any(|(one, of)| *one == sort && **of == *name);
    let there = match known {
        Some(known) => Some(Found {
            made: Made {
                uid: Arc::clone(&known.uid),
                version: known.version,
            },
            content: Some(Arc::clone(&known.content)),
        }),
        None if may_exist => find(api, writes, sort, name).await?,
        None => None,
    };
    if let Some(there) = there {
        match rewrite(api, writes, (sort, object), there).await {
            Ok(made) => return Ok(seen(made)),
            // It has been deleted, or replaced by another.
            Err(refused) if [404, 409].contains(&refused.code) => {}
            Err(refused) => return Err(refused),
        }
    }
    match create(api, writes, sort, object).await {
        Ok(made) => Ok(seen(made)),
        Err(refused) if refused.exists() => {
            let found = find(api, writes, sort, name).await?;
            let there = found.ok_or_else(|| refused.in_the_way(kind, &writes.key.namespace, name))?;
            rewrite(api, writes, (sort, object), there).await.map(seen)
        }
        Err(refused) => Err(refused),
    }
}

/// An object that is the job's.
struct Found {
    /// Which one, and its version as far as it is known.
    made: Made,
    /// What it says, where that is known.
    content: Option<Arc<str>>,
}

/// Rewrites what follows the job, unless it is right.
async fn rewrite(
    api: &Api,
    writes: &Writes,
    (sort, object): (&Sort, &Value),
    there: Found,
) -> Result<Made, ApiError> {
    let content = sort.content(object);
    let Some(field) = sort.follows.filter(|_| there.content.as_ref() != Some(&content)) else {
        return Ok(there.made);
    };
    let uid = &there.made.uid;
    if sort.stands_alone {
        let mut whole = owned(writes, object);
        whole["metadata"]["uid"] = (**uid).into();
        return api.replace(sort.plural, &whole).await;
    }
    let change = json!({
        "metadata": { "uid": uid, "annotations": { CONTENT: content } }, field: object[field],
    });
    let what = (sort.api_version, sort.plural);
    api.correct(what, &writes.key.namespace, name_of(object), &change)
        .await?;
    Ok(there.made)
}

fn owned(writes: &Writes, object: &Value) -> Value {
    let mut owned = object.clone();
    owned["metadata"]["ownerReferences"] = json!([owner(writes).reference()]);
    owned
}

async fn create(api: &Api, writes: &Writes, sort: &Sort, object: &Value) -> Result<Made, ApiError> {
    let mut owned = owned(writes, object);
    if sort.follows.is_some() && !sort.stands_alone {
        owned["metadata"]["annotations"][CONTENT] = (*sort.content(object)).into();
    }
    api.create(sort.plural, &owned).await
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
            Ok(ours.then(|| Found {
                made: Made { uid, version: 0 },
                content: annotations[CONTENT].as_str().map(Arc::from),
            }))
        }
        Err(refused) if refused.not_found() => Ok(None),
        Err(refused) => Err(refused),
    }
}

/// Deletes those that are the job's, and do not go with it.
pub async fn remove(api: &Api, writes: &Writes, report: &mut Report) -> Result<(), ApplyError> {
    for extra in writes.extras.iter().filter(|extra| extra.sort.goes) {
        remove_known(api, writes, extra, report).await?;
    }
    for listed in &writes.listed_extras {
        remove_listed(api, writes, listed).await?;
    }
    report.looked_for_extras = true;
    Ok(())
}

const REMOVING: &str = "delete an object that it needed";

async fn remove_known(
    api: &Api,
    writes: &Writes,
    extra: &ExtraSeen,
    report: &mut Report,
) -> Result<(), ApplyError> {
    let deleted = delete(api, writes, extra.sort, &extra.name, &extra.uid).await;
    deleted.map_err(doing(REMOVING))?;
    report.removed_extras.push(extra.uid.clone());
    Ok(())
}

/// Deletes an object that may exist, if it is the job's.
async fn remove_listed(api: &Api, writes: &Writes, (sort, name): &Listed) -> Result<(), ApplyError> {
    let found = match find(api, writes, sort, name).await {
        // The operator may not look at such objects any more, or never could: a status is the tenant's to write. It goes with the job.
        Err(refused) if refused.code == 403 && sort.stands_alone => None,
        found => found.map_err(doing(REMOVING))?,
    };
    if let Some(Found { made, .. }) = found {
        let deleted = delete(api, writes, sort, name, &made.uid).await;
        deleted.map_err(doing(REMOVING))?;
    }
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
