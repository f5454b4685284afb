//! What plugins and the job's own fields add to templates, objects, gang and `TF_CONFIG`.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trainyard_core::{
    Addresses, Cluster, ClusterForm, Gang, GangScheduler, Job, RoleKind, TaskId, addresses,
};
use trainyard_dialect::ReadJob;

use crate::notation::{file, job};

fn template(read: &ReadJob, role: usize) -> Value {
    serde_json::from_str(&read.job.roles[role].template.0).unwrap()
}

fn names(list: &Value) -> Vec<&str> {
    let items = list.as_array().into_iter().flatten();
    items.map(|item| item["name"].as_str().unwrap()).collect()
}

fn tf_config(job: &Job, task: &str) -> Option<String> {
    let task: TaskId = task.parse().unwrap();
    Cluster::of(job, &addresses(job, None)).tf_config(&task)
}

#[test]
fn the_tutorials_pods_get_what_was_seen_on_a_real_cluster() {
    let read = job(&file("tests/fixtures/ok/volcano/tutorial-hosts-from-files.yaml"));
    let pod = &template(&read, 1)["spec"];
    let container = &pod["containers"][0];
    assert_eq!(
        names(&container["env"]),
        [
            "VK_TASK_INDEX",
            "VC_TASK_INDEX",
            "VC_PS_HOSTS",
            "VC_PS_NUM",
            "VC_WORKER_HOSTS",
            "VC_WORKER_NUM"
        ]
    );
    let number = "metadata.labels['trainyard.dev/task-index']";
    assert_eq!(container["env"][1]["valueFrom"]["fieldRef"]["fieldPath"], number);
    let key = json!({"name": "tensorflow-dist-mnist-svc", "key": "VC_PS_HOSTS"});
    assert_eq!(container["env"][2]["valueFrom"]["configMapKeyRef"], key);
    let mount = json!([{"name": "tensorflow-dist-mnist-svc", "mountPath": "/etc/volcano"}]);
    assert_eq!(container["volumeMounts"], mount);
    assert_eq!(pod["schedulerName"], "volcano");
    let data = json!({
        "ps.host": "tensorflow-dist-mnist-ps-0.tensorflow-dist-mnist",
        "VC_PS_HOSTS": "tensorflow-dist-mnist-ps-0.tensorflow-dist-mnist",
        "VC_PS_NUM": "1",
        "worker.host": "tensorflow-dist-mnist-worker-0.tensorflow-dist-mnist\ntensorflow-dist-mnist-worker-1.tensorflow-dist-mnist",
        "VC_WORKER_HOSTS": "tensorflow-dist-mnist-worker-0.tensorflow-dist-mnist,tensorflow-dist-mnist-worker-1.tensorflow-dist-mnist",
        "VC_WORKER_NUM": "2",
    });
    assert_eq!(read.objects[0]["data"], data);
    let kinds: Vec<&str> = read
        .objects
        .iter()
        .map(|object| object["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["ConfigMap", "NetworkPolicy"]);
    assert_eq!(read.job.cluster, ClusterForm::None, "the script makes its own");
    assert_eq!(read.job.addresses, Addresses::PerJobShort);
}

#[test]
fn arguments_of_svc_take_things_away() {
    let read = job(&file("tests/fixtures/ok/volcano/svc-plugin-arguments.yaml"));
    let container = &template(&read, 0)["spec"]["containers"][0];
    assert_eq!(names(&container["env"]), ["VK_TASK_INDEX", "VC_TASK_INDEX"]);
    assert_eq!(read.objects.len(), 1, "no NetworkPolicy");
    let data = &read.objects[0]["data"];
    assert_eq!(
        data["data_loader.host"],
        "svc-arguments-data-loader-0.svc-arguments"
    );
    assert_eq!(data["VC_DATA_LOADER_NUM"], "1");
}

#[test]
fn volumes_are_mounted_in_every_container_and_claims_are_made() {
    let read = job(&file("examples/volcano/enough-successes.yaml"));
    let pod = &template(&read, 0)["spec"];
    let claims = json!([
        {"name": "volcano-volume-0", "persistentVolumeClaim": {"claimName": "imagenet"}},
        {"name": "volcano-volume-1", "persistentVolumeClaim": {"claimName": "hyper-search-pvc-1"}},
    ]);
    assert_eq!(pod["volumes"], claims);
    let mounts = json!([
        {"name": "volcano-volume-0", "mountPath": "/data"},
        {"name": "volcano-volume-1", "mountPath": "/scratch"},
    ]);
    assert_eq!(pod["containers"][0]["volumeMounts"], mounts);
    let [claim] = &read.objects[..] else {
        panic!("{:#?}", read.objects)
    };
    assert_eq!(claim["metadata"]["name"], "hyper-search-pvc-1");
    assert_eq!(claim["spec"]["resources"]["requests"]["storage"], "20Gi");
}

#[test]
fn the_jobs_own_fields_reach_the_pods_that_do_not_say_otherwise() {
    let read = job(&file("tests/fixtures/ok/volcano/topology-and-priority.yaml"));
    let template = template(&read, 0);
    let annotations = json!({
        "volcano.sh/preemptable": "true",
        "volcano.sh/numa-topology-policy": "single-numa-node",
    });
    assert_eq!(template["metadata"]["annotations"], annotations);
    assert_eq!(
        template["spec"]["priorityClassName"], "training-highest",
        "its own"
    );
    assert_eq!(template["spec"]["dnsPolicy"], "ClusterFirstWithHostNet");
}

#[test]
fn reading_the_result_again_adds_nothing() {
    let text = file("tests/fixtures/ok/volcano/tutorial-hosts-from-files.yaml");
    let read = job(&text);
    let mut object = read.node.to_json();
    for (role, task) in read
        .job
        .roles
        .iter()
        .zip(object["spec"]["tasks"].as_array_mut().unwrap())
    {
        task["template"] = serde_json::from_str(&role.template.0).unwrap();
    }
    assert_eq!(job(&object.to_string()).job.roles, read.job.roles);
}

#[test]
fn tf_config_is_the_plugins_with_the_evaluator_outside() {
    let read = job(&file(
        "tests/fixtures/ok/volcano/tensorflow-plugin-other-names.yaml",
    ));
    let cluster = r#"{"cluster":{"ps":["renamed-roles-server-0.renamed-roles:3333","renamed-roles-server-1.renamed-roles:3333"],"worker":["renamed-roles-trainer-0.renamed-roles:3333","renamed-roles-trainer-1.renamed-roles:3333"],"chief":["renamed-roles-lead-0.renamed-roles:3333"]}"#;
    for (task, own) in [
        ("trainer-1", r#""type":"worker","index":1"#),
        ("judge-0", r#""type":"evaluator","index":0"#),
    ] {
        let expected = format!("{cluster},\"task\":{{{own}}}}}");
        assert_eq!(tf_config(&read.job, task), Some(expected));
    }
    let kinds: Vec<RoleKind> = read.job.roles.iter().map(|role| role.kind).collect();
    assert_eq!(
        kinds,
        [
            RoleKind::Chief,
            RoleKind::Ps,
            RoleKind::Worker,
            RoleKind::Evaluator
        ]
    );
    let inside = file("tests/fixtures/ok/volcano/tensorflow-plugin-other-names.yaml").replace(
        "  name: renamed-roles\n",
        "  name: renamed-roles\n  annotations: {trainyard.dev/evaluator-in-cluster: \"true\"}\n",
    );
    let text = tf_config(&job(&inside).job, "lead-0").unwrap();
    assert!(
        text.contains(r#","evaluator":["renamed-roles-judge-0.renamed-roles:3333"]},"task""#),
        "{text}"
    );
}

#[test]
fn a_task_that_the_plugin_does_not_know_keeps_its_name_and_one_pod_alone_gets_nothing() {
    let text = file("tests/fixtures/ok/volcano/svc-plugin-arguments.yaml");
    let two = job(&text.replace("    env: []\n", "    tensorflow: []\n")).job;
    let own = tf_config(&two, "data-loader-0").unwrap();
    assert!(
        own.ends_with(r#""task":{"type":"data-loader","index":0}}"#),
        "{own}"
    );
    assert!(!own.contains("data-loader-0"), "{own}");
    let alone = text.split("    - name: worker").next().unwrap();
    let alone = job(&alone.replace("    env: []\n", "    tensorflow: []\n")).job;
    assert_eq!(alone.cluster, ClusterForm::None);
}

#[test]
fn the_gang_asks_for_what_its_first_pods_ask_for() {
    let read = job(&file("tests/fixtures/ok/volcano/tutorial-hosts-from-files.yaml"));
    let Gang {
        scheduler,
        existing,
        members,
        per_role,
        queue,
        priority,
        resources,
        timeout,
        hold,
    } = read.job.gang.unwrap();
    assert_eq!((scheduler, existing, members), (GangScheduler::Volcano, None, 3));
    let per_role: BTreeMap<String, u32> = per_role
        .into_iter()
        .map(|(role, n)| (role.to_string(), n))
        .collect();
    assert_eq!(
        per_role,
        BTreeMap::from([("ps".to_owned(), 1), ("worker".to_owned(), 2)])
    );
    assert_eq!(
        (queue.as_deref(), priority, timeout, hold),
        (Some("default"), None, None, true)
    );
    let resources: BTreeMap<String, i64> = resources
        .into_iter()
        .map(|(name, n)| (name.to_string(), n))
        .collect();
    let pods = BTreeMap::from([("count/pods".to_owned(), 3000), ("pods".to_owned(), 3000)]);
    assert_eq!(resources, pods, "as seen on a real cluster");
}

#[test]
fn resources_are_counted_as_a_quota_counts_them() {
    let resources = |text: &str| {
        let gang = job(text).job.gang.unwrap();
        let units = gang
            .resources
            .into_iter()
            .map(|(name, milli)| (name.to_string(), milli / 1000));
        units.collect::<BTreeMap<_, _>>()
    };
    let text = file("examples/volcano/exit-codes.yaml");
    let all = resources(&text);
    let gibi = 1 << 30;
    let expected = [
        ("count/pods", 4),
        ("cpu", 32),
        ("limits.cpu", 32),
        ("limits.memory", 128 * gibi),
        ("memory", 128 * gibi),
        ("nvidia.com/gpu", 4),
        ("pods", 4),
        ("requests.cpu", 32),
        ("requests.memory", 128 * gibi),
        ("requests.nvidia.com/gpu", 4),
    ];
    let expected: BTreeMap<String, i64> = expected
        .into_iter()
        .map(|(name, n)| (name.to_owned(), n))
        .collect();
    assert_eq!(all, expected);
    // ps 1 of 1 CPU, worker 2 of 2: the tasks need 3 together; with 2 it is the first two in order.
    let text = file("examples/volcano/tensorflow-plugin.yaml");
    for (members, cpu) in [(3, 5), (2, 3), (1, 1)] {
        let text = text.replace("minAvailable: 3", &format!("minAvailable: {members}"));
        assert_eq!(resources(&text)["cpu"], cpu, "{members}");
    }
    // Needing only one worker at least, the third member is filled up from what is left.
    let text = text.replace("replicas: 2\n", "replicas: 2\n      minAvailable: 1\n");
    assert_eq!(resources(&text)["cpu"], 5);
}
