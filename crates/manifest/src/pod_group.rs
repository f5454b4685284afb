//! The group that a gang scheduler places together, and the marks by which pods are its members; both as Kubeflow's operator
//! writes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use trainyard_core::{Gang, GangScheduler, Job, Role};
use trainyard_dialect::asked_together;

use crate::subject::Subject;

/// The kind of a group, with every scheduler.
pub const KIND: &str = "PodGroup";
/// And its plural.
pub const PLURAL: &str = "podgroups";
/// Joins a pod to a group of Volcano.
const VOLCANO_GROUP: &str = "scheduling.k8s.io/group-name";
/// Says which of a job's roles a pod is of.
const VOLCANO_TASK: &str = "volcano.sh/task-spec";
/// Joins a pod to a group of the coscheduling plugin.
const PLUGIN_GROUP: &str = "scheduling.x-k8s.io/pod-group";
const VOLCANO: &str = "volcano";
/// Where Volcano puts a group that names no queue.
const DEFAULT_QUEUE: &str = "default";

/// Whose groups are made, for every job of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Groups {
    /// Volcano's.
    Volcano,
    /// Those of the coscheduling plugin, in the scheduler of this name.
    Coscheduling(Arc<str>),
}

impl Groups {
    /// By the words of Kubeflow's `--gang-scheduler-name`: `volcano`, or the name of a scheduler with the coscheduling plugin.
    /// Nothing and `none` are no groups.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "" | "none" => None,
            VOLCANO => Some(Self::Volcano),
            _ => Some(Self::Coscheduling(name.into())),
        }
    }

    /// The scheduler's name.
    #[must_use]
    pub fn scheduler(&self) -> &str {
        match self {
            Self::Volcano => VOLCANO,
            Self::Coscheduling(name) => name,
        }
    }

    /// The API group of its groups.
    #[must_use]
    pub fn api_group(&self) -> &'static str {
        match self {
            Self::Volcano => "scheduling.volcano.sh",
            Self::Coscheduling(_) => "scheduling.x-k8s.io",
        }
    }

    /// And the version.
    #[must_use]
    pub fn api_version(&self) -> &'static str {
        match self {
            Self::Volcano => "v1beta1",
            Self::Coscheduling(_) => "v1alpha1",
        }
    }

    /// What a job needs of this scheduler; what its manifest says stands. A group that its templates name is somebody else's:
    /// whether that is let in is not ours to wait for.
    #[must_use]
    pub fn gang(&self, job: &Job) -> Gang {
        let all: u32 = job
            .roles
            .iter()
            .fold(0, |sum, role| sum.saturating_add(role.replicas));
        let said = job.gang.clone().unwrap_or_else(|| Gang {
            scheduler: GangScheduler::Default,
            existing: None,
            members: all,
            per_role: BTreeMap::new(),
            queue: None,
            priority: None,
            resources: asked_together(&job.roles, all),
            timeout: None,
            hold: false,
        });
        Gang {
            scheduler: match self {
                Self::Volcano => GangScheduler::Volcano,
                Self::Coscheduling(name) => GangScheduler::Named(Arc::clone(name)),
            },
            // Volcano lets a group in before its pods are made; the plugin looks at pods that exist.
            hold: *self == Self::Volcano && said.existing.is_none(),
            ..said
        }
    }

    /// The group of a job, without its owner; none where its templates name another.
    #[must_use]
    pub fn object(&self, subject: &Subject) -> Option<Value> {
        let job = &subject.job;
        let gang = job.gang.as_ref().filter(|gang| gang.existing.is_none())?;
        let mut spec = Map::new();
        spec.insert("minMember".into(), gang.members.into());
        if !gang.resources.is_empty() {
            spec.insert("minResources".into(), quantities(&gang.resources).into());
        }
        match self {
            Self::Volcano => {
                let queue = gang.queue.as_deref().unwrap_or(DEFAULT_QUEUE);
                spec.insert("queue".into(), queue.into());
                if let Some(class) = &gang.priority {
                    spec.insert("priorityClassName".into(), (**class).into());
                }
            }
            Self::Coscheduling(_) => {
                if let Some(timeout) = gang.timeout {
                    spec.insert("scheduleTimeoutSeconds".into(), timeout.into());
                }
            }
        }
        let mut metadata = json!({ "name": job.name, "namespace": job.namespace });
        if !subject.annotations.is_empty() {
            metadata["annotations"] = subject.annotations.clone().into();
        }
        Some(json!({
            "apiVersion": format!("{}/{}", self.api_group(), self.api_version()),
            "kind": KIND,
            "metadata": metadata,
            "spec": spec,
        }))
    }
}

/// What must change in a group of ours for it to be as it should; none where nothing must. Who has moved it to another queue
/// meant to.
#[must_use]
pub fn correction(wanted: &Value, seen: &Value) -> Option<Value> {
    let mut patch = Map::new();
    for (field, value) in wanted["spec"].as_object()? {
        if field != "queue" && seen.get(field) != Some(value) {
            patch.insert(field.clone(), replaced(value, seen.get(field)));
        }
    }
    (!patch.is_empty()).then(|| patch.into())
}

/// A value as a merge patch has to say it: what is there and should not be is null.
fn replaced(wanted: &Value, seen: Option<&Value>) -> Value {
    let (Value::Object(wanted), Some(Value::Object(seen))) = (wanted, seen) else {
        return wanted.clone();
    };
    let gone = seen.keys().filter(|key| !wanted.contains_key(*key));
    let gone = gone.map(|key| (key.clone(), Value::Null));
    wanted.clone().into_iter().chain(gone).collect()
}

/// Marks a pod as a member of its job's group. Another scheduler that its template names is kept.
pub(crate) fn mark(pod: &mut Value, job: &Job, role: &Role) {
    let Some(gang) = &job.gang else { return };
    let scheduler = match &gang.scheduler {
        GangScheduler::Volcano => VOLCANO,
        GangScheduler::Named(name) => name,
        _ => return,
    };
    if gang.existing.is_none() {
        let metadata = &mut pod["metadata"];
        if gang.scheduler == GangScheduler::Volcano {
            metadata["annotations"][VOLCANO_GROUP] = (&*job.name).into();
            metadata["annotations"][VOLCANO_TASK] = (&*role.name.0).into();
        } else {
            metadata["labels"][PLUGIN_GROUP] = (&*job.name).into();
        }
    }
    let named = pod["spec"]["schedulerName"].as_str().unwrap_or_default();
    if named.is_empty() {
        pod["spec"]["schedulerName"] = scheduler.into();
    }
}

/// The scheduler that a template names though another one is to place its pods, if there is one.
#[must_use]
pub fn other_scheduler(job: &Job) -> Option<String> {
    let scheduler = match &job.gang.as_ref()?.scheduler {
        GangScheduler::Volcano => VOLCANO,
        GangScheduler::Named(name) => name,
        _ => return None,
    };
    job.roles.iter().find_map(|role| {
        let template: Value = serde_json::from_str(&role.template.0).ok()?;
        let named = template.pointer("/spec/schedulerName")?.as_str()?;
        (!named.is_empty() && named != scheduler).then(|| named.to_owned())
    })
}

/// Amounts in thousandths, as Kubernetes writes them.
fn quantities(amounts: &BTreeMap<Arc<str>, i64>) -> Map<String, Value> {
    let written = |milli: i64| match milli % 1000 {
        0 => (milli / 1000).to_string(),
        _ => format!("{milli}m"),
    };
    amounts
        .iter()
        .map(|(name, milli)| (name.to_string(), written(*milli).into()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trainyard_dialect::document::Source;
    use trainyard_dialect::read;

    fn subject(policy: &Value, template: &Value) -> Subject {
        let text = json!({
            "apiVersion": "kubeflow.org/v1", "kind": "TFJob",
            "metadata": { "name": "mnist", "namespace": "research", "annotations": { "team": "vision" } },
            "spec": {
                "runPolicy": { "schedulingPolicy": policy },
                "tfReplicaSpecs": {
                    "PS": { "replicas": 1, "template": template },
                    "Worker": { "replicas": 2, "template": template },
                },
            },
        });
        let source = Source::from_bytes("job", text.to_string().as_bytes()).expect("text");
        let reading = read(&source);
        let job = reading.jobs().next().expect("a job");
        Subject::of(job, None, None)
    }

    fn template() -> Value {
        let asks = json!({ "requests": { "cpu": "1500m", "memory": "1Gi" } });
        json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "x", "resources": asks }] } })
    }

    fn with(groups: &Groups, policy: &Value, template: &Value) -> Subject {
        let mut subject = subject(policy, template);
        subject.job.gang = Some(groups.gang(&subject.job));
        subject
    }

    #[test]
    fn schedulers_go_by_kubeflows_names() {
        let rows = [
            ("", None),
            ("none", None),
            ("None", None),
            ("Volcano", Some(Groups::Volcano)),
            ("my-scheduler", Some(Groups::Coscheduling("my-scheduler".into()))),
        ];
        for (name, expected) in rows {
            assert_eq!(Groups::named(name), expected, "{name}");
        }
    }

    #[test]
    fn a_group_holds_all_tasks_unless_the_job_says_otherwise() {
        let groups = Groups::Volcano;
        let all = with(&groups, &Value::Null, &template());
        assert_eq!(
            groups.object(&all),
            Some(json!({
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "PodGroup",
                "metadata": { "name": "mnist", "namespace": "research", "annotations": { "team": "vision" } },
                "spec": {
                    "minMember": 3, "queue": "default",
                    "minResources": { "cpu": "4500m", "memory": "3221225472" },
                },
            }))
        );
        let policy = json!({
            "minAvailable": 2, "queue": "night", "priorityClass": "low", "minResources": { "cpu": "2" },
            "scheduleTimeoutSeconds": 30,
        });
        let some = with(&groups, &policy, &template());
        let spec = groups.object(&some).expect("a group")["spec"].take();
        assert_eq!(
            spec,
            json!({ "minMember": 2, "queue": "night", "priorityClassName": "low", "minResources": { "cpu": "2" } })
        );
        let plugin = Groups::Coscheduling("plugins".into());
        let some = with(&plugin, &policy, &template());
        let group = plugin.object(&some).expect("a group");
        assert_eq!(group["apiVersion"], "scheduling.x-k8s.io/v1alpha1");
        assert_eq!(
            group["spec"],
            json!({ "minMember": 2, "minResources": { "cpu": "2" }, "scheduleTimeoutSeconds": 30 })
        );
        assert!(!some.job.gang.expect("a gang").hold, "the plugin looks at pods");
    }

    #[test]
    fn a_group_that_templates_name_is_joined_and_not_made() {
        let mut template = template();
        template["metadata"] = json!({ "annotations": { "scheduling.k8s.io/group-name": "theirs" } });
        let subject = with(&Groups::Volcano, &Value::Null, &template);
        assert_eq!(Groups::Volcano.object(&subject), None);
        assert!(!subject.job.gang.as_ref().expect("a gang").hold);
        let mut pod = template;
        mark(&mut pod, &subject.job, &subject.job.roles[0]);
        assert_eq!(
            pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"],
            "theirs"
        );
        assert_eq!(pod["spec"]["schedulerName"], "volcano");
    }

    #[test]
    fn pods_are_marked_and_another_scheduler_is_kept() {
        let subject = with(&Groups::Volcano, &Value::Null, &template());
        let mut pod = json!({ "metadata": {}, "spec": {} });
        mark(&mut pod, &subject.job, &subject.job.roles[1]);
        let expected = json!({ "scheduling.k8s.io/group-name": "mnist", "volcano.sh/task-spec": "worker" });
        assert_eq!(pod["metadata"]["annotations"], expected);
        assert_eq!(other_scheduler(&subject.job), None);

        let plugin = Groups::Coscheduling("plugins".into());
        let mut template = template();
        template["spec"]["schedulerName"] = "theirs".into();
        let subject = with(&plugin, &Value::Null, &template);
        let mut pod = template;
        mark(&mut pod, &subject.job, &subject.job.roles[0]);
        assert_eq!(
            pod["metadata"]["labels"],
            json!({ "scheduling.x-k8s.io/pod-group": "mnist" })
        );
        assert_eq!(pod["spec"]["schedulerName"], "theirs");
        assert_eq!(other_scheduler(&subject.job).as_deref(), Some("theirs"));
    }

    #[test]
    fn a_group_is_corrected_but_for_its_queue() {
        let wanted = json!({ "spec": { "minMember": 2, "queue": "day", "minResources": { "cpu": "2" } } });
        let rows = [
            (
                json!({ "minMember": 2, "queue": "night", "minResources": { "cpu": "2" }, "more": 1 }),
                None,
            ),
            (
                json!({ "minMember": 3, "minResources": { "cpu": "3", "memory": "1" } }),
                Some(json!({ "minMember": 2, "minResources": { "cpu": "2", "memory": null } })),
            ),
        ];
        for (seen, expected) in rows {
            assert_eq!(correction(&wanted, &seen), expected, "{seen}");
        }
    }
}
