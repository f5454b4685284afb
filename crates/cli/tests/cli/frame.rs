//! What all commands share: help, colour, pipes, disks, exit codes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use crate::run::{Ran, folder, full_disk, manifest, program, root, run};

const GOOD: &str = "examples/tfjob/parameter-server.yaml";
const BAD: &str = "tests/fixtures/bad/tfjob/misspelt-fields.yaml";

/// Holds for the help of every command; only the list of commands is stored, as what is on a page follows from its
/// options.
#[test]
fn the_help_of_every_command_is_complete_and_its_examples_use_flags_that_exist() {
    let top = run(&["--help"]);
    insta::assert_snapshot!("help", top.shown());
    let pages: BTreeMap<&str, Ran> = commands(&top.out)
        .map(|name| (name, run(&[name, "--help"])))
        .collect();
    assert!(pages.len() > 20, "{}", top.out);
    for (name, page) in &pages {
        assert_eq!((page.code, page.err.as_str()), (Some(0), ""), "{name}");
        let first = page.out.lines().next().expect("a first line");
        assert!(!first.is_empty() && !first.ends_with('.'), "{name}: {first}");
        for part in [
            &format!("\nUsage: trainyard {name} "),
            "\nExamples:\n",
            "\nExit codes: 0 ",
        ] {
            assert!(page.out.contains(part), "{name}: no {part:?}");
        }
        let lines: Vec<&str> = page.out.lines().collect();
        for pair in lines.windows(2).filter(|pair| is_entry(pair[0])) {
            assert!(
                pair[1].starts_with("          "),
                "{name}: nothing is said of {}",
                pair[0]
            );
        }
        let short = run(&[name, "-h"]);
        assert_eq!(flags(&short.out), flags(&page.out), "{name}");
    }
    for text in pages.values().chain([&top]).map(|page| &page.out) {
        for (name, used) in examples(text) {
            let known = flags(&pages[name].out);
            let unknown: Vec<_> = used.iter().filter(|flag| !known.contains(**flag)).collect();
            assert!(unknown.is_empty(), "{name} has no {unknown:?}");
        }
    }
}

/// The commands that a page lists.
fn commands(page: &str) -> impl Iterator<Item = &str> {
    let section = page.split_once("Commands:\n").map_or("", |(_, rest)| rest);
    section
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !matches!(*name, "" | "help"))
}

/// Whether a line of a page begins the description of an option or an argument.
fn is_entry(line: &str) -> bool {
    line.starts_with("  -")
        || line.starts_with("      --")
        || line.starts_with("  <")
        || line.starts_with("  [")
}

/// The flags that a page describes.
fn flags(page: &str) -> BTreeSet<&str> {
    page.lines()
        .filter(|line| is_entry(line))
        .flat_map(|line| {
            line.trim_start()
                .split("  ")
                .next()
                .unwrap_or_default()
                .split([' ', ',', '=', '['])
        })
        .filter(|word| word.starts_with('-'))
        .collect()
}

/// The commands of a page's examples, each with the flags that it uses.
fn examples(page: &str) -> Vec<(&str, Vec<&str>)> {
    let section = page.split_once("\nExamples:\n").map_or("", |(_, rest)| rest);
    let lines = section.lines().take_while(|line| !line.is_empty());
    let typed = lines.filter_map(|line| line.split_once("trainyard ")?.1.split(['|', '>', ')']).next());
    typed
        .filter_map(|typed| {
            let mut words = typed.split_whitespace();
            let name = words.next()?;
            let flags = words.take_while(|word| *word != "--");
            let flags = flags.filter(|word| word.len() > 1 && word.starts_with('-'));
            Some((
                name,
                flags.map(|flag| flag.split('=').next().unwrap_or(flag)).collect(),
            ))
        })
        .collect()
}

#[test]
fn help_has_help() {
    let help = run(&["help"]);
    assert_eq!(help.code, Some(0));
    for flag in ["--help", "-h"] {
        let ran = run(&["help", flag]);
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (Some(0), help.out.as_str()),
            "{flag}"
        );
    }
    assert_eq!(run(&["help", "plan"]).out, run(&["plan", "--help"]).out);
}

/// Text that is broken by hand would be broken twice on a narrow terminal.
#[test]
fn paragraphs_of_help_fill_the_terminal() {
    let columns = 80;
    let top = run(&["--help"]);
    for name in commands(&top.out) {
        let page: Ran = program(&[name, "--help"])
            .env("COLUMNS", columns.to_string())
            .output()
            .expect("the program runs")
            .into();
        let (_, end) = page.out.split_once("\nExamples:\n").expect("examples");
        let lines: Vec<&str> = end.lines().collect();
        for pair in lines.windows(2) {
            let is_text = |line: &str| !line.is_empty() && !line.starts_with(' ');
            let Some(next) = pair[1]
                .split(' ')
                .next()
                .filter(|_| is_text(pair[0]) && is_text(pair[1]))
            else {
                continue;
            };
            let length = pair[0].chars().count() + 1 + next.chars().count();
            assert!(length > columns, "{name}: {pair:#?}");
        }
    }
}

#[test]
fn the_version_is_the_packages() {
    let ran = run(&["--version"]);
    assert_eq!(
        (ran.out.as_str(), ran.code),
        (concat!("trainyard ", env!("CARGO_PKG_VERSION"), "\n"), Some(0))
    );
}

/// Without a position-independent program there is no address space layout randomisation (ADR 16).
#[test]
fn the_program_is_position_independent() {
    let mut header = [0; 18];
    let mut file = File::open(env!("CARGO_BIN_EXE_trainyard")).expect("the program is built");
    file.read_exact(&mut header).expect("it has an ELF header");
    assert_eq!(header[..4], *b"\x7fELF");
    // `e_type`, in the byte order that `EI_DATA` names: 3 is ET_DYN, 2 (ET_EXEC) is linked at a fixed address.
    let kind = [header[16], header[17]];
    let kind = if header[5] == 1 {
        u16::from_le_bytes(kind)
    } else {
        u16::from_be_bytes(kind)
    };
    assert_eq!(kind, 3);
}

#[test]
fn wrong_usage_exits_2_and_says_what_is_right() {
    let cases: [&[&str]; 21] = [
        &[],
        &["chek", GOOD],
        &["rnu", GOOD],
        &["check"],
        &["plan", GOOD, "--no-such-flag"],
        &["plan", GOOD, "-o", "yaml"],
        &["plan", GOOD, "--tf-config", "worker-1", "-o", "json"],
        &["explain", "TY0O6"],
        &["completions", "tcsh"],
        &["plan", "examples/tfjob"],
        &["run", GOOD, "--workers", "2"],
        &["run", GOOD, "--name", "x", "--gpus", "1"],
        &["run", GOOD, "--gang"],
        &["run", "--workers", "-1", "--", "true"],
        &["run", "--name", "J_8", "--workers", "1", "--", "true"],
        &["run", GOOD, "--keep-tensorboard", "soon"],
        &["run", GOOD, "--keep-tensorboard", "10m"],
        &["logs", "mnist", "--tail", "x"],
        &["simulate", GOOD, "--seed", "-1"],
        &["install", "--replicas", "0"],
        &["install", "--gang-scheduler-name", ""],
    ];
    let mut shown = String::new();
    for typed in cases {
        let ran = run(typed);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{typed:?}");
        writeln!(shown, "$ trainyard {}\n{}", typed.join(" "), ran.err).expect("a string takes it");
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn codes_are_explained() {
    insta::assert_snapshot!("explain one", run(&["explain", "ty48"]).shown());
    let all = run(&["explain"]);
    assert_eq!(all.code, Some(0));
    assert!(all.out.lines().count() > 60 && all.out.starts_with("TY001  error"));
}

#[test]
fn completions_are_made_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = run(&["completions", shell]);
        assert_eq!(ran.code, Some(0));
        assert!(ran.out.contains("tf-config"), "{shell}");
    }
}

#[test]
fn colour_is_used_when_asked_for_and_never_in_a_pipe() {
    let escape = '\u{1b}';
    for typed in [["check", BAD], ["plan", GOOD], ["explain", "TY001"]] {
        let plain = run(&typed);
        assert!(
            !plain.out.contains(escape) && !plain.err.contains(escape),
            "{typed:?}"
        );
        let coloured = run(&[&typed[..], &["--color", "always"]].concat());
        assert!(coloured.out.contains(escape), "{typed:?}");
        let forced: Ran = program(&typed)
            .env("CLICOLOR_FORCE", "1")
            .env("NO_COLOR", "1")
            .output()
            .expect("the program runs")
            .into();
        assert!(!forced.out.contains(escape), "NO_COLOR wins: {typed:?}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let big = folder("reader").join("big.yaml");
    std::fs::write(&big, manifest("wide", 2500)).expect("a file can be written");
    let big = big.to_str().expect("a path");
    for arguments in [
        ["plan", big, "-o", "json"],
        ["plan", big, "--svg", "-"],
        ["check", big, "-o", "json"],
    ] {
        let mut child = program(&arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut first = [0; 1];
        let mut out = child.stdout.take().expect("a pipe");
        out.read_exact(&mut first).expect("one byte comes out");
        drop(out);
        let ran: Ran = child.wait_with_output().expect("the program ends").into();
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.err);
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
    }
}

#[test]
fn a_full_disk_is_an_error_and_no_panic() {
    for typed in [&["plan", GOOD][..], &["check", BAD], &["explain"], &["--help"]] {
        let ran: Ran = program(typed)
            .stdout(full_disk())
            .stderr(Stdio::piped())
            .output()
            .expect("the program runs")
            .into();
        assert_eq!(ran.code, Some(2), "{typed:?}");
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
    }
    let ran: Ran = program(&["plan", GOOD])
        .stdout(full_disk())
        .output()
        .expect("the program runs")
        .into();
    assert_eq!(
        ran.err,
        "error: cannot write to standard output: No space left on device (os error 28)\n"
    );
    // Errors of standard error are ignored.
    let quiet: Ran = program(&["check", BAD])
        .stderr(full_disk())
        .stdout(Stdio::piped())
        .output()
        .expect("the program runs")
        .into();
    assert_eq!((quiet.code, quiet.out.is_empty()), (Some(1), false));
}

#[test]
fn closed_streams_are_no_panic() {
    for redirection in [">&-", "2>&-", "<&-", ">&- 2>&- <&-"] {
        let script = format!("exec \"$0\" check {GOOD} {redirection}");
        let output = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_trainyard")])
            .current_dir(root())
            .output()
            .expect("a shell runs");
        assert_eq!(output.status.code(), Some(0), "{redirection}");
    }
    // Standard input that is closed is empty.
    let output = Command::new("sh")
        .args(["-c", "exec \"$0\" check - <&-", env!("CARGO_BIN_EXE_trainyard")])
        .output()
        .expect("a shell runs");
    assert_eq!(output.status.code(), Some(2));
}
