//! Objects that gave an order which has been obeyed.

use std::sync::Arc;

use super::{ApplyError, Report, Writes, doing, unless_gone};
use crate::api::Api;

/// Deletes one. An order by annotation is answered by the memory that was stored: the annotation is the user's.
pub async fn delete(
    api: &Api,
    writes: &Writes,
    id: &Arc<str>,
    report: &mut Report,
) -> Result<(), ApplyError> {
    let (Some(orders), Some((name, uid))) = (writes.key.kind.orders, writes.orders.get(id)) else {
        return Ok(());
    };
    let what = (orders.api_version, orders.plural);
    let deleted = api.delete_object(what, &writes.key.namespace, name, uid).await;
    unless_gone(deleted).map_err(doing("delete an order that was obeyed"))?;
    report.answered.push(Arc::clone(uid));
    Ok(())
}
