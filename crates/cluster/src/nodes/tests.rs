//! Against a server on this machine that says what it is told to say.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use kube::{Client, Config};
use serde_json::{Value, json};

use super::*;

/// Answers one request after another with these; then it hangs up. Comes with its address and the requests it saw.
fn server(answers: Vec<(u16, String)>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (tell, seen) = channel();
    thread::spawn(move || {
        for (code, body) in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let Some(request) = head(&mut stream) else { return };
            let _ = tell.send(request.lines().next().unwrap_or_default().to_owned());
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {code} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (address, seen)
}

/// A request up to the empty line.
fn head(stream: &mut TcpStream) -> Option<String> {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        text.push(byte[0]);
    }
    String::from_utf8(text).ok()
}

fn page(names: &[&str], next: &str) -> (u16, String) {
    let items: Vec<Value> = names
        .iter()
        .map(|name| json!({"metadata": {"name": name}}))
        .collect();
    let list =
        json!({"kind": "NodeList", "apiVersion": "v1", "metadata": {"continue": next}, "items": items});
    (200, list.to_string())
}

fn status(code: u16, message: &str) -> (u16, String) {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code,
        "reason": "X"});
    (code, status.to_string())
}

fn ask(server: &str, selector: Option<&str>, patience: Duration) -> Result<Vec<String>, ClusterError> {
    let runtime = runtime().unwrap();
    runtime.block_on(async {
        let mut config = Config::new(server.parse().unwrap());
        config.default_retry = false;
        let access = Access {
            client: Client::try_from(config).unwrap(),
            server: "http://there".to_owned(),
        };
        let question = Question {
            selector: selector.map(str::to_owned),
            patience,
            ..Question::default()
        };
        let found = pages(&access, &question).await?;
        Ok(found.into_iter().map(|node| node.name).collect())
    })
}

const LONG: Duration = Duration::from_secs(30);

#[test]
fn pages_are_put_together_in_the_order_of_the_api() {
    let (address, seen) = server(vec![
        page(&["a", "b"], "t1"),
        page(&["c"], "t2"),
        page(&["d"], ""),
    ]);
    assert_eq!(
        ask(&address, Some("gpu=a100,!old"), LONG).unwrap(),
        ["a", "b", "c", "d"]
    );
    let requests: Vec<String> = seen.try_iter().collect();
    assert!(requests[0].contains("limit=500"), "{requests:?}");
    assert!(
        requests
            .iter()
            .all(|request| request.contains("labelSelector=gpu%3Da100%2C%21old"))
    );
    assert!(requests[2].contains("continue=t2"), "{requests:?}");
}

#[test]
fn a_list_that_expires_in_the_middle_is_begun_again() {
    let (address, seen) = server(vec![
        page(&["a", "b"], "t1"),
        status(410, "too old"),
        page(&["a", "c"], ""),
    ]);
    assert_eq!(ask(&address, None, LONG).unwrap(), ["a", "c"]);
    let last = seen.try_iter().last().unwrap();
    assert!(!last.contains("limit") && !last.contains("continue"), "{last}");
    // But not for ever.
    let (address, _seen) = server(vec![status(410, "too old"), status(410, "too old")]);
    assert!(
        ask(&address, None, LONG)
            .unwrap_err()
            .message
            .contains("answers 410")
    );
}

#[test]
fn every_refusal_says_what_to_do() {
    let table = [
        (
            status(401, "Unauthorized"),
            "does not know you: Unauthorized",
            "log in again",
        ),
        (
            status(403, "nodes is forbidden"),
            "you may not list the nodes",
            "ClusterRole",
        ),
        (
            status(400, "unable to parse"),
            "does not understand the question",
            "selector",
        ),
        (
            status(500, "etcd is away"),
            "answers 500: etcd is away",
            "try again",
        ),
        ((200, "<html>".to_owned()), "is no list of nodes", "Kubernetes"),
        ((503, "<html>\u{1b}[31m".to_owned()), "answers 503", "try again"),
        (page(&[], ""), "has no nodes", "--context"),
    ];
    for (answer, message, hint) in table {
        let (address, _seen) = server(vec![answer]);
        let error = ask(&address, None, LONG).unwrap_err();
        assert!(error.message.contains(message), "{error:?}");
        assert!(error.message.contains("http://there"), "{error:?}");
        assert!(!error.message.contains('\u{1b}'), "{error:?}");
        assert!(error.hint.contains(hint), "{error:?}");
    }
    let (address, _seen) = server(vec![page(&[], "")]);
    let error = ask(&address, Some("gpu=no"), LONG).unwrap_err();
    assert!(error.message.ends_with("matches `gpu=no`"), "{error:?}");
}

#[test]
fn nobody_there_and_nobody_who_answers_are_told_apart() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let error = ask(&address, None, Duration::from_millis(100)).unwrap_err();
    assert!(error.message.contains("did not answer within"), "{error:?}");
    drop(listener);
    let error = ask(&address, None, LONG).unwrap_err();
    assert!(
        error
            .message
            .starts_with("cannot reach the cluster at http://there: Connection refused"),
        "{error:?}"
    );
    assert!(error.hint.contains("--hosts"), "{error:?}");
}

#[test]
fn a_server_without_https_is_told_as_such() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.write_all(b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent garbage");
        let _ = stream.read(&mut [0; 1024]);
    });
    let error = ask(&address, None, LONG).unwrap_err();
    assert!(error.message.contains("does not speak HTTPS"), "{error:?}");
}
