//! The API server that everybody is measured on, and what is done to it between turns.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream;
use http::{Method, Request};
use serde_json::{Value, json};
use trainyard_cluster_tests::{Api, Cluster, Parts, Refused};

use crate::process;
use crate::trouble::Trouble;
use crate::writes::Writes;

/// Where all jobs are.
pub const NAMESPACE: &str = "bench";
/// Where the jobs are.
pub const JOBS: &str = "/apis/kubeflow.org/v1/namespaces/bench/tfjobs";
/// Where their pods are.
pub const PODS: &str = "/api/v1/namespaces/bench/pods";
/// Requests at a time, of this program's own.
const OWN: usize = 16;
/// An API server is calm that uses less than this share of a core, for a second.
const CALM: f64 = 0.08;
/// It is not waited for longer: a machine may never be calm.
const PATIENCE: Duration = Duration::from_secs(40);
/// Makes the API server collect its garbage, and answers when that is done.
const COLLECT: &str = "/debug/pprof/heap?gc=1&debug=1";
/// The port of the harness's API server, inside its network.
const PORT: u16 = 6443;

/// A request that is to be made.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Wanted {
    /// `POST`, `PUT`, `PATCH`.
    pub method: String,
    /// To where.
    pub path: String,
    /// With what.
    pub body: Value,
    /// An answer is asked for that holds metadata alone.
    pub short: bool,
}

impl Wanted {
    /// Makes an object at that path.
    pub fn post(path: impl Into<String>, body: Value) -> Self {
        Self {
            method: "POST".into(),
            path: path.into(),
            body,
            short: true,
        }
    }

    /// The request.
    pub fn request(&self) -> Result<Request<Vec<u8>>, Trouble> {
        let accept = if self.short {
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
        } else {
            "application/json"
        };
        let kind = match self.method.as_str() {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let request = Request::builder()
            .method(Method::from_bytes(self.method.as_bytes())?)
            .uri(&self.path)
            .header(http::header::ACCEPT, accept)
            .header(http::header::CONTENT_TYPE, kind);
        Ok(request.body(self.body.to_string().into_bytes())?)
    }
}

/// An API server at rest.
pub struct Rested {
    /// What was written until then.
    pub writes: Writes,
    /// How often its garbage was collected.
    pub collections: u64,
    /// Its time on the processor.
    pub cpu: Duration,
}

/// An API server of our own.
pub struct Rig {
    /// The harness's.
    pub cluster: Cluster,
    apiserver: u32,
    scratch: PathBuf,
    /// Whether its garbage is collected before a turn.
    pub collects: bool,
}

impl Rig {
    /// Starts it. Only the candidate and, if enabled, the controllers write to it.
    pub fn start(parts: Parts) -> Result<Self, Trouble> {
        let cluster = Cluster::try_start(parts)?;
        let apiserver = process::descendant(cluster.process(), "kube-apiserver")
            .ok_or_else(|| Trouble::new("the API server is not among the cluster's processes"))?;
        let scratch = std::env::temp_dir().join(format!("trainyard-bench-{}", std::process::id()));
        fs::create_dir_all(&scratch)?;
        let rig = Self {
            cluster,
            apiserver,
            scratch,
            collects: false,
        };
        // Inside its network there is no proxy in between.
        let outside = fs::read_to_string(rig.cluster.kubeconfig())?;
        let lines = outside
            .lines()
            .map(|line| match line.split_once("https://127.0.0.1:") {
                Some((before, _)) => format!("{before}https://127.0.0.1:{PORT}\n"),
                None => format!("{line}\n"),
            });
        fs::write(rig.inside(), lines.collect::<String>())?;
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        rig.cluster.api().create("/api/v1/namespaces", &namespace)?;
        if parts.controllers {
            // Pods are refused before it is there.
            let account = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default");
            rig.until("the namespace has no account", |api| {
                api.get(&account).map(|_| true)
            })?;
        }
        Ok(rig)
    }

    /// The kubeconfig for who runs inside the API server's network.
    pub fn inside(&self) -> PathBuf {
        self.scratch.join("kubeconfig")
    }

    /// A folder for files; removed in the end.
    pub fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// A program inside the API server's network, told by `KUBECONFIG` where that is; what it says goes into a file.
    pub fn command(&self, program: &Path) -> Result<Command, Trouble> {
        let log = File::create(self.log())?;
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--net=/proc/{}/ns/net", self.apiserver))
            .arg(program)
            .env("KUBECONFIG", self.inside())
            .env("NO_PROXY", "*")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        Ok(command)
    }

    fn log(&self) -> PathBuf {
        self.scratch.join("log")
    }

    /// The end of what was last said.
    pub fn said(&self) -> String {
        let text = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(10)..].join("\n")
    }

    /// The API server's time on the processor so far.
    pub fn cpu(&self) -> Result<Duration, Trouble> {
        process::cpu(self.apiserver)
    }

    /// Waits until the API server has nothing to do any more; its processor time by then.
    pub fn calm(&self) -> Result<Duration, Trouble> {
        let until = Instant::now() + PATIENCE;
        let step = Duration::from_millis(250);
        let mut quiet = 0;
        let mut last = self.cpu()?;
        while quiet < 4 && Instant::now() < until {
            thread::sleep(step);
            let now = self.cpu()?;
            let share = now.saturating_sub(last).as_secs_f64() / step.as_secs_f64();
            quiet = if share < CALM { quiet + 1 } else { 0 };
            last = now;
        }
        Ok(last)
    }

    /// Waits before a turn until the API server is idle and, with `--collected`, collects its garbage.
    ///
    /// A collection starts when as much memory has been allocated as is in use. Whether one falls into a turn of a second is
    /// chance, and it also collects garbage of the last turn. With a collection before each turn results are steadier, but
    /// candidates that allocate less have an advantage, so the bars do not use it.
    pub fn rest(&self) -> Result<Rested, Trouble> {
        if self.collects {
            self.cluster.api().text(COLLECT)?;
        }
        self.calm()?;
        let (writes, collections) = self.counts()?;
        Ok(Rested {
            writes,
            collections,
            cpu: self.cpu()?,
        })
    }

    /// What has been written so far, and how often garbage was collected.
    pub fn counts(&self) -> Result<(Writes, u64), Trouble> {
        let metrics = self.cluster.api().text("/metrics")?;
        let count = |line: &str| line.strip_prefix("go_gc_duration_seconds_count ")?.parse().ok();
        let collections = metrics.lines().find_map(count);
        let unsaid = || Trouble::new("the API server does not say how often it collects garbage");
        Ok((Writes::read(&metrics), collections.ok_or_else(unsaid)?))
    }

    /// Makes requests, several at a time; the answers in any order.
    pub fn send(&self, wanted: &[Wanted]) -> Result<Vec<Value>, Trouble> {
        let api = self.cluster.api();
        let client = api.client();
        let one = |wanted: &Wanted| {
            let (client, request) = (client.clone(), wanted.request());
            async move { Ok::<Value, Trouble>(client.request(request?).await?) }
        };
        let answers = api.block_on(async {
            let all = stream::iter(wanted.iter().map(one)).buffer_unordered(OWN);
            all.collect::<Vec<_>>().await
        });
        answers.into_iter().collect()
    }

    /// Installs a definition of `TFJob` in place of what was there.
    pub fn install(&self, definition: &str) -> Result<(), Trouble> {
        self.install_for(definition, JOBS)
    }

    /// Installs a definition in place of what was there; its jobs are at that path.
    pub fn install_for(&self, definition: &str, jobs: &str) -> Result<(), Trouble> {
        let apply = ["apply", "--server-side", "--force-conflicts", "--filename", "-"];
        let said = self.cluster.kubectl().run_with(&apply, definition);
        if !said.success {
            return Err(Trouble::new(format!(
                "cannot install the definition: {}",
                said.errors
            )));
        }
        // It is served a moment after it was accepted.
        self.until("the definition is not served", |api| api.get(jobs).map(|_| true))
    }

    /// Waits until something holds; otherwise says what does not, and what the API server said last.
    fn until(&self, otherwise: &str, holds: impl Fn(&Api) -> Result<bool, Refused>) -> Result<(), Trouble> {
        let until = Instant::now() + PATIENCE;
        loop {
            let holds = holds(self.cluster.api());
            if matches!(holds, Ok(true)) {
                return Ok(());
            }
            if Instant::now() > until {
                let said = holds.err().map(|refused| format!(": {refused}"));
                return Err(Trouble::new(format!("{otherwise}{}", said.unwrap_or_default())));
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Removes everything that a turn has left. Controllers may be at it too, and what they made for Services goes by them.
    pub fn clean(&self) -> Result<(), Trouble> {
        self.clean_of(JOBS)
    }

    /// The same where the jobs are at that path.
    pub fn clean_of(&self, jobs: &str) -> Result<(), Trouble> {
        let api = self.cluster.api();
        let [services, maps, events, endpoints] = ["services", "configmaps", "events", "endpoints"]
            .map(|plural| format!("/api/v1/namespaces/{NAMESPACE}/{plural}"));
        let pods = format!("{PODS}?gracePeriodSeconds=0");
        let slices = format!("/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices");
        // The jobs first, so that no controller creates objects again. Without the CRD there are none.
        let policies = format!("/apis/networking.k8s.io/v1/namespaces/{NAMESPACE}/networkpolicies");
        for path in [jobs, &pods, &services, &maps, &policies, &events] {
            match api.delete(path) {
                Err(refused) if refused.code != 404 => return Err(refused.into()),
                _ => {}
            }
        }
        self.until("something is left over from the last turn", |api| {
            for path in [PODS, &services, &policies, &endpoints, &slices] {
                if !api.list(&format!("{path}?limit=1"))?.is_empty() {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // What cannot be removed is temporary.
        let _ = fs::remove_dir_all(&self.scratch);
    }
}
