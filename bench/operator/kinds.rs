//! Jobs of each kind: until all their pods exist, beside a bare client that makes the same objects.

use serde_json::{Value, json};
use trainyard_operator::kinds::{Kind, t9k, tfjob, volcano};

use crate::bars::Bars;
use crate::objects::{self, Made, template};
use crate::race::{median, seconds};
use crate::rig::{NAMESPACE, PODS, Rig, Wanted};
use crate::trouble::Trouble;
use crate::turn::{PATIENCE, REQUESTS, definition_of, ours_of};
use crate::writes::Writes;
use crate::{Asked, bare, count};

/// The bar: so often the time of the bare client.
const MOST: f64 = 1.3;

/// A kind, and how its jobs of one parameter server and two workers are written.
struct Candidate {
    kind: &'static Kind,
    spec: fn() -> Value,
}

static CANDIDATES: &[Candidate] = &[
    Candidate {
        kind: &tfjob::KIND,
        spec: || objects::job("", 1, 2)["spec"].take(),
    },
    Candidate {
        kind: &t9k::KIND,
        spec: || {
            let role = |name: &str, replicas: u32| json!({ "type": name, "replicas": replicas, "restartPolicy": "Never", "template": template() });
            json!({ "replicaSpecs": [role("ps", 1), role("worker", 2)] })
        },
    },
    Candidate {
        kind: &volcano::KIND,
        spec: || {
            let task = |name: &str, replicas: u32| json!({ "name": name, "replicas": replicas, "template": template() });
            json!({
                "minAvailable": 3, "plugins": { "env": [], "svc": [], "tensorflow": ["--ps=ps", "--worker=worker"] },
                "policies": [{ "event": "PodFailed", "action": "RestartJob" }], "tasks": [task("ps", 1), task("worker", 2)],
            })
        },
    },
];

impl Candidate {
    /// Where its jobs are.
    fn jobs(&self) -> String {
        format!(
            "/apis/{}/namespaces/{NAMESPACE}/{}",
            self.kind.api.api_version, self.kind.api.plural
        )
    }

    fn submit(&self, rig: &Rig, jobs: usize) -> Result<Vec<Value>, Trouble> {
        let one = |number: usize| {
            let job = json!({
                "apiVersion": self.kind.api.api_version, "kind": self.kind.api.kind,
                "metadata": { "name": format!("job-{number}"), "namespace": NAMESPACE }, "spec": (self.spec)(),
            });
            Wanted {
                short: false,
                ..Wanted::post(self.jobs(), job)
            }
        };
        rig.send(&(0..jobs).map(one).collect::<Vec<_>>())
    }

    /// What our operator would write, the statuses last.
    fn requests(&self, submitted: Vec<Value>) -> Result<Vec<Wanted>, Trouble> {
        let (mut all, mut statuses) = (Vec::new(), Vec::new());
        for job in submitted {
            let Made { status, shared, pods } = objects::made(self.kind, job)?;
            all.extend(shared.into_iter().chain(pods));
            statuses.extend(status);
        }
        all.extend(statuses);
        Ok(all)
    }

    /// One turn: seconds until all pods exist, and what was written until nothing was left to do.
    fn turn(&self, rig: &Rig, is_ours: bool, jobs: usize) -> Result<(f64, Writes), Trouble> {
        rig.clean_of(&self.jobs())?;
        rig.install_for(&definition_of(self.kind.api.word)?, &self.jobs())?;
        let submitted = self.submit(rig, jobs)?;
        let requests = if is_ours {
            Vec::new()
        } else {
            self.requests(submitted)?
        };
        let before = rig.rest()?;
        let running = if is_ours {
            ours_of(rig, self.kind.api.word)?
        } else {
            bare::start(rig, &requests, REQUESTS)?
        };
        let last = count::until(rig, PODS, 3 * jobs, PATIENCE)
            .map_err(|trouble| Trouble::new(format!("{}: {trouble}\n{}", self.kind.api.kind, rig.said())))?;
        let took = (last - running.begun).as_secs_f64();
        rig.calm()?;
        Ok((took, rig.counts()?.0.since(&before.writes)))
    }

    /// Both in turns, each first equally often.
    fn measure(&self, asked: &Asked, bars: &mut Bars) -> Result<(), Trouble> {
        let mut rig = Rig::start(asked.cluster)?;
        rig.collects = asked.collected;
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        // The first round is discarded: the API server has never seen such objects.
        for round in 0..=asked.rounds {
            for is_ours in [round % 2 == 0, round % 2 == 1] {
                let (took, writes) = self.turn(&rig, is_ours, asked.jobs)?;
                let who = if is_ours { "trainyard" } else { "bare client" };
                let kind = self.kind.api.kind;
                println!("{kind}, {who}, round {round}, load {}:", crate::process::load());
                println!(
                    "  all pods after {}; {} writes: {}",
                    seconds(took),
                    writes.sum(),
                    writes.told()
                );
                if round > 0 {
                    if is_ours { &mut ours } else { &mut bare }.push(took);
                }
            }
        }
        let ratio = median(ours.iter().zip(&bare).map(|(ours, bare)| ours / bare).collect());
        let (ours, bare) = (median(ours), median(bare));
        bars.add(
            &format!(
                "{} {}s until all {} pods exist",
                asked.jobs,
                self.kind.api.kind,
                3 * asked.jobs
            ),
            (
                seconds(ours),
                format!("bare client, the same objects, {}", seconds(bare)),
            ),
            format!("{ratio:.2}×"),
            ("at most 1.3×", Some(ratio <= MOST)),
        );
        Ok(())
    }
}

/// Each kind on an API server of its own.
pub fn measure(asked: &Asked, bars: &mut Bars) -> Result<(), Trouble> {
    CANDIDATES
        .iter()
        .try_for_each(|candidate| candidate.measure(asked, bars))
}
