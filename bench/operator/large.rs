//! One job of a thousand replicas: how fast its pods are made, and what of it is stored.

use std::time::{Duration, Instant};

use serde_json::Value;
use trainyard_cluster_tests::Parts;
use trainyard_operator::kinds::tfjob::KIND as TFJOB;

use crate::bare;
use crate::bars::Bars;
use crate::objects;
use crate::process::Running;
use crate::race::{median, seconds};
use crate::rig::{JOBS, NAMESPACE, PODS, Rig, Wanted};
use crate::trouble::Trouble;
use crate::turn::{REQUESTS, definition, ours, pods};
use crate::watch::{Sent, Watch};

const REPLICAS: u32 = 1000;
/// A smaller one, to see how what is stored grows.
const FEWER: u32 = 100;
/// Ten times as many replicas may take eleven times as much: indices and names grow too.
const MOST_GROWTH: f64 = 11.0;
const MOST_STATUS: usize = 8 * 1024;
const MOST: f64 = 1.3;
const PATIENCE: Duration = Duration::from_mins(3);
const NAME: &str = "large";

/// In turns with a bare client that makes the same pods.
pub fn measure(rounds: usize, bars: &mut Bars) -> Result<(), Trouble> {
    let rig = Rig::start(Parts::API)?;
    rig.install(&definition()?)?;
    let (mut operated, mut bare) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let took = by_operator(&rig, REPLICAS)?.0;
        let floor = by_bare(&rig)?;
        println!(
            "one job of {REPLICAS}, round {round}: trainyard {}, bare client {}, load {}",
            seconds(took),
            seconds(floor),
            crate::process::load()
        );
        if round > 0 {
            operated.push(took);
            bare.push(floor);
        }
    }
    let (took, floor) = (median(operated), median(bare));
    bars.add(
        &format!("one job of {REPLICAS} replicas until all pods exist"),
        (
            seconds(took),
            format!("bare client, the same pods, {}", seconds(floor)),
        ),
        format!("{:.2}×", took / floor),
        ("at most 1.3×", Some(took / floor <= MOST)),
    );
    stored(&rig, bars)
}

fn stored(rig: &Rig, bars: &mut Bars) -> Result<(), Trouble> {
    let few = by_operator(rig, FEWER)?.1;
    let many = by_operator(rig, REPLICAS)?.1;
    let growth = float(many.config) / float(few.config);
    bars.add(
        &format!("bytes stored for TF_CONFIG, {REPLICAS} replicas"),
        (
            many.config.to_string(),
            format!("{FEWER} replicas, {}", few.config),
        ),
        format!("{growth:.1}×"),
        ("grows as replicas do", Some(growth <= MOST_GROWTH)),
    );
    bars.add(
        &format!("bytes of the status, {REPLICAS} replicas running"),
        (
            many.status.to_string(),
            format!("{FEWER} replicas, {}", few.status),
        ),
        "-".to_owned(),
        ("under 8 KiB", Some(many.status < MOST_STATUS)),
    );
    Ok(())
}

/// Bytes of what is stored.
#[derive(Clone, Copy, Debug)]
struct Stored {
    config: usize,
    status: usize,
}

/// The operator runs and knows its API server; then the job is submitted.
fn by_operator(rig: &Rig, replicas: u32) -> Result<(f64, Stored), Trouble> {
    rig.clean()?;
    let _running = ready(rig)?;
    let watch = Watch::begin(&rig.cluster.kubeconfig(), PODS, Sent::Metadata, |_| true)?;
    rig.rest()?;
    let begun = Instant::now();
    submit(rig, replicas)?;
    let last = watch.wait(usize::try_from(replicas)?, PATIENCE)?;
    let stored = weigh(rig)?;
    Ok(((last - begun).as_secs_f64(), stored))
}

/// Our operator, which has shown that it works by a job of one pod.
pub fn ready(rig: &Rig) -> Result<Running, Trouble> {
    let watch = Watch::begin(&rig.cluster.kubeconfig(), PODS, Sent::Metadata, |_| true)?;
    let running = ours(rig)?;
    rig.send(&[Wanted::post(JOBS, objects::job("first", 0, 1))])?;
    watch.wait(1, PATIENCE)?;
    Ok(running)
}

/// A hundredth of the replicas are parameter servers.
fn submit(rig: &Rig, replicas: u32) -> Result<Vec<Value>, Trouble> {
    let ps = replicas / 100;
    let mut wanted = Wanted::post(JOBS, objects::job(NAME, ps, replicas - ps));
    wanted.short = false;
    rig.send(&[wanted])
}

fn by_bare(rig: &Rig) -> Result<f64, Trouble> {
    rig.clean()?;
    let submitted = submit(rig, REPLICAS)?;
    let mut requests = Vec::new();
    for job in submitted {
        requests.extend(objects::made(&TFJOB, job)?.pods);
    }
    let watch = Watch::begin(&rig.cluster.kubeconfig(), PODS, Sent::Metadata, |_| true)?;
    rig.rest()?;
    let running = bare::start(rig, &requests, REQUESTS)?;
    let last = watch.wait(requests.len(), PATIENCE)?;
    Ok((last - running.begun).as_secs_f64())
}

/// What is stored of the job while all of it runs.
fn weigh(rig: &Rig) -> Result<Stored, Trouble> {
    let api = rig.cluster.api();
    let path = format!("{JOBS}/{NAME}");
    let running = |shown: &crate::watch::Shown| shown.is("Running");
    let watch = Watch::begin(&rig.cluster.kubeconfig(), JOBS, Sent::Whole, running)?;
    let all: Vec<Wanted> = pods(rig)?.iter().map(|pod| objects::played(pod, None)).collect();
    rig.send(&all)?;
    watch.wait(1, PATIENCE)?;
    rig.calm()?;
    let mut config = 0;
    for pod in api.list(PODS)? {
        for container in pod["spec"]["containers"].as_array().into_iter().flatten() {
            let ours = container["env"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|variable| {
                    let name = variable["name"].as_str().unwrap_or_default();
                    name == "TF_CONFIG" || name.starts_with("TRAINYARD_")
                });
            config += ours.map(|variable| variable.to_string().len()).sum::<usize>();
        }
    }
    for map in api.list(&format!("/api/v1/namespaces/{NAMESPACE}/configmaps"))? {
        config += map["data"].to_string().len();
    }
    Ok(Stored {
        config,
        status: api.get(&path)?["status"].to_string().len(),
    })
}

fn float(bytes: usize) -> f64 {
    u32::try_from(bytes).map_or(f64::MAX, f64::from)
}
