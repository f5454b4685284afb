//! Who acts: of several operators the one that holds the Lease.
//!
//! The holder renews it; the others watch it and take it when it is given back, or when it has not changed for as long as
//! it says it lasts. Only our own clock counts, and only from when we saw a change, so clocks may differ. Every
//! write stands on the version it was decided from: of two that reach for it, one gets it.
//!
//! An operator that cannot renew stops acting before another may begin.

mod view;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use k8s_openapi::api::coordination::v1::Lease;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use crate::notice::{Notice, Observer};

use self::view::{LeaseStep, LeaseView, held_by, returned};

/// A request that takes longer counts as failed.
const PATIENCE: Duration = Duration::from_secs(4);
/// After a request that failed.
const AGAIN: Duration = Duration::from_secs(1);

/// Which Lease, and by which name we hold it.
#[derive(Clone, Debug)]
pub struct LeaseId {
    /// Its namespace; the client's own where there is none.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// What we call ourselves: no two operators may use the same name.
    pub identity: String,
}

/// How we stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leadership {
    /// Another operator acts, or none does.
    Standby {
        /// Who holds the Lease, as far as we know.
        leader: Option<String>,
    },
    /// We act.
    Leading,
    /// We have acted and may not any more.
    Lost,
}

/// Holds the Lease whenever it can be had, until `stop` says so; then gives it back.
pub async fn hold(
    client: Client,
    lease_id: LeaseId,
    leadership: watch::Sender<Leadership>,
    stop: watch::Receiver<bool>,
    observer: Arc<dyn Observer>,
) {
    let namespace = lease_id.namespace.as_deref();
    let namespace = namespace.unwrap_or_else(|| client.default_namespace()).to_owned();
    let leases: Api<Lease> = Api::namespaced(client, &namespace);
    let only = watcher::Config::default().fields(&format!("metadata.name={}", lease_id.name));
    let news = watcher(leases.clone(), only).default_backoff().boxed();
    let mut holder = Holder {
        leases,
        known: LeaseView::new(lease_id.identity),
        name: lease_id.name,
        leadership,
        next: Instant::now(),
        observer,
        complaint: String::new(),
    };
    holder.run(news, stop).await;
}

struct Holder {
    leases: Api<Lease>,
    name: String,
    known: LeaseView,
    leadership: watch::Sender<Leadership>,
    /// When something is to be done by itself.
    next: Instant,
    observer: Arc<dyn Observer>,
    /// What has been complained of and still holds.
    complaint: String,
}

type LeaseWatch = Pin<Box<dyn Stream<Item = watcher::Result<watcher::Event<Lease>>> + Send>>;

impl Holder {
    async fn run(&mut self, mut news: LeaseWatch, mut stop: watch::Receiver<bool>) {
        loop {
            tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => break,
                Some(event) = news.next() => self.handle(event),
                () = sleep_until(self.next) => {}
            }
            match self.known.turn(Instant::now()) {
                LeaseStep::Wait(until) => self.next = until,
                LeaseStep::Lost => {
                    self.tell(Leadership::Lost);
                    return;
                }
                LeaseStep::Write(lease) => self.write(*lease).await,
            }
            self.tell_where_we_stand();
        }
        if self.known.leads() {
            self.give_back().await;
        }
    }

    fn handle(&mut self, event: watcher::Result<watcher::Event<Lease>>) {
        use watcher::Event::{Apply, Delete, InitApply, InitDone};
        match event {
            Ok(Apply(lease) | InitApply(lease)) => self.see(Some(lease)),
            Ok(Delete(_)) => self.see(None),
            Ok(InitDone) => self.known.listed(),
            // The watch begins again by itself, and until it does what we know grows old.
            Err(watcher::Error::InitialListFailed(kube::Error::Api(status))) => {
                self.complain(&status.message);
            }
            Ok(_) | Err(_) => {}
        }
    }

    /// The Lease as the API server shows it.
    fn see(&mut self, lease: Option<Lease>) {
        self.known.see(lease, Instant::now());
    }

    async fn write(&mut self, lease: Lease) {
        let begun = Instant::now();
        let options = kube::api::PostParams::default();
        let known = lease.metadata.resource_version.is_some();
        let written = if known {
            timeout(PATIENCE, self.leases.replace(&self.name, &options, &lease)).await
        } else {
            let mut lease = lease;
            lease.metadata.name = Some(self.name.clone());
            timeout(PATIENCE, self.leases.create(&options, &lease)).await
        };
        match written {
            Ok(Ok(stored)) => {
                self.complaint.clear();
                self.known.wrote(stored, begun);
            }
            // Another operator was faster. A Lease that cannot be made since there is no such namespace is another matter.
            Ok(Err(kube::Error::Api(status))) if status.code == 409 || (status.code == 404 && known) => {
                self.reread().await;
            }
            Ok(Err(kube::Error::Api(status))) => self.failed(&status.message),
            Ok(Err(error)) => self.failed(&error.to_string()),
            Err(_) => self.failed("there was no answer"),
        }
    }

    /// Tries again later.
    fn failed(&mut self, why: &str) {
        self.complain(why);
        self.known.failed(Instant::now() + AGAIN);
    }

    /// Says it once, as long as it holds.
    fn complain(&mut self, why: &str) {
        if self.complaint != why {
            why.clone_into(&mut self.complaint);
            self.observer.notice(&Notice::LeaseRefused { why });
        }
    }

    async fn reread(&mut self) {
        match timeout(PATIENCE, self.leases.get_opt(&self.name)).await {
            Ok(Ok(lease)) => self.see(lease),
            _ => self.known.failed(Instant::now() + AGAIN),
        }
    }

    /// Lets others begin at once. If it fails they wait as for one that has crashed.
    async fn give_back(&mut self) {
        if let Some(lease) = self.known.lease() {
            let options = kube::api::PostParams::default();
            let lease = returned(lease.clone());
            let _ = timeout(PATIENCE, self.leases.replace(&self.name, &options, &lease)).await;
        }
    }

    fn tell_where_we_stand(&self) {
        if self.known.leads() {
            self.tell(Leadership::Leading);
        } else if *self.leadership.borrow() == Leadership::Leading {
            // Another operator took it.
            self.tell(Leadership::Lost);
        } else {
            let leader = self.known.lease().and_then(held_by).map(str::to_owned);
            self.tell(Leadership::Standby { leader });
        }
    }

    fn tell(&self, leadership: Leadership) {
        self.leadership.send_if_modified(|known| {
            let changed = *known != leadership && *known != Leadership::Lost;
            if changed {
                *known = leadership;
            }
            changed
        });
    }
}
