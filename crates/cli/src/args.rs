//! What was typed, and nothing else: no file is opened and nothing is decided here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

const EXAMPLES: &str = "\
Examples:
  trainyard check job.yaml                       what is wrong with it, and where
  trainyard plan job.yaml                        what it means: tasks, addresses, rules
  trainyard plan job.yaml --tf-config worker-0   what TF_CONFIG says there
  trainyard explain TY048                        what a problem code means

Exit codes: 0 done, 1 the manifest has problems or the job failed, 2 wrong usage or a file that cannot be used.";

const CHECK_EXAMPLES: &str = "\
Examples:
  trainyard check job.yaml
  trainyard check manifests/ --deny-warnings     every manifest in a folder, as a CI step
  kubectl get tfjob mnist -o yaml | trainyard check -
  trainyard check -o json job.yaml | jq '.files[].problems[] | select(.severity == \"error\")'

Exit codes: 0 no errors, 1 errors (with --deny-warnings: or warnings), 2 a file cannot be read.";

const PLAN_EXAMPLES: &str = "\
Examples:
  trainyard plan job.yaml
  trainyard plan job.yaml --svg job.svg          the same as a picture
  TF_CONFIG=$(trainyard plan job.yaml --tf-config worker-1) python train.py
  trainyard plan -o json job.yaml | jq '.jobs[].roles[].tasks[].address'

Exit codes: 0 done, 1 the file has errors (what could be read is shown), 2 wrong usage or a file that cannot be used.";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  trainyard explain TY020
  trainyard explain                              every code there is";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  trainyard completions bash > ~/.local/share/bash-completion/completions/trainyard
  trainyard completions zsh > ~/.zfunc/_trainyard
  trainyard completions fish > ~/.config/fish/completions/trainyard.fish";

/// Runs distributed TensorFlow training from one manifest, with or without a cluster.
///
/// Manifests are TFJob (kubeflow.org, all versions), TensorFlowTrainingJob (batch.tensorstack.dev) and Volcano's Job
/// (batch.volcano.sh), as YAML or JSON, read as kubectl reads them.
#[derive(Debug, Parser)]
#[command(name = "trainyard", version, after_help = EXAMPLES, max_term_width = 110)]
pub struct Arguments {
    /// When to use colour; `NO_COLOR` is honoured
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
    #[command(subcommand)]
    pub command: Command,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find what is wrong with manifests, all of it, with the place and a hint
    Check(Check),
    /// Show what a manifest means: tasks, addresses, what ends or restarts the job, in plain words
    Plan(Plan),
    /// Explain a problem code, or list them all
    Explain(Explain),
    /// Print a completion script for a shell
    Completions(Completions),
}

/// What a command prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Text,
    /// For programs; its form is stable, see docs/json.md
    Json,
}

#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub struct Check {
    /// Manifests, folders of them (`*.yaml`, `*.yml`, `*.json`), or `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// What to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
    /// Let warnings fail the check too
    #[arg(long)]
    pub deny_warnings: bool,
}

#[derive(Debug, Args)]
#[command(after_help = PLAN_EXAMPLES)]
pub struct Plan {
    /// The manifest, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Only the job of this name
    #[arg(long, value_name = "NAME")]
    pub job: Option<String>,
    /// Print only the exact `TF_CONFIG` of this task
    #[arg(long, value_name = "TASK", conflicts_with_all = ["output", "svg"])]
    pub tf_config: Option<String>,
    /// What to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
    /// Write a picture of the tasks to this file, or to standard output if it is `-`
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Draw with plain ASCII, as is done where the locale is not UTF-8
    #[arg(long)]
    pub ascii: bool,
}

#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub struct Explain {
    /// A code as it stands in a report: `TY020`
    #[arg(value_name = "CODE")]
    pub code: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub struct Completions {
    /// For which shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Arguments::command().debug_assert();
    }
}
