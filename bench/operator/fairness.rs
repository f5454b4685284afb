//! One namespace asks for very much; jobs of another one need one pod each.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use trainyard_cluster_tests::Parts;

use crate::bars::Bars;
use crate::count;
use crate::large::ready;
use crate::objects;
use crate::race::seconds;
use crate::rig::{JOBS, PODS, Rig, Wanted};
use crate::trouble::Trouble;
use crate::turn::definition;
use crate::watch::{Sent, Watch};

/// The load: so many jobs of so many replicas.
const LOAD: usize = 60;
const REPLICAS: u32 = 300;
/// The other namespace.
const OTHER: &str = "other";
/// So many small jobs at most, and so many alone before.
const SMALL: usize = 150;
const ALONE: usize = 20;
/// Between two of them.
const PAUSE: Duration = Duration::from_millis(150);
const MOST: f64 = 2.0;
const PATIENCE: Duration = Duration::from_mins(3);

/// Small jobs, alone and beside the load.
pub fn measure(bars: &mut Bars) -> Result<(), Trouble> {
    let rig = Rig::start(Parts::API)?;
    rig.install(&definition()?)?;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OTHER}});
    rig.cluster.api().create("/api/v1/namespaces", &namespace)?;
    let running = ready(&rig)?;
    rig.calm()?;
    let alone = small(&rig, "alone", ALONE, || Ok(false))?;
    let (_, half_alone) = shares(&alone);

    let every = LOAD * usize::try_from(REPLICAS)?;
    let load =
        (0..LOAD).map(|number| Wanted::post(JOBS, objects::job(&format!("load-{number}"), 0, REPLICAS)));
    rig.send(&load.collect::<Vec<_>>())?;
    let begun = Instant::now();
    let beside = small(
        &rig,
        "beside",
        SMALL,
        || Ok(count::count_at(&rig, PODS)? >= every),
    )?;
    let (most, half) = shares(&beside);
    println!(
        "{} small jobs beside {every} pods of another namespace, of which {} existed after {}; memory {:.1} MB; load {}",
        beside.len(),
        count::count_at(&rig, PODS)?,
        seconds(begun.elapsed().as_secs_f64()),
        running.peak()?,
        crate::process::load()
    );
    bars.add(
        &format!("a one-worker job until its pod exists, beside {LOAD} jobs of {REPLICAS} replicas of another namespace, 99 of 100"),
        (
            seconds(most),
            format!("half of them {}, alone {}", seconds(half), seconds(half_alone)),
        ),
        "-".to_owned(),
        ("under 2 s", Some(most < MOST)),
    );
    Ok(())
}

/// Submits small jobs one after another until so many are there, or until `enough`; how long each took, sorted.
fn small(
    rig: &Rig,
    name: &str,
    count: usize,
    enough: impl Fn() -> Result<bool, Trouble>,
) -> Result<Vec<f64>, Trouble> {
    let pods = format!("/api/v1/namespaces/{OTHER}/pods");
    let watch = Watch::begin(&rig.cluster.kubeconfig(), &pods, Sent::Metadata, |_| true)?;
    let mut submitted = Vec::new();
    while submitted.len() < count && !enough()? {
        let name = format!("{name}-{}", submitted.len());
        let mut job = objects::job(&name, 0, 1);
        job["metadata"]["namespace"] = OTHER.into();
        let path = format!("/apis/kubeflow.org/v1/namespaces/{OTHER}/tfjobs");
        submitted.push((format!("{name}-worker-0"), Instant::now()));
        rig.send(&[Wanted::post(path, job)])?;
        thread::sleep(PAUSE);
    }
    watch.wait(submitted.len(), PATIENCE)?;
    let seen = watch.seen();
    let mut took: Vec<f64> = submitted
        .iter()
        .filter_map(|(pod, at)| Some((*seen.get(pod)? - *at).as_secs_f64()))
        .collect();
    took.sort_by(f64::total_cmp);
    Ok(took)
}

/// What 99 of 100 take at most, and what half of them do.
fn shares(sorted: &[f64]) -> (f64, f64) {
    let at = |part: usize| {
        let last = (sorted.len() * part).div_ceil(100).saturating_sub(1);
        sorted.get(last).copied().unwrap_or(f64::NAN)
    };
    (at(99), at(50))
}
