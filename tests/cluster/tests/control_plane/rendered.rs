//! What `trainyard render` writes, against the API server's own judgement: every manifest of the repository, every form.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use trainyard_cluster_tests::{Api, Crds, bare};
use trainyard_core::Addresses;
use trainyard_dialect::convert::convert;
use trainyard_dialect::{Dialect, read};
use trainyard_document::Source;
use trainyard_document::codes::Code;
use trainyard_document::yaml;
use trainyard_manifest::render::Refusal;
use trainyard_manifest::{Form, Wishes, render};

/// Every form in which a job can be written.
fn forms() -> [Wishes; 5] {
    let wishes = |form, addresses| Wishes {
        form,
        addresses,
        nodes: vec!["node-a".into(), "node-b.example.com".into()],
        namespace: None,
    };
    [
        wishes(Form::Jobs, None),
        wishes(Form::Jobs, Some(Addresses::PerJob)),
        wishes(Form::Jobs, Some(Addresses::PerReplica)),
        wishes(Form::Jobs, Some(Addresses::Given)),
        wishes(Form::JobSet, None),
    ]
}

/// Every manifest below a folder of the repository, in the order of their names.
fn manifests(folder: &str) -> Vec<(PathBuf, Source)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join(folder)];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|word| word == "yaml" || word == "json")
            {
                let source = Source::from_bytes("test", &fs::read(&path).unwrap()).unwrap();
                found.push((path, source));
            }
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

/// The path under which objects of that kind are made.
fn collection(object: &Value, namespace: &str) -> String {
    let kinds = [
        ("Service", "services"),
        ("ConfigMap", "configmaps"),
        ("PersistentVolumeClaim", "persistentvolumeclaims"),
        ("NetworkPolicy", "networkpolicies"),
        ("Deployment", "deployments"),
        ("Job", "jobs"),
        ("JobSet", "jobsets"),
    ];
    let kind = object["kind"].as_str().unwrap();
    let (_, plural) = kinds.iter().find(|(known, _)| *known == kind).unwrap();
    let version = object["apiVersion"].as_str().unwrap();
    let root = if version.contains('/') { "apis" } else { "api" };
    format!("/{root}/{version}/namespaces/{namespace}/{plural}")
}

/// The same object in another namespace.
fn moved(object: &Value, namespace: &str) -> Value {
    let mut object = object.clone();
    object["metadata"]["namespace"] = namespace.into();
    object
}

/// Makes the objects, then says the same again: neither may be refused, and the second time may change nothing. What is
/// wrong goes on a list, so that one run shows all of it.
fn accept(api: &Api, objects: &[Value], namespace: &str, what: &str, wrong: &mut Vec<String>) {
    for object in objects {
        let object = moved(object, namespace);
        let path = collection(&object, namespace);
        let made = match api.create(&path, &object) {
            Ok(made) => made,
            Err(refused) => {
                wrong.push(format!("{what}: {refused}\n{}", yaml::write(&object)));
                continue;
            }
        };
        let path = format!("{path}/{}", object["metadata"]["name"].as_str().unwrap());
        let again = api.patch(&path, &object).unwrap();
        if compared(&made) != compared(&again) {
            let (made, again) = (yaml::write(&made), yaml::write(&again));
            wrong.push(format!("{what}: applied again, this changes:\n{made}\n{again}"));
        }
    }
}

/// The Jobs that a JobSet's controller would make, whose rules no schema of a JobSet knows: the API server must take them.
fn accept_replicated(api: &Api, objects: &[Value], namespace: &str, what: &str, wrong: &mut Vec<String>) {
    for set in objects.iter().filter(|object| object["kind"] == "JobSet") {
        for entry in set["spec"]["replicatedJobs"].as_array().unwrap() {
            let job = json!({
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": { "name": entry["name"], "namespace": namespace },
                "spec": entry["template"]["spec"],
            });
            let path = format!("{}?dryRun=All", collection(&job, namespace));
            if let Err(refused) = api.create(&path, &job) {
                wrong.push(format!("{what}: {refused}\n{}", yaml::write(&job)));
            }
        }
    }
}

/// What tells whether an object was written again. A claim gets a new version by a write that changes nothing, so
/// everything else in it is compared.
fn compared(object: &Value) -> Value {
    if object["kind"] != "PersistentVolumeClaim" {
        return object["metadata"]["resourceVersion"].clone();
    }
    let mut object = object.clone();
    object["metadata"]["resourceVersion"].take();
    object
}

#[test]
fn every_manifest_in_every_form_is_accepted_and_the_second_time_changes_nothing() {
    bare().install(Crds::JobSet);
    let (mut accepted, mut wrong) = (0, Vec::new());
    for (path, source) in manifests("examples")
        .into_iter()
        .chain(manifests("tests/fixtures/ok"))
    {
        for job in read(&source).jobs() {
            for wishes in forms() {
                let rendered = match render(
                    &job.subject(wishes.namespace.as_deref(), wishes.addresses),
                    &wishes,
                ) {
                    Ok(rendered) => rendered,
                    // What cannot be written is refused aloud, and tested there.
                    Err(refusals) => {
                        let known = |refusal: &Refusal| match refusal.code {
                            Code::CannotRender => job.generate_name,
                            // Pods have longer names in a JobSet.
                            Code::NameTooLong => wishes.form == Form::JobSet,
                            _ => false,
                        };
                        let what = path.display();
                        assert!(refusals.iter().all(known), "{what}: {refusals:?}");
                        continue;
                    }
                };
                let namespace = bare().namespace("rendered");
                let what = format!("{} as {:?} {:?}", path.display(), wishes.form, wishes.addresses);
                let (api, objects) = (bare().api(), &rendered.objects);
                accept(api, objects, namespace.name(), &what, &mut wrong);
                accept_replicated(api, objects, namespace.name(), &what, &mut wrong);
                accepted += 1;
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {accepted}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(accepted > 350, "only {accepted}");
}

#[test]
fn every_example_is_applied_twice_by_kubectl() {
    bare().install(Crds::JobSet);
    // kubectl takes its time; the other addresses differ in nothing that it looks at.
    for wishes in forms().into_iter().filter(|wishes| wishes.addresses.is_none()) {
        let namespace = bare().namespace("applied");
        let mut text = String::new();
        for (_, source) in manifests("examples") {
            for job in read(&source).jobs() {
                let rendered = render(
                    &job.subject(wishes.namespace.as_deref(), wishes.addresses),
                    &wishes,
                )
                .map_or_else(|_| Vec::new(), |rendered| rendered.objects);
                for object in rendered {
                    text = text + "---\n" + &yaml::write(&moved(&object, namespace.name()));
                }
            }
        }
        let applied = namespace.apply_twice(&text);
        assert!(applied.len() > 60, "{}", applied.len());
    }
}

#[test]
fn what_is_written_for_volcano_is_accepted() {
    bare().install(Crds::VolcanoJobs);
    let (mut accepted, mut wrong) = (0, Vec::new());
    for (path, source) in manifests("examples") {
        for job in read(&source).jobs().filter(|job| !job.generate_name) {
            let manifest = convert(&source, job, Dialect::Volcano).manifest;
            let namespace = bare().namespace("volcano");
            accept(
                bare().api(),
                &[manifest],
                namespace.name(),
                &path.display().to_string(),
                &mut wrong,
            );
            accepted += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(accepted > 20, "only {accepted}");
}
