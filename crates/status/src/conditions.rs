//! A list of conditions as Kubeflow keeps it: a history, whose last entry is taken for the job's state.

use serde_json::{Value, json};
use trainyard_core::Time;

use super::rfc3339;

/// What a condition is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Created,
    Running,
    Restarting,
    Succeeded,
    Failed,
    Suspended,
}

impl Kind {
    const WORDS: [(&'static str, Self); 6] = [
        ("Created", Self::Created),
        ("Running", Self::Running),
        ("Restarting", Self::Restarting),
        ("Succeeded", Self::Succeeded),
        ("Failed", Self::Failed),
        ("Suspended", Self::Suspended),
    ];
    fn word(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(_, kind)| *kind == self);
        found.map_or("", |(word, _)| word)
    }
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Condition {
    kind: Kind,
    status: bool,
    reason: String,
    message: String,
    updated: String,
    changed: String,
}

/// The list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Conditions(Vec<Condition>);

impl Conditions {
    /// The conditions of a status; entries that make no sense are left out.
    pub(super) fn read(status: Option<&Value>) -> Self {
        let listed = status.and_then(|status| status.get("conditions")?.as_array());
        Self(listed.into_iter().flatten().filter_map(Condition::read).collect())
    }

    pub(super) fn write(&self) -> Value {
        self.0.iter().map(Condition::write).collect()
    }

    /// Whether there is such a condition and it holds.
    pub(super) fn is(&self, kind: Kind) -> bool {
        self.0
            .iter()
            .any(|condition| condition.kind == kind && condition.status)
    }

    /// Whether there is such a condition, holding or not.
    pub(super) fn has(&self, kind: Kind) -> bool {
        self.0.iter().any(|condition| condition.kind == kind)
    }

    /// Adds what is new, by Kubeflow's rules: nothing follows a failure; what is the same stays untouched; running
    /// and restarting exclude each other; an end makes running false where it stands; the newest comes last.
    pub(super) fn set(&mut self, kind: Kind, status: bool, reason: &str, message: String, now: Time) {
        if self.is(Kind::Failed) {
            return;
        }
        let now = rfc3339(now);
        let mut changed = now.clone();
        if let Some(old) = self.0.iter().find(|old| old.kind == kind && old.status == status) {
            if old.reason == reason {
                return;
            }
            changed.clone_from(&old.changed);
        }
        self.0.retain(|old| match kind {
            Kind::Restarting | Kind::Running => !matches!(old.kind, Kind::Restarting | Kind::Running),
            kind => old.kind != kind,
        });
        if matches!(kind, Kind::Succeeded | Kind::Failed) {
            for old in self.0.iter_mut().filter(|old| old.kind == Kind::Running) {
                old.status = false;
            }
        }
        self.0.push(Condition {
            kind,
            status,
            reason: reason.to_owned(),
            message,
            updated: now,
            changed,
        });
    }
}

impl Condition {
    fn read(value: &Value) -> Option<Self> {
        let word = value["type"].as_str()?;
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        Some(Self {
            kind: Kind::WORDS.into_iter().find(|(known, _)| *known == word)?.1,
            status: value["status"].as_str()? == "True",
            reason: text("reason"),
            message: text("message"),
            updated: text("lastUpdateTime"),
            changed: text("lastTransitionTime"),
        })
    }

    fn write(&self) -> Value {
        json!({
            "type": self.kind.word(),
            "status": if self.status { "True" } else { "False" },
            "reason": self.reason,
            "message": self.message,
            "lastUpdateTime": self.updated,
            "lastTransitionTime": self.changed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Running` holds, `!Running` does not.
    fn listed(conditions: &Conditions) -> Vec<String> {
        let shown = |condition: &Condition| {
            let mark = if condition.status { "" } else { "!" };
            format!("{mark}{}", condition.kind.word())
        };
        conditions.0.iter().map(shown).collect()
    }

    fn after(steps: &[(Kind, bool)]) -> Conditions {
        let mut conditions = Conditions::default();
        for (second, (kind, status)) in (1..).zip(steps) {
            conditions.set(*kind, *status, kind.word(), String::new(), Time(second));
        }
        conditions
    }

    #[test]
    fn the_newest_is_last_and_running_and_restarting_exclude_each_other() {
        use Kind::{Created, Failed, Restarting, Running, Succeeded, Suspended};
        type Row = (&'static [(Kind, bool)], &'static [&'static str]);
        let table: &[Row] = &[
            (&[(Created, true), (Running, true)], &["Created", "Running"]),
            (
                &[(Created, true), (Running, true), (Restarting, true)],
                &["Created", "Restarting"],
            ),
            (
                &[(Created, true), (Restarting, true), (Running, true)],
                &["Created", "Running"],
            ),
            (
                &[(Created, true), (Running, true), (Succeeded, true)],
                &["Created", "!Running", "Succeeded"],
            ),
            (
                &[(Created, true), (Restarting, true), (Failed, true)],
                &["Created", "Restarting", "Failed"],
            ),
            (
                &[
                    (Created, true),
                    (Failed, true),
                    (Running, true),
                    (Succeeded, true),
                ],
                &["Created", "Failed"],
            ),
            (
                &[
                    (Created, true),
                    (Running, true),
                    (Running, false),
                    (Suspended, true),
                    (Suspended, false),
                    (Running, true),
                ],
                &["Created", "!Suspended", "Running"],
            ),
        ];
        for (steps, expected) in table {
            let list = listed(&after(steps));
            let expected: Vec<String> = expected.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(list, expected, "{steps:?}");
        }
    }

    #[test]
    fn what_is_the_same_keeps_its_times_and_what_only_changes_its_reason_keeps_when_it_changed() {
        let mut conditions = Conditions::default();
        conditions.set(Kind::Running, true, "First", "one".into(), Time(1));
        let first = conditions.clone();
        conditions.set(Kind::Running, true, "First", "two".into(), Time(2));
        assert_eq!(conditions, first);
        conditions.set(Kind::Running, true, "Second", "three".into(), Time(3));
        let condition = &conditions.0[0];
        assert_eq!(condition.message, "three");
        assert_eq!(condition.changed, rfc3339(Time(1)));
        assert_eq!(condition.updated, rfc3339(Time(3)));
        conditions.set(Kind::Running, false, "Second", "four".into(), Time(4));
        assert_eq!(conditions.0[0].changed, rfc3339(Time(4)));
    }

    #[test]
    fn a_list_reads_back_and_nonsense_is_left_out() {
        let conditions = after(&[(Kind::Created, true), (Kind::Running, true)]);
        let status = json!({ "conditions": conditions.write() });
        assert_eq!(Conditions::read(Some(&status)), conditions);
        let odd = json!({ "conditions": [1, {}, {"type": "Other", "status": "True"}, {"type": "Running"}] });
        assert_eq!(Conditions::read(Some(&odd)), Conditions::default());
        assert_eq!(
            Conditions::read(Some(&json!({ "conditions": null }))),
            Conditions::default()
        );
    }
}
