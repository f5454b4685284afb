//! What tasks find at their mounts, for root and for ordinary users; the machine itself does not change.

use std::fs;
use std::path::Path;

use crate::bench::{Bench, eventually, every_user};

const EVERY_VOLUME: &str = r#"apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: job, labels: {team: vision}}
spec:
  tfReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: Never
      template:
        metadata: {labels: {team: vision}}
        spec:
          volumes:
          - {name: settings, configMap: {name: settings}}
          - {name: hidden, secret: {secretName: hidden}}
          - {name: scratch, emptyDir: {}}
          - {name: host, hostPath: {path: HOST}}
          - {name: claim, persistentVolumeClaim: {claimName: data}}
          - name: who
            downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}
          containers:
          - name: tensorflow
            image: x
            command:
            - sh
            - -c
            - |
              cat /etc/ty-settings/level.txt /etc/ty-hidden/password /ty-host/file; cat /ty-who/name; echo
              echo of $TRAINYARD_INDEX > /ty-scratch/mine; cat /ty-scratch/*
              echo of $TRAINYARD_INDEX > /ty-claim/$TRAINYARD_INDEX
              echo x 2> /dev/null > /etc/ty-settings/level.txt || echo read-only
              until [ -e /ty-claim/0 ] && [ -e /ty-claim/1 ]; do sleep 0.02; done; touch /ty-claim/seen-$TRAINYARD_INDEX
              until [ -e /ty-claim/seen-0 ] && [ -e /ty-claim/seen-1 ]; do sleep 0.02; done
            volumeMounts:
            - {name: settings, mountPath: /etc/ty-settings, readOnly: true}
            - {name: hidden, mountPath: /etc/ty-hidden, readOnly: true}
            - {name: scratch, mountPath: /ty-scratch}
            - {name: host, mountPath: /ty-host}
            - {name: claim, mountPath: /ty-claim}
            - {name: who, mountPath: /ty-who}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {level.txt: "high\n"}
---
apiVersion: v1
kind: Secret
metadata: {name: hidden}
data: {password: b3BlbiBzZXNhbWUK}
"#;

const TARGETS: [&str; 6] = [
    "/etc/ty-settings",
    "/etc/ty-hidden",
    "/ty-scratch",
    "/ty-host",
    "/ty-claim",
    "/ty-who",
];

#[test]
fn every_kind_of_volume_is_found_where_the_manifest_says() {
    for who in every_user() {
        let bench = Bench::of(who);
        bench.folder("host");
        bench.write("host/file", "of the host\n");
        let host = bench.path("host");
        bench.write(
            "job.yaml",
            EVERY_VOLUME.replace("HOST", &host.display().to_string()),
        );
        let ran = bench.run(&["run", "job.yaml"]);
        assert_eq!(ran.code, Some(0), "{who:?} {ran:?}");
        for index in 0..2 {
            let name = format!("job-worker-{index}");
            let mine = format!("of {index}");
            let expected = ["high", "open sesame", "of the host", &name, &mine, "read-only"];
            assert_eq!(ran.lines(&format!("worker-{index}")), expected, "{who:?} {ran:?}");
        }
        for target in TARGETS {
            assert!(!Path::new(target).exists(), "{target} is left behind");
        }
        // Claims are kept for the next run; what was of a life is gone with it.
        let kept = bench.home().volumes().join("default/data/0");
        assert_eq!(fs::read_to_string(kept).expect("it is kept"), "of 0\n");
        let lives = bench.newest("job").expect("it was run").lives();
        assert!(!lives.exists(), "{} is left behind", lives.display());
    }
}

#[test]
fn a_claim_can_be_a_directory_of_the_users() {
    let bench = Bench::new();
    bench.folder("host");
    bench.folder("data");
    bench.write("host/file", "of the host\n");
    let host = bench.path("host");
    bench.write(
        "job.yaml",
        EVERY_VOLUME.replace("HOST", &host.display().to_string()),
    );
    let ran = bench.run(&["run", "job.yaml", "--volume", "data=data"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        fs::read_to_string(bench.path("data/1")).expect("it is there"),
        "of 1\n"
    );
    let ran = bench.run(&["run", "job.yaml", "--volume", "data=nowhere"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("nowhere"), "{}", ran.err);
}

#[test]
fn a_path_of_the_host_that_is_not_there_is_named() {
    let bench = Bench::new();
    bench.write(
        "job.yaml",
        EVERY_VOLUME.replace("HOST", "/no/such/directory, type: Directory"),
    );
    let ran = bench.run(&["run", "job.yaml"]);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("/no/such/directory"), "{}", ran.err);
}

/// As in Volcano's tutorial: the hosts of all tasks are in files under /etc/volcano.
const VOLCANO: &str = r#"apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: job}
spec:
  minAvailable: 3
  schedulerName: volcano
  plugins: {env: [], svc: []}
  tasks:
  - name: ps
    replicas: 1
    template:
      spec:
        restartPolicy: Never
        containers:
        - name: tensorflow
          image: x
          command: [sh, -c, 'echo ps $VK_TASK_INDEX; exec sleep 1000']
  - name: worker
    replicas: 2
    policies: [{event: TaskCompleted, action: CompleteJob}]
    template:
      spec:
        restartPolicy: Never
        containers:
        - name: tensorflow
          image: x
          command:
          - sh
          - -c
          - |
            PS_HOST=`cat /etc/volcano/ps.host | sed 's/$/&:2222/g' | tr "\n" ","`
            WORKER_HOST=`cat /etc/volcano/worker.host | sed 's/$/&:2222/g' | tr "\n" ","`
            echo $VK_TASK_INDEX ps $PS_HOST workers $WORKER_HOST
            getent hosts `cat /etc/volcano/ps.host` > /dev/null && echo found
"#;

#[test]
fn a_volcano_manifest_reads_the_hosts_of_all_tasks() {
    let there = Path::new("/etc/volcano").exists();
    for who in every_user() {
        let bench = Bench::of(who);
        bench.write("job.yaml", VOLCANO);
        let ran = bench.run(&["run", "job.yaml"]);
        assert_eq!(ran.code, Some(0), "{who:?} {ran:?}");
        for index in 0..2 {
            let lines = ran.lines(&format!("worker-{index}"));
            let hosts =
                format!("{index} ps job-ps-0.job:2222 workers job-worker-0.job:2222,job-worker-1.job:2222");
            assert_eq!(lines, [hosts.as_str(), "found"], "{who:?} {ran:?}");
        }
        bench.assert_nothing_left();
    }
    assert_eq!(Path::new("/etc/volcano").exists(), there);
}

/// One worker that finds a directory of the machine at `data` of its working directory, and says so until it is told
/// to end.
fn over_data(bench: &Bench, name: &str) -> String {
    let (host, data) = (bench.path("host"), bench.path("data"));
    format!(
        "apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {{name: {name}}}
spec:
  tfReplicaSpecs:
    Worker:
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          volumes: [{{name: host, hostPath: {{path: {host}}}}}]
          containers:
          - name: tensorflow
            image: x
            command: [sh, -c, 'cat data/file; until [ -e {name}-over ]; do sleep 0.02; done; cat data/file']
            volumeMounts: [{{name: host, mountPath: {data}}}]
---
",
        host = host.display(),
        data = data.display(),
    )
}

#[test]
fn the_end_of_one_run_takes_no_mount_from_another() {
    for who in every_user() {
        let bench = Bench::of(who);
        bench.folder("host");
        bench.write("host/file", "of the host\n");
        let runs = ["one", "two"].map(|name| {
            bench.write("job.yaml", over_data(&bench, name));
            let mut run = bench.start(&["run", "job.yaml"]);
            run.until("│ of the host");
            (name, run)
        });
        assert!(bench.path("data").exists());
        for (name, run) in runs {
            bench.write(&format!("{name}-over"), "");
            let (said, status) = run.finish();
            assert_eq!(status.code(), Some(0), "{who:?} {name}: {said:#?}");
            let seen = said.iter().filter(|line| line.ends_with("│ of the host"));
            assert_eq!(seen.count(), 2, "{who:?} {name}: {said:#?}");
        }
        assert!(!bench.path("data").exists(), "{who:?}: the last run removes it");
    }
}

#[test]
fn the_end_of_one_job_of_a_file_takes_no_mount_from_another() {
    let bench = Bench::new();
    bench.folder("host");
    bench.write("host/file", "of the host\n");
    bench.write("jobs.yaml", over_data(&bench, "one") + &over_data(&bench, "two"));
    let mut run = bench.start(&["run", "jobs.yaml"]);
    run.until_times("│ of the host", 2);
    bench.write("one-over", "");
    eventually("one has ended", || bench.status("one").end.is_some());
    bench.write("two-over", "");
    let (said, status) = run.finish();
    assert_eq!(status.code(), Some(0), "{said:#?}");
    let seen = said.iter().filter(|line| line.ends_with("│ of the host")).count();
    assert_eq!(seen, 4, "{said:#?}");
    assert!(!bench.path("data").exists(), "the last job removes it");
}
