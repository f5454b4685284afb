//! How `trainyard operator` does against its bars: beside Kubeflow's operator, and beside a bare client that makes the
//! same objects and decides nothing.
//!
//! `cargo xtask bench operator` builds the release and starts this. Each part has an API server of its own, from the
//! harness of `tests/cluster`: etcd and kube-apiserver, in the race the controllers too, since every cluster has them and they
//! write for each Service; no scheduler, no kubelet; pods are played. Who is compared takes turns on the same API server, in
//! the race so that everybody comes after everybody else equally often; medians are told, and of the ratios those of the same
//! round: seconds differ between machines and hours, ratios less.
//!
//! ```text
//! rig (API server, its processor time, its count of writes) ─▶ turn: clean, submit, start a candidate, count pods
//!                                                               │
//!          ours, kubeflow, bare ────────────────────────────────┘─▶ race, kinds, large, resident, verdict, fairness, gangs ─▶ bars
//! ```
#![expect(
    clippy::print_stdout,
    reason = "a program for developers; printing is what it does"
)]

mod bare;
#[path = "../local/bars.rs"]
mod bars;
mod count;
mod fairness;
mod gangs;
mod kinds;
mod kubeflow;
mod large;
mod objects;
mod process;
mod race;
mod resident;
mod rig;
mod trouble;
mod turn;
mod verdict;
mod watch;
mod writes;

use std::process::ExitCode;

use bars::Bars;
use trainyard_cluster_tests::Parts;
use trouble::Trouble;

const HELP: &str = "\
cargo xtask bench operator [PART…] [--rounds N] [--jobs N] [--gangs N] [--placed-by NAME] [--shipped] [--without-peer]
                           [--without-controllers] [--collected]

  PART             race, kinds, large, resident, verdict, fairness, gangs; all of them unless told
  --rounds N       how often each takes its turn in the race and of each kind (12), and how often the large job is made;
                   a multiple of 3 in the race, or of 2 without a peer, lets everybody come after everybody else equally often
  --jobs N         jobs in the race and of each kind, of 1 ps and 2 workers each (300)
  --gangs N        gangs of 10 on nodes for 3 of them (100), with Kubernetes' scheduler alone, with Volcano, and with gates
  --placed-by NAME the gangs with this one alone: none, volcano or gates
  --shipped        Kubeflow's operator also as it is shipped, once: more than three minutes
  --without-peer   without Kubeflow's operator, which is built from Go modules and needs root
  --without-controllers
                   the race without kube-controller-manager, which every cluster has and which writes two objects for each Service
  --collected      collect the API server's garbage before each turn of the race: steadier, but favours candidates that allocate less
";

/// What was asked for.
#[derive(Debug)]
pub struct Asked {
    parts: Vec<String>,
    rounds: usize,
    jobs: usize,
    gangs: usize,
    placed_by: Option<String>,
    shipped: bool,
    peer: bool,
    cluster: Parts,
    collected: bool,
}

fn main() -> ExitCode {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    if let [stage, kubeconfig, requests, concurrency] = typed.as_slice()
        && stage == bare::STAGE
    {
        return ended(bare::run(kubeconfig, requests, concurrency).map(|()| true));
    }
    if let Some(asked) = read(&typed) {
        ended(measure(&asked))
    } else {
        println!("{HELP}");
        ExitCode::from(2)
    }
}

fn ended(result: Result<bool, Trouble>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(trouble) => {
            println!("cannot measure: {trouble}");
            ExitCode::from(2)
        }
    }
}

fn read(typed: &[String]) -> Option<Asked> {
    let mut asked = Asked {
        parts: Vec::new(),
        rounds: 12,
        jobs: 300,
        gangs: 100,
        placed_by: None,
        shipped: false,
        peer: true,
        cluster: Parts::CONTROL_PLANE,
        collected: false,
    };
    let mut words = typed.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "race" | "kinds" | "large" | "resident" | "verdict" | "fairness" | "gangs" => {
                asked.parts.push(word.clone());
            }
            "--rounds" => asked.rounds = words.next()?.parse().ok().filter(|rounds| *rounds > 0)?,
            "--jobs" => asked.jobs = words.next()?.parse().ok().filter(|jobs| *jobs > 0)?,
            "--gangs" => asked.gangs = words.next()?.parse().ok().filter(|gangs| *gangs > 0)?,
            "--placed-by" => asked.placed_by = Some(words.next()?.clone()),
            "--shipped" => asked.shipped = true,
            "--without-peer" => asked.peer = false,
            "--without-controllers" => asked.cluster = Parts::API,
            "--collected" => asked.collected = true,
            _ => return None,
        }
    }
    Some(asked)
}

/// Measures what was asked for; whether every bar holds.
fn measure(asked: &Asked) -> Result<bool, Trouble> {
    let wants = |part: &str| asked.parts.is_empty() || asked.parts.iter().any(|asked| asked == part);
    println!("load before: {}", process::load());
    let mut bars = Bars::default();
    if wants("race") {
        race::measure(asked, &mut bars)?;
    }
    if wants("kinds") {
        kinds::measure(asked, &mut bars)?;
    }
    if wants("large") {
        large::measure(asked.rounds, &mut bars)?;
    }
    if wants("resident") {
        resident::measure(&mut bars)?;
    }
    if wants("verdict") {
        verdict::measure(&mut bars)?;
    }
    if wants("fairness") {
        fairness::measure(&mut bars)?;
    }
    if wants("gangs") {
        gangs::measure(asked, &mut bars)?;
    }
    println!("load after: {}", process::load());
    Ok(bars.tell())
}
