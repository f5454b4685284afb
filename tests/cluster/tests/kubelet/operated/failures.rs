//! What users read when a job fails or waits on a real node: the cause and the remedy, in the summary, the conditions, `waiting` and the
//! events. All jobs run at once, since most of the time is spent waiting for a kubelet.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Yard, is};

/// A job that cannot go on, and what is read about it.
struct Case {
    name: &'static str,
    run_policy: Value,
    restart: &'static str,
    replicas: u32,
    spec: Value,
    /// `Failed`, or the reason in `waiting`.
    reason: &'static str,
    /// Words of the first sentence.
    cause: &'static str,
    /// Words of the remedy.
    remedy: &'static str,
}

/// A container of busybox that runs this script.
fn shell(script: &str) -> Value {
    json!({
        "name": "tensorflow", "image": "busybox", "imagePullPolicy": "IfNotPresent", "command": ["sh", "-c", script],
    })
}

/// A pod of that container and these other fields of it.
fn pod_with(container: Value, more: Value) -> Value {
    let (Value::Object(mut container), Value::Object(more)) = (container, more) else {
        panic!("objects");
    };
    container.extend(more);
    json!({ "containers": [container] })
}

fn pod(script: &str) -> Value {
    json!({ "containers": [shell(script)] })
}

#[expect(clippy::needless_pass_by_value, reason = "a literal reads better")]
fn with_volume(volume: Value) -> Value {
    let mut pod = pod_with(
        shell("true"),
        json!({ "volumeMounts": [{ "name": "v", "mountPath": "/v" }] }),
    );
    pod["volumes"] = json!([volume]);
    pod
}

fn case(name: &'static str, spec: Value, [reason, cause, remedy]: [&'static str; 3]) -> Case {
    Case {
        name,
        run_policy: json!({ "backoffLimit": 0 }),
        restart: "Never",
        replicas: 1,
        spec,
        reason,
        cause,
        remedy,
    }
}

const TRACEBACK: &str = "echo 'Traceback (most recent call last):'; echo '  File \"/app/train.py\", line 2, in <module>'; \
                         echo '    import pandas'; echo \"ModuleNotFoundError: No module named 'pandas'\"; exit 1";

/// What a program does by itself.
fn own_failures() -> Vec<Case> {
    vec![
        case(
            "exception",
            pod(TRACEBACK),
            ["Failed", "No module named 'pandas' (train.py:2)", "image"],
        ),
        case(
            "last-line",
            pod("echo giving up; exit 3"),
            [
                "Failed",
                "exit code 3, after it printed: giving up",
                "kubectl logs",
            ],
        ),
        case(
            "no-words",
            pod("exit 3"),
            ["Failed", "Exit code 3", "kubectl logs"],
        ),
        case(
            "memory",
            pod_with(
                shell("tail /dev/zero"),
                json!({ "resources": { "limits": { "memory": "32Mi" } } }),
            ),
            ["Failed", "out of memory", "resources.limits.memory"],
        ),
        case(
            "killed",
            pod("kill -9 $$; sleep 9; exit 137"),
            [
                "Failed",
                "exit code 137, as after SIGKILL",
                "resources.requests.memory",
            ],
        ),
    ]
}

/// Pods that the kubelet ends.
fn limits() -> Vec<Case> {
    let mut probed = pod_with(
        shell("sleep 600"),
        json!({ "livenessProbe": { "exec": { "command": ["false"] }, "periodSeconds": 1, "failureThreshold": 1 } }),
    );
    probed["terminationGracePeriodSeconds"] = 1.into();
    let mut late = pod("sleep 600");
    late["activeDeadlineSeconds"] = 3.into();
    late["terminationGracePeriodSeconds"] = 1.into();
    vec![
        case(
            "probed",
            probed,
            ["Failed", "liveness or startup probe failed", "livenessProbe"],
        ),
        case(
            "late",
            late,
            [
                "Failed",
                "longer than `activeDeadlineSeconds` of its template",
                "raise `activeDeadlineSeconds`",
            ],
        ),
    ]
}

/// What is wrong with the image, the network or the job.
fn other_failures() -> Vec<Case> {
    // The header of a program for a processor that no node has.
    let mut foreign = with_volume(json!({ "name": "v", "emptyDir": {} }));
    foreign["containers"][0]["command"] = json!(["/v/prog"]);
    let script = r"printf '\177ELF\002\001\001\000\000\000\000\000\000\000\000\000\002\000\363\001\001' > /v/prog; chmod +x /v/prog";
    let mut writes = shell(script);
    writes["name"] = "write".into();
    writes["volumeMounts"] = foreign["containers"][0]["volumeMounts"].clone();
    foreign["initContainers"] = json!([writes]);
    let mut nameless = pod("nslookup data.example || exit 1");
    nameless["dnsPolicy"] = "None".into();
    nameless["dnsConfig"] =
        json!({ "nameservers": ["127.0.0.9"], "options": [{ "name": "timeout", "value": "1" }] });
    vec![
        case(
            "wrong-command",
            pod_with(shell(""), json!({ "command": ["pyton", "train.py"] })),
            ["Failed", "the program `pyton` is not in the image", "`command`"],
        ),
        case(
            "foreign",
            foreign,
            ["Failed", "exec format error", "architecture"],
        ),
        case(
            "nameless",
            nameless,
            ["Failed", "a host cannot be reached", "DNS"],
        ),
        Case {
            run_policy: json!({ "activeDeadlineSeconds": 5 }),
            ..case(
                "deadline",
                pod("sleep 600"),
                ["Failed", "`activeDeadlineSeconds: 5`", "raise it"],
            )
        },
        Case {
            run_policy: json!({ "backoffLimit": 1 }),
            restart: "ExitCode",
            ..case(
                "budget",
                pod("echo lost the lock; exit 138"),
                ["Failed", "after it printed: lost the lock", "allow more restarts"],
            )
        },
    ]
}

/// What a job waits for.
fn waits() -> Vec<Case> {
    let image = |image: &str, policy: &str| {
        pod_with(
            shell("true"),
            json!({ "image": image, "imagePullPolicy": policy }),
        )
    };
    let mut host = pod("sleep 600");
    host["hostNetwork"] = true.into();
    let from = json!({ "envFrom": [{ "configMapRef": { "name": "settings" } }] });
    vec![
        case(
            "pull",
            image("registry.invalid/mnist:1", "Always"),
            [
                "ImagePullBackOff",
                "`registry.invalid/mnist:1` cannot be pulled",
                "registry",
            ],
        ),
        case(
            "never-pull",
            image("mnist:nowhere", "Never"),
            [
                "ErrImageNeverPull",
                "`mnist:nowhere` is not on the node",
                "imagePullPolicy",
            ],
        ),
        case(
            "misnamed",
            image("<USER>/mnist", "Always"),
            ["InvalidImageName", "is not the name of an image", "`image`"],
        ),
        case(
            "too-large",
            pod_with(
                shell("true"),
                json!({ "resources": { "requests": { "cpu": "5000" } } }),
            ),
            ["Unschedulable", "insufficient cpu", "resources.requests"],
        ),
        case(
            "no-claim",
            with_volume(json!({ "name": "v", "persistentVolumeClaim": { "claimName": "data" } })),
            [
                "Unschedulable",
                "PersistentVolumeClaim `data` does not exist",
                "create the claim `data`",
            ],
        ),
        case(
            "no-secret",
            with_volume(json!({ "name": "v", "secret": { "secretName": "keys" } })),
            ["VolumesNotReady", "Secret `keys`", "create what is missing"],
        ),
        case(
            "no-map",
            with_volume(json!({ "name": "v", "configMap": { "name": "settings" } })),
            [
                "VolumesNotReady",
                "ConfigMap `settings`",
                "create what is missing",
            ],
        ),
        case(
            "no-variables",
            pod_with(shell("true"), from),
            ["CreateContainerConfigError", "`settings`", "create the ConfigMap"],
        ),
        case(
            "no-account",
            {
                let mut pod = pod("true");
                pod["serviceAccountName"] = "trainer".into();
                pod
            },
            [
                "FailedCreatePod",
                "`trainer`, which does not exist",
                "serviceAccountName",
            ],
        ),
        Case {
            replicas: 2,
            ..case(
                "one-port",
                host,
                ["Unschedulable", "a port that the pod wants", "containerPort"],
            )
        },
        Case {
            restart: "OnFailure",
            run_policy: json!({ "backoffLimit": 50 }),
            ..case(
                "loop",
                pod(TRACEBACK),
                ["CrashLoopBackOff", "fails again and again", "image"],
            )
        },
    ]
}

fn create(yard: &Yard, case: &Case) {
    let worker = json!({ "replicas": case.replicas, "restartPolicy": case.restart, "template": { "spec": case.spec } });
    let job = json!({
        "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": { "name": case.name },
        "spec": { "runPolicy": case.run_policy, "tfReplicaSpecs": { "Worker": worker } },
    });
    yard.create(&job.to_string());
}

/// Waits until the status says it; the texts in which a user may read it: the summary, and the message with its help.
fn told(yard: &Yard, case: &Case) -> [String; 2] {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    yard.wait(case.name, case.reason, |status| {
        if case.reason == "Failed" {
            let conditions = status["conditions"].as_array()?;
            let failed = conditions.iter().find(|it| it["type"] == "Failed")?;
            return is(status, "Failed").then(|| [text(&status["summary"]), text(&failed["message"])]);
        }
        let waiting = status["waiting"].as_array()?;
        let wait = waiting.iter().find(|wait| wait["reason"] == case.reason)?;
        let said = format!("{} {}", text(&wait["message"]), text(&wait["help"]));
        Some([text(&status["summary"]), said])
    })
}

/// Notes of the events about a job of that reason.
fn notes(yard: &Yard, job: &str, reason: &str) -> Vec<String> {
    let path = yard.namespace.path("apis/events.k8s.io/v1", "events");
    let about = |event: &&Value| event["regarding"]["name"] == job && event["reason"] == reason;
    let note = |event: &Value| event["note"].as_str().unwrap_or_default().to_owned();
    yard.namespace
        .cluster()
        .api()
        .wait_for(Duration::from_secs(30), &path, reason, |list| {
            let notes: Vec<String> = list["items"].as_array()?.iter().filter(about).map(note).collect();
            (!notes.is_empty()).then_some(notes)
        })
}

#[test]
fn each_failure_and_each_wait_names_its_cause_and_a_remedy() {
    let Some(yard) = Yard::new("failures") else { return };
    let cases = [own_failures(), limits(), other_failures(), waits()];
    let cases: Vec<Case> = cases.into_iter().flatten().collect();
    for case in &cases {
        create(&yard, case);
    }
    let mut wrong = Vec::new();
    for case in &cases {
        let [summary, said] = told(&yard, case);
        let event = if case.reason == "Failed" {
            "TFJobFailed"
        } else {
            case.reason
        };
        let notes = notes(&yard, case.name, event);
        println!(
            "{}\n  summary: {summary}\n  status: {said}\n  event: {}",
            case.name,
            notes.join("\n  event: ")
        );
        let mut expect = |is_so: bool, what: &str| {
            if !is_so {
                wrong.push(format!("{}: {what}: {summary} / {said} / {notes:?}", case.name));
            }
        };
        expect(notes.len() == 1, "one event");
        for words in [case.cause, case.remedy] {
            expect(summary.contains(words), &format!("no {words:?} in the summary"));
        }
        expect(said.contains(case.remedy), "no remedy in the status");
        expect(notes[0].contains(case.remedy), "no remedy in the event");
        if case.reason == "Failed" {
            expect(
                said.contains(case.cause) && notes[0].contains(case.cause),
                "no cause",
            );
            expect(
                said.starts_with("TFJob ") || said.starts_with("Job ") || said.starts_with("job "),
                "Kubeflow's words first",
            );
        }
    }
    for job in ["last-line", "no-words"] {
        let command = format!(
            "kubectl logs {job}-worker-0 -c tensorflow -n {}",
            yard.namespace.name()
        );
        let message = notes(&yard, job, "TFJobFailed").remove(0);
        if !message.contains(&command) {
            wrong.push(format!("{job}: no {command:?} in {message}"));
        }
    }
    let columns = yard.namespace.kubectl(&["get", "tfjobs"]).good();
    for words in [
        "No module named 'pandas' (train.py:2)",
        "Secret `keys`",
        "fails again and again",
    ] {
        if !columns.contains(words) {
            wrong.push(format!("no {words:?} in {columns}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
