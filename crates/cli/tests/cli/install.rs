//! `trainyard install` where there is no cluster; with one it is tested in tests/cluster.

use serde_json::Value;

use crate::run::{program, root, run};

/// The generated file, without the line that says so.
fn generated(name: &str) -> String {
    let text = std::fs::read_to_string(root().join("deploy").join(name)).expect("it is in the repository");
    let (_, rest) = text.split_once('\n').expect("it has a first line");
    rest.to_owned()
}

#[test]
fn what_is_printed_is_what_is_in_deploy() {
    let ran = run(&["install", "--dry-run"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert_eq!(ran.out, generated("install.yaml"));
    assert_eq!(run(&["crd"]).out, generated("crd.yaml"));
}

fn items(arguments: &[&str]) -> Vec<Value> {
    let ran = run(&[&["install", "--dry-run", "-o", "json"], arguments].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran.json()["items"].as_array().expect("a list").clone()
}

fn of<'a>(items: &'a [Value], kind: &str) -> &'a Value {
    items.iter().find(|item| item["kind"] == kind).expect(kind)
}

#[test]
fn wishes_are_in_the_objects() {
    let words = [
        "--image",
        "here/ty:1",
        "--replicas",
        "1",
        "--priority-class",
        "high",
        "--newest-only",
        "--",
        "--requests=7",
    ];
    let items = items(&words);
    let deployment = of(&items, "Deployment");
    assert_eq!(deployment["spec"]["replicas"], 1);
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(
        (&pod["priorityClassName"], &pod["containers"][0]["image"]),
        (&"high".into(), &"here/ty:1".into())
    );
    let words = pod["containers"][0]["args"].as_array().expect("arguments");
    assert_eq!(words.last(), Some(&"--requests=7".into()));
    assert_eq!(
        of(&items, "CustomResourceDefinition")["spec"]["versions"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    // A budget for one pod would only keep its node from being drained.
    assert!(items.iter().all(|item| item["kind"] != "PodDisruptionBudget"));
}

#[test]
fn an_operator_for_one_namespace_has_rights_there_alone() {
    let items = items(&["--namespace", "tools", "--watch-namespace", "research"]);
    assert!(items.iter().all(|item| item["kind"] != "ClusterRoleBinding"));
    let bindings = items.iter().filter(|item| item["kind"] == "RoleBinding");
    let places: Vec<&Value> = bindings.map(|item| &item["metadata"]["namespace"]).collect();
    assert_eq!(places, ["research", "tools"]);
    let words = &of(&items, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"];
    assert!(
        words
            .as_array()
            .expect("arguments")
            .contains(&"--namespace=research".into())
    );
    // It may hold pods of others.
    assert_eq!(of(&items, "Namespace")["metadata"]["labels"], Value::Null);
}

#[test]
fn mistakes_are_told_all_at_once() {
    let ran = run(&[
        "install",
        "-n",
        "Big",
        "--watch-namespace",
        "x-",
        "--image",
        "a b",
        "--priority-class",
        "_",
    ]);
    assert_eq!(ran.code, Some(2));
    for word in [
        "`--namespace`: `Big`",
        "`--watch-namespace`: `x-`",
        "`--image`: `a b`",
        "`--priority-class`: `_`",
    ] {
        assert!(ran.err.contains(word), "{word}: {}", ran.err);
    }
    assert_eq!(ran.out, "");
}

#[test]
fn without_a_cluster_it_says_what_else_can_be_done() {
    let cases: [(&[&str], &str); 4] = [
        (&["install"], "`--dry-run`, for an administrator to apply"),
        (&["uninstall"], "`--dry-run`, for an administrator to delete"),
        (
            &["install", "--dry-run=server"],
            "`--dry-run=client`, which needs no cluster",
        ),
        (
            &["uninstall", "--dry-run=server"],
            "`--dry-run=client`, which needs no cluster",
        ),
    ];
    for (typed, otherwise) in cases {
        let ran = program(typed).env("KUBECONFIG", "/nonexistent/config").output();
        let ran = crate::run::Ran::from(ran.expect("the program runs"));
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
        assert!(
            ran.err
                .contains("no kubeconfig found (`/nonexistent/config` does not exist)"),
            "{}",
            ran.err
        );
        assert!(ran.err.contains(otherwise), "{}", ran.err);
    }
}

/// A kubeconfig with one context, `c`, whose server does not exist: the port belongs to an obsolete service.
fn kubeconfig(folder: &tempfile::TempDir) -> std::path::PathBuf {
    let config = folder.path().join("config");
    let text = "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], \
                clusters: [{name: k, cluster: {server: 'http://127.0.0.1:9'}}], users: [{name: u, user: {}}]}";
    std::fs::write(&config, text).expect("a kubeconfig");
    config
}

#[test]
fn a_cluster_that_does_not_answer_is_told_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = kubeconfig(&folder);
    for command in ["install", "uninstall"] {
        let ran = program(&[command]).env("KUBECONFIG", &config).output();
        let ran = crate::run::Ran::from(ran.expect("the program runs"));
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (Some(2), ""),
            "{command}: {}",
            ran.err
        );
        assert_eq!(ran.err.matches("error: ").count(), 1, "{command}: {}", ran.err);
    }
}

#[test]
fn what_would_be_deleted_holds_no_jobs() {
    let ran = run(&["uninstall", "--dry-run", "-o", "json"]);
    let list = ran.json();
    assert!(ran.err.contains("these would be deleted"), "{}", ran.err);
    assert!(ran.err.contains("namespace/trainyard-system"), "{}", ran.err);
    let kinds: Vec<&str> = list["items"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|item| item["kind"].as_str())
        .collect();
    assert!(
        kinds.contains(&"Deployment") && kinds.contains(&"ClusterRoleBinding"),
        "{kinds:?}"
    );
    assert!(
        !kinds.contains(&"CustomResourceDefinition") && !kinds.contains(&"Namespace"),
        "{kinds:?}"
    );
}

#[test]
fn what_goes_to_the_operator_must_mean_something_to_it() {
    let cases = [
        (&["--bogus"][..], "unexpected argument '--bogus'"),
        (&["--requests", "0"], "at least 1"),
        (&["--leader-elect"], "cannot be used multiple times"),
        (&["--gang-scheduler-name", "volcano"], "to `install` itself"),
        (&["--namespace", "a"], "install --watch-namespace"),
        (&["--kinds", "tfjob,tensorflowtrainingjob"], "to `install` itself"),
    ];
    for (words, expected) in cases {
        let ran = run(&[&["install", "--dry-run", "--"], words].concat());
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{words:?}");
        assert!(
            ran.err.contains("after `--`") && ran.err.contains(expected),
            "{words:?}: {}",
            ran.err
        );
    }
    let ran = run(&["install", "--dry-run", "--", "--per-replica-addresses"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

#[test]
fn the_operator_is_told_of_old_labels() {
    let words = |more: &[&str]| {
        let ran = run(&[&["install", "--dry-run", "--output", "json"], more].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.out.contains("--legacy-labels")
    };
    assert!(!words(&[]));
    assert!(words(&["--legacy-labels"]));
    assert!(words(&["--legacy-labels", "--", "--per-replica-addresses"]));
}

#[test]
fn nobody_installs_no_operator() {
    let ran = run(&["install", "--dry-run", "--replicas", "0"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("at least 1"), "{}", ran.err);
}

#[test]
fn who_places_gangs_has_rights_for_groups() {
    let plain = run(&["install", "--dry-run"]);
    assert!(!plain.out.contains("podgroups"));
    let ran = run(&["install", "--dry-run", "--gang-scheduler-name", "Volcano"]);
    let words = [
        "podgroups",
        "scheduling.volcano.sh",
        "--gang-scheduler-name=volcano",
    ];
    assert!(words.iter().all(|word| ran.out.contains(word)), "{}", ran.out);
    let wrong = run(&["install", "--dry-run", "--gang-scheduler-name", "Bad Name"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("expected `volcano`"), "{}", wrong.err);
}

#[test]
fn only_the_chosen_kinds_are_installed() {
    let t9k = "batch.tensorstack.dev";
    let flag = "--kinds=tfjob,tensorflowtrainingjob";
    let usual = run(&["install", "--dry-run"]);
    assert!(!usual.out.contains(t9k) && !usual.out.contains("--kinds"));
    assert_eq!(run(&["install", "--dry-run", "--kinds", "TFJob"]).out, usual.out);
    let both = items(&["--kinds", "tensorflowtrainingjob,tfjob"]);
    let named = |kind: &str| -> Vec<&str> {
        let of = both.iter().filter(|item| item["kind"] == kind);
        of.filter_map(|item| item["metadata"]["name"].as_str()).collect()
    };
    let definitions = [
        "tfjobs.kubeflow.org",
        "tensorflowtrainingjobs.batch.tensorstack.dev",
    ];
    assert_eq!(named("CustomResourceDefinition"), definitions);
    let roles = [
        "trainyard-operator",
        "trainyard-tfjobs-view",
        "trainyard-tfjobs-edit",
        "trainyard-tensorflowtrainingjobs-view",
        "trainyard-tensorflowtrainingjobs-edit",
    ];
    assert_eq!(named("ClusterRole"), roles);
    let words = &of(&both, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"];
    assert!(
        words.as_array().expect("arguments").contains(&flag.into()),
        "{words}"
    );
    for command in ["operator", "install", "crd"] {
        let help = run(&[command, "--help"]).out;
        let all = "`tfjob`, `tensorflowtrainingjob`, `volcano` [default: tfjob]";
        let words: Vec<&str> = help.split_whitespace().collect();
        assert!(words.join(" ").contains(all), "{help}");
    }
    let crd = run(&["crd", "--kinds", "tensorflowtrainingjob"]);
    assert!(
        crd.out.contains(t9k) && !crd.out.contains("kubeflow.org"),
        "{}",
        crd.out
    );
}

#[test]
fn an_operator_is_not_started_with_what_makes_no_sense() {
    let cases = [
        (["--requests", "0"], "at least 1"),
        (["--controller-threads", "0"], "at least 1"),
        (["--kube-api-qps", "-3"], "at least 0"),
        (["--kube-api-qps", "nan"], "at least 0"),
        (["--kube-api-burst", "0"], "at least 1"),
        (["--gang-scheduler-name", ""], "or `none`"),
        (["--namespace", "Bad_NS"], "a-z, 0-9 and `-`"),
        (["--cluster-domain", "a domain"], "as `cluster.local`"),
        (["--leader-election-id", "Bad_Id"], "a-z, 0-9 and `-`"),
        (
            ["--kinds", "tfjob,pytorchjob"],
            "no kind of job is called `pytorchjob`; expected one or several of `tfjob`, `tensorflowtrainingjob`",
        ),
        (["--kinds", ""], "no kind of job is called ``"),
    ];
    for (typed, expected) in cases {
        let ran = run(&["operator", typed[0], typed[1]]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{typed:?}");
        assert!(
            ran.err.contains(typed[0]) && ran.err.contains(expected),
            "{typed:?}: {}",
            ran.err
        );
    }
}

#[test]
fn the_watched_namespace_of_uninstall_is_explained_as_such() {
    let page = run(&["uninstall", "--help"]).out;
    assert!(page.contains("as given to `install`"), "{page}");
    assert!(!page.contains("Run only the jobs"), "{page}");
}

#[test]
fn roles_for_people_are_named_among_what_stays() {
    let ran = run(&["uninstall", "--dry-run", "--watch-namespace", "ml"]);
    for word in [
        "customresourcedefinition.apiextensions.k8s.io/tfjobs.kubeflow.org",
        "clusterrole.",
    ] {
        assert!(ran.err.contains(word), "{word}: {}", ran.err);
    }
}

#[test]
fn an_operator_without_its_context_names_those_that_there_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = kubeconfig(&folder);
    let said = |context: &str, config: &std::path::Path| {
        let ran = program(&[
            "operator",
            "--context",
            context,
            "--health-probe-bind-address=0",
            "--metrics-bind-address=0",
        ])
        .env("KUBECONFIG", config)
        .output();
        let ran = crate::run::Ran::from(ran.expect("the program runs"));
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
        assert!(!ran.err.contains("--hosts"), "{}", ran.err);
        ran.err
    };
    let err = said("nowhere", &config);
    assert!(
        err.contains("there is no context `nowhere`") && err.contains("the contexts are `c`"),
        "{err}"
    );
    let err = said("c", &folder.path().join("none"));
    assert!(err.contains("set KUBECONFIG to the file that has it"), "{err}");
    let empty = folder.path().join("empty");
    std::fs::write(&empty, "{apiVersion: v1, kind: Config}").expect("a kubeconfig");
    let err = said("c", &empty);
    assert!(err.contains("there are no contexts in"), "{err}");
    assert!(
        err.contains("help: set KUBECONFIG to the file that `kubectl` uses\n"),
        "{err}"
    );
}
