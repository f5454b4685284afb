//! What is found in templates, and what is wrong with them.

use trainyard_document::problem::{FieldPath, Problem, Problems};
use trainyard_document::{Source, parse};

use super::*;

fn read_text(text: &str) -> (Option<PodTemplate>, Vec<Problem>) {
    let source = Source::from_bytes("t.yaml", text.as_bytes()).unwrap();
    let (documents, problems) = parse(&source);
    assert_eq!(problems, [], "{text}");
    let problems = Problems::new(&source, 0);
    let template = read(&Field::root(&documents[0].root, FieldPath::root(), &problems));
    (template, problems.into_vec())
}

/// A template with one good container and `more` beside it under `spec`.
fn with_spec(more: &str) -> String {
    format!("spec:\n  containers:\n  - {{name: tensorflow, image: tf}}\n{more}")
}

/// A template whose one container has `more` in it.
fn with_container(more: &str) -> String {
    format!("spec:\n  containers:\n  - name: tensorflow\n    image: tf\n{more}")
}

fn told(problems: &[Problem]) -> Vec<String> {
    problems
        .iter()
        .map(|problem| format!("{} {}", problem.code, problem.place.path))
        .collect()
}

#[test]
fn everything_the_job_needs_is_taken_out() {
    let (template, problems) = read_text(
        r"
metadata:
  labels: {app: x}
  annotations: {scheduling.k8s.io/group-name: g}
spec:
  schedulerName: volcano
  priorityClassName: high
  restartPolicy: OnFailure
  hostNetwork: true
  hostname: h
  subdomain: s
  terminationGracePeriodSeconds: 60
  volumes:
  - {name: data, persistentVolumeClaim: {claimName: d}}
  containers:
  - name: tensorflow
    image: tensorflow/tensorflow:2.21.0
    command: [python, train.py]
    args: [--steps, '100']
    workingDir: /work
    ports: [{name: tfjob-port, containerPort: 2223}, {containerPort: 6006}]
    env:
    - {name: A, value: '1'}
    - {name: B, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    - {name: C}
    volumeMounts: [{name: data, mountPath: /data}]
    resources: {limits: {nvidia.com/gpu: 2, memory: 4Gi}, requests: {memory: 2Gi, cpu: 500m}}
",
    );
    assert_eq!(told(&problems), Vec::<String>::new());
    let template = template.unwrap();
    assert_eq!(template.labels["app"].as_ref(), "x");
    assert_eq!(template.annotations["scheduling.k8s.io/group-name"].as_ref(), "g");
    assert_eq!(template.scheduler_name.as_deref(), Some("volcano"));
    assert_eq!(template.restart_policy.unwrap().0, RestartPolicy::OnFailure);
    assert!(template.host_network);
    assert_eq!(template.port("tensorflow", "tfjob-port"), Some(2223));
    assert_eq!(template.port("tensorflow", "nope"), None);
    let container = template.container("tensorflow").unwrap();
    assert_eq!(container.command.len() + container.args.len(), 4);
    let env: Vec<_> = container
        .env
        .iter()
        .map(|v| (v.name.as_ref(), v.value.as_deref()))
        .collect();
    assert_eq!(env, [("A", Some("1")), ("B", None), ("C", Some(""))]);
    let asked: Vec<String> = template
        .requests
        .iter()
        .map(|(name, amount)| format!("{name}={amount}"))
        .collect();
    assert_eq!(asked, ["cpu=500m", "memory=2Gi", "nvidia.com/gpu=2"]);
}

/// Each row: what is written under `spec` of a good template, and what is said about it.
const SPEC: &[(&str, &[&str])] = &[
    ("", &[]),
    ("  nodeSelecter: {a: b}\n", &["TY020 spec.nodeSelecter"]),
    ("  nodeSelector: {gpu: yes}\n", &["TY021 spec.nodeSelector.gpu"]),
    ("  restartPolicy: always\n", &["TY023 spec.restartPolicy"]),
    ("  dnsPolicy: ClusterFirst\n", &[]),
    (
        "  tolerations: [{key: a, operator: Exists, effect: NoSchedul}]\n",
        &["TY023 spec.tolerations[0].effect"],
    ),
    (
        "  affinity: {nodeAffinity: {required: {}}}\n",
        &["TY020 spec.affinity.nodeAffinity.required"],
    ),
    (
        "  terminationGracePeriodSeconds: -1\n",
        &["TY046 spec.terminationGracePeriodSeconds"],
    ),
    (
        "  terminationGracePeriodSeconds: 30s\n",
        &["TY021 spec.terminationGracePeriodSeconds"],
    ),
    ("  hostNetwork: 'true'\n", &["TY021 spec.hostNetwork"]),
    ("  volumes: [{name: a}]\n", &["TY073 spec.volumes[0].name"]),
    ("  volumes: [{name: a, emptyDir: }]\n", &[]),
    (
        "  volumes: [{name: a, emptyDir: {medium: Memory, sizeLimit: 1GB}}]\n",
        &["TY047 spec.volumes[0].emptyDir.sizeLimit"],
    ),
    (
        "  volumes: [{name: a, emptyDir: {}, hostPath: {path: /x}}]\n",
        &["TY068 spec.volumes[0].name"],
    ),
    (
        "  volumes: [{name: a, emptyDir: {}}, {name: a, emptyDir: {}}]\n",
        &["TY057 spec.volumes[1].name"],
    ),
    ("  volumes: [{emptyDir: {}}]\n", &["TY022 spec.volumes[0].name"]),
    (
        "  volumes: [{name: A_b, emptyDir: {}}]\n",
        &["TY056 spec.volumes[0].name"],
    ),
    (
        "  volumes: [{name: c, configmap: {name: x}}]\n",
        &["TY020 spec.volumes[0].configmap"],
    ),
    ("  volumes: {name: a}\n", &["TY021 spec.volumes"]),
    (
        "  volumes: [{name: a, configMap: {name: x, items: [{key: k, path: a/b}, {key: k, path: ../b}]}}]\n",
        &["TY074 spec.volumes[0].configMap.items[1].path"],
    ),
    (
        "  volumes: [{name: a, secret: {secretName: x, items: [{key: k, path: /etc/b}]}}]\n",
        &["TY074 spec.volumes[0].secret.items[0].path"],
    ),
    (
        "  volumes: [{name: a, downwardAPI: {items: [{path: a/../../b, fieldRef: {fieldPath: metadata.name}}]}}]\n",
        &["TY074 spec.volumes[0].downwardAPI.items[0].path"],
    ),
    (
        "  volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: /b}}, {secret: {name: x, items: [{key: k, path: ..b}]}}]}}]\n",
        &[
            "TY074 spec.volumes[0].projected.sources[0].serviceAccountToken.path",
            "TY074 spec.volumes[0].projected.sources[1].secret.items[0].path",
        ],
    ),
    (
        "  initContainers: [{name: tensorflow, image: b}]\n",
        &["TY057 spec.containers[0].name"],
    ),
    (
        "  initContainers: [{name: i}]\n",
        &["TY058 spec.initContainers[0].image"],
    ),
    ("  overhead: {cpu: lots}\n", &["TY047 spec.overhead.cpu"]),
];

/// Each row: what is written in the one container, and what is said about it.
const CONTAINER: &[(&str, &[&str])] = &[
    ("", &[]),
    ("    comand: [a]\n", &["TY020 spec.containers[0].comand"]),
    (
        "    command: python train.py\n",
        &["TY021 spec.containers[0].command"],
    ),
    (
        "    args: [--steps, 100]\n",
        &["TY021 spec.containers[0].args[1]"],
    ),
    ("    args: [a, ]\n", &[]),
    (
        "    args:\n    - a\n    -\n",
        &["TY021 spec.containers[0].args[1]"],
    ),
    (
        "    imagePullPolicy: ifNotPresent\n",
        &["TY023 spec.containers[0].imagePullPolicy"],
    ),
    (
        "    ports: [{containerPort: 0}]\n",
        &["TY059 spec.containers[0].ports[0].containerPort"],
    ),
    (
        "    ports: [{containerPort: 65536}]\n",
        &["TY059 spec.containers[0].ports[0].containerPort"],
    ),
    (
        "    ports: [{containerPort: '80'}]\n",
        &["TY021 spec.containers[0].ports[0].containerPort"],
    ),
    (
        "    ports: [{name: http}]\n",
        &["TY022 spec.containers[0].ports[0].containerPort"],
    ),
    (
        "    ports: [{name: a-name-far-too-long, containerPort: 1}]\n",
        &["TY056 spec.containers[0].ports[0].name"],
    ),
    (
        "    ports: [{name: a, containerPort: 1}, {name: a, containerPort: 2}]\n",
        &["TY057 spec.containers[0].ports[1].name"],
    ),
    (
        "    ports: [{containerPort: 1, hostPort: 99999}]\n",
        &["TY059 spec.containers[0].ports[0].hostPort"],
    ),
    (
        "    env: [{name: A, value: yes}]\n",
        &["TY060 spec.containers[0].env[0].value"],
    ),
    (
        "    env: [{name: A, value: 1}]\n",
        &["TY060 spec.containers[0].env[0].value"],
    ),
    (
        "    env: [{name: A, value: [1]}]\n",
        &["TY060 spec.containers[0].env[0].value"],
    ),
    ("    env: [{name: A, value: }]\n", &[]),
    (
        "    env: [{value: a}]\n",
        &["TY067 spec.containers[0].env[0].name"],
    ),
    (
        "    env: [{name: 'A=B', value: a}]\n",
        &["TY067 spec.containers[0].env[0].name"],
    ),
    (
        "    env: [{name: A, value: a}, {name: A, value: b}]\n",
        &["TY063 spec.containers[0].env[1].name"],
    ),
    (
        "    env: [{name: A, valueFrom: {}}]\n",
        &["TY067 spec.containers[0].env[0].valueFrom"],
    ),
    (
        "    env: [{name: A, value: b, valueFrom: {fieldRef: {fieldPath: x}}}]\n",
        &["TY067 spec.containers[0].env[0].value"],
    ),
    (
        "    env: [{name: A, valueFrom: {fieldRef: {fieldPath: x}, secretKeyRef: {name: s, key: k}}}]\n",
        &["TY067 spec.containers[0].env[0].valueFrom"],
    ),
    ("    env: {A: b}\n", &["TY021 spec.containers[0].env"]),
    (
        "    volumeMounts: [{name: data, mountPath: /d}]\n",
        &["TY064 spec.containers[0].volumeMounts[0].name"],
    ),
    (
        "    volumeMounts: [{mountPath: /d}]\n",
        &["TY022 spec.containers[0].volumeMounts[0].name"],
    ),
    (
        "    resources: {limits: {cpu: 1k, memory: 16GB}}\n",
        &["TY047 spec.containers[0].resources.limits.memory"],
    ),
    (
        "    resources: {limits: {cpus: 1}}\n",
        &["TY020 spec.containers[0].resources.limits.cpus"],
    ),
    (
        "    resources: {limits: {cpu: -1}}\n",
        &["TY047 spec.containers[0].resources.limits.cpu"],
    ),
    (
        "    resources: {limits: {nvidia.com/gpu: 0.5}}\n",
        &["TY065 spec.containers[0].resources.limits[nvidia.com/gpu]"],
    ),
    (
        "    resources: {limits: {cpu: 1}, requests: {cpu: 1500m}}\n",
        &["TY062 spec.containers[0].resources.requests.cpu"],
    ),
    (
        "    resources: {limits: {nvidia.com/gpu: 2}, requests: {nvidia.com/gpu: 1}}\n",
        &["TY062 spec.containers[0].resources.requests[nvidia.com/gpu]"],
    ),
    (
        "    resources: {limits: {alpha.kubernetes.io/nvidia-gpu: 1}}\n",
        &["TY052 spec.containers[0].resources.limits[alpha.kubernetes.io/nvidia-gpu]"],
    ),
    (
        "    resources: {limit: {cpu: 1}}\n",
        &["TY020 spec.containers[0].resources.limit"],
    ),
    ("    livenessProbe: {httpGet: {port: http}}\n", &[]),
    (
        "    livenessProbe: {httpGet: {port: [1]}}\n",
        &["TY021 spec.containers[0].livenessProbe.httpGet.port"],
    ),
    (
        "    securityContext: {runAsUser: root}\n",
        &["TY021 spec.containers[0].securityContext.runAsUser"],
    ),
];

#[test]
fn mistakes_in_the_spec_are_found_where_they_are() {
    for (more, expected) in SPEC {
        assert_eq!(told(&read_text(&with_spec(more)).1), *expected, "{more}");
    }
}

#[test]
fn mistakes_in_a_container_are_found_where_they_are() {
    for (more, expected) in CONTAINER {
        assert_eq!(told(&read_text(&with_container(more)).1), *expected, "{more}");
    }
}

#[test]
fn values_without_quotes_are_not_repeated_where_others_read() {
    for (more, expected) in [
        (
            "    env: [{name: PASSWORD, value: 27182818}]",
            "spec.containers[0].env[0].value: the value of a variable is text (put it in quotes)",
        ),
        (
            "    args: [--password, 27182818]",
            "spec.containers[0].args[1]: expected text, found a whole number (put it in quotes)",
        ),
        (
            "    command: [2.7182818]",
            "spec.containers[0].command[0]: expected text, found a number (put it in quotes)",
        ),
    ] {
        let problems = read_text(&with_container(more)).1;
        let lines: Vec<String> = problems.iter().map(Problem::in_a_line).collect();
        assert_eq!(lines, [expected], "{more}");
    }
}

#[test]
fn a_template_needs_containers_with_names_and_images() {
    let cases: &[(&str, &[&str])] = &[
        ("{}", &["TY061 "]),
        ("spec: {}", &["TY061 spec.containers"]),
        ("spec: {containers: []}", &["TY061 spec.containers"]),
        (
            "spec: {containers: [{}]}",
            &["TY022 spec.containers[0].name", "TY058 spec.containers[0].image"],
        ),
        (
            "spec: {containers: [{name: a, image: ''}]}",
            &["TY058 spec.containers[0].image"],
        ),
        (
            "spec: {containers: [{name: a, image: ' x'}]}",
            &["TY030 spec.containers[0].image"],
        ),
        (
            "spec: {containers: [{name: My_Job, image: x}]}",
            &["TY056 spec.containers[0].name"],
        ),
        (
            "spec: {containers: [{name: a, image: x}, {name: a, image: x}]}",
            &["TY057 spec.containers[1].name"],
        ),
        (
            "metadata: {finalizers: [x]}\nspec: {containers: [{name: a, image: x}]}",
            &["TY051 metadata.finalizers"],
        ),
        (
            "metadata: {finalizers: [], creationTimestamp: null}\nspec: {containers: [{name: a, image: x}]}",
            &[],
        ),
        (
            "metadata: {label: {}}\nspec: {containers: [{name: a, image: x}]}",
            &["TY020 metadata.label"],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(told(&read_text(text).1), *expected, "{text}");
    }
    assert!(read_text("[]").0.is_none());
}

#[test]
fn hints_name_what_was_meant() {
    let cases = [
        (
            with_container("    imagePullpolicy: Always\n"),
            "did you mean `imagePullPolicy`?",
        ),
        (
            with_container("    resources: {limits: {gpu: 1}}\n"),
            "did you mean `nvidia.com/gpu`?",
        ),
        (
            with_container("    resources: {limits: {memory: 16GB}}\n"),
            "did you mean `16G`?",
        ),
        (
            with_container("    env: [{name: A, value: yes}]\n"),
            "put it in quotes: \"yes\"",
        ),
        (
            with_container(
                "    volumeMounts: [{name: dta, mountPath: /d}]\n  volumes: [{name: data, emptyDir: {}}]\n",
            ),
            "did you mean `data`?",
        ),
    ];
    for (text, hint) in cases {
        let problems = read_text(&text).1;
        assert_eq!(problems[0].hint.as_deref(), Some(hint), "{text}");
    }
}

#[test]
fn the_old_gpu_is_counted_and_written_as_the_new_one() {
    let text = with_container("    resources: {limits: {alpha.kubernetes.io/nvidia-gpu: 2}}\n");
    let template = read_text(&text).0.unwrap();
    assert_eq!(template.requests["nvidia.com/gpu"], Quantity::from_milli(2000));
    let limits = &template.json["spec"]["containers"][0]["resources"]["limits"];
    assert_eq!(limits.to_string(), r#"{"nvidia.com/gpu":2}"#);
}

/// Each row: a pod's `spec` without names and images, and the CPU it asks for.
#[test]
fn amounts_are_summed_as_the_scheduler_counts() {
    let container = |cpu: &str, more: &str| {
        format!(
            "{{name: c{cpu}-{}, image: i, resources: {{requests: {{cpu: {cpu}}}}}{more}}}",
            more.len()
        )
    };
    let stays = ", restartPolicy: Always";
    let cases = [
        (vec![], vec![container("1", ""), container("2", "")], "", "3"),
        (
            vec![container("5", "")],
            vec![container("1", ""), container("2", "")],
            "",
            "5",
        ),
        (
            vec![container("2", "")],
            vec![container("1", ""), container("3", "")],
            "",
            "4",
        ),
        (
            vec![container("1", stays), container("5", "")],
            vec![container("2", "")],
            "",
            "6",
        ),
        (
            vec![container("5", ""), container("1", stays)],
            vec![container("2", "")],
            "",
            "5",
        ),
        (
            vec![container("1", stays), container("4", stays)],
            vec![container("2", "")],
            "",
            "7",
        ),
        (
            vec![],
            vec![container("1", "")],
            ", overhead: {cpu: 250m}",
            "1250m",
        ),
        (
            vec![],
            vec![container("1", "")],
            ", resources: {requests: {cpu: 8}}, overhead: {cpu: 1}",
            "9",
        ),
        (
            vec![],
            vec!["{name: a, image: i, resources: {limits: {cpu: 3}}}".to_owned()],
            "",
            "3",
        ),
    ];
    for (first, beside, more, expected) in cases {
        let text = format!(
            "spec: {{initContainers: [{}], containers: [{}]{more}}}",
            first.join(", "),
            beside.join(", ")
        );
        let (template, problems) = read_text(&text);
        assert_eq!(told(&problems), Vec::<String>::new(), "{text}");
        assert_eq!(template.unwrap().requests["cpu"].to_string(), expected, "{text}");
    }
}
