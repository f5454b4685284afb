//! Tables over whole templates: what goes in as JSON, what comes out as a launch.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use trainyard_core::{AddressBook, Cluster, ClusterForm, Job, Stamp, Task, TaskId};

use super::testing::{job, pod, role, template};
use super::*;
use crate::images::{Entrypoint, StandIn};
use crate::process::launch::{Mount, Program};

fn setting(job: Job) -> Setting {
    let ports = job.tasks().zip(20_000..);
    let book = ports.map(|(task, port)| (task, format!("127.0.0.1:{port}").into()));
    Setting {
        book: AddressBook(book.collect()),
        job: Arc::new(job),
        network: Network::Shared,
        objects: objects(),
        images: BTreeMap::new(),
        gpus: Split::default(),
        machine: Machine {
            name: "here".into(),
            cpus: 4,
            allowed_cpus: 4.into(),
            memory: 8 << 30,
            environment: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
            hosts: "127.0.0.1 localhost\n".to_owned().into(),
        },
        volumes: BTreeMap::new(),
        lives: "/run/lives".into(),
        files: "/run/lives".into(),
        kept: "/state/volumes".into(),
    }
}

fn objects() -> Objects {
    let mut objects = Objects::default();
    let list = [
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"},
            "data": {"RATE": "0.3", "file.txt": "hello"}, "binaryData": {"raw": "/w=="}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"},
            "data": {"TOKEN": "c2VjcmV0", "NUL": "AA=="}}),
    ];
    for object in list {
        objects.add(&object, "default").unwrap();
    }
    objects
}

fn one(json: &Value) -> Setting {
    let mut worker = role("worker", 2);
    worker.template = template(json);
    setting(job(vec![role("chief", 1), role("ps", 1), worker]))
}

fn task(setting: &Setting, id: &str, stamp: Stamp) -> Task {
    let cluster = Cluster::of(&setting.job, &setting.book);
    Task::of(&setting.job, &cluster, &id.parse().unwrap(), stamp, false).unwrap()
}

fn prepared(setting: &Setting) -> Prepared {
    prepare(
        setting,
        &task(setting, "worker-1", Stamp { epoch: 2, attempt: 1 }),
        0,
    )
    .unwrap()
}

fn refused(setting: &Setting) -> Vec<String> {
    let refusals = prepare(setting, &task(setting, "worker-1", Stamp::default()), 0).unwrap_err();
    let line = |refusal: Refusal| {
        let hint = refusal.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{}: {}{hint}", refusal.path, refusal.message)
    };
    refusals.into_iter().map(line).collect()
}

fn main_of(container: Value) -> Program {
    prepared(&one(&pod(container))).launch.main
}

fn env<'p>(program: &'p Program, name: &str) -> Option<&'p str> {
    program
        .env
        .get(&OsString::from(name))
        .map(|value| value.to_str().unwrap())
}

#[test]
fn commands_and_arguments_are_expanded_with_the_containers_variables() {
    let container = json!({
        "command": ["python", "$(SCRIPT)", "$$(SCRIPT)"],
        "args": ["--job_name=$(TRAINYARD_ROLE)", "--task_index=$(TRAINYARD_INDEX)", "--ps_hosts=$(TRAINYARD_PS_HOSTS)",
            "--worker_hosts=$(TRAINYARD_WORKER_HOSTS)", "--chief=$(TRAINYARD_CHIEF_HOSTS)", "$(NOBODY)", "$(LATE)"],
        "env": [{"name": "SCRIPT", "value": "train.py"}, {"name": "EARLY", "value": "$(LATE)"},
            {"name": "LATE", "value": "$(SCRIPT)!"}],
    });
    let main = main_of(container);
    let expected = [
        "python",
        "train.py",
        "$(SCRIPT)",
        "--job_name=worker",
        "--task_index=1",
        "--ps_hosts=127.0.0.1:20001",
        "--worker_hosts=127.0.0.1:20002,127.0.0.1:20003",
        "--chief=127.0.0.1:20000",
        "$(NOBODY)",
        "train.py!",
    ];
    assert_eq!(main.argv, expected.map(OsString::from));
    assert_eq!(
        env(&main, "EARLY"),
        Some("$(LATE)"),
        "a variable does not see later ones"
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn variables_come_from_everywhere_in_the_kubelets_order() {
    let field = |path: &str| json!({"fieldRef": {"fieldPath": path}});
    let resource =
        |name: &str, divisor: &str| json!({"resourceFieldRef": {"resource": name, "divisor": divisor}});
    // The variables in order, the one looked at, what it is.
    let table: Vec<(Value, &str, Option<&str>)> = vec![
        (
            json!([{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2"}]),
            "A",
            Some("12"),
        ),
        (json!([{"name": "A"}]), "A", Some("")),
        (json!([{"name": "A", "value": ""}]), "A", Some("")),
        // `envFrom` below gives RATE; `env` wins, and may refer to it.
        (json!([]), "RATE", Some("0.3")),
        (
            json!([{"name": "RATE", "value": "$(RATE)0"}]),
            "RATE",
            Some("0.30"),
        ),
        (json!([]), "KEY_TOKEN", Some("secret")),
        (json!([]), "raw", None),
        (
            json!([{"name": "A", "value": "$(TRAINYARD_TASK)"}]),
            "A",
            Some("mnist/worker-1.2.1"),
        ),
        (
            json!([{"name": "A", "value": "$(HOSTNAME)"}]),
            "A",
            Some("mnist-worker-1"),
        ),
        (json!([{"name": "A", "value": "$(PATH)"}]), "A", Some("$(PATH)")),
        (
            json!([{"name": "A", "valueFrom": field("metadata.name")}]),
            "A",
            Some("mnist-worker-1"),
        ),
        (
            json!([{"name": "A", "valueFrom": field("metadata.namespace")}]),
            "A",
            Some("default"),
        ),
        (
            json!([{"name": "A", "valueFrom": field("metadata.labels['app']")}]),
            "A",
            Some("digits"),
        ),
        (
            json!([{"name": "A", "valueFrom": field("metadata.labels['none']")}]),
            "A",
            Some(""),
        ),
        (
            json!([{"name": "A", "valueFrom": field("metadata.labels['trainyard.dev/task-index']")}]),
            "A",
            Some("1"),
        ),
        (
            json!([{"name": "A", "valueFrom": field("metadata.labels['training.kubeflow.org/replica-index']")}]),
            "A",
            Some("1"),
        ),
        (
            json!([{"name": "A", "valueFrom": field("metadata.labels['training.kubeflow.org/replica-type']")}]),
            "A",
            Some("worker"),
        ),
        (
            json!([{"name": "A", "valueFrom": field("metadata.annotations['note']")}]),
            "A",
            Some("two words"),
        ),
        (
            json!([{"name": "A", "valueFrom": field("spec.nodeName")}]),
            "A",
            Some("here"),
        ),
        (
            json!([{"name": "A", "valueFrom": field("spec.serviceAccountName")}]),
            "A",
            Some("default"),
        ),
        (
            json!([{"name": "A", "valueFrom": field("status.podIP")}]),
            "A",
            Some("127.0.0.1"),
        ),
        (
            json!([{"name": "A", "valueFrom": field("status.hostIP")}]),
            "A",
            Some("127.0.0.1"),
        ),
        (
            json!([{"name": "A", "valueFrom": resource("limits.cpu", "1m")}]),
            "A",
            Some("1500"),
        ),
        (
            json!([{"name": "A", "valueFrom": resource("limits.cpu", "1")}]),
            "A",
            Some("2"),
        ),
        (
            json!([{"name": "A", "valueFrom": resource("limits.cpu", "0")}]),
            "A",
            Some("2"),
        ),
        // Without a request, the limit is what is asked for; without a limit, the machine is.
        (
            json!([{"name": "A", "valueFrom": resource("requests.cpu", "1m")}]),
            "A",
            Some("1500"),
        ),
        (
            json!([{"name": "A", "valueFrom": resource("limits.memory", "1Mi")}]),
            "A",
            Some("8192"),
        ),
        (
            json!([{"name": "A", "valueFrom": resource("requests.memory", "1Mi")}]),
            "A",
            Some("512"),
        ),
        (
            json!([{"name": "A", "valueFrom": resource("requests.ephemeral-storage", "1")}]),
            "A",
            Some("0"),
        ),
        (
            json!([{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "RATE"}}}]),
            "A",
            Some("0.3"),
        ),
        (
            json!([{"name": "A", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "TOKEN"}}}]),
            "A",
            Some("secret"),
        ),
        (
            json!([{"name": "A", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "no", "optional": true}}}]),
            "A",
            None,
        ),
        (
            json!([{"name": "A", "valueFrom": {"secretKeyRef": {"name": "no", "key": "no", "optional": true}}}]),
            "A",
            None,
        ),
        // What is written wins over where it might come from.
        (
            json!([{"name": "A", "value": "x", "valueFrom": field("metadata.name")}]),
            "A",
            Some("x"),
        ),
    ];
    for (variables, name, value) in table {
        let container = json!({
            "name": "tensorflow", "command": ["x"], "env": variables,
            "envFrom": [{"configMapRef": {"name": "settings"}},
                {"prefix": "KEY_", "secretRef": {"name": "token-only"}},
                {"configMapRef": {"name": "missing", "optional": true}}],
            "resources": {"limits": {"cpu": "1500m"}, "requests": {"memory": "512Mi"}},
        });
        let json = json!({
            "metadata": {"labels": {"app": "digits"}, "annotations": {"note": "two words"}},
            "spec": {"containers": [container]},
        });
        let mut setting = one(&json);
        let token = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token-only"},
            "stringData": {"TOKEN": "secret"}});
        setting.objects.add(&token, "default").unwrap();
        let main = prepared(&setting).launch.main;
        assert_eq!(env(&main, name), value, "{name} of {variables}");
    }
}

#[test]
fn a_life_has_a_uid_of_its_own() {
    let container = json!({"command": ["x"],
        "env": [{"name": "UID_", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}]});
    let setting = one(&pod(container));
    let uid = |id: &str, attempt| {
        let task = task(&setting, id, Stamp { epoch: 0, attempt });
        let main = prepare(&setting, &task, 0).unwrap().launch.main;
        env(&main, "UID_").unwrap().to_owned()
    };
    let first = uid("worker-0", 0);
    assert_eq!(first, uid("worker-0", 0));
    assert_ne!(first, uid("worker-0", 1));
    assert_ne!(first, uid("worker-1", 0));
    let lengths: Vec<usize> = first.split('-').map(str::len).collect();
    assert_eq!(lengths, [8, 4, 4, 4, 12], "{first}");
}

#[test]
fn tf_config_is_the_main_containers_and_comes_last() {
    let json = json!({"spec": {
        "containers": [
            {"name": "sidecar", "command": ["s"]},
            {"name": "tensorflow", "command": ["x"], "env": [{"name": "TF_CONFIG", "value": "mine"}]},
        ],
        "initContainers": [{"name": "before", "command": ["i"]}],
    }});
    let mut setting = one(&json);
    let launch = prepared(&setting).launch;
    let config: Value = serde_json::from_str(env(&launch.main, "TF_CONFIG").unwrap()).unwrap();
    assert_eq!(config["task"], json!({"type": "worker", "index": 1}));
    assert_eq!(config["cluster"]["ps"], json!(["127.0.0.1:20001"]));
    assert_eq!(env(&launch.beside[0], "TF_CONFIG"), None);
    assert_eq!(env(&launch.init[0], "TF_CONFIG"), None);
    // A job without a cluster leaves the user's own alone, and sets none.
    Arc::make_mut(&mut setting.job).cluster = ClusterForm::None;
    assert_eq!(env(&prepared(&setting).launch.main, "TF_CONFIG"), Some("mine"));
    let mut alone = one(&pod(json!({"command": ["x"]})));
    Arc::make_mut(&mut alone.job).cluster = ClusterForm::None;
    assert_eq!(env(&prepared(&alone).launch.main, "TF_CONFIG"), None);
}

#[test]
fn programs_are_ordered_and_the_main_one_is_found() {
    let json = json!({"spec": {
        "terminationGracePeriodSeconds": 7,
        "initContainers": [
            {"name": "one", "command": ["1"], "workingDir": "/tmp"},
            {"name": "proxy", "command": ["p"], "restartPolicy": "Always"},
            {"name": "two", "command": ["2"]},
        ],
        "containers": [{"name": "log", "command": ["l"]}, {"name": "tensorflow", "command": ["t"], "workingDir": ""}],
    }});
    let prepared = prepared(&one(&json));
    let launch = &prepared.launch;
    let names = |programs: &[Program]| {
        programs
            .iter()
            .map(|one| one.container.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&launch.init), ["one", "two"]);
    assert_eq!(&*launch.main.container, "tensorflow");
    assert_eq!(names(&launch.beside), ["proxy", "log"]);
    assert_eq!(launch.grace, 7);
    assert_eq!(launch.init[0].workdir, Some("/tmp".into()));
    assert_eq!(launch.main.workdir, None);
    assert_eq!((launch.life.epoch, launch.life.attempt), (2, 1));
    let nameless =
        json!({"spec": {"containers": [{"name": "a", "command": ["a"]}, {"name": "b", "command": ["b"]}]}});
    let launch = prepare(
        &one(&nameless),
        &task(&one(&nameless), "worker-0", Stamp::default()),
        0,
    );
    let launch = launch.unwrap().launch;
    assert_eq!((&*launch.main.container, launch.grace), ("a", 30));
}

#[test]
#[expect(clippy::too_many_lines, reason = "one pod with every kind of volume")]
fn volumes_become_mounts_and_files() {
    let json = json!({
        "metadata": {"labels": {"a": "1", "b": "say \"hi\"\n"}},
        "spec": {
        "volumes": [
            {"name": "scratch", "emptyDir": {}},
            {"name": "host", "hostPath": {"path": "/data", "type": "Directory"}},
            {"name": "made", "hostPath": {"path": "/data/made", "type": "DirectoryOrCreate"}},
            {"name": "map", "configMap": {"name": "settings", "defaultMode": 0o600,
                "items": [{"key": "file.txt", "path": "deep/name", "mode": 0o444}, {"key": "RATE", "path": "rate"}]}},
            {"name": "whole", "configMap": {"name": "settings"}},
            {"name": "keys", "secret": {"secretName": "keys", "items": [{"key": "TOKEN", "path": "t"}]}},
            {"name": "self", "downwardAPI": {"items": [
                {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
                {"path": "cpu", "resourceFieldRef": {"containerName": "tensorflow", "resource": "limits.cpu"}}]}},
            {"name": "mixed", "projected": {"defaultMode": 0o400, "sources": [
                {"configMap": {"name": "settings", "items": [{"key": "RATE", "path": "x"}]}},
                {"secret": {"name": "keys", "items": [{"key": "TOKEN", "path": "x"}]}},
                {"serviceAccountToken": {"path": "token"}}]}},
            {"name": "claim", "persistentVolumeClaim": {"claimName": "dataset", "readOnly": true}},
            {"name": "share", "nfs": {"server": "files.example", "path": "/export/a"}},
            {"name": "disk", "awsElasticBlockStore": {"volumeID": "x"}},
            {"name": "given", "persistentVolumeClaim": {"claimName": "elsewhere"}},
            {"name": "unused", "configMap": {"name": "nowhere"}},
        ],
        "containers": [{"name": "tensorflow", "command": ["x"],
            "env": [{"name": "WHO", "value": "w1"}],
            "volumeMounts": [
                {"name": "scratch", "mountPath": "/scratch/deep"},
                {"name": "scratch", "mountPath": "/scratch", "subPathExpr": "of-$(WHO)"},
                {"name": "host", "mountPath": "/host", "readOnly": true, "subPath": "in"},
                {"name": "made", "mountPath": "/made/"},
                {"name": "map", "mountPath": "/map"},
                {"name": "whole", "mountPath": "/one.txt", "subPath": "file.txt"},
                {"name": "keys", "mountPath": "/keys"},
                {"name": "self", "mountPath": "/self"},
                {"name": "mixed", "mountPath": "/mixed"},
                {"name": "claim", "mountPath": "/dataset"},
                {"name": "share", "mountPath": "/share"},
                {"name": "disk", "mountPath": "/disk"},
                {"name": "given", "mountPath": "/given"},
            ]}],
    }});
    let mut setting = one(&json);
    setting.volumes.insert("elsewhere".into(), "/home/me/data".into());
    let prepared = prepared(&setting);
    let life = "/run/lives/worker-1.2.1/volumes";
    let expected = [
        (format!("{life}/scratch/of-w1"), "/scratch", false),
        ("/data/in".into(), "/host", true),
        ("/data/made".into(), "/made", false),
        (format!("{life}/map"), "/map", true),
        (format!("{life}/whole/file.txt"), "/one.txt", true),
        (format!("{life}/keys"), "/keys", true),
        (format!("{life}/self"), "/self", true),
        (format!("{life}/mixed"), "/mixed", true),
        ("/state/volumes/default/dataset".into(), "/dataset", true),
        (
            "/state/volumes/nfs/files.example/export_a".into(),
            "/share",
            false,
        ),
        ("/state/volumes/default/mnist.disk".into(), "/disk", false),
        ("/home/me/data".into(), "/given", false),
        (format!("{life}/scratch"), "/scratch/deep", false),
    ];
    let expected = expected.map(|(source, target, read_only)| Mount {
        source: source.into(),
        target: target.into(),
        read_only,
    });
    assert_eq!(prepared.launch.main.mounts, expected);
    let files: BTreeMap<PathBuf, (String, u32)> = prepared
        .make
        .iter()
        .filter_map(|one| match one {
            Make::File { path, content, mode } => Some((
                path.clone(),
                (String::from_utf8_lossy(content).into_owned(), *mode),
            )),
            _ => None,
        })
        .collect();
    let file = |name: &str| {
        files
            .get(&PathBuf::from(format!("{life}/{name}")))
            .map(|(text, mode)| (text.as_str(), *mode))
    };
    assert_eq!(file("map/deep/name"), Some(("hello", 0o444)));
    assert_eq!(file("map/rate"), Some(("0.3", 0o600)));
    assert_eq!(file("map/file.txt"), None, "only the items");
    assert_eq!(file("whole/file.txt"), Some(("hello", 0o644)));
    assert_eq!(file("whole/raw"), Some(("\u{fffd}", 0o644)));
    assert_eq!(file("keys/t"), Some(("secret", 0o644)));
    assert_eq!(
        file("self/labels"),
        Some(("a=\"1\"\nb=\"say \\\"hi\\\"\\n\"", 0o644))
    );
    assert_eq!(file("self/cpu"), Some(("4", 0o644)));
    assert_eq!(file("mixed/x"), Some(("secret", 0o400)), "the later one counts");
    let expects = |path: &str| {
        let wanted = PathBuf::from(path);
        prepared
            .make
            .iter()
            .any(|one| matches!(one, Make::Expect { path, .. } if *path == wanted))
    };
    assert!(expects("/data") && expects("/home/me/data"));
    assert!(prepared.make.contains(&Make::Directory("/data/in".into())));
    assert!(prepared.make.contains(&Make::volume(
        Path::new("/state/volumes/default/dataset"),
        Path::new("/state/volumes")
    )));
    let notes: Vec<&str> = prepared
        .ignored
        .iter()
        .map(|ignored| ignored.why.as_str())
        .collect();
    let note = "the claim `dataset` is the directory `/state/volumes/default/dataset`, which is kept; another one: \
        `--volume claim=DIR`";
    assert!(notes.contains(&note), "{notes:#?}");
    assert!(
        notes.contains(&"only a cluster gives these out; the file is missing"),
        "{notes:#?}"
    );
}

#[test]
fn everything_that_is_wrong_is_said_at_once_with_place_and_remedy() {
    let json = json!({"spec": {
        "volumes": [{"name": "data", "hostPath": {"path": "relative"}}, {"name": "m", "configMap": {"name": "setings"}},
            {"name": "k", "secret": {"secretName": "keys", "items": [{"key": "TOKN", "path": "../out"}]}}],
        "containers": [{"name": "tensorflow", "image": "mine:1", "args": ["a"],
            "env": [
                {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.nam"}}},
                {"name": "B", "valueFrom": {"resourceFieldRef": {"resource": "limits.gpu"}}},
                {"name": "C", "valueFrom": {"secretKeyRef": {"name": "none", "key": "k"}}},
                {"name": "D", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "TOKE"}}},
                {"name": "E", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "NUL"}}},
                {"name": "F=", "value": "x"},
                {"name": "G", "valueFrom": {"fileKeyRef": {}}},
                {"name": "H", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels"}}},
            ],
            "volumeMounts": [
                {"name": "dat", "mountPath": "/a"}, {"name": "data", "mountPath": "/b"},
                {"name": "m", "mountPath": "c"}, {"name": "m", "mountPath": "/d"}, {"name": "m", "mountPath": "/d"},
                {"name": "k", "mountPath": "/k"}, {"name": "m", "mountPath": "/"},
                {"name": "m", "mountPath": "/e", "subPath": "../x"},
            ]}],
    }});
    let main = "worker.containers[tensorflow]";
    let expected = [
        format!(
            "{main}.env[A]: a pod has no field `metadata.nam` that a container could ask for; did you mean `metadata.name`?"
        ),
        format!(
            "{main}.env[B]: there is no resource `limits.gpu`: `limits.cpu`, `limits.memory`, `requests.cpu`, `requests.memory` …"
        ),
        format!(
            "{main}.env[C]: there is no Secret `none` in namespace `default` (put it into the manifest's file, or give its file with `--with FILE`)"
        ),
        format!("{main}.env[D]: Secret `keys` has no key `TOKE` (did you mean `TOKEN`?)"),
        format!(
            "{main}.env[E]: the value of `E` holds a zero byte, which no variable can (mount it as a file instead)"
        ),
        format!("{main}.env[F=]: `F=` is not a valid name of a variable (letters, digits, `_`, `-` and `.`)"),
        format!(
            "{main}.env[G]: `G` takes its value from a source that is not known here (known are `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`)"
        ),
        format!(
            "{main}.env[H]: a variable cannot hold all of `metadata.labels`: `metadata.labels['key']` is one of them; all at once only a file can hold"
        ),
        format!(
            "{main}: arguments without a command: what the image would start with them is not known here (say it with `--command 'python train.py'`, or in the configuration as `command` of image `mine:1`)"
        ),
        format!("{main}.volumeMounts[0]: the template has no volume `dat` (did you mean `data`?)"),
        format!(
            "{main}.volumeMounts[1]: the path `relative` of volume `data` is not absolute (an absolute path without `..`)"
        ),
        format!(
            "{main}.volumeMounts[2]: `c` is no place for a mount (an absolute path below `/`, without `..`)"
        ),
        format!(
            "{main}.volumeMounts[3].volumes[m]: there is no ConfigMap `setings` in namespace `default` (did you mean `settings`?)"
        ),
        format!("{main}.volumeMounts[4]: two mounts at `/d`"),
        format!("{main}.volumeMounts[5].volumes[k]: Secret `keys` has no key `TOKN` (did you mean `TOKEN`?)"),
        format!(
            "{main}.volumeMounts[6]: `/` is no place for a mount (an absolute path below `/`, without `..`)"
        ),
        format!("{main}.volumeMounts[7]: `../x` leads out of the volume (a relative path without `..`)"),
    ];
    assert_eq!(refused(&one(&json)), expected);
}

#[test]
fn templates_that_are_none_are_refused() {
    let table = [
        (
            json!({"spec": {"containers": []}}),
            "worker: the pod template has no containers",
        ),
        (json!({}), "worker: the pod template has no containers"),
    ];
    for (json, message) in table {
        assert_eq!(refused(&one(&json)), [message]);
    }
    let odd = refused(&one(&json!({"spec": {"containers": "x"}})));
    assert!(
        odd[0].starts_with("worker: the pod template cannot be read:"),
        "{odd:?}"
    );
}

#[test]
fn an_image_that_stands_for_something_comes_first_on_the_path() {
    let stand_in = StandIn {
        path: vec!["/cache/tf/bin".into()],
        python: Some("/cache/tf/bin/python".into()),
        environment: Some("/cache/tf".into()),
        entrypoint: Entrypoint::None,
        files: BTreeMap::from([("/var/app".into(), "/home/me/app".into())]),
        env: BTreeMap::from([("FROM_IMAGE".into(), "1".into()), ("BOTH".into(), "image".into())]),
        workdir: Some("/var/app".into()),
    };
    let with = |container: Value, stand_in: &StandIn| {
        let mut container = container;
        container["image"] = "tensorflow/tensorflow".into();
        let mut setting = one(&pod(container));
        setting
            .images
            .insert("tensorflow/tensorflow".into(), stand_in.clone());
        prepared(&setting)
    };
    let plain = with(
        json!({"args": ["python", "x.py"], "env": [{"name": "BOTH", "value": "own"}]}),
        &stand_in,
    );
    let main = &plain.launch.main;
    assert_eq!(main.argv, ["python", "x.py"].map(OsString::from));
    assert_eq!(env(main, "PATH"), Some("/cache/tf/bin:/usr/bin:/bin"));
    assert_eq!(env(main, "VIRTUAL_ENV"), Some("/cache/tf"));
    assert_eq!(
        (env(main, "FROM_IMAGE"), env(main, "BOTH")),
        (Some("1"), Some("own"))
    );
    assert_eq!(main.workdir, Some("/var/app".into()));
    assert_eq!(main.mounts[0].source, PathBuf::from("/home/me/app"));
    assert_eq!(plain.ignored, []);
    // A path of the template's own stays behind; Python by its place in the image is ours.
    for (program, expected) in [
        ("/usr/bin/python3", "/cache/tf/bin/python"),
        ("/usr/local/bin/python3.11", "/cache/tf/bin/python"),
        ("/usr/bin/python-config", "/usr/bin/python-config"),
        ("/usr/bin/env", "/usr/bin/env"),
        ("/home/me/python", "/home/me/python"),
        ("python3", "python3"),
    ] {
        let container = json!({"command": [program], "env": [{"name": "PATH", "value": "/opt"}]});
        let main = with(container, &stand_in).launch.main;
        assert_eq!(main.argv, [OsString::from(expected)], "{program}");
        assert_eq!(env(&main, "PATH"), Some("/cache/tf/bin:/opt"));
    }
    let mut started = stand_in.clone();
    started.entrypoint = Entrypoint::Command(vec!["python".into(), "/var/app/main.py".into()]);
    let main = with(json!({"args": ["--x"]}), &started).launch.main;
    assert_eq!(
        main.argv,
        ["python", "/var/app/main.py", "--x"].map(OsString::from)
    );
    // An interpreter that was named, and is no environment, may be called anything: every name of Python means it.
    let named = StandIn {
        python: Some("/opt/py/bin/python3.9".into()),
        environment: None,
        ..stand_in.clone()
    };
    for (program, expected) in [
        ("python", "/opt/py/bin/python3.9"),
        ("python3.11", "/opt/py/bin/python3.9"),
        ("/usr/bin/python3", "/opt/py/bin/python3.9"),
        ("./python", "./python"),
        ("pythonic", "pythonic"),
    ] {
        let main = with(json!({"command": [program]}), &named).launch.main;
        assert_eq!(main.argv, [OsString::from(expected)], "{program}");
    }
    // An unknown image is reported once, with help.
    let unknown = prepared(&one(&pod(json!({"command": ["x"], "image": "mine:1"}))));
    assert_eq!(unknown.ignored.len(), 1);
    assert_eq!(unknown.ignored[0].path, "worker.containers[tensorflow].image");
    assert_eq!(
        env(&unknown.launch.main, "PATH"),
        None,
        "our own path passes as it is"
    );
}

#[test]
fn gpus_are_shown_to_the_containers_that_ask() {
    let limits = |count: u32| json!({"limits": {"nvidia.com/gpu": count}});
    let json = json!({"spec": {"containers": [
        {"name": "helper", "command": ["h"]},
        {"name": "tensorflow", "command": ["t"], "resources": limits(2)},
        {"name": "second", "command": ["s"], "resources": limits(1)},
        {"name": "own", "command": ["o"], "env": [{"name": "CUDA_VISIBLE_DEVICES", "value": "7"}]},
    ]}});
    let mut setting = one(&json);
    let shown = |setting: &Setting| {
        let launch = prepared(setting).launch;
        let all = launch.init.iter().chain([&launch.main]).chain(&launch.beside);
        let all = all.map(|one| env(one, "CUDA_VISIBLE_DEVICES").map(str::to_owned));
        all.collect::<Vec<_>>()
    };
    let own = |text: &str| Some(text.to_owned());
    assert_eq!(
        shown(&setting),
        [None, None, None, own("7")],
        "a machine without GPUs hides none"
    );
    setting.gpus.any = true;
    assert_eq!(shown(&setting), [own("-1"), own("-1"), own("-1"), own("7")]);
    let three = ["GPU-a", "GPU-b", "GPU-c"].map(Arc::from).to_vec();
    setting.gpus.tasks.insert("worker-1".parse().unwrap(), three);
    assert_eq!(
        shown(&setting),
        [own("GPU-a,GPU-b"), own("-1"), own("GPU-c"), own("7")]
    );
}

#[test]
fn tasks_with_an_address_each_find_the_others_by_name() {
    let container = json!({"command": ["x"], "env": [
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]});
    let mut setting = one(&pod(container));
    setting.network = Network::per_task(&setting.job);
    setting.book = trainyard_core::addresses(&setting.job, None);
    let prepared = prepared(&setting);
    let main = &prepared.launch.main;
    assert_eq!(env(main, "IP"), Some("10.77.0.5"));
    assert_eq!(
        env(main, "TRAINYARD_PS_HOSTS"),
        Some("mnist-ps-0.mnist.default.svc:2222")
    );
    let mount = &main.mounts[0];
    assert_eq!(mount.target, PathBuf::from("/etc/hosts"));
    let Some(Make::File { path, content, .. }) = prepared.make.first() else {
        panic!("{:?}", prepared.make);
    };
    assert_eq!(*path, mount.source);
    let text = String::from_utf8_lossy(content);
    let line = "10.77.0.3 mnist-ps-0 mnist-ps-0.mnist mnist-ps-0.default mnist-ps-0.mnist.default.svc \
        mnist-ps-0.mnist.default.svc.cluster.local mnist-ps-0.default.svc mnist-ps-0.default.svc.cluster.local";
    assert!(text.starts_with("127.0.0.1 localhost\n"), "{text}");
    assert!(text.lines().any(|found| found == line), "{text}");
}

#[test]
fn host_aliases_are_added_to_the_machines_names() {
    let mut json = pod(json!({"command": ["x"]}));
    json["spec"]["hostAliases"] = json!([{"ip": "192.0.2.1", "hostnames": ["store", "store.example"]}]);
    let prepared = prepared(&one(&json));
    let Some(Make::File { content, .. }) = prepared.make.first() else {
        panic!("{:?}", prepared.make);
    };
    let text = "127.0.0.1 localhost\n192.0.2.1 store store.example\n";
    assert_eq!(String::from_utf8_lossy(content), text);
}

#[test]
fn a_job_needs_addresses_only_where_its_templates_name_tasks() {
    let with = |container: Value| {
        let mut worker = role("worker", 2);
        worker.template = template(&pod(container));
        job(vec![role("ps", 1), worker])
    };
    let said = |text: &str| json!({"command": ["sh", "-c", text]});
    let table = [
        (said("python train.py"), false),
        (said("train --ps_hosts=mnist-ps-0.default.svc:2222"), true),
        (said("train --ps_hosts=mnist-ps-0:2222"), true),
        (said("train --ps_hosts=mnist-ps-0.mnist:2222"), true),
        (said("train --log mnist-worker-0.log"), false),
        (said("train --log /logs/mnist-worker-0.default"), false),
        (said("train --ps_hosts=other-mnist-ps-0:2222"), false),
        (said("train --ps_hosts=mnist-ps-x:2222"), false),
        (said("cat /etc/volcano/ps.host"), true),
        (
            json!({"command": ["x"], "env": [{"name": "PS", "value": "mnist-ps-0:2222"}]}),
            true,
        ),
        (
            json!({"command": ["x"], "args": ["mnist-worker-1.mnist.default.svc.cluster.local"]}),
            true,
        ),
        (
            json!({"command": ["x"], "volumeMounts": [{"name": "mnist-svc", "mountPath": "/etc/volcano"}]}),
            false,
        ),
    ];
    for (container, needs) in table {
        let found = needs_addresses(&with(container.clone()));
        assert_eq!(found.is_some(), needs, "{container}: {found:?}");
    }
    // Where no template says TF_CONFIG, tasks read what is mounted there.
    let container =
        json!({"command": ["x"], "volumeMounts": [{"name": "mnist-svc", "mountPath": "/etc/volcano"}]});
    let mut job = with(container);
    job.cluster = ClusterForm::None;
    assert!(needs_addresses(&job).is_some());
    job.roles.remove(0);
    job.roles[0].replicas = 1;
    assert_eq!(needs_addresses(&job), None, "one task alone has no peer to find");
}

#[test]
fn a_survey_says_each_thing_once_and_knows_the_volumes() {
    let mut json = pod(json!({"command": ["x"], "image": "mine:1"}));
    json["spec"]["volumes"] = json!([{"name": "data", "persistentVolumeClaim": {"claimName": "dataset"}}]);
    let mut setting = one(&json);
    let ignored = survey(&setting).unwrap();
    assert_eq!(ignored.len(), 1, "{ignored:?}");
    setting.volumes.insert("data".into(), "/x".into());
    setting.volumes.insert("dataset".into(), "/x".into());
    assert!(survey(&setting).is_ok());
    setting.volumes.insert("dat".into(), "/x".into());
    let refusals = survey(&setting).unwrap_err();
    assert_eq!(refusals[0].path, "--volume dat");
    assert_eq!(refusals[0].hint.as_deref(), Some("did you mean `data`?"));
    assert_eq!(refusals.len(), 1);
}

#[test]
fn a_restart_in_place_keeps_the_directories_of_its_life() {
    let mut json = pod(json!({"command": ["x"], "volumeMounts": [{"name": "s", "mountPath": "/s"}]}));
    json["spec"]["volumes"] = json!([{"name": "s", "emptyDir": {}}]);
    let setting = one(&json);
    let source = |stamp, in_place| {
        let launch = prepare(&setting, &task(&setting, "worker-0", stamp), in_place)
            .unwrap()
            .launch;
        assert_eq!(launch.life.in_place, in_place);
        launch.main.mounts[0].source.clone()
    };
    let first = Stamp::default();
    assert_eq!(source(first, 0), source(first, 3));
    assert_ne!(source(first, 0), source(Stamp { epoch: 0, attempt: 1 }, 0));
    let life = setting.life(&TaskId::new("worker", 0), first);
    assert!(source(first, 0).starts_with(&life));
}
