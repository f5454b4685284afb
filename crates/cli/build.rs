//! How the program is linked, so that it starts fast: a short run is mostly our own start.
//!
//! What the dynamic linker does before `main` is paid by every run, in pages of memory more than in instructions.

use std::env;
use std::path::Path;
use std::process::Command;

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
