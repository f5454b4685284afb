//! Reading: what `trainyard check` does with manifests, without the files and the report.

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use trainyard_bench::manifest;
use trainyard_dialect::{Reading, read};
use trainyard_document::Source;

fn main() {
    divan::main();
}

fn read_all(texts: &[String]) -> Vec<Option<Reading>> {
    let one = |text: &String| {
        Source::from_bytes("bench.yaml", text.as_bytes())
            .ok()
            .map(|source| read(&source))
    };
    black_box(texts).iter().map(one).collect()
}

fn measure(bencher: Bencher, texts: &[String], jobs: usize) {
    let bytes: usize = texts.iter().map(String::len).sum();
    bencher
        .counter(ItemsCount::new(jobs))
        .counter(BytesCount::new(bytes))
        .bench(|| read_all(texts));
}

fn names(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|number| manifest(&format!("mnist-{number}"), 20))
}

/// A thousand files with a job each.
#[divan::bench(args = [100, 1_000])]
fn files(bencher: Bencher, count: usize) {
    let texts: Vec<String> = names(count).collect();
    measure(bencher, &texts, count);
}

/// One file with a thousand jobs.
#[divan::bench(args = [100, 1_000])]
fn documents_of_one_file(bencher: Bencher, count: usize) {
    let texts = [names(count).collect::<Vec<_>>().join("---\n")];
    measure(bencher, &texts, count);
}

/// Files in which something is wrong with every job: problems cost too.
#[divan::bench(args = [100, 1_000])]
fn files_with_problems(bencher: Bencher, count: usize) {
    let wrong = |text: String| text.replace("restartPolicy: ExitCode", "restartPolicy: Sometimes");
    let texts: Vec<String> = names(count).map(wrong).collect();
    measure(bencher, &texts, count);
}
