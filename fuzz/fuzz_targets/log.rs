//! A log and an index of any bytes are read back: from the beginning every byte of the log once and in order, from the end
//! the last lines. The index is a file of the user's and may be damaged.

#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use libfuzzer_sys::fuzz_target;
use trainyard_local::logs::files::source_of;
use trainyard_local::logs::index::index_path;
use trainyard_local::logs::reader::LogReader;

static LOG: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("trainyard-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a directory can be created");
    folder.join("worker-0.0.0.log")
});

fuzz_target!(|input: (u8, u8, u16, &[u8], &[u8])| {
    let (size, lines, since, index, log) = input;
    fs::write(&*LOG, log).expect("a file can be written");
    fs::write(index_path(&LOG), index).expect("a file can be written");
    let reader = || {
        let source = source_of(&LOG).expect("the name of a log");
        let mut reader = LogReader::new(source, usize::from(size));
        reader.complete = true;
        reader
    };
    assert_eq!(all(reader()), log);

    let mut tail = reader();
    tail.begin_tail(lines.into()).expect("the log is there");
    let tail = all(tail);
    assert!(log.ends_with(&tail));
    assert!(count(&tail) <= usize::from(lines), "{lines} lines");
    assert_eq!(count(&tail), count(log).min(lines.into()));

    let mut newer = reader();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(since.into());
    newer.begin_since(time).expect("the log is there");
    assert!(log.ends_with(&all(newer)));
});

/// Everything that the reader hands out, prefixes included and removed again.
fn all(mut reader: LogReader) -> Vec<u8> {
    let mut read = Vec::new();
    let mut prefixed = Vec::new();
    while reader.peek().expect("the log is there").is_some() {
        let block = reader.take().expect("it was announced").block;
        assert!(!block.bytes.is_empty(), "a block without bytes");
        prefixed.clear();
        block.prefix_into(&mut prefixed, b"", b"");
        assert!(prefixed.starts_with(block.bytes));
        read.extend_from_slice(block.bytes);
    }
    read
}

/// The lines of a text; the last may lack its end.
fn count(text: &[u8]) -> usize {
    text.split_inclusive(|byte| *byte == b'\n').count()
}
