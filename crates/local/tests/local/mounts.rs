//! What programs find at which path, and that the machine does not change.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;

use serde_json::{Value, json};

use crate::bench::{Bench, Who, about, every_user, output};

/// The sources of the mounts, which the run's user owns.
fn sources(bench: &Bench) {
    let work = bench.work();
    for directory in ["empty", "host", "host/inside"] {
        fs::create_dir(work.join(directory)).unwrap();
    }
    fs::write(work.join("ps.host"), "ps-0.example\n").unwrap();
    fs::write(work.join("host/file"), "from the host\n").unwrap();
    fs::write(work.join("hosts"), "127.0.0.1 elsewhere\n").unwrap();
    for path in ["empty", "host", "host/file", "host/inside", "ps.host", "hosts"] {
        hand_over(bench, &work.join(path));
    }
}

/// Gives the run's user what we have made: under umask 077 it is its maker's alone.
fn hand_over(bench: &Bench, path: &Path) {
    if bench.who == Who::Stranger {
        chown(path, Some(54_321), Some(54_321)).unwrap();
    }
}

fn with_mounts(bench: &Bench, words: &str, mounts: &[(&str, &str, bool)]) -> Value {
    let mut part = bench.part("main", words);
    let mounts: Vec<_> = mounts
        .iter()
        .map(|(source, target, read_only)| (bench.work().join(source), (*target).to_owned(), *read_only))
        .collect();
    part["mounts"] = json!(mounts);
    part
}

const ABSENT: [&str; 4] = ["/ty-data", "/etc/ty-volcano", "/usr/lib/ty-deep", "/ty-host"];

#[test]
fn programs_find_their_mounts_and_the_machine_stays_as_it_is() {
    for path in ABSENT {
        assert!(!Path::new(path).exists(), "{path} is in the way");
    }
    let hosts = fs::read("/etc/hosts").unwrap_or_default();
    for who in every_user() {
        let bench = Bench::new(who);
        sources(&bench);
        let mounts = [
            ("ps.host", "/etc/ty-volcano/ps.host", true),
            ("empty", "/ty-data", false),
            ("ps.host", "/usr/lib/ty-deep/a/b.txt", true),
            ("host", "/ty-host", false),
            ("hosts", "/etc/hosts", false),
        ];
        let kept = bench.work().join("kept");
        let words = format!(
            "cat /etc/ty-volcano/ps.host write /etc/ty-volcano/ps.host x write /ty-data/new y cat /ty-host/file \
             cat /usr/lib/ty-deep/a/b.txt cat /etc/hosts write {} z write /etc/ty-new w write /ty-new w where",
            kept.display()
        );
        let main = with_mounts(&bench, &words, &mounts);
        let bench = bench
            .add(json!({"task": "worker-0", "main": main}))
            .task("bare-0", "list /etc");
        let said = bench.run();
        let refused = "error: Read-only file system (os error 30)";
        let work = fs::canonicalize(bench.work()).unwrap();
        assert_eq!(
            output(&said, "worker-0"),
            [
                "ps-0.example",
                refused,
                "written",
                "from the host",
                "ps-0.example",
                "127.0.0.1 elsewhere",
                "written",
                refused,
                refused,
                work.to_str().unwrap()
            ],
            "{who:?} {said:#?}"
        );
        assert_eq!(fs::read(work.join("empty/new")).unwrap(), b"y");
        assert_eq!(fs::read(&kept).unwrap(), b"z");
        assert_eq!(fs::read(work.join("ps.host")).unwrap(), b"ps-0.example\n");
        assert!(
            !output(&said, "bare-0")[0].contains("ty-volcano"),
            "another task sees the mounts"
        );
        for path in ABSENT {
            assert!(!Path::new(path).exists(), "{path} is left behind");
        }
        assert_eq!(fs::read("/etc/hosts").unwrap_or_default(), hosts);
    }
}

#[test]
fn each_task_has_its_own_mounts_under_one_root() {
    for who in every_user() {
        let mut bench = Bench::new(who);
        for number in 0..8 {
            let name = format!("share-{number}");
            let source = bench.work().join(&name);
            fs::write(&source, format!("{number}\n")).unwrap();
            hand_over(&bench, &source);
            let target = format!("/etc/ty-shares/{}", number % 2);
            let words = format!("cat {target} list /etc/ty-shares");
            let main = with_mounts(&bench, &words, &[(&name, &target, true)]);
            bench = bench.add(json!({"task": format!("worker-{number}"), "main": main}));
        }
        let said = bench.run();
        for number in 0..8 {
            let output = output(&said, &format!("worker-{number}"));
            assert_eq!(output[0], number.to_string(), "{said:#?}");
        }
    }
}

#[test]
fn mount_points_in_the_users_own_directories_are_made_there_and_removed() {
    for who in every_user() {
        let bench = Bench::new(who);
        sources(&bench);
        let home = bench.work().join("home");
        fs::create_dir(&home).unwrap();
        hand_over(&bench, &home);
        let target = home.join("data/set");
        let words = format!(
            "cat {}/file write {}/result good",
            target.display(),
            home.display()
        );
        let main = with_mounts(&bench, &words, &[("host", target.to_str().unwrap(), true)]);
        let bench = bench.add(json!({"task": "worker-0", "main": main}));
        let said = bench.run();
        assert_eq!(
            output(&said, "worker-0"),
            ["from the host", "written"],
            "{said:#?}"
        );
        assert_eq!(
            fs::read(home.join("result")).unwrap(),
            b"good",
            "what is written beside a mount is kept"
        );
        assert!(!home.join("data").exists(), "the mount point is left behind");
    }
}

#[test]
fn a_mount_may_lie_inside_another() {
    for who in every_user() {
        let bench = Bench::new(who);
        sources(&bench);
        let mounts = [
            ("empty", "/ty-data/inside/deep", false),
            ("ps.host", "/ty-data/name", true),
            ("host", "/ty-data", true),
        ];
        let words = "cat /ty-data/file cat /ty-data/name write /ty-data/inside/deep/x 1 write /ty-data/y 2";
        let main = with_mounts(&bench, words, &mounts);
        let bench = bench.add(json!({"task": "worker-0", "main": main}));
        let said = bench.run();
        let refused = "error: Read-only file system (os error 30)";
        assert_eq!(
            output(&said, "worker-0"),
            ["from the host", "ps-0.example", "written", refused],
            "{said:#?}"
        );
        assert!(bench.work().join("empty/x").exists());
        assert!(
            !bench.work().join("host/inside/deep").exists(),
            "the mount point is left behind"
        );
    }
}

#[test]
fn a_mount_that_cannot_be_made_is_named_and_may_be_done_without() {
    let missing = [("nothing", "/ty-data", false), ("host", "/etc/hostname", false)];
    for allow in [false, true] {
        let bench = Bench::new(Who::Us).set("allow_missing_mounts", allow);
        sources(&bench);
        let main = with_mounts(&bench, "say here", &missing);
        let bench = bench.add(json!({"task": "worker-0", "main": main}));
        let said = bench.run();
        let heard = about(&said, "worker-0");
        if allow {
            assert!(heard[0].starts_with("missing main /ty-data: "), "{heard:?}");
            assert!(heard[1].starts_with("missing main /etc/hostname: "), "{heard:?}");
            assert!(
                heard[1].contains("a directory cannot be mounted over a file"),
                "{heard:?}"
            );
            assert_eq!(output(&said, "worker-0"), ["here"]);
        } else {
            assert!(heard[0].starts_with("ended main not started: "), "{heard:?}");
            for words in ["`/ty-data`", "`/etc/hostname`", "--allow-missing-mounts"] {
                assert!(heard[0].contains(words), "{heard:?}");
            }
        }
    }
}

#[test]
fn without_a_mount_namespace_every_mount_is_named() {
    let bench = Bench::new(Who::Us)
        .set("isolation", "none")
        .set("allow_missing_mounts", true);
    sources(&bench);
    let here = bench.work().join("host");
    let main = with_mounts(
        &bench,
        "say here",
        &[
            ("host", "/ty-data", false),
            ("host", here.to_str().unwrap(), false),
        ],
    );
    let bench = bench.add(json!({"task": "worker-0", "main": main}));
    let said = bench.run();
    let heard = about(&said, "worker-0");
    assert!(
        heard[0].contains("missing main /ty-data: ") && heard[0].contains("no mount namespaces"),
        "{heard:?}"
    );
    assert_eq!(heard[1], "started");
}
