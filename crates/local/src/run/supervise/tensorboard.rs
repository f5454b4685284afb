//! A `TensorBoard` beside a job: started with it, stopped after it.
//!
//! It is a program of the run and no task of the job: whether it starts, answers or dies changes nothing about the job.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::queue::{LoopEvent, Waker};
use crate::run::store::run_file::TensorBoard;
use crate::supervisor::watchdog::RUN_MARK;
use crate::system::private;

/// It answers within a second where nothing else is going on.
const PATIENCE: Duration = Duration::from_mins(1);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// It ends at once when it is asked to.
const GRACE: Duration = Duration::from_secs(3);

/// A `TensorBoard` that was started.
#[derive(Debug)]
pub(crate) struct TensorBoardProcess {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl TensorBoardProcess {
    /// Starts it, and tells when it answers. The thread that starts it lives as long as it does.
    pub fn start(told: TensorBoard, run: &str, port: u16, log: &Path, waker: Waker) -> io::Result<Self> {
        let run = run.to_owned();
        let (stop, stopped) = channel();
        let log = private::create(log)?;
        let run = move || {
            let mut child = match command(&told, &run, port, log) {
                Ok(child) => child,
                Err(error) => {
                    let why = format!(
                        "TensorBoard cannot be started: `{}`: {error}",
                        told.program.display()
                    );
                    waker.wake(LoopEvent::TensorBoard(Err(why)));
                    return;
                }
            };
            let answer = wait_for(&mut child, port, || {
                stopped.try_recv() != Err(std::sync::mpsc::TryRecvError::Empty)
            });
            if let Some(answer) = answer {
                waker.wake(LoopEvent::TensorBoard(answer));
                let _ = stopped.recv();
            }
            end(&mut child);
        };
        let thread = thread::Builder::new().name("tensorboard".into()).spawn(run)?;
        Ok(Self { stop, thread })
    }

    /// Stops it and waits until it has gone.
    pub fn stop(self) {
        drop(self.stop);
        // A thread that panicked has left a process that dies with us.
        let _ = self.thread.join();
    }
}

fn command(told: &TensorBoard, run: &str, port: u16, log: File) -> io::Result<Child> {
    let errors = log.try_clone()?;
    let (option, directories) = match told.directories.as_slice() {
        [one] => ("--logdir", one.display().to_string()),
        several => {
            let named = several.iter().enumerate();
            let named: Vec<String> = named
                .map(|(at, path)| format!("{at}:{}", path.display()))
                .collect();
            ("--logdir_spec", named.join(","))
        }
    };
    Command::new(&told.program)
        .arg(option)
        .arg(directories)
        .args(["--host", "127.0.0.1", "--port", &port.to_string()])
        // Its second process would listen on a port of its own choosing.
        .arg("--load_fast=false")
        // Where namespaces are forbidden, the watchdog knows it by this.
        .env(RUN_MARK, run)
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        .process_group(0)
        .spawn()
}

/// Waits until it answers; none if it was stopped before.
fn wait_for(child: &mut Child, port: u16, is_stopped: impl Fn() -> bool) -> Option<Result<String, String>> {
    let until = Instant::now() + PATIENCE;
    loop {
        if is_stopped() {
            return None;
        }
        if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Some(Ok(format!("http://127.0.0.1:{port}/")));
        }
        if let Ok(Some(status)) = child.try_wait() {
            return Some(Err(format!(
                "TensorBoard ended before it answered ({status}); see tensorboard.log"
            )));
        }
        if Instant::now() > until {
            return Some(Err("TensorBoard does not answer; see tensorboard.log".to_owned()));
        }
        thread::sleep(BETWEEN_LOOKS);
    }
}

fn end(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let signal = |signal| {
        if let Some(group) = group {
            let _ = kill_process_group(group, signal);
        }
    };
    signal(Signal::TERM);
    let until = Instant::now() + GRACE;
    while Instant::now() < until {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        thread::sleep(BETWEEN_LOOKS);
    }
    signal(Signal::KILL);
    let _ = child.wait();
}
