//! What a run takes from the machine: its network, its GPUs, its user.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use rustix::process::Signal;

use crate::bench::{ALL_WORKERS, Bench, Run, every_user, finished, quick, send};

/// An address outside of the run, for the task below.
const OUTSIDE: &str = "OUTSIDE";

/// Not a test of its own: what the isolated task does.
#[test]
#[ignore = "runs as a task"]
fn as_a_task() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback can be listened on");
    let mut one = TcpStream::connect(listener.local_addr().expect("it has one")).expect("loopback works");
    let (mut other, _) = listener.accept().expect("it was called");
    other.write_all(b"x").expect("they are connected");
    one.read_exact(&mut [0]).expect("they are connected");
    let outside = std::env::var(OUTSIDE).expect("we are told");
    assert!(TcpStream::connect(&outside).is_err(), "{outside} is reached");
    assert!(
        TcpStream::connect("192.0.2.1:80").is_err(),
        "the world is reached"
    );
}

#[test]
fn an_isolated_run_has_loopback_and_nothing_else() {
    let outside = TcpListener::bind("127.0.0.1:0").expect("loopback can be listened on");
    let address = outside.local_addr().expect("it has one").to_string();
    let ourselves = std::env::current_exe().expect("we are a file");
    let script = format!(
        "exec {} --exact machine::as_a_task --ignored",
        ourselves.display()
    );
    let isolated = |flags: &[&str]| {
        let bench = Bench::new();
        let flags = [&["--workers", "2"], flags].concat();
        finished(bench.command(&quick(&flags, &script)).env(OUTSIDE, &address))
    };
    let ran = isolated(&["--isolate"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("1 passed"), "{ran:?}");
    // The check checks: without isolation the task reaches us.
    assert_eq!(isolated(&[]).code, Some(1));
}

#[test]
fn an_ordinary_user_can_isolate_a_run_too() {
    for who in every_user() {
        let bench = Bench::of(who);
        let ran = bench.quick(
            &["--workers", "1", "--isolate"],
            "tail -n +2 /proc/net/route; echo over",
        );
        assert_eq!(ran.code, Some(0), "{who:?} {ran:?}");
        // No route leads anywhere.
        assert_eq!(ran.lines("worker-0"), ["over"], "{who:?} {ran:?}");
    }
}

const FOUR_GPUS: &str = "#!/bin/sh
[ \"$1\" = -L ] || exit 9
for i in 0 1 2 3; do echo \"GPU $i: Stand-in (UUID: GPU-0000000$i-aaaa-bbbb-cccc-000000000000)\"; done
";

#[test]
fn gpus_are_split_over_the_tasks_that_ask_for_them() {
    let bench = Bench::new();
    bench.program("nvidia-smi", FOUR_GPUS);
    // The server is stopped when the workers are done: they wait until it has had its say.
    let script = "echo sees ${CUDA_VISIBLE_DEVICES-everything}
        if [ $TRAINYARD_ROLE = ps ]; then touch said; fi
        until [ -e said ]; do sleep 0.01; done";
    let flags = [&["--workers", "2", "--ps", "1", "--gpus", "2"], &ALL_WORKERS[..]].concat();
    let ran = bench.quick(&flags, script);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let sees = |task: &str| ran.lines(task).first().map(|line| line.matches("GPU-").count());
    assert_eq!(
        [sees("worker-0"), sees("worker-1"), sees("ps-0")],
        [Some(2), Some(2), Some(0)],
        "{ran:?}"
    );
    let mut all: Vec<&str> = ["worker-0", "worker-1"]
        .iter()
        .flat_map(|task| ran.lines(task))
        .collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 2, "the same GPUs for both: {ran:?}");
}

#[test]
fn too_few_gpus_are_an_error_that_offers_to_share_them() {
    let bench = Bench::new();
    bench.program("nvidia-smi", FOUR_GPUS);
    let flags = ["--workers", "3", "--gpus", "2"];
    let ran = bench.quick(&flags, "exit 0");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let words = ["6", "4", "--share-gpus"];
    assert!(words.iter().all(|words| ran.err.contains(words)), "{}", ran.err);
    let ran = bench.quick(
        &[&flags[..], &["--share-gpus"]].concat(),
        "echo sees $CUDA_VISIBLE_DEVICES",
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_task_left_out_can_be_started_by_hand_with_what_is_printed() {
    let bench = Bench::new();
    let script = "echo it is \"$TRAINYARD_TASK\" of $TRAINYARD_ROLE $TRAINYARD_INDEX, $TF_CONFIG; until [ -e over ]; do sleep 0.02; done";
    let mut run = bench.start(&quick(&["--workers", "2", "--debug", "worker-1"], script));
    run.until("worker-0  │ it is");
    run.until("worker-1 is left out");
    assert_eq!(run.said.iter().filter(|line| line.contains("│ it is")).count(), 1);
    let by_hand = bench
        .newest("job")
        .expect("it runs")
        .path
        .join("start-worker-1.sh");
    bench.write("over", "");
    let output = Command::new("sh")
        .arg(&by_hand)
        .env_clear()
        .output()
        .expect("there is a shell");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("of worker 1, {"),
        "{output:?}"
    );
    assert!(said.contains(r#""task":{"type":"worker","index":1}"#), "{said}");
    let (said, status) = run.finish();
    assert_eq!(status.code(), Some(0), "{said:#?}");
}

/// A machine without namespaces: root without capabilities, where no user can create namespaces.
pub fn without_namespaces(bench: &Bench, arguments: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    let forbid = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";
    command.args(["--user", "--map-root-user", "sh", "-c", forbid]);
    command.args(["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"]);
    command.arg(env!("CARGO_BIN_EXE_trainyard")).args(arguments);
    let ours = bench.command(&[]);
    command.current_dir(bench.path("")).env_clear();
    command.envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

#[test]
fn where_namespaces_are_forbidden_a_guard_sees_to_what_a_killed_run_leaves_behind() {
    let victims: [fn(&Run) -> i32; 2] = [Run::outer, Run::inner];
    for victim in victims {
        let bench = Bench::new();
        let deaf = "trap '' TERM; setsid sh -c 'echo up; exec sleep 1000' & echo up; exec sleep 1000";
        let mut run = Run::start(without_namespaces(&bench, &quick(&["--workers", "2"], deaf)));
        run.until("process namespaces are not allowed here");
        run.until_times("│ up", 4);
        send(victim(&run), Signal::KILL);
        run.finish();
        bench.assert_nothing_left();
        let ps = bench.run(&["ps", "--all"]);
        assert!(ps.out.contains("interrupted"), "{ps:?}");
    }
}

#[test]
fn a_mount_that_the_machine_does_not_allow_is_named_and_the_run_goes_on_only_if_told_to() {
    let manifest = "apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: job}
spec:
  tfReplicaSpecs:
    Worker:
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          volumes: [{name: scratch, emptyDir: {}}]
          containers:
          - name: tensorflow
            image: x
            command: [sh, -c, '[ -e /scratch-of-the-test ] || echo without']
            volumeMounts: [{name: scratch, mountPath: /scratch-of-the-test}]
";
    let bench = Bench::new();
    bench.write("job.yaml", manifest);
    let ran = finished(&mut without_namespaces(&bench, &["run", "job.yaml"]));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let words = ["/scratch-of-the-test", "--allow-missing-mounts"];
    assert!(words.iter().all(|words| ran.err.contains(words)), "{}", ran.err);
    let mut allowed = without_namespaces(&bench, &["run", "job.yaml", "--allow-missing-mounts"]);
    let ran = finished(&mut allowed);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.lines("worker-0"), ["without"], "{ran:?}");
    assert!(
        ran.err.contains("runs without `/scratch-of-the-test`"),
        "{}",
        ran.err
    );
}

#[test]
fn programs_run_as_whoever_started_the_run() {
    for who in every_user() {
        let bench = Bench::of(who);
        let ran = bench.quick(&["--workers", "1"], "id -u; touch made");
        assert_eq!(ran.code, Some(0), "{who:?} {ran:?}");
        let owner =
            std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(bench.path("made")).expect("it was made"));
        assert_eq!(ran.lines("worker-0"), [owner.to_string()], "{who:?} {ran:?}");
        bench.assert_nothing_left();
    }
}
