//! Prints each step, how long it took, and how it ended.

use std::time::{Duration, Instant};

use crate::shell::Ended;

/// Printed for a step that could not be checked.
const NOT_CHECKED: &str = "NOT CHECKED";

/// How one step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It found nothing wrong.
    Passed,
    /// It found something wrong, or could not be run at all.
    Failed,
    /// It could not be checked, for this reason; it does not fail the report.
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

    /// Runs a step that may also be skipped.
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
            Outcome::Skipped(why) => {
                println!("[{}] {name}: {NOT_CHECKED}: {why}", clock(self.started.elapsed()));
            }
        }
        self.steps.push((name.to_owned(), outcome, took));
    }

    /// Finds a tool or installs it, which may take minutes. A missing tool fails the report, and the other steps still run.
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
        // A tool that was already installed needs no line.
        if outcome == Outcome::Failed || took > Duration::from_secs(5) {
            self.steps.push((name.to_owned(), outcome, took));
        }
        found.ok()
    }

    /// Prints the summary; whether nothing failed.
    pub fn finish(self) -> bool {
        println!("\n{}", self.summary());
        self.count(&Outcome::Failed) == 0
    }

    fn count(&self, wanted: &Outcome) -> usize {
        let outcomes = self.steps.iter().map(|(_, outcome, _)| outcome);
        outcomes.filter(|outcome| *outcome == wanted).count()
    }

    /// One line per step, then the result. What was not checked comes last, since the exit code does not show it and a
    /// line in the middle of a long log is easily missed.
    fn summary(&self) -> String {
        let widths = self.steps.iter().map(|(name, ..)| name.chars().count());
        let width = widths.max().unwrap_or(0);
        let mut lines = Vec::new();
        let mut unchecked = Vec::new();
        for (name, outcome, took) in &self.steps {
            let word = match outcome {
                Outcome::Passed => "ok",
                Outcome::Failed => "FAILED",
                Outcome::Skipped(why) => {
                    unchecked.push(format!("{NOT_CHECKED}: {name}: {why}"));
                    NOT_CHECKED
                }
            };
            lines.push(format!("  {name:width$}  {:>7}  {word}", clock(*took)));
        }
        let (all, took) = (self.steps.len(), clock(self.started.elapsed()));
        let verdict = match (self.count(&Outcome::Failed), self.count(&Outcome::Passed)) {
            (0, passed) if passed == all => format!("all {all} steps ok in {took}"),
            (0, passed) => format!(
                "{passed} of {all} steps ok in {took}, {} {NOT_CHECKED}",
                unchecked.len()
            ),
            (failed, _) => format!("{failed} of {all} steps FAILED in {took}"),
        };
        lines.push(format!("\n{verdict}"));
        lines.extend(unchecked);
        lines.join("\n")
    }
}

/// A duration in short form: `7.3s`, `2m05s`.
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
    fn a_step_that_could_not_look_fails_nothing_and_is_named_last() {
        let mut report = Report::new(false);
        report.step("format", || Ok(ended(true)));
        report.judged("advisories", || {
            (Outcome::Skipped("no network".to_owned()), String::new())
        });
        let summary = report.summary();
        let last: Vec<&str> = summary.lines().rev().take(2).collect();
        assert_eq!(last[0], "NOT CHECKED: advisories: no network", "{summary}");
        assert!(last[1].starts_with("1 of 2 steps ok in "), "{summary}");
        assert!(last[1].ends_with(", 1 NOT CHECKED"), "{summary}");
        assert!(report.finish());
    }

    #[test]
    fn what_was_not_checked_is_named_beside_a_failure_too() {
        let mut report = Report::new(false);
        report.step("clippy", || Ok(ended(false)));
        report.judged("advisories", || {
            (Outcome::Skipped("no network".to_owned()), String::new())
        });
        let summary = report.summary();
        assert!(summary.contains("1 of 2 steps FAILED in "), "{summary}");
        assert!(
            summary.ends_with("\nNOT CHECKED: advisories: no network"),
            "{summary}"
        );
        assert!(!report.finish());
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
