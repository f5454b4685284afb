//! `--debug TASK`: the exact environment and command of a task that somebody starts by hand.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::launch::Launch;

/// A script that starts the task's main program as we would, for a shell.
pub(super) fn script(launch: &Launch, workdir: &Path) -> String {
    let program = &launch.main;
    let workdir = program.workdir.as_deref().unwrap_or(workdir);
    let mut text = format!("cd {}\n", quoted(workdir.as_os_str()));
    for (name, value) in &program.env {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "export {}={}", name.to_string_lossy(), quoted(value));
    }
    let words: Vec<String> = program.argv.iter().map(|word| quoted(word)).collect();
    let _ = writeln!(text, "{}", words.join(" "));
    text
}

/// What of a launch such a script cannot do, in words; empty if nothing.
pub(super) fn left_out(launch: &Launch) -> Vec<String> {
    let mut left_out = Vec::new();
    for mount in &launch.main.mounts {
        let (target, source) = (mount.target.display(), mount.source.display());
        left_out.push(format!("`{target}` is `{source}` here"));
    }
    for program in launch.init.iter().chain(&launch.beside) {
        left_out.push(format!("container `{}` is not started", program.container));
    }
    left_out
}

/// A word as every shell reads it back.
fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./:=@%+,".contains(byte);
    if !text.is_empty() && word.as_bytes().iter().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_word_is_read_back_by_a_shell() {
        for word in [
            "plain",
            "",
            "two words",
            "it's",
            "$HOME `x` \"y\" \\ \n end",
            "{\"a\":[1]}",
        ] {
            let line = format!("printf %s {}", quoted(OsStr::new(word)));
            let output = std::process::Command::new("sh")
                .arg("-c")
                .arg(&line)
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word, "{line}");
        }
    }
}
