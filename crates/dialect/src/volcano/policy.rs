//! Lifecycle policies as the manifest has them: what happened, and what is to follow.
//!
//! Words are checked here, as Volcano's webhook checks them; what they mean is said in `rules`.

use std::sync::Arc;

use trainyard_document::codes::Code;
use trainyard_document::fields::{Field, Fields};
use trainyard_document::problem::{Span, quoted, shown};

use super::duration;

/// One entry of `policies`.
#[derive(Clone, Debug)]
pub(super) struct Policy<'a> {
    /// What it waits for. Never empty.
    pub triggers: Vec<Trigger>,
    /// What follows.
    pub action: Action,
    /// Seconds to wait before it follows.
    pub timeout: Option<u32>,
    /// Its place in the object: `spec.tasks[1].policies[0]`.
    pub from: Arc<str>,
    /// Where it stands.
    pub place: Field<'a>,
}

impl Policy<'_> {
    /// Whether it waits for that event.
    pub fn waits_for(&self, event: Event) -> bool {
        let meant = |trigger: &Trigger| match trigger {
            Trigger::Event(Event::Any) => true,
            Trigger::Event(named) => *named == event,
            Trigger::ExitCode(_) => false,
        };
        self.triggers.iter().any(meant)
    }

    /// The exit code it waits for, if it is that sort of policy.
    pub fn exit_code(&self) -> Option<i32> {
        self.triggers.iter().find_map(|trigger| match trigger {
            Trigger::ExitCode(code) => Some(*code),
            Trigger::Event(_) => None,
        })
    }
}

/// What a policy waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trigger {
    /// Something happened.
    Event(Event),
    /// A pod failed, and its first container with this code.
    ExitCode(i32),
}

/// The events a policy may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// `*`.
    Any,
    /// A pod's phase turned `Failed`.
    PodFailed,
    /// A pod was deleted, by whomever.
    PodEvicted,
    /// A pod is `Pending`.
    PodPending,
    /// The scheduler has lost part of the group.
    Unknown,
    /// All pods of a task have succeeded.
    TaskCompleted,
    /// The containers of a task have been restarted in place too often.
    TaskFailed,
    /// Accepted by Volcano, never raised.
    JobUpdated,
}

/// The actions a policy may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Stop everything, wait for an order.
    Abort,
    /// Start everything again.
    RestartJob,
    /// Start the pods of the task again.
    RestartTask,
    /// Start the pod again.
    RestartPod,
    /// End the job, neither well nor badly.
    Terminate,
    /// End the job well.
    Complete,
    /// Go on after an abort; in a running job, nothing.
    Resume,
}

const EVENTS: &[(&str, Event)] = &[
    ("PodFailed", Event::PodFailed),
    ("PodEvicted", Event::PodEvicted),
    ("PodPending", Event::PodPending),
    ("TaskCompleted", Event::TaskCompleted),
    ("TaskFailed", Event::TaskFailed),
    ("Unknown", Event::Unknown),
    ("JobUpdated", Event::JobUpdated),
    ("*", Event::Any),
];

/// Events that only Volcano's controller itself may raise.
const INTERNAL_EVENTS: &[&str] = &["OutOfSync", "CommandIssued", "PodRunning"];

const ACTIONS: &[(&str, Action)] = &[
    ("AbortJob", Action::Abort),
    ("RestartJob", Action::RestartJob),
    ("RestartTask", Action::RestartTask),
    ("RestartPod", Action::RestartPod),
    ("TerminateJob", Action::Terminate),
    ("CompleteJob", Action::Complete),
    ("ResumeJob", Action::Resume),
];

const INTERNAL_ACTIONS: &[&str] = &["SyncJob", "EnqueueJob", "SyncQueue", "OpenQueue", "CloseQueue"];

/// Reads `policies` of a job, or of the task at this position. Whose they are decides which events can come at all.
pub(super) fn read<'a>(fields: &mut Fields<'a>, task: Option<usize>) -> Vec<Policy<'a>> {
    let mut seen = Seen::default();
    let place = task.map_or_else(|| "spec".to_owned(), |task| format!("spec.tasks[{task}]"));
    let policies = fields.list("policies");
    let read = |(position, field): (usize, &Field<'a>)| {
        let policy = one(field, task.is_some(), &mut seen)?;
        let from = format!("{place}.policies[{position}]").into();
        Some(Policy { from, ..policy })
    };
    policies.iter().enumerate().filter_map(read).collect()
}

/// Events and codes that earlier policies of the same list wait for, with their places.
#[derive(Default)]
struct Seen {
    events: Vec<(Event, Span)>,
    codes: Vec<(i32, Span)>,
}

fn one<'a>(field: &Field<'a>, of_task: bool, seen: &mut Seen) -> Option<Policy<'a>> {
    let mut fields = field.fields()?;
    let events = events(&mut fields);
    let code = fields.get("exitCode");
    let timeout = fields.get("timeout");
    let action = fields.require("action").and_then(|action| action_word(&action));
    let seconds = timeout.as_ref().and_then(duration::seconds);
    fields.finish();
    check_trigger(field, &events, code.as_ref());
    let mut triggers: Vec<Trigger> = Vec::new();
    seen.note_events(&events);
    for (event, place) in &events {
        if !warn_if_never(*event, place, timeout.is_some(), of_task) {
            triggers.push(Trigger::Event(*event));
        }
    }
    if let Some(code) = code.as_ref().and_then(|code| exit_code(code, seen)) {
        triggers.push(Trigger::ExitCode(code));
    }
    let action = action?;
    if action == Action::Resume {
        let problem = field.problem(Code::VolcanoNoEffect, "`ResumeJob` does nothing in a running job");
        let hint = "remove the policy: a job that was aborted is resumed by an order, not by an event";
        field.tell(problem.hint(hint));
    }
    let policy = Policy {
        triggers,
        action,
        timeout: seconds,
        from: "".into(),
        place: field.clone(),
    };
    if let Some(timeout) = &timeout {
        warn_of_timeout(&policy, timeout);
    }
    (!policy.triggers.is_empty()).then_some(policy)
}

/// `event` and `events` together, each with its place.
fn events<'a>(fields: &mut Fields<'a>) -> Vec<(Event, Field<'a>)> {
    let mut words: Vec<Field<'a>> = fields.get("event").into_iter().collect();
    words.extend(fields.list("events"));
    let mut events: Vec<(Event, Field<'a>)> = Vec::new();
    for word in words {
        if let Some(event) = choice(&word, EVENTS, INTERNAL_EVENTS, "event")
            && events.iter().all(|(earlier, _)| *earlier != event)
        {
            events.push((event, word));
        }
    }
    events
}

fn action_word(field: &Field<'_>) -> Option<Action> {
    if field.node.as_text() == Some("RestartPartition") {
        let message = "`RestartPartition` is not carried out: partitions cannot be restarted by themselves";
        let problem = field
            .problem(Code::VolcanoCannot, message)
            .found("RestartPartition");
        let hint = "use `RestartTask` for all pods of the task, or make each partition a task of its own";
        field.tell(problem.hint(hint));
        return None;
    }
    choice(field, ACTIONS, INTERNAL_ACTIONS, "action")
}

/// One of the words that a policy may name; those that only Volcano itself uses are refused with a reason.
fn choice<T: Clone>(
    field: &Field<'_>,
    allowed: &[(&'static str, T)],
    internal: &[&str],
    what: &str,
) -> Option<T> {
    let Some(word) = field.node.as_text().filter(|word| internal.contains(word)) else {
        return field.choice(allowed);
    };
    let message = format!("`{word}` is an {what} of Volcano's own, which no policy may name");
    let problem = field.problem(Code::VolcanoInternal, message).found(word);
    field.tell(problem.allowed(quoted(allowed.iter().map(|(word, _)| word))));
    None
}

fn check_trigger(field: &Field<'_>, events: &[(Event, Field<'_>)], code: Option<&Field<'_>>) {
    let written = |name: &str| field.node.get(name).is_some_and(|node| !node.is_null());
    let names_event = !events.is_empty() || written("event") || written("events");
    let message = match (names_event, code.is_some()) {
        (true, true) => "a policy waits for an event or for an exit code, not for both",
        (false, false) => "the policy does not say what it waits for",
        _ => return,
    };
    let problem = field.problem(Code::VolcanoTrigger, message);
    let hint = if code.is_some() {
        "make two policies of it"
    } else {
        "add `event: PodFailed`, or `exitCode: 137`"
    };
    let allowed = "one of `event`, `events` and `exitCode`";
    field.tell(problem.allowed(allowed).hint(hint));
}

impl Seen {
    /// An event may be waited for once in a list of policies, and `*` waits for all.
    fn note_events(&mut self, events: &[(Event, Field<'_>)]) {
        for (event, field) in events {
            let any = |event: Event| event == Event::Any;
            let clash = self
                .events
                .iter()
                .find(|(earlier, _)| earlier == event || any(*earlier) || any(*event))
                .copied();
            let within = events.len() > 1 && any(*event);
            if clash.is_some() || within {
                let message = match clash {
                    Some((earlier, _)) if earlier == *event => {
                        "another policy of the list waits for it already"
                    }
                    _ => "`*` stands for every event, so nothing else may stand beside it",
                };
                let mut problem = field.problem(Code::VolcanoDuplicateTrigger, message);
                if let Some((_, span)) = clash {
                    problem = problem.related(span, "the first one");
                }
                let hint = "keep one of them; for one task alone, put the policy on that task";
                field.tell(problem.hint(hint));
            }
        }
        let places = events.iter().map(|(event, field)| (*event, field.span()));
        self.events.extend(places);
    }
}

fn exit_code(field: &Field<'_>, seen: &mut Seen) -> Option<i32> {
    let code = field.int(i64::from(i32::MIN)..=i64::from(i32::MAX))?;
    let code = i32::try_from(code).ok()?;
    if code == 0 {
        let message = "exit code 0 is success, and no policy waits for it";
        let problem = field.problem(Code::OutOfRange, message);
        let hint = "use `event: TaskCompleted` for the success of a task";
        let problem = problem.found("0").allowed("any exit code but 0");
        field.tell(problem.hint(hint));
        return None;
    }
    if let Some((_, first)) = seen.codes.iter().find(|(earlier, _)| *earlier == code) {
        let message = format!("another policy of the list waits for exit code {code} already");
        let problem = field.problem(Code::VolcanoDuplicateTrigger, message);
        field.tell(problem.related(*first, "the first one"));
    }
    seen.codes.push((code, field.span()));
    Some(code)
}

/// Says so where an event cannot come; whether it is so.
fn warn_if_never(event: Event, field: &Field<'_>, has_timeout: bool, of_task: bool) -> bool {
    let (why, hint) = match event {
        Event::JobUpdated => ("Volcano takes it and never raises it", "remove the policy"),
        Event::PodPending if !has_timeout => (
            "without `timeout` it is never acted on",
            "add `timeout: 10m`, the time a pod may be pending",
        ),
        Event::Unknown if of_task => (
            "it is raised for the whole group of pods, never for one task",
            "move the policy to `spec.policies`",
        ),
        _ => return false,
    };
    let word = shown(field.node.as_text().unwrap_or_default());
    let message = format!("`{word}` never comes here: {why}");
    let problem = field.problem(Code::VolcanoNeverRaised, message);
    field.tell(problem.hint(hint));
    true
}

/// Only what one pod shows can be waited for; the others follow at once.
fn warn_of_timeout(policy: &Policy<'_>, timeout: &Field<'_>) {
    let per_pod = [Event::PodFailed, Event::PodEvicted, Event::PodPending];
    let named = |event: Event| policy.waits_for(event);
    if policy.triggers.is_empty() || policy.exit_code().is_some() || per_pod.into_iter().any(named) {
        return;
    }
    let message = "`timeout` has no effect: only events of single pods are waited out";
    timeout.report(Code::FieldIgnored, message);
}
