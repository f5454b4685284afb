//! What the benchmarks measure with: jobs of any size, as a user would write them, and worlds in which they run.

pub mod node_time;
pub mod succession;

use trainyard_core::{
    Exit, Fixture, FixtureSeen, Job, Memory, Observed, Placement, Seen, Stamp, TaskId, TaskSeen, Time, Why,
    step,
};
use trainyard_document::Source;

/// The sizes that are measured: tasks of one job.
pub const SIZES: [u32; 4] = [10, 100, 1_000, 3_000];

/// When the benchmarks' jobs are looked at.
pub const NOW: Time = Time(1_700_000_000);

/// A TFJob of so many tasks: a chief, one parameter server in ten, the rest workers.
#[must_use]
pub fn manifest(name: &str, tasks: u32) -> String {
    let servers = tasks / 10;
    let workers = tasks - servers - 1;
    let role = |role: &str, replicas: u32| {
        format!(
            "    {role}:
      replicas: {replicas}
      restartPolicy: ExitCode
      template:
        spec:
          containers:
          - name: tensorflow
            image: tensorflow/tensorflow:2.16.1
            command: [python, /opt/train/train.py, --epochs=10]
            resources:
              requests: {{cpu: \"4\", memory: 16Gi}}
              limits: {{nvidia.com/gpu: 1}}
            volumeMounts:
            - {{name: data, mountPath: /data}}
          volumes:
          - name: data
            persistentVolumeClaim: {{claimName: data}}
"
        )
    };
    format!(
        "apiVersion: kubeflow.org/v1
kind: TFJob
metadata:
  name: {name}
  namespace: research
  uid: 7f6e1c1e-3c0e-4d0a-9d3e-0a8a6f0f3b11
spec:
  runPolicy:
    cleanPodPolicy: Running
    backoffLimit: 100
  tfReplicaSpecs:
{}{}{}",
        role("Chief", 1),
        role("PS", servers),
        role("Worker", workers)
    )
}

/// The job that such a manifest means. One whose `TF_CONFIG` would be too long for Linux is refused by the reader, so
/// large jobs are small ones grown.
#[must_use]
pub fn job(tasks: u32) -> Option<Job> {
    let source = Source::from_bytes("bench.yaml", manifest("mnist", 10).as_bytes()).ok()?;
    let mut job = trainyard_dialect::read(&source).jobs().next()?.job.clone();
    for role in &mut job.roles {
        role.replicas = match role.name.as_str() {
            "chief" => 1,
            "ps" => tasks / 10,
            _ => tasks - tasks / 10 - 1,
        };
    }
    Some(job)
}

/// A job in which everything runs: its memory, and what is seen of it.
#[must_use]
pub fn running(job: &Job) -> (Memory, Observed) {
    let tasks = job.tasks().map(running_task).collect();
    let observed = Observed {
        tasks,
        fixtures: vec![(Fixture::Addresses, FixtureSeen::Ours { right: true })],
        ..Observed::default()
    };
    let memory = step(job, None, &observed, NOW).memory;
    (memory, observed)
}

fn running_task(id: TaskId) -> TaskSeen {
    TaskSeen {
        instance: format!("uid-of-{id}").into(),
        id,
        stamp: Stamp::default(),
        state: Seen::Running { ready: true },
        created: Time(NOW.0 - 3600),
        in_place: 0,
        last: None,
        stopping: None,
        lingers: false,
        placement: Placement::default(),
    }
}

/// The end of a program that was killed some seconds ago.
#[must_use]
pub fn killed() -> Exit {
    Exit {
        code: Some(137),
        why: Why::Itself,
        asked: false,
        at: Time(NOW.0 - 5),
        ran: 3595,
        ..Exit::default()
    }
}
