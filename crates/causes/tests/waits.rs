//! What a cluster says about a pod that waits, in the words of real schedulers, kubelets and API servers (Kubernetes 1.37), and what a
//! user then reads.

use trainyard_causes::of_pod;

/// The word, the message; then the code, how the sentence begins, and words of the help.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const PULLED: &str = "failed to pull and unpack image \"docker.io/me/mnist:1\": failed to resolve reference \"docker.io/me/mnist:1\": ";

const OF_NODES: &[Row] = &[
    (
        "Unschedulable",
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
        "TR066",
        "no node has room for the pod: insufficient cpu",
        "resources.requests",
    ),
    (
        "Unschedulable",
        "0/5 nodes are available: 5 Insufficient nvidia.com/gpu.",
        "TR066",
        "no node has room for the pod: insufficient nvidia.com/gpu",
        "add nodes",
    ),
    (
        "Unschedulable",
        "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports. preemption: none",
        "TR067",
        "a port that the pod wants",
        "containerPort",
    ),
    (
        "Unschedulable",
        "0/1 nodes are available: 1 node(s) had untolerated taint {gpu: true}. preemption: none",
        "TR068",
        "no node fits the pod: 1 node(s) had untolerated taint",
        "tolerations",
    ),
    (
        "Unschedulable",
        "",
        "TR068",
        "no node fits the pod",
        "nodeSelector",
    ),
    (
        "Unschedulable",
        "0/1 nodes are available: persistentvolumeclaim \"data\" not found. not found",
        "TR070",
        "the PersistentVolumeClaim `data` does not exist",
        "create the claim `data`",
    ),
    (
        "Unschedulable",
        "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found",
        "TR071",
        "a PersistentVolumeClaim",
        "kubectl describe pvc",
    ),
    (
        "PodGroupPending",
        "3/3 tasks in gang unschedulable: pod group is not ready",
        "TR079",
        "3/3 tasks in gang unschedulable",
        "room for all of it",
    ),
];

const OF_CONTAINERS: &[Row] = &[
    (
        "ImagePullBackOff",
        "Back-off pulling image \"busybox:nope\": ErrImagePull: docker.io/library/busybox:nope: not found",
        "TR060",
        "the image `busybox:nope` does not exist",
        "`image`",
    ),
    (
        "ErrImagePull",
        "failed to pull and unpack image \"docker.io/library/nope:1\": pull access denied, repository does not exist or may require authorization",
        "TR061",
        "the registry refuses the image `docker.io/library/nope:1`",
        "imagePullSecrets",
    ),
    (
        "ErrImagePull",
        "failed to pull image \"a:1\": no match for platform in manifest: not found",
        "TR065",
        "it is built for another processor than the node's (exec format error): a:1",
        "architecture",
    ),
    (
        "ErrImageNeverPull",
        "Container image \"mnist:1\" is not present with pull policy of Never",
        "TR063",
        "the image `mnist:1` is not on the node",
        "IfNotPresent",
    ),
    (
        "InvalidImageName",
        "Failed to apply default image tag \"<USER>/mnist\": couldn't parse image name \"<USER>/mnist\": invalid reference format",
        "TR064",
        "`<USER>/mnist` is not the name of an image",
        "lower case",
    ),
    (
        "CreateContainerConfigError",
        "secret \"keys\" not found",
        "TR072",
        "`keys`, which `env`",
        "optional: true",
    ),
    (
        "CreateContainerConfigError",
        "couldn't find key user in Secret ml/keys",
        "TR072",
        "`user in Secret ml/keys`",
        "key",
    ),
    (
        "CreateContainerConfigError",
        "container has runAsNonRoot and image will run as root (pod: \"a_b(c)\", container: tensorflow)",
        "TR073",
        "the kubelet cannot set the container up: runAsNonRoot and image will run as root",
        "runAsUser",
    ),
    (
        "VolumesNotReady",
        "its node waits for its volumes, which need Secret `keys`",
        "TR074",
        "its node waits for its volumes, which need Secret `keys`",
        "optional: true",
    ),
];

const OF_API_SERVER: &[Row] = &[
    (
        "ExceededQuota",
        "pods \"a\" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1",
        "TR075",
        "the quota `few` of the namespace does not allow the pod: it asks for pods=1, in use are pods=1, the limit is pods=1",
        "kubectl describe quota",
    ),
    (
        "FailedCreatePod",
        "pods \"a\" is forbidden: failed quota: few: must specify limits.memory for: tensorflow",
        "TR090",
        "the quota `few` of the namespace demands what the template does not say: must specify limits.memory",
        "`resources` of every container",
    ),
    (
        "FailedCreatePod",
        "pods \"a\" is forbidden: maximum cpu usage per Container is 500m, but limit is 1",
        "TR092",
        "a LimitRange of the namespace forbids it: maximum cpu usage per Container is 500m, but limit is 1",
        "kubectl describe limitrange",
    ),
    (
        "FailedCreatePod",
        "pods \"a\" is forbidden: minimum memory usage per Pod is 1Gi, but request is 1Mi",
        "TR092",
        "a LimitRange of the namespace forbids it: minimum memory usage per Pod is 1Gi, but request is 1Mi",
        "resources",
    ),
    (
        "FailedCreatePod",
        "pods \"a\" is forbidden: violates PodSecurity \"restricted:latest\": allowPrivilegeEscalation != false",
        "TR076",
        "pod security (`restricted:latest`) refuses the pod: allowPrivilegeEscalation",
        "securityContext",
    ),
    (
        "FailedCreatePod",
        "admission webhook \"rules.example.org\" denied the request: no",
        "TR077",
        "an admission rule of the cluster refuses the pod: \"rules.example.org\" denied the request: no",
        "administrators",
    ),
    (
        "FailedCreatePod",
        "Internal error occurred: failed calling webhook \"rules.example.org\": failed to call webhook: connection refused",
        "TR091",
        "no pod can be created now, since a webhook of the cluster does not answer: \"rules.example.org\": failed to call webhook: connection refused",
        "the template is not at fault",
    ),
    (
        "FailedCreatePod",
        "pods \"a\" is forbidden: error looking up service account ml/trainer: serviceaccount \"trainer\" not found",
        "TR078",
        "the pod refers to `trainer`",
        "serviceAccountName",
    ),
    (
        "FailedCreatePod",
        "pods \"a\" is forbidden: no PriorityClass with name high was found",
        "TR078",
        "the pod refers to `high`",
        "priorityClassName",
    ),
];

#[test]
fn each_wait_names_its_cause_and_a_remedy() {
    let tables = [OF_NODES, OF_CONTAINERS, OF_API_SERVER];
    for (reason, message, code, sentence, help) in tables.into_iter().flatten() {
        let cause = of_pod(reason, message).unwrap_or_else(|| panic!("{reason}: {message}"));
        assert_eq!(cause.code.as_deref(), Some(*code), "{reason}: {message}");
        assert!(cause.sentence.starts_with(sentence), "{}", cause.sentence);
        let helps = cause.help.as_deref().unwrap_or_default();
        assert!(helps.contains(help), "{helps}");
    }
    let unreachable = format!("{PULLED}dial tcp: lookup docker.io: i/o timeout");
    let cause = of_pod("ErrImagePull", &unreachable).map(|cause| cause.sentence.to_string());
    assert_eq!(
        cause.as_deref(),
        Some("the image `docker.io/me/mnist:1` cannot be pulled")
    );
}

#[test]
fn words_that_are_not_known_have_no_cause() {
    for (reason, message) in [
        ("Queued", "waits in queue a"),
        ("FailedCreateService", "services \"mnist\" already exists"),
        ("", "exceeded quota: few, requested: a, used: b, limited: c"),
        ("FailedCreatePod", "the server is busy"),
    ] {
        assert_eq!(of_pod(reason, message), None, "{reason}: {message}");
    }
}
