//! Output of real programs: nothing lost, nothing torn.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;

use trainyard_local::logs::index::IndexReader;
use trainyard_local::logs::pump::LONGEST_LINE;

use crate::bench::{Bench, Who, about, every_user, output};

#[test]
fn fifty_tasks_lose_and_tear_no_line() {
    const LINES: usize = 4000;
    for who in every_user() {
        let mut bench = Bench::new(who);
        for number in 0..50 {
            bench = bench.task(&format!("worker-{number}"), &format!("lines w{number} {LINES}"));
        }
        let merged = bench.work().join("merged.log");
        let bench = bench.set("merged", merged.to_str().unwrap());
        bench.run();
        let text = fs::read_to_string(&merged).unwrap();
        let mut next: BTreeMap<&str, usize> = BTreeMap::new();
        for line in text.lines() {
            let (prefix, rest) = line.split_once("| ").unwrap();
            let mut words = rest.split(' ');
            let name = words.next().unwrap();
            assert_eq!(prefix.strip_prefix("worker-"), name.strip_prefix('w'), "{line}");
            let expected = next.entry(name).or_default();
            assert_eq!(
                words.next().unwrap().parse::<usize>().unwrap(),
                *expected,
                "{line}"
            );
            assert_eq!(words.next().unwrap(), "x".repeat(80), "{line}");
            *expected += 1;
        }
        assert_eq!(next.len(), 50);
        assert!(next.values().all(|count| *count == LINES), "{next:?}");
        for number in 0..50 {
            let raw = fs::read_to_string(bench.log(&format!("worker-{number}.0.0.log"))).unwrap();
            assert_eq!(raw.lines().count(), LINES);
        }
    }
}

#[test]
fn a_line_of_ten_megabytes_is_kept_whole_and_shown_in_pieces() {
    const LENGTH: usize = 10_000_000;
    let mut bench = Bench::new(Who::Us);
    for number in 0..4 {
        bench = bench.task(
            &format!("worker-{number}"),
            &format!("say before long {LENGTH} say after"),
        );
    }
    let merged = bench.work().join("merged.log");
    let bench = bench.set("merged", merged.to_str().unwrap());
    bench.run();
    let text = fs::read_to_string(&merged).unwrap();
    for number in 0..4 {
        let raw = fs::read(bench.log(&format!("worker-{number}.0.0.log"))).unwrap();
        assert_eq!(raw.len(), "before\n".len() + LENGTH + 1 + "after\n".len());
        let (first, more) = (format!("worker-{number}| "), format!("worker-{number}+ "));
        let own = text
            .lines()
            .filter(|line| line.starts_with(&first) || line.starts_with(&more));
        let pieces: Vec<&str> = own.filter(|line| line.ends_with('y')).collect();
        assert!(pieces[0].starts_with(&first) && pieces[1..].iter().all(|piece| piece.starts_with(&more)));
        assert!(
            pieces
                .iter()
                .all(|piece| piece.len() <= LONGEST_LINE + first.len())
        );
        let shown: usize = pieces.iter().map(|piece| piece.len() - first.len()).sum();
        assert_eq!(shown, LENGTH);
    }
}

#[test]
fn binary_output_and_a_missing_last_newline_are_kept_as_they_are() {
    let bench = Bench::new(Who::Us).task("worker-0", "shout error say out raw 00ff1b5b33316d0aff80 exit 0");
    let merged = bench.work().join("merged.log");
    let bench = bench.set("merged", merged.to_str().unwrap());
    bench.run();
    let raw = fs::read(bench.log("worker-0.0.0.log")).unwrap();
    assert_eq!(raw, b"error\nout\n\x00\xff\x1b[31m\n\xff\x80");
    let shown = fs::read(&merged).unwrap();
    assert_eq!(
        shown,
        b"worker-0| error\nworker-0| out\nworker-0| \x00\xff\x1b[31m\nworker-0| \xff\x80\n"
    );
    let mut index = IndexReader::of(&bench.log("worker-0.0.0.log"));
    assert!(index.at(0).unwrap().0.is_some());
}

#[test]
fn a_full_disk_under_the_logs_does_not_end_the_run() {
    let bench = Bench::new(Who::Us).task("worker-0", "say one after 20 say two exit 3");
    fs::create_dir(bench.work().join("logs")).unwrap();
    symlink("/dev/full", bench.log("worker-0.0.0.log")).unwrap();
    let said = bench.run();
    assert_eq!(output(&said, "worker-0"), ["one", "two"]);
    let heard = about(&said, "worker-0");
    let troubles: Vec<_> = heard.iter().filter(|line| line.starts_with("trouble ")).collect();
    assert_eq!(troubles.len(), 1, "{heard:?}");
    assert!(heard.contains(&"ended main code 3"), "{heard:?}");
}
