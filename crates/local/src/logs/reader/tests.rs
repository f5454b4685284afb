//! Logs read back: blocks, times, tails, and logs that grow meanwhile.

use std::time::Duration;

use trainyard_core::TaskId;

use super::*;
use crate::logs::index::IndexWriter;

fn at(millis: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(millis)
}

/// A log whose pieces came at these times.
fn log(directory: &tempfile::TempDir, pieces: &[(u64, &str)]) -> LogSource {
    let file = directory.path().join("worker-0.0.0.log");
    let mut index = IndexWriter::open(&file).unwrap();
    let mut text = String::new();
    for (millis, piece) in pieces {
        index.note(text.len() as u64, at(*millis)).unwrap();
        text.push_str(piece);
    }
    fs::write(&file, text).unwrap();
    LogSource {
        task: TaskId::new("worker", 0),
        stamp: trainyard_core::Stamp::default(),
        in_place: 0,
        container: None,
        file,
    }
}

fn millis(time: Option<SystemTime>) -> Option<u128> {
    time.map(|time| time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis())
}

fn rest(reader: &mut LogReader, complete: bool) -> Vec<(Option<u128>, String)> {
    let mut blocks = Vec::new();
    reader.look_again();
    reader.complete = complete;
    while reader.peek().unwrap().is_some() {
        let Merged { block, time, .. } = reader.take().unwrap();
        blocks.push((millis(time), String::from_utf8(block.bytes.to_vec()).unwrap()));
    }
    blocks
}

const PIECES: [(u64, &str); 4] = [
    (1000, "one\nt"),
    (2000, "wo\nthree\n"),
    (3000, "four\n"),
    (4000, "fi"),
];

#[test]
fn a_line_has_the_time_of_its_first_byte() {
    let directory = tempfile::tempdir().unwrap();
    let source = log(&directory, &PIECES);
    for read in [1, 3, 4096] {
        let mut reader = LogReader::new(source.clone(), read);
        let blocks = rest(&mut reader, false);
        let mut joined: Vec<(Option<u128>, String)> = Vec::new();
        for (time, text) in blocks {
            match joined.last_mut() {
                Some((last, before)) if *last == time => before.push_str(&text),
                _ => joined.push((time, text)),
            }
        }
        let expected = [(1000, "one\ntwo\n"), (2000, "three\n"), (3000, "four\n")];
        let expected = expected.map(|(time, text)| (Some(time), text.to_owned()));
        assert_eq!(joined, expected, "{read}");
        assert_eq!(rest(&mut reader, true), [(Some(4000), "fi".to_owned())]);
    }
}

#[test]
fn a_damaged_index_does_not_keep_a_log_from_being_read() {
    let directory = tempfile::tempdir().unwrap();
    let source = log(&directory, &[(1000, "one\n")]);
    IndexWriter::open(&source.file)
        .unwrap()
        .note(u64::MAX, at(2000))
        .unwrap();
    let mut reader = LogReader::new(source.clone(), 4096);
    reader.begin_since(at(1500)).unwrap();
    assert_eq!(rest(&mut reader, true), []);
    assert_eq!(rest(&mut LogReader::new(source, 4096), true).len(), 1);
}

#[test]
fn a_log_is_read_while_it_grows() {
    let directory = tempfile::tempdir().unwrap();
    let source = log(&directory, &PIECES);
    let mut reader = LogReader::new(source.clone(), 4096);
    rest(&mut reader, false);
    let mut text = fs::read_to_string(&source.file).unwrap();
    let mut index = IndexWriter::open(&source.file).unwrap();
    index.note(text.len() as u64, at(5000)).unwrap();
    text.push_str("ve\nsix\nsev");
    fs::write(&source.file, text).unwrap();
    assert_eq!(
        rest(&mut reader, false),
        [
            (Some(4000), "five\n".to_owned()),
            (Some(5000), "six\n".to_owned()),
        ]
    );
}

#[test]
fn a_time_to_begin_with_never_tears_a_line() {
    let directory = tempfile::tempdir().unwrap();
    let source = log(&directory, &PIECES);
    for (since, expected) in [
        (0, "one\ntwo\nthree\nfour\nfi"),
        (1500, "three\nfour\nfi"),
        (2500, "four\nfi"),
        (4000, "fi"),
        (4001, ""),
    ] {
        for read in [1, 4096] {
            let mut reader = LogReader::new(source.clone(), read);
            reader.begin_since(at(since)).unwrap();
            let text: String = rest(&mut reader, true)
                .into_iter()
                .map(|(_, text)| text)
                .collect();
            assert_eq!(text, expected, "{since}");
        }
    }
}

#[test]
fn the_last_lines_are_counted_from_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let long = "x".repeat(3 * BACKWARDS);
    for (text, lines, expected) in [
        ("", 3, ""),
        ("a\nb\nc\n", 0, ""),
        ("a\nb\nc\n", 1, "c\n"),
        ("a\nb\nc\n", 2, "b\nc\n"),
        ("a\nb\nc", 1, "c"),
        ("a\nb\nc", 2, "b\nc"),
        ("a\nb\n", 9, "a\nb\n"),
        ("\n\n\n", 2, "\n\n"),
        (&*format!("a\n{long}\nb\n"), 2, &*format!("{long}\nb\n")),
    ] {
        let source = log(&directory, &[(1000, text)]);
        let mut reader = LogReader::new(source, 4096);
        reader.begin_tail(lines).unwrap();
        let shown: String = rest(&mut reader, true)
            .into_iter()
            .map(|(_, text)| text)
            .collect();
        assert_eq!(shown.len(), expected.len(), "{lines} of {}", text.len());
        assert_eq!(shown, expected);
    }
}

#[test]
fn a_line_longer_than_the_cap_comes_in_marked_pieces() {
    let directory = tempfile::tempdir().unwrap();
    let long = "x".repeat(2 * LONGEST_LINE + 5);
    let source = log(&directory, &[(1000, &format!("{long}\nshort\n"))]);
    let mut reader = LogReader::new(source, 4096);
    let mut pieces = Vec::new();
    while reader.peek().unwrap().is_some() {
        let block = reader.take().unwrap().block;
        pieces.push((block.bytes.len(), block.continued, block.cut));
    }
    assert_eq!(
        pieces[..3],
        [
            (LONGEST_LINE, false, true),
            (LONGEST_LINE, true, true),
            (5 + "\nshort\n".len(), true, false),
        ]
    );
}

#[test]
fn a_log_without_an_index_has_lines_and_no_times() {
    let directory = tempfile::tempdir().unwrap();
    let source = log(&directory, &[(1000, "one\ntwo\n")]);
    fs::remove_file(crate::logs::index::index_path(&source.file)).unwrap();
    let mut reader = LogReader::new(source.clone(), 4096);
    assert_eq!(rest(&mut reader, true), [(None, "one\ntwo\n".to_owned())]);
    for (since, shown) in [(at(0), 1), (SystemTime::now() + Duration::from_mins(1), 0)] {
        let mut reader = LogReader::new(source.clone(), 4096);
        reader.begin_since(since).unwrap();
        assert_eq!(rest(&mut reader, true).len(), shown);
    }
}
