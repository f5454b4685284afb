//! Drives one pod: writes what scheduler and kubelet would write.

use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::watch;

use super::requests::Requests;
use super::script::{Disruption, ProgramEnd, Script};
use super::{Assigned, Shared};
use crate::api::Refused;
use crate::player::status;

/// Seconds of grace where the pod does not say.
const GRACE: u64 = 30;
/// The code of a program that is told to stop, and of one that is killed.
const TERMINATED: i32 = 143;
const KILLED: i32 = 137;
/// The code of a program that could not be started.
const NOT_STARTED: i32 = 128;

/// Drives one pod from its creation until it is gone.
pub struct PodDriver {
    shared: Arc<Shared>,
    requests: Requests,
    /// The pod as it is now; none when it is gone.
    hears: watch::Receiver<Option<Value>>,
    name: String,
    uid: String,
    path: String,
}

/// What comes next for a pod that runs or has ended.
enum Next {
    Told,
    Gone,
    Ends(ProgramEnd),
    Happens(Disruption),
}

/// An error ends the script early: the pod is gone, or another pod has its name.
type Played<T> = Result<T, Refused>;

impl PodDriver {
    pub fn new(shared: Arc<Shared>, requests: Requests, hears: watch::Receiver<Option<Value>>) -> Self {
        let (name, uid) = {
            let pod = hears.borrow();
            let text = |field: &str| {
                let pod = pod.as_ref().unwrap_or(&Value::Null);
                pod["metadata"][field].as_str().unwrap_or_default().to_owned()
            };
            (text("name"), text("uid"))
        };
        Self {
            path: format!("/api/v1/namespaces/{}/pods/{name}", shared.namespace),
            shared,
            requests,
            hears,
            name,
            uid,
        }
    }

    /// Until the pod is gone.
    pub async fn play(mut self) {
        // A request is refused when the pod is gone meanwhile: then its script is over.
        let _ = self.whole().await;
    }

    async fn whole(&mut self) -> Played<()> {
        if self.script().no_node {
            return Ok(());
        }
        match self.shared.node.clone() {
            Some(node) if self.pod()["spec"]["nodeName"].is_null() => {
                self.requests.bind(&self.path, &self.name, &node).await?;
            }
            Some(_) => {}
            None => {
                // A pod without a node is gone as soon as it is deleted.
                let bound = |pod: &Option<Value>| {
                    let node = pod.as_ref().map(|pod| pod["spec"]["nodeName"].is_string());
                    node.unwrap_or(true)
                };
                if self.hears.wait_for(bound).await.map_or(true, |pod| pod.is_none()) {
                    return Ok(());
                }
            }
        }
        if let Some(late) = self.script().late.get(&self.programs()).copied() {
            let start = Instant::now() + Duration::from_secs(late.into());
            if !matches!(
                self.next(Some((start, ProgramEnd::Code(0))), false).await,
                Next::Ends(_)
            ) {
                return self.leave(TERMINATED).await;
            }
        }
        if self.start(false).await? {
            self.running().await
        } else {
            self.ended().await
        }
    }

    /// Starts a program, again where one has ended in place; false if it has ended by now.
    async fn start(&mut self, again: bool) -> Played<bool> {
        let number = self.count_program();
        let end = self.script().ends.get(&number).copied();
        match end {
            Some((_, ProgramEnd::NotStarted)) => {
                self.change(|pod, status| {
                    status::exited(pod, status, 128, None);
                    status::reason(status, "StartError");
                })
                .await?;
                Ok(false)
            }
            Some((_, ProgramEnd::Rejected)) => {
                self.change(|_, status| status::rejected(status)).await?;
                Ok(false)
            }
            Some((_, ProgramEnd::Init(code))) => {
                let again = self.starts_again(code.unwrap_or(NOT_STARTED));
                self.change(|pod, status| status::init_failed(pod, status, code, again))
                    .await?;
                if again {
                    return Box::pin(self.start(false)).await;
                }
                Ok(false)
            }
            // Ended before a watch could show it running.
            Some((0, ProgramEnd::Code(code))) if !again && !self.starts_again(code) => {
                self.change(|pod, status| status::exited(pod, status, code, None))
                    .await?;
                Ok(false)
            }
            _ if again => Ok(true),
            _ => {
                self.change(status::running).await?;
                Ok(true)
            }
        }
    }

    async fn running(&mut self) -> Played<()> {
        loop {
            let number = self.programs().saturating_sub(1);
            let end = self.script().ends.get(&number).copied();
            let end = end.map(|(after, end)| (Instant::now() + Duration::from_secs(after.into()), end));
            let end = match self.next(end, true).await {
                Next::Gone => return Ok(()),
                Next::Told => return self.leave(TERMINATED).await,
                Next::Happens(disruption) => return self.suffer(disruption).await,
                Next::Ends(end) => end,
            };
            let code = match end {
                ProgramEnd::Code(code) => code,
                ProgramEnd::OutOfMemory
                | ProgramEnd::NotStarted
                | ProgramEnd::Init(_)
                | ProgramEnd::Rejected => KILLED,
            };
            if !self.starts_again(code) {
                return self.finish(end, code).await;
            }
            self.change(|_, status| status::restarted(status, code)).await?;
            self.start(true).await?;
        }
    }

    /// The program has ended for good.
    async fn finish(&mut self, end: ProgramEnd, code: i32) -> Played<()> {
        let only = self.script().lingers.then_some("tensorflow");
        self.change(|pod, status| {
            status::exited(pod, status, code, only);
            if end == ProgramEnd::OutOfMemory {
                status::reason(status, "OOMKilled");
            }
        })
        .await?;
        self.ended().await
    }

    async fn ended(&mut self) -> Played<()> {
        match self.next(None, false).await {
            // Nothing but its removal happens to what has ended.
            Next::Happens(_) => self.requests.delete(&self.path, &self.uid, true).await.map(drop),
            // Only what lingers has to be told; what has ended is removed by the API server itself.
            Next::Told => self.leave(TERMINATED).await,
            Next::Gone | Next::Ends(_) => Ok(()),
        }
    }

    async fn suffer(&mut self, disruption: Disruption) -> Played<()> {
        match disruption {
            Disruption::Drain(code) => {
                self.requests.evict(&self.path, &self.name).await?;
                self.leave(code).await
            }
            Disruption::Preempt(code) => {
                self.change(|_, status| status::disrupted(status, "PreemptionByScheduler"))
                    .await?;
                self.requests.delete(&self.path, &self.uid, false).await?;
                self.leave(code).await
            }
            Disruption::Delete(code) => {
                self.requests.delete(&self.path, &self.uid, false).await?;
                self.leave(code).await
            }
            Disruption::Evict => {
                self.change(status::evicted).await?;
                self.ended().await
            }
            Disruption::Vanish | Disruption::Remove => {
                self.requests.delete(&self.path, &self.uid, true).await.map(drop)
            }
            Disruption::LoseNode(back) => {
                self.change(|_, status| {
                    status::silent(status);
                    status::disrupted(status, "DeletionByTaintManager");
                })
                .await?;
                self.requests.delete(&self.path, &self.uid, false).await?;
                self.away(back).await
            }
        }
    }

    /// The kubelet does not report until the node is back.
    async fn away(&mut self, back: Option<u32>) -> Played<()> {
        let Some(back) = back else { return Ok(()) };
        tokio::time::sleep(Duration::from_secs(back.into())).await;
        self.end(KILLED).await
    }

    /// Told to stop: it ends in its own time, or is killed when its grace is over; then the object goes.
    async fn leave(&mut self, code: i32) -> Played<()> {
        let grace = self.pod()["metadata"]["deletionGracePeriodSeconds"]
            .as_u64()
            .unwrap_or(GRACE);
        let heeds = u64::from(self.script().heeds_after.unwrap_or(1));
        let over = Instant::now() + Duration::from_secs(heeds.min(grace));
        tokio::select! {
            () = until(over) => {}
            () = gone(&mut self.hears) => return Ok(()),
        }
        self.end(if heeds > grace { KILLED } else { code }).await
    }

    async fn end(&mut self, code: i32) -> Played<()> {
        self.change(|pod, status| status::exited(pod, status, code, None))
            .await?;
        self.requests.delete(&self.path, &self.uid, true).await.map(drop)
    }

    /// What comes next: the program's own end, something that happens to the pod, or that it is told to go.
    async fn next(&mut self, end: Option<(Instant, ProgramEnd)>, running: bool) -> Next {
        let disruption = self.next_deed(running);
        let at = disruption.map(|(at, _)| at);
        let (mut first, mut second) = (self.hears.clone(), self.hears.clone());
        tokio::select! {
            () = gone(&mut first) => Next::Gone,
            () = told(&mut second) => Next::Told,
            () = until_some(at) => Next::Happens(self.take_deed(running).unwrap_or(Disruption::Vanish)),
            () = until_some(end.map(|(at, _)| at)) => Next::Ends(end.map_or(ProgramEnd::Code(0), |(_, end)| end)),
        }
    }

    fn next_deed(&self, running: bool) -> Option<(Instant, Disruption)> {
        self.assigned(|assigned| {
            let position = assigned.fitting(running)?;
            let (at, disruption) = *assigned.script.disruptions.get(position)?;
            Some((assigned.begin + Duration::from_secs(at.into()), disruption))
        })
        .flatten()
    }

    fn take_deed(&self, running: bool) -> Option<Disruption> {
        self.assigned(|assigned| {
            let position = assigned.fitting(running)?;
            Some(assigned.script.disruptions.remove(position).1)
        })
        .flatten()
    }

    fn starts_again(&self, code: i32) -> bool {
        match self.pod()["spec"]["restartPolicy"].as_str() {
            Some("Always") => true,
            Some("OnFailure") => code != 0,
            _ => false,
        }
    }

    async fn change(&self, change: impl Fn(&Value, &mut Value)) -> Played<()> {
        let known = self.pod();
        self.requests.change(&self.path, &known, change).await
    }

    /// The pod as it was last seen.
    fn pod(&self) -> Value {
        self.hears.borrow().clone().unwrap_or_default()
    }

    fn script(&self) -> Script {
        self.assigned(|assigned| assigned.script.clone())
            .unwrap_or_default()
    }

    /// How many programs have been started under this name.
    fn programs(&self) -> u32 {
        self.assigned(|assigned| assigned.programs).unwrap_or_default()
    }

    /// Counts one more program and returns its number.
    fn count_program(&self) -> u32 {
        self.assigned(|assigned| {
            assigned.programs += 1;
            assigned.programs - 1
        })
        .unwrap_or_default()
    }

    fn assigned<T>(&self, look: impl FnOnce(&mut Assigned) -> T) -> Option<T> {
        let mut assigned = self.shared.locked(&self.shared.assigned);
        assigned.get_mut(&self.name).map(look)
    }
}

impl Assigned {
    /// The first disruption that can happen to a pod that runs, or to one that has ended.
    fn fitting(&self, running: bool) -> Option<usize> {
        let fitting =
            |(_, (_, disruption)): &(usize, &(u32, Disruption))| disruption.to_the_ended() != running;
        let all = self.script.disruptions.iter().enumerate().filter(fitting);
        all.min_by_key(|(_, (at, _))| *at).map(|(position, _)| position)
    }
}

async fn until(at: Instant) {
    tokio::time::sleep_until(at.into()).await;
}

async fn until_some(at: Option<Instant>) {
    match at {
        Some(at) => until(at).await,
        None => pending().await,
    }
}

/// Ends when the pod is gone.
async fn gone(hears: &mut watch::Receiver<Option<Value>>) {
    // An error means that the sender is gone: the fake kubelet is being dropped.
    let _ = hears.wait_for(Option::is_none).await;
}

/// Ends when the pod is told to go.
async fn told(hears: &mut watch::Receiver<Option<Value>>) {
    let is_told = |pod: &Option<Value>| {
        pod.as_ref()
            .is_some_and(|pod| pod["metadata"]["deletionTimestamp"].is_string())
    };
    if hears.wait_for(is_told).await.is_err() {
        pending::<()>().await;
    }
}
