//! `trainyard plan`.

use std::fs;
use std::path::Path;

use crate::run::{Ran, folder, manifest, manifests, program, root, run, run_with};

const PARAMETER_SERVER: &str = "examples/tfjob/parameter-server.yaml";
const LIST: &str = "tests/fixtures/ok/tfjob/list-of-jobs.yaml";

/// The plans whose text is stored, chosen to differ. What holds for the plan of every manifest is tested below.
const STORED: [(&str, &str); 12] = [
    // The usual job: three roles, a deciding chief, a limit of restarts, a deadline.
    ("parameter server", PARAMETER_SERVER),
    // More tasks than are listed one by one.
    ("hundred workers", "tests/fixtures/ok/tfjob/hundred-workers.yaml"),
    // Every restart policy of TFJob, one role each: the longest list of sentences.
    (
        "every restart policy",
        "tests/fixtures/ok/tfjob/every-restart-policy.yaml",
    ),
    // Workers that may come and go.
    ("elastic workers", "examples/tfjob/elastic-workers.yaml"),
    // A gang, with queue and priority.
    ("gang", "examples/tfjob/gang-with-volcano.yaml"),
    // Fields that change what happens from the template: notes, and a pod that the scheduler does not place.
    (
        "template with traps",
        "tests/fixtures/ok/tfjob/template-with-traps.yaml",
    ),
    // Suspended, and run by another controller.
    (
        "suspended",
        "tests/fixtures/ok/tfjob/suspended-and-managed-elsewhere.yaml",
    ),
    // Warnings on standard error beside a plan, and restarts in place.
    (
        "warnings",
        "tests/fixtures/ok/tfjob/v1-fields-in-their-old-place.yaml",
    ),
    // Resources of many kinds, whose line is wrapped.
    (
        "resources",
        "tests/fixtures/ok/tfjob/resources-of-many-kinds.yaml",
    ),
    // Several jobs of several dialects in one file.
    ("three dialects", "tests/fixtures/ok/other/three-dialects.yaml"),
    // Volcano's policies, one by one.
    (
        "every event and action",
        "tests/fixtures/ok/volcano/every-event-and-action.yaml",
    ),
    // A start order, a minimum of successes, and the gang of a Volcano Job.
    ("start order", "examples/volcano/workers-after-ps.yaml"),
];

#[test]
fn plans_that_differ_read_well() {
    for (name, path) in STORED {
        insta::assert_snapshot!(name, run(&["plan", path]).shown());
    }
}

#[test]
fn the_plan_of_every_manifest_explains_every_rule() {
    let mut jobs_seen = 0;
    for path in manifests() {
        let (text, json) = (run(&["plan", &path]), run(&["plan", &path, "-o", "json"]));
        assert_eq!(text.code, json.code, "{path}");
        if text.code == Some(2) {
            assert!(
                text.err.contains("there is no job in this file"),
                "{path}: {}",
                text.err
            );
            continue;
        }
        assert_eq!(text.code, Some(0), "{path}: {}", text.err);
        assert!(!text.err.contains("error"), "{path}: {}", text.err);
        assert!(text.out.lines().all(|line| line.chars().count() <= 100), "{path}");
        let words: Vec<&str> = text.out.split_whitespace().collect();
        let words = words.join(" ");
        for job in json.json()["jobs"].as_array().expect("jobs") {
            jobs_seen += 1;
            assert_explained(job, &words, &path);
        }
    }
    assert!(jobs_seen > 90, "{jobs_seen}");
}

/// Whether the words of a plan say what the job in JSON says: its tasks, its story, and every rule with its origin.
fn assert_explained(job: &serde_json::Value, words: &str, path: &str) {
    let text = |value: &serde_json::Value| value.as_str().expect("a string").to_owned();
    let all = |field: &str| job[field].as_array().expect("a list").clone();
    let said = |sentence: &str| {
        assert!(
            !sentence.is_empty() && words.contains(sentence),
            "{path}: {sentence:?}"
        );
    };
    said(&format!("{} ", text(&job["name"])));
    for role in all("roles") {
        for task in role["tasks"].as_array().expect("tasks").iter().take(2) {
            said(&text(&task["task"]));
        }
    }
    assert!(!all("story").is_empty() && !all("rules").is_empty(), "{path}");
    for sentence in all("story") {
        said(&text(&sentence));
    }
    for rule in all("rules") {
        said(&format!(
            "{} → {} {}",
            text(&rule["when"]),
            text(&rule["then"]),
            text(&rule["from"])
        ));
    }
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
                "error: no task `{task}`\n\nhelp: the tasks are chief-0, ps-0, ps-1, worker-0 … worker-3\n"
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
