//! What a kubelet makes of the objects must be what `plan` says: every task of every manifest gets its own `TF_CONFIG`,
//! to the byte, and the hosts in it are names that some Service gives.

#![expect(clippy::expect_used, reason = "a test that cannot go on says why and stops")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use trainyard_core::{Addresses, Cluster, ClusterForm, Job, RoleKind, RoleName, TaskId, addresses};
use trainyard_dialect::{ReadJob, Reading, read};
use trainyard_document::Source;
use trainyard_manifest::{Form, Rendered, Wishes, jobset, nodes, render};

fn all_manifests() -> Vec<(PathBuf, Reading)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("examples"), root.join("tests/fixtures/ok")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let is_manifest = path
                .extension()
                .is_some_and(|word| word == "yaml" || word == "json");
            if path.is_dir() {
                folders.push(path);
            } else if is_manifest {
                let bytes = fs::read(&path).expect("a file");
                let source = Source::from_bytes("test", &bytes).expect("text");
                found.push((path, read(&source)));
            }
        }
    }
    found
}

fn wishes(form: Form, addresses: Option<Addresses>) -> Wishes {
    Wishes {
        form,
        addresses,
        nodes: vec!["a".into(), "b".into()],
        namespace: None,
    }
}

/// The variables of a container as the kubelet gives them to the pod with that index.
fn variables(container: &Value, maps: &[&Value], index: u32) -> BTreeMap<String, String> {
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for entry in container["env"].as_array().expect("variables") {
        let name = entry["name"].as_str().expect("a name").to_owned();
        let from = &entry["valueFrom"];
        let value = if let Some(text) = entry["value"].as_str() {
            expanded(text, &known)
        } else if let Some(path) = from["fieldRef"]["fieldPath"].as_str() {
            if path == "metadata.annotations['batch.kubernetes.io/job-completion-index']" {
                index.to_string()
            } else {
                String::new()
            }
        } else if let (Some(map), Some(key)) = (
            from["configMapKeyRef"]["name"].as_str(),
            from["configMapKeyRef"]["key"].as_str(),
        ) {
            let map = maps.iter().find(|object| object["metadata"]["name"] == map);
            map.and_then(|map| map["data"][key].as_str())
                .unwrap_or_default()
                .to_owned()
        } else {
            String::new()
        };
        known.insert(name, value);
    }
    known
}

/// `$(NAME)` replaced where the name is known by then and `$$` by `$`, in one pass, as the kubelet does: what was put in
/// is not looked at again.
fn expanded(text: &str, known: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let named = after.strip_prefix('(').and_then(|inner| inner.split_once(')'));
        if let Some(after) = after.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some((name, after)) = named {
            let value = known.get(name).cloned();
            out.push_str(&value.unwrap_or_else(|| format!("$({name})")));
            rest = after;
        } else {
            out.push('$');
            rest = after;
        }
    }
    out + rest
}

#[test]
fn variables_are_put_in_as_the_kubelet_does() {
    let known = [("A", "$(B)"), ("B", "b")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let known = BTreeMap::from(known);
    let cases = [
        ("$(A)", "$(B)"),
        ("$$(A)", "$(A)"),
        ("$$$(B)$", "$b$"),
        ("$(C) $(B", "$(C) $(B"),
        ("a$b", "a$b"),
    ];
    for (text, expected) in cases {
        assert_eq!(expanded(text, &known), expected, "{text}");
    }
}

/// Every pod template with the task it is for: its Job's role, all its indexes.
fn pods<'r>(rendered: &'r Rendered, job: &Job) -> Vec<(TaskId, &'r Value)> {
    let mut pods = Vec::new();
    let templates = rendered.objects.iter().flat_map(|object| {
        let many = object["spec"]["replicatedJobs"].as_array().into_iter().flatten();
        let many = many.map(|entry| &entry["template"]["spec"]);
        let one = (object["kind"] == "Job" && object["apiVersion"] == "batch/v1").then(|| &object["spec"]);
        many.chain(one).collect::<Vec<_>>()
    });
    for spec in templates {
        let labels = &spec["template"]["metadata"]["labels"];
        let role = labels["trainyard.dev/role"].as_str().expect("a role");
        let fixed = labels["trainyard.dev/task-index"].as_str();
        let indexes: Vec<u32> = if let Some(index) = fixed {
            vec![index.parse().expect("a number")]
        } else {
            let (_, role) = job.role(&RoleName::new(role)).expect("a role");
            assert_eq!(spec["completions"], role.replicas);
            (0..role.replicas).collect()
        };
        pods.extend(
            indexes
                .into_iter()
                .map(|index| (TaskId::new(role, index), &spec["template"])),
        );
    }
    pods
}

fn check(path: &Path, read: &ReadJob, wishes: &Wishes) -> bool {
    let Ok(rendered) = render(
        &read.subject(wishes.namespace.as_deref(), wishes.addresses),
        wishes,
    ) else {
        return false;
    };
    let mut job = read.job.clone();
    job.addresses = wishes.addresses.unwrap_or(job.addresses);
    let book = match (wishes.form, job.addresses) {
        (Form::JobSet, _) => jobset::addresses(&job),
        (Form::Jobs, Addresses::Given) => nodes::book(&nodes::seats(&job, &wishes.nodes).expect("seats")),
        (Form::Jobs, _) => addresses(&job, None),
    };
    let cluster = Cluster::of(&job, &book);
    let maps: Vec<&Value> = rendered
        .objects
        .iter()
        .filter(|object| object["kind"] == "ConfigMap")
        .collect();
    let pods = pods(&rendered, &job);
    assert_eq!(pods.len() as u64, job.size(), "{}", path.display());
    for (task, template) in pods {
        let containers = template["spec"]["containers"].as_array().expect("containers");
        let main = containers
            .iter()
            .find(|container| container["name"] == "tensorflow");
        let main = main.unwrap_or(&containers[0]);
        let variables = variables(main, &maps, task.index);
        let what = format!("{} {task} {wishes:?}", path.display());
        if let Some(expected) = cluster.tf_config(&task) {
            assert_eq!(variables.get("TF_CONFIG"), Some(&expected), "{what}");
        }
        assert_eq!(variables["TRAINYARD_INDEX"], task.index.to_string(), "{what}");
        assert_eq!(template["spec"]["restartPolicy"], "Never", "{what}");
        assert!(
            !variables
                .values()
                .any(|value| value.contains("$(JOB_") || value.contains("$(TRAINYARD")),
            "{what}"
        );
        if job.cluster != ClusterForm::Sparse && job.size() < 1000 {
            let own = book.0.get(&task).expect("an address");
            let lists = ["CHIEF", "PS", "WORKER"].map(|kind| &variables[&format!("TRAINYARD_{kind}_HOSTS")]);
            let role = job.role(&task.role).expect("a role").1;
            let listed = lists
                .iter()
                .any(|list| list.split(',').any(|host| host == &**own));
            let flagged = !matches!(role.kind, RoleKind::Evaluator | RoleKind::Other);
            assert_eq!(listed, flagged, "{what}");
        }
    }
    true
}

#[test]
fn every_task_gets_the_tf_config_that_plan_prints() {
    let forms = [
        wishes(Form::Jobs, None),
        wishes(Form::Jobs, Some(Addresses::PerJob)),
        wishes(Form::Jobs, Some(Addresses::PerReplica)),
        wishes(Form::Jobs, Some(Addresses::Given)),
        wishes(Form::JobSet, None),
    ];
    let mut seen = 0;
    for (path, reading) in all_manifests() {
        for job in reading.jobs() {
            seen += forms.iter().filter(|wishes| check(&path, job, wishes)).count();
        }
    }
    assert!(seen > 350, "only {seen}");
}

#[test]
fn hosts_are_names_that_a_service_gives() {
    for (path, reading) in all_manifests() {
        for read in reading.jobs() {
            for form in [Addresses::PerJob, Addresses::PerReplica] {
                let Ok(rendered) = render(&read.subject(None, Some(form)), &wishes(Form::Jobs, Some(form)))
                else {
                    continue;
                };
                let mut job = read.job.clone();
                job.addresses = form;
                let of_kind = |kind: &str| -> Vec<String> {
                    let objects = rendered.objects.iter().filter(|object| object["kind"] == kind);
                    let name = |object: &Value| object["metadata"]["name"].as_str().map(str::to_owned);
                    objects.filter_map(name).collect()
                };
                let (services, jobs) = (of_kind("Service"), of_kind("Job"));
                for (task, address) in addresses(&job, None).0 {
                    let labels: Vec<&str> = address.split('.').collect();
                    // `<host>.<service>.<namespace>.svc` or `<service>.<namespace>.svc`.
                    let service = if form == Addresses::PerJob {
                        labels[1]
                    } else {
                        labels[0]
                    };
                    assert!(
                        services.iter().any(|name| name == service),
                        "{} {address}",
                        path.display()
                    );
                    let owner = labels[0]
                        .strip_suffix(&format!("-{}", task.index))
                        .expect("an index");
                    assert!(
                        jobs.iter().any(|name| name == owner),
                        "{} {address}",
                        path.display()
                    );
                }
            }
        }
    }
}
