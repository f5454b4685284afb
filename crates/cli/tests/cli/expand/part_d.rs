//! Everything that made simpletfjob crash or write nonsense, a test a row: a clear error with both numbers, exit code 2,
//! no file touched.

use super::{Desk, SEED};

const FIVE: [&str; 2] = ["--hosts", "h10,h14,h20,h30,h40"];

/// Runs it on five hosts with an old manifest of ours there, which must stay as it is.
fn refused(name: &str, template: &str, arguments: &[&str]) -> String {
    let desk = Desk::with(&format!("part-d-{name}"), "old: {{.host}}");
    assert_eq!(desk.expand(&FIVE).code, Some(0));
    let before = desk.made();
    desk.write("mnist.yaml", template);
    desk.write("exc", "h10\nh14\n");
    let ran = desk.expand(&[&FIVE, arguments].concat());
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
    assert_eq!(desk.made(), before, "the file is as it was");
    assert_eq!(desk.files(), ["exc", "mnist.yaml", "mnist_tfjob.yaml"]);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    ran.err
}

#[test]
fn more_hosts_than_there_are() {
    let told = refused("num", SEED, &["-N", "7"]);
    assert_eq!(told, "error: need 7 hosts, only 5 available\n");
}

#[test]
fn more_hosts_than_are_left() {
    // simpletfjob wrote tasks without a host here.
    let told = refused("num-exc", SEED, &["-N", "4", "-E"]);
    assert_eq!(
        told,
        "error: need 4 hosts, only 3 available (2 excluded: h10,h14)\n"
    );
}

#[test]
fn no_hosts_at_all_asked_for() {
    let told = refused("zero", SEED, &["-N", "0"]);
    assert!(
        told.starts_with("error: `--num` must be at least 1, not 0\n"),
        "{told}"
    );
}

#[test]
fn fewer_than_no_hosts() {
    let told = refused("negative", SEED, &["-N", "-3"]);
    assert!(
        told.starts_with("error: `--num` must be at least 1, not -3\n"),
        "{told}"
    );
}

#[test]
fn as_many_servers_as_hosts() {
    let told = refused("psn", SEED, &["--psn", "5"]);
    assert_eq!(
        told,
        "error: 5 parameter servers and at least 1 worker need 6 hosts, only 5 are used\n"
    );
}

#[test]
fn more_servers_than_hosts() {
    let told = refused("psn-more", SEED, &["-N", "3", "--psn", "9"]);
    assert_eq!(
        told,
        "error: 9 parameter servers and at least 1 worker need 10 hosts, only 3 are used\n"
    );
}

#[test]
fn no_servers_is_a_cluster_of_workers() {
    let desk = Desk::with("part-d-psn-0", SEED);
    let ran = desk.expand(&["--hosts", "a,b", "--psn", "0"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let made = desk.made().expect("it is written");
    assert!(
        made.contains("\"worker\": [\"a:2222\",\"b:2222\"]") && !made.contains("\"ps\""),
        "{made}"
    );
}

#[test]
fn fewer_than_no_servers() {
    let told = refused("psn-negative", SEED, &["--psn", "-1"]);
    assert_eq!(told, "error: `--psn` must be at least 0, not -1\n");
}

#[test]
fn the_servers_are_named_by_a_file() {
    let desk = Desk::with("part-d-psf", "{{.type}}-{{.index}}: {{.host}}");
    desk.write("ps", "h40\nh20\n");
    let ran = desk.expand(&[&FIVE[..], &["--psf", "ps", "-N", "4", "-o", "-"]].concat());
    assert_eq!(
        ran.out, "ps-0: h40\n---\nps-1: h20\n---\nworker-0: h10\n---\nworker-1: h14",
        "{}",
        ran.err
    );
    desk.write("ps", "h99\nh40\n");
    let ran = desk.expand(&[&FIVE[..], &["--psf", "ps"]].concat());
    let told = "error: parameter servers are to run on h99, which is not among the 5 hosts that there are \
                (h10, h14, h20, h30, h40)\n";
    assert_eq!((ran.code, ran.err.as_str()), (Some(2), told));
}

#[test]
fn a_file_of_excluded_hosts_that_is_not_there() {
    let told = refused("exc-missing", SEED, &["-E", "missing"]);
    assert!(
        told.starts_with("error: cannot read `/") && told.contains("/missing`: No such file"),
        "{told}"
    );
}

#[test]
fn excluded_names_may_have_comments_and_those_without_a_host_are_told() {
    let desk = Desk::with("part-d-exc", "h: {{.host}}");
    desk.write("exc", "# in use\r\n h10 \r\n\r\nh41\n");
    let ran = desk.expand(&[&FIVE[..], &["-N", "2", "-E"]].concat());
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.err
            .starts_with("warning: excluded hosts that do not exist: `h41`\n"),
        "{}",
        ran.err
    );
    assert_eq!(desk.made().as_deref(), Some("h: h14\n---\nh: h20"));
}

#[test]
fn an_unknown_variable() {
    let told = refused("unknown", "a: b\nc: {{.foo}}", &[]);
    assert!(
        told.contains("there is no variable `.foo`") && told.contains("mnist.yaml:2:6"),
        "{told}"
    );
}

#[test]
fn an_action_that_fails_while_it_runs() {
    // simpletfjob wrote what came before it, and said nothing.
    let told = refused("runs", "a: b\nc: {{slice .host 1 99}}", &[]);
    assert!(
        told.contains("mnist.yaml:2:4") && told.contains("expanded for ps-0"),
        "{told}"
    );
}

#[test]
fn a_template_that_cannot_be_parsed() {
    let told = refused("parse", "a: b\nc: {{.host", &[]);
    assert!(told.contains("mnist.yaml:2:"), "{told}");
}

#[test]
fn a_template_that_is_not_there_is_told_before_the_cluster_is_asked() {
    let desk = Desk::with("part-d-missing", SEED);
    // No server listens there.
    let mut command = desk.command(&["expand", "missing.yaml"]);
    let ran: crate::run::Ran = command
        .env("KUBECONFIG", "/nonexistent")
        .output()
        .expect("it runs")
        .into();
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("missing.yaml`: No such file"), "{}", ran.err);
}

#[test]
fn a_separator_at_the_end_leaves_no_empty_document() {
    let desk = Desk::with("part-d-separator", "h: {{.host}}\n---\n");
    desk.expand(&["--hosts", "a,b"]);
    assert_eq!(desk.made().as_deref(), Some("h: a\n---\nh: b"));
}
