//! Tells the developer what is being done, how long it took, and how it ended.

use std::time::{Duration, Instant};

use crate::shell::Ended;

/// How one step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It found nothing wrong.
    Passed,
    /// It found something wrong, or could not be run at all.
    Failed,
    /// It could not look, for the reason given; that alone fails nothing.
    Skipped(String),
}

/// The steps so far, each with its outcome and its time.
#[derive(Debug)]
pub struct Report {
    started: Instant,
    verbose: bool,
    steps: Vec<(String, Outcome, Duration)>,
}

impl Report {
    /// An empty report. With `verbose` the output of passing steps is shown too.
    pub fn new(verbose: bool) -> Self {
        Self {
            started: Instant::now(),
            verbose,
            steps: Vec::new(),
        }
    }

    /// Runs a step whose output matters only if it fails.
    pub fn step(&mut self, name: &str, run: impl FnOnce() -> Result<Ended, String>) {
        self.judged(name, || match run() {
            Ok(ended) if ended.success => (Outcome::Passed, ended.output),
            Ok(ended) => (Outcome::Failed, ended.output),
            Err(problem) => (Outcome::Failed, problem + "\n"),
        });
    }

    /// Runs a step that may also find that it cannot look.
    pub fn judged(&mut self, name: &str, run: impl FnOnce() -> (Outcome, String)) {
        println!("[{}] {name}", clock(self.started.elapsed()));
        let started = Instant::now();
        let (outcome, output) = run();
        let took = started.elapsed();
        if outcome == Outcome::Failed || self.verbose {
            print!("{output}");
        }
        match &outcome {
            Outcome::Passed => {}
            Outcome::Failed => println!("[{}] {name}: FAILED", clock(self.started.elapsed())),
            Outcome::Skipped(why) => println!("[{}] {name}: skipped: {why}", clock(self.started.elapsed())),
        }
        self.steps.push((name.to_owned(), outcome, took));
    }

    /// Finds a tool, or installs it, which may take minutes. Without it the checks go on as far as they can.
    pub fn tool<T>(&mut self, name: &str, find: impl FnOnce() -> Result<T, String>) -> Option<T> {
        let started = Instant::now();
        let found = find();
        let took = started.elapsed();
        let outcome = match &found {
            Ok(_) => Outcome::Passed,
            Err(problem) => {
                println!("[{}] {name}: FAILED: {problem}", clock(self.started.elapsed()));
                Outcome::Failed
            }
        };
        // A tool that was there is not worth a line.
        if outcome == Outcome::Failed || took > Duration::from_secs(5) {
            self.steps.push((name.to_owned(), outcome, took));
        }
        found.ok()
    }

    /// Prints the summary; whether nothing failed.
    pub fn finish(self) -> bool {
        let width = self
            .steps
            .iter()
            .map(|(name, ..)| name.chars().count())
            .max()
            .unwrap_or(0);
        println!();
        for (name, outcome, took) in &self.steps {
            let word = match outcome {
                Outcome::Passed => "ok".to_owned(),
                Outcome::Failed => "FAILED".to_owned(),
                Outcome::Skipped(why) => format!("skipped: {why}"),
            };
            println!("  {name:width$}  {:>7}  {word}", clock(*took));
        }
        let failed = self
            .steps
            .iter()
            .filter(|(_, outcome, _)| *outcome == Outcome::Failed)
            .count();
        let all = clock(self.started.elapsed());
        match failed {
            0 => println!("\nall {} steps ok in {all}", self.steps.len()),
            _ => println!("\n{failed} of {} steps FAILED in {all}", self.steps.len()),
        }
        failed == 0
    }
}

/// A duration as people read it: `7.3s`, `2m05s`.
fn clock(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds < 60 {
        format!("{}.{}s", seconds, duration.subsec_millis() / 100)
    } else {
        format!("{}m{:02}s", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(success: bool) -> Ended {
        Ended {
            success,
            output: String::new(),
        }
    }

    #[test]
    fn one_failing_step_fails_the_whole_and_the_rest_still_runs() {
        let mut report = Report::new(false);
        let mut ran = Vec::new();
        report.step("first", || Ok(ended(true)));
        report.step("second", || Ok(ended(false)));
        report.step("third", || {
            ran.push("third");
            Ok(ended(true))
        });
        assert_eq!(ran, ["third"]);
        assert!(!report.finish());
    }

    #[test]
    fn a_program_that_cannot_be_started_fails() {
        let mut report = Report::new(false);
        report.step("missing", || Err("cannot start".to_owned()));
        assert!(!report.finish());
    }

    #[test]
    fn a_missing_tool_fails_the_whole_and_one_that_is_there_is_not_mentioned() {
        let mut report = Report::new(false);
        assert_eq!(report.tool("there", || Ok(1)), Some(1));
        assert!(report.steps.is_empty());
        assert_eq!(
            report.tool::<u8>("missing", || Err("no network".to_owned())),
            None
        );
        assert!(!report.finish());
    }

    #[test]
    fn a_skipped_step_fails_nothing() {
        let mut report = Report::new(false);
        report.judged("advisories", || {
            (Outcome::Skipped("no network".to_owned()), String::new())
        });
        assert!(report.finish());
    }

    #[test]
    fn durations_read_well() {
        for (milliseconds, text) in [
            (0, "0.0s"),
            (7_349, "7.3s"),
            (59_999, "59.9s"),
            (125_000, "2m05s"),
        ] {
            assert_eq!(clock(Duration::from_millis(milliseconds)), text);
        }
    }
}
