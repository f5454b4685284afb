//! One turn: a clean API server, jobs submitted, a candidate started, pods counted; then the status of pods is written until all jobs end.

use std::time::{Duration, Instant};

use serde_json::Value;
use trainyard_operator::kinds::tfjob::KIND as TFJOB;

use crate::bare;
use crate::count;
use crate::kubeflow::{Kubeflow, Set};
use crate::objects::{self, Made};
use crate::process::Running;
use crate::rig::{JOBS, PODS, Rig, Wanted};
use crate::trouble::Trouble;
use crate::watch::{Sent, Watch};
use crate::writes::Writes;

/// Requests at a time: our operator's default, and so the bare client's.
pub const REQUESTS: usize = 32;
/// The longest that anything may take.
pub const PATIENCE: Duration = Duration::from_mins(2);
/// The longest that Kubeflow's operator as shipped may take; it takes more than three minutes.
const MORE_PATIENCE: Duration = Duration::from_mins(8);

/// Who is measured.
#[derive(Clone, Copy, Debug)]
pub enum Who<'a> {
    /// Ours.
    Ours,
    /// Kubeflow's.
    Kubeflow(&'a Kubeflow, Set),
    /// The bare client, making everything that ours makes.
    Bare,
    /// The bare client, making the pods alone.
    BarePods,
}

impl Who<'_> {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ours => "trainyard",
            Self::Kubeflow(_, Set::Tuned) => "Kubeflow, tuned",
            Self::Kubeflow(_, Set::Shipped) => "Kubeflow, as shipped",
            Self::Bare => "bare client",
            Self::BarePods => "bare client, pods alone",
        }
    }

    fn patience(self) -> Duration {
        match self {
            Self::Kubeflow(_, Set::Shipped) => MORE_PATIENCE,
            _ => PATIENCE,
        }
    }
}

/// What was measured of one turn.
#[derive(Clone, Debug)]
pub struct Figures {
    /// From the start of the process until the last pod was seen.
    pub pods: Duration,
    /// Its own time on the processor, until nothing was left to do.
    pub cpu: Duration,
    /// The most memory it had, in MB.
    pub peak: f64,
    /// The API server's time on the processor, until the last pod was seen.
    pub server_at_pods: Duration,
    /// The same, until nothing was left to do.
    pub server: Duration,
    /// How often the API server collected its garbage until then.
    pub collections: u64,
    /// What was written until then.
    pub writes: Writes,
    /// What was measured until every job had succeeded.
    pub played: Option<Played>,
}

/// What was measured while the pods were played to their end.
#[derive(Clone, Debug)]
pub struct Played {
    /// From the first pod that runs until the last job has succeeded.
    pub took: Duration,
    /// Its own time on the processor, for all of its life.
    pub cpu: Duration,
    /// The API server's, from the start to the end, without the time for the jobs.
    pub server: Duration,
    /// All that was written.
    pub writes: Writes,
}

/// The program that is measured: the release beside this one, or the one that `TRAINYARD_PROGRAM` names.
pub fn trainyard() -> Result<std::path::PathBuf, Trouble> {
    if let Some(named) = std::env::var_os("TRAINYARD_PROGRAM") {
        return Ok(named.into());
    }
    let beside = std::env::current_exe()?.with_file_name("trainyard");
    if beside.is_file() {
        return Ok(beside);
    }
    Err(Trouble::new(format!(
        "there is no {}: `cargo xtask bench operator` builds it",
        beside.display()
    )))
}

/// Our definition of `TFJob`, with as many versions as Kubeflow's has: each one costs the API server on every write.
pub fn definition() -> Result<String, Trouble> {
    definition_of(TFJOB.api.word)
}

/// Our definition of the kind that this word names.
pub fn definition_of(kind: &str) -> Result<String, Trouble> {
    let printed = std::process::Command::new(trainyard()?)
        .args(["crd", "--newest-only", "--kinds", kind])
        .output()?;
    if !printed.status.success() {
        return Err(Trouble::new("`trainyard crd` failed"));
    }
    Ok(String::from_utf8(printed.stdout)?)
}

/// Our operator.
pub fn ours(rig: &Rig) -> Result<Running, Trouble> {
    ours_of(rig, TFJOB.api.word)
}

/// Our operator for jobs of the kind that this word names.
pub fn ours_of(rig: &Rig, kind: &str) -> Result<Running, Trouble> {
    Running::start(
        rig.command(&trainyard()?)?
            .args(["operator", "--log-format", "json", "--kinds", kind]),
    )
}

/// So many jobs of one parameter server and two workers, as they stand on the API server.
pub fn submit(rig: &Rig, jobs: usize) -> Result<Vec<Value>, Trouble> {
    let one = |number: usize| {
        let mut wanted = Wanted::post(JOBS, objects::job(&format!("job-{number}"), 1, 2));
        wanted.short = false;
        wanted
    };
    rig.send(&(0..jobs).map(one).collect::<Vec<_>>())
}

/// One turn; with `play`, until every job has succeeded.
pub fn turn(rig: &Rig, who: Who<'_>, jobs: usize, play: bool) -> Result<Figures, Trouble> {
    rig.clean()?;
    match who {
        Who::Kubeflow(kubeflow, _) => rig.install(kubeflow.definition())?,
        _ => rig.install(&definition()?)?,
    }
    let submitted = submit(rig, jobs)?;
    let requests = match who {
        Who::Bare | Who::BarePods => requests(who, submitted)?,
        _ => Vec::new(),
    };
    let before = rig.rest()?;
    let running = match who {
        Who::Ours => ours(rig)?,
        Who::Kubeflow(kubeflow, set) => kubeflow.start(rig, set)?,
        Who::Bare | Who::BarePods => bare::start(rig, &requests, REQUESTS)?,
    };
    let last = count::until(rig, PODS, 3 * jobs, who.patience())
        .map_err(|trouble| Trouble::new(format!("{}: {trouble}\n{}", who.name(), rig.said())))?;
    let at_pods = rig.cpu()?;
    let mut peak = running.peak().unwrap_or_default();
    let settled = rig.calm()?;
    let (writes, collections) = rig.counts()?;
    let mut figures = Figures {
        pods: last - running.begun,
        cpu: running.cpu()?,
        peak: 0.0,
        server_at_pods: at_pods.saturating_sub(before.cpu),
        server: settled.saturating_sub(before.cpu),
        collections: collections.saturating_sub(before.collections),
        writes: writes.since(&before.writes),
        played: None,
    };
    if play {
        figures.played = Some(played(rig, &running, jobs, figures.server, &before.writes)?);
    }
    peak = peak.max(running.peak().unwrap_or_default());
    figures.peak = peak;
    Ok(figures)
}

/// The requests of the bare client, in the order of ours: the statuses last.
fn requests(who: Who<'_>, submitted: Vec<Value>) -> Result<Vec<Wanted>, Trouble> {
    let (mut all, mut statuses) = (Vec::new(), Vec::new());
    for job in submitted {
        let Made { status, shared, pods } = objects::made(&TFJOB, job)?;
        if matches!(who, Who::Bare) {
            statuses.extend(status);
            all.extend(shared);
        }
        all.extend(pods);
    }
    all.extend(statuses);
    Ok(all)
}

/// Lets every pod run, then end well.
fn played(
    rig: &Rig,
    running: &Running,
    jobs: usize,
    so_far: Duration,
    before: &Writes,
) -> Result<Played, Trouble> {
    let names = pods(rig)?;
    let succeeded = |shown: &crate::watch::Shown| shown.is("Succeeded");
    let watch = Watch::begin(&rig.cluster.kubeconfig(), JOBS, Sent::Whole, succeeded)?;
    let calm = rig.calm()?;
    let begun = Instant::now();
    for ended in [None, Some(0)] {
        let all: Vec<Wanted> = names.iter().map(|name| objects::played(name, ended)).collect();
        rig.send(&all)?;
    }
    let last = watch.wait(jobs, PATIENCE)?;
    let settled = rig.calm()?;
    Ok(Played {
        took: last - begun,
        cpu: running.cpu()?,
        server: so_far + settled.saturating_sub(calm),
        writes: rig.counts()?.0.since(before),
    })
}

/// The names of all pods.
pub fn pods(rig: &Rig) -> Result<Vec<String>, Trouble> {
    let pods = rig.cluster.api().list(PODS)?;
    let name = |pod: &Value| pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    Ok(pods.iter().map(name).collect())
}
