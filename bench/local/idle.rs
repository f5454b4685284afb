//! A supervisor with nothing to do: what it costs while 64 tasks run.

use std::fs;
use std::io;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use crate::bars::Bars;
use crate::place::{Place, succeed};

const TASKS: usize = 64;

/// Tasks start within a second; a busy machine may take longer.
const PATIENCE: Duration = Duration::from_mins(1);

const MOST_CPU: f64 = 1.0;
const MOST_MEMORY: f64 = 20.0;

/// Watches both processes of a run for so many seconds.
pub fn measure(place: &Place, seconds: u64, bars: &mut Bars) -> io::Result<()> {
    let argv = ["/bin/sleep", "3600"].map(str::to_owned);
    let manifest = place.manifest("idle", TASKS, &argv)?;
    let mut outer = place.trainyard().args(["run", "-q"]).arg(&manifest).spawn()?;
    let watched = watch(&outer, Duration::from_secs(seconds));
    let stopped = succeed(place.trainyard().args(["stop", "idle"]));
    if stopped.is_err() {
        let _ = outer.kill();
    }
    outer.wait()?;
    let (share, memory) = watched?;
    stopped?;
    bars.add(
        &format!("processor while {TASKS} tasks sleep, {seconds} s"),
        (format!("{share:.3}% of a core"), "-".to_owned()),
        "-".to_owned(),
        ("under 1%", Some(share < MOST_CPU)),
    );
    bars.add(
        &format!("memory of both processes while {TASKS} tasks sleep"),
        (format!("{memory:.1} MiB resident"), "-".to_owned()),
        "-".to_owned(),
        ("under 20 MiB", Some(memory < MOST_MEMORY)),
    );
    Ok(())
}

/// The share of a core in percent, and resident memory in MiB.
fn watch(outer: &Child, time: Duration) -> io::Result<(f64, f64)> {
    let inner = wait_for_tasks(outer.id())?;
    let both = [outer.id(), inner];
    // Starting is over: the last files are written.
    thread::sleep(Duration::from_secs(1));
    let (begin, before) = (Instant::now(), used(&both)?);
    thread::sleep(time);
    let spent = used(&both)?.saturating_sub(before);
    let share = 100.0 * spent.as_secs_f64() / begin.elapsed().as_secs_f64();
    let kilobytes: u32 = both.iter().map(|pid| resident(*pid)).sum();
    Ok((share, f64::from(kilobytes) / 1024.0))
}

/// Waits until every task runs; the supervisor's process.
fn wait_for_tasks(outer: u32) -> io::Result<u32> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if let [inner] = children(outer)[..]
            && children(inner).len() == TASKS
        {
            return Ok(inner);
        }
        thread::sleep(Duration::from_millis(50));
    }
    Err(io::Error::other("the tasks did not start"))
}

/// The children of all threads of a process.
fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let texts = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let pids = |text: String| -> Vec<u32> { text.split(' ').filter_map(|pid| pid.parse().ok()).collect() };
    texts.flat_map(pids).collect()
}

/// The processor time of all threads, to the nanosecond.
fn used(pids: &[u32]) -> io::Result<Duration> {
    let mut nanoseconds = 0;
    for pid in pids {
        for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
            let text = fs::read_to_string(thread?.path().join("schedstat"))?;
            nanoseconds += text
                .split(' ')
                .next()
                .and_then(|word| word.parse().ok())
                .unwrap_or(0);
        }
    }
    Ok(Duration::from_nanos(nanoseconds))
}

/// In KiB.
fn resident(pid: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}
