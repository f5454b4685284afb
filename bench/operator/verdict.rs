//! From a pod's end to the job's verdict, while a thousand jobs are active.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use trainyard_cluster_tests::Parts;

use crate::bars::Bars;
use crate::objects;
use crate::race::seconds;
use crate::rig::{JOBS, PODS, Rig, Wanted};
use crate::trouble::Trouble;
use crate::turn::{definition, ours, pods, submit};
use crate::watch::{Sent, Watch};

/// So many jobs are active at every moment.
const ACTIVE: usize = 1000;
/// So many end, half of them well.
const ENDING: usize = 300;
/// Between two ends.
const PAUSE: Duration = Duration::from_millis(50);
const MOST: f64 = 2.0;
const PATIENCE: Duration = Duration::from_mins(5);

/// Ends one job after the other.
pub fn measure(bars: &mut Bars) -> Result<(), Trouble> {
    let rig = Rig::start(Parts::API)?;
    rig.install(&definition()?)?;
    submit(&rig, ACTIVE + ENDING)?;
    rig.calm()?;
    let watch = Watch::begin(&rig.cluster.kubeconfig(), PODS, Sent::Metadata, |_| true)?;
    let running = ours(&rig)?;
    watch.wait(3 * (ACTIVE + ENDING), PATIENCE)?;
    drop(watch);
    let all: Vec<Wanted> = pods(&rig)?.iter().map(|pod| objects::played(pod, None)).collect();
    rig.send(&all)?;
    rig.calm()?;
    println!(
        "{} jobs are active, the operator has {:.1} MB",
        ACTIVE + ENDING,
        running.peak()?
    );
    let verdict = |shown: &crate::watch::Shown| shown.is("Succeeded") || shown.is("Failed");
    let watch = Watch::begin(&rig.cluster.kubeconfig(), JOBS, Sent::Whole, verdict)?;
    let mut ended = BTreeMap::new();
    for number in 0..ENDING {
        let code = i32::from(number % 2 == 1);
        let wanted = objects::played(&format!("job-{number}-worker-0"), Some(code));
        ended.insert(format!("job-{number}"), (code, Instant::now()));
        rig.send(&[wanted])?;
        thread::sleep(PAUSE);
    }
    watch.wait(ENDING, PATIENCE)?;
    let seen = watch.seen();
    for (code, how) in [(0, "succeeded"), (1, "failed")] {
        let of_this = ended.iter().filter(|(_, (ended, _))| *ended == code);
        let mut took: Vec<f64> = of_this
            .filter_map(|(job, (_, at))| Some((*seen.get(job)? - *at).as_secs_f64()))
            .collect();
        took.sort_by(f64::total_cmp);
        let at = |part: usize| {
            took.get((took.len() * part).div_ceil(100).saturating_sub(1))
                .copied()
        };
        let (half, most) = (at(50).unwrap_or(f64::NAN), at(99).unwrap_or(f64::NAN));
        bars.add(
            &format!("a pod has {how} until its job has, {ACTIVE} jobs active, 99 of 100"),
            (seconds(most), format!("half of them {}", seconds(half))),
            "-".to_owned(),
            ("under 2 s", Some(most < MOST)),
        );
    }
    Ok(())
}
