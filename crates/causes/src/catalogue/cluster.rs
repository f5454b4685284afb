//! What a cluster says about a pod: the scheduler, the kubelet, the container runtime, the API server. Their word (`Reason`) comes
//! first, then their message, which is matched as output is.
//!
//! What a pod waits for has one class, since a metric counts failures alone.

use super::{
    Entry,
    When::{All, Code, Printed, Probed, Reason},
};

/// The class of everything that a pod waits for.
const WAITING: &str = "waiting";
/// The class of pods that ended before their program ran.
const NOT_STARTED: &str = "not-started";
/// The class of pods that exceeded a limit of their own.
const POD_LIMIT: &str = "pod-limit";

const PULL: &[&str] = &["ErrImagePull", "ImagePullBackOff"];
const UNSCHEDULABLE: &[&str] = &["Unschedulable"];
const CONFIG: &[&str] = &["CreateContainerConfigError"];
const REFUSED: &[&str] = &["FailedCreatePod", "ExceededQuota"];
const START: &[&str] = &[
    "StartError",
    "ContainerCannotRun",
    "RunContainerError",
    "CreateContainerError",
    "ContainerStatusUnknown.StartError",
];

pub(super) static ENTRIES: &[Entry] = &[
    Entry {
        number: 65,
        class: NOT_STARTED,
        title: "a program for another kind of processor",
        when: &[
            All(&[
                Reason(PULL),
                Printed("image \"{}\""),
                Printed("no match for platform in manifest"),
            ]),
            Printed("exec {}: exec format error"),
            Printed("exec format error"),
        ],
        says: Some("it is built for another processor than the node's (exec format error): {0}"),
        help: "use a build for this machine's processor; a script needs a first line such as `#!/bin/sh`",
        on_cluster: Some(
            "use an image that is built for the nodes' architecture, or place the pods on nodes that fit it (`nodeSelector`, label `kubernetes.io/arch`)",
        ),
        explanation: "\
The kernel cannot execute the program, because it was built for another architecture: an arm64 image on an amd64 node, or the reverse. `docker buildx build --platform linux/amd64,linux/arm64` builds an image for both; `kubectl get nodes -L kubernetes.io/arch` shows what the nodes are. A script without a first line such as `#!/bin/sh` gives the same error.",
    },
    Entry {
        number: 60,
        class: WAITING,
        title: "the image does not exist",
        when: &[
            All(&[Reason(PULL), Printed("image \"{}\""), Printed(": not found")]),
            All(&[Reason(PULL), Printed("image \"{}\""), Printed("manifest unknown")]),
        ],
        says: Some("the image `{0}` does not exist"),
        help: "correct `image` (name and tag), or push the image",
        on_cluster: None,
        explanation: "\
The registry answered that it has no image of this name and tag. The job waits: the kubelet asks again every few minutes, so an image that is pushed later is found. A job whose image was misspelt is deleted and created anew, since the template of a job that runs is not applied to its pods.",
    },
    Entry {
        number: 61,
        class: WAITING,
        title: "the registry refuses the image",
        when: &[
            All(&[
                Reason(PULL),
                Printed("image \"{}\""),
                Printed("pull access denied"),
            ]),
            All(&[
                Reason(PULL),
                Printed("image \"{}\""),
                Printed("authorization failed"),
            ]),
            All(&[Reason(PULL), Printed("image \"{}\""), Printed("unauthorized")]),
            All(&[Reason(PULL), Printed("image \"{}\""), Printed("401 Unauthorized")]),
            All(&[Reason(PULL), Printed("image \"{}\""), Printed("403 Forbidden")]),
        ],
        says: Some("the registry refuses the image `{0}`: it does not exist, or needs credentials"),
        help: "correct `image`, or name a Secret with credentials in `imagePullSecrets` of the template",
        on_cluster: None,
        explanation: "\
Registries answer in the same way about an image that does not exist and about one that the caller may not see. `kubectl create secret docker-registry NAME` makes a Secret with credentials; `imagePullSecrets: [{name: NAME}]` in the pod template, or on the service account, uses it.",
    },
    Entry {
        number: 62,
        class: WAITING,
        title: "the image cannot be pulled",
        when: &[All(&[Reason(PULL), Printed("image \"{}\"")]), Reason(PULL)],
        says: Some("the image `{0}` cannot be pulled"),
        help: "the registry cannot be reached from the node: check the host in `image`, proxies and mirrors",
        on_cluster: None,
        explanation: "\
The node could not fetch the image: the name of the registry's host is wrong, the node has no way to it, a proxy or a certificate is missing, or the registry limits how often it is asked. The kubelet's own words are in the message, and it goes on trying.",
    },
    Entry {
        number: 63,
        class: WAITING,
        title: "the image is not on the node",
        when: &[
            All(&[Reason(&["ErrImageNeverPull"]), Printed("image \"{}\"")]),
            Reason(&["ErrImageNeverPull"]),
        ],
        says: Some("the image `{0}` is not on the node, and `imagePullPolicy: Never` forbids to pull it"),
        help: "load the image on every node, or set `imagePullPolicy: IfNotPresent`",
        on_cluster: None,
        explanation: "\
With `imagePullPolicy: Never` a node uses only images that it has. `kind load docker-image` and `minikube image load` put one there; on a cluster with several nodes every node needs it.",
    },
    Entry {
        number: 64,
        class: WAITING,
        title: "the name of the image is invalid",
        when: &[
            All(&[Reason(&["InvalidImageName"]), Printed("parse image name \"{}\"")]),
            Reason(&["InvalidImageName"]),
        ],
        says: Some("`{0}` is not the name of an image"),
        help: "correct `image`: REGISTRY/NAME:TAG in lower case, without a scheme such as https://",
        on_cluster: None,
        explanation: "\
The name of an image is REGISTRY/NAME:TAG. Capital letters in NAME, spaces, a scheme (`https://`) and placeholders that were not filled in are not allowed.",
    },
    Entry {
        number: 70,
        class: WAITING,
        title: "a claim does not exist",
        when: &[All(&[
            Reason(UNSCHEDULABLE),
            Printed("persistentvolumeclaim \"{}\" not found"),
        ])],
        says: Some("the PersistentVolumeClaim `{0}` does not exist"),
        help: "create the claim `{0}` in the namespace of the job, or correct `claimName`",
        on_cluster: None,
        explanation: "\
A volume of the template names a PersistentVolumeClaim that is not in the namespace of the job. The scheduler places the pod once the claim exists and is bound.",
    },
    Entry {
        number: 71,
        class: WAITING,
        title: "a claim is not bound",
        when: &[
            All(&[
                Reason(UNSCHEDULABLE),
                Printed("unbound immediate PersistentVolumeClaims"),
            ]),
            All(&[
                Reason(UNSCHEDULABLE),
                Printed("didn't find available persistent volumes to bind"),
            ]),
            All(&[Reason(UNSCHEDULABLE), Printed("volume node affinity conflict")]),
        ],
        says: Some("a PersistentVolumeClaim of the pod has no volume that it could use"),
        help: "`kubectl describe pvc` says what the claim waits for: its storage class, or a volume where the pod may run",
        on_cluster: None,
        explanation: "\
The claim exists and has no volume: its storage class does not exist or makes none, no volume is large enough, or the volume is in a zone where no node has room for the pod. A claim that is `ReadWriteOnce` serves pods on one node only.",
    },
    Entry {
        number: 67,
        class: WAITING,
        title: "a port of the node is taken",
        when: &[
            All(&[Reason(UNSCHEDULABLE), Printed("didn't have free ports")]),
            Reason(&["NodePorts"]),
        ],
        says: Some(
            "a port that the pod wants on its node (`hostNetwork` or `hostPort`) is taken on every node that it may use",
        ),
        help: "choose another `containerPort`, remove `hostNetwork: true`, or add nodes: two pods with one port do not fit on one node",
        on_cluster: None,
        explanation: "\
With `hostNetwork: true` every port of a container is a port of the node, and a node gives each port once. Tasks of one role have the same port, so each needs a node of its own. `kubectl get pods -A -o wide` shows what else runs on the nodes.",
    },
    Entry {
        number: 66,
        class: WAITING,
        title: "no node has room for the pod",
        when: &[
            All(&[Reason(UNSCHEDULABLE), Printed("Insufficient {}. ")]),
            All(&[Reason(UNSCHEDULABLE), Printed("Insufficient {}")]),
            All(&[Reason(UNSCHEDULABLE), Printed("Too many pods")]),
        ],
        says: Some("no node has room for the pod: insufficient {0}"),
        help: "lower `resources.requests` of the template, wait until other pods end, or add nodes",
        on_cluster: None,
        explanation: "\
The scheduler found no node with as much free as the containers of the pod request together. What counts is what pods request, not what they use: `kubectl describe nodes` shows what each node has and what is requested of it. A request that is larger than the largest node is never met. GPUs are requested as `nvidia.com/gpu`, and exist only on nodes with the vendor's device plugin.",
    },
    Entry {
        number: 68,
        class: WAITING,
        title: "no node fits the pod",
        when: &[
            All(&[Reason(UNSCHEDULABLE), Printed("nodes are available: {}. ")]),
            All(&[Reason(UNSCHEDULABLE), Printed("nodes are available: {}")]),
            Reason(UNSCHEDULABLE),
        ],
        says: Some("no node fits the pod: {0}"),
        help: "compare `nodeSelector`, `affinity` and `tolerations` of the template with the nodes (`kubectl get nodes --show-labels`)",
        on_cluster: None,
        explanation: "\
Every node was left out: its labels do not fit `nodeSelector` or `affinity`, it has a taint that the template does not tolerate, or it is cordoned. `kubectl describe nodes` shows labels and taints.",
    },
    Entry {
        number: 72,
        class: WAITING,
        title: "a ConfigMap or Secret of the environment does not exist",
        when: &[
            All(&[Reason(CONFIG), Printed("configmap \"{}\" not found")]),
            All(&[Reason(CONFIG), Printed("secret \"{}\" not found")]),
            All(&[Reason(CONFIG), Printed("couldn't find key {}")]),
        ],
        says: Some("`{0}`, which `env` or `envFrom` of a container names, does not exist"),
        help: "create the ConfigMap, Secret or key in the namespace of the job, correct its name, or set `optional: true`",
        on_cluster: None,
        explanation: "\
A variable of the container comes from a ConfigMap or Secret that is not in the namespace of the job, or that lacks the key. The kubelet looks again every few seconds, so the pod starts once it exists.",
    },
    Entry {
        number: 73,
        class: WAITING,
        title: "the container cannot be configured",
        when: &[
            All(&[Reason(CONFIG), Printed("container has {} (pod:")]),
            All(&[Reason(CONFIG), Printed("{}")]),
        ],
        says: Some("the kubelet cannot set the container up: {0}"),
        help: "correct what it names in the template: `securityContext.runAsUser` for an image that runs as root, `subPath` of a volume",
        on_cluster: None,
        explanation: "\
The kubelet refuses to create the container as the template describes it. The usual case: `runAsNonRoot: true` with an image whose user is root, or whose user has a name and no number; `runAsUser: 1000` names one.",
    },
    Entry {
        number: 74,
        class: WAITING,
        title: "the volumes of a pod are not ready",
        when: &[
            All(&[Reason(&["VolumesNotReady"]), Printed("{}")]),
            Reason(&["VolumesNotReady"]),
        ],
        says: Some("{0}"),
        help: "create what is missing in the namespace of the job, or set `optional: true`; `kubectl describe pod` says which it is",
        on_cluster: None,
        explanation: "\
A node begins to run a pod once all of its volumes are there. Of a Secret or ConfigMap that does not exist the kubelet says nothing in the pod's status, only in an event (FailedMount), and the operator has no right to read Secrets: so it names everything that the volumes of the pod refer to. A PersistentVolumeClaim that exists may also take a while to be attached.",
    },
    Entry {
        number: 75,
        class: WAITING,
        title: "the quota of the namespace is used up",
        when: &[All(&[
            Reason(REFUSED),
            Printed("exceeded quota: {}, requested: {}, used: {}, limited: {}"),
        ])],
        says: Some(
            "the quota `{0}` of the namespace does not allow the pod: it asks for {1}, in use are {2}, the limit is {3}",
        ),
        help: "wait until other pods of the namespace end, lower `resources` or the number of tasks, or have the quota raised (`kubectl describe quota`)",
        on_cluster: None,
        explanation: "\
A ResourceQuota limits what all pods of the namespace use together. The operator tries again by itself, so the job goes on when there is room. If the limit is less than the whole job asks for, there never is: the tasks that exist count too.",
    },
    Entry {
        number: 90,
        class: WAITING,
        title: "a quota demands that the pod says what it requests",
        when: &[All(&[Reason(REFUSED), Printed("failed quota: {}: {}")])],
        says: Some("the quota `{0}` of the namespace demands what the template does not say: {1}"),
        help: "set it under `resources` of every container of the template, or have administrators set defaults (LimitRange)",
        on_cluster: None,
        explanation: "\
A ResourceQuota for cpu or memory counts what containers request, so each of them must say it: `must specify limits.memory` means that `resources.limits.memory` is missing. A LimitRange with defaults in the namespace does the same for all pods.",
    },
    Entry {
        number: 92,
        class: WAITING,
        title: "a limit of the namespace forbids what a container asks for",
        when: &[All(&[
            Reason(REFUSED),
            Printed("m{}imum {} usage per {} is {}, but {}"),
        ])],
        says: Some("a LimitRange of the namespace forbids it: m{0}imum {1} usage per {2} is {3}, but {4}"),
        help: "change `resources` of the template, or ask for another LimitRange (`kubectl describe limitrange`)",
        on_cluster: None,
        explanation: "\
A LimitRange bounds what one container or pod of the namespace may request or be limited to. The operator tries again by itself, so the job goes on once the template or the LimitRange is changed.",
    },
    Entry {
        number: 76,
        class: WAITING,
        title: "pod security refuses the pod",
        when: &[All(&[
            Reason(REFUSED),
            Printed("violates PodSecurity \"{}\": {}"),
        ])],
        says: Some("pod security (`{0}`) refuses the pod: {1}"),
        help: "set what it names in `securityContext` of the template, or use a namespace with a lower level",
        on_cluster: None,
        explanation: "\
The namespace enforces a pod security standard (label `pod-security.kubernetes.io/enforce`), and the template does not meet it. For `restricted` every container needs `allowPrivilegeEscalation: false`, `capabilities: {drop: [ALL]}`, `runAsNonRoot: true` and `seccompProfile: {type: RuntimeDefault}`. docs/security.md shows which templates each level admits.",
    },
    Entry {
        number: 91,
        class: WAITING,
        title: "a webhook of the cluster does not answer",
        when: &[All(&[Reason(REFUSED), Printed("failed calling webhook {}: {}")])],
        says: Some("no pod can be created now, since a webhook of the cluster does not answer: {0}: {1}"),
        help: "tell the administrators who installed the webhook; the template is not at fault, and the job goes on when it answers",
        on_cluster: None,
        explanation: "\
Administrators let a program of theirs look at every pod that is created, and the API server refuses pods while that program does not answer. `kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations` lists them. The operator tries again by itself.",
    },
    Entry {
        number: 77,
        class: WAITING,
        title: "an admission rule refuses the pod",
        when: &[
            All(&[
                Reason(REFUSED),
                Printed("admission webhook {}"),
                Printed("denied the request"),
            ]),
            All(&[Reason(REFUSED), Printed("ValidatingAdmissionPolicy {}")]),
        ],
        says: Some("an admission rule of the cluster refuses the pod: {0}"),
        help: "change the template as it says, or ask the administrators who installed it",
        on_cluster: None,
        explanation: "\
Administrators let a program or a policy of theirs look at every pod that is created: a policy engine, a service mesh, a ValidatingAdmissionPolicy. It refused this one. The operator tries again by itself.",
    },
    Entry {
        number: 78,
        class: WAITING,
        title: "something that the pod refers to does not exist",
        when: &[
            All(&[Reason(REFUSED), Printed("serviceaccount \"{}\" not found")]),
            All(&[
                Reason(REFUSED),
                Printed("no PriorityClass with name {} was found"),
            ]),
            All(&[Reason(REFUSED), Printed("RuntimeClass \"{}\" not found")]),
        ],
        says: Some(
            "the pod refers to `{0}`, which does not exist (service account, priority class or runtime class)",
        ),
        help: "create `{0}`, or correct `serviceAccountName`, `priorityClassName` or `runtimeClassName` of the template",
        on_cluster: None,
        explanation: "\
The API server admits a pod only if its service account is in the namespace of the job and its priority class and runtime class exist. The operator tries again by itself, so the job goes on once they do.",
    },
    Entry {
        number: 79,
        class: WAITING,
        title: "a pod waits for the rest of its gang",
        when: &[All(&[Reason(&["PodGroupPending"]), Printed("{}")])],
        says: Some("{0}"),
        help: "the gang is placed when there is room for all of it: wait, add nodes, or lower `resources.requests` or `minAvailable`",
        on_cluster: None,
        explanation: "\
A gang scheduler places enough tasks of a job or none, and there is not room for that many now. The scheduler's words are in the message. `trainyard plan` shows how much the gang asks for; docs/gangs.md, what each scheduler does.",
    },
    Entry {
        number: 80,
        class: POD_LIMIT,
        title: "the pod ran longer than its own deadline",
        when: &[Reason(&["DeadlineExceeded"])],
        says: Some(
            "the pod ran longer than `activeDeadlineSeconds` of its template allows, and the kubelet killed it",
        ),
        help: "raise `activeDeadlineSeconds` in the pod template, or remove it: that of `runPolicy` limits the whole job",
        on_cluster: None,
        explanation: "\
`activeDeadlineSeconds` in a pod template limits each pod by itself, from the moment it is placed. It is not the field of the same name in `runPolicy`, which limits the job.",
    },
    Entry {
        number: 81,
        class: POD_LIMIT,
        title: "the kubelet evicted the pod",
        when: &[All(&[Reason(&["Evicted"]), Printed("{}")]), Reason(&["Evicted"])],
        says: Some("the kubelet evicted the pod: {0}"),
        help: "raise the limit that it names: `ephemeral-storage` of the container, `sizeLimit` of an emptyDir; or write to a volume",
        on_cluster: None,
        explanation: "\
The pod used more disk than it may: files in its containers, logs and emptyDir volumes count toward `ephemeral-storage`. Checkpoints and data sets belong on a volume. An eviction because the whole node ran short is a disruption, and costs the job nothing.",
    },
    Entry {
        number: 82,
        class: "liveness",
        title: "the kubelet killed the container, most likely for a probe",
        when: &[
            All(&[Probed, Reason(&["Error"]), Code(137)]),
            All(&[Probed, Reason(&["Error"]), Code(143)]),
        ],
        says: Some("it was killed, most likely by the kubelet because its liveness or startup probe failed"),
        help: "training starves a probe: raise `timeoutSeconds` and `failureThreshold` of `livenessProbe`, or remove it; `kubectl describe pod` shows failed probes",
        on_cluster: None,
        explanation: "\
The container has a liveness or startup probe, and it was ended by a signal though its pod was not deleted. The status of a pod does not say that a probe did it; events do (`Unhealthy`, `Killing`), and the operator reads none. A program that uses every core answers late. A training that hangs is found by a probe, but a job that ends by itself seldom needs one.",
    },
    Entry {
        number: 83,
        class: "killed",
        title: "the container ended as if it was killed",
        when: &[All(&[Reason(&["Error"]), Code(137)])],
        says: Some(
            "exit code 137, as after SIGKILL; the cluster does not say that it reached its memory limit, and cannot tell more",
        ),
        help: "the node may have run out of memory (set `resources.requests.memory` and `limits.memory`), a process in the pod may have killed it, or the program ends with that code by itself; `kubectl describe pod` and the node's log show more",
        on_cluster: None,
        explanation: "\
The program received SIGKILL. Its container's reason would be OOMKilled if it had reached its own limit; its pod was neither deleted nor evicted, and has no liveness probe. What is left: the kernel of the node killed it because the node had no memory (a container without a limit is first), or a process in the pod did, or the program exits with 137 by itself.",
    },
    Entry {
        number: 84,
        class: "killed",
        title: "the kubelet lost the container",
        when: &[Reason(&["ContainerStatusUnknown"])],
        says: Some(
            "the kubelet lost its container: its sandbox failed, the node was restarted, or the container was removed",
        ),
        help: "look at the node (`kubectl describe node`) and the log of its container runtime; the exit code 137 was not the program's",
        on_cluster: None,
        explanation: "\
The kubelet says that it could not find the container when the pod had ended, so nothing is known about how the program ended. The node or its container runtime was restarted, or the pod's sandbox died.",
    },
    Entry {
        number: 85,
        class: NOT_STARTED,
        title: "the program is not in the image",
        when: &[
            All(&[
                Reason(START),
                Printed("exec: \"{}\": executable file not found in $PATH"),
            ]),
            All(&[
                Reason(START),
                Printed("exec: \"{}\": stat {}: no such file or directory"),
            ]),
            All(&[Reason(START), Printed("exec: \"{}\": no such file or directory")]),
        ],
        says: Some("the program `{0}` is not in the image"),
        help: "correct `command` of the container, or use an image that has `{0}`",
        on_cluster: None,
        explanation: "\
The first word of `command` is a program of the image: a path, or a name on its PATH. Words with spaces in them are one word: `command: [\"python train.py\"]` looks for a program of that name, `command: [python, train.py]` is meant. `args` alone are arguments of the image's own entry point.",
    },
    Entry {
        number: 86,
        class: NOT_STARTED,
        title: "the program may not be executed",
        when: &[All(&[Reason(START), Printed("exec: \"{}\": permission denied")])],
        says: Some("`{0}` may not be executed (permission denied)"),
        help: "`chmod +x` it in the image, or call it through its interpreter: `command: [python, train.py]`; files of a ConfigMap need `defaultMode: 0755`",
        on_cluster: None,
        explanation: "\
The file is there, and its mode does not let the user of the container execute it, or it lies on a volume that is mounted without the right to execute.",
    },
    Entry {
        number: 87,
        class: NOT_STARTED,
        title: "the working directory does not exist",
        when: &[All(&[Reason(START), Printed("chdir to cwd (\"{}\")")])],
        says: Some("the working directory `{0}` is not in the image, or may not be entered"),
        help: "correct `workingDir` of the container",
        on_cluster: None,
        explanation: "\
The container starts in `workingDir`, which must be in the image or on one of its volumes, and which its user must be able to enter.",
    },
    Entry {
        number: 88,
        class: NOT_STARTED,
        title: "the container could not be started",
        when: &[
            All(&[Reason(START), Printed("unable to start container process: {}")]),
            All(&[Reason(START), Printed("OCI runtime create failed: {}")]),
            All(&[Reason(START), Printed("{}")]),
            Reason(START),
        ],
        says: Some("the container could not be started: {0}"),
        help: "check `command`, `workingDir`, `volumeMounts` and `securityContext` of the container",
        on_cluster: None,
        explanation: "\
The container runtime of the node could not start the program, and says why in the message: a mount that does not fit (a file over a directory), a device that is missing, a user that does not exist, too little memory to start anything.",
    },
    Entry {
        number: 89,
        class: NOT_STARTED,
        title: "the node refused the pod",
        when: &[
            All(&[
                Reason(&["OutOfcpu", "OutOfmemory", "OutOfpods", "OutOfephemeral-storage"]),
                Printed("{}"),
            ]),
            All(&[Reason(&["NodeAffinity"]), Printed("{}")]),
            All(&[
                Reason(&["UnexpectedAdmissionError", "TopologyAffinityError"]),
                Printed("{}"),
            ]),
        ],
        says: Some("the node refused the pod before it ran: {0}"),
        help: "let a scheduler choose the node (no `nodeName` in the template), and compare `resources`, `nodeSelector` and `affinity` with the node",
        on_cluster: None,
        explanation: "\
A kubelet looks again at what the scheduler has decided: whether the node has room, and whether its labels fit. It refuses a pod that was sent there by `nodeName`, or that was placed when the node was about to change. A few refusals in a row cost the job nothing; the sixth is a failure.",
    },
];
