//! The checks: which programs run with which arguments, in which order, and why.

mod advisories;
mod elsewhere;
mod flags;

use std::path::{Path, PathBuf};

pub use flags::{Flags, Seeds};

use crate::report::Report;
use crate::shell::{Ended, Shell};
use crate::{tools, workspace};

/// Every package and feature at once. Clippy, the tests, `generate` and `sim` all pass exactly this, so that cargo
/// resolves the same features each time and compiles nothing twice.
const EVERYTHING: [&str; 2] = ["--workspace", "--all-features"];

/// The name of the step that runs the fast tests in a second clone.
const ELSEWHERE: &str = "fast tests in another clone";

/// `cargo xtask test`: every check, cheapest first. A failing step does not stop the others.
pub fn test(shell: &Shell, flags: &Flags) -> Result<bool, String> {
    let mut report = Report::new(flags.verbose);
    report.tool("rustfmt and clippy", || tools::components(shell));
    report.step("format", || shell.quiet("cargo", &["fmt", "--all", "--check"]));
    report.step("clippy", || clippy(shell));
    let kubectl = report.tool("kubectl", || tools::kubectl(shell));
    // Before the tests: it takes minutes on a new machine, and tests that need a cluster would seem to hang.
    report.tool("the programs of a cluster", tools::cluster);
    report.step("tests, doc tests, generated files", || {
        tests(shell, kubectl.as_deref(), flags.peers)
    });
    if !flags.quick {
        let target = target()?;
        report.judged(ELSEWHERE, || elsewhere::check(shell, &target, kubectl.as_deref()));
        for member in workspace::members(shell.root())? {
            report.step(&format!("{} alone", member.name), || alone(shell, &member));
        }
        report.step("documentation", || documentation(shell));
        if let Some(deny) = report.tool("cargo-deny", || tools::cargo_tool(shell, tools::CARGO_DENY)) {
            report.step("bans, licences, sources", || {
                shell.quiet(&deny, &["--all-features", "check", "bans", "licenses", "sources"])
            });
            report.judged("advisories", || advisories::check(shell, &deny));
        }
    }
    Ok(report.finish())
}

/// `cargo xtask elsewhere`: that step of `test` by itself.
pub fn elsewhere(shell: &Shell) -> Result<bool, String> {
    let mut report = Report::new(true);
    let kubectl = report.tool("kubectl", || tools::kubectl(shell));
    let target = target()?;
    report.judged(ELSEWHERE, || elsewhere::check(shell, &target, kubectl.as_deref()));
    Ok(report.finish())
}

fn cargo(shell: &Shell, command: &str, arguments: &[&str]) -> Result<Ended, String> {
    shell.quiet("cargo", &[&[command, "--quiet"], arguments].concat())
}

fn clippy(shell: &Shell) -> Result<Ended, String> {
    cargo(
        shell,
        "clippy",
        &[&EVERYTHING[..], &["--all-targets", "--", "-D", "warnings"]].concat(),
    )
}

/// All tests in one run of cargo, with their output shown as it comes: unit tests, doc tests, generated files, and the
/// tests on a real cluster. Separate runs would compile dependencies again.
fn tests(shell: &Shell, kubectl: Option<&Path>, peers: bool) -> Result<Ended, String> {
    // A snapshot that differs fails; it is never written by a test run.
    let mut shell = shell.with("INSTA_UPDATE", "no");
    if let Some(kubectl) = kubectl {
        shell = shell.with("KUBECTL", kubectl);
    }
    if peers {
        shell = shell.with(trainyard_tools::PEERS, "1");
    }
    if std::env::var_os(THREADS).is_none() {
        shell = shell.with(THREADS, test_threads().to_string());
    }
    shell.show("cargo", &[&["test", "--no-fail-fast"], &EVERYTHING[..]].concat())
}

/// The variable by which the test harness is told how many tests run at once.
const THREADS: &str = "RUST_TEST_THREADS";

/// Two tests per core: the tests that take long wait for an API server or a process most of the time.
fn test_threads() -> usize {
    std::thread::available_parallelism().map_or(2, |cores| 2 * cores.get())
}

/// `cargo xtask cluster`: the cluster of the tests, for interactive use. Its own program reads the other arguments.
pub fn cluster(shell: &Shell, arguments: &[&str]) -> Result<bool, String> {
    let run = ["run", "--quiet", "--package", "trainyard-cluster-tests", "--"];
    show(shell, &[&run, arguments])
}

/// Runs cargo with these arguments and its output shown; whether it succeeded.
fn show(shell: &Shell, arguments: &[&[&str]]) -> Result<bool, String> {
    Ok(shell.show("cargo", &arguments.concat())?.success)
}

/// Compiles a crate by itself, with and without its features, so that it cannot rely on features that another crate
/// enables. Clippy rather than `cargo check`: crates with the same features as before are already done.
fn alone(shell: &Shell, member: &workspace::Member) -> Result<Ended, String> {
    let lint = |features| {
        cargo(
            shell,
            "clippy",
            &["--package", &member.name, features, "--", "-D", "warnings"],
        )
    };
    let bare = lint("--no-default-features")?;
    if !member.has_features || !bare.success {
        return Ok(bare);
    }
    lint("--all-features")
}

fn documentation(shell: &Shell) -> Result<Ended, String> {
    cargo(
        &shell.with("RUSTDOCFLAGS", "-D warnings"),
        "doc",
        &[&EVERYTHING[..], &["--no-deps"]].concat(),
    )
}

/// `cargo xtask generate`: the list of files is in this crate's `tests/generated`, which may use our own crates without
/// making every `cargo xtask` compile them.
pub fn generate(shell: &Shell, write: bool) -> Result<bool, String> {
    let shell = shell.with("TRAINYARD_GENERATE", if write { "write" } else { "compare" });
    let only = ["--test", "generated", "--", "--nocapture"];
    show(&shell, &[&["test", "--quiet"], &EVERYTHING, &only])
}

/// `cargo xtask failures`: the failures of `tests/failures`, with those that need TensorFlow if all are asked for.
pub fn failures(shell: &Shell, all: bool) -> Result<bool, String> {
    let shell = shell.with("TRAINYARD_FAILURES", if all { "all" } else { "quick" });
    show(
        &shell,
        &[&["test", "--package", "trainyard-failures", "--all-features"]],
    )
}

/// `cargo xtask sim`: the simulator's own test with another number of seeds.
pub fn simulate(shell: &Shell, seeds: &Seeds) -> Result<bool, String> {
    let shell = shell
        .with("TRAINYARD_SEEDS", seeds.count.to_string())
        .with("TRAINYARD_SEED_FROM", seeds.from.to_string());
    let only = ["--lib", "sim::tests", "--", "--nocapture"];
    show(&shell, &[&["test"], &EVERYTHING, &only])
}

/// `cargo xtask bench`: only the package of the benchmarks, so that nothing else is built for release.
pub fn bench(shell: &Shell, arguments: &[&str]) -> Result<bool, String> {
    show(
        shell,
        &[&["bench", "--package", "trainyard-bench", "--"], arguments],
    )
}

/// `cargo xtask bench local`: the release build, and the program that measures it, which expects it in its own directory.
pub fn bench_local(shell: &Shell, arguments: &[&str]) -> Result<bool, String> {
    bench_release(shell, &["--package", "trainyard-bench"], "local", arguments)
}

/// `cargo xtask bench operator`: the same, with the program of a test cluster.
pub fn bench_operator(shell: &Shell, arguments: &[&str]) -> Result<bool, String> {
    let packages = [
        "--package",
        "trainyard-cluster-tests",
        "--package",
        "trainyard-bench",
        "--features",
        "trainyard-bench/operator",
    ];
    bench_release(shell, &packages, "operator", arguments)
}

/// Builds the release by itself, as users do: together with other packages it would get other features. Then builds those
/// packages and runs one of their programs.
fn bench_release(
    shell: &Shell,
    packages: &[&str],
    program: &str,
    arguments: &[&str],
) -> Result<bool, String> {
    let build = ["build", "--quiet", "--release"];
    let release = ["--package", "trainyard", "--bin", "trainyard"];
    if !show(shell, &[&build, &release])? || !show(shell, &[&build, &["--bins"], packages])? {
        return Ok(false);
    }
    let program = target()?.join("release").join(program);
    Ok(shell.show(&program, arguments)?.success)
}

/// Cargo's target directory.
fn target() -> Result<PathBuf, String> {
    let ourselves = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let target = ourselves.ancestors().nth(2);
    Ok(target.unwrap_or_else(|| Path::new("target")).to_path_buf())
}

/// `cargo xtask fuzz`: each target of `fuzz/` in turn, for `seconds` each. Manifests and `fuzz/seeds` are the first corpus.
pub fn fuzz(shell: &Shell, seconds: u64) -> Result<bool, String> {
    let root = shell.root();
    let targets = fuzz_targets(&root.join("fuzz/fuzz_targets"))?;
    let fuzz = tools::cargo_tool(shell, tools::CARGO_FUZZ)?;
    // Sanitizers exist only on nightly. Cargo has set CARGO to the stable one that started this program.
    let shell = shell.with("CARGO", "cargo");
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let limit = format!("-max_total_time={seconds}");
    let dictionary = format!("-dict={}", text(&root.join("fuzz/yaml.dict")));
    let mut report = Report::new(false);
    for target in targets {
        report.step(&format!("fuzz {target} for {seconds} s"), || {
            let found = root.join("fuzz/corpus").join(&target);
            let seeds = root.join("fuzz/seeds").join(&target);
            for folder in [&found, &seeds] {
                std::fs::create_dir_all(folder)
                    .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
            }
            let corpus = [found, seeds, root.join("examples"), root.join("tests/fixtures")];
            let corpus = corpus.map(|folder| text(&folder));
            let mut arguments = vec!["run", "nightly", fuzz.to_str().unwrap_or("cargo-fuzz")];
            arguments.extend(["fuzz", "run", &target]);
            arguments.extend(corpus.iter().map(String::as_str));
            arguments.extend(["--", &limit, &dictionary, "-max_len=8192"]);
            shell.show("rustup", &arguments)
        });
    }
    Ok(report.finish())
}

fn fuzz_targets(folder: &Path) -> Result<Vec<String>, String> {
    let entries =
        std::fs::read_dir(folder).map_err(|error| format!("cannot list {}: {error}", folder.display()))?;
    let mut targets: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.path().file_stem()?.to_str().map(str::to_owned))
        .collect();
    targets.sort();
    Ok(targets)
}
