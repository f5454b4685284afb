//! What a run leaves behind is the user's alone, and tells no secret.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use crate::bench::{Bench, Ran, Run, eventually, every_user, finished};
use crate::machine::without_namespaces;
use crate::names::over_volume;

/// A worker with everything that may hold a secret: a variable, a Secret in a variable and in a file, its command.
const SECRETIVE: &str = r"apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {token: canary-of-the-secret}
---
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: job, annotations: {note: canary-of-the-manifest}}
spec:
  tfReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: Never
      template:
        spec:
          volumes:
          - {name: keys, secret: {secretName: keys}}
          - {name: more, configMap: {name: more}}
          - {name: data, persistentVolumeClaim: {claimName: data}}
          containers:
          - name: tensorflow
            image: x
            command: [sh, -c, 'SCRIPT', canary-of-the-manifest, $(SECRET)]
            env:
            - {name: PLAIN, value: canary-of-the-variable}
            - {name: SECRET, valueFrom: {secretKeyRef: {name: keys, key: token}}}
            volumeMounts:
            - {name: keys, mountPath: /ty-keys}
            - {name: more, mountPath: /ty-more}
            - {name: data, mountPath: /ty-data}
";

/// What `--with` gives.
const MORE: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: more}
data: {more.txt: canary-of-the-file-beside}
";

/// What no secret may be found by.
const CANARY: &str = "canary";

/// What tasks look for, without naming it.
const ALL_THERE: &str = r#"case "$PLAIN$SECRET$(cat /ty-keys/token /ty-more/more.txt)" in *variable*secret*secret*beside) ;; *) exit 9;; esac"#;

fn secretive(bench: &Bench, script: &str) {
    bench.write(
        "job.yaml",
        SECRETIVE.replace("SCRIPT", &script.replace('\'', "''")),
    );
    bench.write("more.yaml", MORE);
}

const ARGUMENTS: [&str; 4] = ["run", "job.yaml", "--with", "more.yaml"];

/// Every file below, with links not followed.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)
        .expect("a directory can be listed")
        .flatten()
    {
        let path = entry.path();
        found.push(path.clone());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files(&path));
        }
    }
    found
}

/// The files below that hold the text, in their content or their name.
fn holding(directory: &Path, text: &str) -> Vec<PathBuf> {
    let holds = |path: &PathBuf| {
        let content = fs::read(path).unwrap_or_default();
        let named = path.to_string_lossy().contains(text);
        named || content.windows(text.len()).any(|part| part == text.as_bytes())
    };
    files(directory).into_iter().filter(holds).collect()
}

fn assert_silent(ran: &Ran, what: &str) {
    let said = format!("{}{}", ran.out, ran.err);
    assert!(!said.contains(CANARY), "{what}: {said}");
}

/// The program under a umask that leaves everything open.
fn open_handed(bench: &Bench, arguments: &[&str]) -> Ran {
    let inner = bench.command(arguments);
    let mut command = Command::new("sh");
    command.args(["-c", "umask 002; exec \"$0\" \"$@\""]);
    command.arg(inner.get_program()).args(inner.get_args());
    command.current_dir(bench.path("")).env_clear();
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    finished(&mut command)
}

/// What of the state directory other users may enter, read or write, and could reach.
fn open_to_others(directory: &Path) -> Vec<PathBuf> {
    let mode = |path: &Path| fs::symlink_metadata(path).expect("it is there").mode();
    if mode(directory).trailing_zeros() >= 6 {
        return Vec::new();
    }
    let mut open = vec![directory.to_owned()];
    for entry in fs::read_dir(directory).expect("it can be listed").flatten() {
        let path = entry.path();
        if mode(&path) & 0o170_000 == 0o040_000 {
            open.extend(open_to_others(&path));
        } else if mode(&path) & 0o077 != 0 {
            open.push(path);
        }
    }
    open
}

#[test]
fn everything_that_is_kept_is_the_users_alone_whatever_the_umask() {
    for who in every_user() {
        let bench = Bench::of(who);
        secretive(
            &bench,
            &format!("{ALL_THERE}; echo mine > /ty-data/checkpoint-$TRAINYARD_INDEX"),
        );
        let ran = open_handed(&bench, &ARGUMENTS);
        assert_eq!(ran.code, Some(0), "{who:?} {ran:?}");
        let state = bench.state();
        let mode = |path: &Path| fs::symlink_metadata(path).expect("it is there").mode() & 0o777;
        let volume = state.join("volumes/default/data");
        for path in files(&state) {
            // The volume is for whatever user a program becomes; the directories above it are closed.
            if path.starts_with(&volume) {
                continue;
            }
            assert_eq!(mode(&path) & 0o077, 0, "{who:?} {}", path.display());
        }
        assert_eq!(mode(&state), 0o700, "{who:?}");
        assert!(volume.join("checkpoint-0").exists());
    }
}

#[test]
fn what_an_older_release_left_open_is_closed_by_whatever_is_done_next() {
    for who in every_user() {
        for left in [0o755, 0o777] {
            for next in [&["ps"][..], &["logs", "job"], &["rm", "none"], &ARGUMENTS] {
                let bench = Bench::of(who);
                secretive(&bench, "echo mine > /ty-data/checkpoint");
                assert_eq!(bench.run(&ARGUMENTS).code, Some(0));
                let state = bench.state();
                for path in files(&state).into_iter().chain([state.clone()]) {
                    fs::set_permissions(&path, fs::Permissions::from_mode(left)).expect("root may");
                }
                assert!(!open_to_others(&state).is_empty());
                open_handed(&bench, next);
                assert_eq!(
                    open_to_others(&state),
                    [] as [PathBuf; 0],
                    "{who:?} {left:o} {next:?}"
                );
                for part in ["runs", "volumes"] {
                    assert_eq!(open_to_others(&state.join(part)), [] as [PathBuf; 0], "{next:?}");
                }
            }
        }
    }
}

#[test]
fn a_state_directory_of_another_user_is_refused() {
    let every_user = every_user();
    // Only root can make one.
    let [_, who] = every_user[..] else { return };
    let bench = Bench::of(who);
    bench.write("job.yaml", over_volume("emptyDir: {}"));
    std::os::unix::fs::chown(bench.state(), Some(12_345), None).expect("root may");
    for arguments in [&["run", "job.yaml"][..], &["ps"], &["rm", "--all"]] {
        let ran = bench.run(arguments);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let words = ["belongs to another user (uid 12345)", "TRAINYARD_STATE"];
        assert!(words.iter().all(|words| ran.err.contains(words)), "{ran:?}");
    }
    assert_eq!(files(&bench.state()), [] as [PathBuf; 0]);
}

#[test]
fn a_run_that_keeps_no_manifest_leaves_nothing_of_it_on_disk() {
    for who in every_user() {
        for background in [false, true] {
            let bench = Bench::of(who);
            let script = format!(
                "{ALL_THERE}; touch up-$TRAINYARD_INDEX; until [ -e over ]; do sleep 0.02; done; echo done"
            );
            secretive(&bench, &script);
            let mut arguments = [&ARGUMENTS[..], &["--no-keep-manifest"]].concat();
            if background {
                arguments.push("-d");
            }
            let mut run = bench.start(&arguments);
            eventually("both tasks have seen everything", || {
                bench.path("up-0").exists() && bench.path("up-1").exists()
            });
            // While it runs: what tasks find at their mounts is in memory that only they see.
            assert_eq!(
                holding(&bench.state(), CANARY),
                [] as [PathBuf; 0],
                "{who:?} {background}"
            );
            bench.write("over", "");
            if background {
                eventually("it has ended", || bench.status("job").end.is_some());
                bench.assert_nothing_left();
            }
            let (said, status) = run_to_end(&mut run);
            assert_eq!(status, Some(0), "{who:?} {said:#?}");
            assert_eq!(
                holding(&bench.state(), CANARY),
                [] as [PathBuf; 0],
                "{who:?} {background}"
            );
            let directory = bench.newest("job").expect("it was run");
            assert!(!directory.manifest().exists());
            assert!(!directory.files().exists() || files(&directory.files()).is_empty());
            later_commands(&bench);
        }
    }
}

fn run_to_end(run: &mut Run) -> (Vec<String>, Option<i32>) {
    let whole = std::mem::replace(run, Run::unread(&mut Command::new("true")));
    let (said, status) = whole.finish();
    (said, status.code())
}

/// What can still be done, and what cannot and says why.
fn later_commands(bench: &Bench) {
    let ps = bench.run(&["ps", "job"]);
    assert!(ps.code == Some(0) && ps.out.contains("succeeded"), "{ps:?}");
    let logs = bench.run(&["logs", "job"]);
    assert!(logs.code == Some(0) && logs.out.contains("done"), "{logs:?}");
    let unknown = bench.run(&["logs", "job", "--container", "trainer"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(unknown.err.contains("manifest was not kept"), "{unknown:?}");
    let volume = bench.home().volumes().join("default/data");
    let removed = bench.run(&["rm", "job", "--volumes"]);
    assert_eq!(removed.code, Some(0), "{removed:?}");
    assert!(removed.err.contains("manifest was not kept"), "{removed:?}");
    assert!(volume.exists() && bench.newest("job").is_none(), "{removed:?}");
}

#[test]
fn a_run_that_is_killed_has_kept_no_manifest_either() {
    for who in every_user() {
        let bench = Bench::of(who);
        secretive(
            &bench,
            &format!("{ALL_THERE}; touch up-$TRAINYARD_INDEX; exec sleep 1000"),
        );
        let run = bench.start(&[&ARGUMENTS[..], &["--no-keep-manifest"]].concat());
        eventually("a task is up", || bench.path("up-1").exists());
        run.signal(Signal::KILL);
        bench.assert_nothing_left();
        assert_eq!(holding(&bench.state(), CANARY), [] as [PathBuf; 0], "{who:?}");
    }
}

#[test]
fn where_nothing_can_be_mounted_files_of_the_manifest_go_with_their_task() {
    let bench = Bench::new();
    secretive(&bench, "exit 0");
    let flags = ["--no-keep-manifest", "--allow-missing-mounts"];
    let ran = finished(&mut without_namespaces(
        &bench,
        &[&ARGUMENTS[..], &flags].concat(),
    ));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(holding(&bench.state(), CANARY), [] as [PathBuf; 0]);
}

#[test]
fn without_the_flag_the_manifest_is_kept_until_the_run_is_removed() {
    let bench = Bench::new();
    secretive(&bench, ALL_THERE);
    assert_eq!(bench.run(&ARGUMENTS).code, Some(0));
    let directory = bench.newest("job").expect("it was run");
    let kept = holding(&bench.state(), CANARY);
    assert_eq!(kept, [directory.manifest(), directory.path.join("run.json")]);
    assert_eq!(bench.run(&["rm", "job"]).code, Some(0));
    assert_eq!(holding(&bench.state(), CANARY), [] as [PathBuf; 0]);
}

#[test]
fn no_secret_is_in_anything_that_we_say_or_write_about_a_run() {
    // One that ends well, one that fails, one whose program cannot be started, one that is left out.
    let cases: [(&str, &[&str]); 4] = [
        (ALL_THERE, &[]),
        ("exit 3", &["--set", "spec.runPolicy.backoffLimit=1"]),
        ("", &["--workdir", "/no/such/directory"]),
        ("exit 0", &["--debug", "worker-1"]),
    ];
    for (script, flags) in cases {
        let bench = Bench::new();
        secretive(&bench, script);
        for form in [&[][..], &["-o", "json"]] {
            let ran = bench.run(&[&ARGUMENTS[..], flags, form].concat());
            assert_silent(&ran, "what the run said");
            for arguments in [
                &["ps", "--all"][..],
                &["ps", "job"],
                &["ps", "job", "-o", "json"],
                &["logs", "job"],
                &["logs", "job", "-o", "json"],
                &["stop", "job"],
            ] {
                assert_silent(&bench.run(arguments), &arguments.join(" "));
            }
        }
        let told = ["manifest.yaml", "run.json", "start-worker-1.sh"];
        let holding = holding(&bench.state(), CANARY);
        let unexpected = holding
            .iter()
            .filter(|path| !told.iter().any(|name| path.ends_with(name)));
        assert_eq!(unexpected.collect::<Vec<_>>(), [] as [&PathBuf; 0]);
        assert_silent(&bench.run(&["rm", "job"]), "rm");
    }
}
