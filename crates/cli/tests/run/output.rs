//! What tasks write, however much and of whatever kind; and a disk that takes no more of it.

use std::fs;

use rustix::process::getuid;

use crate::bench::{ALL_WORKERS, Bench, finished, quick};

/// Lines are shown in pieces of this length.
const LONGEST: usize = trainyard_local::logs::pump::LONGEST_LINE;

#[test]
fn a_line_of_ten_megabytes_is_kept_whole_and_shown_in_pieces() {
    const LENGTH: usize = 10_000_000;
    let bench = Bench::new();
    let script = format!("echo before; head -c {LENGTH} /dev/zero | tr '\\0' y; echo; echo after");
    let ran = bench.quick(&[&["--workers", "2"], &ALL_WORKERS[..]].concat(), &script);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let logs = bench.newest("job").expect("it was run").logs();
    for index in 0..2 {
        let raw = fs::read(logs.join(format!("worker-{index}.0.0.log"))).expect("there is a log");
        assert_eq!(raw.len(), "before\n".len() + LENGTH + 1 + "after\n".len());
        let own: Vec<&str> = ran
            .out
            .lines()
            .filter(|line| line.starts_with(&format!("worker-{index}")))
            .collect();
        let shown: usize = own.iter().map(|line| line.matches('y').count()).sum();
        assert_eq!(shown, LENGTH);
        assert!(own.iter().all(|line| line.len() <= LONGEST + 40));
        assert!(own[0].ends_with(" before") && own.last().is_some_and(|last| last.ends_with(" after")));
    }
}

#[test]
fn binary_output_is_kept_as_it_is() {
    let bench = Bench::new();
    let ran = bench.quick(
        &["--workers", "1"],
        r"printf 'one\n\000\377\033[31m\n\377\200'; exit 3",
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let logs = bench.newest("job").expect("it was run").logs();
    let raw = fs::read(logs.join("worker-0.0.0.log")).expect("there is a log");
    assert_eq!(raw, b"one\n\x00\xff\x1b[31m\n\xff\x80");
    // The status is text all the same.
    let failure = bench
        .status("job")
        .end
        .and_then(|end| end.first_failure)
        .expect("it failed");
    assert_eq!(failure.last_lines.len(), 3);
    // No event of `-o json` is anything but JSON.
    let ran = bench.quick(
        &["--workers", "1", "-o", "json"],
        r"printf 'one\n\000\377\033[31m\n\377\200'",
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for line in ran.out.lines() {
        assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line}");
    }
}

#[test]
fn a_disk_full_under_one_log_is_told_once_and_the_run_goes_on() {
    let bench = Bench::new();
    // The task itself puts the device in the place of its next life's log.
    let script = "if [ -e again ]; then for i in $(seq 500); do echo line $i; done; exit 0; fi
        touch again; ln -s /dev/full \"$LOGS\"/worker-0.0.0+1.log; exit 1";
    let logs = "LOGS=$(ls -d \"$STATE\"/runs/job/*/logs)";
    let script = format!("{logs}; {script}");
    let mut command = bench.command(&quick(&["--workers", "1", "--restarts", "1"], &script));
    let ran = finished(command.env("STATE", bench.state()));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.lines("worker-0").len(), 500, "{ran:?}");
    let told = ran
        .err
        .lines()
        .filter(|line| line.contains("No space left on device"))
        .count();
    assert_eq!(told, 1, "{}", ran.err);
}

/// A directory of 1 MiB, in a mount namespace of the run's own: root's way, or a user namespace's.
#[test]
fn a_disk_full_under_everything_is_told_once_and_the_verdict_is_right() {
    let bench = Bench::new();
    let trainyard = env!("CARGO_BIN_EXE_trainyard");
    let script = "head -c 3000000 /dev/zero | tr '\\0' '\\n' | head -c 3000000; echo full; exit 3";
    let mut words: Vec<&str> = vec!["unshare", "--mount"];
    if !getuid().is_root() {
        words.push("--map-root-user");
    }
    let mount = "mount -t tmpfs -o size=1m tmpfs \"$TRAINYARD_STATE\" && exec \"$0\" \"$@\"";
    words.extend(["sh", "-c", mount, trainyard]);
    let arguments = quick(&["--workers", "2", "--restarts", "0", "-q"], script);
    words.extend(arguments);
    let ours = bench.command(&[]);
    let mut outer = std::process::Command::new(words[0]);
    outer.args(&words[1..]).current_dir(bench.path("")).env_clear();
    outer.envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = finished(&mut outer);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    // Once for each file: two logs, the status, the events.
    for file in ["worker-0.0.0.log", "worker-1.0.0.log", "status.json"] {
        let told = ran
            .err
            .lines()
            .filter(|line| line.contains("No space left") && line.contains(file));
        assert_eq!(told.count(), 1, "{file}: {}", ran.err);
    }
    assert!(ran.err.contains("exit code 3"), "{}", ran.err);
    bench.assert_nothing_left();
}

/// What a program cannot be called and a manifest can say.
const HOSTILE: &str = r"/no/such\nerror: forged\r\u001B[2J\u009B31m\u2028\u202E\u0085x";

#[test]
fn text_of_a_manifest_neither_begins_lines_of_ours_nor_reaches_the_terminal_as_it_is() {
    let bench = Bench::new();
    bench.write(
        "job.yaml",
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
          containers:
          - {{name: tensorflow, image: x, command: [\"{HOSTILE}\"]}}
"
        ),
    );
    let hidden = |c: char| c != '\n' && trainyard_document::problem::is_hidden(c);
    for arguments in [
        &["run", "job.yaml"][..],
        &["ps", "--all"],
        &["ps", "job"],
        &["logs", "job"],
    ] {
        let ran = bench.run(arguments);
        let said = format!("{}{}", ran.out, ran.err);
        assert!(!said.contains(hidden), "{arguments:?}: {said:?}");
        let begins = |line: &str| line.trim_start_matches([' ', '│']).starts_with("error: forged");
        assert!(!said.lines().any(begins), "{arguments:?}: {said}");
    }
    for arguments in [
        &["run", "job.yaml", "-o", "json"][..],
        &["ps", "job", "-o", "json"],
    ] {
        let ran = bench.run(arguments);
        assert!(!ran.out.contains(hidden), "{arguments:?}: {:?}", ran.out);
        assert!(
            ran.out
                .contains(r"/no/such\nerror: forged\r\u001b[2J\u009b31m\u2028\u202e\u0085x"),
            "{}",
            ran.out
        );
    }
}
