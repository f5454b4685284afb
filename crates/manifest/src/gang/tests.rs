use super::*;
use trainyard_dialect::read;
use trainyard_document::Source;

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
fn a_start_order_that_the_group_waits_for_is_refused() {
    let mut subject = with(&Groups::Volcano, &Value::Null, &template());
    assert_eq!(deadlock(&subject.job), None);
    let servers = subject.job.roles[0].name.clone();
    subject.job.roles[1].after = Some(trainyard_core::After {
        roles: vec![(servers, 1)],
        any: false,
    });
    let words = deadlock(&subject.job).expect("a deadlock");
    assert!(
        words.contains("only 1 tasks") && words.contains("needs 3"),
        "{words}"
    );
}

#[test]
fn a_group_is_corrected_but_for_its_queue() {
    let wanted = json!({ "spec": { "minMember": 2, "queue": "day", "minResources": { "cpu": "2", "memory": "524288000" } } });
    let rows = [
        (
            json!({ "minMember": 2, "queue": "night", "minResources": { "cpu": "2", "memory": "524288000" }, "more": 1 }),
            None,
        ),
        (
            json!({ "minMember": 2, "priorityClassName": "", "minResources": { "cpu": "2000m", "memory": "524288k" } }),
            None,
        ),
        (
            json!({ "minMember": 2, "priorityClassName": "high", "minResources": { "cpu": 2, "memory": "500Mi" } }),
            Some(json!({ "priorityClassName": null })),
        ),
        (
            json!({ "minMember": 3, "minResources": { "cpu": "3", "gpu": "1" } }),
            Some(
                json!({ "minMember": 2, "minResources": { "cpu": "2", "memory": "524288000", "gpu": null } }),
            ),
        ),
    ];
    for (seen, expected) in rows {
        assert_eq!(correction(&wanted, &seen), expected, "{seen}");
    }
}
