//! A run for programs: one event per line. Its form is stable; see docs/json.md.

use std::borrow::Cow;

use serde::Serialize;
use trainyard_core::TaskId;
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

/// A line of a task's output.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogLine<'a> {
    time: Timestamp,
    job: &'a str,
    event: &'static str,
    task: &'a TaskId,
    epoch: u32,
    attempt: u32,
    in_place: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<&'a str>,
    line: Cow<'a, str>,
    /// Bytes that are not UTF-8 have been replaced.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lossy: bool,
    /// It continues the previous line, which was too long for one event.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    continued: bool,
}

/// Appends each line of the block as an event of its own.
pub fn lines(out: &mut Vec<u8>, time: Timestamp, job: &str, source: &LogSource, block: LogBlock<'_>) {
    let mut continued = block.continued;
    for bytes in block.bytes.split_inclusive(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(bytes.strip_suffix(b"\n").unwrap_or(bytes));
        let event = LogLine {
            time,
            job,
            event: "log",
            task: &source.task,
            epoch: source.stamp.epoch,
            attempt: source.stamp.attempt,
            in_place: source.in_place,
            container: source.container.as_deref(),
            lossy: matches!(line, Cow::Owned(_)),
            line,
            continued: std::mem::take(&mut continued),
        };
        // Writing to a Vec cannot fail.
        let _ = serde_json::to_writer(&mut *out, &event);
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use trainyard_core::Stamp;

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
