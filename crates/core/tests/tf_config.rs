//! `TF_CONFIG`, byte for byte: what Kubeflow and Volcano write, and where ours differs on purpose.

use std::collections::BTreeMap;

use trainyard_core::{
    Addresses, Clean, Cluster, ClusterForm, InPlace, Job, Limits, MOST_BYTES, Role, RoleKind, RoleName,
    TaskId, Template, addresses,
};

fn role(name: &str, kind: RoleKind, replicas: u32) -> Role {
    Role {
        name: RoleName::new(name),
        kind,
        tf_type: name.into(),
        replicas,
        template: Template("{}".into()),
        resume_template: None,
        in_place: InPlace::Never,
        port: 2222,
        ask: BTreeMap::new(),
        after: None,
    }
}

fn job(roles: Vec<Role>, addresses: Addresses, cluster: ClusterForm) -> Job {
    Job {
        name: "j".into(),
        namespace: "ns".into(),
        uid: "".into(),
        roles,
        rules: Vec::new(),
        limits: Limits::default(),
        clean: Clean::None,
        suspend: false,
        gang: None,
        addresses,
        cluster,
    }
}

fn all_roles() -> Vec<Role> {
    vec![
        role("chief", RoleKind::Chief, 1),
        role("evaluator", RoleKind::Evaluator, 1),
        role("ps", RoleKind::Ps, 1),
        role("worker", RoleKind::Worker, 2),
    ]
}

fn full(names: &[&str]) -> ClusterForm {
    ClusterForm::Full {
        roles: names.iter().map(|name| RoleName::new(name)).collect(),
        environment: true,
    }
}

fn config(job: &Job, domain: Option<&str>, task: &str) -> Option<String> {
    let task = task.parse::<TaskId>().ok()?;
    Cluster::of(job, &addresses(job, domain)).tf_config(&task)
}

#[test]
fn kubeflows_form_is_kept_to_the_byte() {
    let job = job(
        all_roles(),
        Addresses::PerReplica,
        full(&["chief", "evaluator", "ps", "worker"]),
    );
    let expected = r#"{"cluster":{"chief":["j-chief-0.ns.svc:2222"],"evaluator":["j-evaluator-0.ns.svc:2222"],"ps":["j-ps-0.ns.svc:2222"],"worker":["j-worker-0.ns.svc:2222","j-worker-1.ns.svc:2222"]},"task":{"type":"worker","index":1},"environment":"cloud"}"#;
    assert_eq!(config(&job, None, "worker-1").unwrap(), expected);
}

#[test]
fn one_service_a_job_and_no_evaluator_in_the_cluster_by_default() {
    let job = job(all_roles(), Addresses::PerJob, full(&["chief", "ps", "worker"]));
    let expected = r#"{"cluster":{"chief":["j-chief-0.j.ns.svc:2222"],"ps":["j-ps-0.j.ns.svc:2222"],"worker":["j-worker-0.j.ns.svc:2222","j-worker-1.j.ns.svc:2222"]},"task":{"type":"evaluator","index":0},"environment":"cloud"}"#;
    assert_eq!(config(&job, None, "evaluator-0").unwrap(), expected);
}

#[test]
fn a_domain_follows_svc() {
    let roles = vec![role("ps", RoleKind::Ps, 1), role("worker", RoleKind::Worker, 1)];
    let job = job(roles, Addresses::PerReplica, full(&["ps", "worker"]));
    assert!(
        config(&job, Some("tf.training.com"), "ps-0")
            .unwrap()
            .contains("j-ps-0.ns.svc.tf.training.com:2222")
    );
}

#[test]
fn volcanos_form_has_its_own_order_and_no_environment() {
    let roles = vec![role("ps", RoleKind::Ps, 1), role("worker", RoleKind::Worker, 1)];
    let names = ["ps", "worker"].iter().map(|name| RoleName::new(name)).collect();
    let job = job(
        roles,
        Addresses::PerJobShort,
        ClusterForm::Full {
            roles: names,
            environment: false,
        },
    );
    let expected = r#"{"cluster":{"ps":["j-ps-0.j:2222"],"worker":["j-worker-0.j:2222"]},"task":{"type":"ps","index":0}}"#;
    assert_eq!(config(&job, None, "ps-0").unwrap(), expected);
}

#[test]
fn dynamic_workers_see_themselves_and_the_parameter_servers() {
    let mut roles = all_roles();
    roles[2].replicas = 2;
    let job = job(roles, Addresses::PerReplica, ClusterForm::Sparse);
    let servers = r#""ps":["j-ps-0.ns.svc:2222","j-ps-1.ns.svc:2222"]"#;
    let table = [
        (
            "worker-1",
            format!(
                r#"{{"cluster":{{"worker":{{"1":"j-worker-1.ns.svc:2222"}},{servers}}},"task":{{"type":"worker","index":1}}}}"#
            ),
        ),
        (
            "ps-1",
            r#"{"cluster":{"worker":{},"ps":["j-ps-1.ns.svc:2222"]},"task":{"type":"ps","index":1}}"#.into(),
        ),
        (
            "chief-0",
            format!(
                r#"{{"cluster":{{"chief":["j-chief-0.ns.svc:2222"],"worker":{{}},{servers}}},"task":{{"type":"chief","index":0}}}}"#
            ),
        ),
        (
            "evaluator-0",
            format!(r#"{{"cluster":{{"worker":{{}},{servers}}},"task":{{"type":"evaluator","index":0}}}}"#),
        ),
    ];
    for (task, expected) in table {
        assert_eq!(config(&job, None, task).unwrap(), expected, "{task}");
    }
}

#[test]
fn a_task_alone_gets_none_and_neither_does_one_that_is_not_there() {
    let alone = job(
        vec![role("worker", RoleKind::Worker, 1)],
        Addresses::PerJob,
        ClusterForm::None,
    );
    assert_eq!(config(&alone, None, "worker-0"), None);
    let two = job(
        vec![role("worker", RoleKind::Worker, 2)],
        Addresses::PerJob,
        full(&["worker"]),
    );
    assert_eq!(config(&two, None, "worker-2"), None);
    assert_eq!(config(&two, None, "ps-0"), None);
}

#[test]
fn the_longest_is_found_without_writing_them_all() {
    let mut job = job(all_roles(), Addresses::PerJob, full(&["chief", "ps", "worker"]));
    job.roles[3].replicas = 12;
    let cluster = Cluster::of(&job, &addresses(&job, None));
    let longest = job
        .tasks()
        .filter_map(|task| cluster.tf_config(&task))
        .map(|text| text.len())
        .max()
        .unwrap();
    assert_eq!(cluster.longest(), longest);
    assert!(longest < MOST_BYTES);
}

#[test]
fn it_is_json_whatever_the_names_are() {
    let mut job = job(
        vec![role("wor\"ker", RoleKind::Worker, 2)],
        Addresses::PerJob,
        full(&["wor\"ker"]),
    );
    job.name = "j\\\n".into();
    let text = Cluster::of(&job, &addresses(&job, None))
        .tf_config(&TaskId::new("wor\"ker", 1))
        .unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
}
