//! What a conversion loses, of one job: grouped by what it means for the training, the gravest first, one line each.

use std::fmt::Write as _;

use trainyard_core::ClusterForm;
use trainyard_dialect::ReadJob;
use trainyard_document::codes::Code;
use trainyard_document::problem::{Problem, Severity, escaped, shown};

use super::{count, severity_style};
use crate::failure::Failure;
use crate::locale;
use crate::printer::{Printer, QUIET, STRONG};
use crate::wrap::wrap;

/// What a loss means, the gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Meaning {
    /// The job cannot be written there at all.
    None,
    /// Tasks, their names or what their programs read are not the same.
    Trains,
    /// It ends or restarts in another way.
    Ends,
    /// It is placed or started in another way.
    Starts,
    /// Something beside the training.
    Beside,
}

impl Meaning {
    /// `alone` is whether the programs of the job find each other without `TF_CONFIG`, by what plugins give them.
    fn of(loss: &Problem, alone: bool) -> Self {
        match loss.code {
            Code::LostJob => Self::None,
            Code::LostRole | Code::LostName | Code::LostPort => Self::Trains,
            Code::LostField if alone && loss.place.path.starts_with("spec.plugins") => Self::Trains,
            Code::LostField if loss.place.path.starts_with("spec.volumes") => Self::Trains,
            Code::LostSuccess | Code::LostAnswer | Code::LostRule | Code::LostLimit => Self::Ends,
            Code::LostGang | Code::LostStartOrder => Self::Starts,
            _ => Self::Beside,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::None => "cannot be converted",
            Self::Trains => "will not train as before",
            Self::Ends => "ends or restarts in another way",
            Self::Starts => "is placed or started in another way",
            Self::Beside => "left out",
        }
    }
}

/// What one job loses.
#[derive(Debug)]
pub struct Losses {
    /// Its name.
    pub job: String,
    /// Its programs find each other without `TF_CONFIG`.
    pub alone: bool,
    pub all: Vec<Problem>,
}

impl Losses {
    /// What the job loses when it is converted.
    pub fn of(read: &ReadJob, losses: Vec<Problem>) -> Self {
        Self {
            job: read.job.name.to_string(),
            alone: read.job.cluster == ClusterForm::None,
            all: losses,
        }
    }
}

/// Prints what one job loses.
pub fn show_losses(lost: &Losses, printer: &mut Printer) -> Result<(), Failure> {
    match page(lost, locale::columns()) {
        Some(page) => printer.show(&page),
        None => Ok(()),
    }
}

fn page(
    Losses {
        job,
        alone,
        all: losses,
    }: &Losses,
    columns: usize,
) -> Option<String> {
    let meaning = |loss: &Problem| Meaning::of(loss, *alone);
    let severity = losses.iter().map(|loss| loss.severity).min()?;
    let style = severity_style(severity);
    let word = match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let differences = count(losses.len(), "difference");
    let source = escaped(&losses.first()?.place.source);
    let mut page = format!(
        "{style}{word}{style:#}: {STRONG}converting `{}` changes what it means: {differences}{STRONG:#} {QUIET}({source}){QUIET:#}\n",
        shown(job)
    );
    let mut sorted: Vec<&Problem> = losses.iter().collect();
    sorted.sort_by_key(|loss| meaning(loss));
    let mut group = None;
    for loss in sorted {
        let meaning = meaning(loss);
        // Writing to a String cannot fail.
        if group.replace(meaning) != Some(meaning) {
            let _ = writeln!(page, "  {STRONG}{}{STRONG:#}", meaning.title());
        }
        for (at, line) in wrap(&escaped(&told(loss)), columns.saturating_sub(6))
            .iter()
            .enumerate()
        {
            let lead = if at == 0 { "  - " } else { "    " };
            let _ = writeln!(page, "  {lead}{line}");
        }
    }
    let code = losses.iter().min_by_key(|loss| meaning(loss))?.code;
    let _ = writeln!(
        page,
        "  {STRONG}help{STRONG:#}: `trainyard explain {code}` explains a code"
    );
    Some(page)
}

/// `line 12, spec.plugins.svc: … [TY090]`.
fn told(loss: &Problem) -> String {
    let line = loss.place.span.map(|span| format!("line {}", span.line));
    let path = Some(loss.place.path.clone()).filter(|path| !path.is_empty());
    let place: Vec<String> = line.into_iter().chain(path).collect();
    let place = match place.as_slice() {
        [] => String::new(),
        place => format!("{}: ", place.join(", ")),
    };
    format!("{place}{} [{}]", loss.message, loss.code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trainyard_document::problem::Place;

    fn loss(code: Code, path: &str) -> Problem {
        let place = Place {
            source: "job.yaml".into(),
            document: 0,
            span: None,
            path: path.to_owned(),
        };
        Problem::new(code, place, format!("about {path}"))
    }

    #[test]
    fn what_changes_the_training_comes_first_and_each_loss_has_a_line() {
        let losses = vec![
            loss(Code::LostField, "spec.runningEstimate"),
            loss(Code::LostGang, "spec.minAvailable"),
            loss(Code::LostAnswer, "spec.policies"),
            loss(Code::LostField, "spec.plugins.svc"),
            loss(Code::LostRole, "spec.tasks[2]"),
        ];
        let lost = |alone, losses| Losses {
            job: "mnist".to_owned(),
            alone,
            all: losses,
        };
        let page = page(&lost(true, losses.clone()), 100).unwrap();
        let plain = anstream::adapter::strip_str(&page).to_string();
        let expected = "\
warning: converting `mnist` changes what it means: 5 differences (job.yaml)
  will not train as before
    - spec.plugins.svc: about spec.plugins.svc [TY090]
    - spec.tasks[2]: about spec.tasks[2] [TY081]
  ends or restarts in another way
    - spec.policies: about spec.policies [TY084]
  is placed or started in another way
    - spec.minAvailable: about spec.minAvailable [TY088]
  left out
    - spec.runningEstimate: about spec.runningEstimate [TY090]
  help: `trainyard explain TY090` explains a code
";
        assert_eq!(plain, expected);
        let with_tf_config = super::page(&lost(false, losses), 100).unwrap();
        let svc = with_tf_config.find("spec.plugins.svc").unwrap();
        assert!(svc > with_tf_config.find("left out").unwrap());
        assert_eq!(super::page(&lost(true, Vec::new()), 100), None);
    }
}
