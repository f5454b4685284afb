//! What was typed to look at runs and to give them orders.

use clap::Args;
use trainyard_core::RoleName;
use trainyard_local::run::timestamp::Timestamp;

use super::Format;
use crate::simulate::faults;

const PS_EXAMPLES: &str = "\
Examples:
  trainyard ps                       the newest run of every job
  trainyard ps --all                 every run that is kept
  trainyard ps mnist                 the tasks of mnist's newest run
  trainyard ps mnist --all           every run of mnist
  trainyard ps -o json | jq -r '.runs[] | select(.state == \"running\") | .job'

A run is `running`, `suspended` or `stopping`, or it has `succeeded`, `failed`,
been `stopped`, or been `interrupted`: killed, or gone with the machine. ATTEMPT is
which start of the whole job, and which start of the task within it, both from
0, as in the name of the log.

Exit codes: 0 done, 1 something kept there cannot be read (the rest is shown), 2 wrong usage or no such job.";

const LOGS_EXAMPLES: &str = "\
Examples:
  trainyard logs mnist                           every task's newest life, in order of time
  trainyard logs mnist -f --tail 20              the last lines, and what comes
  trainyard logs mnist --task 'worker-*' --since 10m
  trainyard logs mnist --task worker-1 --previous    why was it started again?
  trainyard logs mnist --task chief-0 --raw > chief.log

A file or a pipe gets every byte that programs wrote; on a terminal their colours
pass, and nothing else that it would obey. TIME is like 90s, 10m, 1h30m ago, or like 2026-11-16T01:45:12Z.

Exit codes: 0 done, 1 a log cannot be read (the others are shown), 2 wrong usage, no such job, run or task.";

const STOP_EXAMPLES: &str = "\
Examples:
  trainyard stop mnist               ask the tasks to stop, and kill what is left when their grace is over
  trainyard stop mnist --now         kill them
  trainyard stop mnist cifar --timeout 30s

Exit codes: 0 stopped, or had ended before; 1 not stopped in time; 2 wrong usage or no such job.";

const RM_EXAMPLES: &str = "\
Examples:
  trainyard rm mnist                 every finished run of mnist
  trainyard rm mnist --keep 3        all but its newest three
  trainyard rm mnist --run 20261116-014512-345
  trainyard rm --all --keep 1        tidy up
  trainyard rm mnist --volumes       and the data of its claims, unless another run's job uses them

A run that goes on is never removed, and nothing outside of the state directory
($TRAINYARD_STATE, else ~/.local/state/trainyard).

Exit codes: 0 done; 1 a run that was named goes on, or something cannot be removed; 2 wrong usage or no such job or run.";

const DRAIN_EXAMPLES: &str = "\
Examples:
  trainyard drain mnist worker-1     as when its node is drained: asked to stop, nobody's failure, started again

Exit codes: 0 the run does it, 1 it does not or has ended, 2 wrong usage, no such job or task.";

const KILL_EXAMPLES: &str = "\
Examples:
  trainyard kill mnist worker-1      as when it crashes: killed with signal 9, and the job's rules decide

Exit codes: 0 the run does it, 1 it does not or has ended, 2 wrong usage, no such job or task.";

const SUSPEND_EXAMPLES: &str = "\
Examples:
  trainyard suspend mnist            stop every task, keep the run
  trainyard resume mnist             start them again

Exit codes: 0 the run does it, 1 it does not or has ended, 2 wrong usage or no such job.";

const SCALE_EXAMPLES: &str = "\
Examples:
  trainyard scale mnist worker=4     from now on four workers

Jobs with dynamic workers take them in as they run; others are started anew
where their rules say so.

Exit codes: 0 the run does it, 1 it does not or has ended, 2 wrong usage, no such job or role.";

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
    /// What to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
}

#[derive(Debug, Args)]
#[command(after_help = LOGS_EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Logs {
    /// Whose logs
    #[arg(value_name = "JOB")]
    pub job: String,
    /// Only these tasks: `worker-1`, `'worker-*'`
    #[arg(short, long, value_name = "GLOB")]
    pub task: Vec<String>,
    /// Only this container; `main` is the one that is the task
    #[arg(short, long, value_name = "NAME")]
    pub container: Option<String>,
    /// Of this run instead of the newest
    #[arg(long, value_name = "ID")]
    pub run: Option<String>,
    /// The life of each task before its newest
    #[arg(short, long, conflicts_with_all = ["all_lives", "follow"])]
    pub previous: bool,
    /// Every life of each task
    #[arg(long)]
    pub all_lives: bool,
    /// Go on with what is written and started from now on, until the run ends
    #[arg(short, long)]
    pub follow: bool,
    /// Only what was written since then
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub since: Option<Timestamp>,
    /// Only the last lines of each log
    #[arg(long, value_name = "LINES")]
    pub tail: Option<u64>,
    /// Begin each line with the time at which it was written
    #[arg(long)]
    pub timestamps: bool,
    /// No task's name before its lines
    #[arg(long)]
    pub no_prefix: bool,
    /// Nothing but the bytes that the programs wrote
    #[arg(long, conflicts_with = "timestamps")]
    pub raw: bool,
    /// What to print; with `json` one event a line, as of `trainyard run`
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT", conflicts_with_all = ["raw", "no_prefix", "timestamps"])]
    pub output: Format,
}

#[derive(Debug, Args)]
#[command(after_help = STOP_EXAMPLES)]
pub struct Stop {
    /// The jobs to stop
    #[arg(required = true, value_name = "JOB")]
    pub jobs: Vec<String>,
    /// Kill the tasks instead of asking them to stop
    #[arg(long)]
    pub now: bool,
    /// How long to wait for it; 0 does not wait
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = faults::duration)]
    pub timeout: u32,
}

#[derive(Debug, Args)]
#[command(after_help = RM_EXAMPLES)]
pub struct Rm {
    /// The jobs whose finished runs to remove
    #[arg(required_unless_present = "all", value_name = "JOB")]
    pub jobs: Vec<String>,
    /// Of every job
    #[arg(short, long, conflicts_with = "jobs")]
    pub all: bool,
    /// Only this run
    #[arg(long, value_name = "ID", conflicts_with_all = ["all", "keep"])]
    pub run: Vec<String>,
    /// Keep the newest runs of each job
    #[arg(long, value_name = "NUMBER", default_value_t = 0, hide_default_value = true)]
    pub keep: usize,
    /// Remove the volumes too that were kept for these jobs and that no other run names
    #[arg(long)]
    pub volumes: bool,
}

// A task of a run, for the commands that do something to it.
#[derive(Debug, Args)]
pub struct OneTask {
    /// The job
    #[arg(value_name = "JOB")]
    pub job: String,
    /// The task, as in `worker-1`
    #[arg(value_name = "TASK")]
    pub task: String,
}

#[derive(Debug, Args)]
#[command(after_help = DRAIN_EXAMPLES)]
pub struct Drain {
    #[command(flatten)]
    pub whom: OneTask,
}

#[derive(Debug, Args)]
#[command(after_help = KILL_EXAMPLES)]
pub struct Kill {
    #[command(flatten)]
    pub whom: OneTask,
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

/// `10m`, counted back from now, or a point in time.
fn since(text: &str) -> Result<Timestamp, String> {
    if let Ok(moment) = text.parse() {
        return Ok(moment);
    }
    let seconds = faults::duration(text).map_err(|_| {
        format!("`{text}` is no time: expected something like `10m`, `1h30m` or `2026-11-16T01:45:12Z`")
    })?;
    let Timestamp(now) = Timestamp::now();
    Ok(Timestamp(now.saturating_sub(u64::from(seconds) * 1000)))
}

/// `worker=4`.
fn replicas(text: &str) -> Result<(RoleName, u32), String> {
    let shape = || format!("`{text}`: expected ROLE=NUMBER, as in `worker=4`");
    let (role, number) = text.split_once('=').ok_or_else(shape)?;
    let number = number.parse().map_err(|_| shape())?;
    // Roles are spelt in small letters in the names of tasks, whatever the manifest does.
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
        assert!(since("yesterday").unwrap_err().contains("`yesterday` is no time"));
    }

    #[test]
    fn a_role_is_scaled_to_a_number() {
        assert_eq!(replicas("Worker=4").unwrap(), (RoleName::new("worker"), 4));
        for bad in ["worker", "worker=", "worker=-1", "worker=x"] {
            assert!(replicas(bad).is_err(), "{bad}");
        }
    }
}
