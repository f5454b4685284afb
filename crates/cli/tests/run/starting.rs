//! Programs that cannot be started, or end at once, are explained.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::bench::{Bench, Ran, every_user};

/// Runs one worker with that command.
fn run(bench: &Bench, command: &[&str]) -> Ran {
    let flags = ["run", "--name", "job", "--python", "own", "--workers", "1", "--"];
    bench.run(&[&flags, command].concat())
}

#[test]
fn a_program_that_cannot_be_started_fails_the_job_and_says_why() {
    for who in every_user() {
        let bench = Bench::of(who);
        let file = |name: &str, text: &str, mode: u32| {
            let path = bench.write(name, text);
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
        };
        file("plain.sh", "#!/bin/sh\n", 0o644);
        file("no-first-line.sh", "exit 0\n", 0o755);
        file("no-interpreter.py", "#!/no/such/python\n", 0o755);
        let table: [(&[&str], &str); 5] = [
            (&["nosuchprogram"], "`nosuchprogram` was not found on PATH"),
            (&["./nosuchfile"], "does not exist"),
            (&["./plain.sh"], "chmod +x"),
            (&["./no-first-line.sh"], "#!/bin/sh"),
            (&["./no-interpreter.py"], "`/no/such/python`"),
        ];
        for (command, words) in table {
            let ran = run(&bench, command);
            assert_eq!(ran.code, Some(1), "{who:?} {command:?}: {ran:?}");
            assert!(ran.err.contains(words), "{who:?} {command:?}: {}", ran.err);
            let end = bench.status("job").end.expect("it has ended");
            let failure = end.first_failure.expect("it failed");
            assert!(failure.meaning.contains(words), "{failure:?}");
        }
    }
}

#[test]
fn an_error_of_a_script_is_shown_with_its_last_lines() {
    let bench = Bench::new();
    let ran = run(
        &bench,
        &[
            "sh",
            "-c",
            "for i in $(seq 30); do echo line $i; done; nosuchcommand; exit $?",
        ],
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let failure = bench
        .status("job")
        .end
        .and_then(|end| end.first_failure)
        .expect("it failed");
    assert_eq!(failure.end.code, Some(127));
    assert_eq!(failure.last_lines.len(), 20);
    assert!(failure.last_lines[19].contains("nosuchcommand"), "{failure:?}");
    // In the summary, too.
    assert!(
        ran.err.contains("nosuchcommand") && ran.err.contains("line 30"),
        "{}",
        ran.err
    );
    assert!(!ran.err.contains("line 5\n"), "{}", ran.err);
}

#[test]
fn a_program_starts_with_no_signal_blocked_and_none_ignored() {
    for who in every_user() {
        let bench = Bench::of(who);
        let ran = run(&bench, &["grep", "-E", "SigBlk|SigIgn", "/proc/self/status"]);
        assert_eq!(ran.code, Some(0), "{who:?}: {ran:?}");
        // The first 28: two of the others the C library keeps to itself.
        let free = |name: &str| {
            let mut lines = ran.out.lines().filter(|line| line.contains(name));
            lines.any(|line| line.ends_with("0000000"))
        };
        assert!(free("SigBlk") && free("SigIgn"), "{who:?}: {}", ran.out);
    }
}
