//! Fields that mean something to their own system and nothing to the job: compared, they would not be missed.

use trainyard_document::codes::Code;
use trainyard_document::fields::Field;
use trainyard_document::problem::{FieldPath, Problem, Problems};

use super::outline::Outline;
use crate::dialect::Dialect;

/// A field, and what it does that nothing there does.
type Row = (&'static [&'static str], &'static str);

const TFJOB: &[Row] = &[
    (&["runPolicy", "managedBy"], "who runs the job"),
    (
        &["runPolicy", "schedulingPolicy", "minResources"],
        "what the group asks for, where it is not the sum of its tasks",
    ),
];

const T9K: &[Row] = &[(&["runMode", "debug"], "the debug mode")];

const VOLCANO: &[Row] = &[
    (
        &["plugins", "env"],
        "`VC_TASK_INDEX` and `VK_TASK_INDEX` in every task",
    ),
    (
        &["plugins", "svc"],
        "the names of all tasks under `/etc/volcano` and in `VC_*_HOSTS`",
    ),
    (&["volumes"], "volumes for all tasks"),
    (&["networkTopology"], "where in the network the tasks are placed"),
    (&["runningEstimate"], "how long the job is expected to run"),
];

/// Tells what of the source has no counterpart.
pub(super) fn tell(outline: &Outline<'_>, to: Dialect, problems: &Problems) {
    let rows = match outline.read.dialect {
        from if from == to => return,
        Dialect::TfJob => TFJOB,
        Dialect::TensorFlowTrainingJob => T9K,
        Dialect::Volcano => VOLCANO,
    };
    for (names, what) in rows {
        let root = Field::root(&outline.read.node, FieldPath::root(), problems);
        let mut steps = ["spec"].iter().chain(*names);
        let Some(field) = steps.try_fold(root, |field, name| field.get(name)) else {
            continue;
        };
        let place = problems.place(Some(field.node.span), &field.path);
        let message = format!("{what}: the target has no equivalent; omitted");
        problems.report(Problem::new(Code::LostField, place, message));
    }
}
