//! Arguments of the commands for runs on this machine.

use clap::Args;
use trainyard_core::RoleName;
use trainyard_local::run::timestamp::Timestamp;

use super::Format;
use super::values::whole;
use crate::simulate::faults;

const PS_EXAMPLES: &str = "\
Examples:
  trainyard ps                       the newest run of every job
  trainyard ps --all                 every stored run
  trainyard ps mnist                 the tasks of mnist's newest run
  trainyard ps mnist --all           every run of mnist
  trainyard ps -o json | jq -r '.runs[] | select(.state == \"running\") | .job'

A run is `running`, `suspended`, `stopping`, `succeeded`, `failed`, `stopped`, or \
`interrupted`: killed, or the machine went down. ATTEMPT counts starts of the whole \
job and starts of the task within it, both from 0, as in the name of the log.

Exit codes: 0 done, 1 a stored run cannot be read (the others are shown), 2 wrong usage or no such job.";

const LOGS_EXAMPLES: &str = "\
Examples:
  trainyard logs mnist                           the newest attempt of every task, in order of time
  trainyard logs mnist -f --tail 20              the last lines, then new ones
  trainyard logs mnist --task 'worker-*' --since 10m
  trainyard logs mnist --task worker-1 --previous    why was it restarted?
  trainyard logs mnist --task chief-0 --raw > chief.log

Files and pipes get the exact bytes that programs wrote; on a terminal escape codes \
other than colours are escaped. TIME is an age like 90s, 10m, 1h30m, or like 2026-11-16T01:45:12Z.

Exit codes: 0 done, 1 a log cannot be read (the others are shown), 2 wrong usage, no such job, run or task.";

const STOP_EXAMPLES: &str = "\
Examples:
  trainyard stop mnist               terminate the tasks, and kill them after their grace period
  trainyard stop mnist --now         kill them at once
  trainyard stop mnist cifar --timeout 30s

Exit codes: 0 stopped or already ended, 1 not stopped in time, 2 wrong usage or no such job.";

const RM_EXAMPLES: &str = "\
Examples:
  trainyard rm mnist                 every finished run of mnist
  trainyard rm mnist --keep 3        all but its newest three
  trainyard rm mnist --run 20261116-014512-345
  trainyard rm --all --keep 1        keep only the newest run of every job
  trainyard rm mnist --volumes       also the data of its claims, unless another job uses them

Active runs are never removed, nor anything outside of the state directory \
($TRAINYARD_STATE, else ~/.local/state/trainyard).

Exit codes: 0 done, 1 a named run is active or a file cannot be removed, 2 wrong usage or no such job or run.";

pub const DRAIN_EXAMPLES: &str = "\
Examples:
  trainyard drain mnist worker-1     SIGTERM, then a restart that is not counted, as when its node is drained

Exit codes: 0 accepted, 1 rejected or the run has ended, 2 wrong usage or no such job or task.";

pub const KILL_EXAMPLES: &str = "\
Examples:
  trainyard kill mnist worker-1      SIGKILL, as in a crash; the job's rules decide what follows

Exit codes: 0 accepted, 1 rejected or the run has ended, 2 wrong usage or no such job or task.";

const SUSPEND_EXAMPLES: &str = "\
Examples:
  trainyard suspend mnist            stop every task, keep the run
  trainyard resume mnist             start them again

Exit codes: 0 accepted, 1 rejected or the run has ended, 2 wrong usage or no such job.";

const SCALE_EXAMPLES: &str = "\
Examples:
  trainyard scale mnist worker=4     run four workers

Jobs with dynamic workers continue to run; others restart if their rules say so.

Exit codes: 0 accepted, 1 rejected or the run has ended, 2 wrong usage or no such job or role.";

#[derive(Debug, Args)]
#[command(after_help = PS_EXAMPLES)]
pub struct Ps {
    /// Show the tasks of this job's newest run
    #[arg(value_name = "JOB")]
    pub job: Option<String>,
    /// Every run, not only the newest of each job
    #[arg(short, long, conflicts_with = "run")]
    pub all: bool,
    /// The tasks of this run of the job
    #[arg(long, value_name = "ID", requires = "job")]
    pub run: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
}

#[derive(Debug, Args)]
#[command(after_help = LOGS_EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Logs {
    /// The job
    #[arg(value_name = "JOB")]
    pub job: String,
    /// Only these tasks: `worker-1`, `'worker-*'`
    #[arg(short, long, value_name = "GLOB")]
    pub task: Vec<String>,
    /// Only this container; `main` is the main one
    #[arg(short, long, value_name = "NAME")]
    pub container: Option<String>,
    /// This run instead of the newest
    #[arg(long, value_name = "ID")]
    pub run: Option<String>,
    /// The attempt of each task before the newest
    #[arg(short, long, conflicts_with_all = ["all_attempts", "follow"])]
    pub previous: bool,
    /// Every attempt of each task
    #[arg(long, alias = "all-lives")]
    pub all_attempts: bool,
    /// Follow the output until the run ends
    #[arg(short, long)]
    pub follow: bool,
    /// Only lines written since then
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub since: Option<Timestamp>,
    /// Only the last lines of each log
    #[arg(long, value_name = "LINES", value_parser = whole::<u64>, allow_negative_numbers = true)]
    pub tail: Option<u64>,
    /// Print the time before each line
    #[arg(long)]
    pub timestamps: bool,
    /// Do not print the task before each line
    #[arg(long)]
    pub no_prefix: bool,
    /// Print only the bytes that the programs wrote
    #[arg(long, conflicts_with = "timestamps")]
    pub raw: bool,
    /// Output format; with `json` one event per line, as with `trainyard run`
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT", conflicts_with_all = ["raw", "no_prefix", "timestamps"])]
    pub output: Format,
}

#[derive(Debug, Args)]
#[command(after_help = STOP_EXAMPLES)]
pub struct Stop {
    /// The jobs to stop
    #[arg(required = true, value_name = "JOB")]
    pub jobs: Vec<String>,
    /// Kill the tasks at once
    #[arg(long)]
    pub now: bool,
    /// How long to wait; 0 does not wait
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = faults::duration)]
    pub timeout: u32,
}

#[derive(Debug, Args)]
#[command(after_help = RM_EXAMPLES)]
pub struct Rm {
    /// The jobs whose finished runs to remove
    #[arg(required_unless_present = "all", value_name = "JOB")]
    pub jobs: Vec<String>,
    /// All jobs
    #[arg(short, long, conflicts_with = "jobs")]
    pub all: bool,
    /// Only this run
    #[arg(long, value_name = "ID", conflicts_with_all = ["all", "keep"])]
    pub run: Vec<String>,
    /// Keep the newest runs of each job
    #[arg(long, value_name = "NUMBER", default_value_t = 0, hide_default_value = true, value_parser = whole::<usize>, allow_negative_numbers = true)]
    pub keep: usize,
    /// Also remove the volumes of these jobs that no other run uses
    #[arg(long)]
    pub volumes: bool,
}

// A task of a run.
#[derive(Debug, Args)]
pub struct OneTask {
    /// The job
    #[arg(value_name = "JOB")]
    pub job: String,
    /// The task, such as `worker-1`
    #[arg(value_name = "TASK")]
    pub task: String,
}

#[derive(Debug, Args)]
#[command(after_help = SUSPEND_EXAMPLES)]
pub struct OneJob {
    /// The job
    #[arg(value_name = "JOB")]
    pub job: String,
}

#[derive(Debug, Args)]
#[command(after_help = SCALE_EXAMPLES)]
pub struct Scale {
    /// The job
    #[arg(value_name = "JOB")]
    pub job: String,
    /// The role and its new number of tasks
    #[arg(value_name = "ROLE=NUMBER", value_parser = replicas)]
    pub replicas: (RoleName, u32),
}

/// An age such as `10m`, or a point in time.
fn since(text: &str) -> Result<Timestamp, String> {
    if let Ok(moment) = text.parse() {
        return Ok(moment);
    }
    let seconds = faults::duration(text).map_err(|_| {
        format!("`{text}` is not a time: expected something like `10m`, `1h30m` or `2026-11-16T01:45:12Z`")
    })?;
    let Timestamp(now) = Timestamp::now();
    Ok(Timestamp(now.saturating_sub(u64::from(seconds) * 1000)))
}

/// `worker=4`.
fn replicas(text: &str) -> Result<(RoleName, u32), String> {
    let shape = || format!("`{text}`: expected ROLE=NUMBER, as in `worker=4`");
    let (role, number) = text.split_once('=').ok_or_else(shape)?;
    let number = number.parse().map_err(|_| shape())?;
    // Names of tasks have the role in lower case, however the manifest spells it.
    Ok((RoleName::new(&role.to_ascii_lowercase()), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_moment_or_how_long_ago() {
        assert_eq!(since("1970-01-01T00:00:01Z").unwrap(), Timestamp(1000));
        let ago = since("1h").unwrap();
        let passed = Timestamp::now().since(ago).as_secs();
        assert!((3600..3700).contains(&passed), "{passed}");
        assert!(
            since("yesterday")
                .unwrap_err()
                .contains("`yesterday` is not a time")
        );
    }

    #[test]
    fn a_role_is_scaled_to_a_number() {
        assert_eq!(replicas("Worker=4").unwrap(), (RoleName::new("worker"), 4));
        for bad in ["worker", "worker=", "worker=-1", "worker=x"] {
            assert!(replicas(bad).is_err(), "{bad}");
        }
    }
}
