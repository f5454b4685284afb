//! Changes are made to manifests of every dialect, and what comes out is read by the dialect's own reader.

use trainyard_core::RoleName;
use trainyard_dialect::{ReadJob, read};

use super::*;

const TFJOB: &str = "
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: mnist}
spec:
  runPolicy: {schedulingPolicy: {minAvailable: 7}}
  tfReplicaSpecs:
    PS:
      replicas: 2
      template: {spec: {containers: [{name: tensorflow, image: a, command: [p], args: [x], env: [{name: A, value: '1'}]}]}}
    Worker:
      replicas: 5
      template:
        spec:
          initContainers: [{name: i, image: a, command: [i]}]
          containers:
          - {name: side, image: a, command: [s]}
          - {name: tensorflow, image: a, command: [w], env: [{name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}
";

const FIRST: &str = "
apiVersion: kubeflow.org/v1alpha1
kind: TFJob
metadata: {name: old}
spec:
  replicaSpecs:
  - {tfReplicaType: MASTER, replicas: 1, template: {spec: {restartPolicy: OnFailure, containers: [{name: tensorflow, image: a, command: [m]}]}}}
  - {tfReplicaType: WORKER, replicas: 3, template: {spec: {restartPolicy: OnFailure, containers: [{name: tensorflow, image: a, command: [w]}]}}}
";

const T9K: &str = "
apiVersion: batch.tensorstack.dev/v1beta1
kind: TensorFlowTrainingJob
metadata: {name: t9k}
spec:
  replicaSpecs:
  - {type: worker, replicas: 4, template: {spec: {containers: [{name: tensorflow, image: a, command: [w]}]}}}
";

const VOLCANO: &str = "
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: volcano}
spec:
  minAvailable: 3
  tasks:
  - {name: ps, replicas: 1, template: {spec: {restartPolicy: Never, containers: [{name: tensorflow, image: a, command: [p]}]}}}
  - {name: worker, replicas: 2, minAvailable: 2, template: {spec: {restartPolicy: Never, containers: [{name: tensorflow, image: a, command: [w]}]}}}
";

fn source(text: &str) -> Source {
    Source::from_bytes("job.yaml", text.as_bytes()).unwrap()
}

fn job_of(source: &Source) -> ReadJob {
    let reading = read(source);
    let errors: Vec<&str> = reading
        .problems
        .iter()
        .map(|problem| problem.message.as_str())
        .collect();
    assert!(!reading.has_errors(), "{errors:?}\n{}", source.text);
    reading.jobs().next().unwrap().clone()
}

fn changed(text: &str, overrides: &Overrides) -> ReadJob {
    job_of(&overrides.rewrite(&source(text), None).unwrap())
}

fn replicas(job: &ReadJob) -> Vec<(String, u32)> {
    let role = |role: &trainyard_core::Role| (role.name.to_string(), role.replicas);
    job.job.roles.iter().map(role).collect()
}

fn template(job: &ReadJob, role: &str) -> Value {
    let (_, role) = job.job.role(&RoleName::new(role)).unwrap();
    serde_json::from_str(&role.template.0).unwrap()
}

#[test]
fn replicas_are_changed_in_every_dialect_and_minimums_follow() {
    let table = [
        (TFJOB, "worker=2", vec![("ps", 2), ("worker", 2)]),
        (TFJOB, "Worker=1", vec![("ps", 2), ("worker", 1)]),
        (TFJOB, "ps=0", vec![("worker", 5)]),
        (FIRST, "worker=1", vec![("master", 1), ("worker", 1)]),
        (T9K, "worker=2", vec![("worker", 2)]),
        (VOLCANO, "worker=1", vec![("ps", 1), ("worker", 1)]),
        (VOLCANO, "ps=0", vec![("worker", 2)]),
        (VOLCANO, "worker=9", vec![("ps", 1), ("worker", 9)]),
    ];
    for (text, option, expected) in table {
        let overrides = Overrides {
            replicas: vec![option.parse().unwrap()],
            ..Overrides::default()
        };
        let mut found = replicas(&changed(text, &overrides));
        found.sort();
        let expected: Vec<(String, u32)> = expected
            .into_iter()
            .map(|(name, count)| (name.to_owned(), count))
            .collect();
        assert_eq!(found, expected, "{option} {text}");
    }
}

#[test]
fn a_role_that_is_not_there_is_said_with_those_that_are() {
    let overrides = Overrides {
        replicas: vec!["wroker=2".parse().unwrap(), "gpu=1".parse().unwrap()],
        ..Overrides::default()
    };
    let bad = overrides.rewrite(&source(VOLCANO), None).unwrap_err();
    let said: Vec<(&str, Option<&str>)> = bad
        .iter()
        .map(|bad| (bad.message.as_str(), bad.hint.as_deref()))
        .collect();
    let expected = [
        ("the job has no role `wroker`", Some("did you mean `worker`?")),
        ("the job has no role `gpu`", Some("it has `ps`, `worker`")),
    ];
    assert_eq!(said, expected);
}

#[test]
fn variables_go_to_every_container_and_commands_to_the_main_one() {
    let overrides = Overrides {
        env: vec!["A=2".parse().unwrap(), "B=x=y".parse().unwrap()],
        command: Some(words("python 'my train.py'").unwrap()),
        workdir: Some("/src".into()),
        ..Overrides::default()
    };
    let job = changed(TFJOB, &overrides);
    let worker = template(&job, "worker");
    let main = &worker["spec"]["containers"][1];
    assert_eq!(main["command"], json!(["python", "my train.py"]));
    assert_eq!(main["workingDir"], "/src");
    assert_eq!(
        main["env"],
        json!([{"name": "A", "value": "2"}, {"name": "B", "value": "x=y"}])
    );
    let side = &worker["spec"]["containers"][0];
    assert_eq!(side["command"], json!(["s"]));
    assert_eq!(side["env"][1]["value"], "x=y");
    assert_eq!(worker["spec"]["initContainers"][0]["env"][0]["value"], "2");
    let ps = template(&job, "ps");
    assert_eq!(ps["spec"]["containers"][0]["args"], Value::Null);
    assert_eq!(ps["spec"]["containers"][0]["env"].as_array().unwrap().len(), 2);
}

#[test]
fn paths_are_set_with_values_as_yaml_has_them() {
    let set = |text: &str| Overrides {
        set: vec![text.parse().unwrap()],
        ..Overrides::default()
    };
    let job = changed(TFJOB, &set("spec.runPolicy.backoffLimit=2"));
    assert_eq!(job.job.limits.restarts, Some(2));
    let job = changed(
        TFJOB,
        &set("spec.tfReplicaSpecs.worker.template.spec.containers[tensorflow].args=[a, '1']"),
    );
    assert_eq!(
        template(&job, "worker")["spec"]["containers"][1]["args"],
        json!(["a", "1"])
    );
    let job = changed(TFJOB, &set("spec.tfReplicaSpecs.PS=null"));
    assert_eq!(replicas(&job), [("worker".to_owned(), 5)]);
    let job = changed(T9K, &set("spec.replicaSpecs[worker].replicas=1"));
    assert_eq!(replicas(&job), [("worker".to_owned(), 1)]);
    let bad = set("spec.tfReplicaSpecs.Wroker.replicas=1")
        .rewrite(&source(TFJOB), None)
        .unwrap_err();
    assert_eq!(bad[0].path, "--set spec.tfReplicaSpecs.Wroker.replicas=1");
    assert_eq!(bad[0].hint.as_deref(), Some("did you mean `Worker`?"));
    for text in ["spec", "spec.x=[1", "a=1\n---\n2"] {
        assert!(text.parse::<Assignment>().is_err(), "{text}");
    }
    assert_eq!("a=".parse::<Assignment>().unwrap().value, json!(""));
}

#[test]
fn other_objects_and_other_jobs_stay_as_they_are() {
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m}}\ndata: {{a: '1'}}\n---{TFJOB}---{T9K}"
    );
    let overrides = Overrides {
        replicas: vec!["worker=1".parse().unwrap()],
        ..Overrides::default()
    };
    let rewritten = overrides.rewrite(&source(&text), Some("mnist")).unwrap();
    let reading = read(&rewritten);
    assert_eq!(reading.items.len(), 3);
    let counts: Vec<Vec<(String, u32)>> = reading.jobs().map(replicas).collect();
    assert_eq!(counts[0][1], ("worker".to_owned(), 1));
    assert_eq!(counts[1], [("worker".to_owned(), 4)]);
    let none = Overrides::default().rewrite(&source(&text), None).unwrap();
    assert_eq!(&*none.text, text, "without changes the text is the user's own");
    let broken = overrides.rewrite(&source("a: ["), None).unwrap();
    assert_eq!(&*broken.text, "a: [");
}

#[test]
fn a_changed_manifest_is_not_called_by_its_file_alone() {
    let overrides = Overrides {
        set: vec!["spec.tfReplicaSpecs.Worker.replicas=x".parse().unwrap()],
        workdir: Some("/tmp".into()),
        ..Overrides::default()
    };
    let changed = overrides.rewrite(&source(TFJOB), None).unwrap();
    assert_eq!(&*changed.name, "job.yaml with --set --workdir");
    let unchanged = Overrides::default().rewrite(&source(TFJOB), None).unwrap();
    assert_eq!(&*unchanged.name, "job.yaml");
}

#[test]
fn options_that_are_none_say_what_they_take() {
    for text in ["worker", "worker=", "worker=two", "=2", "worker=-1"] {
        assert!(text.parse::<Replicas>().is_err(), "{text}");
    }
    for text in ["A", "=1", ""] {
        assert!(text.parse::<Variable>().is_err(), "{text}");
    }
    assert_eq!("A=".parse::<Variable>().unwrap().value, "");
}

fn quick() -> Quick {
    Quick {
        workers: 2,
        ps: 1,
        command: vec!["python".into(), "src/My_Train.py".into(), "--x=1".into()],
        ..Quick::default()
    }
}

#[test]
fn flags_are_a_tfjob_that_reads() {
    let mut all = quick();
    all.chief = true;
    all.evaluator = true;
    all.gpus = 2;
    all.restart_scope = Some("job".into());
    all.env = vec!["A=1".parse().unwrap()];
    all.workdir = Some("/src".into());
    let text = all.to_yaml().unwrap();
    let expected = "\
apiVersion: kubeflow.org/v1
kind: TFJob
metadata:
  name: my-train
spec:
  runPolicy:
    cleanPodPolicy: Running
    backoffLimit: 3
    restartScope: Job
  tfReplicaSpecs:
    Chief:
      replicas: 1
      restartPolicy: OnFailure
      template:
        spec:
          containers:
          - name: tensorflow
            image: tensorflow/tensorflow:latest
            command:
            - python
            - src/My_Train.py
            - \"--x=1\"
            workingDir: /src
            env:
            - name: A
              value: \"1\"
            resources:
              limits:
                nvidia.com/gpu: 2
";
    assert!(text.starts_with(expected), "{text}");
    let job = job_of(&source(&text)).job;
    assert!(job.restarts_whole());
    assert_eq!(job.limits.restarts, Some(3));
    let counts: Vec<(String, u32)> = job
        .roles
        .iter()
        .map(|role| (role.name.to_string(), role.replicas))
        .collect();
    let expected = [("chief", 1), ("evaluator", 1), ("ps", 1), ("worker", 2)];
    let mut counts: Vec<(&str, u32)> = counts
        .iter()
        .map(|(name, count)| (name.as_str(), *count))
        .collect();
    counts.sort_unstable();
    assert_eq!(counts, expected);
}

#[test]
fn plain_flags_do_not_restart() {
    let job = job_of(&source(&quick().to_yaml().unwrap())).job;
    assert!(!job.restarts_whole());
    let json = quick().to_json().unwrap();
    assert_eq!(json["spec"]["tfReplicaSpecs"]["Worker"]["restartPolicy"], "Never");
    assert_eq!(
        json["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["resources"],
        Value::Null
    );
}

#[test]
fn a_job_is_named_after_its_script() {
    let table: &[(&[&str], &str)] = &[
        (&["python", "train.py"], "train"),
        (&["python", "-u", "/a/b/Fit_Model.v2.py", "x.py"], "fit-model-v2"),
        (&["python", "-m", "pkg.train"], "python"),
        (&["./2fast.sh"], "job-2fast"),
        (&["/bin/__"], "job"),
        (&["sleep", "9"], "sleep"),
    ];
    for (command, name) in table {
        let quick = Quick {
            command: command.iter().map(ToString::to_string).collect(),
            ..quick()
        };
        assert_eq!(quick.to_json().unwrap()["metadata"]["name"], *name, "{command:?}");
    }
}

#[test]
fn what_is_typed_for_a_shell_reaches_it() {
    let table = [
        ("kill $$", "kill $$$$"),
        ("$HOME $(date) $", "$HOME $(date) $"),
        ("--index=$(TRAINYARD_INDEX)", "--index=$(TRAINYARD_INDEX)"),
        ("$$(NAME) $$$$", "$$(NAME) $$$$$$$$"),
    ];
    for (typed, written) in table {
        let quick = Quick {
            command: vec![typed.to_owned()],
            ..quick()
        };
        let job = quick.to_json().unwrap();
        let container = &job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0];
        assert_eq!(container["command"][0], written, "{typed}");
    }
}

#[test]
fn scopes_are_spelt_as_the_manifest_has_them() {
    let table = [
        ("job", Some(json!("Job"))),
        ("Replica", Some(json!("Replica"))),
        ("chief,ps", Some(json!(["Chief", "PS"]))),
        ("worker", Some(json!(["Worker"]))),
        ("all", None),
        ("job,ps", None),
    ];
    for (text, expected) in table {
        let quick = Quick {
            restart_scope: Some(text.to_owned()),
            ..quick()
        };
        let found = quick
            .to_json()
            .ok()
            .map(|job| job["spec"]["runPolicy"]["restartScope"].clone());
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn flags_that_make_no_job_are_refused() {
    let mut none = quick();
    none.command.clear();
    let error = none.to_json().unwrap_err().to_string();
    assert!(error.starts_with("no command: "), "{error}");
    let empty = Quick {
        workers: 0,
        ..quick()
    };
    let error = empty.to_json().unwrap_err().to_string();
    assert!(error.starts_with("no task: "), "{error}");
}
