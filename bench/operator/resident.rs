//! Thousands of finished jobs, and pods that are not ours: what a new job feels of them, and what they take of memory.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trainyard_cluster_tests::Parts;

use crate::bars::Bars;
use crate::large::ready;
use crate::objects;
use crate::process::memory;
use crate::race::{median, seconds};
use crate::rig::{JOBS, PODS, Rig, Wanted};
use crate::trouble::Trouble;
use crate::turn::definition;
use crate::watch::{Sent, Watch};

const FINISHED: usize = 5000;
const FOREIGN: usize = 20_000;
/// So many finished jobs with a spec of so many bytes, and what the operator may keep of all of them, in MB.
const LARGE: usize = 100;
const BYTES: usize = 1_000_000;
const MOST_KEPT: f64 = 10.0;
/// So many new jobs, one after another.
const NEW: usize = 40;
/// What counts as noise: two runs with nothing else there differ by as much.
const NOISE: f64 = 1.25;
const PATIENCE: Duration = Duration::from_mins(2);

/// A new job's way to its pods, without and with all of them.
pub fn measure(bars: &mut Bars) -> Result<(), Trouble> {
    let rig = Rig::start(Parts::API)?;
    rig.install(&definition()?)?;
    let status = finished(&rig)?;
    let alone = latency(&rig, "alone")?;
    rig.clean()?;
    let again = latency(&rig, "again")?;
    rig.clean()?;
    large_specs(&rig, &status, bars)?;
    rig.clean()?;
    println!("filling the API server: {FINISHED} finished jobs, {FOREIGN} pods of others");
    fill(&rig, &status)?;
    rig.calm()?;
    let crowded = latency(&rig, "crowded")?;
    let ratio = crowded.median / alone.median.max(again.median);
    bars.add(
        &format!("a new job until its 3 pods exist, beside {FINISHED} finished jobs and {FOREIGN} pods"),
        (
            seconds(crowded.median),
            format!("alone {} and {}", seconds(alone.median), seconds(again.median)),
        ),
        format!("{ratio:.2}×"),
        ("no more than noise (1.25×)", Some(ratio <= NOISE)),
    );
    for (which, of) in [
        ("resident", &|of: &Latency| of.resident),
        ("at its highest", &|of: &Latency| of.peak),
    ] as [(&str, &dyn Fn(&Latency) -> f64); 2]
    {
        bars.add(
            &format!("the operator's memory beside all of them, {which}"),
            (
                format!("{:.1} MB", of(&crowded)),
                format!("alone {:.1} MB", of(&alone)),
            ),
            format!("{:.1}×", of(&crowded) / of(&alone)),
            ("-", None),
        );
    }
    Ok(())
}

/// What an operator keeps of finished jobs with large specs. They end while it runs. What it takes to read one of them stays with its allocator, so
/// the first is no part of the figure; it is printed.
fn large_specs(rig: &Rig, status: &(String, String), bars: &mut Bars) -> Result<(), Trouble> {
    let running = ready(rig)?;
    rig.calm()?;
    let resident = || memory(running.pid(), "VmRSS");
    let without = resident()?;
    let mut first = without;
    for number in 0..=LARGE {
        let mut job = objects::job(&format!("large-{number}"), 0, 1);
        let template = &mut job["spec"]["tfReplicaSpecs"]["Worker"]["template"];
        template["spec"]["containers"][0]["env"] = json!([{ "name": "MUCH", "value": "x".repeat(BYTES) }]);
        // It is held until it is said to have ended.
        job["spec"]["runPolicy"]["suspend"] = true.into();
        finish(rig, &[job], status)?;
        if number == 0 {
            rig.calm()?;
            first = resident()?;
        }
    }
    rig.calm()?;
    let kept = resident()? - first;
    println!(
        "the first finished job with a large spec: {:.1} MB beside {without:.1} MB; {LARGE} more: {kept:.1} MB",
        first - without
    );
    bars.add(
        &format!(
            "the operator's memory for {LARGE} more finished jobs with specs of {} MB",
            BYTES / 1_000_000
        ),
        (format!("{kept:.1} MB"), format!("with the first {first:.1} MB")),
        "-".to_owned(),
        ("at most 10 MB", Some(kept <= MOST_KEPT)),
    );
    Ok(())
}

/// Makes jobs, and says that they have ended as the one did that gave its status.
fn finish(rig: &Rig, jobs: &[Value], (status, uid): &(String, String)) -> Result<(), Trouble> {
    let jobs = jobs.iter().map(|job| {
        let mut wanted = Wanted::post(JOBS, job.clone());
        wanted.short = false;
        wanted
    });
    let mut statuses = Vec::new();
    for job in rig.send(&jobs.collect::<Vec<_>>())? {
        let own = job["metadata"]["uid"].as_str().unwrap_or_default();
        let status: Value = serde_json::from_str(&status.replace(uid.as_str(), own))?;
        let name = job["metadata"]["name"].as_str().unwrap_or_default();
        statuses.push(Wanted {
            method: "PATCH".into(),
            path: format!("{JOBS}/{name}/status"),
            body: json!({ "status": status }),
            short: true,
        });
    }
    rig.send(&statuses)?;
    Ok(())
}

/// How long new jobs took, and the operator's memory.
#[derive(Clone, Copy, Debug)]
struct Latency {
    median: f64,
    resident: f64,
    peak: f64,
}

fn latency(rig: &Rig, name: &str) -> Result<Latency, Trouble> {
    let running = ready(rig)?;
    let resident = memory(running.pid(), "VmRSS")?;
    rig.calm()?;
    let watch = Watch::begin(&rig.cluster.kubeconfig(), PODS, Sent::Metadata, |_| true)?;
    let mut took = Vec::new();
    for number in 0..NEW {
        let begun = Instant::now();
        let job = objects::job(&format!("{name}-{number}"), 1, 2);
        rig.send(&[Wanted::post(JOBS, job)])?;
        let last = watch.wait(3 * (number + 1), PATIENCE)?;
        took.push((last - begun).as_secs_f64());
    }
    let latency = Latency {
        median: median(took.clone()),
        resident,
        peak: running.peak()?,
    };
    took.sort_by(f64::total_cmp);
    let (fastest, slowest) = (took.first().copied(), took.last().copied());
    println!(
        "{name}: a new job took {} ({} to {}); memory {:.1} MB, {:.1} MB at its highest; load {}",
        seconds(latency.median),
        seconds(fastest.unwrap_or_default()),
        seconds(slowest.unwrap_or_default()),
        latency.resident,
        latency.peak,
        crate::process::load()
    );
    Ok(latency)
}

/// A job that has really gone its way: its status, and the UID that stands in it.
fn finished(rig: &Rig) -> Result<(String, String), Trouble> {
    let _running = ready(rig)?;
    let succeeded = |shown: &crate::watch::Shown| shown.is("Succeeded");
    let watch = Watch::begin(&rig.cluster.kubeconfig(), JOBS, Sent::Whole, succeeded)?;
    for ended in [None, Some(0)] {
        rig.send(&[objects::played("first-worker-0", ended)])?;
    }
    watch.wait(1, PATIENCE)?;
    rig.calm()?;
    let job = rig.cluster.api().get(&format!("{JOBS}/first"))?;
    let uid = job["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    rig.clean()?;
    Ok((job["status"].to_string(), uid))
}

fn fill(rig: &Rig, status: &(String, String)) -> Result<(), Trouble> {
    let jobs = (0..FINISHED).map(|number| objects::job(&format!("finished-{number}"), 0, 1));
    finish(rig, &jobs.collect::<Vec<_>>(), status)?;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "others"}});
    rig.cluster.api().create("/api/v1/namespaces", &namespace)?;
    let foreign = (0..FOREIGN).map(|number| {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": format!("web-{number}"), "namespace": "others", "labels": { "app": "web" } },
            "spec": { "containers": [{ "name": "web", "image": "registry.example.com/web:1" }] },
        });
        Wanted::post("/api/v1/namespaces/others/pods", pod)
    });
    rig.send(&foreign.collect::<Vec<_>>())?;
    Ok(())
}
