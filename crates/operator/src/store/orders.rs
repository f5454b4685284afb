//! Objects that give orders to jobs, as far as they are known to exist.

use std::collections::BTreeMap;
use std::sync::Arc;

use trainyard_core::Order;

use super::entry::Entry;
use super::tracked::Named;
use super::{Source, Store};
use crate::job::{JobKey, JobSeen};
use crate::kinds::Kind;
use crate::order::OrderSeen;

impl Named for OrderSeen {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn uid(&self) -> &Arc<str> {
        &self.uid
    }

    fn version(&self) -> u64 {
        self.version
    }
}

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
        let (source, key) = (Source::Orders(kind), key(kind, &order));
        self.list_shows(source, &order.uid);
        if let Some(before) = self.homes.settle(source, (&order.name, &order.uid), &key) {
            self.order_leaves(&before, &order);
        }
        let entry = self.entries.entry(key.clone()).or_default();
        if entry.orders.see(order, false) {
            self.enqueue(key);
        }
    }

    /// Such an object is gone.
    pub fn order_gone(&mut self, kind: &'static Kind, order: &OrderSeen) {
        let key = key(kind, order);
        self.homes.leave(Source::Orders(kind), &order.name, &key);
        self.order_leaves(&key, order);
    }

    fn order_leaves(&mut self, key: &JobKey, order: &OrderSeen) {
        if let Some(entry) = self.entries.get_mut(key)
            && entry.orders.lose(&order.name, &order.uid, entry.applying)
        {
            // The next one may be obeyed now.
            self.enqueue(key.clone());
        }
        self.drop_if_empty(key);
    }
}

/// The job that it is for.
fn key(kind: &'static Kind, order: &OrderSeen) -> JobKey {
    JobKey {
        kind,
        namespace: Arc::clone(&order.namespace),
        name: Arc::clone(&order.text.job),
    }
}
