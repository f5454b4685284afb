//! When things appeared: a watch of our own, on a thread of its own.

use std::collections::BTreeMap;
use std::path::Path;
use std::pin::pin;
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::future::{Either, select};
use http::Request;
use kube::core::WatchEvent;
use serde::Deserialize;
use tokio::sync::oneshot;
use trainyard_cluster_tests::Api;

use crate::trouble::Trouble;

/// What is read of an object.
#[derive(Clone, Debug, Deserialize)]
pub struct Shown {
    metadata: Meta,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    name: String,
    resource_version: String,
    deletion_timestamp: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    node_name: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Status {
    #[serde(default)]
    phase: String,
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

impl Shown {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// The node of a pod.
    pub fn node(&self) -> Option<&str> {
        self.spec.node_name.as_deref()
    }

    /// The phase of a pod.
    pub fn phase(&self) -> &str {
        &self.status.phase
    }

    /// Whether it is being deleted.
    pub fn is_deleting(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// Whether a condition of that type holds.
    pub fn is(&self, kind: &str) -> bool {
        let mut all = self.status.conditions.iter();
        all.any(|condition| condition.kind == kind && condition.status == "True")
    }
}

/// Names, and when each was first seen as one waits to see it.
type Seen = BTreeMap<String, Instant>;

/// What is shared with the thread.
type Noted = Arc<(Mutex<Seen>, Condvar)>;

/// A watch, which ends on drop: a leftover watch would slow down the next candidate.
#[derive(Debug)]
pub struct Watch {
    noted: Noted,
    _end: oneshot::Sender<()>,
}

/// What of each object is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// Its metadata alone.
    Metadata,
    /// All of it.
    Whole,
}

impl Watch {
    /// Notes when objects at that path are first seen to be so, of those that change from now on.
    pub fn begin(
        kubeconfig: &Path,
        path: &str,
        sent: Sent,
        so: impl Fn(&Shown) -> bool + Send + 'static,
    ) -> Result<Self, Trouble> {
        let api = Api::of(kubeconfig)?;
        let list = api.get(&format!("{path}?limit=1"))?;
        let version = list["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        let place = Place {
            path: path.to_owned(),
            version: version.to_owned(),
            accept: match sent {
                Sent::Metadata => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
                Sent::Whole => "application/json",
            },
        };
        let (ready, begun) = mpsc::channel();
        let (end, ended) = oneshot::channel();
        let noted = Noted::default();
        let shared = Arc::clone(&noted);
        thread::spawn(move || api.block_on(follow(&api, place, so, &shared, ready, ended)));
        begun.recv()??;
        Ok(Self { noted, _end: end })
    }

    /// Waits until so many have been seen; when the last of them was.
    pub fn wait(&self, count: usize, patience: Duration) -> Result<Instant, Trouble> {
        let (seen, news) = &*self.noted;
        let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = news.wait_timeout_while(seen, patience, |seen| seen.len() < count);
        let (seen, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            let seconds = patience.as_secs();
            return Err(Trouble::new(format!(
                "{} of {count} were seen after {seconds} s",
                seen.len()
            )));
        }
        seen.values()
            .max()
            .copied()
            .ok_or_else(|| Trouble::new("nothing was waited for"))
    }

    /// When each was seen.
    pub fn seen(&self) -> Seen {
        self.noted
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Where a watch is.
struct Place {
    path: String,
    version: String,
    accept: &'static str,
}

impl Place {
    fn request(&self) -> Result<Request<Vec<u8>>, http::Error> {
        let Self {
            path,
            version,
            accept,
        } = self;
        let uri = format!("{path}?watch=1&timeoutSeconds=3600&resourceVersion={version}");
        Request::get(uri)
            .header(http::header::ACCEPT, *accept)
            .body(Vec::new())
    }
}

/// Records events until the receiver is gone. The API server closes a watch that cannot keep up; it is resumed where it
/// stopped.
async fn follow(
    api: &Api,
    mut place: Place,
    so: impl Fn(&Shown) -> bool,
    noted: &Noted,
    ready: mpsc::Sender<Result<(), Trouble>>,
    mut ended: oneshot::Receiver<()>,
) {
    loop {
        let stream = match place.request() {
            Ok(request) => api
                .client()
                .request_events::<Shown>(request)
                .await
                .map_err(Trouble::from),
            Err(error) => Err(error.into()),
        };
        let mut stream = match stream {
            Ok(stream) => pin!(stream),
            // A caller that waits for more times out.
            Err(trouble) => return drop(ready.send(Err(trouble))),
        };
        // The caller waits for the first one only.
        let _ = ready.send(Ok(()));
        loop {
            match select(stream.next(), &mut ended).await {
                Either::Left((Some(Ok(event)), _)) if !matches!(event, WatchEvent::Error(_)) => {
                    note(&event, &so, noted, &mut place);
                }
                Either::Left((None | Some(Err(_)), _)) => break,
                // The history has expired, or the receiver is gone.
                Either::Left((Some(Ok(_)), _)) | Either::Right(_) => return,
            }
        }
    }
}

fn note(event: &WatchEvent<Shown>, so: &impl Fn(&Shown) -> bool, noted: &Noted, place: &mut Place) {
    let (WatchEvent::Added(shown) | WatchEvent::Modified(shown) | WatchEvent::Deleted(shown)) = event else {
        return;
    };
    place.version.clone_from(&shown.metadata.resource_version);
    if matches!(event, WatchEvent::Deleted(_)) || !so(shown) {
        return;
    }
    let (seen, news) = &**noted;
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    seen.entry(shown.metadata.name.clone())
        .or_insert_with(Instant::now);
    news.notify_all();
}
