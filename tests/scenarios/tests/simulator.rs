//! Every row that the simulator can play, read by its dialect and played with the shipped `step`.

use std::collections::BTreeMap;

use trainyard_core::sim::{self, Happened, Options, ProgramEnd, Script};
use trainyard_core::{Job, Ordered, Outcome, RoleKind, Stamp, TaskId, Time};
use trainyard_document::Source;
use trainyard_scenarios::{Ending, Fault, Order, Scenario, World, all};

/// When the simulated runs begin.
const BEGIN: Time = Time(1_000_000);

#[test]
fn every_row_ends_as_expected() {
    let rows = all().unwrap();
    let rows: Vec<_> = rows
        .iter()
        .filter(|row| row.worlds.contains(&World::Simulator))
        .collect();
    assert!(rows.len() >= 15, "the table has {} rows", rows.len());
    let report = |row: &&Scenario| {
        let wrong = wrong_in(row);
        (!wrong.is_empty()).then(|| format!("{} ({})\n  {}\n", row.name, row.file, wrong.join("\n  ")))
    };
    let reports: Vec<String> = rows.iter().filter_map(report).collect();
    assert!(reports.is_empty(), "\n{}", reports.join("\n"));
}

#[cfg(test)]
fn wrong_in(row: &Scenario) -> Vec<String> {
    let job = match job(row) {
        Ok(job) => job,
        Err(problems) => return problems,
    };
    let options = options(row);
    let script = Script::of(row.faults.iter().map(simulated));
    let played = sim::play(&job, &script, &options);
    let memory = played.memory.as_ref().expect("the job was looked at");
    let ending = Ending {
        creates: played.creates,
        alive: played.alive(),
        deleted: played.rest == sim::Rest::Deleted,
        ..Ending::of(&job, memory, BEGIN)
    };
    let mut wrong = ending.differences(&row.expect, 0);
    wrong.extend(
        played
            .unused
            .iter()
            .map(|fault| format!("never came about: {fault:?}")),
    );
    wrong.extend(mixed_epochs(&played.trace));
    let broken_off = played.rest == sim::Rest::BrokenOff;
    if broken_off != row.watch.is_some() || played.rest == sim::Rest::Circles {
        wrong.push(format!("the run ended because: {:?}", played.rest));
    }
    if !wrong.is_empty() {
        wrong.push(format!("what happened:\n{:#?}", played.trace.entries));
    }
    wrong
}

/// The one job of the manifest.
#[cfg(test)]
fn job(row: &Scenario) -> Result<Job, Vec<String>> {
    let source = Source::from_bytes(row.file.as_str(), row.manifest.as_bytes()).unwrap();
    let reading = trainyard_dialect::read(&source);
    if reading.has_errors() {
        return Err(reading
            .problems
            .iter()
            .map(|problem| format!("{problem:?}"))
            .collect());
    }
    let jobs: Vec<_> = reading.jobs().collect();
    let [read] = jobs[..] else {
        return Err(vec![format!("expected one job, found {}", jobs.len())]);
    };
    let mut job = read.job.clone();
    job.uid = "scenario".into();
    Ok(job)
}

/// Programs run until they are stopped, unless a fault says otherwise, and start at once.
#[cfg(test)]
fn options(row: &Scenario) -> Options {
    Options {
        begin: BEGIN,
        run_for: row.watch.unwrap_or(86_400),
        start: 0,
        endless: vec![
            RoleKind::Chief,
            RoleKind::Master,
            RoleKind::Worker,
            RoleKind::Ps,
            RoleKind::Evaluator,
            RoleKind::Other,
        ],
        ..Options::default()
    }
}

/// A fault in the simulator's words.
#[cfg(test)]
fn simulated(fault: &Fault) -> sim::Fault {
    let ends = |task: &TaskId, life: u32, after: u32, end: ProgramEnd| sim::Fault::Ends {
        task: task.clone(),
        life,
        after,
        end,
    };
    match fault.clone() {
        Fault::Exit {
            task,
            life,
            after,
            code,
        } => ends(&task, life, after, ProgramEnd::Code(code)),
        Fault::OutOfMemory { task, life, after } => ends(&task, life, after, ProgramEnd::OutOfMemory),
        Fault::MissingProgram { task, life } => ends(&task, life, 0, ProgramEnd::NotStarted),
        Fault::InitExit { task, life, code } => ends(&task, life, 0, ProgramEnd::Init(code)),
        Fault::Reject { task, life } => ends(&task, life, 0, ProgramEnd::Rejected),
        Fault::Evict { task, at } => sim::Fault::EndsAt {
            task,
            at,
            end: ProgramEnd::Evicted,
        },
        Fault::Drain { task, at, code } => sim::Fault::Drained { task, at, code },
        Fault::Vanish { task, at } => sim::Fault::Vanishes { task, at },
        Fault::RemoveObject { task, at } => sim::Fault::Collected { task, at },
        Fault::IgnoreTerm { task, seconds } => sim::Fault::IgnoresTerm { task, seconds },
        Fault::StartLate { task, life, by } => sim::Fault::StartsLate { task, life, by },
        Fault::Linger { task } => sim::Fault::Lingers { task },
        Fault::LoseNode { task, at, back_after } => sim::Fault::NodeLost { task, at, back_after },
        Fault::Suspend { at } => sim::Fault::Suspend { at },
        Fault::Resume { at } => sim::Fault::Resume { at },
        Fault::Replicas { role, at, count } => sim::Fault::Replicas { role, at, count },
        Fault::Order { at, what } => sim::Fault::Ordered {
            at,
            what: ordered(what),
        },
        Fault::BreakGang { at } => sim::Fault::GangBreaks { at },
    }
}

#[cfg(test)]
fn ordered(what: Order) -> Ordered {
    match what {
        Order::Restart => Ordered::RestartJob { paid: true },
        Order::Abort => Ordered::Abort,
        Order::Resume => Ordered::Resume { paid: true },
        Order::Terminate => Ordered::Finish(Outcome::Terminated),
        Order::Complete => Ordered::Finish(Outcome::Succeeded),
    }
}

/// Instances that were created while something of an older epoch lived.
#[cfg(test)]
fn mixed_epochs(trace: &sim::Trace) -> Vec<String> {
    let mut alive: BTreeMap<TaskId, Stamp> = BTreeMap::new();
    let mut wrong = Vec::new();
    for entry in &trace.entries {
        match &entry.what {
            Happened::Created { task, stamp } => {
                for (older, _) in alive.iter().filter(|(_, lives)| lives.epoch < stamp.epoch) {
                    wrong.push(format!(
                        "{task} was created while {older} of an older epoch lived"
                    ));
                }
                alive.insert(task.clone(), *stamp);
            }
            Happened::Ended { task, .. } | Happened::Gone { task, .. } => {
                alive.remove(task);
            }
            _ => {}
        }
    }
    wrong
}
