//! Objects that a kind needs besides pods, Services and groups: created before the first pod, owned by the job, never adopted.

use serde_json::{Value, json};

use super::addresses::make;
use super::{ApplyError, Created, Report, Writes, creating, doing, name_of, owner};
use crate::api::{Api, ApiError};
use crate::job::Compiled;
use crate::store::ExtraSeen;

/// Kinds of objects that can be created, and their plurals.
const PLURALS: &[(&str, &str)] = &[
    ("ConfigMap", "configmaps"),
    ("PersistentVolumeClaim", "persistentvolumeclaims"),
    ("Service", "services"),
    ("NetworkPolicy", "networkpolicies"),
];

/// Creates what is missing, or finds that it is ours already.
pub async fn ensure(
    api: &Api,
    writes: &Writes,
    compiled: &Compiled,
    report: &mut Report,
) -> Result<(), ApplyError> {
    for object in &compiled.subject.objects {
        if writes.extras.iter().any(|extra| extra.is(object)) {
            continue;
        }
        let mut owned = object.clone();
        owned["metadata"]["ownerReferences"] = json!([owner(writes).reference()]);
        let plural = plural(object).map_err(creating(Created::Extra))?;
        let uid = make(api, writes, plural, &owned).await;
        report.extras.push(ExtraSeen {
            plural,
            api_version: text(object, "apiVersion").into(),
            kind: text(object, "kind").into(),
            name: name_of(object).into(),
            uid: uid.map_err(creating(Created::Extra))?,
        });
    }
    Ok(())
}

/// Deletes those that are known to be the job's; the others go with it.
pub async fn remove(api: &Api, writes: &Writes, report: &mut Report) -> Result<(), ApplyError> {
    for extra in &writes.extras {
        let what = (&*extra.api_version, extra.plural);
        let namespace = &writes.key.namespace;
        let deleted = api.delete_object(what, namespace, &extra.name, &extra.uid).await;
        unless_replaced(deleted).map_err(doing("delete an object that it needed"))?;
        report.removed_extras.push(extra.uid.clone());
    }
    Ok(())
}

fn plural(object: &Value) -> Result<&'static str, ApiError> {
    let kind = text(object, "kind");
    let known = PLURALS.iter().find(|(known, _)| *known == kind);
    known
        .map(|(_, plural)| *plural)
        .ok_or_else(|| ApiError::unsent(format!("the operator cannot create objects of the kind `{kind}`")))
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

/// The object does not exist any more. No watch shows these objects, so one that was replaced (409) would be deleted by its old UID for ever.
fn unless_replaced(deleted: Result<(), ApiError>) -> Result<(), ApiError> {
    deleted.or_else(|refused| {
        if [404, 409].contains(&refused.code) {
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
        for (code, deleted) in [(404, true), (409, true), (403, false), (0, false), (500, false)] {
            let refused = ApiError {
                code,
                ..ApiError::unsent(String::new())
            };
            assert_eq!(unless_replaced(Err(refused)).is_ok(), deleted, "{code}");
        }
        assert!(unless_replaced(Ok(())).is_ok());
    }
}
