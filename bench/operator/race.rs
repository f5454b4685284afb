//! Many jobs are there, then an operator is started: until all pods exist, and until all jobs have succeeded.

use std::time::Duration;

use crate::Asked;
use crate::bars::Bars;
use crate::kubeflow::{Kubeflow, Set};
use crate::rig::Rig;
use crate::trouble::Trouble;
use crate::turn::{Figures, Who, turn};

/// What each took, medians over the rounds.
#[derive(Clone, Copy, Debug)]
struct Medians {
    pods: f64,
    cpu: f64,
    peak: f64,
    server: f64,
    writes: f64,
    played: Option<(f64, f64, f64)>,
}

/// Everybody in turns.
pub fn measure(asked: &Asked, bars: &mut Bars) -> Result<(), Trouble> {
    let rig = Rig::start()?;
    let peer = asked.peer.then(|| Kubeflow::prepare(&rig)).transpose()?;
    let mut turns = vec![Who::Ours, Who::Bare, Who::BarePods];
    turns.extend(peer.as_ref().map(|peer| Who::Kubeflow(peer, Set::Tuned)));
    let mut figures = vec![Vec::new(); turns.len()];
    // The first round does not count: the API server has never seen such objects.
    for round in 0..=asked.rounds {
        for (who, figures) in turns.iter().zip(&mut figures) {
            let play = matches!(who, Who::Ours | Who::Kubeflow(..));
            let measured = turn(&rig, *who, asked.jobs, play)?;
            tell(round, *who, &measured);
            if round > 0 {
                figures.push(measured);
            }
        }
    }
    let medians: Vec<Medians> = figures.iter().map(|figures| of(figures)).collect();
    let [ours, bare, bare_pods, tuned @ ..] = medians.as_slice() else {
        return Err(Trouble::new("nobody was measured"));
    };
    against_bare(asked, bars, ours, bare, bare_pods);
    if let Some(tuned) = tuned.first() {
        against_tuned(bars, ours, tuned);
    }
    if let Some(peer) = peer.as_ref().filter(|_| asked.shipped) {
        let who = Who::Kubeflow(peer, Set::Shipped);
        let measured = turn(&rig, who, asked.jobs, false)?;
        tell(asked.rounds, who, &measured);
        let shipped = measured.pods.as_secs_f64();
        let ratio = shipped / ours.pods;
        bars.add(
            "until all pods exist",
            (seconds(ours.pods), format!("{} {}", who.name(), seconds(shipped))),
            format!("{ratio:.0}× faster"),
            ("at least 60×", Some(ratio >= 60.0)),
        );
    }
    Ok(())
}

fn tell(round: usize, who: Who<'_>, figures: &Figures) {
    let counts = if round == 0 { " (does not count)" } else { "" };
    println!(
        "{}, round {round}{counts}, load {}:",
        who.name(),
        crate::process::load()
    );
    println!(
        "  all pods after {}; itself {} of processor, {:.1} MB; API server {} by then, {} in all",
        shown(figures.pods),
        shown(figures.cpu),
        figures.peak,
        shown(figures.server_at_pods),
        shown(figures.server)
    );
    println!("  {} writes: {}", figures.writes.sum(), figures.writes.told());
    if let Some(played) = &figures.played {
        println!(
            "  all succeeded {} after the first ran; for all of it itself {}, API server {} (with what was played)",
            shown(played.took),
            shown(played.cpu),
            shown(played.server)
        );
        println!("  {} writes: {}", played.writes.sum(), played.writes.told());
    }
}

fn against_bare(asked: &Asked, bars: &mut Bars, ours: &Medians, bare: &Medians, bare_pods: &Medians) {
    let what = format!("{} jobs until all {} pods exist", asked.jobs, 3 * asked.jobs);
    let ratio = ours.pods / bare.pods;
    bars.add(
        &what,
        (
            seconds(ours.pods),
            format!("bare client, the same objects, {}", seconds(bare.pods)),
        ),
        format!("{ratio:.2}×"),
        ("at most 2×", Some(ratio <= 2.0)),
    );
    bars.add(
        &what,
        (
            seconds(ours.pods),
            format!("bare client, the pods alone, {}", seconds(bare_pods.pods)),
        ),
        format!("{:.2}×", ours.pods / bare_pods.pods),
        ("-", None),
    );
    bars.add(
        "the API server's processor time for that",
        (
            seconds(ours.server),
            format!("bare client, the same objects, {}", seconds(bare.server)),
        ),
        format!("{:.2}×", ours.server / bare.server),
        ("-", None),
    );
    let jobs = f64::from(u32::try_from(asked.jobs).unwrap_or(u32::MAX));
    let most = 1.2 * 3.0 * jobs + 2.0 * jobs;
    bars.add(
        "writes for that",
        (
            format!("{:.0}", ours.writes),
            format!("bare client {:.0}", bare.writes),
        ),
        format!("{:.1} a job", ours.writes / jobs),
        ("at most 1.2 a replica and 2 a job", Some(ours.writes <= most)),
    );
}

fn against_tuned(bars: &mut Bars, ours: &Medians, tuned: &Medians) {
    let faster = tuned.pods / ours.pods;
    bars.add(
        "until all pods exist",
        (
            seconds(ours.pods),
            format!("Kubeflow, tuned, {}", seconds(tuned.pods)),
        ),
        format!("{faster:.1}× faster"),
        ("at least 4×", Some(faster >= 4.0)),
    );
    let server = ours.server / tuned.server;
    bars.add(
        "the API server's processor time",
        (
            seconds(ours.server),
            format!("Kubeflow, tuned, {}", seconds(tuned.server)),
        ),
        format!("{server:.2}×"),
        ("at most 0.5×", Some(server <= 0.5)),
    );
    let cpu = ours.cpu / tuned.cpu;
    bars.add(
        "the operator's processor time",
        (
            seconds(ours.cpu),
            format!("Kubeflow, tuned, {}", seconds(tuned.cpu)),
        ),
        format!("{cpu:.2}×"),
        ("at most 0.25×", Some(cpu <= 0.25)),
    );
    let peak = ours.peak / tuned.peak;
    bars.add(
        "the operator's memory at its highest",
        (
            format!("{:.1} MB", ours.peak),
            format!("Kubeflow, tuned, {:.1} MB", tuned.peak),
        ),
        format!("{peak:.2}×"),
        ("at most 0.33×", Some(peak <= 1.0 / 3.0)),
    );
    let (Some((took, server, writes)), Some((their_took, their_server, their_writes))) =
        (ours.played, tuned.played)
    else {
        return;
    };
    bars.add(
        "pods played until all jobs have succeeded",
        (seconds(took), format!("Kubeflow, tuned, {}", seconds(their_took))),
        format!("{:.1}× faster", their_took / took),
        ("-", None),
    );
    bars.add(
        "the API server for all of it, playing included",
        (
            seconds(server),
            format!("Kubeflow, tuned, {}", seconds(their_server)),
        ),
        format!("{:.2}×", server / their_server),
        ("-", None),
    );
    bars.add(
        "writes for all of it",
        (
            format!("{writes:.0}"),
            format!("Kubeflow, tuned, {their_writes:.0}"),
        ),
        format!("{:.2}×", writes / their_writes),
        ("-", None),
    );
}

fn of(figures: &[Figures]) -> Medians {
    let each = |one: &dyn Fn(&Figures) -> f64| median(figures.iter().map(one).collect());
    let count = |count: u64| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let played = figures.iter().all(|figures| figures.played.is_some()).then(|| {
        let each = |one: &dyn Fn(&crate::turn::Played) -> f64| {
            median(
                figures
                    .iter()
                    .filter_map(|figures| figures.played.as_ref())
                    .map(one)
                    .collect(),
            )
        };
        (
            each(&|played| played.took.as_secs_f64()),
            each(&|played| played.server.as_secs_f64()),
            each(&|played| count(played.writes.sum())),
        )
    });
    Medians {
        pods: each(&|figures| figures.pods.as_secs_f64()),
        cpu: each(&|figures| figures.cpu.as_secs_f64()),
        peak: each(&|figures| figures.peak),
        server: each(&|figures| figures.server.as_secs_f64()),
        writes: each(&|figures| count(figures.writes.sum())),
        played,
    }
}

/// The middle one.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// As people read it.
pub fn seconds(seconds: f64) -> String {
    if seconds < 1.0 {
        format!("{:.0} ms", seconds * 1000.0)
    } else {
        format!("{seconds:.2} s")
    }
}

fn shown(time: Duration) -> String {
    seconds(time.as_secs_f64())
}
