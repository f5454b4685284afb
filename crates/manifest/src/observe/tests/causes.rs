//! Why a pod failed or waits, by every shape of status that a kubelet was seen to write.

use proptest::prelude::*;

use super::*;

fn ended_with(code: i32, reason: &str, message: &str) -> Value {
    let mut status = terminated(code, reason);
    status["status"]["containerStatuses"][0]["state"]["terminated"]["message"] = message.into();
    status
}

/// Code of the cause, its headline, and its help.
fn found(pod: Value) -> (String, String, String) {
    let exit = exit(pod);
    let cause = exit
        .cause
        .as_ref()
        .unwrap_or_else(|| panic!("no cause: {exit:?}"));
    let text = |text: &Option<Arc<str>>| text.as_deref().unwrap_or_default().to_owned();
    (text(&cause.code), cause.headline(), text(&cause.help))
}

const MODULE: &str = "Traceback (most recent call last):\n  File \"/app/train.py\", line 2, in <module>\n    import pandas\nModuleNotFoundError: No module named 'pandas'\n";
const NO_NAME: &str = "Traceback (most recent call last):\n  File \"/app/train.py\", line 9, in <module>\n    socket.getaddrinfo(host, 80)\nsocket.gaierror: [Errno -3] Temporary failure in name resolution\n";
const NO_PROGRAM: &str = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: exec: \"pyton\": executable file not found in $PATH: unknown";
const NO_FILE: &str = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: \"/nope\": stat /nope: no such file or directory: unknown";
const NO_FOLDER: &str = "OCI runtime create failed: runc create failed: unable to start container process: chdir to cwd (\"/data\") set in config.json failed: no such file or directory: unknown";

/// Exit code, reason and message of a container; then the code of the cause, how its headline begins, and a word of its help.
type End = (
    i32,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const ENDS: &[End] = &[
    (
        1,
        "Error",
        MODULE,
        "TR001",
        "ModuleNotFoundError: No module named 'pandas' (train.py:2)",
        "image",
    ),
    (
        137,
        "OOMKilled",
        "step 1",
        "TR008",
        "out of memory",
        "resources.limits.memory",
    ),
    (
        1,
        "OOMKilled",
        MODULE,
        "TR008",
        "out of memory",
        "resources.limits.memory",
    ),
    (
        137,
        "Error",
        "step 1",
        "TR083",
        "exit code 137, as after SIGKILL; the cluster does not say that it reached its memory limit",
        "kubectl describe pod",
    ),
    (
        137,
        "ContainerStatusUnknown",
        "The container could not be located when the pod was terminated",
        "TR084",
        "the kubelet lost its container",
        "node",
    ),
    (
        128,
        "StartError",
        NO_PROGRAM,
        "TR085",
        "the program `pyton` is not in the image",
        "`command`",
    ),
    (
        128,
        "StartError",
        NO_FILE,
        "TR085",
        "the program `/nope` is not in the image",
        "`/nope`",
    ),
    (
        128,
        "StartError",
        NO_FOLDER,
        "TR087",
        "the working directory `/data` is not in the image",
        "`workingDir`",
    ),
    (
        128,
        "StartError",
        "some other trouble",
        "TR088",
        "the container could not be started: some other trouble",
        "`volumeMounts`",
    ),
    (
        128,
        "ContainerCannotRun",
        "",
        "TR088",
        "the container could not be started",
        "`command`",
    ),
    (
        1,
        "Error",
        "exec /usr/bin/python: exec format error",
        "TR065",
        "it is built for another processor than the node's (exec format error): /usr/bin/python",
        "architecture",
    ),
    (
        1,
        "Error",
        "OSError: [Errno 98] Address already in use",
        "TR007",
        "",
        "",
    ),
    (1, "Error", NO_NAME, "TR016", "", "kube-dns"),
    (
        1,
        "Error",
        "no data found\n",
        "",
        "exit code 1, after it printed: no data found",
        "",
    ),
    (
        3,
        "Error",
        "giving up",
        "",
        "exit code 3, after it printed: giving up",
        "",
    ),
    (
        127,
        "Error",
        "train.sh: line 1: pyton: command not found",
        "TR023",
        "a command was not found",
        "image",
    ),
];

#[test]
fn each_end_of_a_container_names_its_cause_and_a_remedy() {
    for (code, reason, message, expected, headline, help) in ENDS {
        let (found, said, helps) = found(pod("Failed", ended_with(*code, reason, message)));
        assert_eq!(found, *expected, "{reason} {code} {message}: {said}");
        assert!(said.starts_with(headline), "{said}");
        assert!(helps.contains(help), "{helps}");
    }
    let silent = exit(pod("Failed", terminated(3, "Error")));
    assert_eq!(silent.cause, None, "nothing was said");
    let done = exit(pod("Succeeded", ended_with(0, "Completed", MODULE)));
    assert_eq!(done.cause, None, "it has not failed");
}

/// Seen: each was called a kill by the node or a user.
#[test]
fn a_deadline_of_the_pod_a_probe_and_an_eviction_are_no_mere_kills() {
    let whole = |reason: &str, message: &str| json!({ "status": { "reason": reason, "message": message } });
    let deadline = whole(
        "DeadlineExceeded",
        "Pod was active on the node longer than the specified deadline",
    );
    let (code, said, help) = found(pod("Failed", with(ended_with(137, "Error", MODULE), &deadline)));
    assert_eq!(code, "TR080", "{said}");
    assert!(
        help.contains("`activeDeadlineSeconds` in the pod template"),
        "{help}"
    );
    // The same of a program that exits by itself when it is told to stop, and of one that never began.
    for rest in [
        ended_with(1, "Error", MODULE),
        ended_with(0, "Completed", ""),
        json!({}),
    ] {
        assert_eq!(found(pod("Failed", with(rest, &deadline))).0, "TR080");
    }
    let words = "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ";
    let evicted = with(ended_with(137, "Error", ""), &whole("Evicted", words));
    let (code, said, help) = found(pod("Failed", evicted));
    assert_eq!(
        (&*code, said.contains("local storage usage exceeds")),
        ("TR081", true),
        "{said}"
    );
    assert!(help.contains("ephemeral-storage"), "{help}");

    let probed = |probe: &str| json!({ "spec": { "containers": [{ "name": "tensorflow", probe: {} }] } });
    for probe in ["livenessProbe", "startupProbe"] {
        let (code, said, help) = found(pod(
            "Failed",
            with(ended_with(137, "Error", MODULE), &probed(probe)),
        ));
        assert_eq!(code, "TR082", "{said}");
        assert!(help.contains("livenessProbe"), "{help}");
    }
    let (code, ..) = found(pod(
        "Failed",
        with(ended_with(137, "Error", ""), &probed("readinessProbe")),
    ));
    assert_eq!(code, "TR083", "a readiness probe kills nothing");
    let (code, ..) = found(pod(
        "Failed",
        with(ended_with(137, "OOMKilled", ""), &probed("livenessProbe")),
    ));
    assert_eq!(code, "TR008", "the kernel's word counts more");
}

#[test]
fn pods_that_never_ran_name_the_cause_of_that() {
    let init = |code: i32, reason: &str, message: &str| {
        let mut status = json!({ "status": { "initContainerStatuses": [{ "name": "fetch" }] } });
        let end = &mut status["status"]["initContainerStatuses"][0]["state"]["terminated"];
        *end = json!({ "exitCode": code, "reason": reason, "message": message, "startedAt": "2026-01-01T00:00:10Z" });
        pod("Failed", status)
    };
    let failed = exit(init(3, "Error", "fetching\nno such bucket"));
    assert_eq!(
        failed.meaning(),
        "its init container `fetch` failed: exit code 3, after it printed: no such bucket"
    );
    let missing = exit(init(128, "StartError", NO_FILE));
    assert!(
        missing
            .meaning()
            .contains("the program `/nope` is not in the image"),
        "{missing:?}"
    );
    for (reason, message, code) in [
        (
            "OutOfcpu",
            "Node didn't have enough resource: cpu, requested: 2000, used: 0, capacity: 1000",
            "TR089",
        ),
        (
            "NodeAffinity",
            "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
            "TR089",
        ),
        (
            "NodePorts",
            "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
            "TR067",
        ),
    ] {
        let refused = pod(
            "Failed",
            json!({ "status": { "reason": reason, "message": message } }),
        );
        let rejected = exit(refused.clone());
        assert!(rejected.is_rejection(), "{rejected:?}");
        assert_eq!(found(refused).0, code);
    }
}

#[test]
fn an_end_that_was_asked_for_has_no_cause() {
    let deleted = json!({ "metadata": {
        "deletionTimestamp": "2026-01-01T00:01:00Z", "deletionGracePeriodSeconds": 30 } });
    let drained = exit(pod("Failed", with(ended_with(143, "Error", MODULE), &deleted)));
    assert_eq!((drained.asked, drained.cause), (true, None));
    let marked = json!({ "status": { "conditions": [{ "type": "DisruptionTarget", "status": "True" }] } });
    let evicted = exit(pod("Failed", with(ended_with(137, "Error", MODULE), &marked)));
    assert_eq!((evicted.asked, evicted.cause), (true, None));
}

/// In place: the kubelet shows, one after the other, an end, a back-off and a new life, and all of it is one loop.
#[test]
fn a_crash_loop_is_told_between_its_back_offs_too() {
    let of = |restarts: u32, state: Value| {
        let last = ended_with(1, "Error", MODULE)["status"]["containerStatuses"][0]["state"].clone();
        waits(
            json!({ "spec": { "restartPolicy": "OnFailure" }, "status": { "phase": "Running", "containerStatuses": [
            { "name": "tensorflow", "restartCount": restarts, "state": state, "lastState": last },
        ] } }),
        )
    };
    let running = json!({ "running": { "startedAt": "2026-01-01T00:02:00Z" } });
    let failed = json!({ "terminated": { "exitCode": 1, "finishedAt": "2026-01-01T00:02:00Z" } });
    let done = json!({ "terminated": { "exitCode": 0, "finishedAt": "2026-01-01T00:02:00Z" } });
    let recovers = Some(Waits::Recovering {
        container: "tensorflow".into(),
        since: time("2026-01-01T00:02:00Z").unwrap(),
    });
    assert_eq!(of(1, running.clone()), None, "once is no loop");
    assert_eq!(of(0, failed.clone()), None);
    assert_eq!(of(2, running), recovers);
    assert_eq!(of(1, failed), recovers);
    assert_eq!(of(5, done), None, "it has ended");
}

#[test]
fn what_the_volumes_of_a_pod_refer_to_is_named_while_they_are_not_mounted() {
    let preparing = |volumes: Value, sandbox: &str| {
        waits(
            json!({ "spec": { "nodeName": "n", "volumes": volumes }, "status": { "conditions": [
            { "type": "PodScheduled", "status": "True" }, { "type": "PodReadyToStartContainers", "status": sandbox },
        ] } }),
        )
    };
    let needs = |volumes: Value, sandbox: &str| match preparing(volumes, sandbox) {
        Some(Waits::Preparing { needs, .. }) => needs.map(|needs| (needs.words.to_string(), needs.immediate)),
        other => panic!("{other:?}"),
    };
    let token = json!({ "name": "kube-api-access-x", "projected": { "sources": [
        { "serviceAccountToken": {} }, { "configMap": { "name": "kube-root-ca.crt" } } ] } });
    let volumes = json!([
        token,
        { "name": "a", "secret": { "secretName": "keys" } },
        { "name": "b", "configMap": { "name": "settings" } },
        { "name": "c", "configMap": { "name": "perhaps", "optional": true } },
        { "name": "d", "projected": { "sources": [{ "secret": { "name": "more" } }] } },
        { "name": "e", "persistentVolumeClaim": { "claimName": "data" } },
        { "name": "f", "emptyDir": {} },
    ]);
    let all = "ConfigMap `settings`, PersistentVolumeClaim `data`, Secret `keys`, Secret `more`";
    assert_eq!(
        needs(volumes.clone(), "False"),
        Some((all.to_owned(), false)),
        "a claim takes its time"
    );
    assert_eq!(needs(volumes.clone(), "True"), None, "they are there");
    assert_eq!(needs(volumes, "Unknown"), None, "an older kubelet does not say");
    let keys = json!([{ "name": "a", "secret": { "secretName": "keys" } }]);
    assert_eq!(needs(keys, "False"), Some(("Secret `keys`".to_owned(), true)));
    assert_eq!(needs(json!([token]), "False"), None);
    let claim = json!([{ "name": "e", "persistentVolumeClaim": { "claimName": "data" } }]);
    assert_eq!(
        needs(claim, "False"),
        Some(("PersistentVolumeClaim `data`".to_owned(), false))
    );
    let many: Vec<Value> = (0..500)
        .map(|it| json!({ "secret": { "secretName": format!("s{it:03}") } }))
        .collect();
    let (words, _) = needs(json!(many), "False").unwrap();
    assert!(words.ends_with("Secret `s005`, 494 more"), "{words}");
}

proptest! {
    /// Clients that may write a pod's status write any text there.
    #[test]
    fn whatever_a_pod_says_of_its_end_is_bounded_and_can_be_shown(
        message in prop_oneof![
            ".{0,300}",
            any::<Vec<u8>>().prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            Just("\u{1b}[31m\u{202e}ValueError: \u{0}bad\r\n\u{7}".repeat(9_000)),
            Just("é".repeat(100_000)),
        ],
        reason in prop_oneof![Just("Error".to_owned()), Just("StartError".to_owned()), Just("OOMKilled".to_owned()), ".{0,40}"],
        whole in prop_oneof![Just(None), Just(Some("Evicted".to_owned())), Just(Some("OutOfcpu".to_owned())), ".{0,40}".prop_map(Some)],
        code in any::<i32>(),
    ) {
        let mut status = ended_with(code, &reason, &message);
        status["status"]["reason"] = json!(whole);
        status["status"]["message"] = json!(message);
        let exit = exit(pod("Failed", status));
        let words = [Some(exit.meaning()), exit.message.map(|it| it.to_string())];
        let cause = exit.cause.iter().flat_map(|cause| [Some(cause.sentence.to_string()), cause.help.as_deref().map(str::to_owned)]);
        for text in words.into_iter().chain(cause).flatten() {
            prop_assert!(text.len() < 1200, "{}", text.len());
            prop_assert!(!text.is_empty());
            prop_assert!(text.chars().all(|it| !it.is_control() || it == '\t'), "{text:?}");
        }
    }
}
