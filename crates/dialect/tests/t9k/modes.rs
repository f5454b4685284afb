//! Debug mode, pause and TensorBoard.

use serde_json::{Value, json};
use trainyard_core::{Cluster, Stamp, Task, addresses};
use trainyard_dialect::ReadJob;
use trainyard_status::t9k_status;

use crate::notation::{codes, file, job, read};
use crate::text;
use crate::world::World;

fn template(read: &ReadJob, role: usize) -> Value {
    serde_json::from_str(&read.job.roles[role].template.0).unwrap()
}

#[test]
fn debug_mode_waits_instead_of_training() {
    let read = job(&file("examples/t9k/debug.yaml"));
    let pod = &template(&read, 0)["spec"];
    assert_eq!(pod["containers"][0]["command"], json!(["sleep", "inf"]));
    assert_eq!(pod.get("initContainers"), None, "skipped");
    assert_eq!(
        pod["containers"][0]["image"],
        "t9kpublic/tensorflow-2.11.0:gpu-sdk-0.5.2"
    );
}

#[test]
fn debug_mode_for_one_role_leaves_the_others_as_they_are() {
    let read = job(&file("tests/fixtures/ok/t9k/debug-for-one-role.yaml"));
    let chief = &template(&read, 0)["spec"];
    let command = json!(["/bin/bash", "-c", "python -m http.server 8000"]);
    assert_eq!(chief["containers"][0]["command"], command);
    assert_eq!(chief["initContainers"][0]["name"], "prepare");
    let worker = &template(&read, 1)["spec"];
    assert_eq!(worker["containers"][0]["command"], json!(["python", "main.py"]));
}

#[test]
fn debug_mode_that_is_off_changes_nothing() {
    let read = job(&file("tests/fixtures/ok/t9k/debug-switched-off.yaml"));
    assert_eq!(
        template(&read, 0)["spec"]["containers"][0]["command"],
        json!(["python", "main.py"])
    );
}

#[test]
fn arguments_go_with_the_command_that_debug_mode_replaces() {
    let text = file("examples/t9k/debug.yaml").replace(
        "[python, speech.py]\n",
        "[python]\n              args: [speech.py]\n",
    );
    let main = template(&job(&text), 0)["spec"]["containers"][0].clone();
    assert_eq!(
        (&main["command"], main.get("args")),
        (&json!(["sleep", "inf"]), None)
    );
}

#[test]
fn a_paused_job_runs_nothing_and_resumes_with_its_other_command() {
    let text = file("examples/t9k/pause-and-resume.yaml");
    let paused = job(&text).job;
    assert!(paused.suspend);
    let started = job(&text.replace("enabled: true", "enabled: false")).job;
    let mut world = World::running(started.clone(), t9k_status);
    assert_eq!(world.says("/phase"), "Running");
    world.job = paused;
    world.look();
    assert_eq!(world.says("/phase"), "Paused");
    world.let_go();
    world.look();
    assert_eq!(world.tasks, []);
    assert_eq!(world.says("/aggregate/deleted"), 2);
    world.job = started;
    world.look();
    assert_eq!(world.says("/phase"), "Resuming");
    world.run_all();
    world.look();
    assert_eq!(world.says("/phase"), "Running");
    let memory = world.memory.as_ref().unwrap();
    let cluster = Cluster::of(&world.job, &addresses(&world.job, None));
    let started_with = |resumed| {
        let task = "worker-1".parse().unwrap();
        let life = Task::of(&world.job, &cluster, &task, Stamp::default(), resumed).unwrap();
        let template: Value = serde_json::from_str(&life.template.0).unwrap();
        template["spec"]["containers"][0]["args"].clone()
    };
    assert_eq!(started_with(false), json!(["--fresh"]));
    assert_eq!(
        started_with(memory.resumed),
        json!(["--restore=/checkpoints/latest"])
    );
}

#[test]
fn a_job_created_paused_begins_with_its_own_command() {
    let text = file("examples/t9k/pause-and-resume.yaml");
    let mut world = World::new(job(&text).job, t9k_status);
    world.look();
    assert_eq!((world.says("/phase"), world.creates), (json!("Paused"), 0));
    world.job = job(&text.replace("enabled: true", "enabled: false")).job;
    world.look();
    assert_eq!((world.says("/phase"), world.creates), (json!("Pending"), 2));
    assert!(!world.memory.as_ref().unwrap().resumed);
}

#[test]
fn roles_without_resume_specs_resume_as_they_began() {
    let read = job(&file("tests/fixtures/ok/t9k/pause-not-now.yaml"));
    let resume: Vec<bool> = read
        .job
        .roles
        .iter()
        .map(|role| role.resume_template.is_some())
        .collect();
    assert_eq!(resume, [true, false]);
}

#[test]
fn both_spellings_of_the_switch_work_and_the_old_one_is_warned_of() {
    let mode = |mode: &str| {
        let mode = format!("spec:\n  runMode: {{{mode}}}\n");
        text("", &["worker 1 Never"]).replace("spec:\n", &mode)
    };
    assert!(job(&mode("pause: {enable: true}")).job.suspend);
    assert_eq!(codes(&mode("pause: {enable: true}")), ["TY025"]);
    assert_eq!(codes(&mode("pause: {enabled: true}")), Vec::<String>::new());
    assert_eq!(codes(&mode("pause: {enabled: true, enable: true}")), ["TY025"]);
    assert_eq!(codes(&mode("pause: {enabled: true, enable: false}")), ["TY120"]);
    assert_eq!(
        codes(&mode(
            "debug: {enabled: true, replicaSpecs: [{type: worker}, {type: worker}]}"
        )),
        ["TY121"]
    );
}

#[test]
fn a_tensorboard_becomes_an_object_of_the_jobs_name() {
    let read = job(&file("tests/fixtures/ok/t9k/manual-tensorboard.yaml"));
    let expected = json!({
        "apiVersion": "tensorstack.dev/v1beta1",
        "kind": "TensorBoard",
        "metadata": {"name": "tensorflow-example", "namespace": "default"},
        "spec": {
            "image": "t9kpublic/tensorboard:2.11.0",
            "trainingLogFilesets": ["t9k://pvc/tensorflow-tensorboard-pvc/log"],
        },
    });
    assert_eq!(read.objects, [expected]);
}

#[test]
fn addresses_of_logs_are_checked() {
    let with = |spec: &str| {
        let spec = format!("spec:\n  tensorboardSpec: {{image: i, {spec}}}\n");
        text("", &["worker 1 Never"]).replace("spec:\n", &spec)
    };
    let good = [
        "trainingLogFilesets: ['t9k://pvc/logs/a/b', 't9k://pvc/logs', 't9k://minio/secret/bucket/x']",
        "logDir: {pvc: [{name: a, subPath: [x]}]}",
        "logDir: {s3: {secretRef: {name: k}, uri: ['s3://b']}, http: {url: ['http://h']}}",
    ];
    for spec in good {
        assert_eq!(codes(&with(spec)), Vec::<String>::new(), "{spec}");
    }
    let bad = [
        ("trainingLogFilesets: [logs]", "TY122"),
        ("trainingLogFilesets: ['t9k://pvc/']", "TY122"),
        ("trainingLogFilesets: ['t9k://pvc/Bad_Name/x']", "TY122"),
        ("trainingLogFilesets: ['t9k://pvc/logs/../other']", "TY122"),
        ("trainingLogFilesets: ['t9k://minio/secret']", "TY122"),
        ("trainingLogFilesets: ['t9k://disk/x']", "TY122"),
        ("logDir: {pvc: [{subPath: [x]}]}", "TY022"),
        ("logDir: {ftp: {}}", "TY020"),
    ];
    for (spec, code) in bad {
        assert_eq!(codes(&with(spec)), [code], "{spec}");
        assert_eq!(read(&with(spec)).jobs().count(), 0, "{spec}");
    }
}
