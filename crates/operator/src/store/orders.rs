//! Objects that give orders to jobs, as far as they are known to exist.

use std::collections::BTreeMap;
use std::sync::Arc;

use trainyard_core::Order;

use super::entry::Entry;
use super::tracked::named_by_fields;
use super::{Source, Store};
use crate::job::{JobKey, JobSeen};
use crate::kinds::Kind;
use crate::order::OrderSeen;

named_by_fields!(OrderSeen);

impl Entry {
    /// The order of the oldest object that gives one to this job: a second one is obeyed when the first has been answered.
    pub(super) fn ordered(&self, job: &JobSeen) -> Option<Order> {
        let orders = job.key.kind.orders?;
        let meant = self
            .orders
            .all()
            .filter(|order| order.is_for(&job.uid, job.created));
        let first = meant.min_by_key(|order| (order.created, order.version, &order.uid))?;
        Some(Order {
            id: first.id(),
            what: (orders.meaning)(&first.text.action, job.status.as_ref()),
        })
    }

    /// Whether an object gives the order with that id.
    #[must_use]
    pub fn gives_order(&self, id: &str) -> bool {
        self.orders.all().any(|order| *order.id() == *id)
    }

    /// Name and UID of the objects that give orders, by the ids of these.
    #[must_use]
    pub fn order_objects(&self) -> BTreeMap<Arc<str>, (Arc<str>, Arc<str>)> {
        let named = |order: &OrderSeen| (Arc::clone(&order.name), Arc::clone(&order.uid));
        self.orders
            .all()
            .map(|order| (order.id(), named(order)))
            .collect()
    }
}

impl Store {
    /// A watch shows an object that gives an order to a job of this kind.
    pub fn order_seen(&mut self, kind: &'static Kind, order: OrderSeen) {
        let key = JobKey::of(kind, &order.namespace, &order.text.job);
        self.beside_seen(Source::Orders(kind), key, order, |entry| &mut entry.orders);
    }

    /// Such an object is gone: the next one may be obeyed now.
    pub fn order_gone(&mut self, kind: &'static Kind, order: &OrderSeen) {
        let key = JobKey::of(kind, &order.namespace, &order.text.job);
        self.beside_gone(Source::Orders(kind), &key, order, |entry| &mut entry.orders);
    }
}
