//! Processes as `/proc` shows them: time on the processor, memory, children.

use std::fs;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::trouble::Trouble;

/// Ticks of `/proc/PID/stat` in a second; Linux has had this number for user space since it began.
const TICKS: f64 = 100.0;

/// Time on the processor so far, of all threads, those that have ended included.
pub fn cpu(pid: u32) -> Result<Duration, Trouble> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name in brackets may hold anything; after it, the user's time is the twelfth field, the kernel's the next.
    let rest = text.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    let ticks: f64 = rest
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|word| word.parse::<f64>().ok())
        .sum();
    Ok(Duration::from_secs_f64(ticks / TICKS))
}

/// Memory in MB: the most there ever was (`VmHWM`), or now (`VmRSS`).
pub fn memory(pid: u32, which: &str) -> Result<f64, Trouble> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(which));
    let number = line.and_then(|line| line.trim_start_matches(':').split_whitespace().next());
    let kilobytes: f64 = number.and_then(|number| number.parse().ok()).unwrap_or(0.0);
    Ok(kilobytes / 1000.0 * 1.024)
}

/// The process of that name among the descendants of another.
pub fn descendant(of: u32, name: &str) -> Option<u32> {
    let mut unseen = vec![of];
    while let Some(pid) = unseen.pop() {
        let comm = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        if comm.trim_end() == name {
            return Some(pid);
        }
        let threads = fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten()
            .flatten();
        for thread in threads {
            let text = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            unseen.extend(text.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
    }
    None
}

/// How busy the machine is.
pub fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// A measured process, killed on drop.
#[derive(Debug)]
pub struct Running {
    child: Child,
    /// When it was started.
    pub begun: Instant,
}

impl Running {
    /// Starts it.
    pub fn start(command: &mut Command) -> Result<Self, Trouble> {
        let begun = Instant::now();
        let child = command.spawn()?;
        Ok(Self { child, begun })
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its CPU time; also available after it has exited, until it is reaped.
    pub fn cpu(&self) -> Result<Duration, Trouble> {
        cpu(self.pid())
    }

    /// The most memory it had, in MB; nothing where it has ended.
    pub fn peak(&self) -> Result<f64, Trouble> {
        memory(self.pid(), "VmHWM")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::TERM);
        }
        let until = Instant::now() + Duration::from_secs(5);
        while Instant::now() < until {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
