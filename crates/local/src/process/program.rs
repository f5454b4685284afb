//! One program: its mounts, its process, its output, its end.
//!
//! Everything happens on one thread, which belongs to the program: it takes the program's mounts, spawns it, moves its
//! output and waits for it. When the program has ended, whatever it had started is killed, as in a container.

use std::ffi::{OsStr, OsString};
use std::io::{self, PipeWriter};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};

use crate::logs::pump::{LogSource, Pump, Pumped, enlarge};
use crate::process::exec;
use crate::process::launch::{Ended, Program, TaskChange};
use crate::process::lookup;
use crate::process::orphans::{self, Among, Mark, TASK_MARK};
use crate::process::stop::{Stopping, Wake};
use crate::process::task::TaskThreads;
use crate::sandbox::isolation::Namespace;
use crate::sandbox::mounts::{self, MountError};
use crate::supervisor::watchdog::RUN_MARK;
use crate::system::poll::wait_for;

/// How long the pump waits for EOF after the program has ended: a process that was not found may hold the pipe open.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Poll interval for a program's end, where the kernel has no pidfd.
const GLANCE: Duration = Duration::from_millis(20);

/// One program of a task.
pub(crate) struct Part<'a> {
    pub(crate) task: TaskThreads<'a>,
    pub(crate) program: &'a Program,
}

/// A program that runs.
struct Started {
    child: Child,
    process: Pid,
    handle: Option<OwnedFd>,
    wake: Wake,
    mark: Mark,
    pump: Pump,
}

impl Part<'_> {
    /// Runs the program on this thread until it has ended and its output is complete.
    pub(crate) fn run(&self, started: impl FnOnce(u32)) -> Ended {
        match self.start() {
            Err(why) => Ended::NotStarted(why),
            Ok(mut running) => {
                started(running.child.id());
                running.attend(self.task.stopping);
                running.end(self.task.stopping)
            }
        }
    }

    /// By what its processes are known among those of all jobs of a run.
    fn full_name(&self) -> String {
        format!("{}/{}", self.task.context.job, self.name())
    }

    /// By what its processes are known within the job.
    fn name(&self) -> String {
        let life = &self.task.launch.life;
        match self.container() {
            None => life.to_string(),
            Some(container) => format!("{life}.{container}"),
        }
    }

    /// The container's name, unless it is the main one.
    fn container(&self) -> Option<&Arc<str>> {
        (!self.task.is_main(self.program)).then_some(&self.program.container)
    }

    fn source(&self) -> LogSource {
        let life = &self.task.launch.life;
        let container = self.container();
        LogSource {
            task: life.task.clone(),
            stamp: life.stamp(),
            in_place: life.in_place,
            container: container.cloned(),
            file: self
                .task
                .context
                .logs
                .join(life.log_name(container.map(|name| &**name))),
        }
    }

    fn start(&self) -> Result<Started, String> {
        if self.task.stopping.is_asked() {
            return Err("it was asked to stop before it was started".into());
        }
        let Some(argv0) = self.program.argv.first() else {
            return Err("the command is empty: give the program's name".into());
        };
        let no_pipe = |error: io::Error| format!("there is no pipe for its output: {error}");
        let (reader, writer) = io::pipe().map_err(no_pipe)?;
        enlarge(&reader, self.task.context.programs);
        // The log is opened before this thread sees other files than the supervisor.
        let pump = Pump::new(reader, self.source(), Arc::clone(&self.task.context.sink));
        let mark = self.mark();
        self.take_mounts()?;
        let workdir = self
            .program
            .workdir
            .as_ref()
            .unwrap_or(&self.task.context.workdir);
        let file = lookup::find(argv0, self.variable("PATH"), workdir)?;
        let child = self
            .spawn(&file, workdir, writer)
            .map_err(|error| lookup::explain(&file, &error))?;
        self.register(child, mark, pump)
    }

    /// The mark by which the program's processes are known.
    fn mark(&self) -> Mark {
        let mark = Mark::new(TASK_MARK, &self.full_name());
        if self.task.context.isolation.has(Namespace::Mounts) {
            mark.and_own_namespace()
        } else {
            mark
        }
    }

    fn take_mounts(&self) -> Result<(), String> {
        let missing = mounts::enter(
            &self.task.context.tree,
            self.task.context.isolation,
            &self.program.mounts,
        );
        if missing.is_empty() {
            return Ok(());
        }
        if !self.task.context.allow_missing_mounts {
            return Err(refusal(&missing));
        }
        for error in missing {
            self.tell_missing(error);
        }
        Ok(())
    }

    fn tell_missing(&self, error: MountError) {
        self.task.tell(TaskChange::MountMissing {
            container: Arc::clone(&self.program.container),
            why: error.to_string(),
            mount: error.mount,
        });
    }

    /// A variable of the program: its own, else the run's.
    fn variable(&self, name: &str) -> Option<&OsStr> {
        let name = OsStr::new(name);
        let own = self.program.env.get(name);
        let found = own.or_else(|| self.task.context.environment.get(name));
        found.map(OsString::as_os_str)
    }

    fn spawn(&self, file: &Path, workdir: &Path, output: PipeWriter) -> io::Result<Child> {
        let isolated = self.task.context.isolation.has(Namespace::Processes);
        let argv = &self.program.argv;
        let mut command = if isolated {
            let mut command = Command::new(file);
            command.arg0(&argv[0]).args(&argv[1..]);
            command
        } else {
            exec::bound_to_us(file, argv)
        };
        command
            .current_dir(workdir)
            .env_clear()
            .envs(&self.task.context.environment)
            .envs(&self.program.env)
            .env(TASK_MARK, self.full_name())
            .env(RUN_MARK, &self.task.context.run)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(0);
        if isolated {
            command.spawn()
        } else {
            exec::spawn(file, &mut command)
        }
    }

    fn register(&self, mut child: Child, mark: Mark, pump: Pump) -> Result<Started, String> {
        let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let added = process.map(|process| Ok((process, self.task.stopping.add(process, mark.clone())?)));
        match added.unwrap_or_else(|| Err(io::Error::other("it has no process number"))) {
            Ok((process, wake)) => Ok(Started {
                handle: pidfd_open(process, PidfdFlags::empty()).ok(),
                child,
                process,
                wake,
                mark,
                pump,
            }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(format!("it could not be watched ({error}): raise `ulimit -n`"))
            }
        }
    }
}

impl Started {
    /// Moves output until the program has ended; it has not been waited for then.
    fn attend(&mut self, stopping: &Stopping) {
        let mut output = Pumped::More;
        while !self.has_ended() {
            let mut until = stopping.look();
            if self.handle.is_none() {
                let glance = Instant::now() + GLANCE;
                until = Some(until.map_or(glance, |until| until.min(glance)));
            }
            let mut descriptors = vec![PollFd::new(&self.wake, PollFlags::IN)];
            descriptors.extend(
                self.handle
                    .iter()
                    .map(|handle| PollFd::new(handle, PollFlags::IN)),
            );
            if output == Pumped::More {
                descriptors.push(PollFd::new(&self.pump, PollFlags::IN));
            }
            let Ok(_) = wait_for(&mut descriptors, until) else {
                break;
            };
            let ready = |at: usize| {
                descriptors
                    .get(at)
                    .is_some_and(|found| !found.revents().is_empty())
            };
            let (woken, readable) = (ready(0), ready(1 + usize::from(self.handle.is_some())));
            if woken {
                self.wake.clear();
            }
            if readable {
                output = self.pump.pull();
            }
        }
    }

    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(self.process), options), Ok(None))
    }

    /// Kills what the program has left behind and hands on its last output.
    fn end(mut self, stopping: &Stopping) -> Ended {
        let status = stopping.remove(&self.wake, || self.child.wait());
        orphans::end(&self.mark, Among::Adopted);
        let until = Instant::now() + LAST_WORDS;
        // A process that still writes is always ready, so the time is checked as well.
        while Instant::now() < until
            && wait_for(&mut [PollFd::new(&self.pump, PollFlags::IN)], Some(until)).is_ok_and(|ready| ready)
        {
            if self.pump.pull() == Pumped::Over {
                break;
            }
        }
        self.pump.finish();
        match status.map(|status| (status.code(), status.signal())) {
            Ok((Some(code), _)) => Ended::Code(code),
            Ok((None, signal)) => Ended::Signal(signal.unwrap_or_default()),
            Err(error) => Ended::NotStarted(format!("its end could not be learnt: {error}")),
        }
    }
}

fn refusal(missing: &[MountError]) -> String {
    let all: Vec<String> = missing.iter().map(ToString::to_string).collect();
    format!(
        "{}; to go on without, give --allow-missing-mounts",
        all.join("; ")
    )
}
