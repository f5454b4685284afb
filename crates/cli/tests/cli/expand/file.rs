//! The output file: written completely or not at all, and files of others are not lost.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use super::{Desk, SEED, SEED_MADE};
use crate::run::Ran;

const THREE: [&str; 2] = ["--hosts", "h10,h100,h14"];

#[test]
fn our_own_file_is_replaced_and_nobody_elses() {
    let desk = Desk::with("ours", SEED);
    assert_eq!(desk.expand(&["--hosts", "a,b"]).code, Some(0));
    let again = desk.expand(&THREE);
    assert_eq!(
        again.err,
        "replaced mnist_tfjob.yaml: 1 parameter server, 2 workers\n"
    );
    assert_eq!(desk.made().as_deref(), Some(SEED_MADE));
    let same = desk.expand(&THREE);
    assert_eq!(
        same.err,
        "mnist_tfjob.yaml is up to date: 1 parameter server, 2 workers\n"
    );
    // It is edited.
    let changed = SEED_MADE.replace("backoffLimit: 4", "backoffLimit: 9");
    desk.write("mnist_tfjob.yaml", &changed);
    let refused = desk.expand(&["--hosts", "a,b"]);
    assert_eq!(
        (refused.code, desk.made().as_deref()),
        (Some(2), Some(changed.as_str()))
    );
    assert!(refused.err.contains("has been changed since"), "{}", refused.err);
    assert_eq!(desk.expand(&["--hosts", "a,b", "--force"]).code, Some(0));
    assert_ne!(desk.made().as_deref(), Some(changed.as_str()));
    // Not ours at all.
    desk.write("other.yaml", "theirs");
    let refused = desk.expand(&["--hosts", "a,b", "-o", "other.yaml"]);
    assert_eq!(
        (refused.code, desk.read("other.yaml").as_deref()),
        (Some(2), Some("theirs"))
    );
    assert!(
        refused.err.contains("did not write it") && refused.err.contains("--force"),
        "{}",
        refused.err
    );
}

#[test]
fn a_disk_that_is_full_leaves_everything_as_it_was() {
    let desk = Desk::with("full", SEED);
    assert_eq!(desk.expand(&["--hosts", "a,b"]).code, Some(0));
    let before = desk.made();
    // No file may be longer than a block; that is told as a full disk is, by an error while it is written.
    let script = "trap '' XFSZ; ulimit -f 2; exec \"$0\" expand mnist.yaml --hosts \"$1\"";
    let hosts: Vec<String> = (0..200).map(|at| format!("host-{at}")).collect();
    let ran: Ran = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_trainyard"), &hosts.join(",")])
        .current_dir(&desk.folder)
        .env("TRAINYARD_STATE", desk.folder.join("state"))
        .output()
        .expect("a shell runs")
        .into();
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(
        ran.err
            .contains("cannot write `mnist_tfjob.yaml`: File too large"),
        "{}",
        ran.err
    );
    assert_eq!(desk.made(), before);
    assert_eq!(
        desk.files(),
        ["mnist.yaml", "mnist_tfjob.yaml"],
        "nothing is left over"
    );
    // It is still known as ours.
    assert_eq!(desk.expand(&THREE).code, Some(0));
}

#[test]
fn the_mode_is_that_of_before_and_links_are_followed() {
    let desk = Desk::with("mode", SEED);
    let mode = |name: &str| {
        let about = fs::metadata(desk.folder.join(name)).expect("it is there");
        about.permissions().mode() & 0o777
    };
    let ran: Ran = Command::new("sh")
        .args([
            "-c",
            "umask 022; exec \"$0\" expand mnist.yaml --hosts a,b",
            env!("CARGO_BIN_EXE_trainyard"),
        ])
        .current_dir(&desk.folder)
        .env("TRAINYARD_STATE", desk.folder.join("state"))
        .output()
        .expect("a shell runs")
        .into();
    assert_eq!((ran.code, mode("mnist_tfjob.yaml")), (Some(0), 0o644));
    let path = desk.folder.join("mnist_tfjob.yaml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    assert_eq!(desk.expand(&THREE).code, Some(0));
    assert_eq!(mode("mnist_tfjob.yaml"), 0o600);
    symlink("mnist_tfjob.yaml", desk.folder.join("link.yaml")).expect("a link can be made");
    assert_eq!(desk.expand(&["--hosts", "a,b", "-o", "link.yaml"]).code, Some(0));
    assert!(
        fs::symlink_metadata(desk.folder.join("link.yaml"))
            .expect("it is there")
            .is_symlink()
    );
    assert!(desk.made().expect("it is there").contains("b:2222"));
    // One that leads nowhere yet.
    symlink("new.yaml", desk.folder.join("dangling.yaml")).expect("a link can be made");
    assert_eq!(
        desk.expand(&["--hosts", "a,b", "-o", "dangling.yaml"]).code,
        Some(0)
    );
    let link = fs::symlink_metadata(desk.folder.join("dangling.yaml")).expect("it is there");
    assert!(link.is_symlink() && desk.read("new.yaml").is_some());
}

#[test]
fn without_a_state_directory_it_is_written_and_told() {
    let desk = Desk::with("no-state", SEED);
    let mut command = desk.command(&["expand", "mnist.yaml", "--hosts", "h10,h100,h14"]);
    let ran: Ran = command
        .env("TRAINYARD_STATE", "/proc/nowhere")
        .output()
        .expect("it runs")
        .into();
    assert_eq!(
        (ran.code, desk.made().as_deref()),
        (Some(0), Some(SEED_MADE)),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("replacing it will need `--force`"),
        "{}",
        ran.err
    );
}

#[test]
fn a_device_is_written_to_and_not_replaced() {
    let desk = Desk::with("device", SEED);
    let ran = desk.expand(&[&THREE[..], &["-o", "/dev/stdout"]].concat());
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), SEED_MADE), "{}", ran.err);
    let ran = desk.expand(&[&THREE[..], &["-o", "/dev/full"]].concat());
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("No space left"), "{}", ran.err);
}
