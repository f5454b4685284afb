//! Orders for a job.
//!
//! A job of any kind is ordered by an annotation on it: `trainyard.dev/order: <id>/<Restart|Stop>`. The annotation is the user's and stays. Memory holds the ids of the last orders that were obeyed, so each is obeyed once, also if its
//! annotation is removed or replaced and then put back; another id is another order.
//!
//! A kind may also have objects that give orders ([`OrderApi`]). Such an object is deleted when its order is in the stored memory; an operator
//! that dies in between finds it there, obeyed already, and deletes it. Of several the oldest is seen first, and alone.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use kube::core::DynamicObject;
use serde_json::Value;
use trainyard_core::{Order, Ordered, Time};
use trainyard_dialect::order::{ALLOWED, ANNOTATION, parse};
use trainyard_document::problem::shown;

use crate::job::version;

/// Comes before the UID of an object in the id of its order. No id of an annotation has a slash.
const OBJECT: &str = "object/";

/// Objects that give orders to jobs of a kind.
pub struct OrderApi {
    /// The API group.
    pub group: &'static str,
    /// Its version.
    pub version: &'static str,
    /// `group/version`.
    pub api_version: &'static str,
    /// The kind of the objects.
    pub kind: &'static str,
    /// Their plural.
    pub plural: &'static str,
    /// What an object orders; none where it is about something else.
    pub read: fn(&Value) -> Option<OrderText>,
    /// What an action means for a job with that status.
    pub meaning: fn(&str, Option<&Value>) -> Ordered,
}

impl fmt::Debug for OrderApi {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.plural)
    }
}

/// What an object says that gives an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderText {
    /// The name of the job.
    pub job: Arc<str>,
    /// Which job of that name; none where the object does not say.
    pub job_uid: Option<Arc<str>>,
    /// What to do, in the kind's own word.
    pub action: Arc<str>,
}

/// An object that gives an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderSeen {
    /// Its name.
    pub name: Arc<str>,
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its UID.
    pub uid: Arc<str>,
    /// Its version.
    pub version: u64,
    /// When it was created.
    pub created: Time,
    /// What it says.
    pub text: OrderText,
}

impl OrderSeen {
    /// What is kept of an object; none where it gives no order that could be obeyed.
    #[must_use]
    pub fn of(api: &OrderApi, object: &DynamicObject) -> Option<Self> {
        let metadata = &object.metadata;
        let text = |text: Option<&String>| Arc::<str>::from(text.map_or("", String::as_str));
        let created = metadata.creation_timestamp.as_ref();
        Some(Self {
            name: text(metadata.name.as_ref()),
            namespace: text(metadata.namespace.as_ref()),
            uid: text(metadata.uid.as_ref()),
            version: version(metadata.resource_version.as_deref()),
            created: Time(created.map_or(0, |time| u64::try_from(time.0.as_second()).unwrap_or_default())),
            text: (api.read)(&object.data)?,
        })
    }

    /// The id of its order.
    #[must_use]
    pub fn id(&self) -> Arc<str> {
        format!("{OBJECT}{}", self.uid).into()
    }

    /// Whether it is about the job with that UID. One that gives none is about the job of that name that existed when it was created.
    #[must_use]
    pub fn is_for(&self, uid: &Arc<str>, created: Time) -> bool {
        match &self.text.job_uid {
            Some(meant) => meant == uid,
            None => self.created >= created,
        }
    }
}

/// The order that the annotations of a job give; an error says why theirs is none.
#[must_use]
pub fn read(annotations: Option<&BTreeMap<String, String>>) -> Option<Result<Order, Arc<str>>> {
    let text = annotations?.get(ANNOTATION)?;
    let order = parse(text).ok_or_else(|| {
        let shown = shown(text);
        format!("the annotation {ANNOTATION} is `{shown}`, which is not an order: it must be {ALLOWED}")
            .into()
    });
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_gives_an_order_or_a_reason() {
        let read = |text: &str| {
            let annotations = BTreeMap::from([(ANNOTATION.to_owned(), text.to_owned())]);
            read(Some(&annotations))
        };
        let order = read("a/Restart").unwrap().unwrap();
        assert_eq!(order.what, Ordered::RestartJob { paid: false });
        let error = read("a/restart").unwrap().unwrap_err();
        assert!(error.contains("`a/restart`, which is not an order"), "{error}");
        assert_eq!(super::read(None), None);
        assert_eq!(super::read(Some(&BTreeMap::new())), None);
    }
}
