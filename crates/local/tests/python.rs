//! Real Python environments from a real package index, in the user's own cache: `cargo test -- --ignored`.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test may stop at the first surprise, and shows what it waits for"
)]

use std::process::Command;
use std::time::{Duration, Instant};

use trainyard_local::images::{Config, choose};
use trainyard_local::python::{Cache, Environment, Packages, Tools, Wanted};

fn environment(wanted: &Wanted) -> Environment {
    let cache = Cache::of_user().expect("a home directory");
    let mut tell = |progress| eprintln!("{progress:?}");
    let made = cache.ensure(wanted, &Tools::look, &mut tell);
    let made = made.unwrap_or_else(|error| panic!("{error}\n{}", error.hint().unwrap_or_default()));
    let begun = Instant::now();
    assert_eq!(cache.find(wanted).as_ref(), Some(&made));
    assert!(
        begun.elapsed() < Duration::from_millis(50),
        "{:?}",
        begun.elapsed()
    );
    eprintln!("{made:?}");
    made
}

fn of_image(image: &str) -> Environment {
    let choice = choose(image, &Config::default(), false).expect("an official image");
    environment(&choice.wanted.expect("an environment"))
}

fn printed(environment: &Environment, program: &str) -> String {
    let output = Command::new(environment.python())
        .args(["-c", program])
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

const VERSION: &str = "import tensorflow as tf; print(tf.__version__)";

#[test]
#[ignore = "downloads TensorFlow, 250 MB"]
fn the_newest_tensorflow_is_made() {
    let made = of_image("tensorflow/tensorflow:latest");
    assert_eq!(made.note, None);
    assert!(printed(&made, VERSION).starts_with("2."));
    let summary = "import tensorflow as tf, tempfile; w = tf.summary.create_file_writer(tempfile.mkdtemp()); \
        w.set_as_default(); tf.summary.scalar('x', 1.0, step=1); print('written')";
    assert_eq!(printed(&made, summary), "written");
}

#[test]
#[ignore = "downloads TensorFlow, 250 MB"]
fn an_old_tag_gets_its_own_version_or_the_nearest() {
    let made = of_image("tensorflow/tensorflow:2.15.0");
    let version = printed(&made, VERSION);
    assert!(version == "2.15.0" || made.note.is_some(), "{version} {made:?}");
}

#[test]
#[ignore = "downloads TensorFlow, 100 MB"]
fn a_tag_of_the_first_tensorflow_runs_or_says_what_runs_instead() {
    let made = of_image("tensorflow/tensorflow:1.13.1-py3");
    let version = printed(&made, VERSION);
    assert!(made.note.is_some(), "{version} {made:?}");
    assert!(!version.is_empty());
}

#[test]
#[ignore = "downloads TensorBoard, 20 MB"]
fn tensorboard_is_made_without_tensorflow() {
    let made = environment(&Wanted {
        python: None,
        packages: Packages::TensorBoard,
    });
    assert!(made.bin().join("tensorboard").exists());
    assert_eq!(
        printed(
            &made,
            "import importlib.util as u; print(u.find_spec('tensorflow'))"
        ),
        "None"
    );
}
