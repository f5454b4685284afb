//! A run on a pseudo-terminal, and the same through a pipe: progress bars, who imports, what is waited for, the last page.

use std::fs;

use rustix::process::Signal;

use crate::bench::{Bench, Run, eventually, notes, quick};

/// Waits for a file in the working directory.
const UNTIL_GO: &str = "until [ -e go ]; do sleep 0.05; done";

/// Worker 1 fails once worker 0 does not hear SIGTERM any more.
fn one_fails_and_one_stays() -> String {
    let fails = "until [ -e deaf ]; do sleep 0.02; done; exit 3";
    format!("if [ $TRAINYARD_INDEX = 1 ]; then {fails}; fi; trap '' TERM; touch deaf; {UNTIL_GO}")
}

/// What remains of what was written to a terminal of so many columns: the rows after the footer was last taken away.
fn last_page(said: &[String], columns: usize) -> Vec<String> {
    let text = said.join("\n");
    let page = text.rsplit("\x1b[J").next().unwrap_or_default();
    let rows = page.lines().flat_map(|line| {
        let characters: Vec<char> = line.chars().filter(|c| *c != '\r').collect();
        let rows: Vec<String> = characters.chunks(columns).map(String::from_iter).collect();
        if rows.is_empty() {
            vec![String::new()]
        } else {
            rows
        }
    });
    rows.collect()
}

#[test]
fn a_progress_bar_is_live_in_the_footer_and_one_line_in_the_log() {
    let script = format!(
        r"echo begins; printf ' 10%%|#   |'; printf '\r 20%%|##  |\b\b\b\b'; {UNTIL_GO}; printf '\r100%%|####|\n'; echo ends"
    );
    let bench = Bench::new();
    let arguments = quick(&["--workers", "1"], &script);
    let mut run = Run::start(bench.on_terminal(&arguments));
    run.until_bytes("20%|##  |");
    bench.write("go", "");
    let (said, status) = run.finish();
    assert!(status.success(), "{said:#?}");
    let shown = said.join("\n");
    assert!(shown.contains("│\x1b[0m 100%|####|"), "{shown:?}");
    assert!(!shown.contains("│\x1b[0m  10%"), "{shown:?}");
    // Through a pipe no carriage return hides a name; the log has every byte.
    let ran = bench.run(&arguments);
    assert_eq!(ran.lines("worker-0"), ["begins", "100%|####|", "ends"]);
    assert!(
        !ran.out.contains('\r') && !ran.err.contains(['\r', '\x1b']),
        "{ran:?}"
    );
    let log = bench
        .newest("job")
        .expect("it was run")
        .logs()
        .join("worker-0.0.0.log");
    let log = fs::read_to_string(log).expect("there is a log");
    assert_eq!(
        log,
        "begins\n 10%|#   |\r 20%|##  |\u{8}\u{8}\u{8}\u{8}\r100%|####|\nends\n"
    );
    // Without a name before it every byte passes.
    let ran = bench.run(&quick(&["--workers", "1", "--no-prefix"], &script));
    assert!(ran.out.contains("|\r 20%|"), "{ran:?}");
}

#[test]
fn a_bar_longer_than_the_longest_line_is_still_one_line() {
    let bench = Bench::new();
    let script = r#"awk 'BEGIN { for (i = 1; i <= 60000; i++) printf "\r%6d/60000 of the bar", i; print "" }'; echo ends"#;
    let ran = bench.quick(&["--workers", "1"], script);
    assert_eq!(ran.lines("worker-0"), [" 60000/60000 of the bar", "ends"]);
    let ran = bench.run(&["logs", "job"]);
    assert_eq!(ran.lines("worker-0"), [" 60000/60000 of the bar", "ends"]);
}

#[test]
fn who_imports_is_told_from_who_runs() {
    let bench = Bench::new();
    let program = "\
import json, os, socket, time
def until(name):
    while not os.path.exists(name):
        time.sleep(0.05)
until('listen')
port = json.loads(os.environ['TF_CONFIG'])['cluster']['worker'][int(os.environ['TRAINYARD_INDEX'])].rsplit(':', 1)[1]
server = socket.create_server(('127.0.0.1', int(port)))
until('go')
";
    bench.write("train.py", program);
    let mut run = Run::start(bench.on_terminal(&[
        "run",
        "--name",
        "job",
        "--python",
        "own",
        "--workers",
        "2",
        "--",
        "python3",
        "train.py",
    ]));
    run.until_bytes("importing");
    bench.write("listen", "");
    // Both have opened their ports: neither is importing any more, though neither has written a word.
    run.until_frame(|frame| frame.contains("running") && !frame.contains("importing"));
    bench.write("go", "");
    assert!(run.finish().1.success());
}

#[test]
fn a_failed_job_says_at_once_for_which_tasks_it_waits() {
    for terminal in [false, true] {
        let bench = Bench::new();
        let script = one_fails_and_one_stays();
        let arguments = quick(&["--workers", "2"], &script);
        let command = if terminal {
            bench.on_terminal(&arguments)
        } else {
            bench.command(&arguments)
        };
        let mut run = Run::start(command);
        run.until_bytes("waiting for worker-0 to stop, at most 30 s: press Ctrl-C twice");
        bench.write("go", "");
        let (said, status) = run.finish();
        assert_eq!(status.code(), Some(1), "{said:#?}");
        bench.assert_nothing_left();
    }
}

#[test]
fn a_failed_job_in_the_background_says_which_command_ends_the_wait() {
    let bench = Bench::new();
    let script = one_fails_and_one_stays();
    let ran = bench.quick(&["--workers", "2", "--detach"], &script);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let waits = || {
        let events = bench.events("job");
        let told = |note: &&&str| note.contains("waiting for worker-0 to stop");
        notes(&events).iter().find(told).map(|note| (*note).to_owned())
    };
    eventually("it says so", || waits().is_some());
    let note = waits().expect("it was said");
    assert!(
        note.ends_with("`trainyard stop job --now` kills instead"),
        "{note}"
    );
    let stopped = bench.run(&["stop", "job", "--now"]);
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    bench.assert_nothing_left();
}

#[test]
fn two_signals_end_the_wait_for_a_failed_job() {
    let bench = Bench::new();
    let script = one_fails_and_one_stays();
    let mut run = bench.start(&quick(&["--workers", "2"], &script));
    run.until("press Ctrl-C twice to kill");
    run.signal(Signal::INT);
    run.until("press Ctrl-C again");
    run.signal(Signal::INT);
    let (said, status) = run.finish();
    assert_eq!(status.code(), Some(1), "{said:#?}");
    bench.assert_nothing_left();
}

#[test]
fn the_verdict_comes_last_and_fits_on_a_screen_without_colour() {
    let bench = Bench::new();
    let program = "\
def deep(n):
    if n:
        deep(n - 1)
    else:
        raise ValueError('wrong ' * 400)
for line in range(200):
    print('step', line)
deep(30)
";
    bench.write("train.py", program);
    let mut command = bench.on_terminal(&[
        "run",
        "--name",
        "job",
        "--python",
        "own",
        "--workers",
        "4",
        "--",
        "python3",
        "train.py",
    ]);
    command.env("NO_COLOR", "1");
    let (said, status) = Run::start(command).finish();
    assert_eq!(status.code(), Some(1), "{said:#?}");
    let text = said.join("\n");
    // The footer needs to move the cursor; colours are another matter.
    let colours = text.split("\x1b[").skip(1).filter(|rest| {
        let end = rest.find(|c: char| !matches!(c, '0'..='9' | ';'));
        end.is_some_and(|end| rest[end..].starts_with('m'))
    });
    assert_eq!(colours.count(), 0, "{text:?}");
    let page = last_page(&said, 100);
    let first = page.iter().position(|row| row.starts_with("✖ job: worker-"));
    let first = first.expect("the verdict is on the last page");
    assert!(page[first].contains("ValueError: wrong"), "{page:#?}");
    assert!(page.len() - first <= 30, "{page:#?}");
    assert!(
        page.last()
            .is_some_and(|row| row.trim_start().starts_with("more: ")),
        "{page:#?}"
    );
}
