//! Pods run, end with their codes, and find each other by name.

use trainyard_cluster_tests::with_node;

use crate::exit_code;

const TWO_ENDS: &str = "
apiVersion: v1
kind: Pod
metadata: {name: good}
spec:
  restartPolicy: Never
  containers: [{name: c, image: busybox, imagePullPolicy: IfNotPresent, command: [sh, -c, 'echo done']}]
---
apiVersion: v1
kind: Pod
metadata: {name: bad}
spec:
  restartPolicy: Never
  containers: [{name: c, image: busybox, imagePullPolicy: IfNotPresent, command: [sh, -c, 'exit 3']}]
";

#[test]
fn a_pod_that_exits_0_and_one_that_exits_3_are_seen() {
    let Some(cluster) = with_node() else { return };
    let namespace = cluster.namespace("ends");
    namespace.apply(TWO_ENDS).good();
    assert_eq!(exit_code(&namespace, "good"), 0);
    assert_eq!(exit_code(&namespace, "bad"), 3);
    assert_eq!(namespace.kubectl(&["logs", "good"]).good(), "done\n");
}

/// One serves a page under its name in a headless Service; the other asks until it gets it.
const TWO_NAMES: &str = "
apiVersion: v1
kind: Service
metadata: {name: train}
spec: {clusterIP: None, publishNotReadyAddresses: true, selector: {job: train}, ports: [{port: 8080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: server, labels: {job: train}}
spec:
  hostname: train-ps-0
  subdomain: train
  terminationGracePeriodSeconds: 0
  containers:
  - name: c
    image: busybox
    imagePullPolicy: IfNotPresent
    command: [sh, -c, 'mkdir /www; echo found > /www/page; exec httpd -f -p 8080 -h /www']
---
apiVersion: v1
kind: Pod
metadata: {name: client, labels: {job: train}}
spec:
  hostname: train-worker-0
  subdomain: train
  restartPolicy: Never
  containers:
  # A program without the system's libraries, as busybox here, resolves no names.
  - name: c
    image: tensorflow/tensorflow:2.21.0
    command: [bash, -c]
    args:
    - |
      until { exec 3<>/dev/tcp/train-ps-0.train.NAMESPACE.svc/8080; } 2>/dev/null; do sleep 0.2; done
      printf 'GET /page HTTP/1.0\\r\\n\\r\\n' >&3
      tail -n 1 <&3
";

#[test]
fn pods_find_each_other_by_the_names_of_a_headless_service() {
    let Some(cluster) = with_node() else { return };
    let namespace = cluster.namespace("names");
    namespace
        .apply(&TWO_NAMES.replace("NAMESPACE", namespace.name()))
        .good();
    assert_eq!(exit_code(&namespace, "client"), 0);
    assert_eq!(namespace.kubectl(&["logs", "client"]).good(), "found\n");
}
