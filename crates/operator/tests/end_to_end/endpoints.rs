//! What a cluster asks the operator itself.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::{Harness, job};

/// The answer to a request: its first line, and its body.
pub(super) fn get(address: &str, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let asked = format!("GET {path} HTTP/1.1\r\nHost: operator\r\nConnection: close\r\n\r\n");
    stream.write_all(asked.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

#[test]
fn it_says_that_it_lives_is_ready_and_what_it_has_done() {
    let harness = Harness::with(
        "endpoints",
        &[
            "--health-probe-bind-address=127.0.0.1:0",
            "--metrics-bind-address=127.0.0.1:0",
        ],
    );
    let listening = |what: &str| -> String {
        let line = harness.operator.says(&format!("\"for\":\"{what}\""));
        let line: Value = serde_json::from_str(&line).unwrap();
        line["address"].as_str().unwrap().to_owned()
    };
    let (health, metrics) = (listening("health"), listening("metrics"));
    let begins = harness.operator.says("");
    let begins: Value = serde_json::from_str(&begins).unwrap();
    assert_eq!(begins["message"], "starting", "its first line");
    let cluster = begins["cluster"].as_str().unwrap();
    assert!(cluster.starts_with("https://127.0.0.1:"), "{cluster}");
    assert!(begins["version"].is_string());
    assert_eq!(get(&health, "/livez").0, "HTTP/1.1 200 OK");
    harness.operator.says("\"message\":\"ready\"");
    let (code, body) = get(&health, "/readyz");
    assert_eq!((&*code, &*body), ("HTTP/1.1 200 OK", "ok, acting"));

    harness.create(&job("mnist", &json!({}), &[("Worker", 1, "Never")]));
    harness.run(&["mnist-worker-0"]);
    harness.conditions("mnist", &["Created", "Running"]);
    harness.exit("mnist-worker-0", 0);
    harness.conditions("mnist", &["Created", "!Running", "Succeeded"]);
    harness.operator.says("TFJobSucceeded");
    let (_, text) = get(&metrics, "/metrics");
    let labels = format!(
        "{{job_namespace=\"{}\",framework=\"tensorflow\"}} 1",
        harness.namespace.name()
    );
    for counter in ["created", "successful"] {
        let line = format!("training_operator_jobs_{counter}_total{labels}");
        assert!(text.contains(&line), "no `{line}` in:\n{text}");
    }
    for line in [
        "trainyard_api_requests_total{verb=\"create\",resource=\"pods\",code=\"201\"} 1",
        "trainyard_job_start_seconds_count{phase=\"created\"} 1",
        "trainyard_job_start_seconds_count{phase=\"running\"} 1",
        "trainyard_leader 1",
        "trainyard_pass_duration_seconds_count{result=\"done\"}",
    ] {
        assert!(text.contains(line), "no `{line}` in:\n{text}");
    }
}
