//! Tasks as real processes: how they start, stop and end.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use rustix::process::Signal;
use serde_json::json;

use crate::bench::{Bench, Who, about, every_user, hold, output, signal};

/// Behind the best isolation there are, and behind none.
const WALLS: [Option<&str>; 2] = [None, Some("none")];

fn bench(who: Who, isolation: Option<&str>) -> Bench {
    let bench = Bench::new(who);
    match isolation {
        Some(isolation) => bench.set("isolation", isolation),
        None => bench,
    }
}

#[test]
fn a_task_ends_as_its_program_ends() {
    for (who, isolation) in every_user()
        .into_iter()
        .flat_map(|who| WALLS.map(|isolation| (who, isolation)))
    {
        let said = bench(who, isolation)
            .task("worker-0", "exit 0")
            .task("worker-1", "exit 3")
            .task("worker-2", "exit 255")
            .task("worker-3", "die 9")
            .task("worker-4", "die 6")
            .run();
        for (task, how) in [
            ("worker-0", "code 0"),
            ("worker-1", "code 3"),
            ("worker-2", "code 255"),
            ("worker-3", "signal 9"),
            ("worker-4", "signal 6"),
        ] {
            let expected = ["started", &format!("ended main {how}"), "gone"];
            assert_eq!(about(&said, task), expected, "{who:?} {isolation:?}");
        }
    }
}

#[test]
fn a_program_that_cannot_be_started_is_explained() {
    for isolation in WALLS {
        let mut bench = bench(Who::Us, isolation);
        let write = |name: &str, text: &str, mode: u32| {
            let path = bench.work().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        };
        write("plain", "#!/bin/sh\n", 0o644);
        write("no-first-line", "exit 0\n", 0o755);
        write("no-interpreter", "#!/no/such/python\n", 0o755);
        let huge = "x".repeat(200_000);
        let cases = [
            (json!(["nosuchprogram"]), "`nosuchprogram` was not found on PATH"),
            (json!(["./nosuchfile"]), "does not exist"),
            (json!(["./plain"]), "chmod +x"),
            (json!(["./no-first-line"]), "#!/bin/sh"),
            (json!(["./no-interpreter"]), "`/no/such/python`"),
            (json!([]), "the command is empty"),
            (json!(["/bin/echo", huge]), "131,071 bytes"),
        ];
        for (number, (argv, _)) in cases.iter().enumerate() {
            bench = bench
                .add(json!({"task": format!("worker-{number}"), "main": {"name": "main", "argv": argv}}));
        }
        bench = bench.add(json!({"task": "worker-99", "main":
            {"name": "main", "argv": ["/bin/true"], "workdir": "/no/such/directory"}}));
        let said = bench.run();
        for (number, (_, words)) in cases.iter().enumerate() {
            let heard = about(&said, &format!("worker-{number}"));
            assert!(
                heard[0].starts_with("ended main not started: ") && heard[0].contains(words),
                "{isolation:?} {heard:?}"
            );
            assert_eq!(heard[1..], ["gone"]);
        }
        assert!(about(&said, "worker-99")[0].contains("`/no/such/directory` does not exist"));
    }
}

#[test]
fn a_program_finds_a_clean_place() {
    for who in every_user() {
        let bench = Bench::new(who);
        let mut main = bench.part(
            "main",
            "env TF_CONFIG env TRAINYARD_TASK env GIVEN where cat /proc/self/status try-cat /dev/stdin list /proc/self/fd",
        );
        main["env"] = json!({"GIVEN": "yes", "TRAINYARD_TASK": "forged"});
        let bench = bench.add(json!({"task": "worker-0", "main": main}));
        let said = bench.run();
        let output = output(&said, "worker-0");
        let work = fs::canonicalize(bench.work()).unwrap();
        assert_eq!(
            output[..3],
            [
                "TF_CONFIG=(unset)",
                "TRAINYARD_TASK=fake/worker-0.0.0",
                "GIVEN=yes"
            ]
        );
        assert_eq!(output[3], work.to_str().unwrap());
        // No blocked signals, and no rights that the user does not have.
        let status = |name: &str| {
            output
                .iter()
                .find_map(|line| line.strip_prefix(name))
                .unwrap()
                .trim()
        };
        assert_eq!(u64::from_str_radix(status("SigBlk:"), 16).unwrap(), 0);
        if who == Who::Stranger {
            for set in ["CapEff:", "CapPrm:", "CapInh:", "CapAmb:"] {
                assert_eq!(u64::from_str_radix(status(set), 16).unwrap(), 0, "{set}");
            }
            assert!(status("Uid:").starts_with("54321"), "{}", status("Uid:"));
        }
        // The same descriptors as if we had started it, and nothing of the supervisor's.
        let trainer = Command::new(env!("CARGO_BIN_EXE_fake-trainer"))
            .args(["list", "/proc/self/fd"])
            .output()
            .unwrap();
        let expected = String::from_utf8(trainer.stdout).unwrap();
        assert_eq!(output.last(), Some(&expected.trim()));
    }
}

#[test]
fn the_first_signal_asks_and_what_ignores_it_is_killed_after_its_grace() {
    for isolation in WALLS {
        let bench = bench(Who::Us, isolation);
        let polite = bench.part("main", "end-on-term 7");
        let deaf = bench.part("main", "ignore-term say ready hang");
        let bench = bench
            .add(json!({"task": "polite-0", "main": polite, "grace": 600}))
            .add(json!({"task": "deaf-0", "main": deaf, "grace": 1}));
        let mut run = bench.start();
        run.until("| ready");
        run.until("| ready");
        signal(run.outer(), Signal::INT);
        let (said, code) = run.finish();
        assert_eq!(code, Some(0));
        assert!(said.contains(&"signal Interrupt".into()), "{said:?}");
        assert_eq!(
            about(&said, "polite-0")[1..],
            ["ended main code 7", "gone"],
            "{isolation:?}"
        );
        assert_eq!(
            about(&said, "deaf-0")[1..],
            ["ended main signal 9", "gone"],
            "{isolation:?}"
        );
        bench.assert_nothing_left();
    }
}

#[test]
fn the_second_signal_kills_at_once() {
    let bench = Bench::new(Who::Us);
    let deaf = bench.part("main", "ignore-term say ready hang");
    let bench = bench.add(json!({"task": "deaf-0", "main": deaf, "grace": 600}));
    let mut run = bench.start();
    run.until("| ready");
    signal(run.outer(), Signal::INT);
    run.until("signal Interrupt");
    signal(run.outer(), Signal::TERM);
    let (said, _) = run.finish();
    assert!(said.contains(&"signal Terminate".into()), "{said:?}");
    assert_eq!(about(&said, "deaf-0")[1..], ["ended main signal 9", "gone"]);
}

#[test]
fn the_supervisors_exit_code_is_passed_on() {
    let bench = Bench::new(Who::Us).set("exit", 42).task("worker-0", "exit 0");
    assert_eq!(bench.start().finish().1, Some(42));
}

#[test]
fn init_programs_run_in_order_and_one_that_fails_ends_the_task() {
    let bench = Bench::new(Who::Us);
    let good = json!({"task": "good-0", "main": bench.part("main", "say main"),
        "init": [bench.part("one", "say first after 50 say last"), bench.part("two", "say second")]});
    let bad = json!({"task": "bad-0", "main": bench.part("main", "say main"),
        "init": [bench.part("one", "exit 5"), bench.part("two", "say second")]});
    let said = bench.add(good).add(bad).run();
    // Events and output come on different ways; each in order.
    assert_eq!(
        about(&said, "good-0"),
        [
            "initialising one",
            "initialising two",
            "started",
            "ended main code 0",
            "gone"
        ]
    );
    let lines: Vec<_> = said.iter().filter(|line| line.contains("| ")).collect();
    assert_eq!(
        lines,
        [
            "good-0/one| first",
            "good-0/one| last",
            "good-0/two| second",
            "good-0| main"
        ]
    );
    assert_eq!(
        about(&said, "bad-0"),
        ["initialising one", "ended one code 5", "gone"]
    );
}

#[test]
fn the_main_programs_end_is_the_tasks_and_stops_what_runs_beside_it() {
    let bench = Bench::new(Who::Us);
    let pipe = bench.pipe();
    let main = bench.part("main", &format!("meet {} 1 exit 4", pipe.display()));
    let bench = {
        let beside = json!([
            bench.part("short", "exit 9"),
            bench.part("polite", "end-on-term 3"),
            bench.part("deaf", "ignore-term say ready hang"),
            {"name": "missing", "argv": ["nosuchprogram"]},
        ]);
        bench.add(json!({"task": "worker-0", "grace": 1, "main": main, "beside": beside}))
    };
    let mut run = bench.start();
    let wanted = [
        "beside short code 9",
        "beside missing not started",
        "polite| ready",
        "deaf| ready",
    ];
    run.until_all(&wanted);
    fs::write(&pipe, "x").unwrap();
    let (said, _) = run.finish();
    let heard = about(&said, "worker-0");
    let end = heard
        .iter()
        .position(|line| *line == "ended main code 4 lingers")
        .unwrap();
    // The ends of those that were stopped are ours, and not told.
    assert_eq!(heard[end + 1..], ["gone"]);
    bench.assert_nothing_left();
}

#[test]
fn what_a_program_leaves_behind_ends_with_it_and_other_tasks_go_on() {
    for (who, isolation) in every_user()
        .into_iter()
        .flat_map(|who| WALLS.map(|isolation| (who, isolation)))
    {
        let bench = bench(who, isolation);
        let tag = bench.tag.clone();
        // Without isolation a process that wiped its environment cannot be told from any other.
        let pipe = bench.pipe();
        let pipe = pipe.display();
        let wiped = if isolation.is_none() {
            "wiped-daemon"
        } else {
            "daemon"
        };
        let deaf = format!("tag,{tag},ignore-term,say,up,arrive,{pipe},hang");
        let words = format!("child {deaf} daemon {deaf} {wiped} {deaf} meet {pipe} 3 exit 0");
        let bench = bench.task("leaver-0", &words).task("stayer-0", "end-on-term 0");
        let mut run = bench.start();
        run.until_all(&["leaver-0 gone", "stayer-0| ready"]);
        assert_eq!(
            output(&run.said, "leaver-0"),
            ["up", "up", "up"],
            "{who:?} {isolation:?}"
        );
        // The outer process and its like carry no tag: what is left is the stayer.
        assert_eq!(bench.processes().len(), 1, "{who:?} {isolation:?} {:?}", run.said);
        signal(run.outer(), Signal::TERM);
        let (said, _) = run.finish();
        assert_eq!(about(&said, "stayer-0")[1..], ["ended main code 0", "gone"]);
        bench.assert_nothing_left();
    }
}

#[test]
fn a_killed_task_is_told_from_a_failed_one_and_harms_no_other() {
    let bench = Bench::new(Who::Us)
        .task("worker-0", "say up hang")
        .task("worker-1", "end-on-term 0");
    let mut run = bench.start();
    run.until_all(&["worker-0| up", "worker-1| ready"]);
    let victim = bench
        .processes()
        .into_iter()
        .find(|process| {
            let words = fs::read(format!("/proc/{process}/cmdline")).unwrap();
            words.ends_with(b"hang\0")
        })
        .unwrap();
    let held = hold([victim]);
    signal(victim, Signal::KILL);
    held.wait();
    run.until("worker-0 ended main signal 9");
    signal(run.outer(), Signal::TERM);
    let (said, _) = run.finish();
    assert_eq!(about(&said, "worker-1")[1..], ["ended main code 0", "gone"]);
}

#[test]
fn two_hundred_tasks_run_at_once() {
    for who in every_user() {
        let mut bench = Bench::new(who);
        for number in 0..200 {
            bench = bench.task(&format!("worker-{number}"), "end-on-term 0");
        }
        let mut run = bench.start();
        let mut ready = 0;
        while ready < 200 {
            let line = run.next().unwrap();
            ready += usize::from(line.ends_with("| ready"));
        }
        assert_eq!(bench.processes().len(), 200);
        signal(run.outer(), Signal::INT);
        let (said, code) = run.finish();
        assert_eq!(code, Some(0));
        let ended = said
            .iter()
            .filter(|line| line.ends_with("ended main code 0"))
            .count();
        assert_eq!(ended, 200);
        bench.assert_nothing_left();
    }
}
