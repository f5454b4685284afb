//! Which namespaces this machine allows, cached, so that not every run has to start two processes to find out.
//!
//! It holds for this boot, this user, and everything that is known to change the answer: namespaces, rights, filters
//! and limits. Only the best result is cached; a lesser one is probed again, since the cause may have been fixed.

use std::fs;
use std::path::Path;

use rustix::process::getuid;

use crate::sandbox::isolation::{Isolation, Namespace};
use crate::system::private;
use crate::system::proc_file;

/// The isolation that was found for exactly these circumstances, if any was.
pub(super) fn recall(file: &Path, own_network: bool) -> Option<Isolation> {
    let text = fs::read_to_string(file).ok()?;
    let wanted = circumstances(own_network);
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(&wanted)?.strip_prefix('\t'));
    line.and_then(Isolation::parse)
}

/// Keeps what was found. That it cannot be kept costs some milliseconds the next time.
pub(super) fn keep(file: &Path, own_network: bool, isolation: Isolation) {
    if !isolation.has(Namespace::Processes) {
        return;
    }
    let boot = boot();
    let kept = fs::read_to_string(file).unwrap_or_default();
    let own = circumstances(own_network);
    // What another boot has found is worth nothing.
    let others = kept
        .lines()
        .filter(|line| line.starts_with(&boot) && !line.starts_with(&own));
    let lines: Vec<String> = others
        .map(str::to_owned)
        .chain([format!("{own}\t{isolation}\n")])
        .collect();
    if let Some(directory) = file.parent() {
        let _ = private::directory(directory);
    }
    let scratch = file.with_added_extension(std::process::id().to_string());
    let kept = private::write(&scratch, lines.join("\n")).and_then(|()| fs::rename(&scratch, file));
    if kept.is_err() {
        let _ = fs::remove_file(&scratch);
    }
}

/// Forgets everything: what was kept has turned out to be wrong.
pub(crate) fn forget(file: &Path) {
    let _ = fs::remove_file(file);
}

fn boot() -> String {
    let id = proc_file::read("/proc/sys/kernel/random/boot_id");
    id.trim().to_owned()
}

/// Whether `CAP_SYS_ADMIN` is among the rights that a status shows.
fn may_administer(status: &str) -> bool {
    const SYS_ADMIN: u64 = 1 << 21;
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let rights = line.and_then(|rights| u64::from_str_radix(rights.trim(), 16).ok());
    rights.is_some_and(|rights| rights & SYS_ADMIN != 0)
}

fn circumstances(own_network: bool) -> String {
    let link = |name: &str| {
        let link = fs::read_link(format!("/proc/self/ns/{name}")).unwrap_or_default();
        link.display().to_string()
    };
    let rights = proc_file::own_status().lines().filter(|line| {
        [
            "CapEff:",
            "CapBnd:",
            "NoNewPrivs:",
            "Seccomp:",
            "Seccomp_filters:",
        ]
        .iter()
        .any(|name| line.starts_with(name))
    });
    let rights: String = rights.flat_map(str::split_ascii_whitespace).collect();
    // A process that may make the others needs no user namespace.
    let limit = if may_administer(proc_file::own_status()) {
        String::new()
    } else {
        proc_file::read("/proc/sys/user/max_user_namespaces")
    };
    let words = [
        boot(),
        getuid().as_raw().to_string(),
        if own_network { "Isolated" } else { "Shared" }.to_owned(),
        link("user"),
        link("mnt"),
        rights,
        limit.trim().to_owned(),
    ];
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_to_administer_is_read_from_the_status() {
        assert!(may_administer("Name:\tsh\nCapEff:\t000001ffffffffff\n"));
        assert!(!may_administer("CapEff:\t00000000a80425fb\n"));
        assert!(!may_administer(""));
    }

    #[test]
    fn only_the_best_answer_is_kept_and_for_its_network() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("isolation");
        let full = Isolation::of(&[Namespace::Processes, Namespace::Mounts]);
        let isolated = full.with(Namespace::Network);
        assert_eq!(recall(&file, false), None);
        keep(&file, false, Isolation::of(&[Namespace::Mounts]));
        assert_eq!(recall(&file, false), None);
        keep(&file, false, full);
        keep(&file, true, isolated);
        keep(&file, false, full);
        assert_eq!(recall(&file, false), Some(full));
        assert_eq!(recall(&file, true), Some(isolated));
        assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 2);
        let text = fs::read_to_string(&file)
            .unwrap()
            .replace(&boot(), "another-boot");
        fs::write(&file, text).unwrap();
        assert_eq!(recall(&file, false), None);
        forget(&file);
        assert!(!file.exists());
    }
}
