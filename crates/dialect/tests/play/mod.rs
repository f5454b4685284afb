//! A manifest on a stage: the real `step`, the real status, and pods that do what a test says.
//!
//! It plays the kubelet and the API server only as far as it must: what is created waits, what is stopped is gone.

use std::collections::BTreeMap;

use serde_json::Value;
use trainyard_core::{
    Action, Exit, Fixture, FixtureSeen, Job, Memory, Observed, Placement, Seen, Step, TaskId, TaskSeen, Time,
    Why, step,
};
use trainyard_document::Source;
use trainyard_status::tfjob_status;

const OURS: FixtureSeen = FixtureSeen::Ours { right: true };

pub struct Play {
    pub job: Job,
    pub memory: Option<Memory>,
    pub status: Option<Value>,
    pub now: u64,
    pub pods: BTreeMap<TaskId, TaskSeen>,
    /// Every task created so far, in order.
    pub created: Vec<String>,
    /// Every task stopped so far, in order.
    pub stopped: Vec<String>,
    /// Whether the job itself has been deleted.
    pub deleted: bool,
    /// What had vanished when the last step was taken.
    gone: Vec<TaskSeen>,
    fixtures: Vec<Fixture>,
}

/// A TFJob of these roles: `("Worker", 2, "Never")`; `more` is added to `spec`, in YAML's flow style.
pub fn manifest(roles: &[(&str, u32, &str)], more: &str) -> String {
    let role = |(name, replicas, restart): &(&str, u32, &str)| {
        format!(
            "{name}: {{replicas: {replicas}, restartPolicy: {restart}, \
             template: {{spec: {{containers: [{{name: tensorflow, image: i}}]}}}}}}"
        )
    };
    let roles: Vec<String> = roles.iter().map(role).collect();
    let more = if more.is_empty() {
        String::new()
    } else {
        format!("{more}, ")
    };
    format!(
        "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {{name: mnist, namespace: team, uid: u-1}}\n\
         spec: {{{more}tfReplicaSpecs: {{{}}}}}\n",
        roles.join(", ")
    )
}

fn task(name: &str) -> TaskId {
    name.parse().unwrap()
}

impl Play {
    /// The job of a manifest, at second 100, with nothing created yet.
    pub fn of(text: &str) -> Self {
        let reading = trainyard_dialect::read(&Source::from_bytes("test.yaml", text.as_bytes()).unwrap());
        assert!(!reading.has_errors(), "{:#?}", reading.problems);
        let job = reading.jobs().next().unwrap().job.clone();
        Self {
            job,
            memory: None,
            status: None,
            now: 100,
            pods: BTreeMap::new(),
            created: Vec::new(),
            stopped: Vec::new(),
            deleted: false,
            gone: Vec::new(),
            fixtures: Vec::new(),
        }
    }

    /// A job of these roles, started, with everything running.
    pub fn running(roles: &[(&str, u32, &str)], more: &str) -> Self {
        let mut play = Self::of(&manifest(roles, more));
        play.settle();
        play.all_run();
        play.settle();
        play
    }

    pub fn observed(&self) -> Observed {
        Observed {
            tasks: self.pods.values().chain(&self.gone).cloned().collect(),
            fixtures: self.fixtures.iter().map(|fixture| (*fixture, OURS)).collect(),
            ..Observed::default()
        }
    }

    /// One step: decide, persist, carry out.
    pub fn step(&mut self) -> Step {
        let observed = self.observed();
        let now = Time(self.now);
        let taken = step(&self.job, self.memory.as_ref(), &observed, now);
        self.status = Some(tfjob_status(
            self.status.as_ref(),
            &self.job,
            &taken,
            &observed,
            now,
        ));
        self.memory = Some(taken.memory.clone());
        self.gone.clear();
        for action in &taken.actions {
            self.carry_out(action);
        }
        taken
    }

    fn carry_out(&mut self, action: &Action) {
        match action {
            Action::Create { task, stamp } => {
                let instance = format!("{task}/{}.{}", stamp.epoch, stamp.attempt).into();
                let seen = TaskSeen {
                    id: task.clone(),
                    stamp: *stamp,
                    instance,
                    state: Seen::Waiting,
                    created: Time(self.now),
                    in_place: 0,
                    last: None,
                    stopping: None,
                    lingers: false,
                    placement: Placement::default(),
                };
                self.created.push(task.to_string());
                let before = self.pods.insert(task.clone(), seen);
                assert!(before.is_none(), "{task} was created twice");
            }
            Action::Stop { task, instance, .. } => {
                let pod = self.pods.remove(task).unwrap();
                assert_eq!(pod.instance, *instance);
                self.stopped.push(task.to_string());
            }
            Action::Ensure(fixture) => self.fixtures.push(*fixture),
            Action::Remove(fixture) => self.fixtures.retain(|ready| ready != fixture),
            Action::DeleteJob => self.deleted = true,
            Action::Answered(_) | Action::Ungate { .. } => {}
        }
    }

    /// Steps until nothing more is to be done now.
    pub fn settle(&mut self) {
        for _ in 0..20 {
            let before = self.memory.clone();
            let taken = self.step();
            let quiet = taken.actions.is_empty() && before.as_ref() == Some(&taken.memory);
            if quiet || self.deleted {
                return;
            }
        }
        panic!("the job does not settle");
    }

    /// So many seconds later, everything settled in between whenever the job asked to be called.
    pub fn wait(&mut self, seconds: u64) {
        let until = self.now + seconds;
        loop {
            let wake = self.step().wake.map(|wake| wake.0);
            self.settle();
            match wake {
                Some(wake) if wake <= until => self.now = wake,
                _ => break,
            }
        }
        self.now = until;
        self.settle();
    }

    fn pod(&mut self, name: &str) -> &mut TaskSeen {
        self.pods.get_mut(&task(name)).unwrap()
    }

    pub fn all_run(&mut self) {
        for pod in self.pods.values_mut().filter(|pod| pod.state == Seen::Waiting) {
            pod.state = Seen::Running { ready: true };
        }
    }

    pub fn run(&mut self, name: &str) {
        self.pod(name).state = Seen::Running { ready: true };
    }

    fn exit(&self, name: &str, code: i32, why: Why, asked: bool) -> Exit {
        let created = self.pods[&task(name)].created;
        Exit {
            code: Some(code),
            why,
            asked,
            at: Time(self.now),
            ran: u32::try_from(self.now - created.0).unwrap(),
            ..Exit::default()
        }
    }

    /// Its first restart is behind it, which comes at once: from now on there is a wait in which something can be seen.
    pub fn has_restarted_once(&mut self, name: &str) {
        self.exits(name, 137);
        self.wait(3);
        self.all_run();
        self.settle();
    }

    /// Its program exits with this code.
    pub fn exits(&mut self, name: &str, code: i32) {
        let exit = self.exit(name, code, Why::Itself, false);
        self.pod(name).state = Seen::Ended(exit);
    }

    /// Its program cannot be started.
    pub fn cannot_start(&mut self, name: &str) {
        let exit = self.exit(name, 128, Why::NotStarted, false);
        self.pod(name).state = Seen::Ended(exit);
    }

    /// A user deletes it: first it is told to stop, and still runs.
    pub fn told_to_stop(&mut self, name: &str) {
        let now = Time(self.now);
        self.pod(name).stopping = Some(now);
    }

    /// It was told to stop and now ends with this code, and its object goes.
    pub fn drained(&mut self, name: &str, code: i32) {
        let exit = self.exit(name, code, Why::Itself, true);
        let mut pod = self.pods.remove(&task(name)).unwrap();
        pod.state = Seen::Gone(Some(exit));
        self.gone.push(pod);
    }

    /// The node evicts it: the pod stays, failed.
    pub fn evicted(&mut self, name: &str) {
        let exit = self.exit(name, 137, Why::Disrupted, false);
        self.pod(name).state = Seen::Ended(exit);
    }

    /// Its object is collected.
    pub fn collected(&mut self, name: &str) {
        let mut pod = self.pods.remove(&task(name)).unwrap();
        let exit = pod.exit().cloned();
        pod.state = Seen::Gone(exit);
        self.gone.push(pod);
    }

    /// The kubelet has restarted it in place so often, after exits with this code.
    pub fn restarted_in_place(&mut self, name: &str, times: u32, code: i32) {
        let exit = self.exit(name, code, Why::Itself, false);
        let pod = self.pod(name);
        pod.in_place = times;
        pod.last = Some(exit);
    }

    /// The verdict: `Succeeded`, `Failed`, or nothing yet.
    pub fn outcome(&self) -> Option<String> {
        let verdict = self.memory.as_ref()?.verdict.as_ref()?;
        Some(format!("{:?}", verdict.outcome))
    }

    /// The conditions in order: `Running` holds, `!Running` does not.
    pub fn conditions(&self) -> Vec<String> {
        let status = self.status.as_ref().unwrap();
        let shown = |condition: &Value| {
            let mark = if condition["status"] == "True" { "" } else { "!" };
            format!("{mark}{}", condition["type"].as_str().unwrap())
        };
        status["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .map(shown)
            .collect()
    }

    /// Reason and message of a condition.
    pub fn said(&self, kind: &str) -> (String, String) {
        let status = self.status.as_ref().unwrap();
        let condition = status["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .find(|condition| condition["type"] == kind)
            .unwrap_or_else(|| panic!("no {kind} in {status:#}"));
        let text = |name: &str| condition[name].as_str().unwrap().to_owned();
        (text("reason"), text("message"))
    }

    /// `replicaStatuses` of a role: active, succeeded, failed.
    pub fn counts(&self, role: &str) -> (u64, u64, u64) {
        let counts = &self.status.as_ref().unwrap()["replicaStatuses"][role];
        let count = |name: &str| counts[name].as_u64().unwrap_or(0);
        (count("active"), count("succeeded"), count("failed"))
    }

    /// Names of the pods that exist.
    pub fn left(&self) -> Vec<String> {
        self.pods.keys().map(ToString::to_string).collect()
    }
}
