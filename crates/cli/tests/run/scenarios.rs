//! The table of scenarios on real processes: every row that names them ends as it does in the simulator.
//!
//! ```text
//! Scenario ─▶ files that tell `train.sh` its part, orders at their moments ─▶ `trainyard run` ─▶ Ending ─▶ differences
//! ```
//!
//! The run's seconds are shortened, and those of its programs alike. A row that differs is played once more, alone and
//! slowly: a busy machine may be late, but a wrong decision stays wrong.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use trainyard_core::{Job, TaskId, Time};
use trainyard_document::Source;
use trainyard_local::run::control;
use trainyard_local::run::control::order::{Order, OrderReply};
use trainyard_local::run::event::What;
use trainyard_local::run::store::directory::RunDirectory;
use trainyard_scenarios::{Ending, Fault, Scenario, World, all};

use crate::bench::{Bench, PATIENCE, events, eventually};

/// So many rows are played side by side: they wait, most of the time.
const AT_ONCE: usize = 16;

/// How many seconds a time may be off: programs take a moment to start.
const TOLERANCE: u32 = 4;

/// A job that goes on is watched for so long after the last thing that happens to it.
const WATCHED: u32 = 20;

/// A restart takes so long, more or less.
const RESTART: u32 = 15;

/// The second time, a second of the run takes half a second.
const SLOWLY: u32 = 2;

#[test]
fn every_row_ends_as_in_the_simulator() {
    let mut rows = all().expect("the table can be read");
    rows.retain(|row| row.worlds.contains(&World::Processes));
    assert!(rows.len() >= 40, "the table has {} rows", rows.len());
    // The longest first, so that the total time is short.
    rows.sort_by_key(length);
    let open = Mutex::new(rows);
    let differing = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(row) = next(&open) {
                    if !wrong_in(&row, speed(&row)).is_empty() {
                        differing.lock().expect("no thread panicked").push(row);
                    }
                }
            });
        }
    });
    let differing = differing.into_inner().expect("no thread panicked");
    let report = |row: &Scenario| {
        let wrong = wrong_in(row, SLOWLY);
        (!wrong.is_empty()).then(|| format!("{} ({})\n  {}\n", row.name, row.file, wrong.join("\n  ")))
    };
    let reports: Vec<String> = differing.iter().filter_map(report).collect();
    assert!(reports.is_empty(), "\n{}", reports.join("\n"));
}

fn next(open: &Mutex<Vec<Scenario>>) -> Option<Scenario> {
    open.lock().expect("no thread panicked").pop()
}

/// How many seconds the row takes, more or less.
fn length(row: &Scenario) -> u32 {
    let took = |fault: &Fault| match fault {
        Fault::Exit { after, life: 0, .. } => *after,
        Fault::Exit { after, .. } => after + RESTART,
        Fault::Drain { at, .. } | Fault::Suspend { at } | Fault::Resume { at } => at + WATCHED,
        _ => WATCHED,
    };
    row.expect
        .ends_at
        .unwrap_or_else(|| row.faults.iter().map(took).sum())
}

/// A row takes about four seconds, but a second of its own never less than an eighth of ours.
fn speed(row: &Scenario) -> u32 {
    (length(row) / 4).clamp(2, 8)
}

fn wrong_in(row: &Scenario, speed: u32) -> Vec<String> {
    let play = Play::set_up(row, speed);
    match play.run() {
        Ok(ending) => {
            let mut wrong = ending.differences(&row.expect, TOLERANCE);
            if !wrong.is_empty() {
                wrong.push(format!("what happened, {speed} times faster:\n{}", play.story()));
            }
            wrong
        }
        Err(why) => vec![format!("{why}:\n{}", play.story())],
    }
}

/// A row with everything that its run needs.
struct Play<'a> {
    row: &'a Scenario,
    job: Job,
    bench: Bench,
    manifest: PathBuf,
    orders: Vec<(u32, Order)>,
    /// Init programs cannot be started.
    without_init_program: bool,
    speed: u32,
}

impl<'a> Play<'a> {
    fn set_up(row: &'a Scenario, speed: u32) -> Self {
        let bench = Bench::new();
        bench.program("train", include_str!("train.sh"));
        bench.program("prepare", include_str!("prepare.sh"));
        let mut text = row.manifest.clone();
        let mut play = Self {
            job: job(row),
            row,
            manifest: bench.path("manifest.yaml"),
            bench,
            orders: Vec::new(),
            without_init_program: false,
            speed,
        };
        let mut missing = BTreeSet::new();
        for fault in &row.faults {
            play.arrange(fault, &mut missing);
        }
        if play.without_init_program {
            text = text.replace("command: [prepare]", "command: [prepare-that-is-not-there]");
        }
        if !missing.is_empty() {
            text = play.with_a_program_for_each_task(&text, &missing);
        }
        play.orders.sort_by_key(|(at, _)| *at);
        fs::write(&play.manifest, text).expect("a file can be written");
        play
    }

    /// Tells the programs their part in a fault, or notes who must be ordered what.
    fn arrange(&mut self, fault: &Fault, missing: &mut BTreeSet<TaskId>) {
        match fault.clone() {
            Fault::Exit {
                task,
                life,
                after,
                code,
            } => self.tell(&task, &format!("end-{life}"), after, code),
            Fault::IgnoreTerm { task, seconds } => self.tell(&task, "term", seconds, 143),
            Fault::MissingProgram { task, life: 0 } => drop(missing.insert(task)),
            Fault::InitExit {
                task,
                life,
                code: Some(code),
            } => self.tell(&task, &format!("init-{life}"), 0, code),
            Fault::InitExit { code: None, .. } => self.without_init_program = true,
            Fault::Drain { task, at, code } => {
                self.tell(&task, "term", 1, code);
                self.orders.push((at, Order::Drain { task }));
            }
            Fault::Suspend { at } => self.orders.push((at, Order::Suspend)),
            Fault::Resume { at } => self.orders.push((at, Order::Resume)),
            Fault::Replicas { role, at, count } => {
                self.orders.push((
                    at,
                    Order::Scale {
                        role,
                        replicas: count,
                    },
                ));
            }
            other => panic!("processes cannot play {other:?}: {}", self.row.file),
        }
    }

    fn tell(&self, task: &TaskId, file: &str, seconds: u32, code: i32) {
        let place = self.place(task);
        let seconds = f64::from(seconds) / f64::from(self.speed);
        fs::write(place.join(file), format!("{seconds} {code}\n")).expect("a file can be written");
    }

    /// Where a task's program is told its part; who is told nothing ends a second after it is told to.
    fn place(&self, task: &TaskId) -> PathBuf {
        let place = self.stage().join(task.to_string());
        if !place.exists() {
            fs::create_dir_all(&place).expect("a directory can be made");
            self.tell(task, "term", 1, 143);
        }
        place
    }

    fn stage(&self) -> PathBuf {
        self.bench.path("stage")
    }

    /// Where the program of one task is missing, each must have one of its own.
    fn with_a_program_for_each_task(&self, manifest: &str, missing: &BTreeSet<TaskId>) -> String {
        for task in self.job.tasks().filter(|task| !missing.contains(task)) {
            let name = format!("train-{}-{task}", self.job.name);
            self.bench.program(&name, include_str!("train.sh"));
        }
        manifest.replace(
            "command: [train]",
            "command: [train-$(POD)], env: [{name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]",
        )
    }

    fn run(&self) -> Result<Ending, String> {
        // Scaling may add some.
        for task in self
            .job
            .tasks()
            .chain((0..9).map(|index| TaskId::new("worker", index)))
        {
            self.place(&task);
        }
        let out = fs::File::create(self.bench.path("said")).expect("a file can be written");
        let manifest = self.manifest.to_str().expect("paths of tests are plain");
        let mut child = self
            .bench
            .command(&["run", manifest])
            .env("STAGE", self.stage())
            .env("TRAINYARD_TEST_SPEED", self.speed.to_string())
            .stdout(out.try_clone().expect("a descriptor can be copied"))
            .stderr(out)
            .spawn()
            .expect("the program starts");
        let ending = self.attend(&mut child);
        let _ = child.kill();
        let _ = child.wait();
        self.bench.assert_nothing_left();
        ending
    }

    fn attend(&self, child: &mut Child) -> Result<Ending, String> {
        let (run, begin) = self.begun(child)?;
        for (at, order) in &self.orders {
            begin.wait_for(*at, self.speed);
            insist(&run, order, child)?;
        }
        if self.row.expect.outcome.is_some() {
            wait(child)?;
            return self.ending(&run, begin.second);
        }
        let last = self.orders.last().map_or(0, |(at, _)| *at);
        begin.wait_for(last + WATCHED, self.speed);
        let ending = self.ending(&run, begin.second);
        insist(&run, &Order::Stop { now: true }, child)?;
        wait(child)?;
        ending
    }

    /// The run's directory and the moment its clock began, once there is one.
    fn begun(&self, child: &mut Child) -> Result<(RunDirectory, Begin), String> {
        let mut found = None;
        eventually("the run begins", || {
            let run = self.bench.newest(&self.job.name);
            found = run.and_then(|run| {
                let first = events(&run).into_iter().next()?;
                Some((run, Begin::at(first.time.0)))
            });
            found.is_some() || !matches!(child.try_wait(), Ok(None))
        });
        found.ok_or_else(|| "the run did not begin".to_owned())
    }

    fn ending(&self, run: &RunDirectory, begin: Time) -> Result<Ending, String> {
        let status = run.read_status().map_err(|error| error.to_string())?;
        let status = status.ok_or("there is no status")?;
        let memory = status.memory.ok_or("nothing was decided")?;
        let created: BTreeSet<String> = events(run)
            .into_iter()
            .filter_map(|event| match event.what {
                What::TaskStarted { life, .. } | What::TaskEnded { life, .. } => Some(life),
                _ => None,
            })
            .map(|life| format!("{}.{}.{}", life.task, life.epoch, life.attempt))
            .collect();
        Ok(Ending {
            creates: u32::try_from(created.len()).unwrap_or(u32::MAX),
            alive: status.end.map(|end| end.left_alive).unwrap_or_default(),
            ..Ending::of(&self.job, &memory, begin)
        })
    }

    fn story(&self) -> String {
        let said = fs::read_to_string(self.bench.path("said")).unwrap_or_default();
        let run = self.bench.newest(&self.job.name);
        let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        let events = run.map(|run| read(&run.events())).unwrap_or_default();
        format!("{said}\n{events}")
    }
}

/// When a run's clock began.
struct Begin {
    instant: Instant,
    second: Time,
}

impl Begin {
    fn at(millis: u64) -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("it is later than 1970");
        let ago = since.saturating_sub(Duration::from_millis(millis));
        Self {
            instant: Instant::now().checked_sub(ago).expect("it was just now"),
            second: Time(millis / 1000),
        }
    }

    /// Waits for that second of the run.
    fn wait_for(&self, second: u32, speed: u32) {
        let moment = self.instant + Duration::from_secs(second.into()) / speed;
        thread::sleep(moment.saturating_duration_since(Instant::now()));
    }
}

/// Orders until it is obeyed: what needs a running task waits for the next one.
fn insist(run: &RunDirectory, order: &Order, child: &mut Child) -> Result<(), String> {
    let mut obeyed = false;
    eventually("an order is obeyed", || {
        obeyed = matches!(control::send(run, order), Ok(OrderReply::Done));
        obeyed || !matches!(child.try_wait(), Ok(None))
    });
    if obeyed {
        Ok(())
    } else {
        Err(format!("the run ended before {order:?}"))
    }
}

fn wait(child: &mut Child) -> Result<(), String> {
    let until = Instant::now() + PATIENCE * 2;
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() > until {
            return Err("the run does not end".to_owned());
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// The one job of the manifest.
fn job(row: &Scenario) -> Job {
    let source = Source::from_bytes(row.file.as_str(), row.manifest.as_bytes()).expect("it is text");
    let reading = trainyard_dialect::read(&source);
    let mut jobs = reading.jobs();
    jobs.next().expect("the manifest holds a job").job.clone()
}
