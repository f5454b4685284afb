//! Which of our own variables a program sees.
//!
//! Under everything that the manifest sets lies a cleaned copy of the environment that `trainyard run` was started in:
//! `PATH`, `HOME`, the locale, proxies, `LD_LIBRARY_PATH`, virtual environments, all of it, except
//!
//! - `TF_CONFIG` and everything that begins with `TRAINYARD_`: they are made for each task;
//! - `PWD`, `OLDPWD`, `SHLVL` and `_`: they describe the shell that started us;
//! - what systemd tells a service about itself (`NOTIFY_SOCKET`, `LISTEN_FDS`, …): it was told to us.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

const DROPPED: [&str; 15] = [
    "TF_CONFIG",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "_",
    "NOTIFY_SOCKET",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "MAINPID",
    "SYSTEMD_EXEC_PID",
];

/// The part of an environment that programs see.
#[must_use]
pub fn passed(variables: impl IntoIterator<Item = (OsString, OsString)>) -> BTreeMap<OsString, OsString> {
    variables.into_iter().filter(|(name, _)| passes(name)).collect()
}

/// Whether programs see the variable of ours.
fn passes(name: &OsStr) -> bool {
    let ours = name.as_encoded_bytes().starts_with(b"TRAINYARD_");
    !ours && !DROPPED.iter().any(|dropped| name == *dropped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_for_each_task_does_not_leak_in() {
        for name in [
            "PATH",
            "HOME",
            "http_proxy",
            "LD_LIBRARY_PATH",
            "TF_CPP_MIN_LOG_LEVEL",
        ] {
            assert!(passes(OsStr::new(name)), "{name}");
        }
        for name in [
            "TF_CONFIG",
            "TRAINYARD_TASK",
            "TRAINYARD_RUN",
            "PWD",
            "NOTIFY_SOCKET",
        ] {
            assert!(!passes(OsStr::new(name)), "{name}");
        }
    }
}
