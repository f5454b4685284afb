//! How the program is linked, so that it starts fast: a short run is mostly our own start.
//!
//! What the dynamic linker does before `main` is paid by every run, in pages of memory more than in instructions.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    if !(is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu")) {
        return;
    }
    // A static program, as in the operator's image, loads nothing, and keeps its random place.
    let features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    if features.split(',').any(|feature| feature == "crt-static") {
        return;
    }
    // At a fixed place there are no 25,000 addresses to be written into a hundred pages first.
    println!("cargo:rustc-link-arg-bins=-no-pie");
    if env::var("HOST") == env::var("TARGET") {
        unwinder();
    }
    if is("PROFILE", "release") {
        in_order();
    }
}

/// Lays the functions of a short run side by side (ADR 9): scattered over the program they are ten times as many pages. Only a
/// linker that can do that is asked to, which is the one that Rust brings along.
fn in_order() {
    println!("cargo:rerun-if-changed=run.order");
    let order = format!("{}/run.order", env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
    let arguments = [
        format!("-Wl,--symbol-ordering-file={order}"),
        "-Wl,--no-warn-symbol-ordering".to_owned(),
    ];
    // A comma would end the file's name.
    if Path::new(&order).is_file() && !order.contains(',') && links_with(&arguments) {
        for argument in arguments {
            println!("cargo:rustc-link-arg-bins={argument}");
        }
    }
}

/// Whether a program can be linked so.
fn links_with(arguments: &[String]) -> bool {
    let folder = env::var("OUT_DIR").unwrap_or_default();
    let source = format!("{folder}/linked.rs");
    if fs::write(&source, "fn main() {}").is_err() {
        return false;
    }
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let linker = env::var("RUSTC_LINKER").map(|linker| format!("-Clinker={linker}"));
    Command::new(env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()))
        .args([&source, "--out-dir", &folder, "--target"])
        .arg(env::var("TARGET").unwrap_or_default())
        .args(flags.split('\x1f').filter(|flag| !flag.is_empty()))
        .args(linker)
        .args(arguments.iter().map(|argument| format!("-Clink-arg={argument}")))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Takes the unwinder into the program where the compiler brings it along: one library less to be found and loaded.
fn unwinder() {
    let compiler = env::var("RUSTC_LINKER").unwrap_or_else(|_| "cc".to_owned());
    let found = Command::new(compiler)
        .arg("-print-file-name=libgcc_eh.a")
        .output();
    let Ok(found) = found else { return };
    let file = String::from_utf8_lossy(&found.stdout);
    let file = Path::new(file.trim());
    // A compiler that does not have it gives the bare name back.
    if let (true, Some(directory)) = (file.is_file(), file.parent()) {
        println!("cargo:rustc-link-search=native={}", directory.display());
        println!("cargo:rustc-link-lib=static:-bundle=gcc_eh");
    }
}
