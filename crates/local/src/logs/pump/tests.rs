//! What is read is what was written, whatever the sizes; and a disk that refuses.

use super::*;
use std::sync::Mutex;

#[derive(Default)]
struct Kept {
    blocks: Mutex<Blocks>,
    troubles: Mutex<Vec<String>>,
    unfinished: Mutex<Vec<u8>>,
}

impl LogSink for Kept {
    fn lines(&self, _: &LogSource, block: LogBlock<'_>) {
        self.unfinished.lock().unwrap().clear();
        let mut blocks = self.blocks.lock().unwrap();
        blocks.push((block.bytes.to_vec(), block.continued, block.cut));
    }

    fn unfinished(&self, _: &LogSource, line: &[u8]) {
        *self.unfinished.lock().unwrap() = line.to_vec();
    }

    fn trouble(&self, _: &LogSource, trouble: &LogTrouble) {
        self.troubles.lock().unwrap().push(trouble.to_string());
    }
}

type Blocks = Vec<(Vec<u8>, bool, bool)>;

fn pump(file: &Path, writes: &[&[u8]]) -> (Blocks, Vec<String>) {
    let (reader, mut writer) = io::pipe().unwrap();
    let source = LogSource {
        task: TaskId::new("worker", 0),
        stamp: Stamp::default(),
        in_place: 0,
        container: None,
        file: file.to_owned(),
    };
    let kept = Arc::new(Kept::default());
    let mut pump = Pump::new(reader, source, kept.clone());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for bytes in writes {
                writer.write_all(bytes).unwrap();
            }
        });
        while pump.pull() == Pumped::More {}
    });
    pump.finish();
    drop(pump);
    let kept = Arc::into_inner(kept).unwrap();
    (
        kept.blocks.into_inner().unwrap(),
        kept.troubles.into_inner().unwrap(),
    )
}

fn joined(blocks: &[(Vec<u8>, bool, bool)]) -> Vec<u8> {
    blocks.iter().flat_map(|(bytes, _, _)| bytes.clone()).collect()
}

#[test]
fn a_block_is_whole_lines_and_the_file_holds_every_byte() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("a.log");
    let (blocks, _) = pump(&log, &[b"one\ntw", b"o\n\nbin\xff\0\n", b"end"]);
    assert_eq!(joined(&blocks), b"one\ntwo\n\nbin\xff\0\nend");
    let (last, lines) = blocks.split_last().unwrap();
    assert!(
        lines.iter().all(|(bytes, ..)| bytes.ends_with(b"\n")),
        "{blocks:?}"
    );
    assert_eq!(last, &(b"end".to_vec(), false, false));
    assert_eq!(std::fs::read(&log).unwrap(), joined(&blocks));
}

#[test]
fn a_line_longer_than_the_cap_comes_in_marked_pieces() {
    let directory = tempfile::tempdir().unwrap();
    let long = [vec![b'x'; 2 * LONGEST_LINE + 5], b"\nshort\n".to_vec()].concat();
    let (blocks, _) = pump(&directory.path().join("a.log"), &[&long]);
    assert_eq!(joined(&blocks), long);
    let marks: Vec<_> = blocks
        .iter()
        .map(|(bytes, continued, cut)| (bytes.len(), *continued, *cut))
        .collect();
    assert_eq!(
        marks[..2],
        [(LONGEST_LINE, false, true), (LONGEST_LINE, true, true)]
    );
    assert!(marks[2].1 && !marks[2].2, "{marks:?}");
    assert!(marks[3..].iter().all(|(_, continued, cut)| !continued && !cut));
}

#[test]
fn of_a_bar_longer_than_the_cap_what_is_written_over_comes_first_and_nothing_continues_it() {
    let directory = tempfile::tempdir().unwrap();
    let state = b"\r 12345/60000 of the bar".as_slice();
    let long = [state.repeat(LONGEST_LINE / state.len() * 2), b"\nnext\n".to_vec()].concat();
    let (blocks, _) = pump(&directory.path().join("a.log"), &[&long]);
    assert_eq!(joined(&blocks), long);
    assert!(blocks.iter().all(|(_, continued, _)| !continued));
    let pieces = blocks.iter().filter(|(_, _, cut)| *cut);
    let pieces: Vec<bool> = pieces.map(|(bytes, ..)| bytes.ends_with(b"\r")).collect();
    assert!(
        !pieces.is_empty() && pieces.iter().all(|ends| *ends),
        "{pieces:?}"
    );
}

#[test]
fn a_line_that_has_not_ended_is_told_whole_with_every_read() {
    let directory = tempfile::tempdir().unwrap();
    let (reader, mut writer) = io::pipe().unwrap();
    let source = LogSource {
        task: TaskId::new("worker", 0),
        stamp: Stamp::default(),
        in_place: 0,
        container: None,
        file: directory.path().join("a.log"),
    };
    let kept = Arc::new(Kept::default());
    let mut pump = Pump::new(reader, source, kept.clone());
    for (bytes, unfinished) in [
        (&b"one\n 1%"[..], &b" 1%"[..]),
        (b"\r 2%", b" 1%\r 2%"),
        (b"\n", b""),
        (b"x", b"x"),
    ] {
        writer.write_all(bytes).unwrap();
        assert_eq!(pump.pull(), Pumped::More);
        assert_eq!(*kept.unfinished.lock().unwrap(), unfinished);
    }
}

#[test]
fn a_log_that_cannot_be_written_is_said_once_and_the_lines_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let full = directory.path().join("full.log");
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    for file in [full, directory.path().join("missing/a.log")] {
        let (blocks, troubles) = pump(&file, &[b"one\n", b"two\n"]);
        assert_eq!(joined(&blocks), b"one\ntwo\n");
        assert_eq!(troubles.len(), 1, "{troubles:?}");
        assert!(troubles[0].contains("shown but not kept"), "{troubles:?}");
    }
}

#[test]
fn every_line_gets_its_prefix() {
    let cases: [(&[u8], bool, &str); 5] = [
        (b"a\nb\n", false, "> a\n> b\n"),
        (b"a\nb", false, "> a\n> b\n"),
        (b"a\nb\n", true, "+ a\n> b\n"),
        (b"\n", false, "> \n"),
        (b"", false, ""),
    ];
    for (bytes, continued, expected) in cases {
        let mut out = Vec::new();
        let block = LogBlock {
            bytes,
            continued,
            cut: false,
        };
        block.prefix_into(&mut out, b"> ", b"+ ");
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
