//! The queues that groups are put into, where a scheduler has objects for them. A scheduler says little or nothing about a group whose queue is
//! missing, closed or full, so the operator reads the queue and says it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use trainyard_document::quantity::Quantity;

use super::GroupApi;

/// A queue names fewer resources than this; what is beyond is not kept.
const MOST_RESOURCES: usize = 64;
/// So many resources are told.
const MOST_TOLD: usize = 4;
/// So many characters of a word or a name of a resource are kept.
const LONGEST: usize = 63;
/// Where the schedulers that are known here put a group that names no queue.
pub(super) const DEFAULT_QUEUE: &str = "default";

/// One API of queues. They have no namespace.
#[derive(Debug)]
pub struct QueueApi {
    /// The API group, as in `scheduling.volcano.sh`.
    pub group: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The kind of the objects.
    pub kind: &'static str,
    /// Their plural, as in paths.
    pub plural: &'static str,
    /// What an object says.
    pub state: fn(&Value) -> QueueState,
    /// How an administrator opens the queue of that name.
    pub open: fn(&str) -> String,
}

impl QueueApi {
    /// `<plural>.<group>`, as kubectl and definitions name it.
    #[must_use]
    pub fn resource(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }
}

/// What a queue says, as far as it explains why a group waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueState {
    /// The word of a queue that takes no groups, as in `Closed`.
    pub closed: Option<Arc<str>>,
    /// The most that its groups may hold. A resource that is not named has no limit.
    pub limit: Amounts,
    /// What its groups hold.
    pub held: Amounts,
}

/// Amounts of resources.
type Amounts = BTreeMap<Arc<str>, Quantity>;

/// The amounts in an object of quantities. Those that cannot be read are left out.
pub(super) fn amounts(value: &Value) -> Amounts {
    let named = value.as_object().into_iter().flatten().take(MOST_RESOURCES);
    let read = |value: &Value| match value {
        Value::String(text) => Quantity::parse(text).ok(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
        _ => None,
    };
    named
        .filter_map(|(name, value)| Some((short(name), read(value)?)))
        .collect()
}

/// The beginning of a word that a queue says.
pub(super) fn short(word: &str) -> Arc<str> {
    word.chars().take(LONGEST).collect::<String>().into()
}

/// The queue that a group of this spec is in.
#[must_use]
pub fn queue_of(spec: &Value) -> &str {
    let named = spec["queue"].as_str().filter(|name| !name.is_empty());
    named.unwrap_or(DEFAULT_QUEUE)
}

/// What a group of this spec needs before it is let in: `45 of cpu, 90Gi of memory`; none where it does not say.
#[must_use]
pub fn needs(spec: &Value) -> Option<String> {
    let needs = amounts(&spec["minResources"]);
    let told = needs.iter().take(MOST_TOLD);
    let told: Vec<String> = told.map(|(name, amount)| format!("{amount} of {name}")).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// A group that waits, for words about its queue.
#[derive(Clone, Copy, Debug)]
pub struct InQueue<'a> {
    /// The API of the group.
    pub api: &'static GroupApi,
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its spec.
    pub spec: &'a Value,
}

/// Why a group waits because of its queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueWait {
    /// What is the matter with the queue.
    pub why: String,
    /// What helps.
    pub help: String,
}

impl fmt::Display for QueueWait {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.why, self.help)
    }
}

impl InQueue<'_> {
    /// Why the group waits because of its queue, and what helps: it does not exist, is closed, or has too little left. None where the queue is
    /// no reason to wait.
    #[must_use]
    pub fn why(&self, queues: &QueueApi, queue: Option<&QueueState>) -> Option<QueueWait> {
        let name = queue_of(self.spec);
        let Some(queue) = queue else {
            return Some(QueueWait {
                why: format!(
                    "there is no queue `{name}` ({}), and the scheduler ignores groups of a queue that does not exist",
                    queues.resource()
                ),
                help: format!("create it, or {self}"),
            });
        };
        if let Some(word) = &queue.closed {
            return Some(QueueWait {
                why: format!("its queue `{name}` is {word} and takes no groups"),
                help: format!("{}, or {self}", (queues.open)(name)),
            });
        }
        let needs = amounts(&self.spec["minResources"]);
        let short = needs.iter().find_map(|(resource, needed)| {
            let limit = *queue.limit.get(resource)?;
            let held = queue.held.get(resource).copied().unwrap_or_default();
            (held.plus(*needed) > limit).then_some((resource, *needed, limit, held))
        });
        let (resource, needed, limit, held) = short?;
        let so = format!("its queue `{name}` may hold at most {limit} of `{resource}`");
        Some(if needed > limit {
            QueueWait {
                why: format!("{so}, and the group needs {needed}"),
                help: format!("raise the queue's limit, lower what the job asks for, or {self}"),
            }
        } else {
            QueueWait {
                why: format!("{so}, {held} in use, and the group needs {needed}"),
                help: "it waits until others have ended".to_owned(),
            }
        })
    }
}

/// How the group is moved to another queue: where it is belongs to users, and the operator does not move it back.
impl fmt::Display for InQueue<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "move the group with `kubectl patch {} {} -n {} --type merge -p '{{\"spec\":{{\"queue\":\"OTHER\"}}}}'`",
            self.api.resource(),
            self.name,
            self.namespace
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use trainyard_core::GangScheduler;

    use super::super::scheduler;
    use super::*;

    fn volcano() -> (&'static GroupApi, &'static QueueApi) {
        let module = scheduler(&GangScheduler::Volcano).unwrap();
        (module.apis[0], module.queues[0])
    }

    fn why(spec: &Value, queue: Option<&Value>) -> Option<String> {
        let (api, queues) = volcano();
        let group = InQueue {
            api,
            namespace: "research",
            name: "mnist",
            spec,
        };
        let waits = group.why(queues, queue.map(queues.state).as_ref());
        waits.map(|waits| waits.to_string())
    }

    #[test]
    fn a_queue_says_why_a_group_waits_and_what_helps() {
        let asks = |cpu: &str| json!({ "queue": "night", "minResources": { "cpu": cpu, "memory": "1Gi" } });
        let queue = |state: &str, allocated: &str| {
            json!({
                "spec": { "capability": { "cpu": 8 } },
                "status": { "state": state, "allocated": { "cpu": allocated, "memory": "9Ti" } },
            })
        };
        let moved = "move the group with `kubectl patch podgroups.scheduling.volcano.sh mnist -n research --type merge -p \
                     '{\"spec\":{\"queue\":\"OTHER\"}}'`";
        let rows: [(Value, Option<Value>, Option<String>); 9] = [
            (asks("4"), Some(queue("Open", "4")), None),
            (asks("4"), Some(json!({ "status": { "state": "Open" } })), None),
            // Nothing sets the state of a new queue but Volcano's controllers.
            (asks("4"), Some(json!({})), None),
            (json!({ "queue": "night" }), Some(queue("Open", "8")), None),
            (
                asks("4"),
                None,
                Some(format!(
                    "there is no queue `night` (queues.scheduling.volcano.sh), and the scheduler ignores groups of a queue that does not exist: \
                     create it, or {moved}"
                )),
            ),
            (
                json!({}),
                None,
                Some(format!(
                    "there is no queue `default` (queues.scheduling.volcano.sh), and the scheduler ignores groups of a queue that does not exist: \
                     create it, or {moved}"
                )),
            ),
            (
                asks("4"),
                Some(queue("Closing", "8")),
                Some(format!(
                    "its queue `night` is Closing and takes no groups: open it with `vcctl queue operate --action open --name night`, or {moved}"
                )),
            ),
            (
                asks("4500m"),
                Some(queue("Open", "4")),
                Some(
                    "its queue `night` may hold at most 8 of `cpu`, 4 in use, and the group needs 4500m: it waits until others have ended"
                        .to_owned(),
                ),
            ),
            (
                asks("9"),
                Some(queue("Open", "0")),
                Some(format!(
                    "its queue `night` may hold at most 8 of `cpu`, and the group needs 9: raise the queue's limit, lower what the job asks for, or {moved}"
                )),
            ),
        ];
        for (spec, queue, expected) in rows {
            assert_eq!(why(&spec, queue.as_ref()), expected, "{spec} {queue:?}");
        }
    }

    #[test]
    fn what_a_group_needs_is_told_in_short() {
        let rows = [
            (json!({}), None),
            (json!({ "minResources": {} }), None),
            (json!({ "minResources": { "cpu": "x" } }), None),
            (
                json!({ "minResources": { "cpu": "45000m", "memory": "90Gi" } }),
                Some("45 of cpu, 90Gi of memory"),
            ),
            (
                json!({ "minResources": { "a": 1, "b": 2, "c": 3, "d": 4, "e": 5 } }),
                Some("1 of a, 2 of b, 3 of c, 4 of d"),
            ),
        ];
        for (spec, expected) in rows {
            assert_eq!(needs(&spec).as_deref(), expected, "{spec}");
        }
    }

    #[test]
    fn kube_batch_ignores_groups_of_queues_that_do_not_exist_and_closes_none() {
        let module = scheduler(&GangScheduler::KubeBatch).unwrap();
        let resources: Vec<String> = module.queues.iter().map(|api| api.resource()).collect();
        assert_eq!(
            resources,
            ["queues.scheduling.incubator.k8s.io", "queues.scheduling.sigs.dev"]
        );
        let state =
            (module.queues[0].state)(&json!({ "status": { "state": "Closed" }, "spec": { "weight": 1 } }));
        assert_eq!(state, QueueState::default());
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "\\PC{0,100}".prop_map(Value::from),
            "-?[0-9]{0,30}(\\.[0-9]{0,5})?(m|k|Ki|E|Ei)?".prop_map(Value::from),
        ];
        let keys = prop_oneof![
            Just("spec".to_owned()),
            Just("status".to_owned()),
            Just("state".to_owned()),
            Just("capability".to_owned()),
            Just("allocated".to_owned()),
            Just("minResources".to_owned()),
            Just("queue".to_owned()),
            Just("cpu".to_owned()),
            "\\PC{0,80}",
        ];
        leaf.prop_recursive(4, 64, 8, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(keys.clone(), inner, 0..6)
                    .prop_map(|fields| fields.into_iter().collect::<serde_json::Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_a_queue_and_a_group_say_is_read_and_bounded(queue in any_json(), spec in any_json()) {
            let (_, queues) = volcano();
            let state = (queues.state)(&queue);
            prop_assert!(state.limit.len() <= MOST_RESOURCES && state.held.len() <= MOST_RESOURCES);
            prop_assert!(state.closed.as_ref().is_none_or(|word| word.chars().count() <= LONGEST));
            let _ = why(&spec, Some(&queue));
            let _ = why(&spec, None);
        }
    }
}
