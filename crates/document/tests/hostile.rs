//! Hostile input gets a clear answer, in little memory and without a panic.
//!
//! Each case is read by a child process, so that its peak memory is its own and a stack overflow would be seen.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must say so")]

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use trainyard_document::codes::Code;
use trainyard_document::{MOST_LEVELS, Source, parse};

/// No case may need more than this.
const MOST_KIB: u64 = 256 * 1024;
/// Names the source that the child reads.
const CHILD: &str = "TRAINYARD_TEST_SOURCE";

/// What the child says: `MEMORY <KiB>`, then a line for each problem, `TY001 message`.
struct Answer {
    peak_kib: u64,
    problems: Vec<String>,
}

/// The child's part: nothing to do unless a source is named.
#[test]
fn child_reads_the_source_it_is_given() {
    let Some(path) = std::env::var_os(CHILD) else {
        return;
    };
    let problems = match Source::read(path.to_str().unwrap()) {
        Err(problem) => vec![*problem],
        Ok(source) => {
            let (documents, problems) = parse(&source);
            // Whatever was accepted must also be cheap to turn into JSON and to drop.
            let values: usize = documents
                .iter()
                .map(|document| usize::from(document.root.to_json().is_null()))
                .sum();
            assert_eq!(values, 0);
            for problem in &problems {
                let inside = problem
                    .place
                    .span
                    .is_none_or(|span| source.text.get(span.range()).is_some());
                assert!(inside, "{problem:?}");
            }
            problems
        }
    };
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    println!("\nMEMORY {}", peak.trim().trim_end_matches(" kB"));
    for problem in problems.iter().take(20) {
        println!("{} {}", problem.code, problem.message);
    }
}

fn ask_child(path: &Path, input: Option<&[u8]>) -> Answer {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "child_reads_the_source_it_is_given",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(CHILD, path)
        .stdin(if input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    if let Some(input) = input {
        // The child stops reading at its limit, which breaks the pipe.
        let _ = child.stdin.take().unwrap().write_all(input);
    }
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(
        ended.status.success(),
        "{}: {said}\n{}",
        path.display(),
        String::from_utf8_lossy(&ended.stderr)
    );
    let memory = said.lines().find_map(|line| line.strip_prefix("MEMORY "));
    let problems = said
        .lines()
        .filter(|line| line.starts_with("TY"))
        .map(str::to_owned)
        .collect();
    Answer {
        peak_kib: memory.unwrap().parse().unwrap(),
        problems,
    }
}

/// A file of the test's own, removed when it is done with.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!(
            "hostile-{}-{}.yaml",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        Self(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    fn holding(bytes: &[u8]) -> Self {
        let scratch = Self::new();
        std::fs::write(&scratch.0, bytes).unwrap();
        scratch
    }

    /// A file that is mostly hole: it has a size, but takes no space.
    fn sparse(bytes: &[u8], length: u64) -> Self {
        let scratch = Self::new();
        let mut file = File::create(&scratch.0).unwrap();
        file.write_all(bytes).unwrap();
        file.set_len(length).unwrap();
        scratch
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn check(name: &str, answer: &Answer, expected: Option<(Code, &str)>) {
    assert!(answer.peak_kib < MOST_KIB, "{name} took {} KiB", answer.peak_kib);
    match expected {
        None => assert_eq!(answer.problems, Vec::<String>::new(), "{name}"),
        Some((code, words)) => {
            let fits = |line: &String| line.starts_with(&code.to_string()) && line.contains(words);
            assert!(answer.problems.iter().any(fits), "{name}: {:?}", answer.problems);
        }
    }
}

/// `&a0 [x, …]`, then `width` aliases of the line before it, `depth` times.
fn alias_bomb(width: usize, depth: usize) -> String {
    let lines = repeated(depth - 1, |level| {
        let before = vec![format!("*a{level}"); width].join(", ");
        format!("a{}: &a{} [{before}]\n", level + 1, level + 1)
    });
    format!("a0: &a0 [{}]\n{lines}", vec!["x"; width].join(", "))
}

/// `count` pieces of text, one after another.
fn repeated(count: usize, piece: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |text, number| text + &piece(number))
}

fn merge_bomb() -> String {
    let base = repeated(2_000, |key| format!("  k{key}: x\n"));
    let users = repeated(2_000, |user| format!("u{user}:\n  <<: *base\n"));
    format!("base: &base\n{base}{users}")
}

/// Each alias nests the one before it: no line is deep, the value is.
fn alias_chain() -> String {
    let lines = repeated(9_000, |level| {
        format!("a{}: &a{} [*a{level}]\n", level + 1, level + 1)
    });
    format!("a0: &a0 [x]\n{lines}")
}

fn block_levels(levels: usize) -> String {
    repeated(levels, |level| format!("{}a:\n", " ".repeat(level)))
}

const MB: usize = 1 << 20;

type Case = (&'static str, String, Option<(Code, &'static str)>);

const DEEP: Option<(Code, &str)> = Some((Code::TooDeep, "more than 100 levels deep"));
const MANY: Option<(Code, &str)> = Some((Code::TooManyNodes, "more than 1000000 values"));
const BAD: Option<(Code, &str)> = Some((Code::Syntax, ""));

fn nested() -> Vec<Case> {
    vec![
        ("10,000 [", "[".repeat(10_000), DEEP),
        ("10,000 {a: ", "{a: ".repeat(10_000), DEEP),
        ("10,000 - ", "- ".repeat(10_000), DEEP),
        ("10,000 ? ", "? ".repeat(10_000), DEEP),
        ("10,000 [{a: ", "[{a: ".repeat(5_000), DEEP),
        ("10,000 {\"a\":", "{\"a\":".repeat(10_000), DEEP),
        ("{\"a\":[[[…", format!("{{\"a\":{}", "[".repeat(10_000)), DEEP),
        ("2 MB of [{", "[{".repeat(MB), DEEP),
        ("2,000 block levels", block_levels(2_000), DEEP),
        ("an alias of an alias of an alias", alias_chain(), DEEP),
    ]
}

fn bombs() -> Vec<Case> {
    let long = format!(
        "a: &a {}\nb: [{}]\n",
        "x".repeat(MB),
        vec!["*a"; 1_000].join(", ")
    );
    let anchors = repeated(100_000, |key| format!("- &a{key} b\n"));
    vec![
        ("alias bomb 9^9", alias_bomb(9, 9), MANY),
        ("alias bomb 2^30", alias_bomb(2, 30), MANY),
        (
            "a long text by a thousand aliases",
            long,
            Some((Code::TooManyNodes, "bytes of text")),
        ),
        (
            "100,000 anchors",
            anchors,
            Some((Code::TooManyNodes, "more than 10000 values with `&`")),
        ),
        ("merge bomb", merge_bomb(), MANY),
        ("16 MB of a,", format!("[{}", "a,".repeat(8 * MB - 8)), MANY),
        ("16 MB of - a", "- a\n".repeat(4 * MB), MANY),
        ("16 MB of []", "- []\n".repeat(3 * MB), MANY),
        (
            "{0,1,2…",
            format!("{{{}", repeated(1_500_000, |key| format!("{key},"))),
            MANY,
        ),
        (
            "JSON [1,1,1…",
            format!("{{\"a\":[{}1]}}", "1,".repeat(7 * MB)),
            MANY,
        ),
    ]
}

fn floods() -> Vec<Case> {
    let documents = Some((Code::TooManyDocuments, "10000"));
    vec![
        ("1,000,000 ---", "---\n".repeat(1_000_000), documents),
        ("20,000 JSON documents", "{}".repeat(20_000), documents),
        ("20,000 broken documents", "--- ]\n".repeat(20_000), BAD),
        (
            "the same key again and again",
            "a: b\n".repeat(100_000),
            Some((Code::DuplicateKey, "used twice")),
        ),
        (
            "bad tags without end",
            "- !!int a\n".repeat(100_000),
            Some((Code::BadTag, "")),
        ),
        (
            "1 MB of NUL",
            "\0".repeat(MB),
            Some((Code::ControlCharacter, "\\u{0}")),
        ),
        (
            "a NUL in a text",
            "a: b\nc: x\0y\n".to_owned(),
            Some((Code::ControlCharacter, "\\u{0}")),
        ),
        ("1 MB of !", "!".repeat(MB), BAD),
        ("3 MB of quotes", "\"".repeat(3 * MB), BAD),
        ("4 MB of closing brackets", "]".repeat(4 * MB), BAD),
        ("15 MB of &", "&a ".repeat(5 * MB), BAD),
        (
            "a key of 5,000 characters",
            format!("{}: b\n", "x".repeat(5_000)),
            BAD,
        ),
    ]
}

/// Large, but nothing is wrong with it.
fn harmless() -> Vec<Case> {
    vec![
        ("16 MB of tabs", "\t".repeat(16 * MB), None),
        ("16 MB of spaces", " ".repeat(16 * MB), None),
        ("16 MB of line breaks", "\n".repeat(16 * MB), None),
        (
            "12 MB of comments",
            format!("a: b\n{}", "# c\n".repeat(3 * MB)),
            None,
        ),
        (
            "8 MB of escapes",
            format!("a: \"{}\"\n", "\\x41".repeat(2 * MB)),
            None,
        ),
        ("15 MB of one word", format!("a: {}\n", "x".repeat(15 * MB)), None),
        ("15 MB of digits", format!("a: {}\n", "1".repeat(15 * MB)), None),
        (
            "15 MB of underscores",
            format!("a: 1{}\n", "_".repeat(15 * MB)),
            None,
        ),
        (
            "15 MB of one JSON text",
            format!("{{\"a\": \"{}\"}}", "é".repeat(7 * MB)),
            None,
        ),
        (
            "1 million JSON escapes",
            format!("{{\"a\": \"{}\"}}", "\\u0041".repeat(MB)),
            None,
        ),
        (
            "a line of 100,000 texts",
            format!("a: [{}]", "'é', ".repeat(100_000)),
            None,
        ),
    ]
}

#[test]
fn hostile_text_gets_a_clear_answer_in_little_memory() {
    let cases = [nested(), bombs(), floods(), harmless()].concat();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((name, text, expected)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let started = std::time::Instant::now();
                    let answer = ask_child(&Scratch::holding(text.as_bytes()).0, None);
                    println!(
                        "{name}: {} ms, {} KiB",
                        started.elapsed().as_millis(),
                        answer.peak_kib
                    );
                    check(name, &answer, *expected);
                }
            });
        }
    });
}

#[test]
fn what_is_too_large_is_refused_before_it_is_read() {
    let large = |length: u64| {
        Some((
            Code::TooLarge,
            format!("the file has {length} bytes; the limit is 16777216"),
        ))
    };
    for (name, start, length) in [
        ("200 MB", &b"a: b\n---\n"[..], 200 << 20),
        ("1 GB of one text", b"a: ", 1 << 30),
        ("one byte too many", b"# c", (16 << 20) + 1),
    ] {
        let answer = ask_child(&Scratch::sparse(start, length).0, None);
        let (code, words) = large(length).unwrap();
        check(name, &answer, Some((code, &words)));
        assert!(
            answer.peak_kib < 32 * 1024,
            "{name} was read: {} KiB",
            answer.peak_kib
        );
    }
    assert!(
        ask_child(&Scratch::holding(&vec![b'#'; 16 << 20]).0, None)
            .problems
            .is_empty()
    );
}

#[test]
fn a_pipe_is_read_no_further_than_the_limit() {
    let flood = vec![b'#'; 32 << 20];
    let answer = ask_child(Path::new("-"), Some(&flood));
    check(
        "a pipe",
        &answer,
        Some((Code::TooLarge, "more than 16777216 bytes")),
    );
    assert!(ask_child(Path::new("-"), Some(b"a: b\n")).problems.is_empty());
    check(
        "a device",
        &ask_child(Path::new("/dev/zero"), None),
        Some((Code::TooLarge, "more than 16777216 bytes")),
    );
}

#[test]
fn text_that_is_not_utf_8_is_refused_with_its_place() {
    for (bytes, code, words) in [
        (
            &b"a: b\nc: \xff\xfed\n"[..],
            Code::NotUtf8,
            "byte 8 (line 2) is 0xff",
        ),
        (b"\x80", Code::NotUtf8, "byte 0 (line 1) is 0x80"),
        (b"\xff\xfea\0:\0 \0b\0", Code::Utf16, "UTF-16"),
        (b"\xfe\xff\0a", Code::Utf16, "UTF-16"),
    ] {
        let problem = Source::from_bytes("x", bytes).unwrap_err();
        assert_eq!(problem.code, code);
        assert!(problem.message.contains(words), "{problem:?}");
        assert!(problem.hint.unwrap().contains("UTF-8"));
    }
}

#[test]
fn what_cannot_be_read_is_said() {
    for path in ["/no/such/file", "/"] {
        check(
            path,
            &ask_child(Path::new(path), None),
            Some((Code::CannotRead, path)),
        );
    }
}

#[test]
fn the_deepest_allowed_nesting_is_read() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    for (levels, good) in [(MOST_LEVELS, true), (MOST_LEVELS + 1, false)] {
        let source = Source::from_bytes("x", nested(levels).as_bytes()).unwrap();
        assert_eq!(parse(&source).1.is_empty(), good, "{levels}");
        let json = format!("{{\"a\":{}}}", nested(levels - 1));
        assert_eq!(
            parse(&Source::from_bytes("x", json.as_bytes()).unwrap())
                .1
                .is_empty(),
            good,
            "{levels}"
        );
        let block = block_levels(levels);
        assert_eq!(
            parse(&Source::from_bytes("x", block.as_bytes()).unwrap())
                .1
                .is_empty(),
            good,
            "{levels}"
        );
    }
}
