//! `trainyard stop`, `drain`, `kill`, `suspend`, `resume` and `scale`, against a run that this process plays.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use rustix::event::{PollFd, PollFlags, poll};
use trainyard_core::Outcome;
use trainyard_local::run::control::ControlSocket;
use trainyard_local::run::control::order::{Order, OrderReply};
use trainyard_local::run::store::directory::{Claim, RunDirectory};
use trainyard_local::run::store::status::TaskState::{Running, Stopped, Stopping};

use crate::kept::{BEGUN, Made, State};

const ID: &str = "20261116-014512-345";

fn begun(state: &State, job: &str) -> Made {
    state
        .begin_at(job, ID, BEGUN)
        .task("ps-0", Running)
        .task("worker-0", Running)
        .task("worker-1", Stopping)
}

/// What a played run was ordered, and the lock that says that it goes on.
#[derive(Default)]
struct Played {
    orders: Vec<Order>,
    claim: Option<Claim>,
}

/// Answers orders from now on.
fn listen(
    directory: &RunDirectory,
    obey: impl Fn(Order) -> OrderReply + Send + Sync + 'static,
) -> std::io::Result<()> {
    let door = ControlSocket::open(directory, obey)?;
    std::thread::spawn(move || {
        loop {
            let _ = poll(&mut [PollFd::new(&door, PollFlags::IN)], None);
            let _ = door.admit();
        }
    });
    Ok(())
}

/// Plays a run: it does what `obey` says, and ends if that is none.
fn play(
    state: &State,
    job: &str,
    obey: impl Fn(&Order) -> Option<OrderReply> + Send + Sync + 'static,
) -> Arc<Mutex<Played>> {
    let claim = state.job(job).claim().expect("a lock");
    let made = Mutex::new(begun(state, job));
    let played = Arc::new(Mutex::new(Played {
        orders: Vec::new(),
        claim,
    }));
    let heard = Arc::clone(&played);
    let directory = state.job(job).run(ID);
    let listened = listen(&directory, move |order| {
        let answer = obey(&order);
        let mut played = heard.lock().expect("no thread panicked");
        played.orders.push(order);
        answer.unwrap_or_else(|| {
            made.lock()
                .expect("no thread panicked")
                .end(None, "it was stopped");
            played.claim = None;
            OrderReply::Done
        })
    });
    listened.expect("a socket");
    played
}

fn orders(played: &Arc<Mutex<Played>>) -> Vec<Order> {
    std::mem::take(&mut played.lock().expect("no thread panicked").orders)
}

#[test]
fn an_order_reaches_the_run_and_its_answer_is_told() {
    let state = State::new("orders-given");
    let played = play(&state, "mnist", |_| Some(OrderReply::Done));
    let mut shown = String::new();
    for typed in [
        &["drain", "mnist", "worker-1"][..],
        &["kill", "mnist", "mnist-ps-0"],
        &["suspend", "mnist"],
        &["resume", "mnist"],
        &["scale", "mnist", "Worker=4"],
    ] {
        let ran = state.run(typed);
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (Some(0), ""),
            "{typed:?}: {}",
            ran.err
        );
        writeln!(
            shown,
            "$ trainyard {}\n{}{:?}",
            typed.join(" "),
            ran.err,
            orders(&played)
        )
        .expect("a string takes it");
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn a_refusal_exits_1_and_says_why() {
    let state = State::new("orders-refused");
    let played = play(&state, "mnist", |_| {
        Some(OrderReply::Refused("worker-1 does not run".into()))
    });
    for typed in [&["kill", "mnist", "worker-1"][..], &["stop", "mnist"]] {
        let ran = state.run(typed);
        assert_eq!(ran.code, Some(1), "{typed:?}");
        assert!(ran.err.contains("worker-1 does not run"), "{}", ran.err);
    }
    assert_eq!(orders(&played).len(), 2);
}

#[test]
fn an_order_that_no_run_takes_says_so() {
    let state = State::new("orders-unheard");
    begun(&state, "killed");
    begun(&state, "ended").ended(Some(Outcome::Succeeded), "done");
    begun(&state, "deaf");
    let _claim = state.job("deaf").claim().expect("a lock");
    let mut shown = String::new();
    for (code, typed) in [
        (1, &["kill", "killed", "worker-1"][..]),
        (1, &["suspend", "ended"]),
        (1, &["resume", "deaf"]),
        (2, &["drain", "deaf", "worker-9"]),
        (2, &["kill", "deaf", "chief-0"]),
        (2, &["kill", "deaff", "worker-0"]),
        (2, &["scale", "deaf", "chief=2"]),
        (2, &["scale", "deaf", "worker"]),
    ] {
        let ran = state.run(typed);
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (Some(code), ""),
            "{typed:?}: {}",
            ran.err
        );
        writeln!(shown, "$ trainyard {}\n{}", typed.join(" "), ran.err).expect("a string takes it");
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn stop_waits_until_the_run_has_ended() {
    let state = State::new("stop-waits");
    let first = play(&state, "mnist", |_| None);
    let second = play(&state, "cifar", |_| None);
    begun(&state, "old").ended(Some(Outcome::Failed), "it failed");
    let ran = state.run(&["stop", "mnist", "old", "mnist", "cifar", "--now"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let mut lines: Vec<&str> = ran.err.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "`cifar` has ended: stopped",
            "`mnist` has ended: stopped",
            "`old` had ended before: failed"
        ]
    );
    for played in [first, second] {
        assert_eq!(orders(&played), [Order::Stop { now: true }]);
    }
}

#[test]
fn a_job_whose_fellow_goes_on_has_ended_though_its_lock_is_held() {
    let state = State::new("stop-fellow");
    let _claim = state.job("mnist").claim().expect("a lock");
    let made = Mutex::new(begun(&state, "mnist"));
    let directory = state.job("mnist").run(ID);
    let socket = directory.socket();
    let listened = listen(&directory, move |_| {
        made.lock()
            .expect("no thread panicked")
            .end(None, "it was stopped");
        std::fs::remove_file(&socket).expect("it is there");
        OrderReply::Done
    });
    listened.expect("a socket");
    for words in [
        "`mnist` has ended: stopped\n",
        "`mnist` had ended before: stopped\n",
    ] {
        let ran = state.run(&["stop", "mnist"]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), words));
    }
    assert_eq!(state.run(&["rm", "mnist"]).code, Some(0));
    assert!(!directory.path.exists());
}

#[test]
fn stop_says_what_it_waits_for_and_gives_up_in_time() {
    let state = State::new("stop-slow");
    let played = play(&state, "mnist", |_| Some(OrderReply::Done));
    let ran = state.run(&["stop", "mnist", "--timeout", "3s"]);
    assert_eq!(ran.code, Some(1));
    // It may have been looked at late.
    insta::assert_snapshot!(ran.shown().replace("(3s)", "(2s)"));
    assert_eq!(orders(&played), [Order::Stop { now: false }], "once is enough");
    let at_once = state.run(&["stop", "mnist", "--timeout", "0"]);
    assert_eq!(
        (at_once.code, at_once.err.as_str()),
        (Some(0), "`mnist` is stopping\n")
    );
}

#[test]
fn stop_waits_for_a_run_that_takes_no_orders_yet() {
    let state = State::new("stop-early");
    let claim = state.job("mnist").claim().expect("a lock");
    let child = state
        .program(&["stop", "mnist"])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    // There is not even a run yet: its directory comes, and then its socket.
    let made = Mutex::new(begun(&state, "mnist").task("worker-2", Stopped));
    let claim = Mutex::new(claim);
    let directory = state.job("mnist").run(ID);
    listen(&directory, move |_| {
        made.lock()
            .expect("no thread panicked")
            .end(None, "it was stopped");
        claim.lock().expect("no thread panicked").take();
        OrderReply::Done
    })
    .expect("a socket");
    let ran: crate::run::Ran = child.wait_with_output().expect("it ends").into();
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (Some(0), "`mnist` has ended: stopped\n")
    );
}

#[test]
fn stop_names_every_unknown_job_and_stops_none() {
    let state = State::new("stop-unknown");
    let played = play(&state, "mnist", |_| None);
    let ran = state.run(&["stop", "mnist", "cifar", "imagenet"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("the jobs `cifar`, `imagenet`"), "{}", ran.err);
    assert_eq!(orders(&played), []);
}
