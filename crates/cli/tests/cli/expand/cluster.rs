//! Nodes asked of a cluster, and the program under simpletfjob's name.

use std::path::Path;

use super::{Desk, SEED, SEED_MADE, api};
use crate::run::Ran;

const NODES: [api::Node<'static>; 6] = [
    ("h10", "ready"),
    ("h100", "cordoned"),
    ("h14", "ready"),
    ("h20", "gpu"),
    ("h23", "not-ready"),
    ("h36", "ready"),
];

fn expand(desk: &Desk, kubeconfig: &Path, arguments: &[&str]) -> Ran {
    let mut command = desk.command(&[&["expand", "mnist.yaml", "-o", "-"], arguments].concat());
    command
        .env("KUBECONFIG", kubeconfig)
        .output()
        .expect("the program runs")
        .into()
}

#[test]
fn only_nodes_that_take_the_pods_are_used_unless_all_are_asked_for() {
    let desk = Desk::with("nodes", "h: {{.host}}");
    let kubeconfig = api::serve(&desk.folder, &NODES);
    let joined = |names: &str| {
        let documents: Vec<String> = names.split(' ').map(|name| format!("h: {name}")).collect();
        documents.join("\n---\n")
    };
    let ran = expand(&desk, &kubeconfig, &[]);
    assert_eq!(ran.out, joined("h10 h14 h36"), "{}", ran.err);
    let told = "excluded: h100 (cordoned), h20 (tainted gpu:NoSchedule), h23 (not ready); `--all-nodes` includes them\n";
    assert_eq!(ran.err, told);
    let all = expand(&desk, &kubeconfig, &["--all-nodes"]);
    assert_eq!(
        (all.out, all.err.as_str()),
        (joined("h10 h100 h14 h20 h23 h36"), "")
    );
    // What is left out is told where it is missed.
    let few = expand(&desk, &kubeconfig, &["-N", "4"]);
    assert_eq!(few.code, Some(2));
    assert!(
        few.err.starts_with("error: need 4 hosts, only 3 available\n"),
        "{}",
        few.err
    );
    assert!(few.err.contains("help: excluded: h100 (cordoned)"), "{}", few.err);
}

#[test]
fn what_the_templates_pods_tolerate_is_no_obstacle() {
    let template = "spec: {nodeName: {{.host}}, containers: [], tolerations: [{key: gpu, operator: Exists}]}";
    let desk = Desk::with("tolerations", template);
    let kubeconfig = api::serve(&desk.folder, &NODES);
    let ran = expand(&desk, &kubeconfig, &[]);
    assert_eq!(ran.out.matches("nodeName").count(), 4, "{}", ran.out);
    assert!(ran.out.contains("nodeName: h20,"), "{}", ran.out);
}

#[test]
fn clusters_that_cannot_be_asked_are_told_with_what_to_do() {
    let desk = Desk::with("unreachable", SEED);
    let kubeconfig = api::serve(&desk.folder, &NODES);
    let broken = desk.folder.join("broken");
    desk.write("broken", "clusters: [");
    let gone = desk.folder.join("gone");
    desk.write(
        "gone",
        "current-context: x\nclusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n\
         contexts: [{name: x, context: {cluster: c}}]\n",
    );
    desk.write("no-context", "apiVersion: v1\nkind: Config\n");
    let table: [(&Path, &[&str]); 6] = [
        (Path::new("/nonexistent/config"), &[]),
        (Path::new("/nonexistent/config"), &["--context", "here"]),
        (&kubeconfig, &["--context", "hree"]),
        (&broken, &[]),
        (&gone, &[]),
        (&desk.folder.join("no-context"), &[]),
    ];
    let mut shown = String::new();
    for (kubeconfig, arguments) in table {
        let ran = expand(&desk, kubeconfig, arguments);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
        let told = ran.err.replace(&*desk.folder.to_string_lossy(), "FOLDER");
        shown = format!(
            "{shown}{} {}\n{told}\n",
            arguments.join(" "),
            kubeconfig
                .display()
                .to_string()
                .replace(&*desk.folder.to_string_lossy(), "FOLDER")
        );
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn several_kubeconfigs_are_one_and_those_that_are_not_there_do_not_count() {
    let desk = Desk::with("several", "h: {{.host}}");
    api::serve(&desk.folder, &NODES);
    desk.write("first", "current-context: there\n");
    let joined = std::env::join_paths([
        desk.folder.join("absent"),
        desk.folder.join("first"),
        desk.folder.join("kubeconfig"),
    ]);
    let joined = joined.expect("paths without colons");
    let ran = expand(&desk, Path::new(&joined), &["-N", "2"]);
    assert_eq!(ran.out, "h: h10\n---\nh: h14", "{}", ran.err);
}

#[test]
fn called_simpletfjob_it_is_simpletfjob() {
    let desk = Desk::with("drop-in", SEED);
    let nodes = [
        ("h10", "ready"),
        ("h100", "cordoned"),
        ("h14", "gpu"),
        ("h23", "ready"),
    ];
    let kubeconfig = api::serve(&desk.folder, &nodes);
    desk.write("mnist_tfjob.yaml", "another file");
    let ran = desk.simpletfjob(&["mnist.yaml", "-N", "3", "more", "words"], &kubeconfig);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "", ""));
    assert_eq!(desk.made().as_deref(), Some(SEED_MADE));
    desk.write("exc", "h10\nh23\nnobody\n");
    let ran = desk.simpletfjob(&["-E", "mnist.yaml", "-N=0"], &kubeconfig);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let made = desk.made().expect("it is there");
    assert!(
        made.contains("\"ps\": [\"h100:2222\"],\n                    \"worker\": [\"h14:2222\"]\n"),
        "{made}"
    );
    let refused = desk.simpletfjob(&["mnist.yaml", "-N", "9"], &kubeconfig);
    assert_eq!(
        (refused.code, refused.err.as_str()),
        (Some(2), "error: need 9 hosts, only 4 available\n")
    );
    assert_eq!(desk.made().as_deref(), Some(made.as_str()));
    let help = desk.simpletfjob(&["--help"], &kubeconfig);
    assert_eq!((help.code, help.out.contains("--psn")), (Some(0), true));
}

#[test]
fn the_names_of_nodes_neither_begin_lines_nor_reach_the_terminal_as_they_are() {
    let desk = Desk::with("hostile-nodes", "h: {{.host}}");
    let hostile = "h2\nerror: forged\r\u{1b}[2J\u{9b}31m\u{2028}\u{202e}";
    let kubeconfig = api::serve(
        &desk.folder,
        &[("h1", "ready"), ("h3", "ready"), (hostile, "cordoned")],
    );
    for color in ["never", "always"] {
        let ran = expand(&desk, &kubeconfig, &["--color", color]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let left_out = "excluded: h2\\nerror: forged\\r\\u{1b}[2J\\u{9b}31m\\u{2028}\\u{202e} (cordoned); `--all-nodes` includes them\n";
        assert_eq!(ran.err, left_out);
    }
}
