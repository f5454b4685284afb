//! One question to a Python interpreter, in a process of its own: which version it is, and whether it has TensorFlow.
//!
//! TensorFlow is looked for, not imported: that would take seconds. The interpreter may be anything that is called so, a
//! wrapper that hangs included: it has little time, little of its output is read, and its process group is killed.

use std::ffi::OsStr;
use std::io::{PipeReader, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::system::poll::wait_for;

/// How long an interpreter may take. A cold one on a network file system takes seconds.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);

/// More than this is no answer.
const LONGEST_ANSWER: usize = 16 * 1024;

/// Begins the line of the answer: start-up files of an interpreter may print lines of their own.
const SIGN: &[u8] = b"trainyard-python ";

/// The working directory is not searched: a script's own directory is what its imports see. A directory without
/// `__init__.py` is no TensorFlow.
const QUESTION: &str = r#"
import os, sys
sys.path = [place for place in sys.path if place]
try:
    from importlib.util import find_spec
    found = find_spec("tensorflow")
except Exception:
    found = None
has = int(found is not None and found.origin is not None)
text = "\ntrainyard-python %d.%d.%d %d %s\n" % (sys.version_info[:3] + (has, sys.executable))
os.write(1, os.fsencode(text))
"#;

/// What an interpreter says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// `3.11.7`.
    pub version: String,
    /// Whether `import tensorflow` would find a package.
    pub has_tensorflow: bool,
    /// The interpreter's own file: not that of a wrapper that starts it.
    pub executable: PathBuf,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoAnswer {
    /// It took longer than [`LIMIT`].
    #[error("does not answer within {} s", LIMIT.as_secs())]
    Late,
    /// It cannot be started, or is no Python 3.
    #[error("does not run as Python 3")]
    Wrong,
}

/// Asks an interpreter. The process sees our environment, as tasks do.
pub(crate) fn ask(interpreter: &Path, limit: Duration) -> Result<Answer, NoAnswer> {
    let until = Instant::now() + limit;
    let (output, writer) = std::io::pipe().map_err(|_| NoAnswer::Wrong)?;
    let mut command = Command::new(interpreter);
    command
        .args(["-c", QUESTION])
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(Stdio::null())
        .process_group(0);
    let mut child = command.spawn().map_err(|_| NoAnswer::Wrong)?;
    // The command holds the pipe's other end.
    drop(command);
    let answer = read(output, until);
    // What is left of it is of no use; `wait` does not take long after this.
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
    answer
}

fn read(mut output: PipeReader, until: Instant) -> Result<Answer, NoAnswer> {
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match wait_for(&mut [PollFd::new(&output, PollFlags::IN)], Some(until)) {
            Ok(true) => {}
            Ok(false) => return Err(NoAnswer::Late),
            Err(_) => return Err(NoAnswer::Wrong),
        }
        let count = output.read(&mut buffer).map_err(|_| NoAnswer::Wrong)?;
        text.extend_from_slice(&buffer[..count]);
        if let Some(answer) = parse(&text) {
            return Ok(answer);
        }
        // A program that prints without end is always ready.
        if count == 0 || text.len() > LONGEST_ANSWER {
            return Err(NoAnswer::Wrong);
        }
        if Instant::now() > until {
            return Err(NoAnswer::Late);
        }
    }
}

/// The answer, once its line is whole.
fn parse(text: &[u8]) -> Option<Answer> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let line = lines
        .filter_map(|line| line.strip_suffix(b"\n"))
        .find_map(|line| line.strip_prefix(SIGN))?;
    let mut words = line.splitn(3, |byte| *byte == b' ');
    let version = std::str::from_utf8(words.next()?).ok()?.to_owned();
    let has_tensorflow = words.next()? == b"1";
    let executable = PathBuf::from(OsStr::from_bytes(words.next()?));
    Some(Answer {
        version,
        has_tensorflow,
        executable,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::testing::Scratch;

    #[test]
    fn an_answer_is_found_among_other_lines() {
        let text = b"hello\ntrainyard-python 3.11.7 1 /a b/python\nmore";
        let expected = Answer {
            version: "3.11.7".into(),
            has_tensorflow: true,
            executable: "/a b/python".into(),
        };
        assert_eq!(parse(text), Some(expected));
        for text in [
            &b""[..],
            b"trainyard-python 3.11.7 1 /no/end",
            b"3.11.7\n",
            b"trainyard-python 3.1\n",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn whatever_is_called_python_is_given_up_in_time() {
        let scratch = Scratch::new();
        // Its child holds the pipe open, and outlives it unless the whole group is killed.
        let hangs = scratch.script("hangs", "sleep 60; true");
        let chatters = scratch.script("chatters", "yes");
        let fails = scratch.script("fails", "exit 3");
        let begun = Instant::now();
        let limit = Duration::from_millis(200);
        assert_eq!(ask(&hangs, limit), Err(NoAnswer::Late));
        assert_eq!(ask(&chatters, LIMIT), Err(NoAnswer::Wrong));
        assert_eq!(ask(&fails, LIMIT), Err(NoAnswer::Wrong));
        assert_eq!(ask(Path::new("/no/such/python"), LIMIT), Err(NoAnswer::Wrong));
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    }
}
