//! What is to be done about the Lease, from what is known of it. Pure.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;

/// How long a Lease lasts after its last renewal.
const LASTS: Duration = Duration::from_secs(15);
/// A holder that has not renewed for so long stops acting: well before another operator may begin.
const GIVES_UP: Duration = Duration::from_secs(10);
/// How often it is renewed.
const RENEWS: Duration = Duration::from_secs(5);

/// What is to be done.
#[derive(Debug)]
pub enum LeaseStep {
    /// Nothing before this.
    Wait(Instant),
    /// Write this, over the version it names; create it where it names none.
    Write(Box<Lease>),
    /// We have held it for longer than we may without renewing it.
    Lost,
}

/// What is known of the Lease.
#[derive(Debug)]
pub struct LeaseView {
    identity: String,
    lease: Option<Lease>,
    /// Whether we know if there is one.
    listed: bool,
    /// When it was last seen to change.
    changed: Option<Instant>,
    /// When we last wrote it as ours: the beginning of that request.
    renewed: Option<Instant>,
    retry_at: Option<Instant>,
}

impl LeaseView {
    /// Nothing yet.
    pub fn new(identity: String) -> Self {
        Self {
            identity,
            lease: None,
            listed: false,
            changed: None,
            renewed: None,
            retry_at: None,
        }
    }

    /// The Lease as it was last seen.
    pub fn lease(&self) -> Option<&Lease> {
        self.lease.as_ref()
    }

    /// Whether it is ours.
    pub fn leads(&self) -> bool {
        self.renewed.is_some() && self.lease.as_ref().and_then(held_by) == Some(&self.identity)
    }

    /// It is like this now, or it is gone. What is older than what is known is passed over.
    pub fn see(&mut self, lease: Option<Lease>, now: Instant) {
        self.listed = true;
        let version = |lease: &Option<Lease>| {
            crate::job::version(lease.as_ref()?.metadata.resource_version.as_deref()).into()
        };
        let (known, seen): (Option<u64>, Option<u64>) = (version(&self.lease), version(&lease));
        if known == seen || seen.is_some_and(|seen| Some(seen) < known) {
            return;
        }
        self.lease = lease;
        self.changed = Some(now);
    }

    /// All there was has been seen.
    pub fn listed(&mut self) {
        self.listed = true;
    }

    /// We wrote it; the request began then.
    pub fn wrote(&mut self, lease: Lease, begun: Instant) {
        self.see(Some(lease), begun);
        self.renewed = Some(begun);
        self.retry_at = None;
    }

    /// We could not write it.
    pub fn failed(&mut self, again: Instant) {
        self.retry_at = Some(again);
    }

    /// What is to be done now.
    pub fn turn(&self, now: Instant) -> LeaseStep {
        if let (true, Some(renewed)) = (self.leads(), self.renewed) {
            return self.renew(renewed, now);
        }
        if !self.listed {
            return LeaseStep::Wait(now + RENEWS);
        }
        let free = match &self.lease {
            None => now,
            Some(lease) if held_by(lease).is_none() => now,
            Some(lease) => self.changed.map_or(now, |changed| changed + lasts(lease)),
        };
        let due = self.retry_at.map_or(free, |again| free.max(again));
        if due > now {
            return LeaseStep::Wait(due);
        }
        LeaseStep::Write(Box::new(self.taken()))
    }

    fn renew(&self, renewed: Instant, now: Instant) -> LeaseStep {
        let end = renewed + GIVES_UP;
        if now >= end {
            return LeaseStep::Lost;
        }
        let due = self.retry_at.unwrap_or(renewed + RENEWS);
        if due > now {
            return LeaseStep::Wait(due.min(end));
        }
        let mut lease = self.lease.clone().unwrap_or_default();
        lease.spec.get_or_insert_default().renew_time = Some(micro_now());
        LeaseStep::Write(Box::new(lease))
    }

    fn taken(&self) -> Lease {
        let mut lease = self.lease.clone().unwrap_or_default();
        let before = lease.spec.take().unwrap_or_default();
        let transitions = i32::from(self.lease.is_some());
        lease.spec = Some(LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(i32::try_from(LASTS.as_secs()).unwrap_or(i32::MAX)),
            acquire_time: Some(micro_now()),
            renew_time: Some(micro_now()),
            lease_transitions: Some(
                before
                    .lease_transitions
                    .unwrap_or_default()
                    .saturating_add(transitions),
            ),
            ..before
        });
        lease
    }
}

/// Who holds it.
pub fn held_by(lease: &Lease) -> Option<&str> {
    let holder = lease.spec.as_ref()?.holder_identity.as_deref()?;
    Some(holder).filter(|holder| !holder.is_empty())
}

/// The Lease without a holder.
pub fn returned(mut lease: Lease) -> Lease {
    let spec = lease.spec.get_or_insert_default();
    spec.holder_identity = Some(String::new());
    spec.lease_duration_seconds = Some(1);
    spec.renew_time = Some(micro_now());
    lease
}

fn lasts(lease: &Lease) -> Duration {
    let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
    let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
    seconds.map_or(LASTS, Duration::from_secs)
}

fn micro_now() -> MicroTime {
    MicroTime(Timestamp::now())
}

#[cfg(test)]
mod tests;
