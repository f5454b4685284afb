//! A pod template carried out: commands, variables, init containers, sidecars; and what the command line changes.

use crate::bench::{Bench, finished, quick};

fn with_containers(spec: &str) -> String {
    format!(
        "apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {{name: job}}
spec:
  tfReplicaSpecs:
    Worker:
      replicas: 1
      restartPolicy: Never
      template:
        spec:
{spec}"
    )
}

#[test]
fn variables_come_from_everywhere_and_are_expanded_in_commands() {
    let bench = Bench::new();
    let spec = r#"          containers:
          - name: tensorflow
            image: x
            command: [sh, -c, 'echo "$0|$1|$2|$3"; echo "$PLAIN|$MADE|$KEY|$FROM_level|$PASSWORD|$NAME|$CPU"']
            args: [$(PLAIN), $(MADE), $$(PLAIN), $(UNKNOWN)]
            resources: {limits: {cpu: 2}}
            envFrom: [{configMapRef: {name: settings}, prefix: FROM_}]
            env:
            - {name: PLAIN, value: plain}
            - {name: MADE, value: 'of $(PLAIN)'}
            - {name: KEY, valueFrom: {configMapKeyRef: {name: settings, key: level}}}
            - {name: PASSWORD, valueFrom: {secretKeyRef: {name: hidden, key: password}}}
            - {name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
            - {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {level: high}
"#;
    bench.write("job.yaml", with_containers(spec));
    bench.write(
        "secret.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: hidden}\nstringData: {password: open sesame}\n",
    );
    let missing = bench.run(&["run", "job.yaml"]);
    assert_eq!(missing.code, Some(2), "{missing:?}");
    assert!(
        missing.err.contains("hidden") && missing.err.contains("--with"),
        "{}",
        missing.err
    );
    let ran = bench.run(&["run", "job.yaml", "--with", "secret.yaml"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        ran.lines("worker-0"),
        [
            "plain|of plain|$(PLAIN)|$(UNKNOWN)",
            "plain|of plain|high|high|open sesame|job-worker-0|2"
        ],
        "{ran:?}"
    );
    // What is secret stands in no log of ours and no status.
    assert!(!ran.err.contains("sesame"), "{}", ran.err);
}

#[test]
fn init_containers_run_first_in_order_and_sidecars_beside() {
    let bench = Bench::new();
    let spec = "          initContainers:
          - {name: first, image: x, command: [sh, -c, 'echo 1 >> order']}
          - {name: second, image: x, command: [sh, -c, 'echo 2 >> order']}
          containers:
          - {name: beside, image: x, command: [sh, -c, 'touch beside; exec sleep 1000']}
          - {name: tensorflow, image: x, command: [sh, -c, 'until [ -e beside ]; do sleep 0.02; done; echo 3 >> order']}
";
    bench.write("job.yaml", with_containers(spec));
    let ran = bench.run(&["run", "job.yaml"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        std::fs::read_to_string(bench.path("order")).expect("it was written"),
        "1\n2\n3\n"
    );
    bench.assert_nothing_left();
    // One that fails ends the task, and the main program is not started.
    let text = with_containers(spec).replace("echo 2 >> order", "echo broken; exit 6");
    bench.write("job.yaml", text);
    let ran = bench.run(&["run", "job.yaml"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(
        std::fs::read_to_string(bench.path("order")).expect("it was written"),
        "1\n2\n3\n1\n"
    );
    let failure = bench
        .status("job")
        .end
        .and_then(|end| end.first_failure)
        .expect("it failed");
    assert_eq!(
        (failure.end.code, failure.end.container.as_deref()),
        (Some(6), Some("second"))
    );
    assert_eq!(failure.last_lines, ["broken"]);
}

#[test]
fn the_command_line_changes_the_manifest() {
    let bench = Bench::new();
    let spec = "          containers:
          - {name: tensorflow, image: x, command: [nosuchprogram], env: [{name: STEPS, value: '100'}]}
";
    bench.write(
        "job.yaml",
        with_containers(spec).replace("replicas: 1", "replicas: 64"),
    );
    bench.folder("elsewhere");
    let elsewhere = bench.path("elsewhere");
    let changes = [
        "run",
        "job.yaml",
        "--replicas",
        "worker=2",
        "--env",
        "STEPS=5",
        "--env",
        "NEW=yes",
        "--workdir",
        elsewhere.to_str().expect("paths of tests are plain"),
        "--command",
        "sh -c 'echo $STEPS $NEW $(basename \"$PWD\")'",
        "--set",
        "metadata.name=tried",
        "--set",
        "spec.successPolicy=AllWorkers",
    ];
    let ran = bench.run(&changes);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for task in ["worker-0", "worker-1"] {
        assert_eq!(ran.lines(task), ["5 yes elsewhere"], "{ran:?}");
    }
    assert_eq!(bench.status("tried").tasks.len(), 2);
    // `--print` shows what would be run, and runs nothing.
    let printed = bench.run(&[&changes[..], &["--set", "metadata.name=printed", "--print"]].concat());
    assert_eq!(printed.code, Some(0), "{printed:?}");
    assert!(bench.newest("printed").is_none());
    bench.write("printed.yaml", &printed.out);
    let ran = bench.run(&["run", "printed.yaml"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.lines("worker-1"), ["5 yes elsewhere"], "{ran:?}");
}

#[test]
fn the_job_that_flags_stand_for_is_printed_ready_for_a_cluster() {
    let bench = Bench::new();
    let flags = ["--workers", "2", "--ps", "1", "--chief", "--print"];
    let printed = bench.quick(&flags, "echo it is $TRAINYARD_ROLE");
    assert_eq!(printed.code, Some(0), "{printed:?}");
    bench.write("job.yaml", &printed.out);
    let checked = bench.run(&["check", "job.yaml"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let ran = bench.run(&["run", "job.yaml", "--python", "own"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.lines("chief-0"), ["it is chief"], "{ran:?}");
}

#[test]
fn tasks_are_told_who_they_are_and_where_the_others_are() {
    let bench = Bench::new();
    let script = "echo $TRAINYARD_ROLE-$TRAINYARD_INDEX $TRAINYARD_CHIEF_HOSTS $TRAINYARD_PS_HOSTS $TRAINYARD_WORKER_HOSTS
        echo $TF_CONFIG; echo $PYTHONUNBUFFERED $TF_CPP_MIN_LOG_LEVEL
        [ $TRAINYARD_ROLE-$TRAINYARD_INDEX = worker-1 ] && touch told; until [ -e told ]; do sleep 0.02; done";
    let flags = ["--workers", "2", "--ps", "1", "--chief", "--evaluator"];
    let mut command = bench.command(&quick(&flags, script));
    let ran = finished(
        command
            .env("TF_CONFIG", "must not leak")
            .env("TF_CPP_MIN_LOG_LEVEL", "3"),
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let status = bench.status("job");
    let address = |task: &str| {
        let found = status.tasks.iter().find(|found| found.task.to_string() == task);
        format!(
            "127.0.0.1:{}",
            found.and_then(|task| task.port).expect("it has a port")
        )
    };
    let [chief, ps, first, second] = ["chief-0", "ps-0", "worker-0", "worker-1"].map(address);
    let lines = ran.lines("worker-1");
    assert_eq!(
        lines[0],
        format!("worker-1 {chief} {ps} {first},{second}"),
        "{ran:?}"
    );
    let config: serde_json::Value = serde_json::from_str(lines[1]).expect("TF_CONFIG is JSON");
    let cluster = serde_json::json!({"chief": [chief], "ps": [ps], "worker": [first, second]});
    assert_eq!(config["cluster"], cluster);
    assert_eq!(config["task"], serde_json::json!({"type": "worker", "index": 1}));
    assert_eq!(lines[2], "1 3", "{ran:?}");
    // A job of one task is not distributed.
    let alone = bench.quick(&["--workers", "1"], "echo ${TF_CONFIG-unset}");
    assert_eq!(alone.lines("worker-0"), ["unset"], "{alone:?}");
}
