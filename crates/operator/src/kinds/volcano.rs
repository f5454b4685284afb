//! Volcano's `Job`: one phase, the history of phases as conditions, and `Command`s as orders.

use std::sync::Arc;

use serde_json::{Value, json};
use trainyard_core::{Memory, Ordered, Time};
use trainyard_manifest::kinds::volcano::{API, COMMAND_GROUP};
use trainyard_status::{
    MEMORY_FIELD, VolcanoPhase as Phase, rfc3339, volcano_memory, volcano_order, volcano_status,
};

use super::{Kind, Stage};
use crate::job::{JobWire, Reading};
use crate::order::{OrderApi, OrderText};
use crate::reconcile::events::{Change, Milestone, Severity, Topic};

/// The kind.
pub static KIND: Kind = Kind {
    api: &API,
    framework: "tensorflow",
    manifest,
    status: |of| volcano_status(of.previous, of.job, of.step, of.observed, of.now),
    counts: &[
        "pending",
        "running",
        "succeeded",
        "failed",
        "terminating",
        "taskStatusCount",
    ],
    memory: volcano_memory,
    taken_over: None,
    waiting: |now| json!({ "state": { "phase": Phase::Pending.word(), "lastTransitionTime": rfc3339(now) } }),
    invalid,
    invalid_edit: "InvalidSpec",
    definition_too_old: "DefinitionTooOld",
    stage,
    changes,
    orders: Some(&COMMANDS),
};

/// `Command`s. Their fields lie beside `metadata`.
static COMMANDS: OrderApi = OrderApi {
    group: COMMAND_GROUP,
    version: "v1alpha1",
    api_version: "bus.volcano.sh/v1alpha1",
    kind: "Command",
    plural: "commands",
    read: command,
    meaning,
};

#[expect(
    clippy::unnecessary_wraps,
    reason = "jobs of other kinds may belong to another controller"
)]
fn manifest(wire: &JobWire, _: Option<&Memory>, _: &Reading) -> Option<Value> {
    Some(super::as_written(&API, wire))
}

/// The longest name of a job and the longest action that are kept: no job and no order has a longer one, and a Command may be a
/// megabyte.
const LONGEST: usize = 63;

/// What a Command says. One for another kind, as for Kubernetes' own Jobs or for queues, is no order, and neither is one for a name or a
/// UID that no job can have.
fn command(object: &Value) -> Option<OrderText> {
    let target = &object["target"];
    let group = target["apiVersion"].as_str()?.split('/').next();
    let text = |field: &str| target[field].as_str().filter(|text| !text.is_empty());
    (group == Some(API.group) && target["kind"] == API.kind).then_some(())?;
    let is_short = |text: &&str| text.len() <= LONGEST;
    let uid = text("uid");
    uid.is_none_or(|uid| is_short(&uid)).then_some(())?;
    let action = object["action"].as_str().filter(is_short);
    Some(OrderText {
        job: text("name").filter(is_short)?.into(),
        job_uid: uid.map(Arc::from),
        action: action.unwrap_or_default().into(),
    })
}

fn meaning(action: &str, status: Option<&Value>) -> Ordered {
    volcano_order(action, phase(status)).unwrap_or(Ordered::Nothing)
}

fn phase(status: Option<&Value>) -> Option<Phase> {
    Phase::find(status?.pointer("/state/phase")?.as_str()?)
}

fn stage(status: Option<&Value>) -> Stage {
    match phase(status) {
        Some(
            Phase::Completing | Phase::Completed | Phase::Terminating | Phase::Terminated | Phase::Failed,
        ) => Stage::Ended,
        Some(Phase::Running | Phase::Restarting | Phase::Aborting | Phase::Aborted) => Stage::Begun,
        // Too few of its pods run, at first or again.
        Some(Phase::Pending) | None => {
            let ran = super::conditions(status).any(|one| one["status"] == Phase::Running.word());
            if ran { Stage::Begun } else { Stage::New }
        }
    }
}

fn invalid(before: Option<&Value>, words: &str, now: Time) -> Option<Value> {
    let runs = before.is_some_and(|status| status.get(MEMORY_FIELD).is_some());
    if runs || stage(before) == Stage::Ended {
        return None;
    }
    let (now, failed) = (rfc3339(now), Phase::Failed.word());
    Some(json!({
        "state": {
            "phase": failed, "reason": KIND.invalid_edit, "lastTransitionTime": now,
            "message": format!("The spec is invalid: {words}"),
        },
        "conditions": [{ "status": failed, "lastTransitionTime": now }],
    }))
}

/// Phases that were entered since.
fn changes(before: Option<&Value>, after: &Value) -> Vec<Change> {
    let is_new = |condition: &&Value| !super::conditions(before).any(|known| known == *condition);
    let entered = super::conditions(Some(after)).filter(is_new);
    entered.filter_map(|condition| change(condition, after)).collect()
}

fn change(condition: &Value, status: &Value) -> Option<Change> {
    let phase = Phase::find(condition["status"].as_str()?)?;
    let (milestone, severity, words) = match phase {
        Phase::Pending => (Some(Milestone::Created), None, "waits for its pods to run"),
        Phase::Running => (Some(Milestone::Running), None, "runs"),
        Phase::Restarting => (
            Some(Milestone::Restarted),
            Some(Severity::Warning),
            "is restarted",
        ),
        Phase::Aborting => (None, None, "is aborted"),
        Phase::Aborted => (None, Some(Severity::Normal), "is aborted and waits for ResumeJob"),
        Phase::Completing => (None, None, "has completed; what still runs is stopped"),
        Phase::Completed => (
            Some(Milestone::Succeeded),
            Some(Severity::Normal),
            "has completed",
        ),
        Phase::Terminating => (None, None, "is terminated; what still runs is stopped"),
        Phase::Terminated => (Some(Milestone::Failed), Some(Severity::Warning), "was terminated"),
        Phase::Failed => (Some(Milestone::Failed), Some(Severity::Warning), "has failed"),
    };
    let why = status.pointer("/state/message").and_then(Value::as_str);
    let message = match why {
        Some(why) => format!("The job {words}. {why}"),
        None => format!("The job {words}."),
    };
    Some(Change {
        topic: Topic::Condition,
        milestone,
        severity,
        reason: phase.word().to_owned(),
        message,
        time: condition["lastTransitionTime"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_for_a_job_of_this_group() {
        let command_for = |target: Value| command(&json!({ "action": "AbortJob", "target": target }));
        let ours = |uid: Option<&str>| {
            Some(OrderText {
                job: "j".into(),
                job_uid: uid.map(Into::into),
                action: "AbortJob".into(),
            })
        };
        let rows = [
            (
                json!({ "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j", "uid": "u" }),
                ours(Some("u")),
            ),
            (
                json!({ "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j" }),
                ours(None),
            ),
            (
                json!({ "apiVersion": "batch/v1", "kind": "Job", "name": "j" }),
                None,
            ),
            (
                json!({ "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": "j" }),
                None,
            ),
            (
                json!({ "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job" }),
                None,
            ),
            (
                json!({ "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j".repeat(64) }),
                None,
            ),
            (
                json!({ "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j", "uid": "u".repeat(64) }),
                None,
            ),
            (json!(3), None),
        ];
        for (target, expected) in rows {
            assert_eq!(command_for(target.clone()), expected, "{target}");
        }
    }

    #[test]
    fn every_phase_has_a_stage_and_an_unreadable_spec_ends_a_new_job_alone() {
        let status = |phase: &str, history: &[&str]| {
            let history: Vec<Value> = history.iter().map(|word| json!({ "status": word })).collect();
            json!({ "state": { "phase": phase }, "conditions": history })
        };
        let rows = [
            (None, Stage::New),
            (Some(status("Pending", &["Pending"])), Stage::New),
            (Some(status("Pending", &["Running", "Pending"])), Stage::Begun),
            (Some(status("Running", &[])), Stage::Begun),
            (Some(status("Aborted", &[])), Stage::Begun),
            (Some(status("Completing", &[])), Stage::Ended),
            (Some(status("Failed", &[])), Stage::Ended),
            (Some(status("Terminated", &[])), Stage::Ended),
            (Some(status("Whatever", &[])), Stage::New),
        ];
        for (status, expected) in rows {
            assert_eq!(stage(status.as_ref()), expected, "{status:?}");
            let invalid = invalid(status.as_ref(), "no", Time(0));
            assert_eq!(invalid.is_none(), expected == Stage::Ended, "{status:?}");
        }
        let begun = json!({ "trainyard": {} });
        assert_eq!(invalid(Some(&begun), "no", Time(0)), None);
    }

    #[test]
    fn a_change_is_told_for_each_phase_that_was_entered() {
        let status = |history: &[(&str, &str)]| {
            let history: Vec<Value> = history
                .iter()
                .map(|(word, time)| json!({ "status": word, "lastTransitionTime": time }))
                .collect();
            json!({ "conditions": history, "state": { "message": "Why." } })
        };
        let before = status(&[("Pending", "1"), ("Running", "2")]);
        let after = status(&[("Running", "2"), ("Restarting", "3"), ("Pending", "4")]);
        let told: Vec<(String, String)> = changes(Some(&before), &after)
            .into_iter()
            .map(|change| (change.reason, change.message))
            .collect();
        assert_eq!(
            told,
            [
                ("Restarting".into(), "The job is restarted. Why.".to_owned()),
                (
                    "Pending".into(),
                    "The job waits for its pods to run. Why.".to_owned()
                ),
            ]
        );
        assert_eq!(changes(Some(&after), &after), []);
    }
}
