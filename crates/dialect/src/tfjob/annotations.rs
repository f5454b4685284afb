//! Our own annotations on a `TFJob`: wishes that Kubeflow's fields have no place for.
//!
//! Those that also are fields of `runPolicy` exist so that a manifest can say them to a Kubeflow CRD, which drops
//! fields it does not know.

use trainyard_core::{Addresses, GangChoice, GangScheduler, How};
use trainyard_document::codes::Code;
use trainyard_document::fields::Field;
use trainyard_document::names::wrong_label;
use trainyard_document::problem::shown;

use crate::compile;
use crate::manifest::{Metadata, OUR_PREFIX};
use crate::tensorboard;

const ADDRESSES: &str = "trainyard.dev/addresses";
const EVALUATOR_IN_CLUSTER: &str = "trainyard.dev/evaluator-in-cluster";
pub(crate) const RETRYABLE_EXIT_CODES: &str = "trainyard.dev/retryable-exit-codes";
pub(crate) const RESTART_SCOPE: &str = "trainyard.dev/restart-scope";
pub(crate) const START_TIMEOUT: &str = "trainyard.dev/start-timeout-seconds";
pub(crate) const START_ORDER: &str = "trainyard.dev/start-order";
pub(crate) const GANG: &str = "trainyard.dev/gang";

/// All of them; another one with our prefix is a slip.
const KNOWN: &[&str] = &[
    ADDRESSES,
    EVALUATOR_IN_CLUSTER,
    RETRYABLE_EXIT_CODES,
    RESTART_SCOPE,
    START_TIMEOUT,
    START_ORDER,
    GANG,
    tensorboard::ANNOTATION,
];

/// What the annotations ask for.
pub(crate) struct Wishes<'a> {
    pub addresses: Option<Addresses>,
    pub evaluator_in_cluster: bool,
    /// Codes after which `ExitCode` starts a task again.
    pub retryable: Vec<How>,
    /// `restartScope` in words, read where the field is.
    pub restart_scope: Option<Field<'a>>,
    pub start_timeout: Option<Field<'a>>,
    pub start_order: Option<Field<'a>>,
    /// The gang scheduler that it names, or that there is to be none.
    pub gang: Option<GangChoice>,
    /// The settings of a TensorBoard, as text.
    pub tensorboard: Option<Field<'a>>,
}

impl<'a> Wishes<'a> {
    pub(crate) fn read(metadata: &Metadata<'a>) -> Self {
        debug_assert!(KNOWN.iter().all(|key| key.starts_with(OUR_PREFIX)));
        metadata.check_our_annotations(KNOWN);
        let addresses = metadata.annotation(ADDRESSES).and_then(|field| {
            field.choice(&[
                ("per-job", Addresses::PerJob),
                ("per-replica", Addresses::PerReplica),
            ])
        });
        let inside = metadata
            .annotation(EVALUATOR_IN_CLUSTER)
            .and_then(|field| field.choice(&[("true", true), ("false", false)]));
        let retryable = metadata.annotation(RETRYABLE_EXIT_CODES).and_then(codes);
        let place = |key| metadata.annotation(key).cloned();
        Self {
            addresses,
            evaluator_in_cluster: inside.unwrap_or(false),
            retryable: retryable.unwrap_or_else(|| compile::RETRYABLE.to_vec()),
            restart_scope: place(RESTART_SCOPE),
            start_timeout: place(START_TIMEOUT),
            start_order: place(START_ORDER),
            gang: metadata.annotation(GANG).and_then(scheduler),
            tensorboard: place(tensorboard::ANNOTATION),
        }
    }
}

/// `none`, or the name of a gang scheduler.
pub(crate) fn scheduler(field: &Field<'_>) -> Option<GangChoice> {
    let name = field.text()?;
    if &**name == "none" {
        return Some(GangChoice::None);
    }
    if wrong_label(name).is_some() {
        let message = format!("`{}` is not the name of a scheduler", shown(name));
        let problem = field.problem(Code::BadFormat, message).found(name);
        let allowed = "`none`, `volcano`, or the name of another scheduler, of a-z, 0-9 and `-`";
        field.problems.report(problem.allowed(allowed));
        return None;
    }
    Some(GangChoice::Named(GangScheduler::chosen(name)))
}

/// `130,137,138,143` or `42,128-255`; codes from 1 to 255.
fn codes(field: &Field<'_>) -> Option<Vec<How>> {
    let text = field.text()?;
    let number = |text: &str| {
        text.trim()
            .parse::<i32>()
            .ok()
            .filter(|code| (1..=255).contains(code))
    };
    let range = |part: &str| match part.split_once('-') {
        None => number(part).map(|code| How::Codes(code, code)),
        Some((low, high)) => {
            let (low, high) = (number(low)?, number(high)?);
            (low <= high).then_some(How::Codes(low, high))
        }
    };
    let codes: Option<Vec<How>> = text.split(',').map(range).collect();
    if codes.is_none() {
        let message = format!("`{}` is not a list of exit codes", shown(text));
        let problem = field.problem(Code::BadFormat, message).found(text);
        field.tell(
            problem
                .allowed("exit codes and ranges from 1 to 255, separated by commas")
                .hint("write it as in `130,137,138,143` or `42,128-255`"),
        );
    }
    codes
}
