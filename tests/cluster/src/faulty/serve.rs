//! HTTP, as much of it as one client needs: one request per connection, answers in chunks.

use std::io;
use std::net::TcpListener as Socket;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::AsyncReadExt as _;
use http::{Method, Request};
use kube::Client;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::LocalSet;

use super::{Done, Fault, GoneApi, Shared, Write};
use crate::api::Api;

/// Requests with a longer head are dropped: no client of ours sends one.
const LONGEST_HEAD: usize = 64 * 1024;

/// The end of an answer in chunks.
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// A program that was told of its write and writes nothing else is killed after this.
const NOTHING_ELSE: Duration = Duration::from_millis(300);

/// A request, read whole.
struct Asked {
    method: String,
    path: String,
    accept: String,
    kind: String,
    body: Vec<u8>,
}

/// An answer: a code and its body.
type Answer = (u16, Vec<u8>);

/// Serves until it is stopped.
pub fn run(api: &Api, socket: Socket, shared: &Arc<Shared>, mut stopped: watch::Receiver<bool>) {
    let client = api.client();
    api.block_on(LocalSet::new().run_until(async {
        tokio::select! {
            ended = accept(socket, &client, shared) => panic!("the faulty proxy has stopped: {ended:?}"),
            _ = stopped.changed() => {}
        }
    }));
}

/// Each connection is a task of its own.
async fn accept(socket: Socket, client: &Client, shared: &Arc<Shared>) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    let listener = TcpListener::from_std(socket)?;
    loop {
        let (stream, _) = listener.accept().await?;
        let (client, shared) = (client.clone(), Arc::clone(shared));
        tokio::task::spawn_local(async move {
            // The client may hang up at any time.
            let _ = one(stream, &client, &shared).await;
        });
    }
}

async fn one(stream: TcpStream, client: &Client, shared: &Arc<Shared>) -> io::Result<()> {
    let Some(asked) = read(&stream).await? else {
        return Ok(());
    };
    let is_of = |api: &&GoneApi| {
        let path = asked.path.split('?').next().unwrap_or_default();
        path == format!("/apis/{}/{}", api.api_version, api.plural)
    };
    if let Some(api) = shared.gone.iter().find(is_of) {
        return empty(stream, api, &asked).await;
    }
    if asked.path.contains("watch=") {
        return watched(stream, client, shared, &asked).await;
    }
    let Some(write) = Write::of(&asked.method, &asked.path) else {
        let answer = pass_on(client, &asked).await;
        return reply(&stream, answer).await;
    };
    if shared.armed.load(Ordering::SeqCst) {
        shared.kill();
        return Ok(());
    }
    let judged = shared.judge(write);
    let carry_out = async || {
        let answer = pass_on(client, &asked).await;
        if answer.0 < 300 {
            super::locked(&shared.done).push(done(write, &asked));
        }
        answer
    };
    match judged {
        None | Some(Fault::CutWatches | Fault::Gone | Fault::GoneInside) => {
            reply(&stream, carry_out().await).await
        }
        Some(Fault::Refuse(code)) => reply(&stream, refusal(code, &asked)).await,
        Some(Fault::Deny(code)) => {
            carry_out().await;
            reply(&stream, refusal(code, &asked)).await
        }
        Some(Fault::HangUp) => {
            carry_out().await;
            Ok(())
        }
        Some(Fault::KillUnanswered) => {
            carry_out().await;
            shared.kill();
            Ok(())
        }
        Some(Fault::KillAnswered) => {
            let answer = carry_out().await;
            shared.armed.store(true, Ordering::SeqCst);
            reply(&stream, answer).await?;
            tokio::time::sleep(NOTHING_ELSE).await;
            if shared.armed.load(Ordering::SeqCst) {
                shared.kill();
            }
            Ok(())
        }
    }
}

/// The answer about objects of an API that is gone.
async fn empty(stream: TcpStream, api: &GoneApi, asked: &Asked) -> io::Result<()> {
    if asked.path.contains("watch=") {
        begin(&stream).await?;
        return receive(&stream, &mut Vec::new()).await.map(drop);
    }
    let list = json!({
        "apiVersion": api.api_version, "kind": api.list, "metadata": { "resourceVersion": "1" }, "items": [],
    });
    reply(&stream, (200, list.to_string().into_bytes())).await
}

/// A request from the connection; none if it was closed instead.
async fn read(stream: &TcpStream) -> io::Result<Option<Asked>> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if receive(stream, &mut bytes).await? == 0 || bytes.len() > LONGEST_HEAD {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let header = |name: &str| {
        let mut all = head.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
        let found = all.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found
            .map(|(_, value)| value.trim().to_owned())
            .unwrap_or_default()
    };
    let length: usize = header("content-length").parse().unwrap_or_default();
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        if receive(stream, &mut body).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(Asked {
        method: first.next().unwrap_or_default(),
        path: first.next().unwrap_or_default(),
        accept: header("accept"),
        kind: header("content-type"),
        body,
    }))
}

fn done(write: Write, asked: &Asked) -> Done {
    let body: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let last = asked.path.rsplit('/').next().unwrap_or_default();
    Done {
        write,
        name: text("/metadata/name").unwrap_or_else(|| last.to_owned()),
        uid: text("/preconditions/uid").unwrap_or_default(),
        versioned: text("/preconditions/resourceVersion").is_some(),
    }
}

fn request(asked: &Asked) -> Request<Vec<u8>> {
    let method = Method::from_bytes(asked.method.as_bytes()).unwrap_or_default();
    let mut request = Request::builder().method(method).uri(&asked.path);
    for (name, value) in [
        (http::header::ACCEPT, &asked.accept),
        (http::header::CONTENT_TYPE, &asked.kind),
    ] {
        if !value.is_empty() {
            request = request.header(name, value);
        }
    }
    let request = request.header(http::header::ACCEPT_ENCODING, "identity");
    request
        .body(asked.body.clone())
        .unwrap_or_else(|error| panic!("{}: {error}", asked.path))
}

/// What the real server says.
async fn pass_on(client: &Client, asked: &Asked) -> Answer {
    match client.request_text(request(asked)).await {
        Ok(text) => (200, text.into_bytes()),
        Err(error) => said(&error),
    }
}

fn said(error: &kube::Error) -> Answer {
    match error {
        kube::Error::Api(status) => (status.code, serde_json::to_vec(status).unwrap_or_default()),
        other => status(503, "ServiceUnavailable", &other.to_string()),
    }
}

/// The answer of a server that refuses a request.
fn refusal(code: u16, asked: &Asked) -> Answer {
    let reason = match (code, asked.method.as_str()) {
        (409, "POST") => "AlreadyExists",
        (409, _) => "Conflict",
        (429, _) => "TooManyRequests",
        (504, _) => "Timeout",
        _ => "InternalError",
    };
    status(code, reason, "a fault of the test")
}

fn status(code: u16, reason: &str, message: &str) -> Answer {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": message,
    });
    (code, status.to_string().into_bytes())
}

async fn reply(stream: &TcpStream, (code, body): Answer) -> io::Result<()> {
    let length = body.len();
    let again = if code == 429 { "Retry-After: 1\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {code} Said\r\nContent-Type: application/json\r\nConnection: close\r\n{again}Content-Length: {length}\r\n\r\n"
    );
    send(stream, head.as_bytes()).await?;
    send(stream, &body).await
}

/// A watch: passed on until it ends, is cut, or its client goes.
async fn watched(stream: TcpStream, client: &Client, shared: &Arc<Shared>, asked: &Asked) -> io::Result<()> {
    let inside = matches!(shared.plan, Some((_, Fault::GoneInside)));
    if shared.forgotten.load(Ordering::SeqCst) && goes_on(&asked.path) {
        shared.forgotten.store(false, Ordering::SeqCst);
        let (code, body) = status(410, "Expired", "too old resource version");
        if !inside {
            return reply(&stream, (code, body)).await;
        }
        begin(&stream).await?;
        let object: Value = serde_json::from_slice(&body).unwrap_or_default();
        let event = json!({"type": "ERROR", "object": object}).to_string() + "\n";
        chunk(&stream, event.as_bytes()).await?;
        return send(&stream, LAST_CHUNK).await;
    }
    let mut cut = shared.cut.subscribe();
    let events = match client.request_stream(request(asked)).await {
        Ok(events) => events,
        Err(error) => return reply(&stream, said(&error)).await,
    };
    let mut events = std::pin::pin!(events);
    begin(&stream).await?;
    let mut bytes = vec![0; 64 * 1024];
    let mut unused = Vec::new();
    loop {
        tokio::select! {
            // Without the last chunk: as if a line had been cut.
            _ = cut.changed() => return Ok(()),
            closed = receive(&stream, &mut unused) => return closed.map(drop),
            read = events.read(&mut bytes) => match read? {
                0 => return send(&stream, LAST_CHUNK).await,
                length => chunk(&stream, &bytes[..length]).await?,
            }
        }
    }
}

/// Whether a watch wants to go on from somewhere.
fn goes_on(path: &str) -> bool {
    path.split(['?', '&'])
        .filter_map(|pair| pair.strip_prefix("resourceVersion="))
        .any(|version| !version.is_empty() && version != "0")
}

async fn begin(stream: &TcpStream) -> io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    send(stream, head.as_bytes()).await
}

async fn chunk(stream: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    send(stream, format!("{:x}\r\n", bytes.len()).as_bytes()).await?;
    send(stream, bytes).await?;
    send(stream, b"\r\n").await
}

/// Reads what is there onto the end of `into`; 0 when the other side has hung up.
async fn receive(stream: &TcpStream, into: &mut Vec<u8>) -> io::Result<usize> {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        stream.readable().await?;
        match stream.try_read(&mut bytes) {
            Ok(length) => {
                into.extend_from_slice(&bytes[..length]);
                return Ok(length);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

/// Writes all of it.
async fn send(stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Ok(length) => bytes = &bytes[length..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
