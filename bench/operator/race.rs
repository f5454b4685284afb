//! Many jobs are there, then an operator is started: until all pods exist, and until all jobs have succeeded.

use std::time::Duration;

use trainyard_bench::succession;

use crate::Asked;
use crate::bars::Bars;
use crate::kubeflow::{Kubeflow, Set};
use crate::rig::Rig;
use crate::trouble::Trouble;
use crate::turn::{Figures, Who, turn};

/// A figure of a turn.
type Figure = fn(&Figures) -> f64;

/// What two of them did, round by round: whatever else the machine did in a round has hit both.
#[derive(Clone, Copy)]
struct Compared<'a> {
    ours: &'a [Figures],
    theirs: &'a [Figures],
}

impl Compared<'_> {
    /// What ours took, and what theirs took: medians over the rounds.
    fn medians(&self, figure: Figure) -> (f64, f64) {
        let of = |figures: &[Figures]| median(figures.iter().map(figure).collect());
        (of(self.ours), of(self.theirs))
    }

    /// How often theirs goes into ours: the median of the ratios of every round.
    fn ratio(&self, figure: Figure) -> f64 {
        let rounds = self.ours.iter().zip(self.theirs);
        median(
            rounds
                .map(|(ours, theirs)| figure(ours) / figure(theirs))
                .collect(),
        )
    }
}

/// Everybody in turns.
pub fn measure(asked: &Asked, bars: &mut Bars) -> Result<(), Trouble> {
    let mut rig = Rig::start(asked.cluster)?;
    rig.collects = asked.collected;
    let peer = asked.peer.then(|| Kubeflow::prepare(&rig)).transpose()?;
    let mut everybody = vec![Who::BarePods, Who::Bare, Who::Ours];
    everybody.extend(peer.as_ref().map(|peer| Who::Kubeflow(peer, Set::Tuned)));
    let mut figures = vec![Vec::new(); everybody.len()];
    let orders = succession::rounds(everybody.len());
    // The first round is discarded: the API server has never seen such objects. It uses the last order, so that the first
    // candidate of the next round follows the right one.
    for round in 0..=asked.rounds {
        for &index in &orders[(round + orders.len() - 1) % orders.len()] {
            let who = everybody[index];
            let play = matches!(who, Who::Ours | Who::Kubeflow(..));
            let measured = turn(&rig, who, asked.jobs, play)?;
            tell(round, who, &measured);
            if round > 0 {
                figures[index].push(measured);
            }
        }
    }
    let [bare_pods, bare, ours, tuned @ ..] = figures.as_slice() else {
        return Err(Trouble::new("no candidate was measured"));
    };
    let with = |theirs| Compared { ours, theirs };
    against_bare(asked, bars, with(bare), with(bare_pods));
    if let Some(tuned) = tuned.first() {
        against_tuned(bars, with(tuned));
    }
    if let Some(peer) = peer.as_ref().filter(|_| asked.shipped) {
        let who = Who::Kubeflow(peer, Set::Shipped);
        let measured = turn(&rig, who, asked.jobs, false)?;
        tell(asked.rounds, who, &measured);
        let ours = median(ours.iter().map(pods).collect());
        let shipped = pods(&measured);
        let ratio = shipped / ours;
        bars.add(
            "until all pods exist",
            (seconds(ours), format!("{} {}", who.name(), seconds(shipped))),
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
        "  all pods after {}; itself {} of processor, {:.1} MB; API server {} by then, {} in all with {} collections",
        shown(figures.pods),
        shown(figures.cpu),
        figures.peak,
        shown(figures.server_at_pods),
        shown(figures.server),
        figures.collections,
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

fn against_bare(asked: &Asked, bars: &mut Bars, bare: Compared<'_>, bare_pods: Compared<'_>) {
    let what = format!("{} jobs until all {} pods exist", asked.jobs, 3 * asked.jobs);
    let (ours, theirs) = bare.medians(pods);
    let ratio = bare.ratio(pods);
    bars.add(
        &what,
        (
            seconds(ours),
            format!("bare client, the same objects, {}", seconds(theirs)),
        ),
        format!("{ratio:.2}×"),
        ("at most 2×", Some(ratio <= 2.0)),
    );
    let (ours, theirs) = bare_pods.medians(pods);
    bars.add(
        &what,
        (
            seconds(ours),
            format!("bare client, the pods alone, {}", seconds(theirs)),
        ),
        format!("{:.2}×", bare_pods.ratio(pods)),
        ("-", None),
    );
    let (ours, theirs) = bare.medians(server);
    bars.add(
        "the API server's processor time for that",
        (
            seconds(ours),
            format!("bare client, the same objects, {}", seconds(theirs)),
        ),
        format!("{:.2}×", bare.ratio(server)),
        ("-", None),
    );
    let jobs = f64::from(u32::try_from(asked.jobs).unwrap_or(u32::MAX));
    let most = 1.2 * 3.0 * jobs + 2.0 * jobs;
    let (ours, theirs) = bare.medians(writes);
    bars.add(
        "writes for that",
        (format!("{ours:.0}"), format!("bare client {theirs:.0}")),
        format!("{:.1} a job", ours / jobs),
        ("at most 1.2 a replica and 2 a job", Some(ours <= most)),
    );
}

fn against_tuned(bars: &mut Bars, tuned: Compared<'_>) {
    let faster = 1.0 / tuned.ratio(pods);
    bars.add(
        "until all pods exist",
        shown_beside(tuned.medians(pods), seconds),
        format!("{faster:.1}× faster"),
        ("at least 4×", Some(faster >= 4.0)),
    );
    let mut at_most = |what: &str, figure: Figure, shown: fn(f64) -> String, (bar, most): (&str, f64)| {
        let ratio = tuned.ratio(figure);
        bars.add(
            what,
            shown_beside(tuned.medians(figure), shown),
            format!("{ratio:.2}×"),
            (bar, Some(ratio <= most)),
        );
    };
    let half = ("at most 0.5×", 0.5);
    at_most("the API server's processor time", server, seconds, half);
    let quarter = ("at most 0.25×", 0.25);
    at_most("the operator's processor time", cpu, seconds, quarter);
    let third = ("at most 0.33×", 1.0 / 3.0);
    at_most("the operator's memory at its highest", peak, megabytes, third);
    bars.add(
        "pods played until all jobs have succeeded",
        shown_beside(tuned.medians(|figures| of_play(figures).0), seconds),
        format!("{:.1}× faster", 1.0 / tuned.ratio(|figures| of_play(figures).0)),
        ("-", None),
    );
    bars.add(
        "the API server for all of it, playing included",
        shown_beside(tuned.medians(|figures| of_play(figures).1), seconds),
        format!("{:.2}×", tuned.ratio(|figures| of_play(figures).1)),
        ("-", None),
    );
    bars.add(
        "writes for all of it",
        shown_beside(tuned.medians(|figures| of_play(figures).2), |writes| {
            format!("{writes:.0}")
        }),
        format!("{:.2}×", tuned.ratio(|figures| of_play(figures).2)),
        ("-", None),
    );
}

/// Ours, and Kubeflow's beside it.
fn shown_beside((ours, theirs): (f64, f64), shown: impl Fn(f64) -> String) -> (String, String) {
    (shown(ours), format!("Kubeflow, tuned, {}", shown(theirs)))
}

fn pods(figures: &Figures) -> f64 {
    figures.pods.as_secs_f64()
}

fn cpu(figures: &Figures) -> f64 {
    figures.cpu.as_secs_f64()
}

fn peak(figures: &Figures) -> f64 {
    figures.peak
}

fn megabytes(megabytes: f64) -> String {
    format!("{megabytes:.1} MB")
}

fn server(figures: &Figures) -> f64 {
    figures.server.as_secs_f64()
}

fn writes(figures: &Figures) -> f64 {
    count(figures.writes.sum())
}

/// What the pods played to their end took: time, the API server's processor, writes. No number if
/// they were not played.
fn of_play(figures: &Figures) -> (f64, f64, f64) {
    figures
        .played
        .as_ref()
        .map_or((f64::NAN, f64::NAN, f64::NAN), |played| {
            (
                played.took.as_secs_f64(),
                played.server.as_secs_f64(),
                count(played.writes.sum()),
            )
        })
}

fn count(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// The middle one, or what lies between the two in the middle.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (below, above) = (values.len().saturating_sub(1) / 2, values.len() / 2);
    let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
    f64::midpoint(at(below), at(above))
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
