//! The operator's rights are what it uses: nothing more, nothing less, by the API server's own log.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trainyard_cluster_tests::{Account, Api, Asked as Seen, Crds, shared};
use trainyard_manifest::gang::Schedulers;
use trainyard_manifest::install::NAME;
use trainyard_manifest::install::access::{Asked, uses};
use trainyard_manifest::kinds::{JobApi, Kinds};

use super::{Harness, job};

/// What the table grants for these kinds and the audit log can show: `list pods.`
fn granted(kinds: &Kinds) -> BTreeSet<String> {
    uses(kinds)
        .filter(|used| used.asked == Asked::Request)
        .flat_map(|used| used.verbs.iter().map(move |verb| (verb, used)))
        .map(|(verb, used)| format!("{verb} {}.{}", used.resource, used.group))
        .collect()
}

/// Everything that an operator can come to do, in one namespace: a job that runs, ends, is cleaned up and deleted; one
/// whose pod belongs to another owner; a large one, whose Service does; and a Lease of another holder.
#[test]
fn every_right_is_used_and_nothing_is_used_without_a_right() {
    let mut harness = Harness::with("rights", &["--leader-elect"]);
    let policy = json!({ "cleanPodPolicy": "All", "ttlSecondsAfterFinished": 3 });
    harness.create(&job("small", &policy, &[("Worker", 1, "Never")]));
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "taken-worker-0" },
        "spec": { "containers": [{ "name": "c", "image": "not-ours" }] },
    });
    let api = shared().api();
    api.create(&harness.namespace.path("api/v1", "pods"), &pod)
        .unwrap();
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "large" },
        "spec": { "clusterIP": "None", "selector": { "app": "not-ours" } },
    });
    api.create(&harness.namespace.path("api/v1", "services"), &service)
        .unwrap();
    harness.create(&job("taken", &json!({}), &[("Worker", 1, "Never")]));
    harness.create(&job("large", &json!({}), &[("Worker", 100, "Never")]));
    harness.run(&["small-worker-0"]);
    harness.exit("small-worker-0", 0);
    api.wait_until_gone(&harness.path("small"));
    disturb_the_lease(&harness);
    // What it has made it knows; one that comes after it has to look.
    harness
        .operator
        .account()
        .wait_until_asked("a map", |asked| asked.resource == "configmaps");
    assert!(harness.operator.stop(), "it ends well when it is told to");
    harness.operator.says("stopping");
    harness.start();
    let wanted = granted(&Kinds::default());
    for right in &wanted {
        harness
            .operator
            .account()
            .wait_until_asked(right, |asked| asked.to_string() == *right);
    }
    let asked = harness.operator.account().asked();
    let used: BTreeSet<String> = asked.iter().map(ToString::to_string).collect();
    assert_eq!(used, wanted);
    let taken = api.get(&harness.namespace.pod("taken-worker-0")).unwrap();
    assert_eq!(
        taken["metadata"]["ownerReferences"],
        json!(null),
        "nothing is adopted"
    );
}

/// A job of a kind with one task, whose pod is `<word>-worker-0`; it is deleted at its end where the kind has a time to live.
pub fn sample(api: &JobApi) -> Value {
    let template = json!({ "spec": { "containers": [{ "name": "tensorflow", "image": "trainer" }] } });
    let spec = match api.word {
        "tfjob" => json!({
            "runPolicy": { "cleanPodPolicy": "All", "ttlSecondsAfterFinished": 0 },
            "tfReplicaSpecs": { "Worker": { "replicas": 1, "restartPolicy": "Never", "template": template } },
        }),
        "tensorflowtrainingjob" => {
            json!({ "replicaSpecs": [{ "type": "worker", "replicas": 1, "template": template }] })
        }
        "volcano" => json!({
            "minAvailable": 1, "ttlSecondsAfterFinished": 0, "plugins": { "svc": [] },
            "policies": [{ "event": "TaskCompleted", "action": "CompleteJob" }],
            "volumes": [{
                "mountPath": "/data",
                "volumeClaim": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
            }],
            "tasks": [{ "name": "worker", "replicas": 1, "template": template }],
        }),
        other => panic!("write a job of the kind {other}"),
    };
    json!({ "apiVersion": api.api_version, "kind": api.kind, "metadata": { "name": api.word }, "spec": spec })
}

/// Everything that the operator comes to do about jobs of one kind.
fn live(harness: &mut Harness, api: &JobApi) {
    let path = |plural: &str| {
        harness
            .namespace
            .path(&format!("apis/{}", api.api_version), plural)
    };
    let (jobs, pod) = (path(api.plural), format!("{}-worker-0", api.word));
    shared().api().create(&jobs, &sample(api)).unwrap();
    harness.run(&[&pod]);
    if api.word == "volcano" {
        // What it has made it knows; one that comes after it has to look.
        harness.kill();
        harness.start();
        let path = format!("{jobs}/{}", api.word);
        let mut object = shared().api().get(&path).unwrap();
        object["spec"]["tasks"][0]["replicas"] = 2.into();
        let change = json!({ "spec": { "tasks": object["spec"]["tasks"] } });
        shared().api().patch(&path, &change).unwrap();
        harness.run(&["volcano-worker-1"]);
        let target = json!({ "apiVersion": api.api_version, "kind": api.kind, "name": api.word });
        let command = json!({
            "apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "metadata": { "name": "sync" },
            "action": "SyncJob", "target": target,
        });
        let commands = harness.namespace.path("apis/bus.volcano.sh/v1alpha1", "commands");
        shared().api().create(&commands, &command).unwrap();
        shared().api().wait_until_gone(&format!("{commands}/sync"));
        harness.exit("volcano-worker-1", 0);
    }
    harness.exit(&pod, 0);
}

/// For each kind alone, and for all together. What does not differ between kinds is shown above.
#[test]
fn the_rights_of_each_set_of_kinds_are_used_and_those_of_other_kinds_are_not_asked_for() {
    let all = Kinds::all();
    let alone = all.apis().iter().map(|chosen| all.without(|api| api != *chosen));
    for (number, kinds) in alone.flatten().chain([all.clone()]).enumerate() {
        let flag = kinds.to_string();
        let mut harness = Harness::with(&format!("rights-{number}"), &["--kinds", &flag]);
        for api in kinds.apis() {
            live(&mut harness, api);
            let requests = api.uses.iter().filter(|used| used.asked == Asked::Request);
            for used in requests {
                for verb in used.verbs {
                    let right = format!("{verb} {}.{}", used.resource, used.group);
                    let account = harness.operator.account();
                    account.wait_until_asked(&right, |asked| asked.to_string() == right);
                }
            }
        }
        let wanted = granted(&kinds);
        let asked = harness.operator.account().asked();
        let used: BTreeSet<String> = asked.iter().map(ToString::to_string).collect();
        let more: Vec<&String> = used.difference(&wanted).collect();
        assert_eq!(more, Vec::<&String>::new(), "with {flag}");
    }
}

/// Writes to the lease until the operator comes too late with a write of its own, and has to read it again.
fn disturb_the_lease(harness: &Harness) {
    let lease = harness
        .namespace
        .path("apis/coordination.k8s.io/v1", "leases/trainyard-operator");
    let begun = Instant::now();
    let reads = |asked: &Seen| asked.verb == "get" && asked.resource == "leases";
    let mut count = 0;
    while !harness.operator.account().asked().iter().any(reads) {
        assert!(begun.elapsed() < Duration::from_mins(1), "it never came too late");
        for _ in 0..50 {
            count += 1;
            let change = json!({ "metadata": { "annotations": { "test/count": count.to_string() } } });
            shared().api().patch(&lease, &change).unwrap();
        }
    }
}

#[test]
fn it_cannot_read_secrets_run_commands_in_pods_or_give_rights_away() {
    let namespace = shared().namespace("cannot");
    let account = Account::of_operator(&namespace, Schedulers::default(), Kinds::default());
    let never = [
        ("get", "", "secrets"),
        ("list", "", "secrets"),
        ("create", "", "pods/exec"),
        ("create", "", "pods/attach"),
        ("update", "", "pods"),
        ("patch", "", "pods"),
        ("create", "", "serviceaccounts/token"),
        ("create", "rbac.authorization.k8s.io", "roles"),
        ("create", "rbac.authorization.k8s.io", "rolebindings"),
        ("escalate", "rbac.authorization.k8s.io", "clusterroles"),
        ("impersonate", "", "users"),
        ("update", "kubeflow.org", "tfjobs"),
        ("patch", "kubeflow.org", "tfjobs"),
        ("get", "", "nodes"),
        ("update", "apiextensions.k8s.io", "customresourcedefinitions"),
        ("update", "", "services"),
        ("delete", "", "configmaps"),
        ("list", "apps", "deployments"),
        ("create", "apps", "deployments"),
        ("delete", "coordination.k8s.io", "leases"),
    ];
    for (verb, group, resource) in never {
        assert!(
            !account.may(shared(), verb, group, resource),
            "it may {verb} {resource}"
        );
    }
    assert!(account.may(shared(), "create", "", "pods"));
    assert!(
        !account.may_in("default", shared(), "create", "", "pods"),
        "it is for one namespace"
    );
}

/// As the audit log cannot show it: the API server asks about finalizers while it looks at an owner.
#[test]
fn without_the_right_to_finalizers_nothing_can_hold_its_job() {
    let namespace = shared().namespace("owned");
    shared().install(Crds::TfJob);
    let account = Account::of_operator(&namespace, Schedulers::default(), Kinds::default());
    let jobs = namespace.path("apis/kubeflow.org/v1", "tfjobs");
    // Managed by another controller: operators of other tests watch their own namespaces only, but this makes it certain.
    let policy = json!({ "managedBy": "kueue.x-k8s.io/multikueue" });
    let owner = job("mnist", &policy, &[("Worker", 1, "Never")]);
    let uid = shared().api().create(&jobs, &owner).unwrap()["metadata"]["uid"].take();
    let owned = |name: &str| {
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": { "name": name, "ownerReferences": [{
                "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "name": "mnist", "uid": uid,
                "controller": true, "blockOwnerDeletion": true,
            }] },
            "spec": { "clusterIP": "None" },
        })
    };
    let services = namespace.path("api/v1", "services");
    let operator = Api::of(account.kubeconfig()).unwrap();
    operator.create(&services, &owned("allowed")).unwrap();
    let path = namespace.path("apis/rbac.authorization.k8s.io/v1", &format!("roles/{NAME}"));
    let mut role = shared().api().get(&path).unwrap();
    role["rules"]
        .as_array_mut()
        .unwrap()
        .retain(|rule| rule["resources"] != json!(["tfjobs/finalizers"]));
    shared().api().replace(&path, &role).unwrap();
    let refused = shared().api().wait(&path, "a refusal", |_| {
        // The authorizer learns of the change by a watch.
        let name = format!("refused-{}", std::process::id());
        let answer = operator.create(&services, &owned(&name));
        match answer {
            Ok(_) => {
                let _ = shared().api().delete(&format!("{services}/{name}"));
                None
            }
            Err(refused) => Some(refused),
        }
    });
    assert_eq!(refused.code, 403);
    assert!(refused.message.contains("blockOwnerDeletion"), "{refused}");
}
