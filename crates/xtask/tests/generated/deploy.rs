//! `deploy/`: what `trainyard install` applies, for those who keep manifests in a repository of their own.

use std::path::Path;

use trainyard_manifest::install::{Install, image, text};
use trainyard_manifest::kinds::{Kinds, Served};

const HEAD: &str = "# Written by `cargo xtask generate`; do not edit.";

/// `trainyard crd`.
pub fn definition() -> String {
    format!(
        "{HEAD} This is what `trainyard crd` prints.\n{}",
        text(&Kinds::default().definitions(Served::All))
    )
}

/// `trainyard install --dry-run`.
pub fn install() -> String {
    let objects = Install::default().objects();
    format!(
        "{HEAD} This is what `trainyard install --dry-run` prints.\n{}",
        text(&objects)
    )
}

/// What the Dockerfile says, other files say too.
#[test]
fn the_image_is_the_one_that_is_installed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let file = read("Dockerfile");
    assert!(
        file.contains(&format!("docker build --tag {} .", image())),
        "the tag of the first lines"
    );
    let toolchain = read("rust-toolchain.toml");
    let version = toolchain.split('"').nth(1).unwrap();
    assert!(
        file.contains(&format!("FROM rust:{version}-"))
            && file.contains(&format!("RUSTUP_TOOLCHAIN={version}")),
        "Rust {version}"
    );
    let objects = Install::default().objects();
    let deployment = objects
        .iter()
        .find(|object| object["kind"] == "Deployment")
        .unwrap();
    let user = &deployment["spec"]["template"]["spec"]["securityContext"]["runAsUser"];
    assert!(file.contains(&format!("USER {user}:{user}")), "the user");
}
