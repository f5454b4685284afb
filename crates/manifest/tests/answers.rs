//! Restart policies become `podFailurePolicy`, and success policies `successPolicy`.

#![expect(clippy::expect_used, reason = "a test that cannot go on says why and stops")]

use serde_json::{Value, json};
use trainyard_core::Addresses;
use trainyard_dialect::read;
use trainyard_document::Source;
use trainyard_manifest::{Form, Rendered, Wishes, render};

fn rendered(text: &str, form: Form) -> Vec<Value> {
    whole(text, form, None).objects
}

/// What is told beside the objects, sentences and commands, as one text.
fn told(text: &str, form: Form, addresses: Option<Addresses>) -> String {
    let notes = whole(text, form, addresses).notes;
    let notes = notes
        .iter()
        .map(|note| format!("{}\n{}", note.what, note.commands.join("\n")));
    notes.collect::<Vec<_>>().join("\n")
}

fn whole(text: &str, form: Form, addresses: Option<Addresses>) -> Rendered {
    let source = Source::from_bytes("test", text.as_bytes()).expect("text");
    let reading = read(&source);
    let job = reading.jobs().next().expect("a job");
    let wishes = Wishes {
        form,
        addresses,
        nodes: vec!["a".into()],
        namespace: None,
    };
    render(
        &job.subject(wishes.namespace.as_deref(), wishes.addresses),
        &wishes,
    )
    .expect("objects")
}

/// A TFJob with two workers.
fn two_workers(restart: &str, run_policy: &str, annotation: &str) -> String {
    format!(
        "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {{name: j, annotations: {{{annotation}}}}}\nspec:\n  \
         runPolicy: {{{run_policy}}}\n  tfReplicaSpecs:\n    Worker:\n      replicas: 2\n      restartPolicy: {restart}\n      \
         template: {{spec: {{containers: [{{name: tensorflow, image: i}}]}}}}\n"
    )
}

/// The spec of their Job.
fn workers(restart: &str, run_policy: &str) -> Value {
    let text = two_workers(restart, run_policy, "");
    rendered(&text, Form::Jobs).pop().expect("a Job")["spec"].clone()
}

fn actions(spec: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let rules = spec["podFailurePolicy"]["rules"].as_array().expect("rules");
    rules
        .iter()
        .map(|rule| {
            let on = if let Some(conditions) = rule.get("onPodConditions") {
                text(&conditions[0]["type"])
            } else {
                let codes = &rule["onExitCodes"];
                let values = codes["values"].as_array().expect("codes");
                let ends = [values.first(), values.last()].map(|end| end.expect("a code").to_string());
                format!(
                    "{} {}..{} ({})",
                    text(&codes["operator"]),
                    ends[0],
                    ends[1],
                    values.len()
                )
            };
            (text(&rule["action"]), on)
        })
        .collect()
}

#[test]
fn restart_policies_become_limits_and_rules() {
    // The policy, the limits, the limit that follows, and the rules after the first.
    type Case<'a> = (&'a str, &'a str, u64, &'a [(&'a str, &'a str)]);
    let cases: [Case<'_>; 6] = [
        ("Never", "backoffLimit: 3", 0, &[]),
        (
            "OnFailure",
            "backoffLimit: 3",
            3,
            &[("FailJob", "In 128..128 (1)")],
        ),
        ("OnFailure", "", 2_147_483_647, &[("FailJob", "In 128..128 (1)")]),
        ("Always", "backoffLimit: 2", 2, &[("FailJob", "In 128..128 (1)")]),
        (
            "ExitCode",
            "backoffLimit: 4",
            4,
            &[("FailJob", "In 1..128 (127)")],
        ),
        ("ExitCode", "backoffLimit: 0", 0, &[]),
    ];
    for (restart, run_policy, limit, rules) in cases {
        let spec = workers(restart, run_policy);
        let what = format!("{restart}, {run_policy}");
        assert_eq!(spec["backoffLimit"], limit, "{what}");
        let mut expected = vec![("Ignore".to_owned(), "DisruptionTarget".to_owned())];
        expected.extend(
            rules
                .iter()
                .map(|(action, on)| ((*action).to_owned(), (*on).to_owned())),
        );
        assert_eq!(actions(&spec), expected, "{what}");
    }
}

#[test]
fn limits_are_the_jobs_own() {
    let spec = workers(
        "Never",
        "activeDeadlineSeconds: 60, ttlSecondsAfterFinished: 5, suspend: true",
    );
    assert_eq!(
        (
            &spec["activeDeadlineSeconds"],
            &spec["ttlSecondsAfterFinished"],
            &spec["suspend"]
        ),
        (&json!(60), &json!(5), &json!(true))
    );
}

#[test]
fn worker_zero_alone_decides_unless_everything_is_to_be_left_alone() {
    let decided = workers("Never", "cleanPodPolicy: Running");
    assert_eq!(
        decided["successPolicy"],
        json!({ "rules": [{ "succeededIndexes": "0" }] })
    );
    assert_eq!(
        workers("Never", "cleanPodPolicy: None").get("successPolicy"),
        None
    );
}

#[test]
fn templates_pass_through_but_for_what_is_ours() {
    let text = "
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: j, labels: {team: a}, annotations: {note: b, trainyard.dev/addresses: per-replica}}
spec:
  tfReplicaSpecs:
    Worker:
      replicas: 2
      template:
        metadata: {labels: {app: x, job-name: mine}, annotations: {k: v}, finalizers: [a/b]}
        spec:
          hostname: fixed
          enableServiceLinks: false
          initContainers: [{name: first, image: i}]
          containers:
            - name: sidecar
              image: s
            - name: tensorflow
              image: i
              resources: {limits: {cpu: 0.5, alpha.kubernetes.io/nvidia-gpu: 2}}
              env:
                - {name: TF_CONFIG, value: mine}
                - {name: ME, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['training.kubeflow.org/replica-index']\"}}}
                - {name: TRAINYARD_ROLE, value: my-own}
";
    let objects = rendered(text, Form::Jobs);
    let job = objects.last().expect("a Job");
    assert_eq!(job["metadata"]["labels"]["team"], "a");
    assert_eq!(job["metadata"]["annotations"], json!({ "note": "b" }));
    let template = &job["spec"]["template"];
    let labels = template["metadata"]["labels"].as_object().expect("labels");
    assert_eq!(
        (labels.get("app"), labels.get("job-name")),
        (Some(&json!("x")), None)
    );
    assert_eq!(template["metadata"].get("finalizers"), None);
    let pod = &template["spec"];
    assert_eq!(
        (pod.get("hostname"), &pod["enableServiceLinks"]),
        (None, &json!(false))
    );
    let main = &pod["containers"][1];
    assert_eq!(
        main["resources"]["limits"],
        json!({ "cpu": "0.5", "nvidia.com/gpu": 2 })
    );
    let env = main["env"].as_array().expect("variables");
    let named = |name: &str| {
        env.iter()
            .filter(|entry| entry["name"] == name)
            .collect::<Vec<_>>()
    };
    assert_eq!(named("TF_CONFIG").len(), 1);
    assert_eq!(env.last().expect("one")["name"], "TF_CONFIG");
    assert_eq!(
        named("ME")[0]["valueFrom"]["fieldRef"]["fieldPath"],
        "metadata.annotations['batch.kubernetes.io/job-completion-index']"
    );
    assert_eq!(
        named("TRAINYARD_ROLE"),
        [&json!({ "name": "TRAINYARD_ROLE", "value": "my-own" })]
    );
    assert!(
        pod["initContainers"][0]["env"]
            .as_array()
            .expect("variables")
            .len()
            > 3
    );
    assert_eq!(
        objects
            .iter()
            .filter(|object| object["kind"] == "Service")
            .count(),
        2
    );
}

#[test]
fn fewer_nodes_than_tasks_are_shared_by_ports() {
    let text = "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: j}\nspec:\n  tfReplicaSpecs:\n    Worker:\n      \
                replicas: 3\n      template: {spec: {containers: [{name: tensorflow, image: i}]}}\n";
    let source = Source::from_bytes("test", text.as_bytes()).expect("text");
    let reading = read(&source);
    let job = reading.jobs().next().expect("a job");
    let wishes = Wishes {
        form: Form::Jobs,
        addresses: Some(Addresses::Given),
        nodes: vec!["a".into(), "b".into()],
        namespace: Some("ns".into()),
    };
    let objects = render(
        &job.subject(wishes.namespace.as_deref(), wishes.addresses),
        &wishes,
    )
    .expect("objects")
    .objects;
    assert_eq!(objects[0]["data"]["worker"], "a:2222,b:2222,a:2223");
    let third = &objects[3]["spec"]["template"]["spec"];
    assert_eq!(third["containers"][0]["ports"][0]["containerPort"], 2223);
    assert_eq!(third["hostNetwork"], true);
    let affinity = &third["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    assert_eq!(
        affinity["nodeSelectorTerms"][0]["matchFields"][0]["values"],
        json!(["a"])
    );
}

#[test]
fn an_eviction_that_costs_a_restart_has_one_to_pay_with() {
    let text = "
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: j}
spec:
  minAvailable: 2
  maxRetry: 4
  policies: [{event: PodEvicted, action: RestartPod}]
  tasks:
    - name: worker
      replicas: 2
      template: {spec: {restartPolicy: Never, containers: [{name: tensorflow, image: i}]}}
";
    let objects = rendered(text, Form::Jobs);
    let spec = &objects.last().expect("a Job")["spec"];
    assert_eq!(spec["backoffLimitPerIndex"], 3);
    let rules = [("Count", "DisruptionTarget"), ("FailIndex", "NotIn 0..0 (1)")];
    assert_eq!(
        actions(spec),
        rules.map(|(action, on)| (action.to_owned(), on.to_owned()))
    );
    // Volcano's own scheduler would be waited for in vain.
    assert_eq!(spec["template"]["spec"].get("schedulerName"), None);
}

#[test]
fn a_jobset_that_starts_again_as_a_whole_says_nothing_about_one_index() {
    let text = "
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: j}
spec:
  minAvailable: 2
  policies: [{event: PodEvicted, action: CompleteJob}, {event: PodFailed, action: RestartJob}]
  tasks:
    - name: worker
      replicas: 2
      template: {spec: {restartPolicy: Never, containers: [{name: tensorflow, image: i}]}}
";
    let objects = rendered(text, Form::JobSet);
    let spec = &objects.last().expect("a JobSet")["spec"]["replicatedJobs"][0]["template"]["spec"];
    assert_eq!(spec["backoffLimit"], 0);
    assert!(
        actions(spec).iter().all(|(action, _)| action != "FailIndex"),
        "{spec}"
    );
}

#[test]
fn a_drained_task_that_exits_0_is_told_of() {
    let text = two_workers("OnFailure", "", "");
    for form in [Form::Jobs, Form::JobSet] {
        let told = told(&text, form, None);
        assert!(told.contains("exits 0 counts as done"), "{told}");
        assert!(told.contains("(`worker-0`)") && told.contains("143"), "{told}");
    }
}

#[test]
fn on_nodes_one_task_is_waited_for_and_its_peers_are_stopped() {
    let told = |run_policy| {
        told(
            &two_workers("Never", run_policy, ""),
            Form::Jobs,
            Some(Addresses::Given),
        )
    };
    let stopped = told("cleanPodPolicy: Running");
    assert!(stopped.contains("--timeout=168h job/j-worker-0\n"), "{stopped}");
    assert!(
        stopped.contains("--field-selector metadata.name!=j-worker-0"),
        "{stopped}"
    );
    assert!(!told("cleanPodPolicy: None").contains("job/j-worker-0"));
    let suspended = told("suspend: true");
    assert!(
        suspended.contains("-o name | xargs -n 1 kubectl -n default patch"),
        "{suspended}"
    );
}

#[test]
fn what_a_jobset_does_of_itself_is_told() {
    let annotation = "trainyard.dev/addresses: per-replica";
    let text = two_workers("Never", "cleanPodPolicy: None", annotation);
    let told = told(&text, Form::JobSet, None);
    assert!(told.contains("a JobSet stops what still runs"), "{told}");
    assert!(told.contains("not `per-replica`"), "{told}");
}

#[test]
fn a_pod_on_its_nodes_network_still_asks_the_cluster_for_names() {
    let text = two_workers("Never", "", "").replace("{spec: {", "{spec: {hostNetwork: true, ");
    for (form, pod) in [
        (Form::Jobs, "/spec/template/spec"),
        (Form::JobSet, "/spec/replicatedJobs/0/template/spec/template/spec"),
    ] {
        let last = rendered(&text, form).pop().expect("an object");
        let pod = last.pointer(pod).expect("a pod");
        assert_eq!(pod["dnsPolicy"], "ClusterFirstWithHostNet", "{form:?}");
    }
}

#[test]
fn what_is_left_out_is_told() {
    let named = two_workers("Never", "", "").replace("{spec: {", "{spec: {hostname: h, subdomain: s, ");
    let told_of = told(&named, Form::Jobs, None);
    assert!(told_of.contains("`hostname` and `subdomain`"), "{told_of}");
    let seated = two_workers("Never", "", "").replace("{spec: {", "{spec: {nodeName: b, ");
    let told_of = told(&seated, Form::Jobs, Some(Addresses::Given));
    assert!(told_of.contains("Nothing runs on `a`"), "{told_of}");
}
