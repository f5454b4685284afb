//! A run for programs: one event a line. Its form is stable; see docs/json.md.

use std::io::Write as _;

use memchr::memchr_iter;
use trainyard_local::logs::pump::{LogBlock, LogSource};
use trainyard_local::run::event::RunEvent;
use trainyard_local::run::timestamp::Timestamp;

use crate::visible;

/// An event as a line.
pub fn event(event: &RunEvent) -> Vec<u8> {
    // Events hold nothing that JSON has no form for, so this cannot fail.
    let line = serde_json::to_string(event).unwrap_or_default();
    (visible::json(line) + "\n").into_bytes()
}

/// Appends each line of the block as an event of its own.
pub fn lines(out: &mut Vec<u8>, now: Timestamp, job: &str, source: &LogSource, block: LogBlock<'_>) {
    let head = head(now, job, source);
    let mut start = 0;
    let unended = !block.bytes.is_empty() && !block.bytes.ends_with(b"\n");
    for end in memchr_iter(b'\n', block.bytes).chain(unended.then_some(block.bytes.len())) {
        out.extend_from_slice(&head);
        let lossy = text(out, &block.bytes[start..end]);
        if lossy {
            out.extend_from_slice(b",\"lossy\":true");
        }
        if start == 0 && block.continued {
            out.extend_from_slice(b",\"continued\":true");
        }
        out.extend_from_slice(b"}\n");
        start = end + 1;
    }
}

/// Everything up to the line itself, which is the same for all lines of a block.
fn head(now: Timestamp, job: &str, source: &LogSource) -> Vec<u8> {
    let mut head = Vec::new();
    // Writing to a Vec cannot fail.
    let _ = write!(head, "{{\"time\":\"{now}\",\"job\":");
    let _ = serde_json::to_writer(&mut head, job);
    head.extend_from_slice(b",\"event\":\"log\",\"task\":");
    let _ = serde_json::to_writer(&mut head, &source.task);
    let _ = write!(
        head,
        ",\"epoch\":{},\"attempt\":{},\"inPlace\":{}",
        source.stamp.epoch, source.stamp.attempt, source.in_place
    );
    if let Some(container) = &source.container {
        head.extend_from_slice(b",\"container\":");
        let _ = serde_json::to_writer(&mut head, container);
    }
    head.extend_from_slice(b",\"line\":");
    head
}

/// Appends text as a JSON string; says whether something in it was no UTF-8 and has been replaced.
fn text(out: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let _ = serde_json::to_writer(out, &*text);
    std::str::from_utf8(bytes).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use trainyard_core::{Stamp, TaskId};

    fn source(container: Option<&str>) -> LogSource {
        LogSource {
            task: TaskId::new("worker", 1),
            stamp: Stamp { epoch: 2, attempt: 1 },
            in_place: 3,
            container: container.map(Into::into),
            file: "worker-1.log".into(),
        }
    }

    #[test]
    fn each_line_is_an_event() {
        let block = LogBlock {
            bytes: b"rest\na \"b\"\\\r\n\xff\nlast",
            continued: true,
            cut: false,
        };
        let mut out = Vec::new();
        lines(
            &mut out,
            Timestamp(1_794_793_512_345),
            "mnist",
            &source(Some("setup")),
            block,
        );
        let text = String::from_utf8(out).unwrap();
        let read: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let said: Vec<&Value> = read.iter().map(|line| &line["line"]).collect();
        assert_eq!(said, ["rest", "a \"b\"\\\r", "\u{fffd}", "last"]);
        assert_eq!(
            read[0],
            json!({
                "time": "2026-11-16T01:45:12.345Z", "job": "mnist", "event": "log", "task": "worker-1",
                "epoch": 2, "attempt": 1, "inPlace": 3, "container": "setup", "line": "rest", "continued": true,
            })
        );
        assert_eq!(read[2]["lossy"], true);
        assert!(read[1].get("lossy").is_none() && read[1].get("continued").is_none());
    }

    #[test]
    fn the_main_container_is_not_named() {
        let block = LogBlock {
            bytes: b"x\n",
            continued: false,
            cut: false,
        };
        let mut out = Vec::new();
        lines(&mut out, Timestamp(0), "m", &source(None), block);
        assert!(!String::from_utf8(out).unwrap().contains("container"));
    }
}
