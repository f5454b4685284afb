//! The tools at hand for making Python environments: interpreters, uv, pip, and what an index offers.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use super::version::Version;
use super::{Progress, PythonError, Tell};
use crate::system::poll::wait_for;
use crate::system::user_directory;

/// The oldest minor version of Python 3 that has `venv` and a pip that still works.
const OLDEST: u32 = 6;
/// The newest one that is looked for by name.
const NEWEST: u32 = 30;
/// Variables that make an interpreter look at other packages than its own, or pip install elsewhere.
const MISLEADING: &[&str] = &[
    "PYTHONHOME",
    "PYTHONPATH",
    "PIP_USER",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_REQUIRE_VIRTUALENV",
    "VIRTUAL_ENV",
    "__PYVENV_LAUNCHER__",
];
/// So long an installer may be silent before a tick says that time passes.
const TICK: Duration = Duration::from_secs(1);
/// So many bytes of a command's output are kept at least: its end says why it failed.
const LONGEST_SAID: usize = 64 * 1024;
/// How many of the last lines of a failed command are shown.
const LAST_LINES: usize = 15;

/// What is used to make environments.
#[derive(Clone, Debug, Default)]
pub struct Tools {
    /// uv, if it is there.
    pub uv: Option<PathBuf>,
    /// Directories in which interpreters are looked for, first ones first.
    pub path: Vec<PathBuf>,
    /// Variables set for every command, on top of ours.
    pub environment: BTreeMap<OsString, OsString>,
}

/// A Python interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// Where it is.
    pub path: PathBuf,
    /// Its version: 3.11.7.
    pub version: Version,
}

impl Interpreter {
    /// `3.11`.
    pub(super) fn minor(&self) -> String {
        let (major, minor) = self.version.minor();
        format!("{major}.{minor}")
    }
}

impl Tools {
    /// Looks on our own path, and where pyenv keeps what it has installed.
    #[must_use]
    pub fn look() -> Self {
        let path = env::var_os("PATH").unwrap_or_default();
        let mut path: Vec<PathBuf> = env::split_paths(&path).collect();
        let pyenv = user_directory("PYENV_ROOT", ".pyenv");
        if let Some(versions) = pyenv.and_then(|root| fs::read_dir(root.join("versions")).ok()) {
            let mut versions: Vec<PathBuf> =
                versions.flatten().map(|entry| entry.path().join("bin")).collect();
            versions.sort();
            path.extend(versions);
        }
        Self {
            uv: on_path("uv"),
            path,
            environment: BTreeMap::new(),
        }
    }

    /// The interpreter people mean by `python3`, or the one of that version (`3.11`) or at that path.
    pub(super) fn interpreter(&self, asked: Option<&str>) -> Result<Interpreter, PythonError> {
        let missing = || PythonError::NoPython(asked.unwrap_or("3").to_owned());
        let names = match asked {
            None => ["python3".to_owned(), "python".to_owned()],
            Some(path) if path.contains('/') => return self.examine(Path::new(path)).ok_or_else(missing),
            Some(version) => {
                let minor: Vec<&str> = version.split('.').take(2).collect();
                [format!("python{}", minor.join(".")), "python3".to_owned()]
            }
        };
        let wanted = asked.and_then(Version::parse);
        let fits = |found: &Interpreter| {
            wanted
                .as_ref()
                .is_none_or(|wanted| found.version.is_within(wanted))
        };
        let mut found = names.iter().flat_map(|name| self.named(name));
        found.find(fits).ok_or_else(missing)
    }

    /// The interpreters of that name, in the order of the path.
    fn named(&self, name: &str) -> impl Iterator<Item = Interpreter> {
        let files = self.path.iter().map(move |directory| directory.join(name));
        files
            .filter(|file| is_program(file))
            .filter_map(|file| self.examine(&file))
    }

    /// Every other interpreter at hand, one of each minor version, newest first.
    pub(super) fn others(&self, than: &Interpreter) -> Vec<Interpreter> {
        let mut found: BTreeMap<(u32, u32), Interpreter> = BTreeMap::new();
        for minor in OLDEST..=NEWEST {
            let one = self.named(&format!("python3.{minor}")).next();
            if let Some(one) = one.filter(|one| one.version.minor() != than.version.minor()) {
                found.insert(one.version.minor(), one);
            }
        }
        found.into_values().rev().collect()
    }

    /// What an interpreter says of itself; none if it does not run, as a pyenv shim may not.
    fn examine(&self, path: &Path) -> Option<Interpreter> {
        let program = "import sys; print('%d.%d.%d' % sys.version_info[:3])";
        let output = self
            .command(path)
            .args(["-c", program])
            .stderr(Stdio::null())
            .output()
            .ok()?;
        let version = Version::parse(&String::from_utf8_lossy(&output.stdout))?;
        let (major, minor) = version.minor();
        let usable = output.status.success() && major == 3 && minor >= OLDEST;
        usable.then(|| Interpreter {
            path: path.to_owned(),
            version,
        })
    }

    /// The versions of a package that the index has for an interpreter of that minor version.
    ///
    /// A version that does not exist is asked for, and pip's error lists those that do: all versions of pip say it, in
    /// the same words, and obey the user's own indexes.
    pub(super) fn offered(
        &self,
        pip: &Path,
        package: &str,
        minor: &str,
        tell: &mut Tell<'_>,
    ) -> Result<Vec<Version>, PythonError> {
        let mut command = self.pip(pip);
        command
            .args([
                "download",
                "--no-input",
                "--disable-pip-version-check",
                "--no-deps",
            ])
            .args([
                "--only-binary=:all:",
                "--implementation",
                "cp",
                "--python-version",
                minor,
            ])
            .args(["--quiet", "--dest"])
            .arg(env::temp_dir())
            .arg(format!("{package}==0"));
        let (_, said) = watch(command, tell).map_err(|source| PythonError::Start {
            program: pip.display().to_string(),
            source,
        })?;
        let Some(list) = said
            .split_once("(from versions: ")
            .and_then(|(_, rest)| rest.split_once(')'))
        else {
            return Err(PythonError::Index {
                package: package.to_owned(),
                said: last_lines(&said),
            });
        };
        if list.0 == "none" && said.contains("Retrying (") {
            // It got no answer, and calls that an empty list.
            return Err(PythonError::Index {
                package: package.to_owned(),
                said: last_lines(&said),
            });
        }
        Ok(list.0.split(", ").filter_map(Version::parse).collect())
    }

    /// pip of an interpreter; one that has none can borrow it through uv.
    fn pip(&self, interpreter: &Path) -> Command {
        let mut command = match self.uv.as_ref().filter(|_| !self.has_pip(interpreter)) {
            None => self.command(interpreter),
            Some(uv) => {
                let mut command = self.command(uv);
                command.args(["run", "--quiet", "--no-project", "--with", "pip", "--python"]);
                command.arg(interpreter).args(["--", "python"]);
                command
            }
        };
        command.args(["-m", "pip"]);
        command
    }

    /// Whether an interpreter has pip.
    pub(super) fn has_pip(&self, interpreter: &Path) -> bool {
        let mut command = self.command(interpreter);
        command
            .args(["-m", "pip", "--version"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// A command without the variables that would lead it astray.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.stdin(Stdio::null());
        for name in MISLEADING {
            command.env_remove(name);
        }
        command.envs(&self.environment);
        command
    }
}

/// Runs a command to its end and tells what it does.
pub(super) fn run(command: Command, tell: &mut Tell<'_>) -> Result<(), PythonError> {
    let name = shown(&command);
    match watch(command, tell) {
        Ok((status, _)) if status.success() => Ok(()),
        Ok((_, said)) => Err(PythonError::Failed {
            command: name,
            said: last_lines(&said),
        }),
        Err(source) => Err(PythonError::Start {
            program: name,
            source,
        }),
    }
}

/// Runs a command to its end, tells what it does, and that time passes. Gives the end of its output.
fn watch(mut command: Command, tell: &mut Tell<'_>) -> io::Result<(ExitStatus, String)> {
    let (mut reader, writer) = io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    // The command holds the pipe's other end; while it lives, the output has no end.
    drop(command);
    let (mut said, mut line, mut buffer) = (String::new(), Vec::new(), [0; 4096]);
    loop {
        let tick = Instant::now() + TICK;
        if !wait_for(&mut [PollFd::new(&reader, PollFlags::IN)], Some(tick))? {
            tell(Progress::Tick);
            continue;
        }
        let count = reader.read(&mut buffer)?;
        line.extend_from_slice(&buffer[..count]);
        while let Some(end) = line.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let rest = line.split_off(end + 1);
            hear(&std::mem::replace(&mut line, rest), &mut said, tell);
        }
        if count == 0 || line.len() > LONGEST_SAID {
            hear(&std::mem::take(&mut line), &mut said, tell);
        }
        if count == 0 {
            return Ok((child.wait()?, said));
        }
    }
}

/// Takes in one line of a command's output.
fn hear(line: &[u8], said: &mut String, tell: &mut Tell<'_>) {
    let line = String::from_utf8_lossy(line);
    let line = line.trim_end();
    if line.is_empty() {
        return;
    }
    if let Some(doing) = doing(line.trim_start()) {
        tell(Progress::Doing(doing));
    }
    said.push_str(line);
    said.push('\n');
    if said.len() > 2 * LONGEST_SAID {
        let cut = said.len() - LONGEST_SAID;
        let cut = said.ceil_char_boundary(cut);
        said.drain(..cut);
    }
}

/// What a line of pip or uv says that it does now, in our words.
fn doing(line: &str) -> Option<String> {
    let words = [
        ("Collecting ", "looking up "),
        ("Downloading ", "downloading "),
        ("Using cached ", "taking from the cache "),
        ("Building wheel for ", "building "),
        ("Resolved ", "resolved "),
        ("Prepared ", "prepared "),
        ("Installed ", "installed "),
    ];
    if line.starts_with("WARNING: Retrying") {
        return Some("the package index does not answer; trying again".to_owned());
    }
    if let Some(list) = line.strip_prefix("Installing collected packages: ") {
        return Some(format!("unpacking {} packages", list.split(", ").count()));
    }
    let mut found = words
        .iter()
        .filter_map(|(theirs, ours)| Some(format!("{ours}{}", line.strip_prefix(theirs)?)));
    found.next()
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// A program of this machine, if it has it.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let mut files = env::split_paths(&path).map(|directory| directory.join(program));
    files.find(|file| is_program(file))
}

pub(super) fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::testing::Scratch;

    fn fake(scratch: &Scratch, name: &str, version: &str) -> PathBuf {
        scratch.script(name, &format!("echo {version}"))
    }

    fn tools(scratch: &Scratch) -> Tools {
        Tools {
            uv: None,
            path: vec![scratch.path().to_owned()],
            environment: BTreeMap::new(),
        }
    }

    #[test]
    fn interpreters_are_found_by_name_version_and_path() {
        let scratch = Scratch::new();
        fake(&scratch, "python3", "3.11.7");
        let old = fake(&scratch, "python3.9", "3.9.1");
        scratch.script(
            "python3.10",
            "echo 'pyenv: python3.10: command not found' >&2; exit 127",
        );
        fake(&scratch, "python3.12", "3.12.0");
        fake(&scratch, "python2", "2.7.18");
        let tools = tools(&scratch);
        let version = |asked: Option<&str>| {
            tools
                .interpreter(asked)
                .map(|found| found.version.to_string())
                .ok()
        };
        assert_eq!(version(None).as_deref(), Some("3.11.7"));
        assert_eq!(version(Some("3")).as_deref(), Some("3.11.7"));
        assert_eq!(version(Some("3.11")).as_deref(), Some("3.11.7"));
        assert_eq!(version(Some("3.9")).as_deref(), Some("3.9.1"));
        assert_eq!(version(Some("3.9.1")).as_deref(), Some("3.9.1"));
        assert_eq!(
            version(Some(&old.display().to_string())).as_deref(),
            Some("3.9.1")
        );
        for missing in ["3.10", "3.9.2", "2.7", "/nowhere/python"] {
            assert_eq!(version(Some(missing)), None, "{missing}");
        }
        let own = tools.interpreter(None).unwrap();
        let others: Vec<String> = tools.others(&own).iter().map(Interpreter::minor).collect();
        assert_eq!(others, ["3.12", "3.9"]);
    }

    #[test]
    fn what_an_index_offers_is_read_from_pips_complaint() {
        let scratch = Scratch::new();
        let tools = tools(&scratch);
        let complaint = "ERROR: Could not find a version that satisfies the requirement x==0 (from versions: 1.0, 1.1rc0, 2.0)";
        let pip = scratch.script("p1", &format!("echo '{complaint}' >&2; exit 1"));
        let offered = tools.offered(&pip, "x", "3.11", &mut |_| {}).unwrap();
        let offered: Vec<String> = offered.iter().map(ToString::to_string).collect();
        assert_eq!(offered, ["1.0", "1.1rc0", "2.0"]);
        let pip = scratch.script("p2", "echo 'ERROR: x==0 (from versions: none)' >&2; exit 1");
        assert_eq!(tools.offered(&pip, "x", "3.11", &mut |_| {}).unwrap(), []);
        let pip = scratch.script("p3", "echo 'Name or service not known' >&2; exit 1");
        let error = tools
            .offered(&pip, "x", "3.11", &mut |_| {})
            .unwrap_err()
            .to_string();
        assert!(error.contains("Name or service not known"), "{error}");
    }

    #[test]
    fn a_command_that_fails_shows_its_last_lines_and_what_went_on() {
        let scratch = Scratch::new();
        let tools = tools(&scratch);
        let noisy = scratch.script(
            "n",
            "echo 'Collecting six'; seq 100; echo '  Downloading six.whl (11 kB)' >&2; exit 3",
        );
        let mut heard = Vec::new();
        let mut tell = |progress| {
            if let Progress::Doing(doing) = progress {
                heard.push(doing);
            }
        };
        let error = run(tools.command(&noisy), &mut tell).unwrap_err();
        assert_eq!(heard, ["looking up six", "downloading six.whl (11 kB)"]);
        let PythonError::Failed { said, .. } = error else {
            panic!("{error}");
        };
        assert!(
            said.starts_with("87\n88\n") && said.ends_with("(11 kB)"),
            "{said}"
        );
    }

    #[test]
    fn a_silent_installer_makes_ticks_and_its_words_become_ours() {
        let scratch = Scratch::new();
        let tools = tools(&scratch);
        let mark = scratch.path().join("ticked");
        // It ends when a tick has been told, and not before.
        let text = format!(
            "printf 'Downloading a.whl (1 MB)\\r'; until [ -e '{}' ]; do sleep 0.05; done; echo 'Installing collected packages: a, b'",
            mark.display()
        );
        let mut heard = Vec::new();
        let mut tell = |progress| {
            if progress == Progress::Tick {
                fs::write(&mark, "").unwrap();
            } else {
                heard.push(progress);
            }
        };
        run(tools.command(&scratch.script("silent", &text)), &mut tell).unwrap();
        let doing = |text: &str| Progress::Doing(text.to_owned());
        assert_eq!(
            heard,
            [doing("downloading a.whl (1 MB)"), doing("unpacking 2 packages")]
        );
    }

    #[test]
    fn of_endless_output_the_end_is_kept() {
        let scratch = Scratch::new();
        let tools = tools(&scratch);
        let endless = scratch.script(
            "endless",
            "head -c 3000000 /dev/zero | tr '\\0' x; seq 100000; exit 1",
        );
        let (status, said) = watch(tools.command(&endless), &mut |_| {}).unwrap();
        assert!(
            !status.success() && said.len() <= 3 * LONGEST_SAID,
            "{}",
            said.len()
        );
        assert!(said.ends_with("\n99999\n100000\n"));
    }

    #[test]
    fn variables_that_mislead_are_kept_from_commands() {
        let scratch = Scratch::new();
        let mut tools = tools(&scratch);
        tools.environment.insert("EXTRA".into(), "1".into());
        let command = tools.command(Path::new("true"));
        let set: BTreeMap<_, _> = command.get_envs().collect();
        assert_eq!(set.get(OsStr::new("PYTHONPATH")), Some(&None));
        assert_eq!(set.get(OsStr::new("EXTRA")), Some(&Some(OsStr::new("1"))));
    }
}
