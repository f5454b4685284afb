//! `trainyard plan`.

use std::fs;
use std::path::Path;

use crate::run::{Ran, folder, manifest, program, root, run, run_with};

const PARAMETER_SERVER: &str = "examples/tfjob/parameter-server.yaml";
const LIST: &str = "tests/fixtures/ok/tfjob/list-of-jobs.yaml";

/// The path as it is typed from the root.
fn from_root(path: &Path) -> String {
    let root = root().canonicalize().expect("the repository");
    let path = path.canonicalize().expect("a file");
    path.strip_prefix(root)
        .expect("inside")
        .to_str()
        .expect("a path")
        .to_owned()
}

#[test]
fn every_example_is_planned() {
    insta::glob!("../../../../examples", "**/*.yaml", |path| {
        insta::assert_snapshot!(run(&["plan", &from_root(path)]).shown());
    });
}

#[test]
fn every_good_fixture_is_planned() {
    insta::glob!("../../../../tests/fixtures/ok", "*/*", |path| {
        insta::assert_snapshot!(run(&["plan", &from_root(path)]).shown());
    });
}

#[test]
fn tf_config_is_printed_to_the_byte_and_nothing_else() {
    let ran = run(&["plan", PARAMETER_SERVER, "--tf-config", "worker-1"]);
    let host = |task: &str| format!("\"wide-and-deep-{task}.wide-and-deep.recommendations.svc:2222\"");
    let hosts = |role: &str, count: u32| {
        let all: Vec<String> = (0..count).map(|index| host(&format!("{role}-{index}"))).collect();
        all.join(",")
    };
    let expected = format!(
        "{{\"cluster\":{{\"chief\":[{}],\"ps\":[{}],\"worker\":[{}]}},\"task\":{{\"type\":\"worker\",\"index\":1}},\
         \"environment\":\"cloud\"}}\n",
        hosts("chief", 1),
        hosts("ps", 2),
        hosts("worker", 4)
    );
    assert_eq!(
        (ran.out, ran.err.as_str(), ran.code),
        (expected.clone(), "", Some(0))
    );
    let by_pod = run(&["plan", PARAMETER_SERVER, "--tf-config", "wide-and-deep-worker-1"]);
    assert_eq!(by_pod.out, expected, "a task may be called as its pod is");
}

#[test]
fn a_task_that_does_not_exist_is_answered_with_those_that_do() {
    for task in ["worker-4", "wroker-0", "worker"] {
        let ran = run(&["plan", PARAMETER_SERVER, "--tf-config", task]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
        assert_eq!(
            ran.err,
            format!(
                "error: there is no task `{task}`\n\nhint: the tasks are chief-0, ps-0, ps-1, worker-0 … worker-3\n"
            )
        );
    }
}

#[test]
fn one_of_several_jobs_can_be_chosen() {
    let all = run(&["plan", LIST, "-o", "json"]).json();
    let names: Vec<&str> = all["jobs"]
        .as_array()
        .expect("jobs")
        .iter()
        .map(|job| job["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names.len(), 2);
    let one = run(&["plan", LIST, "-o", "json", "--job", names[1]]).json();
    assert_eq!(one["jobs"], serde_json::json!([all["jobs"][1]]));

    let unclear = run(&["plan", LIST, "--tf-config", "worker-0"]);
    assert_eq!(unclear.code, Some(2));
    assert!(unclear.err.contains("`--job NAME`"), "{}", unclear.err);
    let typo = format!("{}x", names[0]);
    let wrong = run(&["plan", LIST, "--job", &typo]);
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong.err.contains(&format!("did you mean `{}`?", names[0])),
        "{}",
        wrong.err
    );
}

#[test]
fn a_file_with_errors_shows_what_could_be_read_and_exits_1() {
    let text = format!(
        "{}---\n{}",
        manifest("good", 2),
        manifest("bad", 2).replace("Worker", "Wroker")
    );
    let ran = run_with(&["plan", "-"], &text);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.out.starts_with("good  TFJob") && !ran.out.contains("bad"),
        "{}",
        ran.out
    );
    assert!(ran.err.contains("did you mean `Worker`?"), "{}", ran.err);

    let nothing = run_with(&["plan", "-", "--tf-config", "worker-0"], "a: 1\n");
    assert_eq!((nothing.code, nothing.out.as_str()), (Some(1), ""));
    assert_eq!(run(&["plan", "no/such/file.yaml"]).code, Some(2));
}

#[test]
fn plain_letters_are_used_where_the_locale_or_the_user_wants_them() {
    let asked = run(&["plan", "examples/tfjob/mirrored-workers-gpu.yaml", "--ascii"]);
    insta::assert_snapshot!("plain letters", asked.shown());
    assert!(asked.out.is_ascii());
    let lines: Vec<&str> = asked
        .out
        .lines()
        .filter(|line| line.starts_with(['|', '+']))
        .collect();
    assert!(lines.iter().all(|line| line.len() == 100), "boxes stay square");
    let by_locale: Ran = program(&["plan", "examples/tfjob/mirrored-workers-gpu.yaml"])
        .env("LC_ALL", "C")
        .output()
        .expect("the program runs")
        .into();
    assert_eq!(by_locale.out, asked.out);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for columns in ["60", "80", "120"] {
        let ran: Ran = program(&["plan", PARAMETER_SERVER])
            .env("COLUMNS", columns)
            .output()
            .expect("the program runs")
            .into();
        let widest = ran.out.lines().map(|line| line.chars().count()).max();
        assert!(widest <= columns.parse().ok(), "{columns}: {widest:?}");
    }
}

#[test]
fn the_picture_is_the_same_every_time_and_well_formed() {
    let path = folder("picture").join("job.svg");
    let name = path.to_str().expect("a path");
    let ran = run(&["plan", PARAMETER_SERVER, "--svg", name]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (Some(0), format!("wrote {name}\n").as_str())
    );
    assert!(ran.out.contains("What happens"), "the plan is printed as well");
    let written = fs::read_to_string(&path).expect("the picture is there");
    let printed = run(&["plan", PARAMETER_SERVER, "--svg", "-"]);
    assert_eq!(printed.out, written, "on standard output there is nothing else");
    insta::assert_snapshot!("parameter server as svg", written);

    for entry in fs::read_dir(root().join("tests/fixtures/ok/tfjob")).expect("a folder") {
        let file = entry.expect("an entry").path();
        let svg = run(&["plan", file.to_str().expect("a path"), "--svg", "-"]).out;
        assert_balanced(&svg, &file);
    }
    let wrong = run(&["plan", PARAMETER_SERVER, "--svg", "/no/such/folder/job.svg"]);
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong
            .err
            .starts_with("error: cannot write `/no/such/folder/job.svg`"),
        "{}",
        wrong.err
    );
}

/// Every element that is opened is closed, and nothing in between is markup by accident.
fn assert_balanced(svg: &str, file: &Path) {
    let mut open = Vec::new();
    for tag in svg.split('<').skip(1) {
        let (tag, text) = tag.split_once('>').expect("a tag ends");
        assert!(!text.contains('>'), "{}: {text}", file.display());
        let name = tag
            .split([' ', '/'])
            .find(|part| !part.is_empty())
            .expect("a name");
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) => assert_eq!(open.pop(), Some(name), "{}", file.display()),
            (false, false) => open.push(name),
            (false, true) => {}
        }
    }
    assert!(open.is_empty(), "{}: {open:?}", file.display());
}
