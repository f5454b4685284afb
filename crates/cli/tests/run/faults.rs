//! What once went wrong: runs that did not end, that killed each other's processes, that told others' secrets.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use trainyard_local::run::control;
use trainyard_local::run::control::order::{Order, OrderReply};

use crate::bench::{Bench, Run, eventually, finished, quick, send};

/// A job of so many workers, each of which runs this script.
fn job(name: &str, replicas: u32, spec: &str, script: &str) -> String {
    format!(
        "apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {{name: {name}}}
spec:
  tfReplicaSpecs:
    Worker:
      replicas: {replicas}
      restartPolicy: Never
      template:
        spec:{spec}
          containers:
          - name: tensorflow
            image: x
            command:
            - sh
            - -c
            - |
              {}
",
        script.replace('\n', "\n              ")
    )
}

#[test]
fn a_job_that_is_to_be_gone_at_once_ends_by_itself() {
    let bench = Bench::new();
    let gone = "spec.runPolicy.ttlSecondsAfterFinished=0";
    let run = bench.start(&quick(&["--workers", "2", "--set", gone], "exit 0"));
    let (said, status) = run.finish();
    assert_eq!(status.code(), Some(0), "{said:#?}");
    bench.assert_nothing_left();
}

#[test]
fn a_job_that_is_to_be_gone_before_its_tasks_are_waits_for_them() {
    let bench = Bench::new();
    let script = "if [ $TRAINYARD_INDEX = 0 ]; then until [ -e deaf ]; do sleep 0.02; done; exit 0; fi
        trap '' TERM; touch deaf; while :; do sleep 1000; done";
    let flags = [
        "--workers",
        "2",
        "--set",
        "spec.runPolicy.ttlSecondsAfterFinished=1",
        "--set",
        "spec.tfReplicaSpecs.Worker.template.spec.terminationGracePeriodSeconds=3",
    ];
    let (said, status) = bench.start(&quick(&flags, script)).finish();
    assert_eq!(status.code(), Some(0), "{said:#?}");
    let deaf = &bench.status("job").tasks[1];
    assert_eq!(deaf.end.as_ref().and_then(|end| end.signal), Some(9), "{said:#?}");
    bench.assert_nothing_left();
}

#[test]
fn nobody_else_reads_what_a_run_keeps() {
    let bench = Bench::new();
    let spec = "
          volumes: [{name: hidden, secret: {secretName: hidden}}]";
    let mount = "            volumeMounts: [{name: hidden, mountPath: /hidden}]\n";
    let secret = "---
apiVersion: v1
kind: Secret
metadata: {name: hidden}
stringData: {password: open sesame}
";
    let script = "cat /hidden/password; echo; until [ -e over ]; do sleep 0.02; done";
    let text = job("job", 1, spec, script) + mount + secret;
    bench.write("job.yaml", text);
    let mut run = bench.start(&["run", "job.yaml"]);
    run.until("│ open sesame");
    let kept = bench.newest("job").expect("it was run").path;
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&kept), 0o700);
    bench.write("over", "");
    let (said, status) = run.finish();
    assert_eq!(status.code(), Some(0), "{said:#?}");
    assert_eq!(mode(&kept), 0o700);
}

#[test]
fn a_run_whose_output_nobody_reads_can_be_stopped() {
    let bench = Bench::new();
    let script = "head -c 1000000 /dev/zero | tr '\\0' '\\n'; exec sleep 1000";
    let (unread, writer) = io::pipe().expect("a pipe can be made");
    let copy = || writer.try_clone().expect("a descriptor can be copied");
    let mut command = bench.command(&quick(&["--workers", "1"], script));
    let mut run = Run::unread(command.stdout(copy()).stderr(copy()));
    eventually("nothing more can be said", || {
        let takes_more = poll(
            &mut [PollFd::new(&writer, PollFlags::OUT)],
            Some(&Timespec::default()),
        );
        takes_more.expect("descriptors can be waited for") == 0
    });
    eventually("it ends", || {
        run.signal(Signal::TERM);
        run.has_ended()
    });
    bench.assert_nothing_left();
    drop(unread);
}

#[test]
fn a_task_that_ends_takes_no_process_of_another_jobs_task_with_it() {
    let bench = Bench::new();
    let one = job("one", 1, "", "until [ -e up ]; do sleep 0.02; done");
    // The process in its own session has no parent that waits: it is reparented.
    let two = job(
        "two",
        1,
        "",
        "(setsid sh -c 'touch up; until [ -e over ]; do sleep 0.02; done; touch survived' &)
until [ -e over ]; do sleep 0.02; done
for i in $(seq 500); do if [ -e survived ]; then exit 0; fi; sleep 0.02; done
echo it was killed; exit 9",
    );
    bench.write("jobs.yaml", format!("{one}---\n{two}"));
    let run = bench.start(&["run", "jobs.yaml"]);
    eventually("one has ended", || {
        bench.newest("one").is_some_and(|run| {
            let status = run.read_status().ok().flatten();
            status.is_some_and(|status| status.end.is_some())
        })
    });
    bench.write("over", "");
    let (said, status) = run.finish();
    assert_eq!(status.code(), Some(0), "{said:#?}");
    bench.assert_nothing_left();
}

#[test]
fn a_task_that_is_left_out_is_started_with_the_script_that_is_printed() {
    let bench = Bench::new();
    let spec = "
          volumes:
          - {name: scratch, emptyDir: {}}
          - {name: settings, configMap: {name: settings}}";
    let rest = "            env: [{name: a.dotted-name, value: \"it's set\"}]
            volumeMounts:
            - {name: scratch, mountPath: /scratch}
            - {name: settings, mountPath: /settings}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {level: high}
";
    // A shell keeps no variable of such a name, but it is given it. Of two dollars, Kubernetes leaves one.
    let script = "tr '\\0' '\\n' < /proc/$$$$/environ | grep dotted
echo up; [ -e /settings/level ] && exec sleep 1000";
    bench.write("job.yaml", job("job", 2, spec, script) + rest);
    let mut run = bench.start(&["run", "job.yaml", "--debug", "worker-1"]);
    run.until("│ up");
    let between = |line: &str, before: &str| {
        let (_, rest) = line.split_once(before).expect("the words are in it");
        rest.split('`').next().unwrap_or_default().to_owned()
    };
    let sources = ["/scratch", "/settings"].map(|target| {
        let line = run.until(&format!("`{target}` is at `"));
        between(&line, "is at `")
    });
    assert!(Path::new(&sources[0]).is_dir(), "{sources:?}");
    let level = fs::read_to_string(Path::new(&sources[1]).join("level"));
    assert_eq!(level.expect("it is there"), "high");
    let file = between(&run.until("`sh /"), "`sh ");
    let ran = finished(Command::new("sh").arg(file));
    assert_eq!(ran.out, "a.dotted-name=it's set\nup\n", "{ran:?}");
    run.signal(Signal::INT);
    let (said, status) = run.finish();
    assert_eq!(status.code(), Some(130), "{said:#?}");
    bench.assert_nothing_left();
}

#[test]
fn a_run_that_is_ending_may_be_told_to_stop() {
    let script = "if [ $TRAINYARD_INDEX = 0 ]; then until [ -e ends ]; do sleep 0.02; done; exit 0; fi
        trap 'echo asked; until [ -e over ]; do sleep 0.02; done; exit 0' TERM
        echo up; while :; do sleep 1000 & wait; done";
    let grace = "spec.tfReplicaSpecs.Worker.template.spec.terminationGracePeriodSeconds=3600";
    for signal in [Some(Signal::TERM), None] {
        let bench = Bench::new();
        let mut run = bench.start(&quick(&["--workers", "2", "--set", grace], script));
        run.until("│ up");
        match signal {
            Some(signal) => send(run.outer(), signal),
            None => drop(bench.write("ends", "")),
        }
        run.until("│ asked");
        for _ in 0..2 {
            let stop = bench.run(&["stop", "job", "--timeout", "0"]);
            assert_eq!(stop.code, Some(0), "{signal:?}: {stop:?}");
        }
        assert!(bench.status("job").end.is_none(), "{signal:?}");
        bench.write("over", "");
        // Commands are accepted until the supervisor is gone.
        let directory = bench.newest("job").expect("it was run");
        while let Ok(answer) = control::send(&directory, &Order::Stop { now: false }) {
            assert_eq!(answer, OrderReply::Done, "{signal:?}");
        }
        let stop = bench.run(&["stop", "job"]);
        assert_eq!(stop.code, Some(0), "{signal:?}: {stop:?}");
        let (said, status) = run.finish();
        let code = if signal.is_some() { 143 } else { 0 };
        assert_eq!(status.code(), Some(code), "{signal:?}: {said:#?}");
        bench.assert_nothing_left();
    }
}
