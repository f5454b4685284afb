//! Faults that a run survives, or does not, leaving nothing behind either way.

use std::fs;
use std::process::Stdio;

use rustix::process::{Signal, getuid};
use trainyard_local::run::store::status::TaskState;

use crate::bench::{ALL_WORKERS, Bench, Run, Who, eventually, every_user, hold, quick, send, wait_for_end};

/// A program, a child and a daemon in a session of its own, all deaf to polite requests. Says `up` three times.
const STUBBORN: &str = "trap '' TERM INT HUP
    deaf='trap \"\" TERM INT HUP; echo up; while :; do sleep 1000; done'
    sh -c \"$deaf\" & setsid sh -c \"$deaf\" & sh -c \"$deaf\"";

#[test]
fn a_task_killed_with_9_is_started_again_where_the_manifest_says_so() {
    let bench = Bench::new();
    let script = "if mkdir first; then echo first; exec sleep 1000; fi; echo second";
    let mut run = bench.start(&quick(&["--workers", "1", "--restarts", "1"], script));
    run.until("│ first");
    let mut victims = bench.programs("sleep 1000");
    eventually("the task sleeps", || {
        victims = bench.programs("sleep 1000");
        !victims.is_empty()
    });
    let victim = victims.pop_first().expect("there is one");
    send(victim, Signal::KILL);
    run.until("│ second");
    let (said, status) = run.finish();
    assert_eq!(status.code(), Some(0), "{said:#?}");
    assert_eq!(bench.status("job").tasks[0].restarts, 1);
    bench.assert_nothing_left();
}

#[test]
fn a_task_killed_with_9_fails_the_job_where_nothing_is_started_again() {
    let bench = Bench::new();
    let set = "spec.tfReplicaSpecs.Worker.restartPolicy=Never";
    let ran = bench.quick(&["--workers", "2", "--set", set], "kill -9 $$");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let end = bench.status("job").end.expect("it has ended");
    let failure = end.first_failure.expect("something failed");
    assert_eq!((failure.end.signal, failure.end.code), (Some(9), Some(137)));
    assert!(
        ran.err.contains("signal 9") || ran.err.contains("SIGKILL"),
        "{}",
        ran.err
    );
    bench.assert_nothing_left();
}

#[test]
fn a_task_that_ignores_term_is_killed_when_its_grace_is_over() {
    let bench = Bench::new();
    let grace = "spec.tfReplicaSpecs.Worker.template.spec.terminationGracePeriodSeconds=1";
    let script = "if [ $TRAINYARD_INDEX = 0 ]; then until [ -e deaf ]; do sleep 0.02; done; exit 0; fi
        trap '' TERM; touch deaf; while :; do sleep 1000; done";
    let ran = bench.quick(&["--workers", "2", "--set", grace], script);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let status = bench.status("job");
    let deaf = &status.tasks[1];
    assert_eq!(deaf.state, TaskState::Stopped);
    assert_eq!(deaf.end.as_ref().and_then(|end| end.signal), Some(9));
    bench.assert_nothing_left();
}

#[test]
fn what_a_task_leaves_behind_is_gone_when_the_task_has_ended_and_the_others_go_on() {
    for who in every_user() {
        let bench = Bench::of(who);
        let script =
            "if [ $TRAINYARD_INDEX = 0 ]; then echo stays; until [ -e over ]; do sleep 0.02; done; exit 0; fi
            deaf='trap \"\" TERM; echo up; touch up-$0; exec sleep 1000'
            sh -c \"$deaf\" 1 & setsid sh -c \"$deaf\" 2 & setsid env -i PATH=\"$PATH\" sh -c \"$deaf\" 3 &
            until [ -e up-1 ] && [ -e up-2 ] && [ -e up-3 ]; do sleep 0.02; done; echo leaves";
        let flags = [&["--workers", "2"], &ALL_WORKERS[..]].concat();
        let mut run = bench.start(&quick(&flags, script));
        run.until("│ leaves");
        run.until("│ stays");
        eventually("the second task has ended", || {
            bench.status("job").tasks[1].state == TaskState::Succeeded
        });
        // One of them carries no mark any more; it is told by what it does.
        let left = sleepers(&bench);
        assert_eq!(left, 0, "{who:?}: {left} processes were left");
        bench.write("over", "");
        let (said, status) = run.finish();
        assert_eq!(status.code(), Some(0), "{who:?}: {said:#?}");
        bench.assert_nothing_left();
    }
}

/// Neither its environment nor a namespace identifies its run, and it writes faster than it is read. All that goes
/// nowhere: the task's first life sees to it that the second one's log is no file.
#[test]
fn a_task_ends_though_a_process_that_cannot_be_found_writes_on() {
    let bench = Bench::new();
    let rights = if getuid().is_root() { "" } else { "--map-root-user" };
    let script = format!(
        "if [ $TRAINYARD_INDEX = 0 ]; then until [ -e over ]; do sleep 0.02; done; exit 0; fi
        if mkdir again; then ln -s /dev/null $(ls -d \"$STATE\"/runs/job/*/logs)/worker-1.0.0+1.log; exit 1; fi
        writer='touch written; exec yes'
        setsid env -i PATH=\"$PATH\" unshare --mount --uts {rights} sh -c \"$writer\" &
        until [ -e written ]; do sleep 0.02; done"
    );
    let flags = [&["--workers", "2", "--restarts", "1"], &ALL_WORKERS[..]].concat();
    let mut command = bench.command(&quick(&flags, &script));
    command
        .env("STATE", bench.state())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let run = Run::unread(&mut command);
    eventually("it writes", || bench.path("written").exists());
    eventually("the second task has ended", || {
        bench.status("job").tasks[1].state == TaskState::Succeeded
    });
    bench.write("over", "");
    let (_, status) = run.finish();
    assert_eq!(status.code(), Some(0), "{:#?}", bench.status("job"));
    bench.assert_nothing_left();
}

/// Processes that sleep in the directory of the run, marked or not.
fn sleepers(bench: &Bench) -> usize {
    let work = fs::canonicalize(bench.path("")).expect("it is there");
    let entries = fs::read_dir("/proc").expect("there is /proc").flatten();
    let sleeps = |entry: &fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let place = fs::read_link(entry.path().join("cwd"));
        line == b"sleep\x001000\0" && place.is_ok_and(|place| place == work)
    };
    entries.filter(sleeps).count()
}

/// Whose number that is.
type Victim = fn(&Run) -> i32;

/// Two stubborn tasks, up.
fn stubborn(who: Who) -> (Bench, Run) {
    let bench = Bench::of(who);
    let mut run = bench.start(&quick(&["--workers", "2"], STUBBORN));
    run.until_times("│ up", 6);
    (bench, run)
}

#[test]
fn nothing_survives_trainyard_itself_killed_with_9_and_the_next_command_says_so() {
    let victims: [(&str, Victim); 2] = [("outer", Run::outer), ("inner", Run::inner)];
    for (who, (name, victim)) in every_user()
        .into_iter()
        .flat_map(|who| victims.map(|victim| (who, victim)))
    {
        let (bench, run) = stubborn(who);
        let held = hold(bench.processes());
        assert!(held.len() >= 8, "{who:?} {name}: {} processes", held.len());
        send(victim(&run), Signal::KILL);
        wait_for_end(&held);
        let (said, status) = run.finish();
        assert!(!status.success(), "{who:?} {name}: {said:#?}");
        bench.assert_nothing_left();
        assert!(bench.status("job").end.is_none());
        let ps = bench.run(&["ps", "--all"]);
        assert_eq!(ps.code, Some(0), "{ps:?}");
        assert!(ps.out.contains("interrupted"), "{who:?} {name}: {ps:?}");
        // And it can be run again.
        let again = bench.quick(&["--workers", "1"], "exit 0");
        assert_eq!(again.code, Some(0), "{who:?} {name}: {again:?}");
    }
}

#[test]
fn nothing_survives_a_run_in_the_background_that_is_killed_with_9() {
    let bench = Bench::new();
    let ran = bench.quick(&["--workers", "2", "--detach"], STUBBORN);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    eventually("all are up", || bench.programs("sleep 1000").len() == 6);
    let held = hold(bench.processes());
    let outer = i32::try_from(bench.status("job").pid).expect("process numbers are small");
    send(outer, Signal::KILL);
    wait_for_end(&held);
    bench.assert_nothing_left();
    let ps = bench.run(&["ps", "--all"]);
    assert!(ps.out.contains("interrupted"), "{ps:?}");
}

#[test]
fn two_runs_of_the_same_job_at_once_are_refused() {
    let bench = Bench::new();
    let wait = "echo up; until [ -e over ]; do sleep 0.02; done";
    let mut run = bench.start(&quick(&["--workers", "1"], wait));
    run.until("│ up");
    for flags in [&["--workers", "1"][..], &["--workers", "1", "--detach"]] {
        let second = bench.quick(flags, "exit 0");
        assert_eq!(second.code, Some(2), "{second:?}");
        let words = ["`job` is running already", "trainyard stop job", "--name job-2"];
        assert!(
            words.iter().all(|words| second.err.contains(words)),
            "{}",
            second.err
        );
    }
    // The hint helps.
    let other = bench.quick(&["--workers", "1", "--set", "metadata.name=job-2"], "exit 0");
    assert_eq!(other.code, Some(0), "{other:?}");
    bench.write("over", "");
    let (said, status) = run.finish();
    assert_eq!(status.code(), Some(0), "{said:#?}");
    assert_eq!(
        bench.home().job("job").runs().expect("runs can be listed").len(),
        1
    );
}

#[test]
fn two_hundred_tasks_run_at_once() {
    for who in every_user() {
        let bench = Bench::of(who);
        let mut run = bench.start(&quick(&["--workers", "200"], "echo up; exec sleep 1000"));
        run.until_times("│ up", 200);
        eventually("all sleep", || bench.programs("sleep 1000").len() == 200);
        run.signal(Signal::INT);
        let (said, status) = run.finish();
        assert_eq!(status.code(), Some(130), "{who:?}: {said:#?}");
        let stopped = |state| state == TaskState::Stopped;
        assert!(bench.status("job").tasks.iter().all(|task| stopped(task.state)));
        bench.assert_nothing_left();
    }
}
