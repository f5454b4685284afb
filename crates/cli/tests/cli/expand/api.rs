//! A cluster as far as `expand` needs one: a server on this machine that lists nodes. The real one is in tests/cluster.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;

use serde_json::{Value, json};

/// A node: its name, and a word about it: `ready`, `cordoned`, `not-ready`, or the key of a taint.
pub type Node<'a> = (&'a str, &'a str);

/// Starts it, and writes a kubeconfig for it into the folder.
pub fn serve(folder: &Path, nodes: &[Node<'_>]) -> PathBuf {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    let items: Vec<Value> = nodes.iter().map(node).collect();
    let list = json!({"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": items}).to_string();
    // It ends with the test's process.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(stream, &list);
        }
    });
    let path = folder.join("kubeconfig");
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: here\n\
         clusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}]\n\
         users: [{{name: u, user: {{}}}}]\n\
         contexts: [{{name: here, context: {{cluster: c, user: u}}}}, {{name: there, context: {{cluster: c, user: u}}}}]\n"
    );
    fs::write(&path, text).expect("a kubeconfig can be written");
    path
}

fn node((name, word): &Node<'_>) -> Value {
    let ready = if *word == "not-ready" { "False" } else { "True" };
    let taints = match *word {
        "ready" | "not-ready" | "cordoned" => json!([]),
        key => json!([{"key": key, "effect": "NoSchedule"}]),
    };
    json!({
        "metadata": {"name": name},
        "spec": {"unschedulable": *word == "cordoned", "taints": taints},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    })
}

fn answer(mut stream: TcpStream, list: &str) {
    let mut lines = BufReader::new(&stream).lines();
    let request = lines.next().and_then(Result::ok).unwrap_or_default();
    for line in lines {
        if line.is_ok_and(|line| line.is_empty()) {
            break;
        }
    }
    let (code, body) = if request.starts_with("GET /api/v1/nodes?") {
        (200, list)
    } else {
        (404, "{}")
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {code} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body.as_bytes());
}
