//! `--debug TASK`: the exact environment and command of a task that the user starts by hand.
//!
//! They are in a file for the user alone, and nowhere else: the environment holds Secrets, and events are shown and kept.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;

use trainyard_document::problem::escaped;

use super::runner::Runner;
use crate::error_chain;
use crate::pod;
use crate::process::launch::Launch;
use crate::run::event::What;
use crate::sandbox::isolation::Namespace;
use crate::system::private;

impl Runner {
    /// Says how to start the task that is left out, and makes what it needs.
    pub(crate) fn announce_debug_task(&mut self) {
        let Some(prepared) = self.world.debug_task() else {
            return;
        };
        if let Err(error) = pod::make(&prepared.make) {
            self.tell(What::Note {
                text: error_chain(&error),
            });
        }
        let launch = &prepared.launch;
        let file = self.directory.path.join(format!("start-{}.sh", launch.life.task));
        if let Err(error) = private::write(&file, script(launch, &self.file.directory)) {
            let text = format!(
                "{} is left out, and how to start it cannot be written to `{}`: {error}",
                launch.life.task,
                file.display()
            );
            return self.tell(What::Note { text });
        }
        let script = format!("sh {}\n", quoted(file.as_os_str()));
        let mut text = format!(
            "{} is left out: start it yourself, in another terminal, with `sh {}`; the file holds its variables, Secrets \
             too, and is for your user alone",
            launch.life.task,
            file.display()
        );
        if self.isolation.has(Namespace::Network) {
            // An ordinary user enters the network through the user namespace that it belongs to.
            let user = if self.isolation.has(Namespace::Users) {
                "--user --preserve-credentials "
            } else {
                ""
            };
            let inside = format!("nsenter --target {} {user}--net sh {}", self.pid, file.display());
            text = format!("{text}\nthe job has a network of its own: `{inside}` starts it there");
        }
        for difference in left_out(launch) {
            text = format!("{text}\n{}", escaped(&difference));
        }
        let text = format!("{text}\nthe job does not see how it ends: end the run with Ctrl-C");
        let task = launch.life.task.clone();
        self.tell(What::DebugTask { task, text, script });
    }
}

/// A script that starts the task's main program as we would, for a shell. A shell exports no name with a dot in it,
/// and Kubernetes allows them: `env` takes any.
fn script(launch: &Launch, workdir: &Path) -> String {
    let program = &launch.main;
    let workdir = program.workdir.as_deref().unwrap_or(workdir);
    let mut text = format!("cd {} || exit\nenv", quoted(workdir.as_os_str()));
    for (name, value) in &program.env {
        let mut pair = name.clone();
        pair.push("=");
        pair.push(value);
        // Writing to a String cannot fail.
        let _ = write!(text, " {} \\\n ", quoted(&pair));
    }
    let words: Vec<String> = program.argv.iter().map(|word| quoted(word)).collect();
    let _ = writeln!(text, " {}", words.join(" "));
    text
}

/// What of a launch such a script cannot do, in words; empty if nothing.
fn left_out(launch: &Launch) -> Vec<String> {
    let mut left_out = Vec::new();
    for mount in &launch.main.mounts {
        let (target, source) = (mount.target.display(), mount.source.display());
        left_out.push(format!("what it is to find at `{target}` is at `{source}`"));
    }
    for program in launch.init.iter().chain(&launch.beside) {
        left_out.push(format!("container `{}` is not started", program.container));
    }
    left_out
}

/// A word as every shell reads it back. Arguments and variables hold no NUL, which alone cannot be quoted.
fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    shlex::try_quote(&text).map_or_else(|_| String::new(), Cow::into_owned)
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
