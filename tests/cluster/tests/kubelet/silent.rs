//! A kubelet that is stopped: its node falls silent, is declared dead, and its pods are evicted by the real controllers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use trainyard_cluster_tests::{Cluster, Namespace, Node, Operator, with_mortal_node};

use crate::PATIENCE;

/// The real node.
const NODE: &str = "node-1";
/// One that the test plays: if no node at all were ready, nothing would be evicted.
const OTHER: &str = "node-2";

const JOB: &str = "
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: NAME}
spec:
  runPolicy: {cleanPodPolicy: Running, backoffLimit: 0, MORE}
  tfReplicaSpecs:
    Worker:
      replicas: 1
      restartPolicy: ExitCode
      template:
        spec:
          terminationGracePeriodSeconds: 2
          tolerations:
          - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 15}
          - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 15}
          containers: [{name: tensorflow, image: busybox, imagePullPolicy: IfNotPresent, command: [sleep, '3600']}]
";

fn create(namespace: &Namespace<'_>, name: &str, more: &str) {
    namespace
        .apply(&JOB.replace("NAME", name).replace("MORE", more))
        .good();
}

/// Waits for something in a job's status.
#[track_caller]
fn wait<T>(namespace: &Namespace<'_>, job: &str, what: &str, look: impl Fn(&Value) -> Option<T>) -> T {
    let path = namespace.path("apis/kubeflow.org/v1", &format!("tfjobs/{job}"));
    let api = namespace.cluster().api();
    api.wait_for(PATIENCE, &path, what, |object| look(&object["status"]))
}

/// Waits for a pod to be so.
#[track_caller]
fn wait_pod<T>(namespace: &Namespace<'_>, pod: &str, what: &str, look: impl Fn(&Value) -> Option<T>) -> T {
    let api = namespace.cluster().api();
    api.wait_for(PATIENCE, &namespace.pod(pod), what, look)
}

/// What is said of the silent node.
fn lost(status: &Value) -> Option<Value> {
    let waiting = status["waiting"].as_array()?;
    waiting.iter().find(|wait| wait["reason"] == "NodeLost").cloned()
}

fn stamp(pod: &Value) -> &Value {
    &pod["metadata"]["annotations"]["trainyard.dev/stamp"]
}

/// A second node that is ready for as long as `look` takes, and open for pods when told so.
fn beside_another(cluster: &Cluster, look: impl FnOnce()) {
    let player = cluster.player();
    player.renew(OTHER);
    player.node(&Node::ready(OTHER).closed());
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                player.renew(OTHER);
                thread::sleep(Duration::from_secs(1));
            }
        });
        // A test that fails must not wait for the kubelet of that node for ever.
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(look));
        over.store(true, Ordering::Relaxed);
        if let Err(panic) = looked {
            std::panic::resume_unwind(panic);
        }
    });
}

#[test]
fn a_stopped_kubelet_is_told_and_its_tasks_are_given_up_where_the_job_says_so() {
    let Some(cluster) = with_mortal_node() else { return };
    let namespace = cluster.namespace("silent");
    let _operator = Operator::of(&namespace);
    beside_another(&cluster, || {
        create(&namespace, "patient", "");
        create(&namespace, "gives-up", "lostNodeSeconds: 10");
        for job in ["patient", "gives-up"] {
            wait(&namespace, job, "a running worker", |status| {
                (status["replicaStatuses"]["Worker"]["active"] == 1).then_some(())
            });
        }
        let open = json!({ "spec": { "unschedulable": false } });
        cluster
            .api()
            .patch(&format!("/api/v1/nodes/{OTHER}"), &open)
            .unwrap();

        cluster.signal("kubelet", Signal::STOP);
        for job in ["patient", "gives-up"] {
            let told = wait(&namespace, job, "NodeLost", lost);
            assert_eq!((&told["node"], &told["pods"]), (&json!(NODE), &json!(1)));
        }
        let pod = cluster.api().get(&namespace.pod("patient-worker-0")).unwrap();
        assert_eq!(
            pod["metadata"]["deletionTimestamp"],
            Value::Null,
            "it is told before that"
        );
        // Events follow the status.
        let events = namespace.path("apis/events.k8s.io/v1", "events");
        cluster.api().wait(&events, "an event per job", |all| {
            let told = all["items"].as_array()?.iter();
            let told = told.filter(|event| event["reason"] == "NodeLost");
            (told.count() == 2).then_some(())
        });

        // Evicted, and given up.
        let made = wait_pod(&namespace, "gives-up-worker-0", "a second life", |pod| {
            (stamp(pod) == "0.1" && pod["spec"]["nodeName"].is_string()).then(|| pod.clone())
        });
        assert_eq!(made["spec"]["nodeName"], OTHER);
        wait(&namespace, "gives-up", "nothing to wait for", |status| {
            lost(status).is_none().then_some(())
        });
        let pod = cluster.api().get(&namespace.pod("patient-worker-0")).unwrap();
        assert_eq!(stamp(&pod), "0.0", "nothing is done without a word of the job");
        assert!(pod["metadata"]["deletionTimestamp"].is_string());
        let disrupted = |one: &Value| one["reason"] == "DeletionByTaintManager";
        assert!(
            pod["status"]["conditions"]
                .as_array()
                .unwrap()
                .iter()
                .any(disrupted)
        );
        wait(&namespace, "patient", "NodeLost", lost);

        // The kubelet is back: it ends what it was told to end.
        cluster.signal("kubelet", Signal::CONT);
        wait_pod(&namespace, "patient-worker-0", "a second life", |pod| {
            (stamp(pod) == "0.1").then_some(())
        });
        wait(&namespace, "patient", "nothing to wait for", |status| {
            lost(status).is_none().then_some(())
        });
    });
}
